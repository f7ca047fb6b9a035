# SPDX-License-Identifier: Apache-2.0
"""includes_test.py SOURCE: every #include is one that the table "What may include what" of docs/hacking.md allows.

A row names a part, its files, and the parts that these may include beside their own; only rows above it, so that no two parts
include each other. CUDA's headers and the standard library's are nobody's. Before that, the test itself: in a list with a wrong
include it must find that one."""
import re
import sys
from pathlib import Path

source = Path(sys.argv[1]).resolve()
TOPS = ("include", "src", "simt", "ladder", "lens", "cli", "python/src")
ENDINGS = (".h", ".hpp", ".cuh", ".cu", ".cpp", ".def")
failures = []


def expanded(pattern):
    """a{b,c}d: abd and acd."""
    found = re.search(r"\{([^}]*)\}", pattern)
    return [pattern] if not found else [p for choice in found.group(1).split(",")
                                        for p in expanded(pattern[:found.start()] + choice.strip() + pattern[found.end():])]


parts, allowed, files_of = [], {}, {}
section = re.search(r"^## What may include what\n(.*?)(?=^## )", (source / "docs/hacking.md").read_text(), re.M | re.S)
if section is None:
    sys.exit("includes_test: docs/hacking.md has no section \"What may include what\"")
for row in re.findall(r"^\| (?!part|---)(.*) \|$", section.group(1), re.M):
    part, files, may = (cell.strip() for cell in row.split(" | "))
    named = [m for m in re.split(r",\s*", may) if m != "-"]
    for m in named:
        if m not in parts:
            failures.append(f"docs/hacking.md: {part} may include {m}, which is no row above it")
    parts.append(part)
    allowed[part] = {part, *named}
    for pattern in re.findall(r"`([^`]+)`", files):
        for p in expanded(pattern):
            if not (source / p).exists():
                failures.append(f"docs/hacking.md: {p} of {part} is not there")
            files_of[p] = part


def part_of(path):
    """The part of the longest pattern that is the file or a folder around it."""
    fitting = [p for p in files_of if path == p or (p.endswith("/") and path.startswith(p))]
    return files_of[max(fitting, key=len)] if fitting else None


def target_of(path, name, quoted):
    near = [str((source / path).parent.joinpath(name).resolve().relative_to(source))] if quoted and not name.startswith("/") else []
    roots = [f"include/{name}"] if name.startswith("warpfold/") else [f"simt/include/{name}"] if name.startswith("simt/") else [f"{name}"]
    return next((c for c in near + roots if (source / c).is_file()), None)


def judged(path, text):
    """What is wrong with the includes of a file; and how many of them are of this project."""
    of = part_of(path)
    if of is None:
        return [f"{path}: no row of docs/hacking.md has it"], 0
    wrong, seen = [], 0
    for sign, name in re.findall(r'^[ \t]*#[ \t]*include[ \t]+([<"])([^>"]+)[>"]', text, re.M):
        to = target_of(path, name, sign == '"')
        if to is None:
            continue
        seen += 1
        into = part_of(to)
        if into is None or into not in allowed[of]:
            wrong.append(f"{path}: {of} may not include {to}, which is of {into}: docs/hacking.md, \"What may include what\"")
    return wrong, seen


for path, text in (("include/warpfold/detail/gpu/accumulate/folds.cuh", "#include <warpfold/detail/gpu/kernels/reduce.cuh>\n"),
                   ("src/library/table.cpp", '#include "../../simt/include/simt/simt.hpp"\n'), ("include/warpfold/nowhere.hpp", "")):
    if path.startswith("src") and not (source / "simt/include/simt").is_dir():
        failures.append("simt/include/simt is not there")
    if path.startswith("src"):
        text = f'#include <simt/{next((source / "simt/include/simt").glob("*.hpp")).name}>\n'
    if not judged(path, text)[0]:
        failures.append(f"the test does not see what is wrong with: {text or path}")

count = includes = 0
for top in TOPS:
    for file in sorted((source / top).rglob("*")):
        if file.suffix in ENDINGS and file.is_file():
            count += 1
            wrong, seen = judged(str(file.relative_to(source)), file.read_text())
            includes += seen
            failures += wrong
# Plain words: no comment begins with "Of", and none behind code with "of".
OF = re.compile(r"(?:^|\s)(?://[/!]?<?|/\*\*?<?|#|\*) Of\b(?! course)")
if not all(OF.search(line) for line in ("// Of these", "  ///< Of these", "# Of these")) or OF.search("// one Of these"):
    failures.append("the test does not see comments that begin with Of")
BEHIND_CODE = re.compile(r"[^\s/*#]\s*(?://[/!]?<?|/\*\*?<|\s#) of\b(?! course)")
if not all(BEHIND_CODE.search(line) for line in ("int n;  // of these", "int n;  ///< of these", "n = 1  # of these")) or BEHIND_CODE.search("/// of these"):
    failures.append("the test does not see comments behind code that begin with of")
comments = 0
for top in (*TOPS, "python", "tests", "bench", "examples", "cmake", "scripts"):
    for file in sorted((source / top).rglob("*")):
        if file.is_file() and (file.suffix in (*ENDINGS, ".c", ".py", ".cmake", ".inc", "") or file.name == "CMakeLists.txt") and file.name != "includes_test.py":
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                comments += "//" in line or "#" in line
                if OF.search(line) or (file.suffix != ".txt" and BEHIND_CODE.search(line)):
                    failures.append(f"{file.relative_to(source)}:{number}: a comment that begins with of")
if comments < 5000:
    failures.append(f"{comments} lines with comments; there are more")
# Kernels ask for what a part has by a concept of its part (docs/design.md), not by a `requires` of their own.
SNIFFS = re.compile(r"(?:^|(?<=[;}]))((?:(?!concept)[^;}])*?)\brequires\s*(?:\([^;{]*\))?\s*\{")
if not SNIFFS.search("template <class A>\n  requires requires { A::x; }") or SNIFFS.search("template <class A>\nconcept c = requires { requires A::x; };"):
    failures.append("the test does not see a requires that is no concept's")
for file in sorted((source / "include/warpfold/detail/gpu/kernels").glob("*.cuh")):
    for found in SNIFFS.finditer(re.sub(r"//[^\n]*", "", file.read_text())):
        failures.append(f"{file.relative_to(source)}: a requires outside of a concept: {found.group(0).split(chr(10))[-1].strip()}")
if count < 300 or includes < 900:
    failures.append(f"{count} files and {includes} includes; there are more")
print("\n".join(failures) if failures else f"{count} files, {includes} includes, {len(parts)} parts")
sys.exit(1 if failures else 0)
