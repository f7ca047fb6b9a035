#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/figures/ladder-<gpu>.svg from a run of scripts/gpu, and prints the table of it in docs/benchmarks.md.

    scripts/ladder_report.py bench/results/ladder-h100.json docs/figures/ladder-h100.svg
"""
import json
import math
import sys


def runs_of(results, dtype):
    return {r["n"]: r for r in results["runs"] if r["dtype"] == dtype and r["data"] == "uniform"}


def timed(run):
    return {r["name"]: r for r in run["rungs"] if r.get("seconds")}


def span(seconds):
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def figure(v):
    return f"{v:,.0f}" if v >= 100 else f"{v:.3g}"


def table(small, large):
    """A row a rung: time at the smaller size; time, GB/s and share of the ceiling at the larger."""
    a, b = timed(small), timed(large)
    print(f"| rung | time at {small['n']:,} | time at {large['n']:,} | GB/s | of the read ceiling | × atomic | verdict |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for name in (r["name"] for r in large["rungs"]):
        if name not in a or name not in b:
            continue
        r = b[name]
        print(f"| {name} | {span(a[name]['seconds']['median'])} | {span(r['seconds']['median'])} "
              f"| {figure(r['gb_per_s'])} | {100 * r['of_ceiling']:.1f}% | {figure(r['speedup_atomic'])} | {r['verdict']} |")


def chart(run, device):
    """Bars of GB/s on a logarithmic axis, the measured read ceiling as a line."""
    rungs = [r for r in run["rungs"] if r.get("seconds")]
    ceiling = run["ceiling"]["gb_per_s"]
    row, left, width, top = 16, 150, 560, 46
    low, high = 0.5, 5000

    def x(v):
        return left + width * math.log(max(v, low) / low) / math.log(high / low)

    height = top + row * len(rungs) + 30
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 90} {height}" '
           'font-family="sans-serif" font-size="11">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="10" y="18" font-size="14">The ladder: {run["n"]:,} {run["dtype"]}, {device}</text>',
           '<text x="10" y="34" fill="#555">GB/s of the array, logarithmic; the line is what a kernel that '
           'only reads reaches</text>']
    for tick in (1, 10, 100, 1000):
        out.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top}" y2="{height - 24}" stroke="#ddd"/>'
                   f'<text x="{x(tick):.1f}" y="{height - 10}" text-anchor="middle" fill="#555">{tick}</text>')
    for i, r in enumerate(rungs):
        y = top + row * i
        colour = "#c0392b" if r["expected_wrong"] else "#1f6f43" if r["name"] in ("record", "exact") else "#4a78b0"
        out.append(f'<text x="{left - 6}" y="{y + 11}" text-anchor="end">{r["name"]}</text>'
                   f'<rect x="{left}" y="{y + 2}" width="{x(r["gb_per_s"]) - left:.1f}" height="{row - 4}" fill="{colour}"/>'
                   f'<text x="{x(r["gb_per_s"]) + 4:.1f}" y="{y + 11}" fill="#333">{figure(r["gb_per_s"])}</text>')
    out.append(f'<line x1="{x(ceiling):.1f}" x2="{x(ceiling):.1f}" y1="{top}" y2="{height - 24}" stroke="#222" '
               'stroke-dasharray="4 3"/></svg>')
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: ladder_report.py RESULTS.json FIGURE.svg")
    with open(sys.argv[1], encoding="utf-8") as file:
        results = json.load(file)
    runs = runs_of(results, "f32")
    small, large = runs[min(runs)], runs[max(runs)]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(chart(large, large["device"]))
    print(f"{large['device']}, driver {results['driver']}, revision {results['revision']}, "
          f"read ceiling {large['ceiling']['gb_per_s']:,.0f} GB/s\n")
    table(small, large)


if __name__ == "__main__":
    main()
