# SPDX-License-Identifier: Apache-2.0
"""Rungs of the ladder as Numba compiles them, on a GPU or on its simulator, verified as the program verifies its own.

`wf.ladder(only=["numba"])` runs this file as a program of its own: whether Numba simulates is decided when it is first imported.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
from typing import Any

NAMES = ("shared_atomic", "block_tree", "block_atomic", "grid_stride")
TYPES = {"f32": "float32", "f64": "float64", "i32": "int32"}
SIMULATED_N, SIMULATED_BLOCK = 1024, 64  # the simulator has an operating system's thread for each of a block


cuda: Any = None  # numba.cuda, where this file runs as a program; its simulator wants it among the globals


def kernels(number: Any, block: int) -> dict[str, Any]:
    """The rungs, for one type and one size of blocks, a power of 2."""

    @cuda.jit  # type: ignore[untyped-decorator]
    def shared_atomic(x: Any, out: Any) -> None:
        total = cuda.shared.array(1, number)
        if cuda.threadIdx.x == 0:
            total[0] = 0
        cuda.syncthreads()
        i = cuda.grid(1)
        if i < x.size:
            cuda.atomic.add(total, 0, x[i])
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            cuda.atomic.add(out, 0, total[0])

    @cuda.jit  # type: ignore[untyped-decorator]
    def block_tree(x: Any, partials: Any) -> None:
        s = cuda.shared.array(block, number)
        t = cuda.threadIdx.x
        mine = number(0)
        i = cuda.grid(1)
        while i < x.size:  # once, but in the launch that adds the blocks' sums
            mine += x[i]
            i += cuda.gridsize(1)
        s[t] = mine
        cuda.syncthreads()
        step = block // 2
        while step > 0:
            if t < step:
                s[t] += s[t + step]
            cuda.syncthreads()
            step //= 2
        if t == 0:
            partials[cuda.blockIdx.x] = s[0]

    @cuda.jit  # type: ignore[untyped-decorator]
    def block_atomic(x: Any, out: Any) -> None:
        s = cuda.shared.array(block, number)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        s[t] = x[i] if i < x.size else number(0)
        cuda.syncthreads()
        step = block // 2
        while step > 0:
            if t < step:
                s[t] += s[t + step]
            cuda.syncthreads()
            step //= 2
        if t == 0:
            cuda.atomic.add(out, 0, s[0])

    @cuda.jit  # type: ignore[untyped-decorator]
    def grid_stride(x: Any, out: Any) -> None:
        s = cuda.shared.array(block, number)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        stride = cuda.gridsize(1)
        a = number(0)
        b = number(0)
        c = number(0)
        d = number(0)
        while i + 3 * stride < x.size:  # unrolled: four loads on their way at once
            a += x[i]
            b += x[i + stride]
            c += x[i + 2 * stride]
            d += x[i + 3 * stride]
            i += 4 * stride
        while i < x.size:
            a += x[i]
            i += stride
        s[t] = (a + b) + (c + d)
        cuda.syncthreads()
        step = block // 2
        while step > 0:
            if t < step:
                s[t] += s[t + step]
            cuda.syncthreads()
            step //= 2
        if t == 0:
            cuda.atomic.add(out, 0, s[0])

    return {"shared_atomic": shared_atomic, "block_tree": block_tree, "block_atomic": block_atomic, "grid_stride": grid_stride}


def launches(name: str, n: int, block: int, resident: int) -> tuple[int, float]:
    """Blocks, and the additions that an element goes through at most: what the error bound is made of."""
    blocks, steps = max(1, -(-n // block)), math.log2(block)
    if name == "shared_atomic":
        return blocks, block + blocks
    if name == "block_tree":
        return blocks, 2 * steps + -(-blocks // block) + 1
    if name == "block_atomic":
        return blocks, steps + blocks
    blocks = min(blocks, resident)
    return blocks, -(-n // (blocks * block)) + 2 + steps + blocks


def elements(np: Any, dtype: str, data: str, n: int, seed: int) -> Any:
    """The program's own data (ladder/data.cpp), by the same counters."""
    def mixed(z: Any) -> Any:
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
    if data == "ones":
        return np.ones(n, TYPES[dtype])
    with np.errstate(over="ignore"):
        golden = np.uint64(0x9E3779B97F4A7C15)
        key = mixed(np.array([seed], np.uint64) + golden)
        bits = mixed(key + np.arange(n, dtype=np.uint64) * np.uint64(4) * golden)
    if dtype == "i32":
        return (bits >> np.uint64(32)).astype(np.uint32).view(np.int32)
    width = 24 if dtype == "f32" else 53
    return ((bits >> np.uint64(64 - width)).astype(np.float64) / 2.0**width).astype(TYPES[dtype])


def whole_numbers(np: Any, dtype: str, n: int) -> Any:
    """Numbers whose sum every order of additions gives."""
    return ((np.arange(n, dtype=np.int64) * 7919) % 17 - 8).astype(TYPES[dtype])


def judged(np: Any, x: Any, result: Any, depth: float) -> dict[str, Any]:
    """As ladder/verify.cpp judges: the distance from the exact sum, and the most that the order of additions allows."""
    from fractions import Fraction

    from ._states import ExactSum
    from ._twins import fsum
    if x.dtype == np.int32:
        off = (int(result) - int(x.sum(dtype=np.int64)) + 2**31) % 2**32 - 2**31
        return {"error": off, "error_ulps": abs(off), "error_bound": 0, "right": off == 0, "digits_right": "all" if off == 0 else 0}
    total = ExactSum(x).as_fraction()
    error = float(Fraction(float(result)) - total) if math.isfinite(float(result)) else math.nan
    unit = float(np.finfo(x.dtype).eps) / 2
    bound = math.expm1(depth * math.log1p(unit)) * fsum(np.abs(x.astype(np.float64))) * (1 + 2.0**-52)
    ulps = abs(error) / float(np.spacing(abs(x.dtype.type(float(total))) or np.finfo(x.dtype).tiny))
    digits: Any = "all" if ulps <= 0.5 else 0.0 if total == 0 else max(0.0, -math.log10(abs(error) / abs(float(total))))
    return {"error": error, "error_ulps": ulps, "error_bound": bound, "right": abs(error) <= bound, "digits_right": digits}


def climb(n: int, dtype: str, block: int, data: str, seed: int, names: list[str]) -> dict[str, Any]:
    global cuda
    import numpy as np
    cuda = importlib.import_module("numba.cuda")
    numba: Any = importlib.import_module("numba")
    simulated = bool(numba.config.ENABLE_CUDASIM)
    if simulated:
        n, block = min(n, SIMULATED_N), min(block, SIMULATED_BLOCK)
    device = "Numba's simulator" if simulated else str(cuda.get_current_device().name)
    resident = 2 if simulated else 2 * int(cuda.get_current_device().MULTIPROCESSOR_COUNT)
    x, whole = elements(np, dtype, data, n, seed), whole_numbers(np, dtype, n)
    made = kernels(getattr(numba, TYPES[dtype]), block)
    rungs = []
    for name in names:
        blocks, depth = launches(name, n, block, resident)

        def run(there: Any) -> Any:
            out = cuda.to_device(np.zeros(blocks if name == "block_tree" else 1, x.dtype))
            made[name][blocks, block](there, out)
            if name == "block_tree":
                total = cuda.to_device(np.zeros(1, x.dtype))
                made[name][1, block](out, total)
                out = total
            return out.copy_to_host()[0]

        there, pattern = cuda.to_device(x), run(cuda.to_device(whole))
        result = run(there)
        verdict = judged(np, x, result, depth)
        right = verdict.pop("right")
        reason = "" if right else "further from the exact sum than its order of additions allows"
        if int(pattern) != int(whole.sum(dtype=np.int64)):
            right, reason = False, f"whole numbers, whose sum every order gives: {int(pattern)}, not {int(whole.sum(dtype=np.int64))}"
        rung = {"name": "numba/" + name, "rung": "numba/" + name, "n": n, "file": "python/warpfold/_numba.py", "result": str(result), "result_dtype": dtype,
                **verdict, "launch": {"block": block, "blocks": blocks, "launches": 2 if name == "block_tree" else 1}, "device": device,
                "verdict": ("right" if right else "WRONG") + (f", of {n} on Numba's simulator" if simulated else ""), "reason": reason}
        if not simulated:
            times = []
            for _ in range(12):
                begin, end = cuda.event(), cuda.event()
                begin.record()
                run(there)
                end.record()
                end.synchronize()
                times.append(cuda.event_elapsed_time(begin, end) / 1000)
            rung["seconds"] = {"median": sorted(times[2:])[5], "what": "launches, the zeroed answer and its copy back"}
            rung["gb_per_s"] = x.nbytes / sorted(times[2:])[5] / 1e9
        rungs.append(rung)
    from ._functions import sum as exact_sum
    exact = str(exact_sum(x)) if dtype != "i32" else str((int(x.sum(dtype=np.int64)) + 2**31) % 2**32 - 2**31)
    return {"n": n, "dtype": dtype, "data": data, "seed": seed, "device": device, "place": "numba" if simulated else "gpu", "exact": exact, "rungs": rungs,
            "command": f"python -m warpfold._numba {n} {dtype} {block} {data} {seed} {','.join(names)}"}


def has_gpu() -> bool:
    """Whether CUDA's driver is here and counts a GPU."""
    import ctypes
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def rungs_of(names: list[str], n: int, dtype: str, block: int, data: str, seed: int, device: str) -> dict[str, Any]:
    """The climb, in a process of its own. `names`: those of this file's rungs."""
    import importlib.util
    import subprocess
    for name in names:
        if name not in NAMES:
            raise ValueError(f"ladder: no rung numba/{name}; there are {', '.join('numba/' + k for k in NAMES)}")
    if dtype not in TYPES:
        raise ValueError(f"ladder: Numba's rungs of {dtype}; they are of {', '.join(TYPES)}")
    if data not in ("uniform", "ones"):
        raise ValueError(f"ladder: Numba's rungs of data='{data}'; they are of uniform and ones")
    if block & (block - 1) or not 32 <= block <= 1024:
        raise ValueError(f"ladder: Numba's rungs with blocks of {block}; they are powers of 2 from 32 to 1024")
    if importlib.util.find_spec("numba") is None:
        raise ModuleNotFoundError("ladder: the rungs numba/… need Numba; `pip install numba`")
    gpu = device != "simt" and has_gpu()
    if device == "gpu" and not gpu:
        raise RuntimeError("ladder: no GPU for Numba's rungs; device='simt' takes its simulator")
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "0" if gpu else "1"}
    done = subprocess.run([sys.executable, "-m", "warpfold._numba", str(n), dtype, str(block), data, str(seed), ",".join(names)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError("ladder: Numba's rungs: " + (done.stderr.strip().splitlines() or ["nothing was said"])[-1])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    print(json.dumps(climb(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5]), sys.argv[6].split(","))))
