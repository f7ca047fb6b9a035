#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Python package costs on a GPU, beside PyTorch, CuPy and cuda.compute of `cuda-cccl`.

    python bench/gpu/python_package.py [--parts sums,axes,...] [--seconds S] OUT.json

Exact sums of whole arrays of 2^0 to 2^30 elements and over axes, sums by labels and by segments, a reduction of the user's own, PyTorch's functions inside
`warpfold.torch.exact()`. Each answer is compared first with the true one, which PyTorch's integers give (`true_sums`); exit 1 if one is wrong.
Times, in µs: `us` a call from Python, of many calls of which none is waited for, with the wait for the last (what a loop of eager calls takes);
`host_us` until such a call has returned; `device_us` a call inside a CUDA graph of many. Medians of some repetitions, without flushing caches; what is
compared takes turns. Times of one run may be compared. What is not installed is left out, with a word.
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from fractions import Fraction

import numpy as np
import torch

import warpfold as wf

TYPES = {"float32": torch.float32, "float64": torch.float64}
BITS = {"float32": (24, -149), "float64": (53, -1074)}
wrong = []


def nearest(q, dtype):
    """A fraction rounded once, ties to even; without overflow, which this data do not have."""
    if q == 0:
        return 0.0
    bits, least = BITS[dtype]
    a = abs(q)
    e = a.numerator.bit_length() - a.denominator.bit_length()
    if a < Fraction(2)**e:
        e -= 1
    unit = Fraction(2)**max(e - bits + 1, least)
    return float(round(q / unit) * unit)


def true_sums(rows):
    """The true sum of each row of a matrix, as fractions: digits of 30 bits of its elements are added as int64."""
    found = [Fraction(0)] * rows.shape[0]
    width = max(1, (1 << 25) // rows.shape[0])
    for begin in range(0, rows.shape[1], width):
        rest = rows[:, begin:begin + width].double()
        assert bool((rest.abs() < 2**20).all())
        shift = 0
        while bool((rest != 0).any()):
            digits = torch.trunc(rest * 2.0**shift)
            rest = rest - digits * 2.0**-shift  # exact: it is what the digits leave
            for k, s in enumerate(digits.to(torch.int64).sum(dim=1).tolist()):
                found[k] += Fraction(s, 1 << shift)
            shift += 30
    return found


def check(name, got, rows, dtype):
    """Whether the answers are the true sums of the rows, rounded once."""
    ok = all(float(g) == nearest(t, dtype) for g, t in zip(got.reshape(-1).tolist(), true_sums(rows)))
    if not ok:
        wrong.append(name)
        print(f"WRONG: {name}", flush=True)
    return ok


def eager(call, seconds, repetitions=5):
    """Median time of a call and of its return, in µs."""
    return by_turns({"": call}, seconds, repetitions)[""]


def by_turns(named, seconds, repetitions=7):
    """The same of calls that take turns, a repetition each, so that what slows the machine down for a while slows all of them. With two names "ratio" is
    the median of the first one's time in that of the second, repetition by repetition."""
    calls = {}
    for name, call in named.items():
        call()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        call()
        torch.cuda.synchronize()
        calls[name] = max(1, min(400, int(seconds / (time.perf_counter() - begin))))
    total, host = {name: [] for name in named}, {name: [] for name in named}
    for _ in range(repetitions):
        for name, call in named.items():
            begin = time.perf_counter()
            for _ in range(calls[name]):
                call()
            returned = time.perf_counter()
            torch.cuda.synchronize()
            total[name].append((time.perf_counter() - begin) / calls[name])
            host[name].append((returned - begin) / calls[name])
    found = {name: {"us": round(1e6 * statistics.median(total[name]), 3), "host_us": round(1e6 * statistics.median(host[name]), 3), "calls": calls[name]} for name in named}
    if len(named) == 2:
        a, b = total.values()
        found["ratio"] = round(statistics.median(x / y for x, y in zip(a, b)), 4)
    return found


def in_graph(call, launches):
    """Median time of a call inside a CUDA graph of `launches` of them, in µs."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(launches):
            call()
    times = []
    for _ in range(6):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(1000 * begin.elapsed_time(end) / launches)
    return round(statistics.median(times[1:]), 3)


def optional(name):
    try:
        return importlib.import_module(name)
    except Exception as e:  # a library that is there and does not find what it needs raises what it likes
        print(f"{name} is left out: {type(e).__name__}: {e}", flush=True)
        return None


def elements(n, dtype):
    return torch.randn(n, device="cuda", dtype=TYPES[dtype], generator=torch.Generator("cuda").manual_seed(1))


def sums(seconds):
    rows, cupy, compute = [], optional("cupy"), optional("cuda.compute")
    most = 30 if torch.cuda.mem_get_info()[0] > 40e9 else 28
    for dtype in TYPES:
        whole = elements(1 << most, dtype)
        of_cupy = cupy.from_dlpack(whole) if cupy else None
        for k in range(most + 1):
            x = whole[:1 << k]
            launches = 32 if k <= 20 else 8 if k <= 26 else 2
            row = {"dtype": dtype, "log2n": k, "right": check(f"sum of 2^{k} {dtype}", wf.sum(x), x.view(1, -1), dtype)}
            row["torch"] = by_turns({"wf": lambda: wf.sum(x), "theirs": lambda: torch.sum(x)}, seconds)
            for which, call in (("wf", lambda: wf.sum(x)), ("theirs", lambda: torch.sum(x))):
                row["torch"][which]["device_us"] = in_graph(call, launches)
            row["torch"]["fast"] = eager(lambda: wf.sum(x, accuracy="fast"), seconds)
            row["noise"] = by_turns({"torch": lambda: torch.sum(x), "torch again": lambda: torch.sum(x)}, seconds)["ratio"]  # what two equal calls differ by
            if cupy:
                y = of_cupy[:1 << k]
                assert float(wf.sum(y)) == float(wf.sum(x))
                row["cupy"] = by_turns({"wf": lambda: wf.sum(y), "theirs": lambda: cupy.sum(y)}, seconds)
            if compute and k % 2 == 0:
                try:
                    row["cuda.compute"] = of_compute(compute, x, seconds)
                except Exception as e:
                    print(f"cuda.compute is left out: {type(e).__name__}: {str(e).splitlines()[0]}", flush=True)
                    compute = None
            rows.append(row)
        del whole, of_cupy, x
        if cupy:
            del y
    return rows


def of_compute(compute, x, seconds):
    """Its sum by the function, and by an object that was made before, with room that was made before."""
    out, zero = torch.zeros(1, device="cuda", dtype=x.dtype), np.zeros((), str(x.dtype).removeprefix("torch."))
    plus = compute.OpKind.PLUS

    def call():
        compute.reduce_into(d_in=x, d_out=out, num_items=x.numel(), op=plus, h_init=zero)
    call()
    assert abs(out.item() - x.double().sum().item()) <= 1e-3 * (1 + x.double().abs().sum().item())
    made = compute.make_reduce_into(d_in=x, d_out=out, op=plus, h_init=zero)
    how = {"d_in": x, "d_out": out, "num_items": x.numel(), "op": plus, "h_init": zero}
    room = torch.empty(max(1, made(temp_storage=None, **how)), device="cuda", dtype=torch.uint8)
    return {"theirs": eager(call, seconds), "made before": eager(lambda: made(temp_storage=room, **how), seconds)}


AXES = [((1 << 14, 1 << 14), 0), ((1 << 14, 1 << 14), 1), ((1 << 20, 256), 0), ((1 << 20, 256), 1), ((256, 1 << 20), 0), ((256, 1 << 20), 1),
        ((1 << 24, 16), 0), ((1 << 24, 16), 1), ((16, 1 << 24), 0), ((16, 1 << 24), 1), ((256, 1024, 1024), 1), ((4096, 16, 4096), 1),
        ((256, 1024, 1024), (0, 1)), ((1024, 256), 0), ((1024, 256), 1), ((64, 64), 0), ((64, 64), 1)]


def some_rows(x, axes):
    """A few answers' places, and their elements as rows."""
    axes = (axes,) if isinstance(axes, int) else axes
    kept = [d for d in range(x.ndim) if d not in axes]
    flat = x.permute(*kept, *axes)
    shape = flat.shape[:len(kept)]
    answers, n = int(np.prod(shape)), x.numel() // int(np.prod(shape))
    at = sorted({0, answers - 1, *np.random.default_rng(1).integers(0, answers, min(answers, 40, max(4, (1 << 24) // n))).tolist()})
    return at, torch.stack([flat[tuple(int(i) for i in np.unravel_index(k, shape))].reshape(-1) for k in at])


def of_compute_rows(compute, x, seconds):
    """Its sums of the rows of a matrix, as segments, by the function, and by an object that was made before."""
    count, length = x.shape
    begins = torch.arange(count, device="cuda") * length
    out = torch.zeros(count, device="cuda", dtype=x.dtype)
    how = {"d_in": x.view(-1), "d_out": out, "start_offsets_in": begins, "end_offsets_in": begins + length, "op": compute.OpKind.PLUS,
           "h_init": np.zeros((), str(x.dtype).removeprefix("torch."))}
    made = compute.make_segmented_reduce(**how)
    how["num_segments"] = count
    room = torch.empty(max(1, made(temp_storage=None, **how)), device="cuda", dtype=torch.uint8)
    return {"theirs": eager(lambda: compute.segmented_reduce(**how), seconds), "made before": eager(lambda: made(temp_storage=room, **how), seconds)}


def axes(seconds):
    rows, cupy, compute = [], optional("cupy"), optional("cuda.compute")
    for dtype in TYPES:
        whole = elements(1 << 28, dtype)
        for shape, axis in AXES:
            x = whole[:int(np.prod(shape))].view(shape)
            found = wf.sum(x, axis=axis)
            at, chosen = some_rows(x, axis)
            right = check(f"{shape} axis {axis} {dtype}", found.reshape(-1)[at], chosen, dtype)
            wide = torch.sum(x, axis, dtype=torch.float64)
            near = bool(((found.double() - wide).abs() <= (2.0**-23 if dtype == "float32" else 2.0**-40) * (wide.abs() + 1)).all())
            if not near:
                wrong.append(f"{shape} axis {axis} {dtype}, some answers")
            del wide, found
            row = {"dtype": dtype, "shape": shape, "axis": axis, "right": right and near,
                   "torch": by_turns({"wf": lambda: wf.sum(x, axis=axis), "theirs": lambda: torch.sum(x, axis)}, seconds)}
            if cupy:
                y = cupy.from_dlpack(x)
                row["cupy"] = by_turns({"wf": lambda: wf.sum(y, axis=axis), "theirs": lambda: cupy.sum(y, axis=axis)}, seconds)
            if compute and len(shape) == 2 and axis == 1:
                try:
                    row["cuda.compute"] = of_compute_rows(compute, x, seconds)
                except Exception as e:
                    print(f"cuda.compute is left out: {type(e).__name__}: {str(e).splitlines()[0]}", flush=True)
            rows.append(row)
        del whole, x
    return rows


def masks(seconds):
    rows, whole = [], elements(1 << 28, "float32")
    half = torch.rand(1 << 28, device="cuda", generator=torch.Generator("cuda").manual_seed(4)) < 0.5
    for k in (10, 16, 20, 24, 28):
        x, where = whole[:1 << k], half[:1 << k]
        right = check(f"sum of 2^{k} with a mask", wf.sum(x, where=where), x[where].view(1, -1), "float32")
        calls = {"sum": lambda: wf.sum(x, where=where), "mean": lambda: wf.mean(x, where=where), "var": lambda: wf.var(x, where=where),  # noqa: B023
                 "max": lambda: wf.max(x, where=where), "argmax": lambda: wf.argmax(x, where=where), "dot": lambda: wf.dot(x, x, where=where), "nansum": lambda: wf.nansum(x),  # noqa: B023
                 "torch.where and its sum": lambda: torch.where(where, x, 0.0).sum(), "torch.nansum": lambda: torch.nansum(x)}  # noqa: B023
        for name, call in calls.items():
            rows.append({"what": name, "log2n": k, "right": right, **eager(call, seconds), "device_us": in_graph(call, 16 if k <= 20 else 4)})
    for side in (4096, 16384):
        x, where = whole[:side * side].view(side, side), half[:side * side].view(side, side)
        for axis in (0, 1):
            at, chosen = some_rows(x, axis)
            kept = [mask.bool() for mask in some_rows(where, axis)[1]]
            found = wf.mean(x, where=where, axis=axis)[at]
            right = all(float(g) == nearest(true_sums(row[mask].view(1, -1))[0] / int(mask.sum()), "float32") for g, row, mask in zip(found.tolist(), chosen, kept))
            if not right:
                wrong.append(f"mean of {side} x {side}, axis {axis}, with a mask")
            for name in ("sum", "mean", "var", "argmax"):
                call = lambda: getattr(wf, name)(x, where=where, axis=axis)  # noqa: B023, E731
                rows.append({"what": f"{name} axis {axis}", "shape": (side, side), "right": right, **eager(call, seconds), "device_us": in_graph(call, 4)})
    return rows


def labels(seconds):
    rows, n = [], 1 << 28
    for dtype in TYPES:
        x = elements(n, dtype)
        for groups in (10, 1000, 1_000_000):
            at = torch.randint(0, groups, (n,), device="cuda", generator=torch.Generator("cuda").manual_seed(2))
            found, ok = wf.sum_by_label(x, at, groups), True
            for g in (0, groups // 3, groups - 1):
                ok = check(f"label {g} of {groups} {dtype}", found[g], x[at == g].view(1, -1), dtype) and ok
            row = {"dtype": dtype, "groups": groups, "elements": n, "right": ok, "wf": eager(lambda: wf.sum_by_label(x, at, groups), seconds, 3),
                   "scatter_add": eager(lambda: torch.zeros(groups, device="cuda", dtype=x.dtype).scatter_add_(0, at, x), seconds, 3),
                   "index_add": eager(lambda: torch.zeros(groups, device="cuda", dtype=x.dtype).index_add_(0, at, x), seconds, 3)}
            rows.append(row)
            del at, found
    return rows


def segments(seconds):
    rows, n = [], 1 << 28
    for dtype in TYPES:
        x = elements(n, dtype)
        for how, count in (("equal", 1 << 12), ("equal", 1 << 18), ("ragged", 1000), ("ragged", 1_000_000)):
            if how == "equal":
                offsets = torch.arange(0, n + 1, n // count, device="cuda")
            else:
                cuts = torch.randint(0, n, (count - 1,), device="cuda", generator=torch.Generator("cuda").manual_seed(3)).sort().values
                offsets = torch.cat([torch.zeros(1, dtype=torch.int64, device="cuda"), cuts, torch.full((1,), n, device="cuda")])
            found, ok = wf.segment_sum(x, offsets), True
            for g in (0, count // 3, count - 1):
                ok = check(f"segment {g} of {count}, {how}, {dtype}", found[g], x[int(offsets[g]):int(offsets[g + 1])].view(1, -1), dtype) and ok
            row = {"dtype": dtype, "segments": count, "how": how, "elements": n, "right": ok, "wf": eager(lambda: wf.segment_sum(x, offsets), seconds, 3),
                   "segment_reduce": eager(lambda: torch.segment_reduce(x, "sum", offsets=offsets, axis=0), seconds, 3)}
            if how == "equal":
                row["wf, length"] = eager(lambda: wf.segment_sum(x, n // count), seconds, 3)
            rows.append(row)
    return rows


def own(seconds):
    rows = []
    above = wf.Reduction(state="std::int64_t", identity="0", lift="x > 1", combine="a + b", commutes=True)
    x = elements(1 << 28, "float32")
    for k in (10, 20, 28):
        y = x[:1 << k]
        begin = time.perf_counter()
        found = int(above(y).item())
        first = time.perf_counter() - begin
        want = int((y > 1).sum().item())
        if found != want:
            wrong.append(f"own, 2^{k}")
            print(f"WRONG: own, 2^{k}: {found}, not {want}")
        rows.append({"log2n": k, "right": found == want, "first_s": round(first, 4), "wf": eager(lambda: above(y), seconds), "torch": eager(lambda: (y > 1).sum(), seconds)})
    for k, what, by in ((26, "segments", 256), (26, "segments", 1 << 16), (26, "labels", 1000)):
        y = x[:1 << k]
        if what == "segments":
            call, theirs = (lambda: wf.segment_reduce(above, y, by)), (lambda: (y > 1).view(-1, by).sum(1))  # noqa: B023
        else:
            at = torch.randint(0, by, (1 << k,), device="cuda", generator=torch.Generator("cuda").manual_seed(2))
            call = lambda: wf.reduce_by_label(above, y, at, by)  # noqa: B023, E731
            theirs = lambda: torch.zeros(by, device="cuda", dtype=torch.int64).index_add_(0, at, (y > 1).long())  # noqa: B023, E731
        right = bool(torch.equal(call(), theirs()))
        if not right:
            wrong.append(f"own, {what} of {by}")
        rows.append({"log2n": k, "right": right, what: by, "first_s": 0.0, "wf": eager(call, seconds, 3), "torch": eager(theirs, seconds, 3)})
    return rows


def calls(seconds):
    """What a call costs the host, kind by kind, of 1024 elements: by turns, so that they may be compared with each other."""
    x = elements(1 << 10, "float32")
    rows = x.view(32, 32)
    out, at, ends = torch.empty((), device="cuda"), torch.arange(1 << 10, device="cuda") % 10, torch.arange(0, 1025, 64, device="cuda")
    stream = torch.cuda.Stream()
    above = wf.Reduction(state="std::int64_t", identity="0", lift="x > 1", combine="a + b", commutes=True)
    apart = wf.Reduction(state="double", identity="0", lift="x - y", combine="a + b", commutes=True, inputs=2)
    several = wf.fuse(["sum", "min", "max"])
    named = {
        "torch: new_empty(())": lambda: x.new_empty(()), "torch.sum": lambda: torch.sum(x), "torch.sum out=": lambda: torch.sum(x, 0, out=out), "torch.sum axis": lambda: torch.sum(rows, 0),
        "torch.var": lambda: torch.var(x), "sum": lambda: wf.sum(x), "sum fast": lambda: wf.sum(x, accuracy="fast"), "sum out=": lambda: wf.sum(x, out=out),
        "sum axis": lambda: wf.sum(rows, axis=0), "sum rounding=": lambda: wf.sum(x, rounding="up"), "sum dtype=": lambda: wf.sum(x, dtype="float64"),
        "sum stream=": lambda: wf.sum(x, stream=stream), "var": lambda: wf.var(x), "max": lambda: wf.max(x), "minmax": lambda: wf.minmax(x), "fuse of 3": lambda: several(x),
        "dot": lambda: wf.dot(x, x), "segment_sum": lambda: wf.segment_sum(x, ends), "segment_sum length": lambda: wf.segment_sum(x, 64), "sum_by_label": lambda: wf.sum_by_label(x, at, 10),
        "Reduction": lambda: above(x), "Reduction axis": lambda: above(rows, axis=0), "Reduction of two": lambda: apart(x, x), "Reduction segments": lambda: wf.segment_reduce(above, x, 64),
        "torch: (x > 1).sum()": lambda: (x > 1).sum()}
    # What C++ takes to put the same sums on the stream, in a loop of its own: what a call of Python's takes beside that is Python's share.
    from warpfold import _core, _device
    compiled, op = _device.kernels("sum"), _core.op_names.index("sum")
    in_cpp = {}
    for name, one, to, axes in (("sum", x, out, []), ("sum axis", rows, torch.empty(32, device="cuda"), [0])):
        there, answers = (_device.array_of(array, 1, "sum") for array in (one, to))
        times = []
        for _ in range(15):
            torch.cuda.synchronize()
            times.append(1e6 * compiled.timed(op, there, answers.address, 1, 300, axes))
        torch.cuda.synchronize()
        in_cpp[name] = statistics.median(times)
    cpp = [{"call": f"{name} from C++", "us": None, "host_us": round(us, 3), "calls": 300} for name, us in in_cpp.items()]
    return [*cpp, *({"call": name, **told, "above_cpp_us": round(told["host_us"] - in_cpp[name if name in in_cpp else "sum"], 3)} for name, told in by_turns(named, seconds).items())]


def modes(seconds):
    from warpfold.torch import exact
    rows = []
    for k in (4, 20, 28):
        x = elements(1 << k, "float32")
        for name, call in (("sum", lambda: x.sum()), ("mean", lambda: x.mean()), ("var", lambda: x.var()), ("norm", lambda: torch.linalg.vector_norm(x))):
            plain = eager(call, seconds)
            with exact():
                inside = eager(call, seconds)
            rows.append({"log2n": k, "what": name, "torch": plain, "inside exact()": inside})
        rows.append({"log2n": k, "what": "torch.ops.warpfold.sum", "torch": eager(lambda: x.sum(), seconds), "operator": eager(lambda: torch.ops.warpfold.sum(x), seconds)})
    return rows


def import_s():
    """From a new process to its first answer of a tensor on the GPU, and what is PyTorch's share."""
    code = ("import time; a = time.perf_counter(); import torch; x = torch.ones(5, device='cuda'); x.sum().item(); b = time.perf_counter(); import warpfold as wf; "
            "c = time.perf_counter(); wf.sum(x).item(); d = time.perf_counter(); print(b - a, c - b, d - c)")
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    return dict(zip(("torch_s", "import_warpfold_s", "first_sum_s"), (round(float(t), 4) for t in told)))


PARTS = {"sums": sums, "axes": axes, "masks": masks, "labels": labels, "segments": segments, "own": own, "calls": calls, "modes": modes}


def told_short(result):
    """A table of few lines."""
    ratio = lambda a, b: f"{a['us'] / b['us']:.2f}"  # noqa: E731
    turns = lambda r: f"{r['ratio']:.2f}"  # noqa: E731
    host = lambda rows: ", ".join(f"{lib} {statistics.median(r[lib]['wf']['host_us'] for r in rows if lib in r):.2f} beside "  # noqa: E731
                                  f"{statistics.median(r[lib]['theirs']['host_us'] for r in rows if lib in r):.2f}" for lib in ("torch", "cupy") if any(lib in r for r in rows))
    print("host time of a call, us:", "; ".join(f"{name} {host(rows)}" for name, rows in (
        ("sum", [r for r in result.get("sums", []) if r["log2n"] <= 14]), ("axes", [r for r in result.get("axes", []) if np.prod(r["shape"]) <= 1 << 18])) if rows))
    for row in result.get("sums", []):
        if row["log2n"] in (0, 10, 16, 20, 24, 28, 30):
            t, c, m = row["torch"], row.get("cupy"), row.get("cuda.compute")
            print(f"sum {row['dtype']} 2^{row['log2n']:<2} wf {t['wf']['us']:9.2f} us (host {t['wf']['host_us']:.2f}, device {t['wf']['device_us']:.2f}), torch {t['theirs']['us']:9.2f} "
                  f"(host {t['theirs']['host_us']:.2f}, device {t['theirs']['device_us']:.2f}), ratio {turns(t)}"
                  + (f"; of cupy {turns(c)}" if c else "") + (f"; of cuda.compute {ratio(t['wf'], m['theirs'])}, made before {ratio(t['wf'], m['made before'])}" if m else ""))
    for lib in ("torch", "cupy"):
        for name in ("sums", "axes"):
            all_ = [r[lib]["ratio"] for r in result.get(name, []) if lib in r]
            if all_:
                print(f"{name} beside {lib}: {sum(r <= 1 for r in all_)} of {len(all_)} not slower, {sum(r <= 1.02 for r in all_)} at most 1.02, {sum(r <= 1.05 for r in all_)} at most 1.05, most {max(all_):.2f}")
    noise = [r["noise"] for r in result.get("sums", []) if "noise" in r]
    if noise:
        print(f"torch.sum beside itself: {min(noise):.4f} to {max(noise):.4f}; from 2^27 on", *(f"{r['dtype']} 2^{r['log2n']} {r['noise']:.4f} (wf {r['torch']['ratio']:.4f});" for r in result["sums"] if r["log2n"] >= 27))
    worst = sorted(((turns(r[lib]), lib, r["dtype"], r["log2n"]) for r in result.get("sums", []) for lib in ("torch", "cupy") if lib in r),
                   key=lambda w: -float(w[0]))
    if worst:
        print("sums, slowest beside theirs:", *(f"{w[1]} {w[2]} 2^{w[3]} {w[0]}" for w in worst[:12]), sep="  ")
    for row in result.get("axes", []):
        t, c = row["torch"], row.get("cupy")
        print(f"axis {row['axis']} of {row['shape']} {row['dtype']}: wf {t['wf']['us']:.1f} us, torch {t['theirs']['us']:.1f}, ratio {turns(t)}"
              + (f"; of cupy {turns(c)}" if c else ""))
    for row in result.get("masks", []):
        print(f"mask {row['what']} {row['shape'] if 'shape' in row else '2^' + str(row['log2n'])}: {row['us']:.1f} us, in a graph {row['device_us']:.1f}")
    for row in result.get("labels", []):
        print(f"labels {row['groups']} {row['dtype']}: wf {row['wf']['us']:.0f} us, scatter_add {row['scatter_add']['us']:.0f}, index_add {row['index_add']['us']:.0f}")
    for row in result.get("segments", []):
        print(f"segments {row['how']} {row['segments']} {row['dtype']}: wf {row['wf']['us']:.0f} us, torch.segment_reduce {row['segment_reduce']['us']:.0f}")
    for row in result.get("own", []):
        by = "".join(f", {k} {row[k]}" for k in ("segments", "labels") if k in row)
        print(f"own 2^{row['log2n']}{by}: first {row['first_s']} s, then {row['wf']['us']:.1f} us, torch {row['torch']['us']:.1f}")
    if "calls" in result:
        print("host us of a call of 1024 elements, and what of it is above the call from C++:",
              *(f"{r['call']} {r['host_us']:.2f}" + (f" ({r['above_cpp_us']:.2f});" if "above_cpp_us" in r else ";") for r in result["calls"]))
    for row in result.get("modes", []):
        other = row.get("inside exact()") or row["operator"]
        print(f"{row['what']} 2^{row['log2n']}: torch {row['torch']['us']:.1f} us, exact {other['us']:.1f}")
    print(*(f"{k} {v}" for k, v in result.get("start", {}).items()))


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--parts", default=",".join(PARTS), help="which, of " + ", ".join(PARTS))
    a.add_argument("--seconds", type=float, default=0.01, help="how long a repetition goes on, about")
    a.add_argument("out")
    given = a.parse_args()
    names = given.parts.split(",")
    if unknown := [n for n in names if n not in PARTS]:
        a.error(f"no part {unknown[0]}; there are {', '.join(PARTS)}")
    if not torch.cuda.is_available():
        sys.exit("python_package: PyTorch finds no GPU here")
    os.environ.setdefault("WARPFOLD_CACHE", tempfile.mkdtemp())  # so that the first call compiles
    result = {"command": " ".join(["bench/gpu/python_package.py", *sys.argv[1:-1]]), "revision": os.environ.get("WARPFOLD_REVISION", "unknown"), "date": time.strftime("%Y-%m-%d"),
              "device": torch.cuda.get_device_name(), "python": sys.version.split()[0], "warpfold": wf.__version__, "torch": torch.__version__, "numpy": np.__version__,
              "cores": os.cpu_count()}
    for name in ("cupy-cuda13x", "cupy-cuda12x", "cuda-cccl"):
        try:
            result[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    result["start"] = import_s()
    for name in names:
        begin = time.perf_counter()
        result[name] = PARTS[name](given.seconds)
        torch.cuda.empty_cache()
        print(f"{name}: {len(result[name])} rows in {time.perf_counter() - begin:.1f} s", flush=True)
        result["wrong"] = wrong
        lists = [f"{json.dumps(k)}: [\n" + ",\n".join(json.dumps(r) for r in v) + "\n]" if k in PARTS else f"{json.dumps(k)}: {json.dumps(v)}" for k, v in result.items()]
        with open(given.out, "w", encoding="utf-8") as f:  # what there is, if the next part does not end
            f.write("{" + ",\n".join(lists) + "}\n")
    told_short(result)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
