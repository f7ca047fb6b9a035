# SPDX-License-Identifier: Apache-2.0
"""adding_test.py SOURCE SCRATCH LIBRARY SIMT IO NVCC -- COMPILER FLAG…: the diffs that docs/adding.md shows, of an operation, an element
type and a GPU architecture, are applied to a copy of the sources, what they change is compiled and linked before the libraries as they
were built, and tests/docs/adding.cpp runs, and the program `warpfold`. SIMT are the archives of the kernels on simt and of simt, IO those of
files, both apart by commas; NVCC may be empty; behind FLAG… stand the libraries of the oracle.

Before that: without the diffs that program does not compile, or it would be none of what they add, and kernels are not limited as on 11.0."""
import os
import re
import shutil
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

source, scratch, library = (Path(a).resolve() for a in sys.argv[1:4])
simt, io = (text.split(",") for text in sys.argv[4:6])
nvcc = sys.argv[6]
compiler, *flags = sys.argv[8:]
libraries = [f for f in flags if f.startswith(("/", "-l")) and not f.startswith("-I")]
flags = [f for f in flags if f not in libraries]
page = (source / "docs/adding.md").read_text()
diffs = re.findall(r"^```diff\n(.*?\n)```$", page, re.M | re.S)
told = re.findall(r"^```\n( [^`]*? changed,[^`]*\n)```$", page, re.M | re.S)


def fail(what):
    sys.exit(f"adding_test: {what}")


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


tree = scratch / "tree"
shutil.rmtree(scratch, ignore_errors=True)
for part in ("include", "src", "cli", "cmake", "simt/include", "tests/cpu", "tests/exact", "tests/support", "tests/docs"):
    shutil.copytree(source / part, tree / part)

# What names operations or element types is compiled anew, which the kernels of instruction sets do not.
changed = [f"src/library/{f.name}" for f in sorted((source / "src/library").glob("*.cpp"))] + \
          ["src/c_api.cpp", "tests/cpu/judgement.cpp", "tests/cpu/typeless.cpp", "src/io/text.cpp", "src/io/reduce.cpp"]


# The kernels of such operations, as simt has them, and the way there of requests made at run time.
kernels = ["src/gpu/own.cu", "src/gpu/library.cpp"]
on_simt = ["-x", "c++", "-DWF_LIBRARY_IS_SIMT=1", f"-I{tree}/simt/include", "-fno-extern-tls-init", "-Wno-unknown-pragmas"]
# The program without the ladder; of its sources reduce.cpp alone reads the table.
program_sources = [f"cli/{name}.cpp" for name in ("main", "info", "interrupt", "option_text", "progress", "reduce", "reduce_answers", "reduce_inputs", "tune")]
of_program = ["-DWARPFOLD_BUILD_TYPE=\"\"", "-DWARPFOLD_HAS_CUDA=0", "-DWARPFOLD_HAS_SIMT=0", "-DWARPFOLD_HAS_LADDER=0"]


def compiled(name):
    to = scratch / (name.replace("/", "_") + ".o")
    more = on_simt if name in kernels else of_program if name in program_sources else []
    done = run([compiler, *flags, *more, f"-I{tree}/include", "-c", str(tree / name), "-o", str(to)])
    return to, done


def linked(objects, libraries, to):
    done = run([compiler, *map(str, objects), *map(str, libraries), "-lpthread", "-ldl", "-o", str(to)])
    if done.returncode:
        fail(done.stdout[-3000:])


to, done = compiled("tests/docs/adding.cpp")
if done.returncode == 0 or "prod_abs" not in done.stdout or "f8" not in done.stdout:
    fail(f"without the diffs, adding.cpp should find neither prod_abs nor f8: {done.stdout[-2000:]}")

KERNEL = """#include <warpfold/detail/gpu/kernels/fast_sum.cuh>
template __global__ void wf::device::fast_sum_small_kernel<float, 512, 4, true>(wf::device::array_part<float>, float*);
extern "C" __global__ void __launch_bounds__(512, wf::device::resident_blocks(512, 4)) limited(int* to) { *to = 1; }
"""


def asked_blocks():
    """Of the new architecture's multiprocessors: how many blocks of 512 threads a kernel that wants four may ask for."""
    (scratch / "kernel.cu").write_text(KERNEL)
    done = run([nvcc, "-std=c++20", f"-I{tree}/include", "-ptx", "-arch=compute_110", str(scratch / "kernel.cu"), "-o", str(scratch / "kernel.ptx")])
    if done.returncode:
        fail(f"nvcc: {done.stdout[-2000:]}")
    return int(re.search(r"entry limited\b.*?\.minnctapersm (\d+)", (scratch / "kernel.ptx").read_text(), re.S).group(1))


known = run([nvcc, "--list-gpu-code"]).stdout.split() if nvcc else []
if "sm_110" in known and asked_blocks() == 3:
    fail("without the diff, kernels are limited as on 11.0")

# A tree of its own, though a repository may be around it.
away = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent), "GIT_DIR": str(scratch / "none")}
if len(diffs) != 3 or len(told) != 3:
    fail(f"docs/adding.md has {len(diffs)} diffs and {len(told)} --stats; it should have three of each")
for number, (diff, stat) in enumerate(zip(diffs, told)):
    file = scratch / f"adding_{number}.diff"
    file.write_text(diff)
    applied = run(["git", "apply", "--verbose", str(file)], cwd=tree, env=away)
    if applied.returncode:
        fail(f"a diff of docs/adding.md does not apply: {applied.stdout}")
    found = run(["git", "apply", "--stat", str(file)], cwd=tree, env=away).stdout
    if found.split() != stat.split():
        fail(f"docs/adding.md shows another --stat than that of its diff:\n{found}")
if "prod_abs" not in (tree / "include/warpfold/operations.def").read_text():
    fail("nothing was applied")

# The architectures of the list: a kernel for each, but those that this nvcc does not know. Code for some is made of the PTX of 9.0.
text = (tree / "cmake/cuda.cmake").read_text()
listed = re.search(r"set\(CMAKE_CUDA_ARCHITECTURES ([^)]*)\)", text).group(1).replace("-real", "").split()
later = re.search(r"set\(later (sm_[^)]*)\)", text).group(1).replace("sm_", "").split(",")
if "110" not in listed or len(listed) + len(later) < 6:
    fail(f"the list of architectures is {listed} and, by the PTX of 9.0, {later}")
if "sm_110" in known:
    if asked_blocks() != 3:
        fail("with the diff, a multiprocessor of 11.0 should hold three blocks of 512")
    code = [f"-gencode=arch=compute_{'90' if a in later else a},code=sm_{a}" for a in listed + later if f"sm_{a}" in known]
    done = run([nvcc, "-std=c++20", f"-I{tree}/include", "-fatbin", *code, str(scratch / "kernel.cu"), "-o", str(scratch / "kernel.fatbin")])
    if done.returncode:
        fail(f"nvcc: {done.stdout[-2000:]}")
    print(f"a kernel for {len(code)} architectures")

io_sources = ["src/io/npy.cpp", "src/io/array_file.cpp"]
sources = [*changed, *kernels, "tests/docs/adding.cpp", *io_sources, *program_sources]
with ThreadPoolExecutor(2) as pool:
    objects = dict(zip(sources, pool.map(compiled, sources)))
for to, done in objects.values():
    if done.returncode:
        fail(f"{to.name}: {done.stdout[-3000:]}")
of = {name: to for name, (to, _) in objects.items()}
table = [of[name] for name in changed if not name.startswith("tests/")]
linked([of[name] for name in [*changed, *kernels, "tests/docs/adding.cpp"]], [*simt, *io, library, *libraries], scratch / "adding")
done = run([str(scratch / "adding")])
print(done.stdout, end="")
if done.returncode:
    sys.exit(done.returncode)

linked([*table, *(of[name] for name in [*io_sources, *program_sources])], [*io, library], scratch / "warpfold")
array = scratch / "x.f64"
array.write_bytes(struct.pack("<4d", -2, 3, -0.5, 4))


def shown(*arguments):
    done = run([str(scratch / "warpfold"), *arguments])
    if done.returncode:
        fail(f"warpfold {' '.join(map(str, arguments))}: {done.stdout}")
    return done.stdout


if shown("prod_abs", "--dtype", "f64", array) != "12\n":
    fail("warpfold prod_abs does not answer 12")
if "Π|x|" not in shown("prod_abs", "--help") or "--round" in shown("prod_abs", "--help"):
    fail("warpfold prod_abs --help does not tell what the table does")
eighths = scratch / "x.f8"
eighths.write_bytes(bytes([0x3c, 0x3f, 0xb8]))  # 1, 1.75, -0.5
if (shown("sum", "--dtype", "f8", eighths), shown("prod_abs", "--dtype", "f8", eighths)) != ("2\n", "0.9\n"):
    fail("warpfold does not answer 2 and 0.9 for floats of 8 bits")
print("warpfold prod_abs answers, of f8 too")
