# SPDX-License-Identifier: Apache-2.0
"""What an installed copy must do for its users, and what it must not do to a project that has it as a folder.

    package_test.py CASE --source … --binary … --scratch … --cmake … --cc … --cxx … [--nvcc …]

`install` puts a copy of the build into SCRATCH/moved, where the other cases find it: an installed tree may be moved.
"""
import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SKIPPED = 77
TOGETHER = "-DCMAKE_UNITY_BUILD=ON"  # half of what compiling the library takes are its headers, and each file is compiled alone elsewhere
ANSWER = "the exact sum is 1e+308"


def fail(text):
    sys.exit(f"package_test: {text}")


def run(*command, cwd=None, env=None, status=0, errors=subprocess.STDOUT):
    """What it prints, its errors among it unless they go elsewhere; its exit status must be `status`, or any but 0 if that is None."""
    command = [str(c) for c in command]
    done = subprocess.run(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace")
    if done.returncode != status if status is not None else done.returncode == 0:
        fail(f"exit status {done.returncode} of: {shlex.join(command)}\n{done.stdout[-6000:]}")
    return done.stdout


def expect(condition, text):
    if not condition:
        fail(text)


class Package:
    def __init__(self, a):
        self.a = a
        self.source, self.binary, self.scratch = Path(a.source), Path(a.binary), Path(a.scratch)
        self.prefix = self.scratch / "moved"
        self.folder = self.scratch / a.case
        self.page_of_options = self.source / "docs/install.md"
        self.env = dict(os.environ)
        for name in ("CXXFLAGS", "CFLAGS", "LDFLAGS", "CUDAFLAGS"):
            self.env.pop(name, None)
        folders = [f for f in self.prefix.rglob("pkgconfig") if f.is_dir()] if self.prefix.exists() else []
        self.env["PKG_CONFIG_PATH"] = ":".join(map(str, folders))
        # As docs/install.md says for programs of pkg-config: where the loader finds shared libraries in a folder of one's own.
        self.env_to_run = {**self.env, "LD_LIBRARY_PATH": ":".join(str(f.parent) for f in folders)}
        if a.case != "install":
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)

    def has_gpu(self):
        return any(self.prefix.rglob("warpfold-gpu-*-targets.cmake"))

    def kinds(self):
        """The libraries that were installed, that first which is taken where nothing is said."""
        return [kind for kind in ("shared", "static") if any(self.prefix.rglob(f"warpfold-{kind}-targets.cmake"))]

    def kind_of(self, program):
        """Which one a program was linked with."""
        return "shared" if self.soname() in run("objdump", "-p", program) else "static"

    def soname(self):
        version = self.version()
        return "libwarpfold.so." + (".".join(version[:2]) if version[0] == "0" else version[0])

    def project(self, name, *options, cmake=None, languages=("C", "CXX"), targets=()):
        """Configures and builds tests/package/NAME; its build folder."""
        cmake = cmake or self.a.cmake
        build = self.folder / ("build_" + name)
        compilers = {"C": self.a.cc, "CXX": self.a.cxx, "CUDA": self.a.nvcc}
        self.configured = run(cmake, "-S", HERE / name, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                              *(f"-DCMAKE_{k}_COMPILER={compilers[k]}" for k in languages), *options, env=self.env)
        run(cmake, "--build", build, *(("--target",) + targets if targets else ()), env=self.env)
        return build

    # The cases.

    def install(self):
        """Files of the library and no others, none of which knows where it was installed."""
        first = self.scratch / "prefix"
        shutil.rmtree(first, ignore_errors=True)
        shutil.rmtree(self.prefix, ignore_errors=True)
        config = (self.binary / "CPackConfig.cmake").read_text()
        for component in re.search(r'CPACK_COMPONENTS_ALL "([^"]*)"', config)[1].split(";"):
            if component != "tools" or (self.binary / "cli/warpfold").exists():  # which some draws of ./check do not build
                run(self.a.cmake, "--install", self.binary, "--prefix", first, "--component", component)
        first.rename(self.prefix)
        texts = [f for f in self.prefix.rglob("*") if f.suffix in (".pc", ".cmake")]
        expect(len(texts) >= 6, f"package files: {texts}")
        for f in texts:
            for folder in (first, self.source, self.binary):
                # After anything but a part of a longer path: ${prefix}/warpfold is not /warpfold.
                expect(not re.search(rf"(?<![\w}}/.-]){re.escape(str(folder))}\b", f.read_text()), f"{f.name} names {folder}")

    def find_package(self, briefly=False):
        """The kind of library that a project asks for, or that there is: each links, runs and needs no more. Briefly: all of it of one kind alone."""
        found = f"-DCMAKE_PREFIX_PATH={self.prefix}"
        kinds = self.kinds()
        asked = {"": kinds[0], "-DKIND=shared": "shared", "-DKIND=static": "static", "-DBUILD_SHARED_LIBS=ON": kinds[0],
                 "-DBUILD_SHARED_LIBS=OFF": kinds[-1]}
        if briefly:
            asked = {"-DBUILD_SHARED_LIBS=OFF": kinds[-1]}
        for option, kind in asked.items():
            if kind not in kinds:
                continue
            shutil.rmtree(self.folder / "build_cmake", ignore_errors=True)
            build = self.project("cmake", found, *filter(None, [option]), targets=("sum_c",))
            expect(ANSWER in run(build / "sum_c"), "sum_c")
            expect(self.kind_of(build / "sum_c") == kind, f"{option or 'nothing said'}: it links what is not {kind}")
        for kind in kinds[:1] if briefly else kinds:
            shutil.rmtree(self.folder / "build_cmake", ignore_errors=True)
            build = self.project("cmake", found, f"-DKIND={kind}")
            expect(ANSWER in run(build / "sum"), "sum")
            expect(ANSWER in run(build / "sum_c"), "sum_c")
            run(build / "load", build / "libplugin.so", "right", 20)
            if self.has_gpu():  # a program in C++ alone, with no CUDA compiler: it links, and sums where there is a GPU
                said = run(build / "gpu_sum")
                expect(re.search(r"the GPU's sum is 1e\+308|linked; no GPU here", said), said)
                self.of_gpu_program(kind, build / "gpu_sum")
            shown = run("nm", "-D", "--defined-only", build / "libplugin.so")
            expect(" right" in shown and " wf_" not in shown, f"a plugin shows the library that is in it: {shown[:500]}")
        build = self.project("c_only", found, languages=("C",))
        expect(ANSWER in run(build / "sum_c"), "sum_c in a project of C alone")
        for asked, words in (("shared static", "ask for one of them"), ("headers", "it has no component headers; they are shared,"), ("static)\nfind_package(warpfold REQUIRED COMPONENTS shared", "found as static before")):
            if asked.startswith("static") and "static" not in kinds:
                continue
            (self.folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.25)\nproject(user C)\nfind_package(warpfold REQUIRED COMPONENTS {asked})\n")
            said = run(self.a.cmake, "-S", self.folder, "-B", self.folder / "b", "-G", "Ninja", f"-DCMAKE_C_COMPILER={self.a.cc}", found, env=self.env, status=None)
            expect(words in " ".join(said.split()), said)

    def of_gpu_program(self, kind, program):
        """What a program that sums on a GPU has in itself: of archives what a sum needs, and nothing of the CPU's; of the shared library nothing."""
        symbols = run("nm", "-C", "--defined-only", program)
        if kind == "shared":
            expect(" wf::cuda_kernels::" not in symbols, "a program of the shared library has kernels in itself")
            return
        run("strip", "-o", self.folder / "stripped", program)
        size = (self.folder / "stripped").stat().st_size / 2**20
        most = 1.6 + 1.2 * max(1, len(self.a.architectures.split(",")))  # half of it the CUDA runtime
        expect(size <= most, f"a program that sums on a GPU has {size:.1f} MiB; {most} are right")
        for other in ("wf::cuda_kernels::order", "wf::cuda_kernels::products", "wf::cuda_kernels::moments", "wf::cuda_kernels::rows", "wf::cuda_kernels::native", "wf::cpu_backend",
                      "wf::device_place::run", "wf::find_builtin"):
            expect(other not in symbols, f"a program that sums on a GPU links {other}")
        expect("wf::cuda_kernels::sums" in symbols, "a program that sums on a GPU has no kernel of sums")

    def wants_gpu(self):
        """A component that is not there is told of in words."""
        if self.has_gpu():  # as if it had none
            shutil.copytree(self.prefix, self.folder / "without", symlinks=True, ignore=shutil.ignore_patterns("warpfold-gpu-*.cmake", "bin"))
            self.prefix = self.folder / "without"
        (self.folder / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(user CXX)\n"
                                                    "find_package(warpfold REQUIRED COMPONENTS gpu)\n")
        said = run(self.a.cmake, "-S", self.folder, "-B", self.folder / "b", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={self.a.cxx}",
                   f"-DCMAKE_PREFIX_PATH={self.prefix}", env=self.env, status=None)
        expect("built without CUDA (WARPFOLD_CUDA)" in " ".join(said.split()), said)
        self.archive_of_kernels()

    def archive_of_kernels(self):
        """What is installed where nothing is said has no archive of kernels, if it has the shared library of them: who asks for it is told, who does not gets what is there."""
        config = (self.binary / "CPackConfig.cmake").read_text()
        if "gpu_archive" not in re.search(r'CPACK_COMPONENTS_ALL "([^"]*)"', config)[1].split(";"):
            return
        if not (self.binary / "cli/warpfold").exists():
            print("no program was built, so not all can be installed")
            return
        prefix = self.folder / "usual"
        run(self.a.cmake, "--install", self.binary, "--prefix", prefix)
        names = {f.name for f in prefix.rglob("*warpfold*")}
        expect("libwarpfold_gpu.so" in names and "libwarpfold.a" in names and not names & {"libwarpfold_gpu.a", "libwarpfold_gpu_static.a", "warpfold-gpu-static.pc"}, f"installed: {sorted(names)}")
        for asked, option, wanted, status in (("gpu static", "-DX=1", "--component gpu_archive installs the archive", None), ("gpu", "-DBUILD_SHARED_LIBS=OFF", "SHARED_LIBRARY", 0),
                                              ("gpu", "-DX=1", "SHARED_LIBRARY", 0)):
            (self.folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.25)\nproject(user CXX)\nfind_package(warpfold REQUIRED COMPONENTS {asked})\n"
                                                        "get_target_property(kind warpfold::gpu TYPE)\nmessage(STATUS ${kind})\n")
            shutil.rmtree(self.folder / "b", ignore_errors=True)
            said = run(self.a.cmake, "-S", self.folder, "-B", self.folder / "b", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={self.a.cxx}", option, f"-DCMAKE_PREFIX_PATH={prefix}",
                       env=self.env, status=status)
            expect(wanted in " ".join(said.split()), said)

    def pkg_config(self):
        """C by a C compiler and its linker, C++ of any standard from C++20 on; nothing else is needed."""
        flags = run("pkg-config", "--cflags", "warpfold", env=self.env)
        expect("-std" not in flags, f"flags for C and C++ that set a standard: {flags}")
        kinds = self.kinds()
        for suffix, kind in (("", kinds[0]), ("-static", "static")):
            if kind not in kinds:
                continue
            env = self.env_to_run if kind == "shared" else self.env
            words = run("pkg-config", "--cflags", "--libs", "warpfold" + suffix, env=self.env).split()
            run(self.a.cc, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", HERE / "sum.c", "-o", "sum_c", *words, cwd=self.folder)
            expect(ANSWER in run(self.folder / "sum_c", env=env), "sum_c")
            expect(self.kind_of(self.folder / "sum_c") == kind, f"warpfold{suffix} gives what is not {kind}")
            run(self.a.cxx, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", HERE / "sum.cpp", "-o", "sum", *words, cwd=self.folder)
            expect(ANSWER in run(self.folder / "sum", env=env), "sum")
            words = run("pkg-config", "--cflags", "--libs", "warpfold-io" + suffix, env=self.env).split()
            run(self.a.cxx, "-std=c++20", "-shared", "-fPIC", "-Wl,-z,defs", HERE / "plugin.cpp", "-o", "plugin.so", *words, cwd=self.folder)
            if self.has_gpu():
                words = run("pkg-config", "--cflags", "--libs", "warpfold-gpu" + suffix, env=self.env).split()
                words += run("pkg-config", "--variable=cuda_runtime", "warpfold-gpu" + suffix, env=self.env).split()
                run(self.a.cxx, "-std=c++20", f"-I{Path(self.a.nvcc).parent.parent}/include", HERE / "gpu_sum.cpp", "-o", "gpu_sum", *words, cwd=self.folder)
                said = run(self.folder / "gpu_sum", env=env)
                expect(re.search(r"the GPU's sum is 1e\+308|linked; no GPU here", said), said)
                self.of_gpu_program(kind, self.folder / "gpu_sum")
        self.archives_into_shared()
        self.pkg_check_modules(self.a.cmake)

    def archives_into_shared(self):
        """All that is in the archives, in one shared object: the linker refuses what is not position independent."""
        archives = [f for folder in self.env["PKG_CONFIG_PATH"].split(":") for f in Path(folder).parent.glob("libwarpfold*.a") if not f.is_symlink()]
        if "static" not in self.kinds():
            archives = [f for f in archives if "_io" in f.name]  # an archive always
        names = {f.name for f in archives}
        expect("libwarpfold_io.a" in names and ("libwarpfold.a" in names) == ("static" in self.kinds()), f"archives: {names}")
        words = run("pkg-config", "--variable=cuda_runtime", "warpfold-gpu", env=self.env).split() if self.has_gpu() else []
        if "static" not in self.kinds():
            words += run("pkg-config", "--libs", "warpfold", env=self.env).split()
        run(self.a.cxx, "-shared", "-o", "whole.so", "-Wl,-z,text,-z,defs", "-Wl,--whole-archive", *archives, "-Wl,--no-whole-archive", *words, "-lpthread",
            cwd=self.folder)

    def pkg_check_modules(self, cmake):
        """CMake's targets of the .pc files, by its module that looks for a library of each -l: those of either kind link it, and run."""
        kinds = self.kinds()
        wanted = {"": kinds[0]} | ({"-static": "static"} if "static" in kinds else {})
        targets = "".join(f"""
            pkg_check_modules(C{suffix} REQUIRED IMPORTED_TARGET warpfold{suffix})
            add_executable(sum_c{suffix} {HERE}/sum.c)
            target_link_libraries(sum_c{suffix} PRIVATE PkgConfig::C{suffix})
            pkg_check_modules(IO{suffix} REQUIRED IMPORTED_TARGET warpfold-io{suffix})
            add_executable(sum{suffix} {HERE}/sum.cpp)
            target_link_libraries(sum{suffix} PRIVATE PkgConfig::IO{suffix})
            """ + (f"""
            pkg_check_modules(GPU{suffix} REQUIRED IMPORTED_TARGET warpfold-gpu{suffix})
            pkg_get_variable(runtime{suffix} warpfold-gpu{suffix} cuda_runtime)
            add_executable(gpu_sum{suffix} {HERE}/gpu_sum.cpp)
            target_include_directories(gpu_sum{suffix} PRIVATE {Path(self.a.nvcc).parent.parent}/include)
            target_link_libraries(gpu_sum{suffix} PRIVATE PkgConfig::GPU{suffix} ${{runtime{suffix}}})
            """ if self.has_gpu() else "") for suffix in wanted)
        folder = self.folder / "by_pkg_config"
        folder.mkdir()
        (folder / "CMakeLists.txt").write_text(f"""
            cmake_minimum_required(VERSION 3.25)
            project(user C CXX)
            set(CMAKE_CXX_STANDARD 20)
            find_package(PkgConfig REQUIRED)
            {targets}""")
        run(cmake, "-S", folder, "-B", folder / "b", "-G", "Ninja", f"-DCMAKE_C_COMPILER={self.a.cc}", f"-DCMAKE_CXX_COMPILER={self.a.cxx}", env=self.env)
        run(cmake, "--build", folder / "b", env=self.env)
        for suffix, kind in wanted.items():
            for program in ("sum_c", "sum"):
                expect(ANSWER in run(folder / "b" / (program + suffix)), f"{program} by pkg_check_modules(warpfold{suffix})")
                expect(self.kind_of(folder / "b" / (program + suffix)) == kind, f"pkg_check_modules(warpfold{suffix}) gives what is not {kind}")
            if self.has_gpu():
                said = run(folder / "b" / ("gpu_sum" + suffix))
                expect(re.search(r"the GPU's sum is 1e\+308|linked; no GPU here", said), said)

    def old_standard(self):
        """C++17: the first error says what is to be set, and there are no hundred after it."""
        options = ["-I", self.prefix / "include", "-fsyntax-only", "-x", "c++", HERE / "sum.cpp"]
        said = run(self.a.cxx, "-std=c++17", *options, status=None)
        errors = [line for line in said.splitlines() if "error:" in line]
        expect("need C++20: -std=c++20" in errors[0] and len(errors) <= 2, said)
        if self.a.nvcc and self.has_gpu():
            said = run(self.a.nvcc, "-std=c++17", "-I", self.prefix / "include", "-c", HERE / "cuda/own.cu", "-o", "/dev/null", status=None)
            errors = [line for line in said.splitlines() if "error:" in line]
            expect("CMAKE_CUDA_STANDARD 20" in errors[0] and len(errors) <= 2, said)

    def cuda(self):
        """.cu files of a project that sets no standard, and by hand."""
        if not (self.a.nvcc and self.has_gpu()):
            print("built without CUDA")
            sys.exit(SKIPPED)
        build = self.project("cuda", f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_CUDA_ARCHITECTURES=90", languages=("CXX", "CUDA"))
        said = run(build / "own")
        expect(re.search("the greatest is 4|no GPU here", said), said)

    def commands(self):
        """Every line of a comment or page that compiles something, run as it stands."""
        gpu = bool(self.a.nvcc) and self.has_gpu()
        pages = [self.source / "README.md", *sorted((self.source / "docs").glob("*.md")), *sorted((self.source / "examples").glob("*.c*"))]
        compiler = re.compile(r"^\s*(?://|/?\*)?\s*((?:cc|gcc|c\+\+|g\+\+|clang\+\+|nvcc) .*(?:pkg-config|-lwarpfold).*)$", re.M)
        env = dict(self.env)
        tools = self.folder / "tools"
        tools.mkdir()
        for name, path in (("cc", self.a.cc), ("c++", self.a.cxx), ("g++", self.a.cxx)):
            (tools / name).symlink_to(shutil.which(path) or path)
        env["PATH"] = f"{tools}:{env['PATH']}:{Path(self.a.nvcc).parent}"  # nvcc finds its headers from where it lies
        seen = []
        for page in pages:
            for command in compiler.findall(page.read_text()):
                if command in seen:
                    continue
                seen.append(command)
                here = env
                if "nccl" in command:  # it may lie beside CUDA, or nowhere
                    cuda = Path(self.a.nvcc).parent.parent
                    here = env | {"CPATH": f"{cuda}/include", "LIBRARY_PATH": f"{cuda}/lib64:{cuda}/lib", "LD_LIBRARY_PATH": f"{cuda}/lib64:{cuda}/lib"}
                    if not gpu or subprocess.run([self.a.cxx, "-x", "c++", "-", "-o", "/dev/null", "-lnccl"], input="#include <nccl.h>\nint main() {}", text=True,
                                                 env=here, stderr=subprocess.DEVNULL).returncode != 0:
                        print(f"without NCCL: {command}")
                        continue
                if "nvcc" in command and not gpu:
                    print(f"without CUDA: {command}")
                    continue
                work = self.folder / f"command_{len(seen)}"
                work.mkdir()
                for f in (*(self.source / "examples").glob("*.c*"), HERE / "sum.c", HERE / "sum.cpp"):
                    shutil.copy(f, work)
                if "nvcc" in command:  # nvcc has one architecture by default, which is all that is wanted here
                    command += " -arch=sm_90"
                run("bash", "-euc", command, cwd=work, env=here)
                program = re.search(r" -o (\S+)", command)
                loads = here["LD_LIBRARY_PATH"] + ":" + self.env_to_run.get("LD_LIBRARY_PATH", "") if here is not env else None
                run(work / (program[1] if program else "a.out"), env=self.env_to_run | ({"LD_LIBRARY_PATH": loads} if loads else {}))
        expect(any(c.startswith("nvcc") for c in seen) and any("pkg-config" in c for c in seen), f"commands: {seen}")
        for f in (self.source / "examples").glob("*.c*"):
            expect("pkg-config" in f.read_text() or "warpfold explain" in f.read_text(), f"{f.name} does not say how it is compiled")

    def mpi(self):
        """The component mpi by CMake, and the example as its comment says, by one rank and by three."""
        if not (shutil.which("mpicxx") and shutil.which("mpiexec")):
            print("no MPI here")
            sys.exit(SKIPPED)
        build = self.project("mpi", f"-DCMAKE_PREFIX_PATH={self.prefix}", languages=("CXX",))
        mpi = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}  # OpenMPI from 5 on
        mpi = {**self.env_to_run, **mpi}
        run("mpiexec", "-n", "2", build / "ranks", env=mpi)
        example = self.source / "examples/mpi.cpp"
        command = re.search(r"^// +(mpicxx .*pkg-config.*)$", example.read_text(), re.M)[1]
        shutil.copy(example, self.folder)
        compilers = {"OMPI_CXX": self.a.cxx, "MPICH_CXX": self.a.cxx}
        run("bash", "-euc", command.replace("-std=c++20", "-std=c++20 -O0"), cwd=self.folder, env={**self.env, **compilers})
        # OpenMPI's own errors may be of networks that it does not need here.
        said = {run("mpiexec", "-n", n, self.folder / "a.out", env=mpi, errors=None) for n in (1, 3)}
        expect(len(said) == 1 and said.pop().startswith("sum 3000000, "), f"what it prints depends on the number of ranks: {said}")

    def mdspan(self):
        """The example of mdspans with std::mdspan, compiled, linked and run by the first compiler here whose standard library has one."""
        asks = self.folder / "asks.cpp"
        asks.write_text("#include <mdspan>\n#ifndef __cpp_lib_mdspan\n#error none\n#endif\n")
        candidates = [[self.a.cxx], *([name] for version in range(20, 14, -1) if (name := shutil.which(f"g++-{version}"))),
                      *([name, "-stdlib=libc++"] for version in ("", *(f"-{v}" for v in range(25, 16, -1))) if (name := shutil.which(f"clang++{version}")))]
        has_one = (c for c in candidates if subprocess.run([*c, "-std=c++23", "-E", asks], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0)
        compiler = next(has_one, None)
        env = self.env | {"ZIG_GLOBAL_CACHE_DIR": str(self.scratch / "zig")}
        if not compiler:
            print(f"no std::mdspan by any of: {', '.join(' '.join(c) for c in candidates)}; by zig's clang++ of PyPI")
            compiler = [self.from_pypi("ziglang").with_name("python"), "-m", "ziglang", "c++"]
        print(f"std::mdspan by: {' '.join(map(str, compiler))}")
        warnings = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror")
        run(*compiler, "-std=c++23", *warnings, "-I", self.prefix / "include", "-c", self.source / "examples/mdspan.cpp", "-o", self.folder / "mdspan.o", env=env)
        names = re.sub(r"std::__\w+::", "std::", run("nm", "-C", self.folder / "mdspan.o"))
        expect("std::mdspan<" in names, "the example has not taken std::mdspan")
        if compiler != [self.a.cxx]:
            # Another's standard library is not what the installed library was compiled with. Nothing of it is in what the example calls, and the
            # shared library keeps its own to itself.
            called = re.findall(r"^ +U (wf::.*)$", names, re.M)
            expect(called and not any("std::" in name for name in called), f"it calls {called}")
            if "shared" not in self.kinds():
                print("compiled, not run: no shared library was installed")
                return
        words = run("pkg-config", "--libs", "warpfold", env=self.env).split()
        run(*compiler, self.folder / "mdspan.o", "-o", self.folder / "mdspan", *words, env=env)
        said = run(self.folder / "mdspan", env=self.env_to_run)
        expect(said.startswith("all 46, transposed 46, rows 2 14 30, part 24,"), said)

    def examples_project(self):
        """The project of examples: by the installed copy, by sources in a folder, and by sources that git fetches."""
        project = self.source / "examples/project"
        compilers = (f"-DCMAKE_C_COMPILER={self.a.cc}", f"-DCMAKE_CXX_COMPILER={self.a.cxx}")

        def configured(name, *options, env=None):
            run(self.a.cmake, "-S", project, "-B", self.folder / name, "-G", "Ninja", *compilers, *options, env=env or self.env)
            return self.folder / name

        # The line at its head, as it stands.
        shutil.copytree(project.parent, self.folder / "examples")
        (self.folder / "home").mkdir()
        (self.folder / "home/.local").symlink_to(self.prefix)
        line = re.search(r"^# +(cmake -S .*)$", (project / "CMakeLists.txt").read_text(), re.M)[1]
        run("bash", "-euc", line, cwd=self.folder / "examples/project",
            env={**self.env, "HOME": str(self.folder / "home"), "CC": self.a.cc, "CXX": self.a.cxx, "PATH": f"{Path(self.a.cmake).parent}:{self.env['PATH']}"})
        for program in ("mine", "rows"):
            run(self.folder / "examples/project/build" / program)
        # Sources: what is the user's compiles with what the target says. The library itself is built by `subproject`.
        sources = ("-DCMAKE_DISABLE_FIND_PACKAGE_warpfold=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON")
        fetched = [configured("folder", *sources, f"-DFETCHCONTENT_SOURCE_DIR_WARPFOLD={self.source}")]
        if shutil.which("git") and (self.source / ".git").exists():
            copy = self.folder / "origin"
            run("git", "clone", "-q", "--bare", "--depth=1", f"file://{self.source}", copy)
            run("git", "-C", copy, "branch", "-f", "main", "HEAD")
            env = {**self.env, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.file://{copy}.insteadOf",
                   "GIT_CONFIG_VALUE_0": "https://github.com/warpfold/warpfold"}
            fetched.append(configured("git", *sources, env=env))
            expect((fetched[-1] / "_deps/warpfold-src/include/warpfold/warpfold.hpp").exists(), "git fetched no sources")
        else:
            print("no git repository here: FetchContent by a folder alone")
        build = fetched[-1]
        objects = [o for o in run("ninja", "-C", build, "-t", "targets", "all").splitlines() if re.match(r"CMakeFiles/(mine|rows)\.dir.*\.o:", o)]
        expect(len(objects) == 2, f"objects: {objects}")
        run("ninja", "-C", build, *(o.split(":")[0] for o in objects), env=self.env)

    def page_of_cmake(self):
        """The lines of docs/install.md for CMakeLists.txt, each in a project of its own that is configured: packages, components and targets are there."""
        blocks = re.findall(r"^```cmake\n(.*?)^```", (self.source / "docs/install.md").read_text(), re.M | re.S)
        projects, found = [], ""
        for line in blocks[0].splitlines():
            if line.startswith("find_package("):
                found = line
            if line.startswith("target_link_libraries("):
                projects.append((found, line))
            if line.startswith("find_package(") and "static" in line:
                projects.append((line, "target_link_libraries(mine PRIVATE warpfold::warpfold)"))
        expect(len(projects) == 6 and len(blocks) == 2, f"other lines than there were: {projects}")
        projects.append((blocks[1].partition("target_link_libraries")[0], blocks[1].splitlines()[-1]))
        for k, (found, linked) in enumerate(projects):
            folder = self.folder / str(k)
            folder.mkdir()
            gpu = bool(re.search(r"::(gpu|nccl)", linked)) or "COMPONENTS gpu" in found
            if (gpu and not (self.has_gpu() and self.a.nvcc)) or ("COMPONENTS static" in found and "static" not in self.kinds()):
                continue
            languages = "C CXX" + " CUDA" * gpu
            (folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.25)\nproject(user LANGUAGES {languages})\n{found}\nadd_library(mine STATIC {HERE}/sum.cpp)\n{linked}\n")
            command = [self.a.cmake, "-S", folder, "-B", folder / "b", "-G", "Ninja", f"-DCMAKE_C_COMPILER={self.a.cc}", f"-DCMAKE_CXX_COMPILER={self.a.cxx}",
                       f"-DCMAKE_CUDA_COMPILER={self.a.nvcc}", f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DFETCHCONTENT_SOURCE_DIR_WARPFOLD={self.source}"]
            done = subprocess.run([str(c) for c in command], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            missing = re.search(r"needs (an MPI|nccl\.h)", " ".join(done.stdout.split()))
            if missing:
                print(f"left out: {linked}, which {missing[0]}")
                continue
            expect(done.returncode == 0, f"{found}\n{linked}\n{done.stdout[-3000:]}")
            run("ninja", "-C", folder / "b", "-n", "mine")

    def two_versions(self):
        """Two minor versions side by side: a project gets the one that it asks for, whichever lies first."""
        major, minor, patch = self.version()
        old, new = f"{major}.{minor}.{patch}", f"{major}.{int(minor) + 1}.0"
        other = self.folder / "other"
        shutil.copytree(self.prefix, other, ignore=shutil.ignore_patterns("bin", "doc"))
        for file in [*other.rglob("*.pc"), *other.rglob("warpfold-config-version.cmake")]:
            file.write_text(file.read_text().replace(old, new))
        header = other / "include/warpfold/version.h"
        header.write_text(header.read_text().replace(f"VERSION_MINOR {minor}", f"VERSION_MINOR {int(minor) + 1}"))
        (self.folder / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(user C CXX)\nfind_package(warpfold ${ASKED} REQUIRED)\n"
                                                    "message(STATUS \"it is ${warpfold_VERSION} of ${warpfold_DIR}\")\n")
        for first, second in ((self.prefix, other), (other, self.prefix)):
            for asked, version, folder in ((f"{major}.{minor}", old, self.prefix), (f"{major}.{int(minor) + 1}", new, other)):
                build = self.folder / "build"
                shutil.rmtree(build, ignore_errors=True)
                said = run(self.a.cmake, "-S", self.folder, "-B", build, "-G", "Ninja", f"-DASKED={asked}", f"-DCMAKE_PREFIX_PATH={first};{second}",
                           f"-DCMAKE_C_COMPILER={self.a.cc}", f"-DCMAKE_CXX_COMPILER={self.a.cxx}", env=self.env)
                expect(f"it is {version} of {folder}" in said, said)
        shutil.rmtree(self.folder / "build")
        said = run(self.a.cmake, "-S", self.folder, "-B", self.folder / "build", "-G", "Ninja", f"-DASKED={major}.{int(minor) + 2}",
                   f"-DCMAKE_PREFIX_PATH={self.prefix};{other}", f"-DCMAKE_C_COMPILER={self.a.cc}", f"-DCMAKE_CXX_COMPILER={self.a.cxx}", env=self.env, status=None)
        expect(f"version: {old}" in said and f"version: {new}" in said, said)
        pkg = {**self.env, "PKG_CONFIG_PATH": ":".join(str(f) for p in (self.prefix, other) for f in p.rglob("pkgconfig"))}
        expect(run("pkg-config", "--modversion", "warpfold", env=pkg).strip() == old, "the first of two by pkg-config")
        # In one process: two libraries, each with its own version, which `subproject` has built of sources with another number.
        built = self.scratch / "subproject/build_subproject"
        include = {"old": self.prefix / "include", "new": self.scratch / "subproject/source/include"}
        libraries = {"old": next(self.prefix.rglob("libwarpfold*.[as]*")).parent, "new": built / "warpfold/src"}
        for kind in self.kinds():
            folder = self.folder / kind
            folder.mkdir()
            for part in ("old", "new"):
                linked = ["-L", libraries[part], "-lwarpfold"]
                if kind == "static":  # as CMake's target says it: what comes out of archives is not shown
                    linked = ["-L", libraries[part] if part == "old" else built, "-l:libwarpfold.a", "-Wl,--exclude-libs,libwarpfold.a"]
                run(self.a.cxx, "-std=c++20", "-shared", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", f"-DPART={part}",
                    "-I", include[part], HERE / "part.cpp", "-o", folder / f"lib{part}.so", *linked, "-lpthread", "-Wl,-z,defs")
            run(self.a.cc, HERE / "two_parts.c", "-o", folder / "two_parts", "-L", folder, "-lold", "-lnew", "-Wl,--allow-shlib-undefined")
            env = {**self.env, "LD_LIBRARY_PATH": ":".join(map(str, (folder, *libraries.values())))}
            said = run(folder / "two_parts", old, new, env=env)
            expect(f"{old} and {new}" in said, said)
            if kind == "shared":
                loaded = run("ldd", folder / "two_parts", env=env)
                expect(len(set(re.findall(r"libwarpfold\.so\.[0-9.]+", loaded))) == 2, loaded)

    def from_pypi(self, program, version=""):
        """The newest release of a program, or the last one of a version, in an environment of its own that is kept; the test is skipped where
        there is none to be had, or WARPFOLD_PYPI=0 says that none is wanted."""
        if os.environ.get("WARPFOLD_PYPI") == "0":
            print(f"{program} of PyPI is not wanted: WARPFOLD_PYPI=0")
            sys.exit(SKIPPED)
        environment = self.scratch / f"pypi_{program}{version}"
        if not (environment / "bin/pip").exists() and subprocess.run([sys.executable, "-m", "venv", "--clear", environment], stdout=subprocess.DEVNULL).returncode:
            print(f"no {program} from PyPI: Python has no venv here; scripts/dependencies tests installs it")
            sys.exit(SKIPPED)
        wanted = f"{program}=={version}.*" if version else program
        done = subprocess.run([environment / "bin/pip", "--disable-pip-version-check", "install", "-q", "--upgrade", "--retries", "1", "--timeout", "10", wanted],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            print(f"no {wanted} from PyPI: {done.stdout[-300:]}")
            sys.exit(SKIPPED)
        return environment / "bin" / program

    def newest_cmake(self):
        """find_package and pkg-config of CMake's newest release, from PyPI."""
        self.by_cmake(self.from_pypi("cmake"))

    def oldest_cmake(self):
        """The same of the oldest that CMakeLists.txt asks for, where the build's own is another."""
        oldest = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", (self.source / "CMakeLists.txt").read_text())[1]
        if re.search(rf"version {re.escape(oldest)}\.", run(self.a.cmake, "--version")):
            print(f"the build's own CMake is {oldest}: the other tests are this one")
            sys.exit(SKIPPED)
        self.by_cmake(self.from_pypi("cmake", oldest))

    def by_cmake(self, newest):
        """What a user's project and a builder of the library do, by another CMake than the build's."""
        print(run(newest, "--version").splitlines()[0])
        self.a.cmake = newest
        self.find_package(briefly=True)
        expect("Warning" not in self.configured, self.configured)
        if self.a.nvcc and self.has_gpu():
            self.cuda()
        self.examples_project()
        said = run(newest, "-S", self.source, "-B", self.folder / "whole", "-G", "Ninja", f"-DCMAKE_C_COMPILER={self.a.cc}", f"-DCMAKE_CXX_COMPILER={self.a.cxx}",
                   "-DWARPFOLD_BUILD_TOOLS=OFF", "-DWARPFOLD_BUILD_TESTS=OFF", f"-DCMAKE_CUDA_COMPILER={self.a.nvcc}" if self.a.nvcc else "-DWARPFOLD_CUDA=OFF")
        expect("Warning" not in said, said)
        run("ninja", "-C", self.folder / "whole", "-n")
        self.pkg_check_modules(newest)

    def subproject(self):
        """A folder of another project: the library alone, shared, with nothing but a compiler, and nothing installed; the project's own programs are not
        position independent, and what becomes the library is. A toolchain that names the system and no processor does not hide the kernels that the
        compiler compiles for. Its sources have the number of the next minor version, for `two_versions`."""
        launcher = shutil.which("ccache")
        source = self.folder / "source"
        for part in ("include", "src", "cmake"):
            shutil.copytree(self.source / part, source / part)
        for file in ("CMakeLists.txt", "LICENSE"):
            shutil.copy(self.source / file, source)
        minor = int(self.version()[1])
        header = source / "include/warpfold/version.h"
        header.write_text(header.read_text().replace(f"VERSION_MINOR {minor}", f"VERSION_MINOR {minor + 1}"))
        self.source = source
        options = [f"-DWARPFOLD_SOURCE={source}", "-DCMAKE_SYSTEM_NAME=Linux", "-DBUILD_SHARED_LIBS=ON", "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG", "-Dwf_unoptimised=ON", TOGETHER,
                   "-DCMAKE_POSITION_INDEPENDENT_CODE=OFF", "-DCMAKE_C_FLAGS=-fno-pic", "-DCMAKE_CXX_FLAGS=-fno-pic", "-DCMAKE_EXE_LINKER_FLAGS=-no-pie",
                   "-DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON",
                   "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON"]
        if launcher:
            options.append(f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}")
        env = self.env["PATH"]
        if self.a.nvcc:  # where it could be found
            self.env["PATH"] += ":" + str(Path(self.a.nvcc).parent)
        build = self.project("subproject", *options, targets=("sum", "sum_c", "load", "archive"))
        self.env["PATH"] = env
        cache = (build / "CMakeCache.txt").read_text()
        expect("CMAKE_CUDA_COMPILER:" not in cache, "it looked for CUDA by itself")
        made_by_bench = {"WARPFOLD_BENCH_ARCHES"}  # where there are benchmarks
        self.options_are(build, {name: elsewhere for name, (_, elsewhere) in self.table_of_options().items() if name not in made_by_bench})
        made = [line for line in run("ninja", "-C", build, "-t", "targets", "all").splitlines() if re.search(": (C|CXX|CUDA)_", line)]
        expect(any("libwarpfold.so" in line for line in made), f"targets: {made}")
        for line in made:
            expect(not re.search(r"simt|gtest|test_|warpfold_cli|tuning|\.cu\.", line), f"built in another project: {line}")
        expect(ANSWER in run(build / "sum"), "sum")
        expect(ANSWER in run(build / "sum_c"), "sum_c")
        expect("EXEC" in run("readelf", "-h", build / "sum"), "the program is position independent, which was not asked for")
        prefix = self.folder / "prefix"
        run(self.a.cmake, "--install", build, "--prefix", prefix)
        files = [f for f in prefix.rglob("*") if not f.is_dir()]
        expect([f.name for f in files] == ["sum"], f"installed into another project: {files}")
        self.shared(build / "warpfold/src/libwarpfold.so", build / "load")

    def subproject_gpu(self):
        """A folder of another project that asks for GPUs: kernels for what the project names, else for the default set, and its own .cu files as it has them."""
        if not self.a.nvcc:
            print("no nvcc here")
            sys.exit(SKIPPED)
        for name, options, kernels in (("named", ["-DCMAKE_CUDA_ARCHITECTURES=90"], {"90"}), ("none", [], {"75", "80", "90", "100", "120"})):
            build = self.folder / name
            run(self.a.cmake, "-S", HERE / "subproject_gpu", "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={self.a.cxx}", f"-DCMAKE_CUDA_COMPILER={self.a.nvcc}",
                f"-DWARPFOLD_SOURCE={self.source}", *options, env={k: v for k, v in self.env.items() if k != "CUDAARCHS"})
            flags = re.findall(r"^build (\S+\.cu\.o):.*\n(?:  .*\n)*?  FLAGS = (.*)$", (build / "build.ninja").read_text(), re.M)
            archs = {file: set(re.findall(r"(?:sm|compute)_(\d+)", said)) for file, said in flags}
            own = archs.pop(next(file for file in archs if "/own.dir/" in file))
            expect(len(archs) > 10 and all(a == kernels for a in archs.values()), f"{name}: kernels for {archs}, not {kernels}")
            expect(len(own) == 1 and (own == kernels or name == "none"), f"{name}: the project's own file is for {own}")
            run("ninja", "-C", build, "-n", "own")

    def page_of_installing(self):
        """The lines of docs/install.md that configure, build and install, as they stand, in a folder of the sources; pkg-config finds what they installed."""
        lines = next(block for block in re.findall(r"^```sh\n(.*?)^```", (self.source / "docs/install.md").read_text(), re.M | re.S) if "--install" in block).splitlines()
        expect(len(lines) == 3 and all(line.startswith("cmake ") for line in lines), f"the lines of docs/install.md are others: {lines}")
        sources, home = self.folder / "sources", self.folder / "home"
        sources.mkdir()
        for entry in self.source.iterdir():
            if not entry.name.startswith((".", "build")):
                (sources / entry.name).symlink_to(entry)
        # What would take minutes is left out behind the line: the optimiser, and kernels.
        lines[0] += " -DWARPFOLD_CUDA=OFF -Dwf_unoptimised=ON '-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG' " + TOGETHER
        env = {**self.env, "HOME": str(home), "CC": self.a.cc, "CXX": self.a.cxx, "CMAKE_BUILD_PARALLEL_LEVEL": str(len(os.sched_getaffinity(0))),
               "PATH": f"{Path(self.a.cmake).parent}:{self.env['PATH']}", "CCACHE_BASEDIR": str(self.folder), "CCACHE_NOHASHDIR": "1"}
        if shutil.which("ccache"):
            cache = run("ccache", "--get-config", "cache_dir", env=self.env).strip()
            env |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_DIR": cache}
        for line in lines:
            said = run("bash", "-euc", line, cwd=sources, env=env)
            expect("Warning" not in said, said)
        self.env["PKG_CONFIG_PATH"] = str(next((home / ".local").rglob("pkgconfig")))
        words = run("pkg-config", "--cflags", "--libs", "warpfold", env=self.env).split()
        run(self.a.cc, HERE / "sum.c", "-o", "sum_c", *words, cwd=self.folder)
        expect(ANSWER in run(self.folder / "sum_c", env={**self.env, "LD_LIBRARY_PATH": str(Path(self.env["PKG_CONFIG_PATH"]).parent)}), "sum_c")
        expect(not (home / ".local/bin").exists(), "tools were installed, which the lines turn off")

    def shared_libraries(self):
        """The shared libraries that were installed: what the GPU's needs and shows, and that of the CPU by itself."""
        if "shared" not in self.kinds():
            print("built without shared libraries")
            sys.exit(SKIPPED)
        build = self.project("cmake", f"-DCMAKE_PREFIX_PATH={self.prefix}", targets=("load",))
        self.shared(next(self.prefix.rglob("libwarpfold.so")), build / "load")
        if not self.has_gpu():
            return
        library = next(self.prefix.rglob("libwarpfold_gpu.so"))
        expect(self.soname() in run("objdump", "-p", library), "libwarpfold_gpu.so does not name the version of libwarpfold.so that it needs")
        missing = [line for line in run("ldd", "-r", library, env=self.env).splitlines() if "not found" in line or "undefined" in line]
        expect(not missing, f"libwarpfold_gpu.so finds not {missing}")
        marked = self.marked()
        shown = self.shows(library, marked)
        kernels = self.kernels_of_gpu()
        hidden = [name for name in ("tuning_problem", "wf_open_gpu", *re.findall(r"WF_API [^;()]*?(\w+)\(", kernels)) if name not in shown]
        expect(not hidden and "sums" in shown, f"libwarpfold_gpu.so does not show {hidden}")
        run(build / "load", library, "-", 1000)

    def shared(self, library, load):
        """A shared library: its name, what it shows, and that it comes and goes."""
        version = self.version()
        soname = re.search(r"SONAME\s+(\S+)", run("objdump", "-p", library))[1]
        expect(soname == self.soname(), f"its name is {soname}")
        expect(library.resolve().name == "libwarpfold.so." + ".".join(version), library.resolve())
        marked = self.marked()
        shown = self.shows(library, marked)
        kernels = self.kernels_of_gpu()
        only_elsewhere = {"error", "wf_open_gpu", "wf_open_simt", "tuning_problem", *re.findall(r"(\w+)\(", kernels)}  # those of warpfold::gpu
        hidden = [f"{n} of {h}" for n, h in marked.items() if n not in shown and n not in only_elsewhere]
        expect(not hidden, f"marked as exported, and hidden: {hidden}")
        run(load, library, "-", 1000)
        print(f"{len(shown)} names, {soname}")

    def kernels_of_gpu(self):
        """What headers declare of the GPU's library alone."""
        found = [re.findall(r"struct cuda_\w+ \{(.*?)^\};", (self.source / "include/warpfold/detail/gpu" / name).read_text(), re.M | re.S) for name in ("library.hpp", "array_calls.hpp")]
        expect(all(found), f"no cuda_ structs: {found}")
        return "".join("".join(one) for one in found)

    def marked(self):
        """What the headers mark as shown by a shared library: name, header."""
        marked = {}
        headers = set((self.source / "include").rglob("*.h*")) | set((self.source / "src").rglob("*.hpp"))  # libraries of ours share the latter
        for header in headers - {self.source / "include/warpfold/export.h"}:
            for name in re.findall(r"WF_API [^;{}()=]*?(\w+)\s*(?:final\s*)?(?:[;({]| :)", header.read_text()):
                marked[name] = header.name
        expect(len(marked) > 30, f"marked: {sorted(marked)}")
        return marked

    def shows(self, library, marked):
        """The words of the names that a shared library shows: all have its version, are marked in a header, and let it go when it is unloaded."""
        node = "WARPFOLD_" + self.soname().removeprefix("libwarpfold.so.")
        symbols = [line.split(maxsplit=1) for line in
                   (re.sub(r"^[0-9a-f ]{16} ", "", s) for s in run("nm", "-DC", "--defined-only", library).splitlines())]
        bare = [s for _, s in symbols if not s.endswith("@@" + node) and s != node]
        expect(not bare, f"{library.name}: names without the version {node}: {bare[:5]}")
        symbols = [(kind, s.removesuffix("@@" + node)) for kind, s in symbols if s != node]
        unique = [s for kind, s in symbols if kind == "u"]
        expect(not unique, f"{library.name}: symbols that keep it in memory for ever: {unique[:5]}")
        shown = set()
        for kind, symbol in symbols:
            symbol = re.sub(r"^(?:typeinfo name|typeinfo|vtable) for ", "", symbol)
            words = re.sub(r"\[abi:\w+\]", "", symbol.split("(")[0]).split("::")
            expect(symbol.startswith(("wf::", "wf_")) and " " not in "".join(words) and marked.keys() & set(words),
                   f"{library.name} shows {kind} {symbol}, which no header marks")
            shown |= set(words)
        return shown

    def deb(self):
        """The packages for Debian, by dpkg installed into a folder that has this machine's list of packages: dpkg finds what they depend on, a user's
        programs find them, and nothing stays when they are removed."""
        if not shutil.which("dpkg-deb"):
            print("no dpkg-deb here")
            sys.exit(SKIPPED)
        cpack = str(Path(self.a.cmake).with_name("cpack"))
        config = (self.binary / "CPackConfig.cmake").read_text()
        components = [c for c in re.search(r'CPACK_COMPONENTS_ALL "([^"]*)"', config)[1].split(";") if c != "tools"]  # which are large
        run(cpack, "--config", self.binary / "CPackConfig.cmake", "-G", "DEB", "-B", self.folder, "-D", f"CPACK_COMPONENTS_ALL={';'.join(components)}",
            "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none", cwd=self.folder)
        packages = {run("dpkg-deb", "--field", f, "Package").strip(): f for f in self.folder.glob("*.deb")}
        so = self.soname().removeprefix("libwarpfold.so.")
        wanted = {"library": "libwarpfold-dev", "runtime": "libwarpfold" + so, "gpu": "libwarpfold-gpu-dev", "gpu_runtime": "libwarpfold-gpu" + so,
                  "gpu_archive": "libwarpfold-gpu-static-dev"}
        if self.kinds() != ["shared", "static"]:
            del wanted["gpu_archive"]
        if "shared" not in self.kinds():
            del wanted["runtime"], wanted["gpu_runtime"]
        if not self.has_gpu():
            wanted = {c: name for c, name in wanted.items() if not c.startswith("gpu")}
        expect(sorted(packages) == sorted(wanted.values()), f"packages: {sorted(packages)}, not {sorted(wanted.values())}")
        for name, file in packages.items():
            told = run("dpkg-deb", "--field", file)
            section = "libdevel" if name.endswith("-dev") else "libs"
            for line in (f"Package: {name}", f"Section: {section}", "Homepage: ", "Maintainer: "):
                expect(line in told, f"no {line} in:\n{told}")
            paths = re.findall(r"\s\.(/\S*[^/\s])(?: -> \S+)?$", run("dpkg-deb", "--contents", file), re.M)
            expect(paths and all(path.startswith("/usr/") and not path.startswith("/usr/bin/") for path in paths), f"{name} has {paths}")
            expect(f"/usr/share/doc/{name}/copyright" in paths, f"no copyright file in {name}")
            if not name.endswith("-dev"):
                expect(not [path for path in paths if not re.search(r"\.so\.[0-9.]+$|/copyright$", path)], f"{name} has {paths}")
        told = run("dpkg-deb", "--field", packages["libwarpfold-dev"])
        version = re.search(r"^Version: (\S+)", told, re.M)[1]
        if "runtime" in components:
            expect(f"Depends: libwarpfold{so} (= {version})" in told, told)
            expect("libstdc++6" in run("dpkg-deb", "--field", packages["libwarpfold" + so], "Depends"), "it depends on no libstdc++6")

        root = self.folder / "root"
        state = root / "var/lib/dpkg"
        for part in ("info", "updates", "triggers"):
            (state / part).mkdir(parents=True)
        shutil.copy("/var/lib/dpkg/status", state)  # what is installed here is what they may depend on
        # The packages' scripts tell ldconfig, which here must not look into the machine's own folders.
        tools = self.folder / "tools"
        tools.mkdir()
        (tools / "ldconfig").write_text(f"#!/bin/sh\necho told >> {self.folder}/ldconfig\n")
        (tools / "ldconfig").chmod(0o755)
        self.env["PATH"] = f"{tools}:{self.env['PATH']}"
        dpkg = ["dpkg", f"--root={root}", "--force-not-root", "--force-script-chrootless", "--force-unsafe-io", "--no-triggers",
                f"--log={self.folder}/dpkg.log"]
        if os.geteuid() != 0:
            if not shutil.which("fakeroot"):
                print("dpkg wants root or fakeroot")
                sys.exit(SKIPPED)
            dpkg = ["fakeroot", *dpkg]
        if "runtime" in components:  # by itself the one that is compiled against is refused
            run(*dpkg, "--install", packages["libwarpfold-dev"], status=None, env=self.env)
        run(*dpkg, "--install", *packages.values(), env=self.env)
        expect((self.folder / "ldconfig").exists() == ("runtime" in components), "what a runtime's package tells ldconfig")
        for name in packages:
            expect("Status: install ok installed" in run("dpkg", f"--root={root}", "--status", name), name)
        expect((root / "usr/include/warpfold/warpfold.hpp").exists(), "no headers where dpkg has installed them")
        self.prefix = root / "usr"
        self.env["PKG_CONFIG_PATH"] = str(next(root.rglob("pkgconfig")))
        self.env_to_run = {**self.env, "LD_LIBRARY_PATH": str(Path(self.env["PKG_CONFIG_PATH"]).parent)}  # the loader would find it in /usr
        expect(run("pkg-config", "--modversion", "warpfold", env=self.env).strip() == version.split("-")[0], "its version")
        words = run("pkg-config", "--cflags", "--libs", "warpfold", env=self.env).split()
        run(self.a.cc, HERE / "sum.c", "-o", "sum_c", *words, cwd=self.folder)
        expect(ANSWER in run(self.folder / "sum_c", env=self.env_to_run), "sum_c")
        expect(self.kind_of(self.folder / "sum_c") == self.kinds()[0], "it links another kind than the first")
        build = self.project("c_only", f"-DCMAKE_PREFIX_PATH={root}/usr", languages=("C",))
        expect(ANSWER in run(build / "sum_c"), "sum_c by find_package()")
        run(*dpkg, "--purge", *packages, env=self.env)
        left = [f for f in root.rglob("*") if "warpfold" in f.name]
        expect(not left, f"after removing the packages there are {left[:5]}")

    def reference(self):
        """The pages of the API, by the line of docs/reference/README.md, in the style that CMake finds, and without it."""
        if not shutil.which("doxygen"):
            print("no doxygen here")
            sys.exit(SKIPPED)
        line = re.search(r"^(cmake --build build/\w+ --target reference) +# (build/\w+/reference/html/index\.html)$",
                         (self.source / "docs/reference/README.md").read_text(), re.M)
        here = any(Path(prefix, "share/doxygen-awesome-css/doxygen-awesome.css").exists() for prefix in ("/usr", "/usr/local"))
        if not here:
            print("no doxygen-awesome-css here: the pages without it alone")
        for name in ("styled", "plain") if here else ("plain",):
            folder = self.folder / name
            folder.mkdir()
            build = Path(line[2]).parents[2]
            options = ["-DWARPFOLD_DOXYGEN_STYLE=OFF"] if name == "plain" else []
            run(self.a.cmake, "-S", self.source, "-B", folder / build, "-G", "Ninja", f"-DCMAKE_C_COMPILER={self.a.cc}", f"-DCMAKE_CXX_COMPILER={self.a.cxx}",
                "-DWARPFOLD_CUDA=OFF", "-DWARPFOLD_BUILD_TOOLS=OFF", "-DWARPFOLD_BUILD_TESTS=OFF", "-DWARPFOLD_INSTALL=OFF", *options, env=self.env)
            said = run("bash", "-euc", line[1], cwd=folder, env=self.env | {"PATH": f"{Path(self.a.cmake).parent}:{self.env['PATH']}"})
            expect("warning:" not in said and "error:" not in said, said)
            index = (folder / line[2]).read_text()
            pages = {f.name for f in (folder / line[2]).parent.glob("*.html")}
            expect("group__reductions.html" in pages and "classwf_1_1gpu.html" in pages and len(pages) > 150, f"{len(pages)} pages")
            expect("<h2 class=\"groupheader\">Examples</h2>" in ((folder / line[2]).parent / "classwf_1_1gpu.html").read_text(), "a page has no table of examples")
            expect(('href="doxygen-awesome.css"' in index) == (name == "styled") == (folder / line[2]).with_name("doxygen-awesome.css").exists(), f"the style of pages that are {name}")

    def recipes(self):
        """The port, the recipe and the page of options say what CMakeLists.txt and version.h say."""
        files = [f for f in (*self.source.rglob("CMakeLists.txt"), *(self.source / "cmake").glob("*.cmake")) if f.relative_to(self.source).parts[0] not in ("build", "tests")]
        options = {name for f in files for name in re.findall(r"^\s*(?:option\(|set\((?=.* CACHE (?:STRING|BOOL|PATH) ))(WARPFOLD_\w+) ", f.read_text(), re.M)}
        expect(len(options) >= 13, f"options: {options}")
        table = self.table_of_options()
        expect(table.keys() == options, f"docs/install.md and CMake's files differ in {table.keys() ^ options}")
        build = self.folder / "defaults"
        run(self.a.cmake, "-S", self.source, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={self.a.cxx}", f"-DCMAKE_C_COMPILER={self.a.cc}", "-DWARPFOLD_BUILD_BENCH=ON",
            env={**self.env, "PATH": f"{Path(self.a.cmake).parent}:/usr/bin:/bin"})
        self.options_are(build, {name: default for name, (default, _) in table.items() if name != "WARPFOLD_BUILD_BENCH"})
        packaging = self.source / "packaging"
        conan = (packaging / "conan/conanfile.py").read_text()
        compile(conan, "conanfile.py", "exec")
        port = packaging / "vcpkg/warpfold"
        for text in (conan, (port / "portfile.cmake").read_text()):
            named = set(re.findall(r"WARPFOLD_(?:BUILD_)?[A-Z]+", text)) - {"WARPFOLD_VERSION"}
            expect(len(named) >= 4 and named <= options, f"no options: {named - options}")
        version = ".".join(self.version())
        expect(json.loads((port / "vcpkg.json").read_text())["version"] == version, f"vcpkg.json is not of {version}")

    def table_of_options(self):
        """Of each option of docs/install.md its default, and that in another project."""
        rows = re.findall(r"^\| `(WARPFOLD_\w+)` \| `(\w+)`[^|]*\| `(\w+)` \|", (self.page_of_options).read_text(), re.M)
        return {name: (default, elsewhere) for name, default, elsewhere in rows}

    def options_are(self, build, wanted):
        """The cache of a build has those values."""
        cache = dict(re.findall(r"^(WARPFOLD_\w+):(?:BOOL|STRING)=(.*)$", (build / "CMakeCache.txt").read_text(), re.M))
        wrong = {name: (cache.get(name), value) for name, value in wanted.items() if cache.get(name) != value}
        expect(not wrong, f"(the value, that of docs/install.md): {wrong}")

    def vcpkg(self):
        """The port, by vcpkg.cmake in place of vcpkg: of either linkage what it installs is nothing that vcpkg refuses, and programs of Debug and
        Release link their own library."""
        options = ["-Dwf_unoptimised=ON", TOGETHER, "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG", "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -DNDEBUG",  # compiled once, where there is ccache
                   f"-DCMAKE_CXX_COMPILER={self.a.cxx}", f"-DCMAKE_C_COMPILER={self.a.cc}"]
        port = self.source / "packaging/vcpkg/warpfold"
        env = self.env | {"CCACHE_NOHASHDIR": "1", "CCACHE_BASEDIR": str(self.folder)}

        def install(linkage, *more, features=()):
            return run(self.a.cmake, f"-DPORT_FOLDER={port}", f"-DROOT={self.folder}/{linkage}", f"-DLINKAGE={linkage}", f"-DFEATURES={';'.join(('core', *features))}",
                       f"-DCONFIGURE_OPTIONS={';'.join(options)}", *more, "-P", HERE / "vcpkg.cmake", env=env)

        for linkage in ("static", "dynamic"):
            root = self.folder / linkage
            install(linkage)
            packages = root / "packages/warpfold_here-linux"
            cache = (root / "buildtrees/warpfold/here-linux-rel/CMakeCache.txt").read_text()
            for line in ("WARPFOLD_BUILD_TOOLS:STRING=OFF", "WARPFOLD_BUILD_TESTS:BOOL=OFF", "WARPFOLD_INSTALL:BOOL=ON", "WARPFOLD_CUDA:STRING=OFF"):
                expect(line in cache, f"the port does not set {line}")
            for name in ("debug/include", "debug/share", "lib/cmake", "debug/lib/cmake", "bin", "debug/bin", "share/doc"):
                expect(not (packages / name).exists(), f"vcpkg refuses {name}")
            expect((packages / "include/warpfold/warpfold.hpp").exists() and (packages / "share/warpfold/copyright").read_text(), "no headers, or no copyright")
            empty = [d for d in packages.rglob("*") if d.is_dir() and not any(d.iterdir())]
            expect(not empty, f"empty folders: {empty}")
            kinds = {".a": "static", ".so": "dynamic"}
            libraries = {part: sorted(f.name for f in (packages / part).iterdir() if f.is_file()) for part in ("lib", "debug/lib")}
            expect(libraries["lib"] == libraries["debug/lib"] and libraries["lib"], f"Release and Debug have other libraries: {libraries}")
            made = {kinds[suffix] for suffix in kinds if f"libwarpfold{suffix}" in libraries["lib"]}
            expect(made == {linkage}, f"a triplet of {linkage} libraries has {libraries['lib']}")
            for f in packages.rglob("*"):
                if f.suffix in (".pc", ".cmake", ".h", ".hpp", ".cuh"):
                    expect(str(root) not in f.read_text(), f"{f.name} has a path of vcpkg's own")
            installed = root / "installed/here-linux"  # where vcpkg copies it; what it was made from may go
            shutil.copytree(packages, installed, symlinks=True)
            shutil.rmtree(root / "packages")
            shutil.rmtree(root / "buildtrees")
            for build, prefix in (("Release", installed), ("Debug", installed / "debug")):
                shutil.rmtree(self.folder / "build_cmake", ignore_errors=True)
                # As vcpkg's toolchain file has it: the folder of the build type first.
                found = self.project("cmake", f"-DCMAKE_PREFIX_PATH={prefix};{installed}", f"-DCMAKE_BUILD_TYPE={build}")
                expect(ANSWER in run(found / "sum") and ANSWER in run(found / "sum_c"), f"programs of {build}")
                linked = set(re.findall(rf"{re.escape(str(installed))}/\S*libwarpfold\.\w+", (found / "build.ninja").read_text()))
                expect(len(linked) == 1 and Path(linked.pop()).parent == prefix / "lib", f"{build} links {linked}")
                env_of_build = self.env | {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
                words = run("pkg-config", "--cflags", "--libs", "warpfold", env=env_of_build).split()
                run(self.a.cc, HERE / "sum.c", "-o", "sum_c", *words, cwd=self.folder)
                expect(ANSWER in run(self.folder / "sum_c", env=self.env | {"LD_LIBRARY_PATH": str(prefix / "lib")}), f"sum_c by pkg-config of {build}")
        if self.a.nvcc:  # its feature, as far as configuring: kernels twice would take minutes
            options.append(f"-DCMAKE_CUDA_COMPILER={self.a.nvcc}")
            install("gpu", "-DLINKAGE=static", "-DCONFIGURE_ONLY=ON", features=("gpu",))
            cache = (self.folder / "gpu/buildtrees/warpfold/here-linux-dbg/CMakeCache.txt").read_text()
            expect("WARPFOLD_CUDA:STRING=ON" in cache, "its feature gpu does not ask for CUDA")

    def conan(self):
        """`conan create packaging/conan`: it builds either kind, and its own consumer runs. By the Conan 2 that is on PATH, else by that of PyPI."""
        conan = shutil.which("conan")
        if conan and not run(conan, "--version").startswith("Conan version 2"):
            conan = None
        conan = conan or self.from_pypi("conan")
        compilers = {name: os.path.realpath(shutil.which(path)) for name, path in (("CC", self.a.cc), ("CXX", self.a.cxx))}  # Conan does not know /usr/bin/cc
        env = {**self.env, **compilers, "CONAN_HOME": str(self.folder / "home"),
               "PATH": f"{Path(self.a.cmake).parent}:{self.env['PATH']}"}
        if shutil.which("ccache"):  # the second kind is the first one's objects
            env |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_NOHASHDIR": "1", "CCACHE_BASEDIR": str(self.folder)}
        run(conan, "profile", "detect", env=env)
        settings = ("-s", "compiler.cppstd=20", "-s", "build_type=Release", "-c", "tools.cmake.cmaketoolchain:user_presets=",
                    "-c", f"tools.cmake.cmake_layout:test_folder={self.folder}/consumer")  # nothing is written among the sources
        recipe = self.source / "packaging/conan"
        for shared in (False, True):
            said = run(conan, "create", recipe, *settings, "-o", f"&:shared={shared}",
                       "-c", "tools.cmake.cmaketoolchain:extra_variables={'wf_unoptimised': 'ON', 'CMAKE_CXX_FLAGS_RELEASE': '-O0 -DNDEBUG'}", env=env)
            expect(ANSWER in said, said[-3000:])
            made = [f.name for f in (self.folder / "home").rglob("libwarpfold.so")]
            expect(bool(made) == shared, f"shared={shared}, and there are {made}")
        # With GPUs it needs nlohmann_json, here the system's, since no test reaches Conan Center: what would be configured.
        profiles = self.folder / "home/profiles"
        (profiles / "platform").write_text((profiles / "default").read_text() + "\n[platform_requires]\nnlohmann_json/3.11.3\n")
        said = run(conan, "install", recipe, *settings, "-pr", "platform", "-o", "&:gpu=True", "--output-folder", self.folder / "gpu", env=env)
        expect("-DWARPFOLD_CUDA=ON" in said and "nlohmann_json/3.11.3" in said, said[-3000:])

    def version(self):
        """That of version.h, as texts: major, minor, patch."""
        return re.findall(r"^#define WARPFOLD_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)",
                          (self.source / "include/warpfold/version.h").read_text(), re.M)

    def own_kernel(self):
        """`warpfold explain` of a user's kernel, by the headers and archives that were installed."""
        program = self.prefix / "bin/warpfold"
        if not program.exists():
            print("built without the tools")
            sys.exit(SKIPPED)
        said = run(program, "explain", f"{self.source}/examples/own_kernel.cu:column_sums<1>", "--grid", "1", "--block", "32x8",
                   "--arg", "f32[1K]:ones", "--arg", "out:f32[32]", "--arg", "32")
        expect("after the run: 32, 32, 32" in said, said)


CASES = ("install", "page_of_installing", "page_of_cmake", "find_package", "shared_libraries", "wants_gpu", "pkg_config", "old_standard", "cuda", "commands", "mpi", "mdspan", "subproject", "subproject_gpu", "deb", "own_kernel", "recipes",
         "examples_project", "two_versions", "newest_cmake", "oldest_cmake", "conan", "vcpkg", "reference")

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=CASES)
    for option in ("source", "binary", "scratch", "cmake", "cc", "cxx"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--nvcc", default="")
    parser.add_argument("--architectures", default="", help="those that the GPU library is compiled for, with commas")
    arguments = parser.parse_args()
    getattr(Package(arguments), arguments.case)()
