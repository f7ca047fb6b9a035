# SPDX-License-Identifier: Apache-2.0
"""What limits a reduction on a GPU: shares of the hardware's resources, by Nsight Compute.

  gpu_limits.py BENCH OUT.json     runs bench_gpu_reductions under ncu, a launch a subject; prints a table
"""

import csv
import json
import subprocess
import sys

SHARES = {  # metric: its name in the table, in percent of what the resource can do
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "DRAM",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": "L2",
    "sm__inst_issued.avg.pct_of_peak_sustained_elapsed": "issue",
    "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_elapsed": "FP64",
    "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed": "ALU",
    "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed": "FMA",
    "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed": "XU",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed": "shared",
    "sm__warps_active.avg.pct_of_peak_sustained_elapsed": "warps",
}
STALLS = ("long_scoreboard", "short_scoreboard", "math_pipe_throttle", "mio_throttle", "lg_throttle", "wait", "barrier",
          "not_selected", "selected", "branch_resolving", "no_instruction", "dispatch_stall", "membar", "sleeping", "drain")
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
TIME = "gpu__time_duration.sum"

# Operation, type, data, accuracy, log2 of the elements: what misses a bar or is below 0.95 of reading, and one that is not.
SUBJECTS = [
    ("mean_var", "f32", "normal", "exact", 26), ("mean_var", "bf16", "normal", "exact", 26), ("mean_var", "f64", "normal", "exact", 26),
    ("dot", "bf16", "normal", "exact", 26), ("mean", "f32", "normal", "exact", 26), ("norm1", "i8", "normal", "exact", 28),
    ("sum_of_squares", "bool", "normal", "exact", 28), ("sum", "f64", "bits", "exact", 26), ("sum", "f64", "bits", "exact", 22),
    ("sum", "f64", "bits", "exact", 16), ("sum", "f32", "bits", "exact", 12), ("sum", "c128", "bits", "exact", 26),
    ("sum", "f32", "normal", "fast", 28), ("sum", "f32", "normal", "exact", 28),
    ("sum", "f32", "normal", "fast", 22), ("sum", "f32", "normal", "fast", 23),
    ("sum", "c64", "normal", "exact", 26), ("norm2", "c64", "normal", "exact", 26), ("mean_var", "c64", "normal", "exact", 26),
    ("dot", "c64", "normal", "exact", 26), ("sum", "c128", "normal", "exact", 24), ("norm2", "c128", "normal", "exact", 24),
    ("mean_var", "c128", "normal", "exact", 24), ("dot", "c128", "normal", "exact", 24),
    ("logsumexp", "f64", "normal", "exact", 26), ("logsumexp", "f32", "normal", "exact", 26), ("logsumexp", "i32", "normal", "exact", 26),
    ("logsumexp", "i16", "normal", "exact", 26), ("logsumexp", "i8", "normal", "exact", 26), ("logsumexp", "f16", "normal", "exact", 26),
    ("logsumexp", "bf16", "normal", "exact", 26),
]


def measured(bench, subject):
    op, dtype, data, accuracy, k = subject
    stalls = [STALL.format(s) for s in STALLS]
    # Caches are flushed before each pass, and the clocks left as they are.
    command = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--target-processes", "all",
               "-k", "regex:exact_sum|exact_doubles|exact_reduce|fast_sum|^reduce_kernel|^reduce_in_order", "--launch-count", "1",
               "--metrics", ",".join([*SHARES, *stalls, TIME]),
               bench, "--only", op, "--types", dtype, "--data", data, "--accuracy", accuracy, "--min", str(k), "--max", str(k)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    if len(lines) < 3:
        return {"error": (done.stdout + done.stderr).strip().splitlines()[-1:]}
    names, _, values = list(csv.reader(lines))[:3]
    value = dict(zip(names, values))

    def number(metric):
        try:
            return float(value[metric].replace(",", ""))
        except (KeyError, ValueError):
            return None
    waits = {s: number(m) for s, m in zip(STALLS, stalls) if number(m) and s != "selected"}
    whole = sum(v for v in waits.values()) + (number(STALL.format("selected")) or 0)
    return {"kernel": value.get("Kernel Name", "").split("<")[0].split("(")[0], "us": (number(TIME) or 0) / 1000,
            "percent": {name: number(metric) for metric, name in SHARES.items()},
            "stalls_percent": {s: round(100 * v / whole, 1) for s, v in sorted(waits.items(), key=lambda w: -w[1])[:3]}}


def main(bench, out):
    rows = []
    print(f"{'percent of the peak':<30}{'µs':>9}" + "".join(f"{n:>8}" for n in SHARES.values()) + "  warps wait for")
    for subject in SUBJECTS:
        op, dtype, data, accuracy, k = subject
        row = {"op": op, "dtype": dtype, "data": data, "accuracy": accuracy, "log2n": k, **measured(bench, subject)}
        rows.append(row)
        name = f"{op} {dtype} {data} {accuracy} 2^{k}"
        if "error" in row:
            print(f"{name:<34} {row['error']}")
            continue
        cells = "".join(f"{'-' if v is None else f'{v:.0f}':>8}" for v in row["percent"].values())
        print(f"{name:<34}{row['us']:>7.1f}{cells}  " + ", ".join(f"{s} {v:.0f}" for s, v in row["stalls_percent"].items()), flush=True)
    with open(out, "w", encoding="utf-8") as file:
        json.dump(rows, file)
    return 0 if all("error" not in r for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
