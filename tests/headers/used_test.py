# SPDX-License-Identifier: Apache-2.0
"""used_test.py SOURCE: every name that the library's inner files declare is used by more than its declaration and tests.

A function that a header declares and another file defines is dead, too, where code outside tests has its name nowhere else. What users may call (include/warpfold itself, its folder device, simt's copies of CUDA's headers) is used by them; all else is dead where code outside tests has
its name once. Names of unscoped enumerations are left out, those that a macro puts together by ##, and those with two underscores, which compilers call."""
import re
import sys
from collections import Counter
from pathlib import Path

root = Path(sys.argv[1])
INNER = ("include/warpfold/detail", "src", "simt/src", "simt/include/simt/detail", "ladder", "lens", "cli", "python/src")
CODE = {".hpp", ".cpp", ".cuh", ".cu", ".h", ".def"}
DECLARED = re.compile(r"\b(?:struct|class|concept|enum class|using|union)\s+(?:alignas\([^)]*\)\s*)?(?:WF_\w+\s+)?([A-Za-z_]\w*)\s*(?=[:{=<])"  # types
                      r"|^\s*#define\s+(\w+)"
                      r"|\b([A-Za-z_]\w*)\s*\([^;{}()]*(?:\([^()]*\)[^;{}()]*)*\)\s*(?:const\s*)?(?:noexcept\s*)?(?:->[^;{]+)?(?:requires[^{;]+)?\{"  # functions with a body
                      r"|\bconstexpr\s+(?:[\w:<>*&, ]+?)\s+([a-z_]\w*)\s*(?:=|\{)", re.M)

code, others = {}, []
for folder in (*INNER, "include", "simt", "python", "bench", "examples", "cmake"):
    for file in sorted((root / folder).rglob("*")):
        if file.suffix in CODE and file not in code:
            code[file] = re.sub(r"//[^\n]*|/\*.*?\*/", "", file.read_text(), flags=re.S)
        elif file.suffix in (".py", ".cmake", ".txt", ".in", ".pyi"):
            others.append(file.read_text())
everything = "\n".join([*code.values(), *others])
seen = Counter(re.findall(r"[A-Za-z_]\w*", everything))
pasted = tuple(set(re.findall(r"\b(\w{3,}_)\s*##", everything)))
endings = set(re.findall(r"##\s*(\w+)", everything))
dead = sorted({f"{file.relative_to(root)}: {name}" for file, text in code.items() if str(file.relative_to(root)).startswith(INNER)
               for found in DECLARED.finditer(text) if seen[name := next(filter(None, found.groups()))] == 1 and not name.startswith(("__", *pasted)) and name not in endings | {"main"}})
# The declaration ends in a semicolon; a call does not begin with a type.
PROTOTYPE = re.compile(r"^[ \t]*(?:(?:const|inline|extern|virtual|static|constexpr|\[\[\w+\]\]|WF_API)\s+)*(?!return\b|throw\b|else\b|new\b|delete\b|co_\w+\b|using\b|case\b|goto\b)"
                       r"[A-Za-z_][\w:]*(?:<[^;(){}]*>)?[\s&*]+([A-Za-z_]\w*)\s*\([^;{}()]*(?:\([^()]*\)[^;{}()]*)*\)\s*(?:const\s*)?(?:noexcept\s*)?;", re.M)
defined = Counter(found[3] for text in code.values() for found in DECLARED.finditer(text) if found[3])
for file, text in code.items():
    if str(file.relative_to(root)).startswith(INNER) and file.suffix in (".hpp", ".cuh"):
        dead += [f"{file.relative_to(root)}: {name}" for name in PROTOTYPE.findall(text) if defined[name] == 1 and seen[name] == 2]
print("\n".join(f"{line} is used by nothing, or by tests alone" for line in dead) or f"{len(seen)} names")
sys.exit(bool(dead) or len(seen) < 5000)
