#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times NumPy's sum (pairwise) and math.fsum on the data of a bench_cpu run, and adds them to its JSON.

    bench_cpu --export FOLDER && python_contenders.py FOLDER run.json [REPETITIONS]

One thread each: neither has another way. math.fsum takes a list of Python floats, made before its time counts,
and does not depend on where the numbers lie, so it is timed on as many as fit L2. Answers are checked
against bench_cpu's exact ones first. Without NumPy math.fsum runs alone, which is said. Exit 2 on bad files.
"""
import json
import math
import pathlib
import sys
import time

try:
    import numpy
except ImportError:
    numpy = None


def timed(call, least_seconds=0.02):
    """Mean nanoseconds of one call, over as many as take least_seconds."""
    calls = 0
    start = time.perf_counter_ns()
    while True:
        call()
        calls += 1
        spent = time.perf_counter_ns() - start
        if spent >= least_seconds * 1e9:
            return spent / calls


def contenders(folder, answers):
    """(name, elements, call, is the answer right?) of each."""
    for key, told in answers.items():
        kind, n, want = key.split("/")[1], told["elements"], float.fromhex(told["sum"])
        unit = 2.0**-53 if kind == "f64" else 2.0**-24
        if numpy is not None:
            period = numpy.fromfile(folder / f"{kind}.bin", dtype={"f64": "<f8", "f32": "<f4"}[kind])
            x = numpy.resize(period, n)  # the period, repeated: as bench_cpu fills memory
            scale = float(numpy.abs(period).sum(dtype="f8")) * n / len(period)
            # Pairwise over blocks of 128 in 8 lanes: 16 + 3 + log2(n / 128) additions.
            bound = (19 + max(0.0, math.log2(n / 128))) * unit * scale
            yield f"{key}/sum NumPy", n, x.sum, lambda got, w=want, b=bound: abs(float(got) - w) <= b
        if key == "L2/f64":
            floats = list(memoryview((folder / "f64.bin").read_bytes()[: 8 * n]).cast("d"))
            yield f"{key}/sum math.fsum", n, lambda f=floats: math.fsum(f), lambda got, w=want: got == w


def main():
    if len(sys.argv) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    folder, path = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    repetitions = int(sys.argv[3]) if len(sys.argv) == 4 else 7
    try:
        answers = json.loads((folder / "answers.json").read_text())
        run = json.loads(path.read_text())
        for name, n, call, right in contenders(folder, answers):
            row = {"name": f"{name}/real_time", "run_type": "iteration", "time_unit": "ns", "elements": float(n)}
            if not right(call()):
                run["benchmarks"].append(row | {"error_occurred": True, "error_message": "wrong answer"})
                continue
            for k in range(repetitions):
                run["benchmarks"].append(row | {"repetition_index": k, "real_time": timed(call)})
    except (OSError, ValueError, KeyError) as e:
        print(f"python_contenders: {e}; FOLDER is what bench_cpu --export wrote, run.json its run", file=sys.stderr)
        return 2
    run["context"]["python"] = sys.version.split()[0]
    run["context"]["numpy"] = numpy.__version__ if numpy is not None else "none"
    if numpy is None:
        print("python_contenders: no NumPy here, so math.fsum alone", file=sys.stderr)
    path.write_text(json.dumps(run, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
