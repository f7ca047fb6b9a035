# SPDX-License-Identifier: Apache-2.0
"""code_test.py SOURCE COMPILER…: the C++ that README and docs show is what a compiler takes.

Each block ```cpp of a page becomes a function behind the names that the page takes for granted (NAMES), and is compiled as for simt, not run. A block that has
no names here fails, and names of no block do. Before that the test itself: a page with a member that is not there must fail."""
import re
import subprocess
import sys
from pathlib import Path

source, compiler = Path(sys.argv[1]).resolve(), sys.argv[2:]
HOST = "extern std::vector<double> values, chunk; extern wf::view<double> matrix; extern wf::exact_sum other;"
DEVICE = """struct my_reduction {
  struct state { float sum; };
  WF_HD state identity() const { return {0}; }
  WF_HD state lift(float x, std::int64_t) const { return {x}; }
  WF_HD state combine(state a, state b) const { return {a.sum + b.sum}; }
  WF_HD float finish(state s, std::int64_t) const { return s.sum; }
};
struct my_distance {
  using state = my_reduction::state;
  WF_HD state identity() const { return {0}; }
  WF_HD state lift(float x, float y, std::int64_t) const { return {x - y}; }
  WF_HD state combine(state a, state b) const { return {a.sum + b.sum}; }
  WF_HD float finish(state s, std::int64_t) const { return s.sum; }
};
struct product { WF_HD float operator()(float x, float y) const { return x * y; } };
extern ::CUstream_st* stream;
extern float *device_values, *device_out, *mean_out, *std_out, *min_out, *mine_out;
extern std::int64_t n;
extern std::span<const float> values, x, y;
extern std::vector<float> host_vector;
extern wf::view<float> matrix;
"""
RUNS = """extern wf::gpu place;
extern std::span<const int> keys;
extern std::span<const float> values;
extern int* unique;
extern std::int64_t *offsets, *found, room;
extern float* sums;
"""
GPU, ALL = "#include <warpfold/gpu.cuh>\n", "#include <warpfold/warpfold.hpp>\n"
# For each block of a page: the names that it takes for granted, or why it is not compiled here.
MPI = None  # an MPI is needed: examples/mpi.cpp is compiled in tests/mpi and tests/package
PART = None  # a part of a file: tests/lens and tests/simt have it whole
NAMES = {
    "README.md": [ALL + HOST, GPU + DEVICE],
    "docs/architecture.md": [PART, ALL + HOST],
    "docs/gpu.md": [GPU + DEVICE, GPU + RUNS],
    "docs/lens.md": [PART, PART],
    "docs/ranks.md": [MPI, MPI, MPI, MPI, GPU + "extern std::vector<double> host_vector; extern std::vector<std::span<const float>> spans;"],
    "docs/simt.md": [PART],
    "docs/states.md": [ALL + "extern std::vector<double> values; extern wf::state_form form;"],
}


def blocks(page):
    return re.findall(r"^```cpp\n(.*?)^```$", page, re.M | re.S)


def compiled(name, code, names):
    """What the compiler says against a block."""
    include = r"^#include .*$"
    lines = [line for line in code.splitlines() if not re.match(include, line)]
    heads = "\n".join(re.findall(include, names + "\n" + code, re.M))
    rest = re.sub(include, "", names, flags=re.M)
    text = f"#include <cuda_runtime.h>\n#include <cstdint>\n#include <span>\n#include <vector>\n{heads}\nnamespace of_the_page {{\n{rest}\nvoid shown() {{\n" + "\n".join(lines) + "\n}\n}\n"
    done = subprocess.run([*compiler, "-std=c++20", f"-I{source}/include", f"-I{source}/simt/include", "-fsyntax-only", "-x", "c++", "-"], input=text, text=True, stderr=subprocess.PIPE)
    return "" if done.returncode == 0 else f"{name}:\n{code}\n{done.stderr[:1500]}"


failures, count = [], 0
broken = compiled("broken", "double s = wf::sum(values).no_such_member;", NAMES["docs/states.md"][0])
if "no_such_member" not in broken:
    failures.append("the test does not see what is wrong with a page")
pages = [source / "README.md", *sorted((source / "docs").glob("*.md"))]
for page in pages:
    name, found = str(page.relative_to(source)), blocks(page.read_text())
    names = NAMES.pop(name, [])
    if len(names) != len(found):
        failures.append(f"{name} shows {len(found)} blocks of C++; NAMES of this test has {len(names)}")
        continue
    for k, (code, given) in enumerate(zip(found, names)):
        if given is not None:
            count += 1
            failures.append(compiled(f"{name}, block {k + 1}", code, given))
failures += [f"NAMES has {name}, which shows no C++" for name in NAMES]
failures = [f for f in failures if f]
print("\n".join(failures) or f"{count} blocks")
sys.exit(bool(failures) or count < 6)
