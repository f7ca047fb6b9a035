# SPDX-License-Identifier: Apache-2.0
"""commands_test.py SOURCE WARPFOLD SCRATCH: every command line of README, docs and examples is run by a test.

A command line is one that begins with a program in a block of a page, or in a comment of an example. What tests find by themselves, as
they stand in a page, is told by a rule; the others are listed. Lines of the program that no other test runs are run here, without a GPU: of a line
with `A|B`, `[--option]` and names in capitals every form. A line that is new in a page fails until a test runs it."""
import os
import re
import subprocess
import sys
from pathlib import Path

root, warpfold, scratch = (Path(a).resolve() for a in sys.argv[1:4])
PROGRAM = (r"(?:\$ )?(?:[A-Z_]+=\S+ )*(?:warpfold|cmake|ctest|cpack|conan|vcpkg|ninja|nvcc|[gc]\+\+|clang\+\+|g?cc|mpicxx|mpiexec|pip|python3?|"
           r"(?:\./|build/|scripts/)\S+)")
# What runs each: a file of tests, and text of it that says so.
BY = {
    "./check": (".ci/run", "exec ./check"),
    "./quickstart": ("tests/scripts/scripts_test.py", 'self.run("./quickstart", "README.md"'),
    "scripts/cpu": ("tests/scripts/scripts_test.py", 'self.run("scripts/cpu", "docs/cpu.md"'),
    "scripts/cpu bundle": ("tests/scripts/scripts_test.py", 'self.run("scripts/cpu bundle", "docs/cpu.md"'),
    "scripts/neon": ("check", "neon=(scripts/neon)"),
    "cmake --preset release && cmake --build --preset release --target bench_exact_scalar": ("tests/scripts/scripts_test.py", "def exact_scalar"),
    "build/release/bench/cpu/bench_exact_scalar --benchmark_repetitions=7": ("tests/scripts/scripts_test.py", "def exact_scalar"),
    "pip install .": ("tests/python/package_test.py", '("pip install .", "README.md"'),
    "pip install . -C cmake.define.WARPFOLD_CUDA=ON": ("tests/python/package_test.py", '("pip install . -C cmake.define.WARPFOLD_CUDA=ON", "docs/python.md"'),
    "cmake -S . -B build -DWARPFOLD_BUILD_TOOLS=OFF -DWARPFOLD_BUILD_TESTS=OFF": ("tests/package/package_test.py", "def page_of_installing"),
    "cmake --build build": ("tests/package/package_test.py", "def page_of_installing"),
    'cmake --install build --prefix "$HOME/.local"': ("tests/package/package_test.py", "def page_of_installing"),
    "cmake -S . -B build -DCMAKE_PREFIX_PATH=$HOME/.local && cmake --build build": ("tests/package/package_test.py", "def examples_project"),
    "cmake --build build/dev --target reference": ("tests/package/package_test.py", "def reference"),
    "warpfold tune": ("tests/cli/cli_test.py", "The commands of docs/gpu.md"),
    "warpfold tune --dry-run": ("tests/cli/cli_test.py", "The commands of docs/gpu.md"),
    "mpicxx -std=c++20 mpi.cpp $(pkg-config --cflags --libs warpfold)": ("tests/package/package_test.py", "// +(mpicxx .*pkg-config.*)$"),
    "mpiexec -n 4 ./a.out": ("tests/package/package_test.py", 'run("mpiexec", "-n", n'),
}
FILE = "examples/data/sea_surface_temperature.npy"


def lines_of(text):
    """(its block's language or "", the line) of a page."""
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S):
        for line in re.sub(r"\\\n|\n +(?=\[--)", " ", block).splitlines():
            yield language, line
    for line in re.sub(r"^```.*?^```", "", text, flags=re.M | re.S).splitlines():
        if line.startswith("    "):
            yield "", line[4:]


def commands():
    pages = [root / "README.md", *(p for p in sorted((root / "docs").rglob("*.md")) if not {"log", "zh"} & set(p.relative_to(root).parts))]
    for page in pages:
        for language, line in lines_of(page.read_text()):
            if language in ("", "sh", "console") and re.match(PROGRAM + r"(?: |$)", line):
                yield page, language, line
    for file in sorted((root / "examples").rglob("*")):
        if file.suffix in (".c", ".cpp", ".cu") or file.parent.name == "project":
            for line in re.findall(rf"^(?://|/?\*|#)? +({PROGRAM} .*)$", file.read_text(), re.M):
                yield file, "example", line


def runner_of(page, language, line):
    """None if no test does."""
    if language == "console":
        return "tests/docs/lessons_test.py"
    if re.match(r"(?:cc|gcc|c\+\+|g\+\+|clang\+\+|nvcc) .*(?:pkg-config|-lwarpfold)", line) and page.parent in (root, root / "docs", root / "examples"):
        return "package_commands"
    if line in BY:
        file, says = BY[line]
        return file if says in (root / file).read_text() else None
    return None


def printed(line):
    """What a line of the program prints without a GPU, which must be no error."""
    env = os.environ | {"PATH": f"{warpfold.parent}{os.pathsep}{os.environ['PATH']}", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(["bash", "-c", line], cwd=scratch, env=env, timeout=300, stdout=subprocess.PIPE, text=True, check=True).stdout


def names_of(word):
    """What a name in capitals stands for."""
    if word == "RUNG":
        return re.findall(r"^((?!cpu/)[a-z]\w*(?:/\w+)?)(?= )", printed("warpfold ladder --list"), re.M)
    if word == "REDUCTION":
        return sorted(set(re.findall(r"^\| `(\w+)`", (root / "docs/reductions.md").read_text(), re.M)))
    return [{"FILE…": FILE, "FILE": "page.html"}.get(word, word)]


def forms(line):
    """Every form of a line: each name and each alternative once, the options in brackets one by one. Options are those of --help, with its values."""
    options = re.findall(r" \[(--[^]]*)\]", line)
    words = re.sub(r" \[--[^]]*\]", "", line).split()
    all_forms = [[]]
    for word in words:
        choices = [one for w in word.split("|") for one in names_of(w)] if re.search(r"[A-Z|]", word) else names_of(word)
        all_forms = [f + [c] for f in all_forms for c in choices]
    all_forms = [" ".join(f) + (f" {FILE}" if "dot" in f and FILE in f else "") for f in all_forms]  # for two files
    if options:
        said = printed(" ".join(words[:2]) + " --help")
        # A default is =VALUE by CLI11 before 2.4, [VALUE] since.
        wanted = {name: (kind, before or since) for name, kind, before, since in
                  re.findall(r"^  (--[\w-]+)(?: [A-Z]+(?::([^\s=]+|INT in \[[^]]*\]))?(?:=(\S+)| \[([^]]*)\])?)? *(?:  .*)?$", said, re.M)}
        wanted = {name: (kind, default) for name, (kind, default) in wanted.items() if not re.fullmatch(r"\{\w+\}", kind)}  # one value alone
        told = dict((o.split() + [""])[:2] for o in options)
        if told.keys() != wanted.keys():
            raise ValueError(f"--help has other options: {told.keys() ^ wanted.keys()}")
        for name, (kind, default) in wanted.items():
            values = set(told[name].split("|"))
            if default and default not in values or (kind.startswith("{") and values != set(kind.strip("{}").split(","))):
                raise ValueError(f"--help has other values of {name} than {told[name]}: {kind or default}")
        first = all_forms[0]
        all_forms += [f"{first} {name}" + (f" {v}" if v else "") for name, text in told.items() for value in text.split("|") for v in names_of(value)]
    return all_forms


def runs(line):
    """An empty text, or what is wrong. Where a GPU is asked for the program ends with one line that says there is none."""
    try:
        every = forms(line) if re.search(r"\w\|\w| \[--|…$", line) else [line]
    except ValueError as e:
        return str(e)
    return "; ".join(f"{form}: {wrong}" for form in every if (wrong := runs_as_it_stands(form)))


def runs_as_it_stands(line):
    env = os.environ | {"PATH": f"{warpfold.parent}{os.pathsep}{os.environ['PATH']}", "CUDA_VISIBLE_DEVICES": ""}
    folder = scratch / "examples" if re.search(r"[ ']own_kernel\.cu:", line) else scratch  # its comment is read beside it
    done = subprocess.run(["bash", "-c", line], cwd=folder, env=env, timeout=300, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if "--device gpu" in line or line.startswith("warpfold profile"):
        return "" if done.returncode == 3 and re.fullmatch(r"warpfold: [^\n]+\n", done.stderr) else f"{done.returncode} {done.stderr}"
    return "" if done.returncode == 0 and done.stdout.strip() else f"exit status {done.returncode}: {done.stderr[-500:]}"


scratch.mkdir(parents=True, exist_ok=True)
if not (scratch / "examples").exists():
    (scratch / "examples").symlink_to(root / "examples")
seen, failures = set(), []
for page, language, line in commands():
    line = " ".join(re.sub(r"\s+(?:#|(?<=\s\s)[a-zA-Z,]|or: ).*$", "", line).removeprefix("$ ").split())
    first = line not in seen
    seen.add(line)
    runner = runner_of(page, language, line)
    if runner is None and line.startswith("warpfold "):
        runner = "this test"
        if first and (wrong := runs(line)):
            failures.append(f"{page.relative_to(root)}: {line}: {wrong}")
    if runner is None:
        failures.append(f"{page.relative_to(root)}: no test runs: {line}")
failures += [f"no page has: {line}" for line in sorted(BY.keys() - seen)]
print("\n".join(failures) if failures else f"{len(seen)} command lines, each run by a test")
sys.exit(1 if failures or len(seen) < 60 else 0)
