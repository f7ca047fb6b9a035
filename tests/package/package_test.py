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
ANSWER = "the exact sum is 1e+308"


def fail(text):
    sys.exit(f"package_test: {text}")


def run(*command, cwd=None, env=None, status=0):
    """What it prints; its exit status must be `status`, or any but 0 if that is None."""
    command = [str(c) for c in command]
    done = subprocess.run(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
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
        self.env = dict(os.environ)
        for name in ("CXXFLAGS", "CFLAGS", "LDFLAGS", "CUDAFLAGS"):
            self.env.pop(name, None)
        folders = [f for f in self.prefix.rglob("pkgconfig") if f.is_dir()] if self.prefix.exists() else []
        self.env["PKG_CONFIG_PATH"] = ":".join(map(str, folders))
        if a.case != "install":
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)

    def has_gpu(self):
        return any(self.prefix.rglob("warpfold-gpu-targets.cmake"))

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
        run(self.a.cmake, "--install", self.binary, "--prefix", first)
        first.rename(self.prefix)
        texts = [f for f in self.prefix.rglob("*") if f.suffix in (".pc", ".cmake")]
        expect(len(texts) >= 6, f"package files: {texts}")
        for f in texts:
            for folder in (first, self.source, self.binary):
                # After anything but a part of a longer path: ${prefix}/warpfold is not /warpfold.
                expect(not re.search(rf"(?<![\w}}/.-]){re.escape(str(folder))}\b", f.read_text()), f"{f.name} names {folder}")

    def find_package(self):
        found = f"-DCMAKE_PREFIX_PATH={self.prefix}"
        build = self.project("cmake", found)
        expect(ANSWER in run(build / "sum"), "sum")
        expect(ANSWER in run(build / "sum_c"), "sum_c")
        run(build / "load", build / "libplugin.so", "right", 20)
        if self.has_gpu():  # a program in C++ alone, with no CUDA compiler: it links, and sums where there is a GPU
            said = run(build / "gpu_sum")
            expect(re.search(r"the GPU's sum is 1e\+308|linked; no GPU here", said), said)
            run("strip", "-o", build / "stripped", build / "gpu_sum")
            size = (build / "stripped").stat().st_size / 2**20
            # Half of it the CUDA runtime; of the archives what a sum needs, and nothing of the CPU's.
            most = 1.6 + 1.2 * max(1, len(self.a.architectures.split(",")))
            expect(size <= most, f"a program that sums on a GPU has {size:.1f} MiB; {most} are right")
            symbols = run("nm", "-C", build / "gpu_sum")
            for other in ("wf::cuda_kernels::order", "wf::cuda_kernels::products", "wf::cuda_kernels::rows", "wf::cuda_kernels::native", "wf::cpu_backend",
                          "wf::device_place::run", "wf::find_builtin"):
                expect(other not in symbols, f"a program that sums on a GPU links {other}")
            expect("wf::cuda_kernels::sums" in symbols, "a program that sums on a GPU has no kernel of sums")
        build = self.project("c_only", found, languages=("C",))
        expect(ANSWER in run(build / "sum_c"), "sum_c in a project of C alone")

    def wants_gpu(self):
        """A component that is not there is told of in words."""
        if self.has_gpu():
            sys.exit(SKIPPED)
        (self.folder / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(user CXX)\n"
                                                    "find_package(warpfold REQUIRED COMPONENTS gpu)\n")
        said = run(self.a.cmake, "-S", self.folder, "-B", self.folder / "b", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={self.a.cxx}",
                   f"-DCMAKE_PREFIX_PATH={self.prefix}", env=self.env, status=None)
        expect("built without CUDA (WARPFOLD_CUDA)" in " ".join(said.split()), said)

    def pkg_config(self):
        """C by a C compiler and its linker, C++ of any standard from C++20 on; nothing else is needed."""
        flags = run("pkg-config", "--cflags", "warpfold", env=self.env)
        expect("-std" not in flags, f"flags for C and C++ that set a standard: {flags}")
        words = run("pkg-config", "--cflags", "--libs", "warpfold", env=self.env).split()
        run(self.a.cc, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", HERE / "sum.c", "-o", "sum_c", *words, cwd=self.folder)
        expect(ANSWER in run(self.folder / "sum_c"), "sum_c")
        run(self.a.cxx, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", HERE / "sum.cpp", "-o", "sum", *words, cwd=self.folder)
        expect(ANSWER in run(self.folder / "sum"), "sum")
        words = run("pkg-config", "--cflags", "--libs", "warpfold-io", env=self.env).split()
        run(self.a.cxx, "-std=c++20", "-shared", "-fPIC", "-Wl,-z,defs", HERE / "plugin.cpp", "-o", "plugin.so", *words, cwd=self.folder)

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
                if "nvcc" in command and not gpu:
                    print(f"without CUDA: {command}")
                    continue
                work = self.folder / f"command_{len(seen)}"
                work.mkdir()
                for f in (*(self.source / "examples").glob("*.c*"), HERE / "sum.c", HERE / "sum.cpp"):
                    shutil.copy(f, work)
                if "nvcc" in command:  # nvcc has one architecture by default, which is all that is wanted here
                    command += " -arch=sm_90"
                run("bash", "-euc", command, cwd=work, env=env)
                program = re.search(r" -o (\S+)", command)
                run(work / (program[1] if program else "a.out"))
        expect(any(c.startswith("nvcc") for c in seen) and any("pkg-config" in c for c in seen), f"commands: {seen}")
        for f in (self.source / "examples").glob("*.c*"):
            expect("pkg-config" in f.read_text() or "warpfold explain" in f.read_text(), f"{f.name} does not say how it is compiled")

    def mpi(self):
        """The component mpi by CMake, and the example as its comment says, by one rank and by three."""
        if not (shutil.which("mpicxx") and shutil.which("mpiexec")):
            print("no MPI here")
            sys.exit(SKIPPED)
        build = self.project("mpi", f"-DCMAKE_PREFIX_PATH={self.prefix}", languages=("CXX",))
        mpi = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        run("mpiexec", "-n", "2", build / "ranks", env={**self.env, **mpi})
        example = self.source / "examples/mpi.cpp"
        command = re.search(r"^// +(mpicxx .*pkg-config.*)$", example.read_text(), re.M)[1]
        shutil.copy(example, self.folder)
        compilers = {"OMPI_CXX": self.a.cxx, "MPICH_CXX": self.a.cxx}
        run("bash", "-euc", command.replace("-std=c++20", "-std=c++20 -O0"), cwd=self.folder, env={**self.env, **compilers})
        words_of = lambda text: [" ".join(line.split("//")[0].split()) for line in text.splitlines()]
        lines = set(words_of(example.read_text()))
        blocks = "\n".join(re.findall(r"^```cpp\n(.*?)^```", (self.source / "docs/ranks.md").read_text(), re.M | re.S))
        expect("plan.start(again);" in blocks, "docs/ranks.md shows no code")
        strange = [line for line in words_of(blocks) if line not in lines]
        expect(not strange, f"docs/ranks.md shows what examples/mpi.cpp has not: {strange}")
        said = {run("mpiexec", "-n", n, self.folder / "a.out", env={**self.env, **mpi}) for n in (1, 3)}
        expect(len(said) == 1 and said.pop().startswith("sum 3000000, "), f"what it prints depends on the number of ranks: {said}")

    def examples_project(self):
        """The project of examples: by the installed copy, by sources in a folder, and by sources that git fetches."""
        project = self.source / "examples/project"
        compilers = (f"-DCMAKE_C_COMPILER={self.a.cc}", f"-DCMAKE_CXX_COMPILER={self.a.cxx}")

        def configured(name, *options, env=None):
            run(self.a.cmake, "-S", project, "-B", self.folder / name, "-G", "Ninja", *compilers, *options, env=env or self.env)
            return self.folder / name

        found = configured("found", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run(self.a.cmake, "--build", found, env=self.env)
        for program in ("mine", "rows"):
            run(found / program)
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

    def newest_cmake(self):
        """find_package and pkg-config of CMake's newest release, from PyPI. It is asked for: WARPFOLD_NEWEST_CMAKE=1."""
        if not os.environ.get("WARPFOLD_NEWEST_CMAKE"):
            print("not asked for: WARPFOLD_NEWEST_CMAKE=1")
            sys.exit(SKIPPED)
        environment = self.folder / "environment"
        run(sys.executable, "-m", "venv", environment)
        done = subprocess.run([environment / "bin/pip", "install", "-q", "cmake"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            print(f"no CMake from PyPI: {done.stdout[-300:]}")
            sys.exit(SKIPPED)
        newest = environment / "bin/cmake"
        print(run(newest, "--version").splitlines()[0])
        build = self.project("cmake", f"-DCMAKE_PREFIX_PATH={self.prefix}", cmake=newest, targets=("sum", "sum_c"))
        expect(ANSWER in run(build / "sum") and ANSWER in run(build / "sum_c"), "sum, sum_c")
        expect("Warning" not in self.configured, self.configured)
        (self.folder / "CMakeLists.txt").write_text(f"""
            cmake_minimum_required(VERSION 3.25)
            project(user C)
            find_package(PkgConfig REQUIRED)
            pkg_check_modules(warpfold REQUIRED IMPORTED_TARGET warpfold)
            add_executable(sum_c {HERE}/sum.c)
            target_link_libraries(sum_c PRIVATE PkgConfig::warpfold)
            """)
        run(newest, "-S", self.folder, "-B", self.folder / "b", "-G", "Ninja", f"-DCMAKE_C_COMPILER={self.a.cc}", env=self.env)
        run(newest, "--build", self.folder / "b", env=self.env)
        expect(ANSWER in run(self.folder / "b/sum_c"), "sum_c by pkg-config")

    def subproject(self):
        """A folder of another project: the library alone, shared, with nothing but a compiler, and nothing installed."""
        launcher = shutil.which("ccache")
        options = [f"-DWARPFOLD_SOURCE={self.source}", "-DBUILD_SHARED_LIBS=ON", "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG", "-Dwf_unoptimised=ON",
                   "-DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON",
                   "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON"]
        if launcher:
            options.append(f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}")
        env = self.env["PATH"]
        if self.a.nvcc:  # where it could be found
            self.env["PATH"] += ":" + str(Path(self.a.nvcc).parent)
        build = self.project("subproject", *options, targets=("sum", "sum_c", "load"))
        self.env["PATH"] = env
        cache = (build / "CMakeCache.txt").read_text()
        expect("CMAKE_CUDA_COMPILER:" not in cache, "it looked for CUDA by itself")
        made = [line for line in run("ninja", "-C", build, "-t", "targets", "all").splitlines() if re.search(": (C|CXX|CUDA)_", line)]
        expect(any("libwarpfold.so" in line for line in made), f"targets: {made}")
        for line in made:
            expect(not re.search(r"simt|gtest|test_|warpfold_cli|tuning|\.cu\.", line), f"built in another project: {line}")
        expect(ANSWER in run(build / "sum"), "sum")
        expect(ANSWER in run(build / "sum_c"), "sum_c")
        prefix = self.folder / "prefix"
        run(self.a.cmake, "--install", build, "--prefix", prefix)
        files = [f for f in prefix.rglob("*") if not f.is_dir()]
        expect([f.name for f in files] == ["sum"], f"installed into another project: {files}")
        self.shared(build / "warpfold/src/libwarpfold.so", build / "load")

    def shared_gpu(self):
        """The shared libraries of a build with CUDA, linked from its archives, which hold the very objects: they show each other what they need,
        and a program what it calls."""
        if not self.has_gpu():
            print("built without CUDA")
            sys.exit(SKIPPED)
        words = run("pkg-config", "--cflags", "warpfold-gpu", env=self.env).split()
        runtime = run("pkg-config", "--variable=cuda_runtime", "warpfold-gpu", env=self.env).split()
        shared = [self.a.cxx, "-shared", f"-Wl,--version-script={self.source}/src/exports.map", "-Wl,-z,defs"]
        archive = lambda name: str(next(self.prefix.rglob(f"lib{name}.a")))
        whole = lambda name: ("-Wl,--whole-archive", archive(name), "-Wl,--no-whole-archive")
        run(*shared, *whole("warpfold"), "-lpthread", "-o", self.folder / "libwarpfold.so")
        run(*shared, *whole("warpfold_gpu"), archive("warpfold_tuning"), f"-L{self.folder}", "-lwarpfold", *runtime, "-o", self.folder / "libwarpfold_gpu.so")
        run(self.a.cxx, "-std=c++20", "-O0", *words, f"-I{Path(self.a.nvcc).parent.parent}/include", HERE / "gpu_sum.cpp", f"-L{self.folder}",
            f"-Wl,-rpath,{self.folder}", "-lwarpfold_gpu", "-lwarpfold", *runtime, "-o", self.folder / "gpu_sum")
        said = run(self.folder / "gpu_sum")
        expect(re.search(r"the GPU's sum is 1e\+308|linked; no GPU here", said), said)
        shown = run("nm", "-DC", "--defined-only", self.folder / "libwarpfold_gpu.so")
        for name in ("wf::cuda_kernels::sums(", "wf::cuda_kernels::rows(", "wf::cuda_kernels::library(", "wf::cuda_kernels::machine(", "wf_open_gpu"):
            expect(name in shown, f"libwarpfold_gpu.so does not show {name}")
        strange = [line for line in shown.splitlines() if not re.search(r" (?:(?:typeinfo|typeinfo name|vtable) for )?wf(?:_|::)", line)]
        expect(not strange, f"libwarpfold_gpu.so shows {strange[:5]}")
        expect(" wf::cuda_kernels::" not in run("nm", "-C", "--defined-only", self.folder / "gpu_sum"), "a program has kernels in itself")

    def shared(self, library, load):
        """A shared library: its name, what it shows, and that it comes and goes."""
        version = self.version()
        soname = re.search(r"SONAME\s+(\S+)", run("objdump", "-p", library))[1]
        expect(soname == "libwarpfold.so." + (".".join(version[:2]) if version[0] == "0" else version[0]), f"its name is {soname}")
        expect(library.resolve().name == "libwarpfold.so." + ".".join(version), library.resolve())
        symbols = [line.split(maxsplit=1) for line in
                   (re.sub(r"^[0-9a-f ]{16} ", "", s) for s in run("nm", "-DC", "--defined-only", library).splitlines())]
        expect(not [s for kind, s in symbols if kind == "u"], "symbols that keep it in memory for ever")
        marked = {}
        headers = set((self.source / "include").rglob("*.h*")) | set((self.source / "src").rglob("*.hpp"))  # libraries of ours share the latter
        for header in headers - {self.source / "include/warpfold/export.h"}:
            for name in re.findall(r"WF_API [^;{}()=]*?(\w+)\s*(?:final\s*)?(?:[;({]| :)", header.read_text()):
                marked[name] = header.name
        expect(len(marked) > 30, f"marked: {sorted(marked)}")
        shown = set()
        for kind, symbol in symbols:
            symbol = re.sub(r"^(?:typeinfo name|typeinfo|vtable) for ", "", symbol)
            words = re.sub(r"\[abi:\w+\]", "", symbol.split("(")[0]).split("::")
            expect(symbol.startswith(("wf::", "wf_")) and marked.keys() & set(words), f"it shows {kind} {symbol}, which no header marks")
            shown |= set(words)
        kernels = re.search(r"struct cuda_kernels \{(.*?)^\};", (self.source / "include/warpfold/detail/gpu/library.hpp").read_text(), re.M | re.S)[1]
        only_elsewhere = {"error", "wf_open_gpu", "wf_open_simt", *re.findall(r"(\w+)\(", kernels)}  # those of warpfold::gpu
        hidden = [f"{n} of {h}" for n, h in marked.items() if n not in shown and n not in only_elsewhere]
        expect(not hidden, f"marked as exported, and hidden: {hidden}")
        run(load, library, "-", 1000)
        print(f"{len(symbols)} symbols, {soname}")

    def deb(self):
        """The package for Debian, unpacked into a folder: a user's programs find it there."""
        if not shutil.which("dpkg-deb"):
            print("no dpkg-deb here")
            sys.exit(SKIPPED)
        cpack = str(Path(self.a.cmake).with_name("cpack"))
        run(cpack, "--config", self.binary / "CPackConfig.cmake", "-G", "DEB", "-B", self.folder, "-D", "CPACK_COMPONENTS_ALL=library",
            "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", cwd=self.folder)
        package = list(self.folder.glob("*.deb"))
        expect(len(package) == 1, f"packages: {package}")
        told = run("dpkg-deb", "--field", package[0])
        for line in ("Package: libwarpfold-dev", "Section: libdevel", "Homepage: ", "Maintainer: "):
            expect(line in told, f"no {line} in:\n{told}")
        version = re.search(r"^Version: (\S+)", told, re.M)[1]
        root = self.folder / "root"
        run("dpkg-deb", "--extract", package[0], root)
        files = [f for f in root.rglob("*") if not f.is_dir()]
        expect(all(f.is_relative_to(root / "usr") for f in files), "files outside /usr")
        expect((root / "usr/share/doc/libwarpfold-dev/copyright").exists(), "no copyright file")
        expect(not list(root.rglob("bin/*")), "programs in the library's package")
        self.env["PKG_CONFIG_PATH"] = str(next(root.rglob("pkgconfig")))
        expect(run("pkg-config", "--modversion", "warpfold", env=self.env).strip() == version.split("-")[0], "its version")
        words = run("pkg-config", "--cflags", "--libs", "warpfold", env=self.env).split()
        run(self.a.cc, HERE / "sum.c", "-o", "sum_c", *words, cwd=self.folder)
        expect(ANSWER in run(self.folder / "sum_c"), "sum_c")
        build = self.project("c_only", f"-DCMAKE_PREFIX_PATH={root}/usr", languages=("C",))
        expect(ANSWER in run(build / "sum_c"), "sum_c by find_package()")

    def recipes(self):
        """The port, the recipe and the page of options say what CMakeLists.txt and version.h say; the port configures."""
        lists = (self.source / "CMakeLists.txt").read_text()
        options = set(re.findall(r"^\s*(?:option\(|set\((?=.* CACHE STRING ))(WARPFOLD_\w+) ", lists, re.M))
        expect(len(options) >= 9, f"options: {options}")
        table = set(re.findall(r"^\| `(WARPFOLD_\w+)`", (self.source / "docs/install.md").read_text(), re.M))
        expect(table == options, f"docs/install.md and CMakeLists.txt differ in {table ^ options}")
        packaging = self.source / "packaging"
        conan = (packaging / "conan/conanfile.py").read_text()
        compile(conan, "conanfile.py", "exec")
        port = packaging / "vcpkg/warpfold"
        for text in (conan, (port / "portfile.cmake").read_text()):
            named = set(re.findall(r"WARPFOLD_(?:BUILD_)?[A-Z]+", text)) - {"WARPFOLD_VERSION"}
            expect(len(named) >= 4 and named <= options, f"no options: {named - options}")
        version = ".".join(self.version())
        expect(json.loads((port / "vcpkg.json").read_text())["version"] == version, f"vcpkg.json is not of {version}")
        # vcpkg's own functions, as far as they are called: configure and install for real, without building.
        (self.folder / "port.cmake").write_text(f"""
            function(vcpkg_check_features)
              set(features -DWARPFOLD_CUDA=OFF PARENT_SCOPE)
            endfunction()
            function(vcpkg_cmake_configure)
              cmake_parse_arguments(a "" "SOURCE_PATH" "OPTIONS" ${{ARGN}})
              execute_process(COMMAND ${{CMAKE_COMMAND}} -S ${{a_SOURCE_PATH}} -B {self.folder}/build -G Ninja ${{a_OPTIONS}}
                -DCMAKE_CXX_COMPILER={self.a.cxx} -DCMAKE_C_COMPILER={self.a.cc} COMMAND_ERROR_IS_FATAL ANY)
            endfunction()
            function(vcpkg_cmake_install)
              file(WRITE {self.folder}/installed "")
            endfunction()
            function(vcpkg_cmake_config_fixup)
              if(NOT EXISTS {self.prefix}/${{ARGV1}}/warpfold-config.cmake)
                message(FATAL_ERROR "no CMake package in ${{ARGV1}}")
              endif()
            endfunction()
            function(vcpkg_fixup_pkgconfig)
            endfunction()
            function(vcpkg_install_copyright)
              if(NOT EXISTS ${{ARGV1}})
                message(FATAL_ERROR "no file ${{ARGV1}}")
              endif()
            endfunction()
            set(CURRENT_PACKAGES_DIR {self.folder}/packages)
            include({port}/portfile.cmake)
            """)
        said = run(self.a.cmake, "-P", self.folder / "port.cmake", env=self.env)
        expect("Manually-specified variables were not used" not in said, said)
        cache = (self.folder / "build/CMakeCache.txt").read_text()
        for line in ("WARPFOLD_BUILD_TOOLS:BOOL=OFF", "WARPFOLD_BUILD_TESTS:BOOL=OFF", "WARPFOLD_INSTALL:BOOL=ON", "WARPFOLD_CUDA:STRING=OFF"):
            expect(line in cache, f"the port does not set {line}")

    def conan(self):
        """`conan create packaging/conan` by Conan from PyPI: it builds, and its own consumer runs. It is asked for: WARPFOLD_CONAN=1."""
        if not os.environ.get("WARPFOLD_CONAN"):
            print("not asked for: WARPFOLD_CONAN=1")
            sys.exit(SKIPPED)
        environment = self.folder / "environment"
        run(sys.executable, "-m", "venv", environment)
        done = subprocess.run([environment / "bin/pip", "install", "-q", "conan"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            print(f"no Conan from PyPI: {done.stdout[-300:]}")
            sys.exit(SKIPPED)
        env = {**self.env, "CONAN_HOME": str(self.folder / "home"), "CC": self.a.cc, "CXX": self.a.cxx,
               "PATH": f"{environment / 'bin'}:{Path(self.a.cmake).parent}:{self.env['PATH']}"}
        run(environment / "bin/conan", "profile", "detect", env=env)
        said = run(environment / "bin/conan", "create", self.source / "packaging/conan", "-s", "compiler.cppstd=20", "-s", "build_type=Debug", env=env)
        expect(ANSWER in said, said[-3000:])

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


CASES = ("install", "find_package", "shared_gpu", "wants_gpu", "pkg_config", "old_standard", "cuda", "commands", "mpi", "subproject", "deb", "own_kernel", "recipes",
         "examples_project", "two_versions", "newest_cmake", "conan")

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=CASES)
    for option in ("source", "binary", "scratch", "cmake", "cc", "cxx"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--nvcc", default="")
    parser.add_argument("--architectures", default="", help="those that the GPU library is compiled for, with commas")
    arguments = parser.parse_args()
    getattr(Package(arguments), arguments.case)()
