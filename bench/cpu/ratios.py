#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the ratios of a run of bench_cpu, medians over its repetitions.

    ratios.py run.json             the table
    ratios.py run.json --python    with NumPy's sum (pairwise) and math.fsum, timed here and now

Exit 1 if a contender was wrong, 2 if the file cannot be read.
"""
import argparse
import collections
import json
import math
import statistics
import sys
import time

UNIT = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def read(path):
    """{(place, type): {contender: median ns a call}}, elements of each, and contenders that were wrong."""
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
        table[place, kind][contender] = (statistics.median(t), (max(t) - min(t)) / statistics.median(t))
        size[place, kind] = elements[name]
    return run["context"], table, size, sorted(set(wrong))


def bounds(place, kind, contender):
    """What a contender is measured against, and the most that the ratio may be."""
    exact = contender.endswith("exact")
    if place.startswith("n="):
        return ("sum loop", None) if exact else (None, None)
    if contender == "sum exact, random bits":
        return "sum exact", 2.0
    if contender == "sum exact":
        return "sum fast", 2.0 if place == "DRAM" else 5.0 if kind == "f64" else None
    if exact:
        return contender.replace("exact", "fast"), 2.5 if place == "DRAM" else None
    if contender in ("sum fast", "min", "argmin", "sum"):
        return "read", 1 / 0.95 if place == "DRAM" else None
    if contender == "read":
        return None, None
    return "sum fast", None


def python_contenders(n):
    """Median ns an element of NumPy's sum and of math.fsum, one thread each, on N(0, 1)."""
    import numpy

    def median(f):
        times = []
        for _ in range(5):
            start = time.perf_counter_ns()
            f()
            times.append(time.perf_counter_ns() - start)
        return statistics.median(times)

    x = numpy.random.default_rng(1).standard_normal(n)
    some = x[:1_000_000].tolist()
    return {f"numpy {numpy.__version__} sum (f64, {n} elements)": median(x.sum) / n,
            "math.fsum (list of 1000000 floats)": median(lambda: math.fsum(some)) / len(some)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="what bench_cpu wrote with --benchmark_out")
    parser.add_argument("--python", action="store_true", help="time NumPy and math.fsum too")
    given = parser.parse_args()
    try:
        context, table, size, wrong = read(given.run)
    except (OSError, ValueError, KeyError) as e:
        print(f"ratios: {given.run}: {e}; it must be the JSON of bench_cpu", file=sys.stderr)
        return 2
    told = {k: context.get(k) for k in ("cpu_target", "threads", "load_avg", "mhz_per_cpu")}
    print(f"{context.get('date')}  {told}")
    print(f"{'':34}{'ns/element':>11}{'spread':>8}   ratio")
    for (place, kind), contenders in table.items():
        for contender, (t, spread) in contenders.items():
            against, most = bounds(place, kind, contender)
            line = f"{place + ' ' + kind + ' ' + contender:<34}{t / size[place, kind]:>11.3f}{spread:>8.0%}"
            if against in contenders:
                base = contenders[against][0]
                line += f"   {t / base:.2f} of {against}"
                if place.startswith("n="):
                    line += f"; {t:.0f} ns, asked: {3 * base + 30:.0f}"
                elif most is not None:
                    line += f", asked {most:.2f}{'' if t / base <= most else ': MISSED'}"
            print(line)
    if given.python:
        ours = table["DRAM", "f64"]["sum exact"][0] / size["DRAM", "f64"]
        for name, t in python_contenders(int(size["DRAM", "f64"])).items():
            print(f"{name}: {t:.3f} ns/element, {t / ours:.1f} times wf::sum (exact, all cores)")
    for w in wrong:
        print(f"WRONG: {w}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
