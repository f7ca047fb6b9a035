# SPDX-License-Identifier: Apache-2.0
"""States of a CuPy array made on its GPU, as blocks of Dask and xarray have them, beside those of a copy in the CPU's memory, as JSON.

    python3 cupy_states.py FILE

The bytes of both are compared before either is timed. Times are the least of five, in milliseconds; those that copy, of two.
"""

import json
import sys
import time

import cupy
import warpfold as wf
from warpfold.states import Form

ROWS, COLUMNS = 16384, 8192


def least_ms(f, repeat):
    f()
    best = float("inf")
    for _ in range(repeat):
        cupy.cuda.runtime.deviceSynchronize()
        begin = time.perf_counter()
        f()
        cupy.cuda.runtime.deviceSynchronize()
        best = min(best, time.perf_counter() - begin)
    return round(1e3 * best, 3)


def main():
    if len(sys.argv) != 2:
        sys.exit("cupy_states.py: FILE")
    x = cupy.random.standard_normal((ROWS, COLUMNS), dtype=cupy.float32)
    here = x.get()
    results = []
    for reduction in ("sum", "var", "max"):
        form = Form(reduction, "float32")
        for axis in (None, 0, 1):
            assert form.of(x, axis=axis).tobytes() == form.of(here, axis=axis).tobytes(), (reduction, axis)
            results.append({"reduction": reduction, "axis": axis, "on the GPU ms": least_ms(lambda: form.of(x, axis=axis), 5),
                            "copied ms": least_ms(lambda: form.of(x.get(), axis=axis), 1), "the copy alone ms": least_ms(lambda: x.get(), 1),
                            "CuPy's answer ms": least_ms(lambda: getattr(x, reduction)(axis=axis), 5)})
    device = cupy.cuda.runtime.getDeviceProperties(x.device.id)["name"].decode()
    told = {"benchmark": "states of CuPy's arrays", "command": "python3 bench/gpu/cupy_states.py FILE", "warpfold": wf.__version__, "cupy": cupy.__version__,
            "device": device, "shape": [ROWS, COLUMNS], "dtype": "float32", "results": results}
    with open(sys.argv[1], "w") as f:
        json.dump(told, f, indent=1)
        f.write("\n")


main()
