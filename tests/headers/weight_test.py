# SPDX-License-Identifier: Apache-2.0
"""weight_test.py SOURCE COMPILER: what a file with three reductions on a GPU reads (bench/compile/three_warpfold.cpp).

Processor time of a compiler is no test's to judge, on machines that do other things too. What it has to read is: of the standard library
nothing large but what the interface names (<complex>, <memory>, <span>, <string>, <vector>), and none of the exact states. The time itself is in
docs/install.md.

And what nvcc has to read of each file of kernels: neither what the CPU's engine or a request needs, nor headers of CUDA's that take seconds; machine.cu and
own.cu, which are the host's part and the CPU's reductions, need some."""
import re
import subprocess
import sys
from pathlib import Path

source, compiler = Path(sys.argv[1]).resolve(), sys.argv[2]
LARGE = ("algorithm", "any", "chrono", "condition_variable", "deque", "filesystem", "format", "functional", "future", "iomanip", "iostream", "list", "map", "mutex", "numeric", "random",
         "ranges", "regex", "set", "shared_mutex", "stop_token", "thread", "unordered_map", "variant")
OWN = ("exact_sum.hpp", "exact_moments.hpp", "detail/exact/buckets.hpp", "detail/exact/accumulate.hpp", "detail/exact/serial.hpp")


def read_by(text):
    """The headers that a text has the compiler read: names of the standard library's, and of warpfold's."""
    done = subprocess.run([compiler, "-std=c++20", f"-I{source}/include", "-H", "-fsyntax-only", "-x", "c++", "-"], input=text, stderr=subprocess.PIPE, text=True, check=True)
    paths = [line.split()[1] for line in done.stderr.splitlines() if re.match(r"\.+ /", line)]
    return ({Path(p).name for p in paths if "/warpfold/" not in p and "/bits/" not in p and "." not in Path(p).name},
            {p.rpartition("/warpfold/")[2] for p in paths if "/warpfold/" in p})


standard, own = read_by((source / "bench/compile/three_warpfold.cpp").read_text())
failures = [f"it reads <{name}>" for name in LARGE if name in standard] + [f"it reads warpfold/{name}" for name in OWN if name in own]
if "complex" not in standard or "gpu.hpp" not in own or len(own) < 15:
    failures.append(f"what it reads is not told: {sorted(standard)}, {sorted(own)}")
standard, own = read_by("#include <functional>\n#include <warpfold/warpfold.hpp>\n")  # where they are, they are seen
if "functional" not in standard or not set(OWN[:2]) <= own:
    failures.append("the test does not see what is read")


KERNELS_READ_NO = ("warpfold/executor.hpp", "warpfold/builtin.hpp", "warpfold/request.hpp", "warpfold/backend.hpp", "warpfold/detail/cpu/engine.hpp", "cooperative_groups.h",
                   "cuda/atomic", "cuda/std/atomic", "algorithm", "functional", "memory", "sstream", "vector")


def named_by(path, seen):
    """What a file includes, and what those of the project's include, each once; but for simt."""
    text = re.sub(r"#if defined\(__SIMT__\)\n(?:[^#]|#include)*?#(?:else|endif)", "", path.read_text())
    for quote, name in re.findall(r'#include ([<"])([^>"]+)[>"]', text):
        if name in seen:
            continue
        seen[name] = path
        for there in ([source / "include" / name] if quote == "<" else [path.parent / name]):
            if there.is_file():
                named_by(there, seen)
    return seen


for file in sorted(source.glob("src/gpu/*.cu")):
    if file.name in ("machine.cu", "own.cu"):
        continue
    names = named_by(file, {})
    failures += [f"src/gpu/{file.name} reads {name}, included by {names[name].relative_to(source)}" for name in KERNELS_READ_NO if name in names]
    if len(names) < 2:
        failures.append(f"what src/gpu/{file.name} reads is not told: {sorted(names)}")
print("\n".join(failures) or f"{len(own)} headers of warpfold's by warpfold.hpp")
sys.exit(1 if failures else 0)
