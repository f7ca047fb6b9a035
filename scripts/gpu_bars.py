# SPDX-License-Identifier: Apache-2.0
"""The bars of the GPU engine, from what bench_gpu_reductions and frameworks.py measured: gpu_results.py prints them."""

LARGE = 1 << 30  # bytes: where what a launch and its last step cost is below a hundredth


def _ratio(row):
    return row["us"] / row["cub_us"] if row.get("cub_us") else None


def _of_reading(row):
    return row["read_us"] / row["us"]


def _pick(rows, **want):
    def fits(row):
        for key, value in want.items():
            if key in ("at_least", "at_most", "bytes_at_least"):
                continue
            if row[key] not in (value if isinstance(value, tuple) else (value,)):
                return False
        return (want.get("at_least", 0) <= row["log2n"] <= want.get("at_most", 99)
                and row["bytes"] >= want.get("bytes_at_least", 0))
    return [row for row in rows if fits(row)]


def bars(rows):
    """[{name, must, aim, worst, where, pass}]: times over CUB's must stay below, shares of reading above."""
    found = []

    def bar(name, must, aim, chosen, value, least):
        values = [(value(r), r) for r in chosen if value(r) is not None]
        if not values:
            return
        worst, row = (min if least else max)(values, key=lambda v: v[0])
        where = f"{row['op']} {row['dtype']} {row['accuracy']} {row['data']} 2^{row['log2n']}{' flushed' if row['cold'] else ''}"
        found.append({"name": name, "must": must, "aim": aim, "worst": round(worst, 4), "where": where,
                      "cases": len(values), "pass": bool(worst >= must if least else worst <= must)})

    f32 = {"op": "sum", "dtype": "f32", "cold": 0}
    fast = {**f32, "accuracy": "fast"}
    bar("fast f32 sum / CUB, 2^0 … 2^30", 1.00, 0.95, _pick(rows, **fast), _ratio, False)
    bar("fast f32 sum / CUB, 2^13 … 2^24", 0.85, 0.70, _pick(rows, **fast, at_least=13, at_most=24), _ratio, False)
    bar("  the same, L2 flushed, 2^14 … 2^23", 0.85, 0.70, _pick(rows, **{**fast, "cold": 1}), _ratio, False)
    bar("fast f32 sum of reading, from 2^26", 0.985, 0.995, _pick(rows, **fast, at_least=26), _of_reading, True)
    exact = {**f32, "accuracy": "exact"}
    bar("exact f32 sum / CUB, any data, from 2^24", 1.03, 1.00, _pick(rows, **exact, at_least=24), _ratio, False)
    bar("exact f32 sum / CUB, below 2^24", 1.15, 0.90, _pick(rows, **exact, data="normal", at_most=23), _ratio, False)
    bar("  the same, L2 flushed", 1.15, 0.90, _pick(rows, **{**exact, "cold": 1}, data="normal", at_most=23), _ratio, False)
    bar("  the same, random bits", 1.15, 0.90, _pick(rows, **exact, data="bits", at_most=23), _ratio, False)
    f64 = {"op": "sum", "dtype": "f64", "accuracy": "exact", "cold": 0}
    bar("exact f64 sum / CUB, ordinary data, from 2^24", 1.03, 1.00, _pick(rows, **f64, data="normal", at_least=24), _ratio, False)
    bar("exact f64 sum / CUB, random bits, from 2^24", 1.35, 1.05, _pick(rows, **f64, data="bits", at_least=24), _ratio, False)
    bar("  the same, below 2^24", 1.35, 1.05, _pick(rows, **f64, data="bits", at_most=23), _ratio, False)
    large = {"accuracy": "exact", "cold": 0, "bytes_at_least": LARGE}
    for dtype in ("f16", "bf16"):
        for data in ("normal", "bits"):
            bar(f"exact {dtype} sum of reading, {data}", 0.95, 0.99, _pick(rows, op="sum", dtype=dtype, data=data, **large), _of_reading, True)
    for dtype in ("i8", "i16", "i32"):
        bar(f"{dtype} sum of reading", 0.95, 0.99, _pick(rows, op="sum", dtype=dtype, **large), _of_reading, True)
    for op in ("min", "max", "argmin", "argmax", "mean_var", "norm2", "dot"):
        for dtype in ("f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64"):
            bar(f"{op} of {dtype}, exact, of reading", 0.95, 0.99, _pick(rows, op=op, dtype=dtype, **large), _of_reading, True)
    named = {"sum", "min", "max", "argmin", "argmax", "mean_var", "norm2", "dot"}
    others = [r for r in _pick(rows, data="normal", **large) if r["op"] not in named or r["dtype"] in ("bool", "c64", "c128")]
    bar("every other operation and type, of reading", 0.95, 0.99, others, _of_reading, True)
    bar("random bits of f64, c64, c128, exact sums, of reading", 0.95, 0.99,
        _pick(rows, op="sum", dtype=("f64", "c64", "c128"), data="bits", **large), _of_reading, True)
    return found


def print_bars(found):
    print("\nthe bars (worst case of each; times over CUB's in this run, or the speed of only reading)")
    for b in found:
        print(f"  {'PASS' if b['pass'] else 'MISS'}  {b['name']:<48} {b['worst']:>6.3f}  must {b['must']:<5} aim {b['aim']:<5}  {b['where']}")
    print(f"  {sum(b['pass'] for b in found)} pass, {sum(not b['pass'] for b in found)} miss")


def print_peers(rows, frameworks, log2n=28):
    """One line a reduction that others have too: GB/s of each at 2^28 elements."""
    print(f"\nGB/s at 2^{log2n} elements (exact, fast, CUB, {', '.join(frameworks.get('versions', []))})")
    theirs = {(r["framework"], r["op"], r["dtype"]): r["us"] for r in frameworks.get("frameworks", [])
              if r["log2n"] == log2n and "us" in r}
    cell = {}
    for r in _pick(rows, log2n=log2n, cold=0, data="normal"):
        cell.setdefault((r["op"], r["dtype"]), {})[r["accuracy"]] = r
    for (op, dtype), by in cell.items():
        row = by.get("exact") or by.get("fast")
        peers = [row.get("cub_us") or None, theirs.get(("torch", op, dtype)), theirs.get(("cupy", op, dtype))]
        if not any(peers):
            continue
        times = [by.get("exact", {}).get("us"), by.get("fast", {}).get("us"), *peers]
        print(f"  {op:<10} {dtype:<5}" + "".join(f"{row['bytes'] / us / 1000:>8.0f}" if us else f"{'-':>8}" for us in times))
