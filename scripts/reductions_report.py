#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the reductions of a GPU from a run of scripts/gpu, and prints the tables of it in docs/benchmarks.md. Needs matplotlib.

    scripts/reductions_report.py bench/results/reductions-h100.json docs/figures/reductions-h100.svg
"""
import json
import pathlib
import sys

import matplotlib

import gpu_bars

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "warpfold"  # the same file from the same numbers
from matplotlib import pyplot  # noqa: E402

SUMS = [("fast f32", "f32", "fast", "normal", "#4a78b0"), ("exact f32", "f32", "exact", "normal", "#1f6f43"),
        ("exact f32, random bits", "f32", "exact", "bits", "#7fb685"), ("exact f64", "f64", "exact", "normal", "#b8860b"),
        ("exact f64, random bits", "f64", "exact", "bits", "#dfc27d")]
OPERATIONS = ("sum", "mean", "mean_var", "norm2", "dot", "min", "argmin", "prod")
TYPES = ("f32", "f64", "f16", "bf16", "i32", "i8")


def times(rows, dtype, accuracy, data, cold=0):
    """{log2n: time over CUB's} of the sums."""
    return {r["log2n"]: r["us"] / r["cub_us"] for r in rows
            if (r["op"], r["dtype"], r["accuracy"], r["data"], r["cold"]) == ("sum", dtype, accuracy, data, cold) and r.get("cub_us")}


def share(rows, op, dtype, accuracy="exact", data="normal"):
    """The speed at the largest size over that of only reading, or None."""
    found = [r for r in rows if (r["op"], r["dtype"], r["accuracy"], r["data"], r["cold"]) == (op, dtype, accuracy, data, 0)]
    largest = max(found, key=lambda r: r["bytes"], default=None)
    return largest and (largest["read_us"] / largest["us"], largest["log2n"])


def chart(results, path):
    rows = results["rows"]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.2), width_ratios=(3, 2))
    for label, dtype, accuracy, data, colour in SUMS:
        line = times(rows, dtype, accuracy, data)
        left.plot(list(line), list(line.values()), label=label, color=colour, linewidth=1.6,
                  linestyle=":" if data == "bits" else "-")
    left.axhline(1, color="#222", linewidth=0.8, linestyle="--")
    left.set(title="Time of a sum over CUB's inexact one", xlabel="log2 of the number of elements", ylim=(0, None))
    left.legend(frameon=False, fontsize=8)
    shares = [(f"{op} {dtype}", s[0]) for op in OPERATIONS for dtype in ("f32", "f64") if (s := share(rows, op, dtype))]
    right.barh([name for name, _ in shares][::-1], [s for _, s in shares][::-1], color="#1f6f43")
    right.axvline(1, color="#222", linewidth=0.8, linestyle="--")
    right.set(title="Exact reductions: speed over only reading", xlim=(0, 1.05))
    right.tick_params(axis="y", labelsize=8)
    figure.suptitle(results["device"], fontsize=10, x=0.99, ha="right", color="#555")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def tables(rows):
    exponents = [k for k in range(0, 31, 2)]
    print("| 2^k elements | " + " | ".join(map(str, exponents)) + " |\n| --- |" + " --- |" * len(exponents))
    for label, dtype, accuracy, data, _ in SUMS:
        for cold in (0, 1):
            line = times(rows, dtype, accuracy, data, cold)
            if line:
                cells = (f"{line[k]:.2f}" if k in line else "" for k in exponents)
                print(f"| {label}{', L2 flushed' if cold else ''} | " + " | ".join(cells) + " |")
    print("\n| exact, of the speed of reading | " + " | ".join(TYPES) + " |\n| --- |" + " --- |" * len(TYPES))
    for op in OPERATIONS:
        found = [share(rows, op, t) for t in TYPES]
        print(f"| {op} | " + " | ".join(f"{s[0]:.3f}" if s else "" for s in found) + " |")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: reductions_report.py RESULTS.json FIGURE.svg")
    results = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    chart(results, sys.argv[2])
    tables(results["rows"])
    gpu_bars.print_bars(gpu_bars.bars(results["rows"]))


if __name__ == "__main__":
    main()
