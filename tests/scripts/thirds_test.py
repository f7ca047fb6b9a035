# SPDX-License-Identifier: Apache-2.0
"""That the target third_K builds every program of the tests that ./check runs with it: thirds_test.py BUILD NINJA

Tests and their labels are read of CTestTestfile.cmake, what a target is made of is told by Ninja.
"""
import re
import subprocess
import sys
from pathlib import Path

build, ninja = Path(sys.argv[1]), sys.argv[2]
commands, labels = {}, {}


def read(folder):
    if not (folder / "CTestTestfile.cmake").exists():  # a folder from before there were tests
        return
    for line in (folder / "CTestTestfile.cmake").read_text().splitlines():
        if found := re.match(r'add_test\((?:\[=\[)?(.+?)(?:\]=\])? (".*)\)$', line):
            commands[found[1]] = re.findall(r'"((?:[^"\\]|\\.)*)"', found[2])
        elif found := re.match(r'set_tests_properties\((?:\[=\[)?(.+?)(?:\]=\])? PROPERTIES .*?\bLABELS "([^"]*)"', line):
            labels[found[1]] = found[2].split(";")
        elif found := re.match(r'subdirs\("(.*)"\)$', line):
            read(folder / found[1])


read(build)


def of_target(target):
    """All files that it is made of, itself among them."""
    graph = subprocess.run([ninja, "-C", build, "-t", "graph", target], stdout=subprocess.PIPE, text=True, check=True).stdout
    return set(re.findall(r'label="([^"]+)"', graph))


everything = of_target("all")
wrong = []
drawn = 0
for third in "012":
    made = of_target("third_" + third)
    for test, command in commands.items():
        if any(re.fullmatch(rf"(gpu_)?third_[^{third}]", label) for label in labels.get(test, [])):
            drawn += 1
            continue
        for word in re.split(r"[;,]", ";".join(command).replace("\\;", ";")):
            file = word.removeprefix(f"{build}/")
            if file != word and file in everything and file not in made:
                wrong.append(f"third {third} runs {test}, which wants {file}")
if len(commands) < 100 or drawn < 50:
    sys.exit(f"{len(commands)} tests, {drawn} times one is left to another third: the files are not read right")
if wrong:
    sys.exit("\n".join(wrong))
