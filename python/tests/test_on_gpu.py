# SPDX-License-Identifier: Apache-2.0
"""Arrays of PyTorch, CuPy, Numba and JAX on a GPU: every answer is that of the same array on the CPU, bit for bit. Skipped, with a word, where there is
no GPU, none of these libraries, or a package without CUDA."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

import warpfold as wf
from arrays import same
from device_arrays import host, real_libraries

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
if importlib.util.find_spec("warpfold._gpu") is None:
    pytest.skip("a package without CUDA", allow_module_level=True)
REAL = real_libraries()
if not REAL:
    pytest.skip("no PyTorch, CuPy or Numba that finds a GPU", allow_module_level=True)
libraries = pytest.mark.parametrize("library", sorted(REAL))

REDUCTIONS = ["sum", "mean", "var", "std", "min", "max", "minmax", "argmin", "argmax", "any", "all", "count_nonzero", "norm", "norm1", "norm_inf",
              "sum_of_squares", "mean_var"]
DTYPES = {"torch": ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64", "complex128"],
          "cupy": ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128"],
          "numba": ["float32", "float64", "int32"]}


def parts(answer):
    return answer if isinstance(answer, tuple) else (answer,)


def elements(dtype, shape, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 10.0**rng.integers(-3, 4, shape)
    if dtype.startswith("complex"):
        return (x + 1j * rng.standard_normal(shape)).astype(dtype)
    if dtype == "bool":
        return x > 0
    if dtype.startswith("float"):
        return np.clip(x, -1000, 1000).astype(dtype)
    return rng.integers(0 if dtype[0] == "u" else -100, 100, shape).astype(dtype)


def functions_of(dtype):
    real = not dtype.startswith("complex")
    return [name for name in REDUCTIONS if real or name in ("sum", "mean", "var", "norm", "mean_var", "count_nonzero")]


def both(name, there, here, library, **how):
    for a, b in zip(parts(getattr(wf, name)(there, **how)), parts(getattr(wf, name)(here, **how))):
        assert type(a).__module__.partition(".")[0].startswith(library)
        same(host(a), np.asarray(b))


@libraries
def test_every_reduction_of_every_type(library):
    on = REAL[library]
    for dtype in DTYPES[library]:
        for shape in ((1000,), (64, 300), (3, 5, 7)):
            x = elements(dtype, shape)
            there = on(x)
            for name in functions_of(dtype):
                for axis in (None, *range(len(shape))):
                    both(name, there, x, library, axis=axis)
                both(name, there, x, library, axis=-1, keepdims=True)
    x = elements("float64", 1000)
    same(host(wf.prod(on(np.exp2(np.sign(x))))), wf.prod(np.exp2(np.sign(x))))
    same(host(wf.logsumexp(on(np.zeros(8)))), wf.logsumexp(np.zeros(8)))


@libraries
def test_views_of_any_strides(library):
    if library == "numba":
        pytest.skip("Numba's arrays have few views")
    on, rng = REAL[library], np.random.default_rng(7)
    for case in range(200):
        shape = tuple(int(n) for n in rng.integers(1, 40, rng.integers(1, 5)))
        x = elements(str(rng.choice(["float32", "float64", "int16"])), shape, case)
        there = on(x)
        order = tuple(int(d) for d in rng.permutation(len(shape)))
        x, there = x.transpose(order), there.permute(order) if library == "torch" else there.transpose(order)
        cut = tuple(slice(int(rng.integers(0, 2)), None, int(rng.choice([1, 2, 3] if library == "torch" else [1, 2, -1, -3]))) for _ in shape)
        x, there = x[cut], there[cut]
        if rng.random() < 0.2:
            wide = (3, *x.shape)
            x, there = np.broadcast_to(x, wide), there.expand(wide) if library == "torch" else sys.modules["cupy"].broadcast_to(there, wide)
        if x.size == 0:
            continue
        axes = tuple(int(d) for d in np.flatnonzero(rng.random(x.ndim) < 0.5)) or None
        for name in ("sum", "var", "max"):
            both(name, there, x, library, axis=axes)
        both("argmin", there, x, library, axis=int(rng.integers(0, x.ndim)))


@libraries
@pytest.mark.parametrize("log2n", [0, 1, 5, 10, 17, 20, 24])
def test_sums_of_many_elements(library, log2n):
    on, n = REAL[library], 1 << log2n
    for dtype in ("float32", "float64"):
        for k in (n - 1, n, n + 1) if log2n < 24 else (n + 1,):
            x = np.random.default_rng(log2n).standard_normal(max(k, 1)).astype(dtype)
            x *= np.exp2(np.arange(x.size) % 60 - 30).astype(dtype)
            there = on(x)
            for name in ("sum", "norm", "mean_var"):
                both(name, there, x, library)
            x[x.size // 2:] = -x[:x.size - x.size // 2][::-1]  # nearly everything cancels
            both("sum", on(x), x, library)
            for rounding in ("up", "zero"):
                both("sum", on(x), x, library, rounding=rounding)


@libraries
def test_what_is_special(library):
    on = REAL[library]
    for x in ([1, np.inf, -np.inf], [np.nan, 1], [np.inf, 1], [-0.0, -0.0], [1e308, 1e308, -1e308], [5e-324, 5e-324], [np.finfo("f8").max] * 3):
        x = np.array(x)
        for name in ("sum", "mean", "min", "max", "argmax", "norm"):
            both(name, on(x), x, library)
    if library != "numba":
        assert host(wf.sum(on(np.zeros(0)))) == 0 and np.isnan(host(wf.mean(on(np.zeros(0)))))
        assert host(wf.sum(on(np.zeros((3, 0), np.float32)), axis=0)).shape == (0,)
        with pytest.raises(ValueError, match="no elements"):
            wf.min(on(np.zeros(0)))
    for wrong, kind in ((lambda: wf.sum(on(np.ones((2, 3))), axis=5), Exception), (lambda: wf.sum(on(np.ones(3)), where=[True, False, True]), TypeError),
                        (lambda: wf.sum(on(np.ones((2, 3))), axis=0, out=on(np.ones(2))), ValueError), (lambda: wf.minmax(on(np.ones(3)), out=on(np.ones(2))), TypeError),
                        (lambda: wf.sum(on(np.ones(3)), out=np.ones(())), TypeError)):
        with pytest.raises(kind) as e:
            wrong()
        assert "\n" not in str(e.value)


@libraries
def test_segments_labels_and_several(library):
    on, rng = REAL[library], np.random.default_rng(2)
    for dtype in ("float32", "float64", "int32"):
        x = elements(dtype, 1 << 20)
        there = on(x)
        offsets = np.sort(rng.integers(0, x.size + 1, 999))
        labels = rng.integers(0, 1000, x.size)
        for cut in (1, 7, 1000, offsets):
            same(host(wf.segment_sum(there, cut)), wf.segment_sum(x, cut))
        same(host(wf.segment_sum(there, on(offsets))), wf.segment_sum(x, offsets))
        same(host(wf.segment_reduce("max", there, offsets)), wf.segment_reduce("max", x, offsets))
        same(host(wf.sum_by_label(there, labels)), wf.sum_by_label(x, labels))
        same(host(wf.sum_by_label(there, on(labels), 1001)), wf.sum_by_label(x, labels, 1001))
        same(host(wf.reduce_by_label("mean", there, on(labels), 1000)), wf.reduce_by_label("mean", x, labels, 1000))
        for a, b in zip(wf.fuse(["sum", "min", "mean"])(there), wf.fuse(["sum", "min", "mean"])(x)):
            same(host(a), np.asarray(b))
    x = elements("float64", (300, 40))
    same(host(wf.dot(on(x), on(x[0]), axis=1)), wf.dot(x, x[0], axis=1))


@libraries
def test_out_and_streams(library):
    on, x = REAL[library], np.random.default_rng(3).standard_normal(1 << 22)
    out = on(np.zeros(()))
    assert wf.sum(on(x), out=out) is out
    same(host(out), wf.sum(x))
    if library == "torch":
        torch = sys.modules["torch"]
        pinned, side, y = torch.zeros((), dtype=torch.float64).pin_memory(), torch.cuda.Stream(), on(x)
        wf.sum(y, out=pinned)
        torch.cuda.synchronize()
        assert pinned.item() == wf.sum(x)
        with torch.cuda.stream(side):
            z = y * 2
            total = wf.sum(z)
        side.synchronize()
        assert float(total) == 2 * wf.sum(x)
        other = wf.sum(y, stream=side)
        side.synchronize()
        assert float(other) == wf.sum(x)
        for _ in range(3):  # what the current stream has still to do comes first
            torch.cuda._sleep(50_000_000)
            y.mul_(2)
            other = wf.sum(y, stream=side)
            side.synchronize()
            x = x * 2
            assert float(other) == wf.sum(x)
        # A graph: scratch memory is there once the stream was reduced on.
        rows = y.view(1 << 11, -1)
        with torch.cuda.stream(side):
            wf.sum(y), wf.sum(rows, axis=1)
        side.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            total, each = wf.sum(y), wf.sum(rows, axis=1)
        for k in (3, 5):
            y.copy_(torch.from_numpy(x * k))
            graph.replay()
            torch.cuda.synchronize()
            assert float(total) == wf.sum(x * k)
            same(host(each), wf.sum((x * k).reshape(1 << 11, -1), axis=1))
    if library == "cupy":
        cupy = sys.modules["cupy"]
        side = cupy.cuda.Stream(non_blocking=True)
        y = on(x)
        cupy.cuda.runtime.deviceSynchronize()
        with side:
            total = wf.sum(y * 2)
        side.synchronize()
        assert float(total) == 2 * wf.sum(x)
        other = wf.sum(y, stream=side)
        side.synchronize()
        assert float(other) == wf.sum(x)


@pytest.mark.parametrize("library", sorted({"torch", "cupy"} & set(REAL)))
def test_plain_calls_do_not_come_to_general_code(library, monkeypatch):
    on, x = REAL[library], elements("float32", (30, 40))
    there = on(x)
    if library == "torch" and "__dlpack_c_exchange_api__" not in vars(type(there)):
        pytest.skip("a PyTorch before 2.10")
    wf.sum(there)  # tells of the type

    class Slow(Exception):
        pass

    def refuse(*given):
        raise Slow
    from warpfold import _general
    for name in ("on_gpu", "dot_on_gpu", "parted_on_gpu"):
        monkeypatch.setattr(_general, name, refuse)
    for name in ("sum", "mean", "max", "argmin", "count_nonzero"):
        for how in ({}, {"axis": 0}, {"axis": -1, "keepdims": True}):
            both(name, there, x, library, **how)
            both(name, there[::2].T, x[::2].T, library, **how)
    for how in ({}, {"keepdims": True}, {"axis": 0}, {"axis": -1, "keepdims": True}):
        for name in ("sum", "mean", "var", "mean_var", "norm"):
            for rounding in ("zero", "away", "up", "down"):
                both(name, there[::2].T, x[::2].T, library, rounding=rounding, **how)
        both("minmax", there, x, library, **how)
        for name, of, dtype in (("sum", x, "float64"), ("mean", x[::2].T, "float64"), ("sum", elements("float16", (30, 40)), "float32"), ("sum", elements("int8", (30, 40)), "int32"),
                                ("prod", elements("int16", (30, 40)), "int16"), ("mean", elements("int32", (30, 40)), "float64")):
            both(name, on(of), of, library, dtype=dtype, **how)
            same(host(getattr(wf, name)(on(of), dtype=getattr(sys.modules[library], dtype), **how)), np.asarray(getattr(wf, name)(of, dtype=dtype, **how)))
        same(host(wf.dot(there, there[1], **how)), np.asarray(wf.dot(x, x[1], **how)))
        for names in (["sum", "max", "var"], ["max", "mean", "min", "argmax" if isinstance(how.get("axis"), int) else "max"]):
            for a, b in zip(wf.fuse(names)(there, **how), wf.fuse(names)(x, **how), strict=True):
                same(host(a), np.asarray(b))
    flat, at = x.reshape(-1), np.array([0, 0, 5, 700, 1200])
    by = np.arange(flat.size) % 13
    for kind in ("int32", "int64"):
        same(host(wf.segment_sum(on(flat), on(at.astype(kind)), rounding="up")), wf.segment_sum(flat, at, rounding="up"))
    same(host(wf.segment_reduce("max", on(flat), 7)), wf.segment_reduce("max", flat, 7))
    same(host(wf.reduce_by_label("mean", on(flat), on(by), 14)), wf.reduce_by_label("mean", flat, by, 14))
    if library == "torch":  # on another stream, after what the current one has still to do, with indexes that are made there
        torch = sys.modules["torch"]
        side = torch.cuda.Stream()
        ends, labels = on(at), on(by)
        torch.cuda._sleep(50_000_000)
        y = on(flat) * 2
        found = [wf.sum(y, stream=side, rounding="down"), wf.segment_sum(y, ends + 0, stream=side), wf.sum_by_label(y, labels + 0, 13, stream=side), wf.dot(y, y + 0, stream=side),
                 *wf.minmax(y, stream=side)]
        side.synchronize()
        twice = flat * 2
        for a, b in zip(found, (wf.sum(twice, rounding="down"), wf.segment_sum(twice, at), wf.sum_by_label(twice, by, 13), wf.dot(twice, twice), *wf.minmax(twice)), strict=True):
            same(host(a), np.asarray(b))
    for call in (lambda: wf.sum(there, rounding="even"), lambda: wf.sum(there[:0]), lambda: wf.sum(there, out=there), lambda: wf.sum_by_label(on(flat), on(by)), lambda: wf.dot(there, on(x[:3])),
                 lambda: wf.segment_sum(on(flat), at)):
        with pytest.raises(Slow):
            call()
    if library == "torch":
        torch = sys.modules["torch"]
        z = torch.ones(3, dtype=torch.complex64, device="cuda")
        same(host(wf.sum(z)), np.complex64(3))
        for such in (there.clone().requires_grad_(), z.conj(), z.conj().imag, there.to_sparse()):
            with pytest.raises(Slow):
                wf.sum(such)
        monkeypatch.undo()
        for such in (z.conj() * (1 + 2j), (z * (1 + 2j)).conj(), (z * (1 + 2j)).conj().imag, torch._neg_view(there), torch._neg_view(there)[::2].T):
            for how in ({}, {"axis": 0}, {"stream": torch.cuda.Stream()}):  # as they are, not as they lie
                found = wf.sum(such, **how)
                torch.cuda.synchronize()
                same(host(found), np.asarray(wf.sum(such.cpu().resolve_conj().resolve_neg().numpy(), **({} if "stream" in how else how))))
        with pytest.raises(TypeError, match="requires? grad"):
            wf.sum(there.clone().requires_grad_())
        with pytest.raises(ValueError, match="out= whose numbers are negated"):
            wf.sum(there, out=torch._neg_view(torch.zeros((), device="cuda")))
        total = wf.sum(there)
        total.record_stream(torch.cuda.Stream())
        total.resize_(2)  # its memory is its own


@pytest.mark.parametrize("library", sorted({"torch", "cupy"} & set(REAL)))
def test_min_and_max_in_one_pass(library):
    on, rng = REAL[library], np.random.default_rng(16)
    for dtype in DTYPES[library]:
        if dtype.startswith("complex"):
            continue
        for n in (1, 100, 4097, 300_001, 5_000_001):
            x = elements(dtype, n, n)
            for at in (0, n - 1, int(rng.integers(0, n))):
                x[at] = np.array(120 if dtype != "bool" else True).astype(dtype)
                x[n - 1 - at] = np.array(0 if dtype[0] in "ub" else -120).astype(dtype)
                both("minmax", on(x), x, library)
    least, greatest = wf.minmax(on(np.array([3.0, 1.0, 2.0])))
    least += 10  # the two are arrays of their own
    assert float(least) == 11 and float(greatest) == 3


@pytest.mark.parametrize("library", sorted({"torch", "cupy"} & set(REAL)))
def test_two_answers_of_one_pass(library):
    on = REAL[library]
    for dtype in DTYPES[library]:
        for shape in ((1000,), (512, 1024), (70_000, 5), (3, 400_000), (17, 131_100)):
            x = elements(dtype, shape, len(shape))
            there = on(x)
            for name in ("mean_var", "minmax") if not dtype.startswith("complex") else ("mean_var",):
                for axis in (None, *range(len(shape))):
                    both(name, there, x, library, axis=axis)
            both("mean_var", there, x, library, axis=0, correction=1, rounding="up")
            if not dtype.startswith("complex"):
                for how in ({}, {"axis": -1}, {"axis": 0, "keepdims": True}):
                    names = ["var", "max", "sum", "min", "mean"]
                    for a, b in zip(wf.fuse(names)(there, **how), wf.fuse(names)(x, **how), strict=True):
                        same(host(a), np.asarray(b))
    x = elements("float32", (512, 1024))
    there, flat = on(x), x.reshape(-1)
    for by in (1000, np.array([0, 0, 7, 100_000, 1 << 19])):
        for name in ("minmax", "mean_var"):
            for a, b in zip(wf.segment_reduce(name, on(flat), by if isinstance(by, int) else on(by)), wf.segment_reduce(name, flat, by), strict=True):
                same(host(a), b)
    mean, var = wf.mean_var(there)
    mean += 10  # they are arrays of their own
    var -= 1
    same(host(mean), wf.mean(x) + np.float32(10))
    same(host(var), wf.var(x) - np.float32(1))
    if library != "torch":
        return
    torch = sys.modules["torch"]
    mean, var = wf.mean_var(there)
    weight = torch.ones((), device="cuda", requires_grad=True)
    product = weight * mean  # which keeps the mean for its derivative
    var.add_(1)
    product.backward()
    assert float(weight.grad) == float(mean) and (mean._version, var._version) == (0, 1) and not mean._is_view()
    side = torch.cuda.Stream()
    torch.cuda._sleep(50_000_000)
    y = there * 2
    found = [*wf.mean_var(y, stream=side), *wf.mean_var(y, axis=1, stream=side), *wf.minmax(y, axis=0, stream=side)]
    side.synchronize()
    for a, b in zip(found, (*wf.mean_var(x * 2), *wf.mean_var(x * 2, axis=1), *wf.minmax(x * 2, axis=0)), strict=True):
        same(host(a), np.asarray(b))
    with torch.cuda.stream(side):
        wf.mean_var(y), wf.mean_var(y, axis=1), wf.minmax(y, axis=0)
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        found = [*wf.mean_var(y), *wf.mean_var(y, axis=1), *wf.minmax(y, axis=0)]
    for k in (3, 5):
        y.copy_(torch.from_numpy(x * k))
        graph.replay()
        torch.cuda.synchronize()
        for a, b in zip(found, (*wf.mean_var(x * k), *wf.mean_var(x * k, axis=1), *wf.minmax(x * k, axis=0)), strict=True):
            same(host(a), np.asarray(b))


@pytest.mark.parametrize("library", sorted({"torch", "cupy"} & set(REAL)))
def test_masks_and_nans(library):
    on, rng = REAL[library], np.random.default_rng(18)
    for dtype in DTYPES[library]:
        for shape in ((1000,), (40, 50), (3, 5, 7), (300, 1001)):
            x = elements(dtype, shape, len(shape))
            if dtype.startswith("float"):
                x[rng.random(shape) < 0.2] = np.nan
            mask = rng.random(shape) < 0.6
            mask[0], mask[..., 0] = True, True  # the CPU has no least one of nothing

            def turned(a):
                return a.permute(*range(a.ndim - 1, -1, -1)) if library == "torch" else a.T
            there, view, theirs = on(x), x.T, turned(on(x))
            for name in functions_of(dtype):
                if not name.startswith("arg"):
                    for axis in (None, 0, -1):
                        for a, b in zip(parts(getattr(wf, name)(there, where=on(mask), axis=axis)), parts(getattr(wf, name)(x, where=mask, axis=axis)), strict=True):
                            same(host(a), np.asarray(b))
            if not dtype.startswith("complex"):
                for name in ("nansum", "nanmean", "nanvar", "nanmin", "nanmax"):
                    both(name, there, x, library)
                    both(name, theirs, view, library, axis=0, keepdims=True)
                    for a, b in zip(parts(getattr(wf, name)(theirs, where=turned(on(mask)), axis=-1)), parts(getattr(wf, name)(view, where=mask.T, axis=-1)), strict=True):
                        same(host(a), np.asarray(b))
    x = elements("float32", (40, 50))
    same(host(wf.nansum(on(x), dtype="float64", where=on(x[0] > 0), axis=1)), wf.sum(x, dtype="float64", where=x[0] > 0, axis=1))
    out = on(np.zeros(50, np.float32))
    assert wf.mean(on(x), where=on(x > 0), axis=0, out=out) is out
    same(host(out), wf.mean(x, where=x > 0, axis=0))
    for where in (x > 0, [True], on(x), 1):
        with pytest.raises(TypeError, match="array of bool of the same library"):
            wf.sum(on(x), where=where)


@pytest.mark.parametrize("library", sorted({"torch", "cupy"} & set(REAL)))
def test_masks_of_all_calls(library, monkeypatch):
    """Places, two arrays, segments, labels, several answers; of few elements and of so many that all blocks have a share."""
    on, rng = REAL[library], np.random.default_rng(19)
    for dtype in ("float32", "float64", "float16", "int32", "int64", "uint8"):
        for shape in ((1000,), (64, 300), (3, 50, 70), (1 << 20,), (1025, 1031)):
            x = elements(dtype, shape, len(shape))
            there = on(x)
            for share in (0.5, 0.001, 0.999):
                mask = rng.random(shape) < share
                mask[0], mask[..., -1], mask[(slice(None), 0)[:x.ndim - 1]] = True, True, True
                where = on(mask)
                for name in ("argmin", "argmax", "sum", "mean_var", "min") if share == 0.5 else ("argmax", "sum"):
                    for axis in (None, *range(len(shape))):
                        both_masked(name, there, where, x, mask, axis=axis)
                for axis in (None, -1) if x.size < 10_000 else (None,):
                    same(host(wf.dot(there, there[:1], where=where, axis=axis)), np.asarray(wf.dot(x, x[:1], where=mask, axis=axis)))
            flat, chosen, ends, labels = x.reshape(-1), mask.reshape(-1), np.sort(rng.integers(0, x.size + 1, 99)), rng.integers(0, 50, x.size)
            flat_there, where = on(flat), on(chosen)
            for by in (1, 77, x.size, ends, ends.astype(np.int32)):
                to = by if isinstance(by, int) else on(by)
                for name in ("sum", "argmin", "max"):
                    same(host(wf.segment_reduce(name, flat_there, to, where=where)), wf.segment_reduce(name, flat, by, where=chosen))
            for name in ("sum", "argmin"):
                same(host(wf.reduce_by_label(name, flat_there, on(labels), 51, where=where)), wf.reduce_by_label(name, flat, labels, 51, where=chosen))
            a, (b, c) = wf.fuse(["sum", "minmax"])(there, where=on(mask), axis=0)
            for one, expected in ((a, wf.sum(x, where=mask, axis=0)), (b, wf.min(x, where=mask, axis=0)), (c, wf.max(x, where=mask, axis=0))):
                same(host(one), np.asarray(expected))
    x = elements("float32", 5_000_003)  # several tiles of a warp
    mask = rng.random(x.size) < 0.4
    for name in ("sum", "var", "argmin"):
        both_masked(name, on(x), on(mask), x, mask)
    both_masked("mean", on(x)[1:], on(mask)[1:], x[1:], mask[1:])
    x = elements("float32", (300, 401))
    there, mask = on(x), x > 0
    nothing = on(np.zeros(x.shape, bool))
    assert float(wf.sum(there, where=nothing)) == 0 and not np.signbit(host(wf.sum(there, where=nothing)))
    assert int(wf.argmin(there, where=nothing)) == -1 and np.isposinf(host(wf.min(there, where=nothing))) and np.isnan(host(wf.mean(there, where=nothing)))
    minus = on(np.array([-0.0, -0.0, np.nan]))
    assert np.signbit(host(wf.nansum(minus)))
    outs = on(np.zeros(401, np.float32)), on(np.zeros(401, np.float32))
    for name in ("minmax", "mean_var"):
        got = getattr(wf, name)(there, axis=0, out=outs)
        assert got[0] is outs[0] and got[1] is outs[1]
        for a, b in zip(outs, getattr(wf, name)(x, axis=0)):
            same(host(a), b)
    if library == "torch" and "__dlpack_c_exchange_api__" not in vars(type(there)):
        return
    from warpfold import _general

    def refuse(*given):
        raise AssertionError("general code")
    for name in ("on_gpu", "dot_on_gpu", "parted_on_gpu"):
        monkeypatch.setattr(_general, name, refuse)
    both_masked("sum", there, on(mask), x, mask)
    both_masked("argmax", there, on(mask[0]), x, mask[0], axis=1)
    same(host(wf.nansum(there)), wf.nansum(x))
    if library == "torch":  # on another stream, and into a graph
        torch = sys.modules["torch"]
        side, where = torch.cuda.Stream(), on(mask)
        torch.cuda._sleep(50_000_000)
        y = there * 2
        found = wf.sum(y, where=where & True, stream=side), wf.argmin(y, where=where, axis=1, stream=side)
        side.synchronize()
        same(host(found[0]), wf.sum(x * 2, where=mask))
        same(host(found[1]), wf.argmin(x * 2, where=mask, axis=1))
        with torch.cuda.stream(side):
            wf.sum(there, where=where), wf.mean_var(there, where=where, axis=0)
        side.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            total, (mean, var), at = wf.sum(there, where=where), wf.mean_var(there, where=where, axis=0), wf.argmax(there, where=where)
        for k in (1, 3):
            there.copy_(torch.from_numpy(x * k))
            where.copy_(torch.from_numpy(x * k > k - 1))
            graph.replay()
            torch.cuda.synchronize()
            now, of = x * k, x * k > k - 1
            for a, b in zip((total, mean, var, at), (wf.sum(now, where=of), *wf.mean_var(now, where=of, axis=0), wf.argmax(now, where=of)), strict=True):
                same(host(a), np.asarray(b))


def both_masked(name, there, where, x, mask, **how):
    for a, b in zip(parts(getattr(wf, name)(there, where=where, **how)), parts(getattr(wf, name)(x, where=mask, **how)), strict=True):
        same(host(a), np.asarray(b))


@libraries
def test_corrections_that_are_fractions(library):
    on = REAL[library]
    for dtype in DTYPES[library]:
        for shape, axes in (((1000,), (None, 0)), ((700, 5), (None, 0, 1)), ((3, 40_000), (None, 1))):
            x = elements(dtype, shape)
            there = on(x)
            for correction, rounding in ((0.5, "nearest"), (-2.25, "up"), (0.1, "down"), (1e-300, "away")):
                for name in ("var", "std", "mean_var"):
                    for axis in axes:
                        both(name, there, x, library, axis=axis, correction=correction, rounding=rounding)
        both("std", there, x, library, axis=0, correction=0.1, rounding="down")  # once: 40,000 roots take the CPU 0.2 s
        same(host(wf.segment_var(on(elements(dtype, (1000,))), 7, correction=0.5)), wf.segment_var(elements(dtype, (1000,)), 7, correction=0.5))


@libraries
def test_states_and_keys_of_arrays_on_a_gpu(library):
    on, rng = REAL[library], np.random.default_rng(20)
    for dtype in DTYPES[library]:
        if dtype.startswith("complex"):
            continue
        x = elements(dtype, (300, 401))
        if dtype.startswith("float"):
            x[0, :3] = np.inf, np.nan, -0.0
        for such in (wf.ExactSum, wf.ExactMoments):
            a = such(on(x))
            assert a == such(x) and a.to_bytes() == such(x).to_bytes(), dtype
            a.add(on(x[5:].copy()))
            a.remove(on(x[5:].copy()))
            assert a == such(x), dtype
    if library == "numba":
        return
    x = elements("float32", 200_000)
    for keys in (rng.integers(-50, 50, x.size), rng.integers(0, 60_000, x.size).astype(np.int32), np.round(rng.standard_normal(x.size)), np.where(x > 0, np.nan, 1.0)):
        for how, here in (({}, {}), ({"where": on(x > 0)}, {"where": x > 0})):
            different, sums = wf.sum_by_key(on(x), on(keys), **how)
            expected = wf.sum_by_key(x, keys, **here)
            same(host(different), expected[0])
            same(host(sums), expected[1])


@pytest.mark.parametrize("library", sorted({"torch", "cupy"} & set(REAL)))
def test_keys_on_another_stream(library):
    on, module, rng = REAL[library], sys.modules[library], np.random.default_rng(37)
    x, keys, mask = elements("float32", 100_000), rng.integers(-50, 50, 100_000), rng.random(100_000) < 0.5
    side = module.cuda.Stream() if library == "torch" else module.cuda.Stream(non_blocking=True)
    there, by, where = on(x), on(keys), on(mask)
    if library == "torch":
        torch = module
        torch.cuda._sleep(50_000_000)  # elements and keys are not there yet
    there, by = there * 2, by + 0
    for chosen, of in ((None, None), (where, mask)):
        for of_keys in (by, keys):
            different, sums = wf.sum_by_key(there, of_keys, where=chosen, stream=side)
            side.synchronize()
            expected = wf.sum_by_key(x * 2, keys, where=of)
            same(np.asarray(host(different)) if of_keys is by else different, expected[0])
            same(host(sums), expected[1])


@pytest.mark.skipif("torch" not in REAL, reason="no PyTorch that finds a GPU")
def test_answers_are_tensors_of_their_own():
    """Made by PyTorch's functions in C++, they are what its functions in Python make."""
    torch = sys.modules["torch"]
    if "__dlpack_c_exchange_api__" not in vars(torch.Tensor):
        pytest.skip("a PyTorch before 2.10")
    x = torch.randn(100, 60, device="cuda")
    wf.sum(x)
    called = []
    sys.setprofile(lambda frame, event, arg: called.append(arg.__name__) if event == "c_call" else None)
    try:
        answers = [wf.sum(x), wf.sum(x, axis=0), wf.argmax(x, axis=1, keepdims=True), wf.count(x, axis=()), *wf.minmax(x), wf.any(x), wf.sum(x, dtype="float64")]
    finally:
        sys.setprofile(None)
    assert "new_empty" not in called, "this PyTorch has no such functions: answers cost two microseconds more"
    types = [torch.float32, torch.float32, torch.int64, torch.int64, torch.float32, torch.float32, torch.bool, torch.float64]
    shapes = [(), (60,), (100, 1), (100, 60), (), (), (), ()]
    for a, dtype, shape in zip(answers, types, shapes, strict=True):
        assert type(a) is torch.Tensor and a.dtype == dtype and a.shape == shape and a.device == x.device and a.is_contiguous()
        assert not a.requires_grad and a.is_leaf and a._version == 0 and not a._is_view() and a.storage_offset() == 0
        assert a.untyped_storage().nbytes() == a.numel() * a.element_size()
    assert len({a.untyped_storage().data_ptr() for a in answers}) == len(answers)
    for dtype in (torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.complex64, torch.complex128):
        assert wf.sum(x[:1].to(dtype), axis=0).dtype == (torch.int64 if dtype == torch.int8 else torch.uint64 if dtype == torch.uint8 else dtype)
    answers[0].add_(1)
    assert answers[0]._version == 1
    mean, var = wf.mean_var(x)  # one piece of memory is all that they share
    assert var.data_ptr() - mean.data_ptr() == 4 and type(mean) is type(var) is torch.Tensor and not mean._is_view() and not var._is_view()
    var.add_(1)
    assert (mean._version, var._version) == (0, 1) and float(mean) == float(wf.mean(x)) and float(var) == float(wf.var(x) + 1)
    with torch.inference_mode():
        assert wf.sum(x).is_inference()
    from torch.utils._python_dispatch import TorchDispatchMode
    heard = []

    class Hears(TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            heard.append(str(operator))
            return operator(*args, **(kwargs or {}))

    with Hears():
        a = wf.sum(x)
    assert any("empty" in operator for operator in heard) and float(a) == float(wf.sum(x))
    a = wf.sum(x)
    weight = torch.ones((), device="cuda", requires_grad=True)
    (a * weight).backward()
    assert float(weight.grad) == float(a)
    # PyTorch knows the memory: it is not given away before a stream that uses it has come there, and then it is.
    side, at = torch.cuda.Stream(), a.data_ptr()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(100_000_000)
    a.record_stream(side)
    del a
    others = [torch.empty((), device="cuda") for _ in range(300)]
    assert at not in {o.data_ptr() for o in others}
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    for _ in range(1000):
        wf.sum(x)
    assert torch.cuda.memory_allocated() == before
    with pytest.raises(torch.OutOfMemoryError):
        wf.sum(x[:1, :1].expand(1 << 20, 1 << 20), axis=())


@pytest.mark.parametrize("library", sorted({"torch", "cupy"} & set(REAL)))
def test_few_elements_are_converted_by_kernels(library, monkeypatch):
    on = REAL[library]
    x, y = elements("float32", (40, 50)), elements("int32", (40, 50))
    there, whole = on(x), on(y)
    wf.sum(there)
    if library == "torch":
        torch = sys.modules["torch"]

        def refuse(*given):
            raise AssertionError("converted by PyTorch")
        with monkeypatch.context() as m:
            m.setattr(torch.Tensor, "to", refuse)
            found = [wf.sum(there, dtype="float64"), wf.sum(there, dtype="float64", axis=1), wf.mean(there, dtype="float64", rounding="up"), wf.sum(whole, dtype="int32"),
                     wf.sum(whole, dtype="int32", axis=0, keepdims=True), wf.prod(whole, dtype="int16")]
        for a, b in zip(found, (wf.sum(x, dtype="float64"), wf.sum(x, dtype="float64", axis=1), wf.mean(x, dtype="float64", rounding="up"), wf.sum(y, dtype="int32"),
                                wf.sum(y, dtype="int32", axis=0, keepdims=True), wf.prod(y, dtype="int16")), strict=True):
            same(host(a), np.asarray(b))
        side, out = torch.cuda.Stream(), torch.zeros((), dtype=torch.float64, device="cuda")
        with torch.cuda.stream(side):
            wf.sum(there, dtype="float64"), wf.minmax(there)
        side.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            total, (least, greatest) = wf.sum(there, dtype="float64"), wf.minmax(there)
        for k in (1, 3):
            there.copy_(torch.from_numpy(x * k))
            graph.replay()
            torch.cuda.synchronize()
            assert float(total) == wf.sum(x * k, dtype="float64") and (float(least), float(greatest)) == wf.minmax(x * k)
        assert wf.sum(there, dtype="float64", out=out) is out and float(out) == wf.sum(x * 3, dtype="float64")
    for n in (1, 65_535, 65_536, 65_537, 1 << 20):
        z, w = elements("float32", n, n), elements("int32", n, n) * 50_000_000
        for dtype, of in (("float64", z), ("int32", w), ("float64", w)):
            for _ in range(3):  # memory that was given back is used again
                same(host(wf.sum(on(of), dtype=dtype)), np.asarray(wf.sum(of, dtype=dtype)))


def test_bf16_of_pytorch():
    torch = pytest.importorskip("torch")
    x = torch.randn(70_000, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)
    for name in ("sum", "mean", "var", "max"):
        there, here = getattr(wf, name)(x.cuda()), getattr(wf, name)(x)
        assert there.dtype == here.dtype == torch.bfloat16 and torch.equal(there.cpu(), here)
    assert wf.sum(x.cuda(), dtype="float64").dtype == torch.float64 and wf.sum(x.cuda(), dtype="float64").item() == wf.sum(x.double()).item()


@libraries
def test_reductions_of_ones_own(library):
    if library == "numba":
        pytest.skip("NVRTC's kernels are the same of any library's array")
    on, rng = REAL[library], np.random.default_rng(5)
    horner = wf.Reduction(state="std::uint64_t value, power;", identity="{0, 1}", lift="{static_cast<std::uint64_t>(x) ^ static_cast<std::uint64_t>(i), 31}",
                          combine="{a.value * b.power + b.value, a.power * b.power}", finish="static_cast<std::int64_t>(s.value + static_cast<std::uint64_t>(n))")
    x = rng.integers(-99, 99, (4, 37, 70)).astype(np.int16)
    there = on(x)
    for axis in (None, 0, -1, (0, 1)):
        same(host(horner(there, axis=axis)), np.asarray(horner(x, axis=axis)))
    for n in (63, 64, 65, 4095, 4097, 12289, 1 << 22):
        y = rng.integers(-99, 99, n).astype(np.int16)
        same(host(horner(on(y))), np.asarray(horner(y)))
    offsets = np.sort(rng.integers(0, y.size + 1, 999))
    offsets[500:] = offsets[-1]  # empty ones, and one of half of all elements
    labels = rng.integers(0, 1000, y.size)
    labels[:y.size // 2] = 7
    for by in (offsets, 10, 1000, y.size // 3):
        same(host(wf.segment_reduce(horner, on(y), by)), wf.segment_reduce(horner, y, by))
    same(host(wf.segment_reduce(horner, on(y), on(offsets))), wf.segment_reduce(horner, y, offsets))
    for given in (labels, on(labels)):
        same(host(wf.reduce_by_label(horner, on(y), given, 1001)), wf.reduce_by_label(horner, y, labels, 1001))
    if library == "torch":  # on another stream, which is waited for
        torch = sys.modules["torch"]
        side, z, given = torch.cuda.Stream(), on(y), on(labels)
        found = wf.reduce_by_label(horner, z, given, 1001, stream=side)
        side.synchronize()
        same(host(found), wf.reduce_by_label(horner, y, labels, 1001))
    farthest = wf.Reduction(state="double d; std::int64_t at;", identity="{-1, -1}", lift="{std::abs(x - y), i}", combine="b.d > a.d ? b : a", finish="s.at", inputs=2)
    a, b = rng.standard_normal((2, 100_000))
    same(host(farthest(on(a), on(b))), np.asarray(farthest(a, b)))
    two = wf.Reduction(state="T", identity="T(0)", combine="std::max(a, b)", finish="std::array<T, 2>{s, T(n)}")
    for dtype in ("float32", "float16", "int8"):
        z = (a[:300] * 20).astype(dtype).reshape(3, 100)
        same(host(two(on(z), axis=1)), two(z, axis=1))
    with pytest.raises(wf.CompileError, match="lift=, line 1") as e:
        wf.Reduction(state="double", identity="0", lift="x + nothing", combine="a + b")(on(a))
    assert "\n" not in str(e.value)


def test_operators_and_mode_of_pytorch(monkeypatch):
    torch = pytest.importorskip("torch")
    import test_torch
    from warpfold.torch import exact

    def the_same(got, expected):
        assert got.device.type == "cuda" and got.dtype == expected.dtype and got.shape == expected.shape
        assert torch.equal(torch.nan_to_num(got.cpu()), torch.nan_to_num(expected))
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        x = test_torch.elements(dtype)
        for name, op in test_torch.OPS.items():
            if name == "logsumexp":
                continue  # native arithmetic: the order is a GPU's
            for how in test_torch.HOW:
                the_same(op(x.cuda().mT, **how), op(x.mT, **how))
        for name, (theirs, ours) in test_torch.CALLS.items():
            if name in ("logsumexp", "out"):
                continue
            with exact():
                got = theirs(x.cuda())
            the_same(got, ours(x))
    x = test_torch.elements(torch.float64, (2, 3)).clamp(-3, 3).cuda().requires_grad_()
    for name, op in test_torch.OPS.items():
        torch.library.opcheck(op, (x, [1]))
        assert torch.autograd.gradcheck(lambda v: op(v, [1]), (x,))  # noqa: B023
    y = torch.tensor([1e8, 1.0, -1e8], device="cuda", requires_grad=True)
    with exact():
        total = y.sum()
        (total * 2).backward()
    assert total.item() == 1.0 and y.grad.tolist() == [2.0] * 3
    compiled = torch.compile(lambda v: torch.ops.warpfold.sum(v * 2, [1]), backend="eager", fullgraph=True)
    z = torch.randn(30, 500, device="cuda")
    the_same(compiled(z), wf.sum(z.cpu() * 2, axis=1))
    # Plain tensors are answered before PyTorch chooses; those with derivatives are not.
    from warpfold import _functions
    expected = {name: op(z.cpu(), [1]) for name, op in test_torch.OPS.items() if name != "logsumexp"}
    for name in test_torch.OPS:
        monkeypatch.setattr(_functions, name, lambda *given, **named: 1 / 0)
    for name, want in expected.items():
        the_same(test_torch.OPS[name](z, [1]), want)
        the_same(test_torch.OPS[name].default(z, [1]), want)
        with pytest.raises(ZeroDivisionError):
            test_torch.OPS[name](z.clone().requires_grad_(), [1])


@pytest.mark.skipif("torch" not in REAL, reason="no PyTorch that finds a GPU")
def test_operators_in_graphs():
    """In a process of its own, where a capture is the first to need what the package makes once."""
    done = subprocess.run([sys.executable, "-c", "import test_on_gpu; test_on_gpu.operators_in_graphs()"], capture_output=True, text=True, cwd=os.path.dirname(__file__))
    assert done.returncode == 0, done.stdout + done.stderr


def operators_in_graphs():
    """On a stream that was never reduced on, as that of `torch.cuda.graph` is: the graph's answers are those of what lies there when it is launched, again and again."""
    torch = sys.modules["torch"]
    import warpfold.torch  # noqa: F401
    ops, side = torch.ops.warpfold, torch.cuda.Stream()
    x, weight = elements("float32", (300, 1001)), torch.ones(1001, device="cuda", requires_grad=True)
    there, labels = torch.from_numpy(x).cuda(), torch.arange(1001, device="cuda") % 7

    def operators(v):
        (slope,) = torch.autograd.grad(ops.norm(v * weight, [1]).sum(), weight)
        return [ops.sum(v), ops.sum(v, [1]), ops.sum(v, [0], True), ops.mean(v, [1]), ops.var(v, [0]), ops.var(v, None, 0.5), ops.norm(v), ops.sum(v, [1], False, "up"), slope]

    def functions(v):
        return [wf.sum(v), wf.max(v, axis=1), *wf.mean_var(v), wf.mean(v, axis=0, where=v > 0), wf.sum_by_label(v[0], labels, 7), wf.sum(v, dtype="float64")]
    ops.norm(there * weight, [1]).sum().backward()  # which makes what PyTorch keeps for derivatives
    torch.cuda.synchronize()
    graphs = []
    for asked in (operators, functions):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            found = asked(there)
        graphs.append((graph, asked, found))
    for k in (1, 3, 5):
        there.copy_(torch.from_numpy(x * k))
        now = torch.from_numpy(x * k).cuda()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # not from a graph, with the memory that the graphs use, and before any of them was launched
            found = operators(now)
        torch.cuda.current_stream().wait_stream(side)
        for a, b in zip(found, operators(now), strict=True):
            same(host(a), host(b))
        for graph, asked, found in reversed(graphs):
            for _ in range(2):
                graph.replay()
            torch.cuda.synchronize()
            for a, b in zip(found, asked(now), strict=True):
                same(host(a), host(b))


@pytest.mark.skipif("torch" not in REAL, reason="no PyTorch that finds a GPU")
def test_compiled_functions_as_graphs():
    torch = sys.modules["torch"]
    pytest.importorskip("triton")
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler, which Triton needs")
    import warpfold.torch  # noqa: F401
    from torch._dynamo.utils import counters

    def f(v):
        w = v * 2
        return torch.ops.warpfold.sum(w, [1]) + torch.ops.warpfold.mean(w), torch.ops.warpfold.norm(w, [0])
    compiled = torch.compile(f, mode="reduce-overhead", fullgraph=True)
    before = counters["inductor"]["cudagraph_skips"]
    for k in range(5):  # it is run, captured, and then launched
        x = torch.from_numpy(elements("float32", (60, 1001), k)).cuda()
        torch.compiler.cudagraph_mark_step_begin()
        for a, b in zip(compiled(x), f(x), strict=True):
            same(host(a), host(b))
    assert counters["inductor"]["cudagraph_skips"] == before
    from torch._inductor import cudagraph_trees
    manager = cudagraph_trees.get_manager(0, create_if_none_exists=False)
    assert manager is not None and manager.new_graph_id().id > 0, "no graph was made"


def test_jax_on_a_gpu():
    """In a process of its own, which may take JAX's platform as it is."""
    if importlib.util.find_spec("jax") is None or "torch" not in REAL:
        pytest.skip("no JAX, or no PyTorch whose memory takes the answer")
    code = """
import jax, numpy as np, torch, warpfold as wf
if jax.default_backend() != "gpu":
    raise SystemExit(77)
x = np.random.default_rng(1).standard_normal(100_000).astype("f4")
there, out = jax.device_put(x), torch.zeros((), device="cuda")
wf.sum(there, out=out)
assert out.item() == wf.sum(x)
try:
    wf.sum(there)
except TypeError as e:
    assert "give out=" in str(e) and "\\n" not in str(e), e
else:
    raise SystemExit("an answer without out=")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"})
    if done.returncode == 77:
        pytest.skip("a JAX without its plugin for CUDA")
    assert done.returncode == 0, done.stdout + done.stderr


def test_ranks_on_gpus(tmp_path):
    torch = pytest.importorskip("torch")
    if not torch.distributed.is_nccl_available():
        pytest.skip("a PyTorch without NCCL")
    script = os.path.join(os.path.dirname(__file__), "ranks_on_gpus.py")
    answers = set()
    for size in sorted({1, min(2, torch.cuda.device_count()), torch.cuda.device_count()}):
        run = [subprocess.Popen([sys.executable, script, str(k), str(size), str(tmp_path / f"meet{size}")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
               for k in range(size)]
        try:
            told = [p.communicate(timeout=120)[0] for p in run]
        finally:
            for p in run:
                p.kill()
        assert [p.returncode for p in run] == [0] * size, "\n".join(told)
        answers |= {line for t in told for line in t.splitlines() if line.startswith("answers")}
    assert len(answers) == 1  # a sum and a gradient's norm, for any number of ranks


def test_blocks_of_dask_and_xarray_on_a_gpu():
    """Blocks of CuPy, as the workers of dask-cuda have them: states are made on the GPU, and answers are CuPy's too."""
    cupy, da = pytest.importorskip("cupy"), pytest.importorskip("dask.array")
    import warpfold.dask as wfd
    from warpfold.states import Form
    x = np.random.default_rng(3).standard_normal((400, 30)) * 10.0 ** np.random.default_rng(4).integers(-100, 100, (400, 30))
    for chunks in ((400, 30), (37, 11), (1, 30)):
        there = da.from_array(cupy.asarray(x), chunks=chunks, asarray=False)
        assert type(there.blocks[0, 0].compute()) is cupy.ndarray
        for name in ("sum", "mean", "var", "norm", "min", "argmax"):
            for axis in (None, 0, 1):
                found = getattr(wfd, name)(there, axis=axis).compute()
                assert type(found) is cupy.ndarray
                same(found.get(), np.asarray(getattr(wf, name)(x, axis=axis)))
    hidden = there.map_blocks(lambda b: b, dtype=x.dtype, meta=np.empty((0, 0)))  # Dask does not know that these are CuPy's
    same(wfd.mean_var(hidden, axis=0)[1].compute(), wf.var(x, axis=0))
    for dtype in ("float32", "float16", "int32", "complex64"):
        few = (x[:60] / 1e100).astype(dtype) if dtype != "int32" else np.arange(1800).astype(dtype).reshape(60, 30)
        for name in ("sum", "mean", "sum_of_squares") + (() if dtype == "complex64" else ("max", "argmin")):
            for axis in (None, 0, 1):
                form = Form(name, dtype)
                assert form.of(cupy.asarray(few), axis=axis).tobytes() == form.of(few, axis=axis).tobytes(), (dtype, name, axis)
    xr = pytest.importorskip("xarray")
    import warpfold.xarray  # noqa: F401
    with_nans = np.where(x > 0, x, np.nan)
    for skipna in (None, False):
        for data, here in ((cupy.asarray(x), x), (there, x), (cupy.asarray(with_nans), with_nans)):
            found = xr.DataArray(data, dims=("time", "place"), attrs={"units": "K"}).warpfold.sum("time", skipna=skipna, keep_attrs=True)
            assert found.attrs == {"units": "K"}
            value = found.data.compute() if hasattr(found.data, "compute") else found.data
            assert type(value) is cupy.ndarray
            same(host(value), (wf.nansum if skipna is None else wf.sum)(here, axis=0))


def test_workers_of_dask_with_a_gpu():
    """Processes whose blocks are CuPy's, as those of dask-cuda: states are made on the GPU, one of the workers dies, and answers come back as CuPy's."""
    cupy, da, distributed = pytest.importorskip("cupy"), pytest.importorskip("dask.array"), pytest.importorskip("distributed")
    import warpfold.dask as wfd
    r = np.random.default_rng(5)
    x = r.standard_normal((600, 40)) * 10.0 ** r.integers(-100, 100, (600, 40))
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50, memory_limit=0) as cluster, \
            distributed.Client(cluster) as client:
        there = da.from_array(x, chunks=(250, 20)).map_blocks(cupy.asarray, dtype=x.dtype, meta=cupy.empty((0, 0)))
        for name in ("sum", "var", "nanmax", "argmin"):
            for axis in (None, 0, 1):
                found = client.compute(getattr(wfd, name)(there, axis=axis)).result(timeout=60)
                assert type(found) is cupy.ndarray
                same(found.get(), np.asarray(getattr(wf, name)(x, axis=axis)))
        pids = client.run(os.getpid)
        later = client.compute(wfd.mean(there, axis=0, split_every=2))
        os.kill(next(iter(pids.values())), signal.SIGKILL)
        same(later.result(timeout=60).get(), wf.mean(x, axis=0))
