# SPDX-License-Identifier: Apache-2.0
"""nvcc_misuses_test.py INCLUDE NVCC: the first error that nvcc tells of each misuse in nvcc_misuses.txt.

All are compiled at once, each in a function that begins a file of its own name: an error names it where it stands, or in the
list of what was being instantiated. A function that lacks WF_HD is told of later, when nothing else is wrong, so it has a run of its own, and so have lambdas, for their option."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

include, nvcc = sys.argv[1:3]
HEAD = """#include <vector>
#include <warpfold/gpu.cuh>
struct good {
  static constexpr bool commutes = true;
  WF_HD double identity() const { return 0; }
  WF_HD double lift(float v, std::int64_t) const { return v; }
  WF_HD double combine(double a, double b) const { return a + b; }
  WF_HD double finish(double s, std::int64_t) const { return s; }
};
"""
FRAME = "void f%d(const wf::gpu& place, std::span<const float> x, const std::vector<float>& host, double* out, float* single) {\n#line 1 \"misuse_%d\"\n%s\n}\n"
HOST_ONLY = """struct host_only {
  static constexpr bool commutes = true;
  WF_HD double identity() const { return 0; }
  double lift(float v, std::int64_t) const { return v; }
  WF_HD double combine(double a, double b) const { return a + b; }
  WF_HD double finish(double s, std::int64_t) const { return s; }
};
"""


def errors(folder, code, *options):
    """What nvcc says: a text for each error, with what was being instantiated."""
    source = Path(folder) / "misuses.cu"
    source.write_text(HEAD + code)
    done = subprocess.run([nvcc, "-std=c++20", "-arch=sm_90", "-I", include, "-ptx", source, "-o", Path(folder) / "out.ptx", "-Xcudafe", "--error_limit=1000",
                           "--diag-suppress=177", *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "LC_ALL": "C"})
    return done.returncode, [e for e in re.split(r"\n(?=\S+\(\d+\): (?:error|warning))", "\n" + done.stdout) if e.strip()]


with tempfile.TemporaryDirectory() as folder:
    cases = re.split(r"^== ", (Path(__file__).with_name("nvcc_misuses.txt")).read_text(), flags=re.M)[1:]
    code, wanted = "", []
    for k, case in enumerate(cases):
        lines = case.strip().splitlines()
        wanted.append((lines[0], [line[3:] for line in lines if line.startswith("-- ")]))
        code += FRAME % (k, k, "\n".join(line for line in lines[1:] if not line.startswith("-- ")))
    status, said = errors(folder, code)
    failures = 0
    nameless = [e.splitlines()[0] for e in said if ": error" in e.splitlines()[0] and "misuse_" not in e]  # what is instantiated last
    for k, (name, words) in enumerate(wanted):
        own = [e for e in said if re.search(rf"\bmisuse_{k}\b", e) and ": error" in e.splitlines()[0]]
        first = own[0].splitlines()[0] if own else next((e for e in nameless if any(w in e for w in words)), "nothing: it compiles")
        if not own and first in nameless:
            nameless.remove(first)
        if not any(w in first for w in words):
            failures += 1
            print(f"{name}:\n  it says    {first}\n  should say {words[0]}")
    status, said = errors(folder, HOST_ONLY + FRAME % (0, 0, "wf::reduce(place, x, out, host_only{});"))
    first = next((line for e in said for line in e.splitlines() if "error" in line), "nothing: it compiles")
    if 'calling a __host__ function("' not in first or "::lift(float, long) const" not in first:
        failures += 1
        print(f"a member that lacks WF_HD:\n  it says    {first}")
    lambda_of = "wf::reduce(place, x, single, wf::transform([] %s (float v) { return v * v; }), wf::sum);"
    status, said = errors(folder, FRAME % (0, 0, lambda_of % "__device__"), "--extended-lambda")
    first = next((line for e in said for line in e.splitlines() if "error" in line), "nothing: it compiles")
    if "a lambda in wf::transform is [] __host__ __device__" not in first:
        failures += 1
        print(f"a lambda that is __device__ alone:\n  it says    {first}")
    status, said = errors(folder, FRAME % (0, 0, "wf::sum(place, x, single);\nwf::reduce(place, x, out, good{});\nstatic_cast<void>(wf::fuse(wf::sum, good{})(place, host));\n" + lambda_of % "__host__ __device__"), "--extended-lambda")
    if status:
        failures += 1
        print("what is right is refused:", *said)
print(f"{len(cases) + 2} misuses, {failures} told of wrongly")
sys.exit(1 if failures or len(cases) < 19 else 0)
