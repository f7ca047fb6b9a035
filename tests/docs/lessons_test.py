#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lessons of docs/lessons: every command runs and prints what the page shows, every H100 time is that of
bench/results, and so on the ladder's pages, every link leads somewhere. The commands of README and of other pages, too.
A command with --svg draws what the page shows, to the letter; done as arithmetic the drawing gives what the command prints (drawing_replay.py).

    lessons_test.py SOURCE_DIR WARPFOLD FOLDER_OF_LESSON_PROGRAMS [--statuses-only] [--some] [PAGE…]

--statuses-only does not compare what is printed: the counts are those of g++, and clang++ merges other accesses.
--some: of every other page the first command alone, for a build with the sanitizers, which has run all of the lens elsewhere.
WARPFOLD_TEST_DRAW says of which pages.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from drawing_replay import differs_from_run

root, warpfold, programs = (Path(a).resolve() for a in sys.argv[1:4])
statuses_only, is_some = "--statuses-only" in sys.argv, "--some" in sys.argv
asked = [Path(a).resolve() for a in sys.argv[4:] if a.endswith(".md")]
lessons = sorted((root / "docs/lessons").glob("*.md")) + sorted((root / "docs/zh/lessons").glob("*.md"))
others = [root / "README.md", *sorted((root / "docs").glob("*.md")), *sorted((root / "docs/zh").glob("*.md")), *sorted((root / "examples").rglob("README.md"))]
pages = asked or lessons + [p for p in others if p.name == "lens.md" or re.search(r"^```console$", p.read_text(), re.M)]
draw = int(os.environ.get("WARPFOLD_TEST_DRAW", 0))
drawn = sorted({page.name for page in pages})[draw // 6 % 2::2]  # run in one draw of six
failures = []


def fail(page, what):
    failures.append(f"{page.relative_to(root)}: {what}")


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


outputs = {}  # by command: pages in two languages show the same ones
redrawn = tempfile.TemporaryDirectory()
drawings = "docs/lessons/drawings/"


def output_of(command):
    if command not in outputs:
        line = command.replace("build/dev/tests/docs/", f"{programs}/").replace(drawings, f"{redrawn.name}/")
        folders = f"{warpfold.parent}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | {"PATH": folders, "CUDA_VISIBLE_DEVICES": ""}  # the pages show runs without a GPU
        ran = subprocess.run(["bash", "-c", line], cwd=root, env=environment, timeout=300,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        outputs[command] = (ran.returncode, [l.rstrip() for l in ran.stdout.splitlines()])
    return outputs[command]


def pattern_of(shown):
    """A line `…` stands for any number of lines; within a line it stands for anything, with the spaces around it."""
    parts = []
    for line in shown:
        one = re.sub(r"(?:\\ )*…(?:\\ )*", lambda _: "[^\n]*", re.escape(line.rstrip())) + "\n"
        one = re.sub(r"(lanes\\ a\\ basic\\ block\\ )[\d\\.]+", r"\1[\\d.]+", one)  # depends on the compiler
        parts.append(r"(?:[^\n]*\n)*?" if line.strip() == "…" else one)
    return "".join(parts)


def check_commands(page, text):
    count = 0
    if is_some and page.name not in drawn:
        return count
    for block in blocks(text, "console"):
        for one in re.split(r"^\$ ", block, flags=re.M)[1:]:
            if is_some and count == 1:
                return count
            lines = one.splitlines()
            command = lines.pop(0)
            while command.endswith("\\"):
                command = command[:-1].rstrip() + " " + lines.pop(0).strip()
            while lines and not lines[-1].strip():
                lines.pop()  # before the next command
            status, printed = output_of(command)
            count += 1
            check_drawing(page, text, command, printed)
            if status not in (0, 1):
                fail(page, f"`{command}` ends with {status}: {printed[-3:]}")
            elif not lines and printed:
                fail(page, f"`{command}` prints {len(printed)} lines, of which none is shown")
            elif not statuses_only and not re.fullmatch(pattern_of(lines), "".join(l + "\n" for l in printed)):
                missing = [l for l in lines if l.strip() != "…" and not re.search("^" + pattern_of([l])[:-1] + "$", "\n".join(printed), re.M)]
                fail(page, f"`{command}` does not print what is shown; " + ("no such line now:\n  " + "\n  ".join(missing) if missing else "other lines stand between"))
    return count


def check_drawing(page, text, command, printed):
    """What --svg draws is shown in the page, and is what lies there, to the letter; and it is a proof."""
    found = re.search(rf"--svg {drawings}(\w+\.svg)", command)
    if not found:
        return
    name = found[1]
    if not re.search(rf"^!\[[^\]]+\]\((?:\.\./\.\./lessons/)?drawings/{name}\)$", text, re.M):
        fail(page, f"`{command}` draws {name}, which the page does not show")
    made, kept = Path(redrawn.name) / name, root / drawings / name
    if not made.exists() or not kept.exists():
        fail(page, f"`{command}` draws no {name}, or none lies in {drawings}")
    elif statuses_only:  # another compiler's shared loads and line numbers
        return
    elif made.read_text() != kept.read_text():
        fail(page, f"{drawings}{name} is not what is drawn today: run `{command}`")
    elif wrong := differs_from_run(made.read_text(), command, printed):
        fail(page, f"{drawings}{name}: {wrong}")


def time_text(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds / size < 1000 else f"{seconds / size:.0f} {unit}"
    return f"{seconds * 1e9:.3g} ns"


ladder = {(r["dtype"], r["n"]): {g["name"]: g for g in r["rungs"]}
          for r in json.loads((root / "bench/results/ladder-h100.json").read_text())["runs"]}


lesson_times = {(r["lesson"], r["n"], r["name"]): r["seconds"]["median"]
                for r in json.loads((root / "bench/results/lessons-h100.json").read_text())["times"]}


def check_lesson_times(page, text):
    """<!-- lessons-h100.json, memory: read_every<1>; read_every<2> at 16777216 --> and a table of those times below it."""
    marks = re.findall(r"^<!-- lessons-h100\.json, (\w+): (.*?) at ([\d, ]+) -->\n((?:\|.*\n)+)", text, re.M)
    for lesson, names, sizes, table in marks:
        wanted = [f"| {name} | " + " | ".join(time_text(lesson_times[lesson, int(n), name]) for n in sizes.split(",")) + " |" for name in names.split("; ")]
        if table.replace("`", "").splitlines()[2:] != wanted:
            fail(page, "times are not those of the file, which are:\n  " + "\n  ".join(wanted))
    if len(re.findall(r"<!-- lessons-h100\.json", text)) != len(marks):
        fail(page, "a mark of H100 times without its table")


def check_times(page, text):
    """<!-- ladder-h100.json, f32: atomic, block_leader at 1048576, 268435456 --> and a table of those times below it."""
    check_lesson_times(page, text)
    for dtype, names, sizes, table in re.findall(
            r"^<!-- ladder-h100\.json, (\w+): (.*?) at ([\d, ]+) -->\n((?:\|.*\n)+)", text, re.M):
        wanted = []
        for name in names.split(", "):
            row = [time_text(ladder[dtype, int(n)][name]["seconds"]["median"]) for n in sizes.split(",")]
            wanted.append(f"| {name} | " + " | ".join(row) + " |")
        rows = table.splitlines()[2:]
        if rows != wanted:
            fail(page, "times are not those of the file, which are:\n  " + "\n  ".join(wanted))
    if len(re.findall(r"<!-- ladder-h100\.json", text)) != len(re.findall(
            r"^<!-- ladder-h100\.json, \w+: .*? at [\d, ]+ -->\n\|", text, re.M)):
        fail(page, "a mark of H100 times without its table")


def check_links(page, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.S)):
        if re.match(r"https?://|#", target):
            continue
        if not (page.parent / target.split("#")[0]).exists():
            fail(page, f"a link to {target}, which is not there")


def check_advice(page, text):
    """The table of the rules' kernels in lens.md: what the rule speaks of, and what it is silent on."""
    rows = re.findall(r"^\| ([a-z ]+) \| `([^`]+)` \| `([^`]+)` \|$", text, re.M)
    if page.name != "lens.md" or statuses_only or is_some:
        return
    rules = re.findall(r'"([a-z ]+)"', re.search(r"string_view names\[\] = \{(.*?)\};", (root / "lens/advice.cpp").read_text(), re.S)[1])
    if sorted(r for r, _, _ in rows) != sorted(rules):
        fail(page, f"the rules are {rules}, and the table's {[r for r, _, _ in rows]}")
    for rule, speaks, silent in rows:
        for wanted, what in ((True, speaks), (False, silent)):
            status, printed = output_of(f"warpfold explain {what}")
            if status not in (0, 1) or any(line.startswith(f"  * {rule}: ") for line in printed) != wanted:
                fail(page, f"{rule}: {'says nothing' if wanted else 'speaks'} of `{what}`, which ends with {status}")


def check_parts(page, text):
    """Questions with folded answers, a command, a drawing, and what was measured, or that nothing was."""
    if page not in lessons or page.name == "README.md":
        return
    for what, pattern, least in (("a folded answer", r"^<details>", 2), ("a command", r"^```console\n\$ ", 1), ("times of an H100", r"^<!-- (?:ladder|lessons)-h100\.json|profile-h100\.json|H100.* µs", 1),
                                 ("a drawing of a run", r"^!\[[^\]]+\]\((?:\.\./\.\./lessons/)?drawings/\w+\.svg\)$", 1)):
        if len(re.findall(pattern, text, re.M)) < least:
            fail(page, f"has not {least} of what each lesson has: {what}")


def main():
    if not asked and (not lessons or root / "README.md" not in pages):
        fail(root, "no lessons, or no commands in README.md")
    commands = 0
    for page in pages:
        text = page.read_text()
        commands += check_commands(page, text)
        check_times(page, text)
        check_links(page, text)
        check_parts(page, text)
        check_advice(page, text)
    for page in sorted((root / "docs").rglob("*.md")) + sorted(root.glob("*.md")):
        if page not in pages:
            check_links(page, page.read_text())
            check_times(page, page.read_text())
    for page in sorted((root / "docs").rglob("ladder/[0-9]*.md")):
        if not re.search(r"^<!-- ladder-h100\.json", page.read_text(), re.M):
            fail(page, "has no H100 times")
    shown = "".join(p.read_text() for p in lessons)
    for source in sorted((root / "examples/lessons").glob("*.cu")):
        if not asked and f"examples/lessons/{source.name}:" not in shown:
            fail(source, "no lesson explains a kernel of it")
    made = set(re.findall(rf"--svg {drawings}(\w+\.svg)", shown))
    for drawing in sorted((root / drawings).iterdir()):
        if drawing.name not in made:
            fail(drawing, "no command of a lesson draws it")
    for f in failures:
        print(f)
    print(f"{len(pages)} pages, {commands} commands, {len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
