# SPDX-License-Identifier: Apache-2.0
"""code_test.py SOURCE [--write]: the C, C++ and CUDA that pages show is that of files that are compiled.

Above a block ```cpp or ```c stands where its text comes from:

    <!-- examples/states.cpp: state_of; examples/mpi.cpp: plan, wait -->

That is a list of parts, which are put together in this order. A part begins in a file of examples/ behind a line `// [state_of]` and ends before
a line `// [/state_of]`; parts of one name in a file are one; each is shown without the indentation that all its lines have. Examples are
compiled and run as tests. A block ```cuda is a kernel, as it stands in ladder/ or examples/lessons. --write brings blocks up to date with the examples.

First the test looks whether it sees what is wrong with pages of its own."""
import re
import sys
import textwrap
from pathlib import Path

source = Path(sys.argv[1]).resolve()
CODE = ("c", "cpp")
OTHER = ("", "cmake", "console", "diff", "json", "python", "sh", "text")  # Python is run by python/tests, console by lessons_test.py, a diff by adding_test.py
IS_CODE = r"#include *[<\"]|__global__|\bwf::\w+\(|[;{]\s*(?://.*)?$"  # in a block that says that it is none
MARK = r"<!-- (examples/\S+: .*) -->"
TAG = re.compile(r"^ *// \[(/?)([\w. ]+)\]\n", re.M)


def parts_of(text, name):
    """{part: its text} of an example, and what is wrong with its tags."""
    parts, begun, wrong, end = {}, {}, [], 0
    for tag in TAG.finditer(text):
        for part in begun:  # what stands between two tags is of every part that is open
            begun[part] += text[end:tag.start()]
        end = tag.end()
        line = text.count("\n", 0, tag.start()) + 1
        if not tag[1]:
            if tag[2] in begun:
                wrong.append(f"{name}:{line}: part {tag[2]} begins within itself")
            begun[tag[2]] = ""
        elif tag[2] in begun:
            parts[tag[2]] = parts.get(tag[2], "") + textwrap.dedent(begun.pop(tag[2]))
        else:
            wrong.append(f"{name}:{line}: part {tag[2]} ends, and did not begin")
    return parts, wrong + [f"{name}: part {part} does not end" for part in begun]


def check(pages, examples, kernels):
    """(what is wrong, {page: its text brought up to date}, how many blocks there are). All arguments are texts by their names."""
    wrong, renewed, shown, count = [], {}, set(), 0
    parts = {}
    for name, text in examples.items():
        parts[name], more = parts_of(text, name)
        wrong += more

    def text_of(mark):
        """The parts that a mark names, and what is wrong with it."""
        found, lacks = "", []
        for one in mark.split("; "):
            name, _, names = one.partition(": ")
            for part in names.split(", "):
                if part in parts.get(name, ()):
                    shown.add((name, part))
                    found += parts[name][part]
                else:
                    lacks.append(f"{name} has no part {part}" if name in parts else f"there is no {name}")
        return found, lacks

    for page, text in pages.items():
        lines, new, k = text.splitlines(keepends=True), [], 0
        while k < len(lines):
            new.append(lines[k])
            fence = re.match(r"^( *)```(.*)$", lines[k])
            k += 1
            if not fence:
                if re.match(r" {4}.*(?:#include *[<\"]|__global__|\bwf::\w+\()|~~~|<pre>", lines[k - 1]):
                    wrong.append(f"{page}:{k}: code that is in no block")
                continue
            at, language = k, fence[2].strip()
            while k < len(lines) and not re.match(r"^ *```\s*$", lines[k]):
                k += 1
            block, where = "".join(lines[at:k]), f"{page}:{at}"
            mark = re.fullmatch(MARK, lines[at - 2].strip()) if at > 1 else None
            if language in CODE:
                count += 1
                source_text, lacks = text_of(mark[1]) if mark else ("", ["a block of code that names no example: <!-- examples/FILE: PART --> above it"])
                wrong += [f"{where}: {what}" for what in lacks]
                if not lacks and block != source_text:
                    ours, theirs = block.splitlines() + ["no more"], source_text.splitlines() + ["no more"]
                    n = next(i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b)
                    wrong.append(f"{page}:{at + 1 + n}: shows `{ours[n]}`, and {mark[1]} has `{theirs[n]}`: code_test.py . --write, if the page is what is old")
                    block = source_text
            elif language == "cuda":
                count += 1
                if block not in kernels:
                    wrong.append(f"{where}: a kernel that stands so in no file of ladder/ or examples/lessons:\n{block}")
            elif language not in OTHER:
                wrong.append(f"{where}: a block of {language}, which this test does not know")
            elif language in ("", "text") and re.search(IS_CODE, block, re.M):
                wrong.append(f"{where}: code in a block that says that it is none")
            if mark and language not in CODE:
                wrong.append(f"{where}: a block of {language or 'no language'} that names an example")
            new += [block, *lines[k:k + 1]]
            k += 1
        renewed[page] = "".join(new)
        if len(re.findall(rf"^ *{MARK}$", text, re.M)) != len(re.findall(rf"^ *{MARK}\n *```", text, re.M)):
            wrong.append(f"{page}: names an example where no block is")
    wrong += [f"{name}: no page shows part {part}" for name in parts for part in parts[name] if (name, part) not in shown]
    return wrong, renewed, count


def own():
    """What this test must see, and what it must let pass."""
    example = {"examples/a.cpp": "// [one]\n#include <a>\n// [/one]\nint main() {\n  // [one]\n  f();  // it\n  // [/one]\n}\n"}
    right = "# Page\n<!-- examples/a.cpp: one -->\n```cpp\n#include <a>\nf();  // it\n```\n```cuda\nk\n```\n"
    two, gone, code = right.replace("f();  // it", "f();  // its"), right.replace("a.cpp: one", "b.cpp: one"), "```\nwf::sum(x)\n```\n"
    says = {"": right, "p.md:5: shows `f();  // its`": two, "there is no examples/b.cpp": gone, "has no part on": right.replace(": one", ": on"),
            "p.md:5: shows `no more`": right.replace("f();  // it\n", ""), "names no example": right.replace("<!-- examples/a.cpp: one -->\n", ""),
            "no page shows part one": "# Page\n", "a kernel that": right.replace("\nk\n", "\nl\n"), "of c++, which": right + "```c++\n```\n",
            "says that it is none": right + code, "in no block": right + "\n    wf::sum(x);\n", "names an example where": right + "<!-- examples/a.cpp: one -->\n", "of text that names": right + "<!-- examples/a.cpp: one -->\n```text\n```\n"}
    for what, text in says.items():
        wrong, renewed, _ = check({"p.md": text}, example, "k\n")
        if what not in "\n".join(wrong) or bool(wrong) != bool(what):
            yield f"of a page of its own the test says {wrong}, which should be: {what or 'nothing'}"
        if text in (right, two) and renewed["p.md"] != right:
            yield f"--write would make {renewed['p.md']}"
    for text, what in (("// [a]\n", "does not end"), ("// [/a]\n", "did not begin"), ("// [a]\n// [a]\n// [/a]\n", "within itself")):
        if what not in "\n".join(check({}, {"examples/a.cpp": text}, "")[0]):
            yield f"the test does not see that a part {what}"


def main():
    wrong = list(own())
    kept = lambda files: {str(f.relative_to(source)): f.read_text() for f in sorted(files)}
    pages = kept([source / "README.md", *(f for f in [*(source / "docs").rglob("*.md"), *(source / "examples").rglob("*.md")] if "log" not in f.parts)])
    examples = kept(f for f in (source / "examples").rglob("*") if f.suffix in (".c", ".cpp", ".cu", ".hpp"))
    kernels = "".join(f.read_text() for folder in ("examples/lessons", "ladder") for f in sorted((source / folder).glob("*.cu*")))
    found, renewed, count = check(pages, examples, kernels)
    if "--write" in sys.argv:
        for page, text in renewed.items():
            if text != pages[page]:
                (source / page).write_text(text)
                print(f"{page}: renewed")
        found = check(renewed, examples, kernels)[0]
    print("\n".join([*wrong, *found]) or f"{count} blocks of {len(pages)} pages")
    return bool(wrong or found) or count < 100


if __name__ == "__main__":
    sys.exit(main())
