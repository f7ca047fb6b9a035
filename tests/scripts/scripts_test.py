# SPDX-License-Identifier: Apache-2.0
"""The commands of pages that set a machine up or measure one.

    scripts_test.py CASE --source … --scratch … --cmake … --cc … --cxx … --library … [--program …]

Each runs as its page has it, in a folder of the sources. What would take minutes is told to be small by variables and by options behind
the line, and programs that would change the machine are stand-ins, which come first on PATH and write down what they are asked.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SKIPPED = 77


def fail(text):
    sys.exit(f"scripts_test: {text}")


def expect(condition, text):
    if not condition:
        fail(text)


class Commands:
    def __init__(self, a):
        self.a = a
        self.folder = Path(a.scratch) / a.case
        shutil.rmtree(self.folder, ignore_errors=True)
        self.sources, self.instead = self.folder / "sources", self.folder / "instead"
        self.sources.mkdir(parents=True)
        self.instead.mkdir()
        self.source = Path(a.source)
        for entry in self.source.iterdir():
            if not entry.name.startswith((".", "build")):
                (self.sources / entry.name).symlink_to(entry)
        self.asked = self.folder / "asked"
        self.env = {k: v for k, v in os.environ.items() if k not in ("CXXFLAGS", "CFLAGS", "LDFLAGS", "CUDAFLAGS")}
        self.env |= {"CC": a.cc, "CXX": a.cxx, "PATH": f"{self.instead}:{Path(a.cmake).parent}:{self.env['PATH']}", "CUDA_VISIBLE_DEVICES": ""}

    def run(self, line, page, behind="", status=0, **env):
        """What a line of a page prints, its errors among it, run as it stands but for what is put behind it."""
        expect(re.search(rf"(?m)^(?:    )?{re.escape(line)}(?: |$)", (self.source / page).read_text()), f"{page} has no line {line}")
        done = subprocess.run(["bash", "-euc", f"{line} {behind}"], cwd=self.sources, env=self.env | env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        expect(done.returncode == status, f"exit status {done.returncode} of: {line} {behind}\n{done.stdout[-6000:]}")
        return done.stdout

    def stand_in(self, name, script=""):
        """A program that writes down what it is asked, and then does what the script says."""
        file = self.instead / name
        file.write_text(f'#!/bin/bash\necho "{name} $*" >>{self.asked}\n{script}\n')
        file.chmod(0o755)

    def was_asked(self):
        said = self.asked.read_text().splitlines() if self.asked.exists() else []
        self.asked.unlink(missing_ok=True)
        return said

    def without_installing(self):
        """Nothing is installed: apt-get and sudo write down what they are asked."""
        for name in ("apt-get", "sudo"):
            self.stand_in(name)

    # The cases.

    def dependencies(self):
        """scripts/dependencies asks for what is missing and for nothing else, of Debian's packages alone."""
        self.without_installing()
        self.stand_in("apt-cache", 'echo "  Candidate: 1"')
        script = (self.source / "scripts/dependencies").read_text()
        groups = {name: re.search(rf"^{name}=\((.*?)\)", script, re.M | re.S)[1].split() for name in ("build", "python", "tests")}

        def installs(missing, *arguments):
            """What it installs where all packages are there but these."""
            self.stand_in("dpkg-query", f'case " {" ".join(missing)} " in *" ${{@: -1}} "*) exit 1;; esac\necho -n installed')
            done = subprocess.run([self.sources / "scripts/dependencies", *arguments], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            expect(done.returncode == 0, done.stdout)
            asked = [re.sub(r"^sudo ", "", line) for line in self.was_asked() if not line.startswith(("dpkg-query", "apt-cache", "sudo apt-get"))]
            if not missing:
                return asked
            expect(len(asked) == 2 and asked[0].startswith("apt-get update") and asked[1].startswith("apt-get install "), f"it asks for {asked}")
            return [word for word in asked[1].split()[2:] if not word.startswith("-")]

        if os.geteuid() != 0:  # sudo, which is a stand-in, runs what it is told
            self.stand_in("sudo", '"$@"')
        for arguments, wanted in (((), groups["build"]), (("tests",), groups["build"] + groups["python"] + groups["tests"])):
            expect(not installs([], *arguments), "it installs where nothing is missing")
            expect(installs(["ninja-build", "libdw-dev"], *arguments) == ["ninja-build", "libdw-dev"], "it does not install what is missing")
            expect(installs(wanted, *arguments) == wanted, "it does not install all that is missing")
        is_systems = shutil.which("python3", path=self.env["PATH"]) in ("/usr/bin/python3", "/bin/python3", None)
        expect(installs(["ninja-build", "python3-venv"]) == ["ninja-build"] + ["python3-venv"] * is_systems, "what the system's Python lacks, and of no other")
        if is_systems:
            self.stand_in("apt-get", "exit 1")
            expect(installs(["python3-venv"]) == ["python3-venv"], "the build does without Python's packages")
            self.stand_in("apt-get")
        self.stand_in("apt-cache", '[[ $* != *libcapstone-dev* ]] || { echo "  Candidate: (none)"; exit; }\necho "  Candidate: 1"')
        expect(installs(["ninja-build", "libcapstone-dev"]) == ["ninja-build"], "it installs what this release has not")

    def check(self):
        """./check builds and runs what is drawn, all of a preset that is named, and says beforehand that the disk is too small."""
        for name in ("cmake", "ctest", "apt-get", "sudo"):
            self.stand_in(name)
        self.stand_in("dpkg-query", "echo -n installed")
        self.stand_in("df", 'echo Avail; echo "${FREE_MB:-99999}"')
        self.stand_in("clang++")
        self.stand_in("qemu-aarch64", 'echo "[  PASSED  ] 1 test."')  # where the tools for Arm are, ./check runs their kernels

        def asked(*arguments, status=0, **env):
            done = subprocess.run([self.sources / "check", *arguments], env=self.env | env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            expect(done.returncode == status, f"status {done.returncode}: {done.stdout}")
            return done.stdout, [line for line in self.was_asked() if line.startswith(("cmake --build --preset", "ctest --preset"))]

        for draw in (7, 11):
            built = asked(WARPFOLD_TEST_DRAW=str(draw))[1]
            for preset in ("dev", "sanitize"):
                # On a machine with a GPU, ./check builds and runs every test that wants one.
                expect(re.fullmatch(rf"cmake --build --preset {preset} --target draw_{draw % 6}( gpu_tests)?", built[0]), f"draw {draw} builds by {built[0]}")
                expect(re.fullmatch(rf"ctest --preset {preset} -LE \^(\(gpu_\)\?)?drawn_\[\^{draw % 6}\]\*\$ --parallel \d+", built[1]), f"draw {draw} tests by {built[1]}")
                expect(("gpu_tests" in built[0]) != ("gpu_" in built[1]), f"of a GPU's tests other ones are built than are run: {built}")
                built = built[2:]
            expect(built[0] == "cmake --build --preset threads", f"{built}")
        built = asked("dev")[1]
        expect(built[0] == "cmake --build --preset dev" and re.fullmatch(r"ctest --preset dev --parallel \d+", built[1]), f"./check dev builds and tests by {built}")
        said, built = asked(status=1, FREE_MB="300")
        expect(re.search(r"check: not enough room on the disk: build/ wants about \d+ MB more, and 300 MB are free\n$", said) and not built, said)

    def quickstart(self):
        """./quickstart ends as README says. The program is the one that was built already, where CMake's configuration has its target."""
        self.without_installing()
        made = "build/quickstart/cli/warpfold"
        # Python's package is built by tests/python: this python3 makes an environment whose python writes down what it is asked.
        self.stand_in("python3", '''if [[ "$*" == "-m venv build/quickstart-python" ]]; then
  mkdir -p "$3/bin"
  printf '#!/bin/bash\\necho "python $*" >>%q\\n[[ $1 != -c ]] || echo 1.0\\n[[ "$*" != "-m pip install --retries"* ]] || exit ${PIP_FAILS:-0}\\n' ''' + f"{self.asked}" + ''' >"$3/bin/python"
  chmod +x "$3/bin/python"
fi
[[ $* != *ensurepip* ]] || exit ${NO_VENV:-0}
[[ $* != *"-m venv"* ]] || exit 0
exec ''' + shutil.which("python3", path=os.environ["PATH"]) + ' "$@"')
        self.stand_in("cmake", f"""[[ $1 == --build ]] || exec {self.a.cmake} "$@"
grep -q '^build cli/warpfold: CXX_EXECUTABLE_LINKER' "$2/build.ninja" && [[ "$3 $4" == "--target warpfold_cli" ]] && cp {self.a.program} {made}""")
        said = self.run("./quickstart", "README.md", WARPFOLD_CUDA="OFF")
        asked = self.was_asked()
        installed = [line for line in asked if line.startswith(("apt-get ", "sudo "))]
        if installed:  # where a test runs that was not set up by ./check
            print(f"missing here: {installed}")
        expect([line.split()[1] for line in asked if line.startswith("cmake ")] == ["-S", "--build"], f"it builds by {asked}")
        cache = (self.sources / "build/quickstart/CMakeCache.txt").read_text()
        for line in ("CMAKE_BUILD_TYPE:STRING=Release", "WARPFOLD_CUDA:STRING=OFF", "WARPFOLD_BUILD_TESTS:BOOL=OFF"):
            expect(line in cache, f"it does not set {line}")
        block = re.search(r"its output has these lines:\n\n```console\n(.*?)^```", (self.source / "README.md").read_text(), re.M | re.S)[1]
        commands = re.findall(r"^\$ (.*)$", said, re.M)
        summed = 'build/quickstart-python/bin/python -c "import warpfold as wf; print(wf.sum([1e16, 1.0, -1e16]))"'
        expect(commands == ["warpfold info", *re.findall(r"^\$ (.*)$", block, re.M), summed], f"it runs {commands}")
        ending = re.escape(block).replace("…\\\n", "(?:.*\\n)*?").replace("…", ".*?").replace("\\ ", " ")
        ending = re.sub(r" +", " +", ending)
        if "Free Software" in subprocess.run([self.a.cxx, "--version"], stdout=subprocess.PIPE, text=True).stdout:  # the ladder tells source lines as this compiler has them
            expect(re.search(ending, said), f"it does not end as README says:\n{said[-6000:]}")
        expect(f"The program is {made}." in said, said[-500:])
        package = [line for line in asked if line.startswith("python ")]
        expect(len(package) == 3 and package[1].startswith("python -m pip install --no-build-isolation --no-deps --force-reinstall ."), f"{package}")
        # Without what the package wants it ends as well. The program is done with.
        self.stand_in("cmake", f"cp /bin/true {made}")
        for env, why in (({"NO_VENV": "1"}, "python3 has no venv"), ({"PIP_FAILS": "1"}, "pip cannot install NumPy"), ({"WARPFOLD_PYTHON": "OFF"}, None)):
            said = self.run("./quickstart", "README.md", WARPFOLD_CUDA="OFF", **env)
            expect(said.count("left out") == (why is not None) and (why or "") in said and f"The program is {made}." in said and "import warpfold" not in said, said[-500:])

    def cpu(self):
        """scripts/cpu here, and what scripts/cpu bundle gives: one kind of machine, one benchmark, the library that was built already, no optimiser."""
        if not Path("/usr/include/eigen3").exists() or not shutil.which("ldd"):
            print("no Eigen here; scripts/dependencies tests installs it")
            sys.exit(SKIPPED)
        small = {"WARPFOLD_BENCH_CMAKE": f"-DWARPFOLD_PREBUILT={self.a.library} -Dwf_unoptimised=ON -DCMAKE_CXX_FLAGS_RELEASE=-O0", "WARPFOLD_BENCH_MIB": "1"}
        asked = "--quick --repetitions 1 --only '^n=1/f64/'"
        kept = self.folder / "here.json"
        said = self.run("scripts/cpu", "docs/cpu.md", f"{asked} {kept}", **small)
        self.measured(said, kept)
        self.run("scripts/cpu bundle", "docs/cpu.md", "native", **small)
        bundle = self.folder / "elsewhere"
        (self.sources / "build/cpu-bundle").rename(bundle)
        shutil.rmtree(self.sources)  # the other machine has no sources and no compiler
        done = subprocess.run(["bash", "-euc", f"./cpu {asked}"], cwd=bundle, env={"PATH": "/usr/bin:/bin", "WARPFOLD_BENCH_MIB": "1"},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        expect(done.returncode == 0, done.stdout)
        self.measured(done.stdout, bundle / done.stdout.splitlines()[-1])

    def measured(self, said, kept):
        names = {b["name"].split("/")[0] for b in json.loads(kept.read_text())["benchmarks"]}
        expect(names == {"n=1"}, f"it measured {names}")
        expect(re.search(r"\b(PASS|MISS)\b", said), f"it tells of no bar:\n{said}")

    def exact_scalar(self):
        """The figures at the end of docs/exact.md, by programs that measure for an instant."""
        self.run("cmake --preset release && cmake --build --preset release --target bench_exact_scalar", "docs/exact.md")
        said = self.run("build/release/bench/cpu/bench_exact_scalar --benchmark_repetitions=7", "docs/exact.md", BENCHMARK_MIN_TIME="0.0001", BENCHMARK_FILTER="/0/100$")
        expect(len(re.findall(r"_median ", said)) == 6, said)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=("dependencies", "quickstart", "check", "cpu", "exact_scalar"))
    for option in ("source", "scratch", "cmake", "cc", "cxx", "library"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--program")
    arguments = parser.parse_args()
    getattr(Commands(arguments), arguments.case)()
