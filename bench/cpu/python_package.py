#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Python package costs beside NumPy, math.fsum, xsum and accupy: calls on small arrays, with nothing but the array and with
options, the import, and large exact sums.

    python bench/cpu/python_package.py [--elements N] [--parts calls,options,import,sums,others,twins] [--library LIBWARPFOLD.a] [OUT.json]

How far each answer is from the exact one is told beside its time. Times of one run may be compared, never those of two. They are the processor's, of all
threads together, and of some repetitions the least, since others may use the machine; `load` says how many did. xsum and accupy
are timed if they are installed. With --library, an archive as `cmake --build` makes it, the same sums of small arrays are called from C++, too.
"""

import argparse
import ctypes
import importlib
import importlib.util
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from fractions import Fraction

import numpy as np

import warpfold as wf


def least(call, seconds=0.3, repetitions=9):
    """The least time of a call on all processors together, in seconds."""
    timer = timeit.Timer(call, timer=time.process_time)
    number, spent = 1, timer.timeit(1)
    while spent < seconds / repetitions and number < 1 << 20:
        number *= 2
        spent = timer.timeit(number)
    return min(spent, *timer.repeat(repetitions - 1, number)) / number


FROM_CPP = """\
#include <ctime>
#include <span>
#include <warpfold/warpfold.hpp>

template <class T>
static double one(const void* x, long n, long calls) {  // seconds of the processor for a call
  const std::span<const T> elements(static_cast<const T*>(x), static_cast<std::size_t>(n));
  volatile T sink;
  const std::clock_t before = std::clock();
  for (long k = 0; k < calls; ++k) sink = wf::sum(elements);
  (void)sink;
  return static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC / static_cast<double>(calls);
}
extern "C" __attribute__((visibility("default"))) double seconds(int is_double, const void* x, long n, long calls) {
  return is_double ? one<double>(x, n, calls) : one<float>(x, n, calls);
}
"""


def cpp_seconds(library):
    """A function that says what a sum called from C++ takes."""
    compiling = importlib.import_module("warpfold._compile")
    place = tempfile.mkdtemp()
    source, made = (os.path.join(place, name) for name in ("call.cpp", "call.so"))
    with open(source, "w") as f:
        f.write(FROM_CPP)
    subprocess.run([*compiling.compiler(), "-std=c++20", "-O2", "-fPIC", "-shared", "-I", compiling.INCLUDE, source, library, "-pthread", "-Wl,--exclude-libs,ALL", "-o", made],
                   check=True)
    run = ctypes.CDLL(made).seconds
    run.argtypes, run.restype = [ctypes.c_int, ctypes.c_void_p, ctypes.c_long, ctypes.c_long], ctypes.c_double
    return lambda x: min(run(x.dtype == "float64", x.ctypes.data, x.size, 100_000) for _ in range(9))


def small_calls(library):
    rows = []
    from_cpp = cpp_seconds(library) if library else None
    for n in (1, 10, 100, 1000):
        for dtype in ("float64", "float32"):
            x = np.arange(n, dtype=dtype)
            assert wf.sum(x) == x.sum()
            rows.append({"elements": n, "dtype": dtype, "nothing_us": least(lambda: None) * 1e6, "wf.sum_us": least(lambda: wf.sum(x)) * 1e6,
                         "numpy.sum_us": least(lambda: np.sum(x)) * 1e6, "ndarray.sum_us": least(lambda: x.sum()) * 1e6}
                        | ({"from_cpp_us": from_cpp(x) * 1e6} if from_cpp else {}))
    return rows


def calls_with_options():
    """What a call says more than its array, beside the same call of NumPy's."""
    rows = []
    rng = np.random.default_rng(3)
    for shape in ((10,), (1000,), (10, 100), (1000, 1000)):
        x = rng.standard_normal(shape)
        f, i, m, axis = x.astype("float32"), (x * 100).astype("int32"), x > 0, len(shape) - 1
        how = {"axis": axis} if axis else {}
        out = np.empty(shape[:-1])
        pairs = [("sum(x)", lambda: wf.sum(x, **how), lambda: np.sum(x, **how)),
                 ("sum(x, out=o)", lambda: wf.sum(x, out=out, **how), lambda: np.sum(x, out=out, **how)),
                 ("sum(x, where=m)", lambda: wf.sum(x, where=m, **how), lambda: np.sum(x, where=m, **how)),
                 ("mean(x, where=m)", lambda: wf.mean(x, where=m, **how), lambda: np.mean(x, where=m, **how)),
                 ("var(x, where=m)", lambda: wf.var(x, where=m, **how), lambda: np.var(x, where=m, **how)),
                 ("max(x, where=m)", lambda: wf.max(x, where=m, **how), lambda: np.max(x, where=m, initial=-np.inf, **how)),
                 ("sum of f32, dtype=float64", lambda: wf.sum(f, dtype=np.float64, **how), lambda: np.sum(f, dtype=np.float64, **how)),
                 ("mean of f32, dtype=float64", lambda: wf.mean(f, dtype=np.float64, **how), lambda: np.mean(f, dtype=np.float64, **how)),
                 ("sum of f64, dtype=float32", lambda: wf.sum(x, dtype=np.float32, **how), lambda: np.sum(x, dtype=np.float32, **how)),
                 ("sum of i32, dtype=float64", lambda: wf.sum(i, dtype=np.float64, **how), lambda: np.sum(i, dtype=np.float64, **how)),
                 ("sum of i32, dtype=int32", lambda: wf.sum(i, dtype=np.int32, **how), lambda: np.sum(i, dtype=np.int32, **how)),
                 ("sum(x, keepdims=True)", lambda: wf.sum(x, keepdims=True, **how), lambda: np.sum(x, keepdims=True, **how)),
                 ("sum(x[..., ::2])", lambda: wf.sum(x[..., ::2], **how), lambda: np.sum(x[..., ::2], **how)),
                 ("nansum(x)", lambda: wf.nansum(x, **how), lambda: np.nansum(x, **how)),
                 ("argmax(x)", lambda: wf.argmax(x, **how), lambda: np.argmax(x, **how))]
        if not axis:
            ends, labels, numbers = np.arange(0, x.size + 1, 5), np.arange(x.size) % 7, x.tolist()
            pairs += [("sum(x, rounding='up'), beside sum(x)", lambda: wf.sum(x, rounding="up"), lambda: np.sum(x)), ("dot(x, x), beside vdot", lambda: wf.dot(x, x), lambda: np.vdot(x, x)),
                      ("minmax(x), beside min and max", lambda: wf.minmax(x), lambda: (np.min(x), np.max(x))), ("sum of a list", lambda: wf.sum(numbers), lambda: np.sum(numbers)),
                      ("segment_sum, beside add.reduceat", lambda: wf.segment_sum(x, ends), lambda: np.add.reduceat(x, ends[:-1])),
                      ("sum_by_label, beside bincount", lambda: wf.sum_by_label(x, labels), lambda: np.bincount(labels, x)),
                      ("fuse of sum, min, max, beside the three", lambda f=wf.fuse(["sum", "min", "max"]): f(x), lambda: (np.sum(x), np.min(x), np.max(x)))]
        for name, ours, theirs in pairs:
            a, b = (np.asarray(c(), np.float64) for c in (ours, theirs))
            assert np.allclose(a, b, rtol=1e-4, atol=1e-3), (name, shape)
            rows.append({"call": name, "shape": list(shape), "axis": axis or None, "wf_us": least(ours, 0.1) * 1e6, "numpy_us": least(theirs, 0.1) * 1e6})
    return rows


def import_ms():
    code = "import time; a = time.process_time(); import warpfold; print(1e3 * (time.process_time() - a))"
    with_numpy = code.replace("import warpfold;", "import numpy;")
    run = lambda c: min(float(subprocess.run([sys.executable, "-c", c], capture_output=True, text=True, check=True).stdout) for _ in range(7))  # noqa: E731
    return {"warpfold": run(code), "numpy": run(with_numpy)}


def large_sums(n):
    rows = []
    rng = np.random.default_rng(1)
    for dtype in ("float64", "float32"):
        x = rng.standard_normal(n).astype(dtype)
        exact = wf.ExactSum(x).as_fraction()

        def row(name, call, elements, truth, seconds=0.5):
            told = call()
            unit = abs(math.ulp(float(truth))) if dtype == "float64" else float(np.spacing(np.float32(abs(float(truth)))))
            rows.append({"dtype": dtype, "what": name, "elements": elements, "ns_per_element": least(call, seconds, 5) / elements * 1e9,
                         "ulps_off": abs(float(Fraction(float(told)) - truth)) / unit})
        row("wf.sum", lambda: wf.sum(x), n, exact)
        row("wf.sum, accuracy='fast'", lambda: wf.sum(x, accuracy="fast"), n, exact)
        row("numpy.sum", lambda: np.sum(x), n, exact)
        rows_of = x[: n // 10 * 10].reshape(10, -1)
        row("wf.sum of 10 rows, axis 1", lambda: wf.sum(wf.sum(rows_of, axis=1)), rows_of.size, exact)
        row("wf.sum over axis 0", lambda: wf.sum(wf.sum(rows_of, axis=0)), rows_of.size, exact)
        row("numpy.sum over axis 0", lambda: np.sum(np.sum(rows_of, axis=0)), rows_of.size, exact)
        part = x[: min(n, 1_000_000)]
        truth = wf.ExactSum(part).as_fraction()
        numbers = part.tolist()
        row("math.fsum", lambda: math.fsum(numbers), part.size, truth)
        row("wf.fsum of the list", lambda: wf.fsum(numbers), part.size, truth)
        row("wf.sum of as many", lambda: wf.sum(part), part.size, truth)
        try:
            xsum = importlib.import_module("xsum")
            wide = np.ascontiguousarray(part, np.float64)

            def by(kind):
                state = kind()
                xsum.xsum_add(state, wide)
                return xsum.xsum_round(state)
            row("xsum, large", lambda: by(xsum.xsum_large_accumulator), part.size, truth)
            row("xsum, small", lambda: by(xsum.xsum_small_accumulator), part.size, truth)
        except ImportError:
            pass
        try:
            accupy = importlib.import_module("accupy")
            row("accupy.fsum", lambda: accupy.fsum(part), part.size, truth)
            if dtype == "float64":  # the other type it does not take; it writes into its argument
                row("accupy.ksum, K = 2, and a copy", lambda: accupy.ksum(part.copy(), K=2), part.size, truth)
        except ImportError:
            pass
    return rows


def beside_others():
    """f64 of several lengths, kind numbers and numbers that cancel, beside what PyPI has for sums that are right or nearly so."""
    xsum, accupy = (importlib.import_module(name) if importlib.util.find_spec(name) else None for name in ("xsum", "accupy"))
    rows = []
    for n in (1000, 100_000, 1_000_000):
        for digits in (0, 20, 40):  # that the sum loses, about
            rng = np.random.default_rng(n + digits)
            x = rng.standard_normal(n)
            if digits:
                half = x[: n // 2] * 10.0 ** rng.integers(0, digits, n // 2)
                x = np.concatenate([half, -half, rng.standard_normal(n - 2 * (n // 2) + 7)])
                rng.shuffle(x)
            truth = sum(map(Fraction, x.tolist()), Fraction(0))

            def by(kind, x=x):
                state = kind()
                xsum.xsum_add(state, x)
                return xsum.xsum_round(state)
            calls = {"wf.sum": lambda: wf.sum(x), "numpy.sum": lambda: np.sum(x)}
            if xsum:
                calls |= {"xsum, large": lambda: by(xsum.xsum_large_accumulator), "xsum, small": lambda: by(xsum.xsum_small_accumulator)}
            if accupy:
                calls |= {"accupy.fsum": lambda: accupy.fsum(x), "accupy.kahan_sum": lambda: accupy.kahan_sum(x)}
                calls |= {f"accupy.ksum, K = {k}, and a copy": lambda k=k: accupy.ksum(x.copy(), K=k) for k in (2, 3)}  # it writes into its argument
            for name, call in calls.items():
                off = abs(Fraction(float(call())) - truth) / Fraction(math.ulp(float(truth)))
                rows.append({"what": name, "elements": int(x.size), "digits_lost": digits, "ns_per_element": least(call, 0.2, 5) / x.size * 1e9, "ulps_off": float(off)})
    return rows


def twins():
    """The standard library's functions and ours, of one list of floats, and ours of an array of them."""
    rows = []
    x = np.random.default_rng(2).standard_normal(100_000) + 3.0
    pairs = [(n, getattr(statistics, n), getattr(wf.statistics, n)) for n in ("mean", "fmean", "variance", "pvariance", "stdev", "pstdev")]
    pairs.append(("fsum", math.fsum, wf.fsum))
    for n in (2, 10, 100, x.size):
        array, numbers = x[:n], x[:n].tolist()
        for name, theirs, ours in pairs:
            assert ours(numbers) == ours(array) and math.isclose(ours(numbers), theirs(numbers), rel_tol=4e-16), name
            rows.append({"function": name, "elements": n, "standard_ns": least(lambda: theirs(numbers)) / n * 1e9,
                         "list_ns": least(lambda: ours(numbers)) / n * 1e9, "array_ns": least(lambda: ours(array)) / n * 1e9})
        theirs = getattr(math, "sumprod", lambda p, q: math.fsum(a * b for a, b in zip(p, q)))  # before Python 3.12
        rows.append({"function": "sumprod" if hasattr(math, "sumprod") else "sumprod beside fsum of products", "elements": n,
                     "standard_ns": least(lambda: theirs(numbers, numbers)) / n * 1e9, "list_ns": least(lambda: wf.sumprod(numbers, numbers)) / n * 1e9})
    return rows


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--elements", type=int, default=100_000_000)
    a.add_argument("--parts", default="calls,options,import,sums,others,twins")
    a.add_argument("--library", help="an archive, for calls from C++")
    a.add_argument("out", nargs="?")
    given = a.parse_args()
    told = {"command": " ".join(["bench/cpu/python_package.py", *sys.argv[1:]]), "python": sys.version.split()[0], "numpy": np.__version__, "warpfold": wf.__version__,
            "target": importlib.import_module("warpfold._core").cpu_target(), "cores": os.cpu_count(), "load_before": os.getloadavg()[0],
            "date": time.strftime("%Y-%m-%d")}
    parts = {"calls": ("calls", lambda: small_calls(given.library)), "options": ("options", calls_with_options), "import": ("import_ms", import_ms), "sums": ("sums", lambda: large_sums(given.elements)), "others": ("others", beside_others), "twins": ("twins", twins)}
    for part in given.parts.split(","):
        if part not in parts:
            a.error(f"--parts: {part!r} is none of {', '.join(parts)}")
        key, run = parts[part]
        told[key] = run()
    told["load_after"] = os.getloadavg()[0]
    for r in told.get("calls", ()):
        print(f"{r['elements']:>5} {r['dtype']}: wf.sum {r['wf.sum_us']:.2f} µs, numpy.sum {r['numpy.sum_us']:.2f}, x.sum {r['ndarray.sum_us']:.2f}, "
              f"nothing {r['nothing_us']:.2f}" + (f", from C++ {r['from_cpp_us']:.3f}" if "from_cpp_us" in r else ""))
    for r in told.get("options", ()):
        print(f"{'x'.join(map(str, r['shape'])):>9} {r['call']:40} {r['wf_us']:9.2f} µs, NumPy {r['numpy_us']:9.2f}: {r['wf_us'] / r['numpy_us']:.2f}")
    if "import_ms" in told:
        print("import: {warpfold:.1f} ms, numpy {numpy:.1f} ms".format_map(told["import_ms"]))
    for r in told.get("sums", ()):
        print(f"{r['dtype']} {r['elements']:>11,} {r['what']:32} {r['ns_per_element']:8.3f} ns per element, {r['ulps_off']:.3g} ulps off")
    for r in told.get("others", ()):
        print(f"{r['elements']:>9,}, {r['digits_lost']:>2} digits lost, {r['what']:32} {r['ns_per_element']:8.3f} ns per element, {r['ulps_off']:.3g} ulps off")
    for r in told.get("twins", ()):
        print(f"{r['function']:32} of {r['elements']:>7,}: standard library {r['standard_ns']:8.1f} ns per number, here {r['list_ns']:6.1f}" +
              (f", of an array {r['array_ns']:.2f}" if "array_ns" in r else ""))
    print(f"load {told['load_before']:.1f} before, {told['load_after']:.1f} after, of {told['cores']} cores")
    if given.out:
        with open(given.out, "w") as f:
            json.dump(told, f, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main()
