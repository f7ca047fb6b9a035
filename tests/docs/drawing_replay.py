# SPDX-License-Identifier: Apache-2.0
"""A lesson's drawing is a proof: done as arithmetic, row by row, it gives what the command prints.

Each circle and square of a drawing of values says what was done: `t0: t0 = t0 + t16`, `t3 loads`, `t0: out = t0 + s1`. What a thread
has at first, and each element that it loads, is one, or of arrays filled with iota the thread's own number.
"""
import re
from html import unescape

NODE = re.compile(r'<(?:circle [^>]*cy="([\d.]+)"[^>]*|rect [^>]*y="([\d.]+)" width="(\d+)"[^>]*)><title>([^<]*)</title>')
LOAD = re.compile(r"t(\d+) loads(?: (\d+) elements)?(?:, and has (\w+))?")
STEP = re.compile(r"t(\d+): (\w+) = (.+)")


def rows_of(svg):
    """The nodes' words, by the height at which they stand."""
    rows = {}
    for circle, square, wide, words in NODE.findall(svg):
        middle = float(circle) if circle else float(square) + float(wide) / 2
        rows.setdefault(round(middle), []).append(unescape(words))
    return [rows[y] for y in sorted(rows)]


def replayed(svg, own):
    """What each thread sends to global memory, by its number; `own`: what a thread begins with."""
    held, results = {}, {}

    def value(name):
        return held.get(name, own(int(name[1:])) if name[0] == "t" else 0)

    for row in rows_of(svg):
        after = dict(held)
        for words in row:
            if " and " in words.replace(", and has", ""):
                raise ValueError(f"a node of several threads: {words}")
            if load := LOAD.fullmatch(words):
                thread, count, has = load.groups()
                after[f"t{thread}"] = (value(has) if has else 0) + (int(count) if count else own(int(thread)))
            elif step := STEP.fullmatch(words):
                thread, to, parts = step.groups()
                total = sum(0 if p == "0" else value(p) for p in parts.split(" + "))
                if to == "out":
                    results[int(thread)] = total
                else:
                    after[to] = total
            else:
                raise ValueError(f"a node that says {words}")
        held = after
    return results


def differs_from_run(svg, command, printed):
    """Empty, or how the drawing differs from what its command prints. Of a sum all results are one number, else one each."""
    if "Who adds what to what" not in svg:
        return ""
    own = (lambda thread: thread) if ":iota" in command or ":sums " in command else (lambda thread: 1)
    shown = next((line.split(": ", 1)[1] for line in printed if re.match(r"\w+\[\d+\] after the run: ", line)), "")
    numbers = [int(n) for n in re.findall(r"-?\d+", shown)]
    try:
        results = replayed(svg, own)
    except ValueError as wrong:
        return str(wrong)
    if len(numbers) == 1 and "block 0 of 1" in svg:
        got = [sum(results.values())]
    elif len(numbers) == 1:  # the drawing has the first of several blocks
        return "" if 0 < sum(results.values()) < numbers[0] else f"block 0 alone gives {sum(results.values())}, all blocks {numbers[0]}"
    else:
        got = [results[t] for t in sorted(results)][:len(numbers)]
    return "" if numbers and got == numbers else f"done as arithmetic it gives {got}, and the run gave {numbers}"
