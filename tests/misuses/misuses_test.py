# SPDX-License-Identifier: Apache-2.0
"""misuses_test.py INCLUDE COMPILER: the first line of error of each misuse in misuses.txt, beside what it should hold.

Each is the body of a function of `x`, a vector, and `place`, a GPU; g++ and clang++ compile no kernels, so nvcc has its own
(nvcc_misuses_test.py)."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

include, compiler = sys.argv[1:3]
clang = "clang" in subprocess.run([compiler, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
headers = "#include <complex>\n#include <list>\n#include <span>\n#include <vector>\n#include <warpfold/gpu.hpp>\n"
flags = ["-std=c++20", "-I", include, "-ferror-limit=2" if clang else "-fmax-errors=2"]
failures = 0


def compiled(folder, code, more=()):
    source = Path(folder) / "misuse.cpp"
    source.write_text(code)
    done = subprocess.run([compiler, *flags, *more, "-fsyntax-only", source], stderr=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C"})
    return [line for line in done.stderr.splitlines() if re.search(r"\berror: ", line)]


with tempfile.TemporaryDirectory() as folder:
    pch = Path(folder) / "all.hpp"
    pch.write_text(headers)
    made = f"{pch}.pch" if clang else f"{pch}.gch"
    subprocess.run([compiler, *flags, "-x", "c++-header", pch, "-o", made], check=True)
    use = ["-include-pch", made] if clang else ["-include", pch]
    frame = "void f(const std::vector<double>& x, const wf::gpu& place, std::span<const double> on_device, double* out) {\n%s\n}\n"
    said = compiled(folder, frame % "static_cast<void>(wf::sum(x)); wf::sum(place, on_device, out); static_cast<void>(wf::sum(place, x));", use)
    if said:
        sys.exit(f"misuses_test: what is right is refused: {said[0]}")
    cases = re.split(r"^== ", (Path(__file__).with_name("misuses.txt")).read_text(), flags=re.M)[1:]
    for case in cases:
        lines = case.strip().splitlines()
        name, words = lines[0], [line[3:] for line in lines if line.startswith("-- ")]
        options = [w for line in lines if line.startswith("#pragma options ") for w in line.split()[2:]]
        code = frame % "\n".join(line for line in lines[1:] if not line.startswith(("-- ", "#")))
        said = compiled(folder, headers + code, options) if options else compiled(folder, code, use)
        first = said[0] if said else "nothing: it compiles"
        wanted = words[1] if clang and len(words) > 1 else words[0]
        if not any(w in first for w in wanted.split("|")):
            failures += 1
            print(f"{name}:\n  it says    {first}\n  should say {wanted}")
print(f"{len(cases)} misuses, {failures} told of wrongly")
sys.exit(1 if failures or len(cases) < 20 else 0)
