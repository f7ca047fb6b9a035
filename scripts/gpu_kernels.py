# SPDX-License-Identifier: Apache-2.0
"""The lens's counters of the twenty kernels of tests/lens/twenty.cu beside those of a GPU, by Nsight Compute.

  gpu_kernels.py LENS.json PROGRAM OUT.json     LENS.json is what `warpfold explain tests/lens/twenty.cu --json` printed;
                                                PROGRAM is the same file by nvcc. Prints the differences;
                                                the exit status is 1 if one of them has no cause below.
"""

import csv
import json
import subprocess
import sys

METRICS = {
    "global_load.requests": "smsp__sass_inst_executed_op_global_ld.sum",
    "global_load.sectors": "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store.requests": "smsp__sass_inst_executed_op_global_st.sum",
    "global_store.sectors": "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_load.requests": "smsp__sass_inst_executed_op_shared_ld.sum",
    "shared_load.wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store.requests": "smsp__sass_inst_executed_op_shared_st.sum",
    "shared_store.wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
}
# Atomics without a result and with one are different instructions on a GPU; the lens counts both as atomics.
ATOMICS = {"global_atomic.requests": ["smsp__sass_inst_executed_op_global_red.sum", "smsp__sass_inst_executed_op_global_atom.sum"]}

# Found in the machine code (nvcc 13.0, -O3, sm_90): `LDS.128` stands four times for the 16 words of a row of a tile in matmul's unrolled
# loop, whose words of b stay 16 `LDS`; and four times for 16 weights of attention_row, whose loop is unrolled by 16.
CAUSES = {"fused accesses": "neighbouring words that a thread loads one after the other in an unrolled loop become one load of 16 bytes (LDS.128)."}
CAUSE_OF = {(kernel, f"shared_load.{member}"): "fused accesses" for kernel in ("matmul", "attention_row") for member in ("requests", "wavefronts")}


def cause_of(kernel, counter, simt, gpu):
    return CAUSE_OF.get((kernel, counter)) if gpu < simt else None


def number(row, metric):
    return int(float(row[metric].replace(",", "")))


def rows_of(text):
    """ncu's page `raw` as CSV: names, units, then a row a launch; other lines are the program's own."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    names, _, *launches = list(csv.reader(lines))
    return [dict(zip(names, launch)) for launch in launches]


def compare(kernels, rows):
    if len(kernels) != len(rows):
        raise SystemExit(f"gpu_kernels.py: the lens has {len(kernels)} kernels, ncu has {len(rows)} launches")
    result, differences, unexplained = [], 0, 0
    for kernel, row in zip(kernels, rows):
        counters = {}
        for name, metrics in [*((n, [m]) for n, m in METRICS.items()), *ATOMICS.items()]:
            group, member = name.split(".")
            simt, gpu = kernel["counters"].get(group, {}).get(member, 0), sum(number(row, m) for m in metrics)
            if simt or gpu:
                counters[name] = {"simt": simt, "gpu": gpu}
            if simt != gpu:
                differences += 1
                cause = cause_of(kernel["name"], name, simt, gpu)
                unexplained += cause is None
                counters[name]["cause"] = cause
                print(f"{kernel['name']:24} {name:24} simt {simt:8} GPU {gpu:8} {gpu - simt:+}  {cause or 'NO KNOWN CAUSE'}")
        result.append({"kernel": kernel["name"], "counters": counters})
    print(f"{sum(len(k['counters']) for k in result)} counters of {len(result)} kernels, {differences} differ, {unexplained} without a known cause")
    return result, unexplained


def main():
    lens, program, out = sys.argv[1:4]
    with open(lens, encoding="utf-8") as file:
        kernels = json.load(file)["kernels"]
    metrics = [*METRICS.values(), *(m for many in ATOMICS.values() for m in many)]
    done = subprocess.run(["ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--metrics", ",".join(metrics), program],
                          capture_output=True, text=True, timeout=120)
    if not any(line.startswith('"') for line in done.stdout.splitlines()):
        raise SystemExit("gpu_kernels.py: " + " ".join((done.stdout + done.stderr).strip().splitlines()[-1:]))
    result, unexplained = compare(kernels, rows_of(done.stdout))
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"metrics": {**{n: [m] for n, m in METRICS.items()}, **ATOMICS}, "causes": CAUSES, "kernels": result}, file)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
