# SPDX-License-Identifier: Apache-2.0
"""The reductions of PyTorch and CuPy on a GPU, as JSON: what scripts/gpu puts beside warpfold's.

    frameworks.py OUT.json [torch,cupy]

Device times: PyTorch by replays of a CUDA graph (of several calls), CuPy by events around calls in a row
(it allocates in them). Median of 7, hot. Each answer is checked against the same framework in f64."""

import json
import math
import statistics
import sys
import time

SIZES = [10, 14, 18, 20, 22, 24, 28]
# sum accumulates f16 and bf16 in f32, and so does warpfold's bench.
ROWS = [("sum", "f32"), ("sum", "f64"), ("sum", "f16"), ("sum", "bf16"), ("sum", "i32"), ("sum", "i8"), ("min", "f32"),
        ("max", "f32"), ("argmin", "f32"), ("argmax", "f32"), ("mean_var", "f32"), ("norm2", "f32"), ("dot", "f32")]


def torch_rows():
    import torch

    types = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16,
             "i32": torch.int32, "i8": torch.int8}
    calls = {
        "sum": lambda x, y: x.sum(dtype=torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x.sum(),
        "min": lambda x, y: x.min(), "max": lambda x, y: x.max(), "argmin": lambda x, y: x.argmin(),
        "argmax": lambda x, y: x.argmax(), "mean_var": lambda x, y: torch.var_mean(x, correction=0)[0],
        "norm2": lambda x, y: torch.linalg.vector_norm(x), "dot": lambda x, y: torch.dot(x, y)}
    torch.manual_seed(1)
    rows = []
    for op, name in ROWS:
        for k in SIZES:
            n = 1 << k
            make = (lambda: torch.randint(-100, 100, (n,), device="cuda", dtype=types[name])) if name[0] == "i" else (
                lambda: torch.randn(n, device="cuda", dtype=torch.float32).to(types[name]))
            x, y = make(), make() if op == "dot" else None
            call = calls[op]
            try:
                got = call(x, y).item()
                if op not in ("argmin", "argmax"):
                    wide = torch.int64 if name[0] == "i" else torch.float64
                    want = call(x.to(wide), None if y is None else y.to(wide)).item()
                    right = abs(got - want) <= 1e-3 * abs(want) + 1e-3 * math.sqrt(n)
                else:
                    right = x[got].item() == (x.min() if op == "argmin" else x.max()).item()
                launches = 16 if k <= 22 else 4
                stream = torch.cuda.Stream()
                with torch.cuda.stream(stream):
                    call(x, y)
                stream.synchronize()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, stream=stream):
                    for _ in range(launches):
                        call(x, y)
                times = []
                for r in range(8):
                    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                    begin.record()
                    graph.replay()
                    end.record()
                    end.synchronize()
                    times.append(1000 * begin.elapsed_time(end) / launches)
                rows.append({"framework": "torch", "op": op, "dtype": name, "log2n": k, "right": bool(right),
                             "us": round(statistics.median(times[1:]), 3)})
                del graph
            except (RuntimeError, NotImplementedError) as error:
                rows.append({"framework": "torch", "op": op, "dtype": name, "log2n": k, "error": str(error).splitlines()[0]})
                break
    return rows, "PyTorch " + torch.__version__


def cupy_rows():
    import cupy

    types = {"f32": "float32", "f64": "float64", "f16": "float16", "i32": "int32", "i8": "int8"}
    calls = {
        "sum": lambda x, y: x.sum(dtype="float32") if x.dtype == "float16" else x.sum(),
        "min": lambda x, y: x.min(), "max": lambda x, y: x.max(), "argmin": lambda x, y: x.argmin(),
        "argmax": lambda x, y: x.argmax(), "mean_var": lambda x, y: x.var(), "norm2": lambda x, y: cupy.linalg.norm(x),
        "dot": lambda x, y: cupy.dot(x, y)}
    rng = cupy.random.default_rng(1)
    rows = []
    for op, name in ROWS:
        if name not in types:
            continue
        for k in (14, 20, 24, 28):  # each kernel is compiled when it is first used
            n = 1 << k
            make = (lambda: rng.integers(-100, 100, n).astype(types[name])) if name[0] == "i" else (
                lambda: rng.standard_normal(n, dtype="float32").astype(types[name]))
            x, y = make(), make() if op == "dot" else None
            call = calls[op]
            got = float(call(x, y))
            if op in ("argmin", "argmax"):
                right = float(x[int(got)]) == float(x.min() if op == "argmin" else x.max())
            else:
                wide = "int64" if name[0] == "i" else "float64"
                want = float(call(x.astype(wide), None if y is None else y.astype(wide)))
                right = abs(got - want) <= 1e-3 * abs(want) + 1e-3 * math.sqrt(n)
            launches, times = 8, []
            for r in range(8):
                begin, end = cupy.cuda.Event(), cupy.cuda.Event()
                begin.record()
                for _ in range(launches):
                    call(x, y)
                end.record()
                end.synchronize()
                times.append(1000 * cupy.cuda.get_elapsed_time(begin, end) / launches)
            rows.append({"framework": "cupy", "op": op, "dtype": name, "log2n": k, "right": bool(right),
                         "us": round(statistics.median(times[1:]), 3)})
    return rows, "CuPy " + cupy.__version__


def main(out, names):
    rows, versions = [], []
    for name, measure in (("torch", torch_rows), ("cupy", cupy_rows)):
        if name not in names:
            continue
        begin = time.monotonic()
        try:
            more, version = measure()
        except ImportError as error:
            print(f"{name} is left out: {error}")
            continue
        rows += more
        versions.append(version)
        print(f"{version}: {len(more)} rows in {time.monotonic() - begin:.0f} s", flush=True)
        with open(out, "w", encoding="utf-8") as file:  # what there is, if the next one takes too long
            json.dump({"versions": versions, "frameworks": rows}, file)
    for r in rows:
        if not r.get("right", True):
            print("not right:", r)
    return 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: frameworks.py OUT.json [torch,cupy]")
    sys.exit(main(sys.argv[1], (sys.argv[2] if len(sys.argv) == 3 else "torch,cupy").split(",")))
