# SPDX-License-Identifier: Apache-2.0
"""architecture_test.py SOURCE: docs/architecture.md follows calls that there are: each function of a table is in its file, and so is the
name of the next one, which it calls (a .def is included there); each file that the page names is there. Before that, the test itself: a step to a function that is called
nowhere must be seen."""
import re
import sys
from pathlib import Path

source = Path(sys.argv[1])
page = (source / "docs/architecture.md").read_text()


def word(name):
    return re.compile(r"(?<!\w)" + re.escape(name.split("::")[-1]) + r"(?!\w)")


def code(file):
    """A file without its comments."""
    return re.sub(r"//[^\n]*", "", (source / file).read_text())


def faults(tables):
    wrong = []
    for rows in tables:
        for k, (name, file) in enumerate(rows):
            if not (source / file).is_file():
                wrong.append(f"{file} is not there")
            elif not word(name).search(code(file)):
                wrong.append(f"{file} has no {name}")
            elif k + 1 < len(rows) and file.endswith(".def"):
                if not re.search(rf"#include <.*{Path(file).name}>", code(rows[k + 1][1])):
                    wrong.append(f"{rows[k + 1][1]} does not include {file}")
            elif k + 1 < len(rows) and not word(rows[k + 1][0]).search(code(file)):
                wrong.append(f"{file} does not name {rows[k + 1][0]}, the step behind {name}")
    return wrong


tables, parts = [], []
for block in re.split(r"\n\n", page):
    calls = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", block, re.M)
    if calls:
        tables.append(calls)
    parts += re.findall(r"^\| \w+ \| `([^`]+)` \| `([^`]+)` \|", block, re.M)
for wrong in ([("sum", "include/warpfold/operations.def"), ("cudaLaunchKernelEx", "include/warpfold/device/launch.cuh")], [("launch_nothing", "include/warpfold/device/launch.cuh")],
              [("sum", "include/warpfold/nowhere.hpp")]):
    if not faults([wrong]):
        sys.exit(f"architecture_test: nothing is found wrong with {wrong}")
found = faults(tables) + faults([[part] for part in parts])
kernel = code("include/warpfold/detail/gpu/kernels/exact_sum.cuh") + code("include/warpfold/detail/gpu/merge/exact_message.cuh")
found += [f"the kernel does not name {name}" for name, _ in parts if not word(name).search(kernel)]
found += [f"docs/architecture.md names {file}, which is not there" for file in re.findall(r"`((?:include|src)/[\w/.]+)`", page) if not (source / file).exists()]
if [len(t) for t in tables] != [9, 2, 7] or len(parts) != 4:
    found.append(f"the tables have {[len(t) for t in tables]} and {len(parts)} rows")
print("\n".join(found) or f"{sum(map(len, tables)) + len(parts)} steps")
sys.exit(bool(found))
