#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole CUDA programs, as they are, by `warpfold run` and `warpfold explain`. programs_test.py PROGRAM SOURCES [NVCC]

The programs are examples/cuda; what each prints on simt is in tests/cli/programs. Where there are nvcc and a GPU, the GPU must
print the same; elsewhere that test is skipped, and says so. WARPFOLD_TEST_EFFORT below a half: every fourth program
alone, and WARPFOLD_TEST_DRAW says from which on.
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SOURCES = sys.argv[1], pathlib.Path(sys.argv[2])
NVCC = sys.argv[3] if len(sys.argv) > 3 else ""
PRINTED = SOURCES / "tests/cli/programs"
PROGRAMS = sorted((SOURCES / "examples/cuda").glob("*.cu"))
IS_WHOLE = float(os.environ.get("WARPFOLD_TEST_EFFORT", 1)) >= 0.5
FIRST = int(os.environ.get("WARPFOLD_TEST_DRAW", 0)) // 6 % 4  # run in one draw of six


def has_gpu():
    try:
        return bool(NVCC) and subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout.startswith("GPU ")
    except OSError:
        return False


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options)


class programs(unittest.TestCase):
    def written(self, text, name="program.cu"):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / name
        path.write_text(text)
        return path

    def refused(self, text, *parts):
        answer = run("run", self.written(text))
        self.assertEqual(answer.returncode, 2, answer.stderr)
        self.assertEqual(answer.stdout, "")
        self.assertEqual(len(answer.stderr.strip().splitlines()), 1, answer.stderr)
        for part in parts:
            self.assertIn(part, answer.stderr)

    def test_classic_programs_print_what_they_should(self):
        for path in PROGRAMS if IS_WHOLE else PROGRAMS[FIRST::4]:
            with self.subTest(path.stem):
                answer = run("run", path)
                self.assertEqual(answer.returncode, 0, answer.stderr)
                self.assertEqual(answer.stdout, (PRINTED / (path.stem + ".txt")).read_text())

    def test_every_form_of_a_launch(self):
        answer = run("run", PRINTED / "launches.cu")
        self.assertEqual(answer.stdout, 'x0 47, x9 46, x40 40, x99 5; d -1, sum 6; a <<< in a string, R"(and >>>)": no error\n', answer.stderr)

    def test_calls_of_the_host(self):
        answer = run("run", PRINTED / "calls.cu")
        self.assertEqual(answer.stdout, (PRINTED / "calls.txt").read_text(), answer.stderr)
        self.assertEqual(answer.returncode, 1)  # for the store beyond all memory, which is told, too
        self.assertIn("calls.cu:22: out of bounds", answer.stderr)

    def test_what_courses_do(self):
        answer = run("run", PRINTED / "course.cu")
        self.assertEqual(answer.stdout, (PRINTED / "course.txt").read_text(), answer.stderr)
        self.assertEqual(answer.returncode, 0, answer.stderr)

    PTX = ('#include <cstdio>\n__device__ unsigned lane() {\n  unsigned r;\n  asm volatile("mov.u32 %0, %%laneid;"\n               : "=r"(r));\n  return r;\n}\n'
           "__global__ void by_ptx(unsigned* x) { x[threadIdx.x] = lane(); }\n"
           "__global__ void plain(unsigned* x) { x[threadIdx.x] = threadIdx.x * 2; }\n"
           "__global__ void parent(unsigned* x) {\n  plain<<<1, 1>>>(x);\n}\n"
           'const char* text = R"(asm("in a string;"))";\n'
           "int main() {\n  unsigned *d, h[32];\n  cudaMalloc(&d, sizeof h);\n"
           "  by_ptx<<<1, 32>>>(d);\n  cudaError_t e = cudaGetLastError();\n"
           "  plain<<<1, 32>>>(d);\n  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);\n"
           '  printf("%s, then %u, %s %zu\\n", cudaGetErrorName(e), h[5], text, sizeof(unsigned));\n  parent<<<1, 1>>>(d);\n}\n')

    def test_a_kernel_with_ptx_or_a_launch_fails_alone(self):
        path = self.written(self.PTX)
        answer = run("run", path)
        self.assertEqual(answer.stdout, 'cudaErrorNotSupported, then 10, asm("in a string;") 4\n', answer.stderr)
        self.assertEqual(answer.returncode, 1)
        self.assertIn("by_ptx, block 0, thread 0, ", answer.stderr)
        self.assertIn("program.cu:4: not supported: inline PTX, which simt does not run", answer.stderr)
        self.assertIn("not supported: a launch from within a kernel, which simt does not run: launch it from the host", answer.stderr)
        if IS_WHOLE:
            answer = run("explain", path, "--json")
            self.assertEqual(answer.returncode, 1)
            self.assertEqual([k["name"] for k in json.loads(answer.stdout)["kernels"]], ["plain"])
            self.assertIn("program.cu:4: not supported: inline PTX", answer.stderr)

    def test_arguments_and_status_are_the_programs(self):
        path = self.written('#include <cstdio>\n__global__ void k() { printf("%d of %d\\n", threadIdx.x, blockDim.x); }\n'
                            'int main(int n, char** a) { k<<<1, 2>>>(); cudaDeviceSynchronize(); printf("%d %s %s\\n", n, a[1], a[2]); return 7; }\n')
        answer = run("run", path, "--help", "-x 1")
        self.assertEqual(answer.stdout, "0 of 2\n1 of 2\n3 --help -x 1\n", answer.stderr)
        self.assertEqual(answer.returncode, 7)

    def test_a_fault_that_the_program_does_not_ask_for_is_told(self):
        # `h` alone is also how a mangled name writes `unsigned char`.
        path = self.written("__global__ void h(int* x) {\n  if (threadIdx.x < 16) __syncthreads();\n}\nint main() { h<<<1, 32>>>(nullptr); }\n")
        answer = run("run", path)
        self.assertEqual(answer.returncode, 1, answer.stderr)
        self.assertIn("warpfold: h", answer.stderr)
        self.assertIn("program.cu:2: divergent barrier: 16 of 32 threads wait here", answer.stderr)

    def test_libraries_are_refused_by_name(self):
        self.refused("#include <cstdio>\n#include <cub/cub.cuh>\nint main() {}\n", "program.cu:2: <cub/cub.cuh> is of CUB")
        self.refused("#include <thrust/device_vector.h>\nint main() {}\n", "program.cu:1: <thrust/device_vector.h> is of Thrust")
        # Found in the toolkit, or not found at all: told in the same words.
        self.refused("#include <cstdio>\n#include <mma.h>\nint main() {}\n", "program.cu:2: <mma.h> is of the tensor cores'")
        self.refused('#include "mine.h"\nint main() {}\n', "program.cu:1: no file mine.h")

    def test_what_simt_lacks_is_named(self):
        self.refused("__global__ void k(cudaTextureObject_t t, float* x) { *x = tex1Dfetch<float>(t, 0); }\nint main() {}\n",
                     "program.cu:1: simt does not have CUDA's cudaTextureObject_t")
        self.refused("__global__ void k(float* x) { *x = __frobnicate(*x); }\nint main() { k<<<1, 1>>>(nullptr); }\n",
                     "program.cu:1: simt does not have CUDA's __frobnicate")
        self.refused("#include <cuda.h>\nint main() {\n  cuInit(0);\n}\n", "program.cu:3: simt does not have CUDA's cuInit")
        self.refused("#include <cooperative_groups.h>\n__global__ void k(cooperative_groups::multi_grid_group g) {}\nint main() {}\n",
                     "program.cu:2: simt does not have cooperative_groups::multi_grid_group")

    def test_what_cuda_no_longer_has_is_told_with_what_takes_its_place(self):
        self.refused("__global__ void k(int* x) { *x = __shfl_down(*x, 1); }\nint main() { k<<<1, 32>>>(nullptr); }\n",
                     "program.cu:1: CUDA no longer has __shfl_down: write __shfl_down_sync, whose first argument is the mask")
        self.refused("int main() {\n  cudaDeviceProp p;\n  return p.deviceOverlap;\n}\n", "program.cu:3: CUDA no longer has deviceOverlap: write asyncEngineCount\n")
        self.refused("int main() {\n  cudaDeviceProp p;\n  return p.clockRate;\n}\n",
                     "program.cu:3: CUDA no longer has clockRate: ask cudaDeviceGetAttribute() for cudaDevAttrClockRate\n")
        self.refused("int main() {\n  cudaThreadSynchronize();\n}\n", "program.cu:2: CUDA no longer has cudaThreadSynchronize: write cudaDeviceSynchronize\n")

    def test_mistakes_are_told_by_file_and_line(self):
        self.refused("__global__ void k(int) {}\nint main() {\n  k<<<1, 1>>>(1, 2);\n}\n", "program.cu:3: ")
        self.refused("void k(int) {}\nint main() {\n  k<<<1, 1>>>(1);\n}\n", "program.cu:3: ", "non-global function")
        self.refused("__global__ void k(int) {}\nint main() {\n  k(1);\n}\n", "program.cu:3: ", "not configured")
        self.refused("__global__ void k(int) {}\n", "nothing defines main", "explain")

    def test_each_launch_is_explained(self):
        answer = run("explain", SOURCES / "examples/cuda/transpose.cu", "--json")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        kernels = {k["name"]: k for k in json.loads(answer.stdout)["kernels"]}
        self.assertEqual(list(kernels), ["naive", "tiled<0>", "tiled<1>"])
        conflicts = {name: k["counters"]["shared_load"]["conflicts"] for name, k in kernels.items() if name != "naive"}
        self.assertGreater(conflicts["tiled<0>"], 10000)
        self.assertEqual(conflicts["tiled<1>"], 0)
        self.assertIn("padded tile: 0 of 12610 wrong", answer.stderr)  # the repeated launches leave the answer as it is

    def test_a_launch_is_repeated_on_what_it_found(self):
        path = self.written("#include <cstdio>\n__device__ unsigned ticket;\n"
                            "__global__ void k(int* x) {\n  atomicAdd(&ticket, 1u);\n  x[0] += threadIdx.x;\n}\n"
                            "int main() {\n  int *x, h = 5;\n  unsigned t;\n  cudaMalloc(&x, 4);\n  cudaMemcpy(x, &h, 4, cudaMemcpyHostToDevice);\n"
                            "  for (int i = 0; i < 3; ++i) k<<<1, 4>>>(x);\n  cudaMemcpyFromSymbol(&t, ticket, 4);\n  printf(\"ticket %u\\n\", t);\n}\n")
        answer = run("explain", path)
        self.assertEqual(answer.returncode, 1, answer.stderr)  # it races
        self.assertEqual(answer.stderr, "ticket 12\n")
        self.assertIn("race on global memory: write at", answer.stdout)
        self.assertIn("the first of 3 launches", answer.stdout)

    KERNELS = ('const char* note = R"raw(a " quote, /* and "raw)" too: __global__ void fake(int) {})raw";\n'
               "__global__ void twice(const float* x, float* y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
               "  if (i < n) y[i] = 2 * x[i];\n}\n"
               "__global__ void twice_strided(const float* x, float* y, int n) {\n  int i = threadIdx.x * 8 % n + threadIdx.x * 8 / n;\n"
               "  if (i < n) y[i] = 2 * x[i];\n}\n")

    def saved(self, folder, name, values, code="<f4", letter="f"):
        head = str({"descr": code, "fortran_order": False, "shape": (len(values),)})
        head += " " * (-(11 + len(head)) % 64) + "\n"
        path = folder / name
        path.write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}{letter}", *values))
        return path

    def test_arrays_from_files_and_what_is_expected(self):
        kernel = self.written(self.KERNELS)
        x = self.saved(kernel.parent, "x.npy", range(64))
        want = self.saved(kernel.parent, "want.npy", [2 * i for i in range(64)])
        off = self.saved(kernel.parent, "off.npy", [2 * i + (i == 7) for i in range(64)])
        launch = ["explain", f"{kernel}:twice", "--grid", 1, "--block", 64, "--arg", x, "--arg", "out:f32[64]", "--arg", 64]
        answer = run(*launch, "--expect", want)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        self.assertIn(f"as in {want}", answer.stdout)
        self.assertIn(f"blocks of 64 · {x} · out:f32[64] · 64", answer.stdout)
        answer = run(*launch, "--expect", off)
        self.assertEqual(answer.returncode, 1)
        self.assertIn("1 of 64 elements differ; element 7 is 14, expected 15", answer.stdout)
        self.assertEqual(run(*launch, "--expect", off, "--tolerance", 0.07).returncode, 0)  # 1/15 is less

    def test_a_file_of_another_type_is_told_before_compiling(self):
        kernel = self.written(self.KERNELS)
        doubles = self.saved(kernel.parent, "doubles.npy", range(64), "<f8", "d")
        answer = run("explain", f"{kernel}:twice", "--grid", 1, "--block", 64, "--arg", doubles, "--arg", "out:f32[64]", "--arg", 64)
        self.assertEqual((answer.returncode, answer.stderr),
                         (2, f"warpfold: --arg {doubles}, f64[64] (parameter 1): the kernel's pointer is to f32\n"))

    def test_one_kernel_beside_another(self):
        kernel = self.written(self.KERNELS)
        answer = run("explain", f"{kernel}:twice_strided", "--vs", f"{kernel}:twice", "--grid", 1, "--block", 64,
                     "--arg", "f32[64]", "--arg", "out:f32[64]", "--arg", 64)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        self.assertRegex(answer.stdout, r"global load sectors +8 +16\n")
        self.assertIn("twice_strided after twice:\n  2 times more global load sectors\n", answer.stdout)
        answer = run("explain", f"{kernel}:twice", "--vs", "tree_modulo", "--grid", 1)
        self.assertEqual(answer.returncode, 2)
        self.assertIn("beside a kernel of your own stands another", answer.stderr)

    def test_arguments_are_checked_before_the_compiler_runs(self):
        kernel = self.written(self.KERNELS)
        launch = ["explain", f"{kernel}:twice", "--grid", 1]
        for given, problem in [([], "takes 3 arguments: const float* x, float* y, int n, and --arg was given 0 times"),
                               (["5", "out:f32[64]", "1"], "--arg 5 (parameter 1, const float* x, of twice in "), (["no.npy", "f32[1]", "1"], "no file 'no.npy'")]:
            # A compiler that cannot run would be told first.
            answer = run(*launch, *[word for a in given for word in ("--arg", a)], env={**os.environ, "CXX": "/bin/false"})
            self.assertEqual(answer.returncode, 2)
            self.assertIn(problem, answer.stderr)
        answer = run("explain", f"{kernel}:fake", "--grid", 1)  # within a raw string
        self.assertIn("no kernel fake; it has twice, twice_strided", answer.stderr)

    @unittest.skipUnless(NVCC, "no nvcc")
    def test_nvcc_takes_them_as_they_are(self):
        # To PTX: nvcc's own front end reads all of the file; what else it would do says nothing of the language.
        with tempfile.TemporaryDirectory() as folder:
            for path in [*PROGRAMS, PRINTED / "launches.cu", PRINTED / "calls.cu", PRINTED / "course.cu"]:
                with self.subTest(path.stem):
                    compiled = subprocess.run([NVCC, "-std=c++17", "-arch=sm_90", "-ptx", "-o", f"{folder}/program.ptx", path], capture_output=True, text=True)
                    self.assertEqual(compiled.returncode, 0, compiled.stderr)

    @unittest.skipUnless(has_gpu(), "no GPU, or no nvcc: what a GPU prints was not compared")
    def test_a_gpu_prints_the_same(self):
        for path in [*PROGRAMS, PRINTED / "course.cu"]:
            with self.subTest(path.stem), tempfile.TemporaryDirectory() as folder:
                program = f"{folder}/program"
                compiled = subprocess.run([NVCC, "-std=c++17", "-arch=native", "-o", program, path], capture_output=True, text=True)
                self.assertEqual(compiled.returncode, 0, compiled.stderr)
                answer = subprocess.run([program], capture_output=True, text=True)
                self.assertEqual(answer.stdout, (PRINTED / (path.stem + ".txt")).read_text())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
