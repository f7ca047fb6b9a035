# SPDX-License-Identifier: Apache-2.0
"""That ./check leaves nothing out for good: draws_test.py SOURCE BUILD NINJA CMAKE PRESET

./check builds and runs a part, a draw from 0 to 5. Here each draw's part is asked of ./check --plan, of Ninja and of CTest's files: every program that
a draw's tests run is built by it, and all six together are all tests and all objects of the preset. Where this build has CUDA, which some
draws have not, the preset is configured once more without. What each draw is, is printed.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

source, build, ninja, cmake, preset = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:6]
wrong = []


def output(*command, **options):
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, text=True, check=True, **options).stdout


class Tree:
    """A configured build: its tests' commands and labels, and what its targets are made of."""

    def __init__(self, folder):
        self.folder, self.commands, self.labels = folder, {}, {}
        self.read(folder)

    def read(self, folder):
        if not (folder / "CTestTestfile.cmake").exists():  # a folder from before there were tests
            return
        for line in (folder / "CTestTestfile.cmake").read_text().splitlines():
            if found := re.match(r'add_test\((?:\[=\[)?(.+?)(?:\]=\])? (".*)\)$', line):
                self.commands[found[1]] = re.findall(r'"((?:[^"\\]|\\.)*)"', found[2])
            elif found := re.match(r'set_tests_properties\((?:\[=\[)?(.+?)(?:\]=\])? PROPERTIES .*?\bLABELS "([^"]*)"', line):
                self.labels[found[1]] = found[2].split(";")
            elif found := re.match(r'subdirs\("(.*)"\)$', line):
                self.read(folder / found[1])

    def of_target(self, target):
        """All files that it is made of, itself among them."""
        return set(re.findall(r'label="([^"]+)"', output(ninja, "-C", self.folder, "-t", "graph", target)))

    def wants(self, test, draw):
        """The files that a test's command names, but those for other draws ("25:FILE")."""
        for word in re.split(r"[;,]", ";".join(self.commands[test]).replace("\\;", ";")):
            if found := re.fullmatch(r"([0-5]+):(.*)", word):
                if str(draw) not in found[1]:
                    continue
                word = found[2]
            if word.startswith(f"{self.folder}/"):
                yield word.removeprefix(f"{self.folder}/")


def plan(draw):
    """What ./check does of the preset in a draw: whether with CUDA, the target, what labels of tests it leaves out."""
    environment = {k: v for k, v in os.environ.items() if k != "WARPFOLD_CUDA"} | {"WARPFOLD_TEST_DRAW": str(draw)}
    line = re.search(rf"^{preset}: cmake (.*); build --target (\S+)(?: gpu_tests)?; ctest -LE (.*)$", output(source / "check", "--plan", env=environment), re.M)
    return "WARPFOLD_CUDA=OFF" not in line[1], line[2], line[3]


with tempfile.TemporaryDirectory() as scratch:
    here = Tree(build)
    has_cuda = "\nCMAKE_CUDA_COMPILER:" in (build / "CMakeCache.txt").read_text() and "\nWARPFOLD_CUDA:STRING=OFF" not in (build / "CMakeCache.txt").read_text()
    trees = {True: here, False: here}
    if has_cuda and any(not plan(draw)[0] for draw in range(6)):
        output(cmake, "--preset", preset, "-B", scratch, "-DWARPFOLD_CUDA=OFF", cwd=source)
        trees[False] = Tree(Path(scratch))
    all_tests, run = set(), set()
    all_objects, made_of = {}, {}
    for draw in range(6):
        with_cuda, target, left_out = plan(draw)
        tree = trees[with_cuda]
        everything, made = tree.of_target("all"), tree.of_target(target)
        tests = {test for test in tree.commands if not any(re.search(left_out, label) for label in tree.labels.get(test, []))}
        for test in tests:
            wrong += [f"draw {draw} runs {test}, which wants {file}" for file in tree.wants(test, draw) if file in everything and file not in made]
        objects = {file for file in made if file.endswith(".o")}
        print(f"{preset}, draw {draw}, {'with' if with_cuda and has_cuda else 'without'} CUDA: {len(tests)} of {len(tree.commands)} tests, "
              f"{len(objects)} of {sum(file.endswith('.o') for file in everything)} objects")
        run |= tests
        all_tests |= set(tree.commands)
        made_of.setdefault(tree, set()).update(objects)
        all_objects.setdefault(tree, set()).update(file for file in everything if file.endswith(".o"))
    wrong += [f"no draw runs {test}" for test in sorted(all_tests - run)]
    # An object is compiled with CUDA around it, or without.
    compiled = set().union(*made_of.values())
    wrong += [f"no draw compiles {file}" for file in sorted(set().union(*all_objects.values()) - compiled)]
    print(f"{preset}, all six: {len(run)} of {len(all_tests)} tests, {len(compiled)} objects")
    if len(here.commands) < 100 or len(all_tests) < 100:
        sys.exit(f"{len(here.commands)} tests: the files are not read right")
if wrong:
    sys.exit("\n".join(wrong))
