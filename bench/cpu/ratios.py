#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a run of bench_cpu: times and ratios, then PASS or MISS for every bar.

    ratios.py run.json [--some]

A time is the least of a benchmark's repetitions: what else a machine does only ever adds. The spread is
that of the median above it. Exit 1 if a contender was wrong or a bar could not be judged (but of a run of some benchmarks alone), 2 if the
file cannot be read; a MISS is told, not an error.
"""
import argparse
import collections
import json
import statistics
import sys

UNIT = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
FLOATS, INTEGERS = ("f64", "f32"), ("i8", "i16", "i32", "i64")
OF_READ = 1 / 0.95  # a share of the read ceiling, as a ratio of times


def bars():
    """(place, type, contender, what it is measured against, most that the ratio may be, aim or None)"""
    for kind in FLOATS:
        for what in ("sum fast", "min", "max", "argmin"):
            yield "DRAM", kind, what, "read", OF_READ, None
    for kind in INTEGERS:
        yield "DRAM", kind, "sum", "read", OF_READ, None
    for kind in FLOATS:
        for what in ("sum", "mean", "dot"):
            yield "DRAM", kind, f"{what} exact", f"{what} fast", 1.15, 1.0
        for what in ("var", "norm"):
            yield "DRAM", kind, f"{what} exact", f"{what} fast", 1.25, 1.05
        for what in ("sum", "mean", "var", "norm", "dot"):
            yield "L2", kind, f"{what} exact", f"{what} fast", 3.0, 2.0
            yield "L2", kind, f"{what} exact, finite bits", f"{what} fast", 3.0, 2.0
    for place in ("DRAM", "L2"):
        for kind in FLOATS:
            for family in ("random bits", "finite bits", "tiny") + (("subnormal",) if place == "L2" else ()):
                yield place, kind, f"sum exact, {family}", "sum exact", 2.0, None
    for kind in ("f16", "bf16"):
        for family in ("random bits", "finite bits", "subnormal"):
            yield "L2", kind, f"sum exact, {family}", "sum exact", 2.0, None


SMALL = [(f"n={n}", kind, what) for n in (1, 10, 100, 1000) for kind in FLOATS for what in ("sum exact", "sum exact, tiny")]


def read(path):
    """{(place, type): {contender: (least ns a call, spread)}}, elements of each, and who was wrong."""
    with open(path) as file:
        run = json.load(file)
    times, elements, wrong = collections.defaultdict(list), {}, []
    for b in run["benchmarks"]:
        if b.get("run_type") == "aggregate":
            continue
        name = b["name"].removesuffix("/real_time").split("/repeats")[0]
        if b.get("error_occurred"):
            wrong.append(f"{name}: {b['error_message']}")
            continue
        times[name].append(b["real_time"] * UNIT[b["time_unit"]])
        elements[name] = b["elements"]
    table, size = collections.defaultdict(dict), {}
    for name, t in times.items():
        place, kind, contender = name.split("/", 2)
        table[place, kind][contender] = (min(t), statistics.median(t) / min(t) - 1)
        size[place, kind] = elements[name]
    for contenders in table.values():  # the ceiling is the fastest of three ways to read
        ways = [t for name, t in contenders.items() if name.startswith("read")]
        if ways:
            contenders["read"] = min(ways)
    return run["context"], table, size, sorted(set(wrong))


def beside(place, contender):
    """What the table compares a contender with."""
    if place.startswith("n="):
        return "sum loop" if contender.startswith("sum exact") else None
    if ", " in contender:
        return contender.split(", ")[0]
    if contender.endswith(" exact"):
        return contender.removesuffix("exact") + "fast"
    if contender.startswith("read"):
        return None
    return "read" if contender in ("sum", "sum fast", "min", "max", "argmin") else "sum fast"


def print_table(table, size):
    print(f"{'':38}{'ns/element':>11}{'GB/s':>8}{'spread':>8}   ratio")
    for (place, kind), contenders in table.items():
        for contender, (t, spread) in contenders.items():
            n = size[place, kind]
            bytes_each = int(kind.lstrip("bfiu")) // 8 * (2 if contender.startswith("dot") else 1)
            line = f"{place + ' ' + kind + ' ' + contender:<38}{t / n:>11.3f}{bytes_each * n / t:>8.1f}{spread:>8.0%}"
            against = beside(place, contender)
            if against in contenders:
                line += f"   {t / contenders[against][0]:.2f} of {against}"
            print(line)


def print_bars(table, some):
    """One line a bar, of some benchmarks those that can be judged; returns how many of them (passed, missed, could not be judged)."""
    count = [0, 0, 0]

    def judge(name, ratio, most, told):
        count[0 if ratio <= most else 1] += 1
        print(f"{'PASS' if ratio <= most else 'MISS'}  {name:<44} {told}")

    for place, kind, what, against, most, aim in bars():
        contenders = table.get((place, kind), {})
        name = f"{place} {kind} {what} / {against}"
        if what not in contenders or against not in contenders:
            count[2] += 1
            if not some:
                print(f"NONE  {name:<44} not in this run")
            continue
        ratio = contenders[what][0] / contenders[against][0]
        told = f"{ratio:.3f}, at most {most:.3f}"
        if against == "read":
            told += f" ({1 / ratio:.3f} of the ceiling, at least 0.950)"
        if aim is not None:
            told += f"; aim {aim:.2f} {'met' if ratio <= aim else 'not met'}"
        judge(name, ratio, most, told)
    for place, kind, what in SMALL:
        contenders = table.get((place, kind), {})
        name = f"{place} {kind} {what} / plain loop"
        if what not in contenders or "sum loop" not in contenders:
            count[2] += 1
            if not some:
                print(f"NONE  {name:<44} not in this run")
            continue
        t, most = contenders[what][0], 1.5 * contenders["sum loop"][0] + 5
        judge(name, t, most, f"{t:.1f} ns, at most {most:.1f} (1.5 loops + 5 ns)")
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="what bench_cpu wrote with --benchmark_out")
    parser.add_argument("--some", action="store_true", help="the run is of some benchmarks: a bar that it cannot judge is no error")
    given = parser.parse_args()
    try:
        context, table, size, wrong = read(given.run)
    except (OSError, ValueError, KeyError) as e:
        print(f"ratios: {given.run}: {e}; it must be the JSON of bench_cpu", file=sys.stderr)
        return 2
    told = {k: context.get(k) for k in ("cpu_target", "threads", "dram_bytes", "load_avg", "mhz_per_cpu")}
    print(f"{context.get('date')}  {told}")
    print_table(table, size)
    print()
    passed, missed, unjudged = print_bars(table, given.some)
    print(f"{passed} bars passed, {missed} missed, {unjudged} not in this run")
    for w in wrong:
        print(f"WRONG: {w}")
    return 1 if wrong or (unjudged and not given.some) or not passed + missed else 0


if __name__ == "__main__":
    sys.exit(main())
