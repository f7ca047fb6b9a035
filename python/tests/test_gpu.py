# SPDX-License-Identifier: Apache-2.0
"""Arrays on a GPU: what is read of them, on which stream, where answers go. With the module for simt (tests/python builds it), on arrays
that only say that they are there; test_on_gpu.py has those of PyTorch, CuPy and Numba on a GPU itself."""

import importlib.util
import os
import subprocess
import sys
import types

import numpy as np
import pytest
from hypothesis import given

import warpfold as wf
from arrays import INTEGERS, laid_out, same, with_axes
import device_arrays
from device_arrays import Cuda, Interface, Ndarray, Tensor, host
from warpfold import _core, _device, _general
from warpfold._inputs import CODES

os.environ.pop("LD_PRELOAD", None)  # it is for warpfold._simt, and not for what is run from here
try:
    SIMT = importlib.import_module("warpfold._simt") is not None
except ImportError:  # not there, or not preloaded: its memory of threads is more than a module may bring later
    SIMT = False
simt = pytest.mark.skipif(not SIMT, reason="no module warpfold._simt in LD_PRELOAD: tests/python builds the package with it, and runs this file so")


@pytest.fixture(autouse=True)
def simulated():
    if SIMT:
        _device.on_simt()
    yield
    _device.on_simt(False)


def both(name, x, place=Cuda, **how):
    """The function on the GPU and on the CPU, which must give the same."""
    there = getattr(wf, name)(place(x), **how)
    here = getattr(wf, name)(x, **how)
    for a, b in zip(there if isinstance(there, tuple) else (there,), here if isinstance(here, tuple) else (here,)):
        assert type(a) is Cuda
        same(a.x, np.asarray(b))


REDUCTIONS = ["sum", "prod", "mean", "var", "std", "min", "max", "minmax", "argmin", "argmax", "any", "all", "count_nonzero", "norm", "norm1",
              "norm_inf", "sum_of_squares", "mean_var"]


@simt
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16", "uint8", "bool"])
def test_every_reduction_is_that_of_the_cpu(name, dtype):
    rng = np.random.default_rng(3)
    x = (rng.standard_normal((5, 7, 3)) * 50).astype(dtype)
    if name == "prod" and x.dtype.kind == "f":
        x = np.ldexp(np.ones(x.shape), rng.integers(-1, 2, x.shape)).astype(dtype)
    both(name, x)
    both(name, x, axis=1)
    both(name, x, axis=-1, keepdims=True)
    both(name, x.transpose(2, 0, 1), axis=0)
    if not name.startswith("arg"):
        both(name, x[:, ::2], axis=(0, 2))


@simt
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers(dtype):
    x = (np.arange(12) - 5j * np.arange(12) ** 2).astype(dtype).reshape(3, 4)
    for name in ("sum", "mean", "var", "norm", "mean_var", "count_nonzero"):
        both(name, x)
        both(name, x, axis=1)


@simt
@given(with_axes(laid_out(["float32", "int16"], max_dims=3)))
def test_layouts(x_and_axis):
    x, axis = x_and_axis
    if not x.dtype.isnative or not x.flags.aligned:
        return  # refused, see below
    if not x.flags.writeable:
        x = x.copy()  # NumPy gives no capsules of others
    both("sum", x, axis=axis)
    both("max" if x.size else "sum", x, axis=axis, keepdims=True)


@simt
def test_rounding_and_accuracy_and_correction():
    x = np.array([1.0, 2.0**-60, 3.0])
    for rounding in ("nearest", "zero", "up", "down", "away"):
        both("sum", x, rounding=rounding)
    both("sum", x, accuracy="fast")
    both("var", x, correction=1)
    with pytest.raises(ValueError, match="'nearest', 'zero'"):
        wf.sum(Cuda(x), rounding="even")


@simt
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32", "uint8", "bool", "complex64", "complex128"])
def test_corrections_that_are_fractions(dtype):
    rng = np.random.default_rng(9)
    x = (rng.standard_normal((5, 40, 3)) * 50).astype(dtype)
    flat, labels, offsets = x.reshape(-1), rng.integers(0, 7, x.size), np.sort(rng.integers(0, x.size, 9))
    for correction, rounding in ((0.5, "nearest"), (-2.25, "up"), (0.1, "down"), (39.5, "zero"), (40.5, "nearest"), (1e-300, "up"), (-5e-324, "away")):
        how = {"correction": correction, "rounding": rounding}
        for name in ("var", "std", "mean_var"):
            both(name, x, **how)
            both(name, x, axis=1, keepdims=True, **how)
            both(name, x, axis=(0, 2), **how)
            if name != "mean_var" and dtype != "bool":
                for f in (lambda a, n=name: getattr(wf, f"segment_{n}")(a, 7, **how), lambda a, n=name: wf.segment_reduce(n, a, Cuda(offsets) if isinstance(a, Cuda) else offsets, **how),  # noqa: B023
                          lambda a, n=name: wf.reduce_by_label(n, a, Cuda(labels) if isinstance(a, Cuda) else labels, 8, **how)):  # noqa: B023
                    same(f(Cuda(flat)).x, f(flat))
        for a, b in zip(wf.fuse(["mean", "var", "max" if x.dtype.kind != "c" else "sum"])(Cuda(x), **how), wf.fuse(["mean", "var", "max" if x.dtype.kind != "c" else "sum"])(x, **how)):
            same(a.x, np.asarray(b))
    if x.dtype.kind in "fc":
        x[2, 3, 1] = np.nan
        both("var", x, axis=1, correction=0.5)
    both("std", x[:0], correction=-0.5)
    to = Cuda(np.zeros(3, wf.var(x, axis=(0, 1)).dtype))
    assert wf.var(Cuda(x), axis=(0, 1), correction=0.5, out=to) is to
    same(to.x, wf.var(x, axis=(0, 1), correction=0.5))


@pytest.fixture
def told(monkeypatch):
    """Arrays as PyTorch's and CuPy's of which the fast path knows, and a general path that refuses to work."""
    compiled = _device.kernels("sum")
    for kind, library in ((Tensor, _device._Torch(device_arrays.torch)), (Ndarray, _device._Cupy(device_arrays.cupy))):
        monkeypatch.setitem(_device._libraries, kind, library)
        _device.tell_fast_path(kind, library, compiled)

    class Slow(Exception):
        pass

    def refuse(*given, **named):
        raise Slow
    for name in ("on_gpu", "dot_on_gpu", "parted_on_gpu"):
        monkeypatch.setattr(_general, name, refuse)
    return Slow


def placed(kind, x):
    return Ndarray(None, None, x) if kind is Ndarray else kind(x)


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_plain_calls_do_not_come_to_general_code(told, kind):
    rng = np.random.default_rng(4)
    for dtype in ("float32", "int32", "bool"):
        x = (rng.standard_normal((5, 7, 3)) * 50).astype(dtype)
        for view in (x, x.transpose(2, 0, 1), x[:, ::2], x[::-1], x[1], x[0, 0, :1].reshape(()), np.broadcast_to(x[0], (4, 7, 3))):
            for name in ("sum", "mean", "var", "std", "min", "max", "argmin", "argmax", "any", "all", "count_nonzero", "norm", "sum_of_squares"):
                hows = [{}, *({"axis": d, "keepdims": k} for d in range(-1, view.ndim) if view.ndim for k in (False, True))]
                hows += [{"axis": (view.ndim - 1, 0)}, {"axis": ()}] if not name.startswith("arg") and view.ndim > 1 else []
                hows += [{"correction": c, "axis": -1} for c in (1, -2)] if name in ("var", "std") and view.ndim else []
                for how in hows:
                    expected = getattr(wf, name)(view, **how)
                    if kind is Tensor and expected.dtype.name not in vars(device_arrays.torch):
                        continue
                    got = getattr(wf, name)(placed(kind, view), **how)
                    assert type(got) is kind
                    same(got.x, np.asarray(expected))


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_plain_calls_with_out_and_fast_ones_do_not_either(told, kind):
    x = np.random.default_rng(7).standard_normal((3, 40)).astype(np.float32)
    for how in ({}, {"axis": 0}, {"axis": 1, "keepdims": True}):
        for name in ("sum", "var", "argmax"):
            if name == "argmax" and how.get("axis") is None:
                continue
            expected = np.asarray(getattr(wf, name)(x, **how))
            out = placed(kind, np.full_like(expected, 7))
            assert getattr(wf, name)(placed(kind, x), out=out, **how) is out
            same(out.x, expected)
    large = np.array([1e16, 1.0, -1e16, 0.5] * 3)
    same(wf.sum(placed(kind, large), accuracy="fast").x, _fast_on_simt(large))


@simt
def test_plain_calls_on_another_stream_of_pytorch_do_not_either(told):
    class Stream:
        cuda_stream = 0

    class Other:
        cuda_stream = "none"

    x = np.random.default_rng(8).standard_normal((3, 40)).astype(np.float32)
    for how in ({}, {"axis": 0}, {"accuracy": "fast"}):
        there, stream = Tensor(x), Stream()
        found = wf.sum(there, stream=stream, **how)
        assert there.recorded == found.recorded == [stream]  # neither's memory is given away before
        if "accuracy" not in how:
            same(found.x, np.asarray(wf.sum(x, **how)))
    there, out = Tensor(x), Tensor(np.full((), 7, np.float32))
    assert wf.sum(there, stream=stream, out=out) is out and out.recorded == [stream]
    same(out.x, np.asarray(wf.sum(x)))
    for stream in (1, object(), Other()):
        with pytest.raises(told):
            wf.sum(there, stream=stream)
    with pytest.raises(told):  # CuPy's memory belongs to a stream
        wf.sum(placed(Ndarray, x), stream=Stream())


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_calls_with_options_do_not_either(told, kind):
    rng = np.random.default_rng(11)
    x = (rng.standard_normal((5, 7, 3)) * np.exp2(rng.integers(-40, 40, (5, 7, 3)))).astype(np.float32)

    def check(call, *arrays):
        found, expected = call(*(placed(kind, a) for a in arrays)), call(*arrays)
        for a, b in zip(found if isinstance(found, tuple) else (found,), expected if isinstance(expected, tuple) else (expected,), strict=True):
            if isinstance(a, tuple):
                check_all(a, b)
            else:
                check_all((a,), (b,))

    def check_all(found, expected):
        for a, b in zip(found, expected, strict=True):
            assert type(a) is kind
            same(a.x, np.asarray(b))
    hows = [{}, {"keepdims": True}, {"axis": 1}, {"axis": (0, 2), "keepdims": True}, {"axis": (2, 1)}]
    for view in (x, x.transpose(2, 0, 1), x[:, ::2], x[::-1]):
        for how in hows:
            for rounding in ("nearest", "zero", "away", "up", "down"):
                check(lambda a: wf.sum(a, rounding=rounding, **how), view)  # noqa: B023
                check(lambda a: wf.var(a, rounding=rounding, correction=1, **how), view)  # noqa: B023
                check(lambda a: wf.dot(a, a, rounding=rounding, **how), view)  # noqa: B023
            check(lambda a: wf.sum(a, where=True, **how), view)  # noqa: B023
            check(lambda a: wf.minmax(a, **how), view)  # noqa: B023
            check(lambda a: wf.mean_var(a, correction=1, **how), view)  # noqa: B023
            check(lambda a: wf.mean_var(a, rounding="down", **how), view)  # noqa: B023
            check(lambda a: wf.fuse(["sum", "max", "mean"])(a, **how), view)  # noqa: B023
            check(lambda a: wf.fuse(["minmax", "var", "mean_var"])(a, correction=2, rounding="up", **how), view)  # noqa: B023
            check(lambda a: wf.fuse(["max", "sum", "min", "max", "minmax"])(a, **how), view)  # noqa: B023
    check(lambda a: wf.fuse(["argmax", "sum"])(a, axis=1), x)
    for a, b in ((x, x[1]), (x[1], x), (x[:, :1], x[0]), (x[..., :1], x[:1]), (x, x[0, 0, :1].reshape(()))):
        check(wf.dot, a, b)
        check(lambda a, b: wf.dot(a, b, axis=-1, keepdims=True), a, b)
        check(lambda a, b: wf.dot(a, b, axis=(0, 2)), a, b)
        out = placed(kind, np.full_like(wf.dot(a, b, axis=1), 7))
        assert wf.dot(placed(kind, a), placed(kind, b), axis=1, out=out) is out
        same(out.x, wf.dot(a, b, axis=1))
    z = (np.arange(6) - 2j * np.arange(6) ** 2).astype(np.complex128)
    if kind is Ndarray:
        check(wf.mean_var, z)
        check(lambda a: wf.dot(a, a), z)
        check(lambda a: wf.sum(a, dtype="complex128"), z.astype(np.complex64))


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_min_and_max_of_every_type_and_size_do_not_either(told, kind):
    """Of whole arrays without gaps one pass finds both."""
    rng = np.random.default_rng(15)
    types = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")
    for dtype in (t for t in types if kind is Ndarray or t in vars(device_arrays.torch)):
        for n in (1, 2, 31, 1000, 5003, 70_001):
            x = (rng.standard_normal(n) * 60).astype(dtype) if dtype[0] != "u" else rng.integers(0, 250, n).astype(dtype)
            for at, extreme in ((0, 100), (n - 1, 101), (n // 2, 102), (n - 1, 0), (0, 99)) if n < 5000 else ((n - 1, 120), (n - 1, 0), (0, 121)):
                x[at] = extreme if dtype[0] in "ub" or extreme else -99
                expected = wf.minmax(x)
                for found in (wf.minmax(placed(kind, x)), wf.fuse(["min", "max"])(placed(kind, x)), wf.fuse(["max", "mean", "min"])(placed(kind, x))[::-2]):
                    for a, b in zip(found, expected, strict=True):
                        assert type(a) is kind
                        same(a.x, np.asarray(b))
    for special in ([np.nan, 1, 2], [3, np.nan], [np.inf, -np.inf, 0], [-0.0, 0.0], [0.0, -0.0]):
        for dtype in ("float16", "float32", "float64"):
            x = np.array(special, dtype)
            for a, b in zip(wf.minmax(placed(kind, x)), wf.minmax(x), strict=True):
                same(a.x, np.asarray(b))
    with pytest.raises(told):
        wf.minmax(placed(kind, np.ones(0, np.float32)))


def rooms_since_now():
    """The shapes of all arrays of a library that are made for answers from now on."""
    made = device_arrays.rooms
    del made[:]
    return made


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_mean_and_variance_of_a_whole_array_are_one_answer_of_the_library(told, kind):
    """Two arrays of their own but for the memory, of which there is one piece, of libraries that have such: not of a PyTorch without the functions in C that test_on_gpu.py's has."""
    rng, one_piece = np.random.default_rng(21), kind is Ndarray
    for dtype in ("float16", "float32", "float64", "int32"):
        x = (rng.standard_normal((3, 70)) * 40).astype(dtype)
        for view in (x, x[:, ::2], x.T):
            for how in ({}, {"keepdims": True}, {"correction": 1}, {"rounding": "up"}, {"axis": (0, 1), "correction": 2}):
                mean, var = wf.mean_var(placed(kind, view), **how)
                assert type(mean) is type(var) is kind
                at = [one.x.ctypes.data for one in (mean, var)]
                assert (at[1] - at[0] == mean.x.itemsize) == one_piece
                for a, b in zip((mean, var), wf.mean_var(view, **how), strict=True):
                    same(a.x, np.asarray(b))
    x = (rng.standard_normal(300) * 1e8 + 1e16).astype(np.float32)
    there, names = placed(kind, x), ["var", "max", "mean", "sum", "mean", "min", "mean_var"]
    wf.fuse(names)(there)
    made = rooms_since_now()
    found = wf.fuse(names)(there)
    assert sorted(made) == sorted([*([(2,)] if one_piece else [(), ()]), (), (), (), (), (), ()]), made  # mean and var in one, min and max of one pass
    for a, b in zip((*found[:-1], *found[-1]), (*(e := wf.fuse(names)(x))[:-1], *e[-1]), strict=True):
        same(a.x, np.asarray(b))
    del made[:]
    for a, name in zip(wf.fuse(["mean", "var"])(there, accuracy="fast"), ("mean", "var"), strict=True):  # each as the function alone gives it
        same(a.x, np.asarray(getattr(wf, name)(there, accuracy="fast").x))
    assert (2,) not in made


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_pairs_of_many_elements_are_found_in_one_pass_and_parted(told, kind):
    rng = np.random.default_rng(22)
    types = ("float16", "float32", "float64", "int8", "int32", "int64", "uint16", "bool")
    made = rooms_since_now()

    def check(call, x, pairs, *more):
        expected = call(x, *more)
        there = [placed(kind, a) for a in (x, *more)]
        for _ in range(3):
            call(*there)  # shapes are remembered
        del made[:]
        found = call(*there)
        assert len(made) == len(expected) + pairs, (x.dtype, made)
        for a, b in zip(found, expected, strict=True):
            assert type(a) is kind and a.x.flags.c_contiguous
            same(a.x, np.asarray(b))
    for dtype in (t for t in types if kind is Ndarray or t in vars(device_arrays.torch)):
        x = (rng.standard_normal((64, 4096)) * 60).astype(dtype)
        for axis in (0, 1):
            for call in (wf.minmax, wf.mean_var):
                check(lambda a: call(a, axis=axis), x, 1)  # noqa: B023
    x = rng.standard_normal((512, 512)).astype(np.float32)
    names = ["var", "max", "sum", "min", "mean"]
    for how, pairs in (({"axis": 0}, 1), ({"axis": 1, "keepdims": True, "rounding": "down", "correction": 3}, 1)):
        check(lambda a: wf.fuse(names)(a, **how), x, pairs)  # noqa: B023
        check(lambda a: wf.fuse(names)(a, **how), x[::-1].T, pairs)  # noqa: B023
    check(lambda a: wf.minmax(a, axis=1), x[:511], 0)  # too few elements
    short = x.reshape(-1, 8)
    check(lambda a: wf.minmax(a, axis=1), short, 0)  # too many answers
    check(lambda a: wf.minmax(a, axis=0), rng.integers(-99, 99, (16, 131_100)).astype(np.int8 if kind is Ndarray else np.int32), 1)  # more answers than threads part them
    flat, ends = x.reshape(-1), np.array([0, 0, 5, 100_000, 1 << 18])
    for by in (ends[1:], 5000):
        def call(a, *b, by=by):
            return wf.segment_reduce("minmax", a, *(b or (by,)))
        more = () if isinstance(by, int) else (by,)
        check(call, flat, 1, *more)


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_few_elements_are_converted_by_kernels(told, kind, monkeypatch):
    rng = np.random.default_rng(16)
    conversions = []
    name = "to" if kind is Tensor else "astype"
    theirs = getattr(kind, name)
    monkeypatch.setattr(kind, name, lambda x, dtype: conversions.append(dtype) or theirs(x, dtype))

    def check(x, want, by_kernels, what="sum", **how):
        conversions.clear()
        got, expected = getattr(wf, what)(placed(kind, x), dtype=want, **how), np.asarray(getattr(wf, what)(x, dtype=want, **how))
        assert type(got) is kind and bool(conversions) is not by_kernels, (x.dtype, want, x.shape, how)
        same(got.x, expected)
    wide = (rng.standard_normal(70_000) * np.exp2(rng.integers(-40, 40, 70_000))).astype(np.float32)
    whole = rng.integers(-2**31, 2**31, 70_000).astype(np.int32)
    for n, few in ((1, True), (255, True), (257, True), (5000, True), (1 << 16, True), ((1 << 16) + 1, False)):
        check(wide[:n], "float64", few)
        check(wide[:n], "float64", few, "mean", rounding="up")
        check(whole[:n], "int32", few)
        check(whole[:n], "float64", few)
    x, y = wide[:3000].reshape(10, 3, 100), whole[:3000].reshape(10, 3, 100)
    for how in ({"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 2)}, {"keepdims": True}, {"rounding": "down"}):
        check(x, "float64", True, **how)
        check(x.transpose(1, 0, 2), "float64", False, **how)  # which has gaps, in the order of its dimensions
        if "rounding" not in how:
            check(y, "int32", True, **how)
            check(y.transpose(1, 0, 2)[::-1], "int32", True, "prod", **how)
    if kind is Ndarray:
        for narrow in ("int8", "int16", "uint8", "uint16", "uint32"):
            z = rng.integers(0, 120, 777).astype(narrow)
            for want in ("float64", "float32", "int8", "uint16", "int32", "uint32") if narrow != "uint32" else ("float64", "int8", "uint16", "int32"):
                if want == "float32" and z.itemsize == 4:
                    continue
                check(z, want, True)
                check(z[::-1], want, "int" in want)
        check((rng.standard_normal(999) * 10).astype(np.float16), "float32", True, rounding="zero")
        check(np.arange(99).astype(np.complex64), "complex128", False)
    out = placed(kind, np.full((), 7.0))
    conversions.clear()
    assert wf.sum(placed(kind, wide[:99]), dtype="float64", out=out) is out and not conversions
    same(out.x, np.asarray(wf.sum(wide[:99], dtype="float64")))


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_answers_of_a_wider_type_do_not_either(told, kind):
    rng = np.random.default_rng(12)
    x = (rng.standard_normal((5, 70)) * np.exp2(rng.integers(-40, 40, (5, 70)))).astype(np.float32)
    for how in ({}, {"axis": 0}, {"axis": 1, "keepdims": True, "rounding": "up"}):
        for want in ("float64", np.float64, np.dtype(np.float64), float):
            for name in ("sum", "mean"):
                got = getattr(wf, name)(placed(kind, x), dtype=want, **how)
                same(got.x, np.asarray(getattr(wf, name)(x, dtype=want, **how)))
        out = placed(kind, np.full(np.shape(wf.sum(x, dtype="float64", **how)), 7.0))
        assert wf.sum(placed(kind, x), dtype="float64", out=out, **how) is out
        same(out.x, np.asarray(wf.sum(x, dtype="float64", **how)))
    same(wf.sum(placed(kind, x), dtype="float32").x, np.asarray(wf.sum(x)))  # its own
    y = rng.integers(-120, 120, (3, 50)).astype(np.int32)
    for want in ("int32", "int64", "float64") if kind is Tensor else ("int8", "uint16", "int32", "uint64", "float64"):
        for name in ("sum", "prod") if "int" in want else ("sum",):  # products of floats are rounded as they come
            for how in ({}, {"axis": 1}):
                same(getattr(wf, name)(placed(kind, y), dtype=want, **how).x, np.asarray(getattr(wf, name)(y, dtype=want, **how)))
    same(wf.mean(placed(kind, y), dtype="float64", axis=0).x, wf.mean(y, dtype="float64", axis=0))
    small = y.astype(np.int16) if kind is Ndarray else np.clip(x, -9, 9).astype(np.float16)
    same(wf.sum(placed(kind, small), dtype="float32").x, np.asarray(wf.sum(small, dtype="float32")))
    refused = [(y, {"dtype": "float32"}), (x, {"dtype": "float16"}), (x, {"dtype": "int64"}), (y, {"dtype": "bool"}), (x, {"dtype": "nonsense"}), (x, {"dtype": "bfloat16"}),
               (y, {"dtype": "int32", "out": placed(kind, np.zeros((), np.int32))}), (y.astype(np.int64), {"dtype": "float64"}), (x, {"dtype": "float64", "stream": 1})]
    for given, how in refused:
        with pytest.raises(told):
            wf.sum(placed(kind, given), **how)
    with pytest.raises(told):
        wf.mean(placed(kind, y), dtype="int64")


def label_views(labels):
    """Labels as arrays of every type of integers: one beside the other, with gaps, backwards."""
    for name in INTEGERS:
        narrow = labels.astype(name)
        yield from (narrow, np.repeat(narrow, 3)[1::3], narrow[::-1].copy()[::-1])


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_segments_and_labels_do_not_either(told, kind):
    rng = np.random.default_rng(13)
    offsets, labels = np.array([0, 0, 1, 3, 67, 132, 132, 300]), rng.integers(0, 9, 301)
    for x in ((rng.standard_normal(301) * np.exp2(rng.integers(-40, 40, 301))).astype(np.float32), rng.integers(-99, 99, 301).astype(np.int32)):
        for view in (x, x[::-1], np.repeat(x, 3)[1::3]):
            there = placed(kind, view)
            for by in (offsets, offsets.astype(np.int32)):
                for name in ("sum", "mean", "max", "var", "argmin", "minmax"):
                    got, expected = wf.segment_reduce(name, there, placed(kind, by)), wf.segment_reduce(name, view, by)
                    for a, b in zip(got if name == "minmax" else (got,), expected if name == "minmax" else (expected,), strict=True):
                        assert type(a) is kind
                        same(a.x, b)
            for length in (1, 7, 300, 301, 10**9):
                same(wf.segment_sum(there, length, rounding="up").x, wf.segment_sum(view, length, rounding="up"))
            for name in ("sum", "mean", "min"):
                same(wf.reduce_by_label(name, there, placed(kind, labels), 11).x, wf.reduce_by_label(name, view, labels, 11))
            same(wf.sum_by_label(there, placed(kind, labels), 9, rounding="down").x, wf.sum_by_label(view, labels, 9, rounding="down"))
            for others in label_views(labels):
                same(wf.sum_by_label(there, placed(kind, others), 9).x, wf.sum_by_label(view, labels, 9))
    at, by = placed(kind, offsets), placed(kind, labels)
    for call in (lambda: wf.segment_sum(there, 0), lambda: wf.segment_sum(there, True), lambda: wf.segment_sum(there, offsets), lambda: wf.segment_sum(there, Cuda(offsets)),
                 lambda: wf.segment_sum(there, placed(kind, offsets[::-1])), lambda: wf.segment_sum(there, placed(kind, offsets * 1.0)), lambda: wf.segment_sum(there, placed(kind, offsets[:1])),
                 lambda: wf.segment_sum(there, placed(kind, offsets[:0])), lambda: wf.segment_sum(there, placed(kind, offsets.reshape(2, 4))), lambda: wf.segment_sum(placed(kind, x.reshape(7, 43)), at),
                 lambda: wf.segment_sum(placed(kind, x[:0]), 3), lambda: wf.segment_sum(there, at, accuracy="fast", rounding="up"), lambda: wf.segment_sum(there, at, rounding="even"),
                 lambda: wf.segment_sum(there, 1 << 70), lambda: wf.segment_sum(there, at, stream=object()), lambda: wf.segment_reduce("var", there, at, correction=0.5),
                 lambda: wf.sum_by_label(there, by), lambda: wf.sum_by_label(there, by, 0), lambda: wf.sum_by_label(there, by, -1), lambda: wf.sum_by_label(there, by, 1 << 70),
                 lambda: wf.sum_by_label(there, placed(kind, labels[1:]), 9), lambda: wf.sum_by_label(there, placed(kind, labels > 0), 9), lambda: wf.sum_by_label(there, placed(kind, labels * 1.0), 9),
                 lambda: wf.sum_by_label(there, placed(kind, labels.reshape(7, 43)), 9), lambda: wf.sum_by_label(there, labels, 9)):
        with pytest.raises(told):
            call()


@simt
def test_calls_with_options_on_another_stream_of_pytorch_do_not_either(told):
    class Stream:
        cuda_stream = 0

    x, labels = np.random.default_rng(14).standard_normal(60).astype(np.float32), np.arange(60) % 7
    stream = Stream()
    for call, others in ((lambda a, **how: wf.sum(a, rounding="up", **how), ()), (lambda a, b, **how: wf.dot(a, b, **how), (x[::-1].copy(),)),
                         (lambda a, b, **how: wf.segment_sum(a, b, **how), (np.array([0, 5, 60]),)), (lambda a, b, **how: wf.sum_by_label(a, b, 7, **how), (labels,)),
                         (lambda a, **how: wf.segment_sum(a, 9, **how), ()), (wf.minmax, ()), (wf.fuse(["sum", "max"]), ())):
        there = [Tensor(a) for a in (x, *others)]
        found, expected = call(*there, stream=stream), call(x, *others)
        for a, b in zip(found if isinstance(found, tuple) else (found,), expected if isinstance(expected, tuple) else (expected,), strict=True):
            assert a.recorded == [stream]
            same(a.x, np.asarray(b))
        assert all(one.recorded == [stream] for one in there)
    for how in ({"dtype": "float64"}, {"dtype": "int32"}):  # conversions are on the library's own stream
        with pytest.raises(told):
            wf.sum(Tensor(x if how["dtype"] == "float64" else labels), stream=stream, **how)


@simt
def test_rows_of_ranks():
    """What an all-reduce of a tensor asks of the module: answers of rows with marks before them, and the marks, of which nothing is left."""
    compiled = _device.kernels("sum")
    rng = np.random.default_rng(9)
    for name, op, ranks, n in (("float32", "sum", 2, 33), ("float64", "mean", 5, 7), ("int64", "sum", 3, 1), ("float16", "sum", 2, 700)):
        row = 16 + -(-n * np.dtype(name).itemsize // 16) * 16
        parts = (rng.standard_normal((ranks, n)) * 100).astype(name)
        come = rng.integers(1, 255, (ranks, row)).astype(np.uint8)
        come[:, 16:16 + parts[0].nbytes] = parts.view(np.uint8)
        before, out = come.copy(), np.empty(n, name)
        told = compiled.answered(_general.OP[op], CODES[np.dtype(name)], ranks, n, come.ctypes.data, 16, row, 0, 1, out.ctypes.data)
        assert told == before[:, :16].tobytes() and not come[:, :16].any() and (come[:, 16:] == before[:, 16:]).all()
        same(out, getattr(wf, op)(parts, axis=0))
        for a, b in ((0, ranks - 1), (ranks - 1, 0)):
            compiled.of_two(_general.OP[op], CODES[np.dtype(name)], n, parts[a].ctypes.data, parts[b].ctypes.data, 0, 1, out.ctypes.data)
            same(out, getattr(wf, op)(parts[[a, b]], axis=0))
    with pytest.raises(ValueError, match="aligned alike"):
        compiled.of_two(0, CODES[np.dtype(np.float32)], 3, 1000, 2002, 0, 1, 3000)
    here, there = np.arange(100, dtype=np.uint8), np.zeros(100, np.uint8)
    compiled.sent(0, there.ctypes.data, here[:50].tobytes(), 1)
    compiled.copied(0, there[50:].ctypes.data, here[50:].ctypes.data, 50, 1)
    assert compiled.taken(0, there.ctypes.data, 100, 100, 1, 1) == here.tobytes() and not there.any()


def _fast_on_simt(x):
    """What the kernel of fast sums answers, by the module itself."""
    compiled, out = _device.kernels("sum"), np.zeros(())
    held = Cuda(x)
    a, b = (compiled.of_capsule(one.__dlpack__(stream=1), "sum", False) for one in (held, Cuda(out)))
    compiled.reduce(_general.OP["sum"], "fast", "nearest", 0, a, None, None, None, None, None, 0, 0, 1, b.address)
    assert out != 6  # the exact sum
    return out


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_all_other_calls_do(told, kind):
    x = np.arange(6.0).reshape(2, 3)
    y = placed(kind, x)
    other = placed(kind, x.astype(np.float32))
    for call in (lambda: wf.sum(y, rounding="even"), lambda: wf.sum(y, accuracy="fast", rounding="up"), lambda: wf.sum(y, where=[True]), lambda: wf.sum(y, where=placed(kind, x)), lambda: wf.sum(y, where=placed(kind, x[0, :2] > 0)), lambda: wf.sum(y, where=False),
                 lambda: wf.sum(other, where=placed(kind, x > 0), dtype="float16"), lambda: wf.sum_by_label(placed(kind, x[0]), placed(kind, np.zeros(3, int)), 1, where=placed(kind, x[0] > 0)),
                 lambda: wf.minmax(y, out=(None, None)), lambda: wf.fuse(["sum"])(y, out=(None,)), lambda: wf.dot(y, y, where=placed(kind, x)), lambda: wf.dot(y, x), lambda: wf.dot(y, other),
                 lambda: wf.dot(y, placed(kind, x[:, :2])), lambda: wf.dot(y, y, axis=2), lambda: wf.dot(y, y, keepdims=1), lambda: wf.dot(y, y, rounding="even"), lambda: wf.dot(y, Cuda(x)),
                 lambda: wf.fuse(["sum"])(y, axis=2), lambda: wf.fuse(["sum"])(y, correction=0.5), lambda: wf.fuse(["sum"])(y, where=[True]), lambda: wf.fuse(["argmax"])(y, axis=(0,)),
                 lambda: wf.fuse(["sum"])(y, rounding="even"), lambda: wf.minmax(placed(kind, x[:0])), lambda: wf.fuse(["sum"])(placed(kind, x[:0])), lambda: wf.max(y, axis=1.5),
                 lambda: wf.sum(y, accuracy="quick"), lambda: wf.sum(y, stream=1), lambda: wf.sum(y, out=y), lambda: wf.sum(y, out=Cuda(np.zeros(()))),
                 lambda: wf.sum(y, axis=0, out=placed(kind, np.zeros(6)[::2])), lambda: wf.sum(y, out=placed(kind, np.zeros((), np.float32))), lambda: wf.sum(y, axis=0, out=placed(kind, np.zeros((1, 3)))), lambda: wf.var(y, correction=1.0), lambda: wf.var(y, correction=1 << 70),
                 lambda: wf.sum(y, dtype="float32"), lambda: wf.sum(y, axis=2), lambda: wf.sum(y, axis=(0, 0)), lambda: wf.sum(y, axis=1.5),
                 lambda: wf.argmax(y, axis=(0,)), lambda: wf.sum(placed(kind, x[:0])), lambda: wf.sum(y, axis=1 << 70)):
        with pytest.raises(told):
            call()
    if kind is Tensor:
        z = x + 1j
        for such in (Tensor(x, requires_grad=True), Tensor(x, neg=True), Tensor(z, conj=True), Tensor(z, neg=True), Tensor(x, fails=True)):
            with pytest.raises(told):
                wf.sum(such)
        with pytest.raises(told):
            wf.sum(Tensor(x, kind=13))  # managed memory

        class Sub(Tensor):
            pass
        with pytest.raises(told):
            wf.sum(Sub(x))
        assert wf.sum(Tensor(x, kind=1)) == 15  # the CPU's
    _device.on_simt(False)
    _device.on_simt()
    with pytest.raises(told):  # nobody told of it
        wf.sum(y)


@simt
def test_few_functions_are_called_on_the_fast_path(told):
    """Each costs a tenth of a microsecond and more."""
    for x, most in ((Tensor(np.ones((3, 4), np.float32)), ["sum", "reduce", "_tell", "is_neg", "_stream", "new_empty", "_tell"]),
                    (Ndarray(None, None, np.ones((3, 4), np.float32)), ["sum", "reduce", "get_current_stream"])):
        wf.sum(x, axis=0)
        calls = []
        sys.setprofile(lambda frame, event, arg: calls.append(frame.f_code.co_name if event == "call" else arg.__name__) if event in ("call", "c_call") else None)
        try:
            wf.sum(x, axis=0)
        finally:
            sys.setprofile(None)
        own = [c for c in calls if c in most]
        assert own == most, calls


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_what_pytorchs_operators_ask_first(told, kind):
    """An answer, or NotImplemented where they are to go their own way."""
    code, x = _core.op_names.index, np.arange(24, dtype=np.float32).reshape(2, 3, 4)

    def asked(name, such, axis=None, keepdims=False, correction=0, rounding="nearest"):
        return _core.on_gpu(code(name), such, axis, keepdims, correction, rounding)
    for axis in (None, 1, -1, (0, 2), [0, 2], [1], [], ()):
        for name, correction in (("sum", 0), ("mean", 0), ("var", 1), ("norm2", 0)):
            got = asked(name, placed(kind, x), axis, True, correction, "up")
            over = None if axis in ([], ()) else tuple(axis) if isinstance(axis, list) else axis
            more = {"correction": correction} if name == "var" else {}
            same(got.x, np.asarray(getattr(wf, "norm" if name == "norm2" else name)(x, axis=over, keepdims=True, rounding="up", **more)))
    others = [(x,), (placed(kind, x), 3), (placed(kind, x), [0, 0]), (placed(kind, x), None, 1), (placed(kind, x), None, False, 0.5), (placed(kind, x), None, False, 1 << 70),
              (placed(kind, x), None, False, 0, "sideways"), (placed(kind, np.array(3, np.float32)), [0]), (Interface(x),)]
    others += [(Tensor(x, requires_grad=True),), (Tensor(x, neg=True),), (Tensor(x, kind=1),)] if kind is Tensor else []
    for given in others:
        assert asked("sum", *given) is NotImplemented
    assert _core.on_gpu(99, placed(kind, x), None, False, 0, "nearest") is NotImplemented


@pytest.fixture
def posing():
    """PyTorch, whose tensors of the CPU say to the fast path that they are on a GPU, by DLPack's functions in C."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("warpfold.torch")
    told_by = vars(torch.Tensor).get("__dlpack_c_exchange_api__")
    if told_by is None:
        pytest.skip("a PyTorch before 2.10, which has no exchange API of DLPack")
    compiled = _device.kernels("sum")
    table = device_arrays.posing(told_by)
    _core.use_device(compiled.torch_tensors(torch.Tensor, [getattr(torch, name, None) for name in _device.NAMES], table.capsule))
    yield torch
    _core.use_device(None)


@simt
def test_operators_of_pytorch_are_answered_before_pytorch_chooses(told, posing, monkeypatch):
    torch, ops = posing, posing.ops.warpfold
    from warpfold import _functions
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7.5
    t = torch.from_numpy(x)
    expected = [(ops.sum(t), wf.sum(x)), (ops.sum(t, [1]), wf.sum(x, axis=1)), (ops.sum.default(t, [0, -1], True), wf.sum(x, axis=(0, 2), keepdims=True)), (ops.sum(t, dim=[]), wf.sum(x)),
                (ops.sum(x=t, rounding="up"), wf.sum(x, rounding="up")), (ops.mean(t, 0), wf.mean(x, axis=0)), (ops.mean.default(t, keepdim=True), wf.mean(x, keepdims=True)),
                (ops.var(t), wf.var(x, correction=1)), (ops.var(t, [2], 0.0), wf.var(x, axis=2)), (ops.var(t, correction=2, keepdim=True), wf.var(x, correction=2, keepdims=True)),
                (ops.norm(t, [1], False, "zero"), wf.norm(x, axis=1, rounding="zero")), (ops.logsumexp(t), wf.logsumexp(x))]
    for got, want in expected[:-1]:
        assert type(got) is torch.Tensor
        same(got.numpy(), np.asarray(want))
    assert abs(expected[-1][0].item() - expected[-1][1]) < 1e-5  # native arithmetic

    class Slow(Exception):
        pass

    def refuse(*given, **named):
        raise Slow
    for name in ("sum", "mean", "var", "norm", "logsumexp"):
        monkeypatch.setattr(_functions, name, refuse)
    for name in ("sum", "mean", "var", "norm", "logsumexp"):
        op = getattr(ops, name)
        for called in (op, op.default):
            for given in ((t,), (t, [1]), (t.mT, [0, 2]), *[(t, None, 2.0)] * (name == "var")):
                called(*given)
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Hears(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            heard.append(func)
            return func(*args, **(kwargs or {}))

    class HearsFunctions(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            heard.append(func)
            return func(*args, **(kwargs or {}))
    for mode in (Hears, HearsFunctions):
        heard = []
        with mode():
            for called in (ops.sum, ops.sum.default):
                called(t)
        assert heard == [ops.sum.default] * 2 or (mode is HearsFunctions and len(heard) == 2), heard
    slow = [lambda: ops.sum(t.clone().requires_grad_()), lambda: ops.sum(torch._neg_view(t)), lambda: ops.sum(torch.complex(t, t).conj()), lambda: ops.var(t, None, 0.5),
            lambda: torch.func.vmap(ops.sum)(t), lambda: torch.jit.trace(lambda v: ops.sum(v), (t,)), lambda: ops.sum(torch.nn.Parameter(t))]
    for call in slow:
        with pytest.raises(Slow):
            call()
    with pytest.raises((Slow, RuntimeError)):  # PyTorch's transforms have no derivatives of such operators; without them the answer would seem to have none
        torch.func.grad(ops.sum)(t)
    with pytest.raises(Slow):
        torch.func.functionalize(ops.sum)(t)
    with torch.profiler.profile() as profile, pytest.raises(Slow):
        ops.sum(t)
    assert "warpfold::sum" in [e.name for e in profile.events()]
    with torch.autograd.forward_ad.dual_level(), pytest.raises(NotImplementedError, match="forward mode"):
        ops.sum(torch.autograd.forward_ad.make_dual(t, t))
    with pytest.raises(NotImplementedError, match="forward mode"):
        torch.func.jvp(ops.sum, (t,), (t,))
    for wrong in (lambda: ops.sum(), lambda: ops.sum(t, 0, False, "up", 1), lambda: ops.sum(t, dims=0), lambda: ops.sum(t, keepdim="yes"), lambda: ops.sum.default(t, which=1), lambda: ops.sum(placed(Ndarray, x))):
        with pytest.raises((RuntimeError, TypeError), match="warpfold::sum"):  # PyTorch's own words
            wrong()


@pytest.fixture
def known(monkeypatch):
    """Arrays as PyTorch's and CuPy's, for general code: the fast path is not told."""
    _core.use_device(None)
    monkeypatch.setattr(_core, "use_device", lambda capsule: None)
    for kind, library in ((Tensor, _device._Torch(device_arrays.torch)), (Ndarray, _device._Cupy(device_arrays.cupy))):
        monkeypatch.setitem(_device._libraries, kind, library)
    yield
    _device._told.clear()


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_masks_and_nans_of_general_code(known, kind):
    rng = np.random.default_rng(23)
    y = (rng.standard_normal((5, 7, 3)) * np.exp2(rng.integers(-40, 40, (5, 7, 3)))).astype(np.float32)
    y[rng.random(y.shape) < 0.3] = np.nan
    y[:, 2] = np.nan
    for x in (y, y[::-1, ::2], y.transpose(2, 0, 1), np.arange(-50, 55, dtype=np.int32).reshape(5, 7, 3)):
        masks = [rng.random(x.shape) < 0.5, rng.random(x.shape[-1:]) < 0.5, rng.random((x.shape[0], 1, 1)) < 0.7, np.array(True), np.zeros(x.shape, bool)]
        for how in ({}, {"keepdims": True}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 2)}):
            for name in ("sum", "mean", "min", "max", "var"):
                f = getattr(wf, "nan" + name)
                same(f(placed(kind, x), **how).x, np.asarray(f(x, **how)))
                for mask in masks[:3] + masks[3:] * (name not in ("min", "max")):
                    if name in ("min", "max") and not np.broadcast_to(mask, x.shape).any(axis=how.get("axis"), keepdims=True).all():
                        continue  # the CPU has none for nothing; here it is not looked for
                    same(f(placed(kind, x), where=placed(kind, mask), **how).x, np.asarray(f(x, where=mask, **how)))
                    f_all = getattr(wf, name)
                    same(f_all(placed(kind, x), where=placed(kind, mask), **how).x, np.asarray(f_all(x, where=mask, **how)))
            for name in ("std", "norm", "prod", "count_nonzero", "any", "all", "mean_var", "sum_of_squares", "logsumexp"):
                f = getattr(wf, name)
                if kind is Tensor and f(x).__class__ is np.uint64:
                    continue
                got, expected = f(placed(kind, x), where=placed(kind, masks[0]), **how), f(x, where=masks[0], **how)
                for a, b in zip(got if isinstance(got, tuple) else (got,), expected if isinstance(expected, tuple) else (expected,), strict=True):
                    assert type(a) is kind
                    same(a.x, np.asarray(b))
            a, b = wf.fuse(["sum", "max"])(placed(kind, y), where=placed(kind, ~np.isnan(y)), rounding="up", **({} if "axis" not in how else {"axis": 0}))
            same(a.x, np.asarray(wf.nansum(y, rounding="up", **({} if "axis" not in how else {"axis": 0}))))
            same(b.x, np.asarray(np.nanmax(y, **({} if "axis" not in how else {"axis": 0}))) if "axis" not in how else np.asarray(wf.nanmax(y, axis=0)))
    if kind is Ndarray:
        for dtype in ("float16", "float64", "int8", "int64", "uint8", "uint16", "uint64", "bool", "complex64", "complex128"):
            x = (rng.standard_normal((40, 50)) * 9 + (1j * rng.standard_normal((40, 50)) if "complex" in dtype else 9)).astype(dtype)
            mask = rng.random(x.shape) < 0.6
            mask[0], mask[:, 0] = True, True
            names = ["sum", "mean", "var", "norm", "mean_var", "count_nonzero"]
            names += ["std", "min", "max", "minmax", "any", "all", "norm1", "norm_inf", "sum_of_squares", "nansum", "nanmin"] if "complex" not in dtype else []
            for name in names:
                f = getattr(wf, name)
                for axis in (None, 0, 1):
                    got, expected = f(Ndarray(None, None, x), where=Ndarray(None, None, mask), axis=axis), f(x, where=mask, axis=axis)
                    for a, b in zip(got if isinstance(got, tuple) else (got,), expected if isinstance(expected, tuple) else (expected,), strict=True):
                        same(a.x, np.asarray(b))
    mask = rng.random(y.shape) < 0.5
    out = placed(kind, np.full(7, 9, np.float32))
    assert wf.nansum(placed(kind, y), axis=(0, 2), where=placed(kind, mask), out=out) is out
    same(out.x, wf.nansum(y, axis=(0, 2), where=mask))
    same(wf.nansum(placed(kind, y), axis=0, where=placed(kind, mask), dtype="float64").x, wf.nansum(y, axis=0, where=mask, dtype="float64"))
    if kind is Tensor:
        whole, wide = rng.integers(-2**30, 2**30, y.shape).astype(np.int32), y.astype(np.float64) / 3
        for how in ({}, {"axis": 1}):
            same(wf.sum(Tensor(whole), where=Tensor(mask), dtype="int32", **how).x, np.asarray(wf.sum(whole, where=mask, dtype="int32", **how)))
            same(wf.nansum(Tensor(wide), where=Tensor(mask), dtype="float32", **how).x, np.asarray(wf.nansum(wide, where=mask, dtype="float32", **how)))
    same(wf.sum(placed(kind, y[:0]), where=placed(kind, mask[:0]), axis=0).x, wf.sum(y[:0], axis=0))
    read = _device.array_of
    with pytest.MonkeyPatch.context() as m:
        m.setattr(_device, "array_of", lambda x, stream, who: types.SimpleNamespace(device=3) if x is there else read(x, stream, who))
        there = placed(kind, mask)
        for call in (lambda: wf.sum(placed(kind, y), where=there), lambda: wf.mean(placed(kind, y), where=there)):
            with pytest.raises(ValueError, match="where= on the GPU 3; the elements are on 0"):
                call()
    for where, error, words in ((mask, TypeError, "array of bool of the same library"), (placed(kind, mask.astype(np.float32)), TypeError, "array of bool"), ([True], TypeError, "array of bool"),
                                (placed(kind, mask[0, :2]), ValueError, "cannot be broadcast")):
        with pytest.raises(error, match=words) as e:
            wf.sum(placed(kind, y), where=where)
        assert "\n" not in str(e.value)
    same(wf.sum(placed(kind, y), where=placed(kind, mask), stream=1).x, wf.sum(y, where=mask))
    what_counts_of_all_calls(kind)


def what_counts_of_all_calls(kind):
    """Masks of what has places, of two arrays, of segments, of several answers."""
    rng = np.random.default_rng(29)
    y = (rng.integers(-9, 9, (6, 70, 5)) / 4).astype(np.float32)
    y[rng.random(y.shape) < 0.1] = np.inf
    y[0, 3] = np.nan
    for x in (y, y[::-1, ::2], y.transpose(2, 0, 1), (np.nan_to_num(y, posinf=3) * 4).astype(np.int16)):
        masks = [rng.random(x.shape) < 0.4, rng.random(x.shape[-1:]) < 0.5, np.zeros((1, 1), bool), np.array(True), x == np.inf]
        if kind is Tensor and x.dtype == np.int16:
            masks = []
        for mask in masks:
            wide, there = np.broadcast_to(mask, x.shape), placed(kind, mask)
            for name, f in (("argmin", np.argmin), ("argmax", np.argmax)):
                for axis in (None, 0, 1, -1):
                    hows = {"axis": axis, "where": there}
                    got = getattr(wf, name)(placed(kind, x), **hows).x
                    some = wide.any(axis=axis)
                    filled = np.where(wide, x, (np.inf if name == "argmin" else -np.inf) if x.dtype.kind == "f" else (32767 if name == "argmin" else -32768))
                    at = f(filled, axis=axis) if x.dtype.kind != "f" else places_of(x, wide, axis, name == "argmin")
                    same(got, np.where(some, at, -1))
                    if some.all():
                        same(got, np.asarray(getattr(wf, name)(x, axis=axis, where=mask)))
            for axis in (None, 0, (0, 2)):
                a, (b, c) = wf.fuse(["sum", "mean_var"])(placed(kind, x), where=there, axis=axis)
                same(a.x, np.asarray(wf.sum(x, where=mask, axis=axis)))
                same(b.x, np.asarray(wf.mean(x, where=mask, axis=axis)))
                same(c.x, np.asarray(wf.var(x, where=mask, axis=axis)))
                for other in (x, x[0], x[:, :1]):
                    same(wf.dot(placed(kind, x), placed(kind, other), axis=axis, where=there).x, np.asarray(wf.dot(x, other, axis=axis, where=mask)))
        for mask in masks[:1]:
            flat, chosen = x.reshape(-1), mask.reshape(-1)
            ends, labels = np.array([2, 2, 5, 99, 100, flat.size - 3]), rng.integers(0, 7, flat.size)
            for by in (1, 7, 64, flat.size, flat.size + 5, ends, ends.astype(np.int32)):
                to = by if isinstance(by, int) else placed(kind, by)
                for name in ("sum", "max", "argmin", "argmax", "var", "count"):
                    got = wf.segment_reduce(name, placed(kind, flat), to, where=placed(kind, chosen))
                    assert type(got) is kind
                    same(got.x, wf.segment_reduce(name, flat, by, where=chosen))
                out = placed(kind, np.full(len(got.x), 9, np.int64))
                assert wf.segment_argmax(placed(kind, flat), to, where=placed(kind, chosen), out=out) is out
                same(out.x, wf.segment_argmax(flat, by, where=chosen))
            same(wf.segment_min(placed(kind, flat), list(ends), where=placed(kind, np.array([True]))).x, wf.segment_min(flat, ends))
            for name in ("sum", "max", "argmin", "mean"):
                for at in (labels, placed(kind, labels)):
                    same(wf.reduce_by_label(name, placed(kind, flat), at, 8, where=placed(kind, chosen)).x, wf.reduce_by_label(name, flat, labels, 8, where=chosen))
            out = placed(kind, np.zeros(8, np.float32 if flat.dtype == np.float32 else np.int64))
            assert wf.sum_by_label(placed(kind, flat), placed(kind, labels), 8, where=placed(kind, chosen), out=out) is out
            same(out.x, wf.sum_by_label(flat, labels, 8, where=chosen))
    out = placed(kind, np.zeros((), np.float32)), placed(kind, np.zeros((), np.float32))
    got = wf.minmax(placed(kind, y), out=out)
    assert got[0] is out[0] and got[1] is out[1]
    for a, b in zip(out, wf.minmax(y)):
        same(a.x, np.asarray(b))
    total, (mean, var) = wf.fuse(["sum", "mean_var"])(placed(kind, y), axis=1, out=(None, (placed(kind, np.zeros((6, 5), np.float32)), None)))
    for a, b in ((total, wf.sum(y, axis=1)), (mean, wf.mean(y, axis=1)), (var, wf.var(y, axis=1))):
        same(a.x, b)
    # More than a block takes alone, in shares that do not end where rows do.
    x = rng.integers(-2**20, 2**20, 150_001).astype(np.float64)
    mask = np.arange(x.size) % 50_000 < 3
    for chosen in (mask, ~mask, rng.random(x.size) < 0.5):
        for name in ("sum", "argmin", "mean_var", "min"):
            got, expected = getattr(wf, name)(placed(kind, x), where=placed(kind, chosen)), getattr(wf, name)(x, where=chosen)
            for a, b in zip(got if isinstance(got, tuple) else (got,), expected if isinstance(expected, tuple) else (expected,)):
                same(a.x, np.asarray(b))
        got = wf.segment_sum(placed(kind, x), 1001, where=placed(kind, chosen))
        same(got.x, wf.segment_sum(x, 1001, where=chosen))
    # More than all blocks have at once: a warp has several tiles, the last of them with a part.
    x = rng.integers(-100, 100, 2_200_252).astype(np.int8) if kind is Ndarray else (np.arange(2_200_252) % 2 == 0)
    mask = rng.random(x.size) < 0.4
    mask[-300:] = True
    for name in ("mean", "argmax"):
        same(getattr(wf, name)(placed(kind, x), where=placed(kind, mask)).x, np.asarray(getattr(wf, name)(x, where=mask)))
    # Signs of zeros, and of nothing none.
    zeros = np.array([-0.0, -0.0, 1.0, np.nan])
    for chosen in ([1, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 0]):
        mask = np.array(chosen, bool)
        for name in ("sum", "prod", "mean", "norm", "logsumexp", "any", "all"):
            same(getattr(wf, name)(placed(kind, zeros), where=placed(kind, mask)).x, np.asarray(getattr(wf, name)(zeros, where=mask)))
    for dtype in ("float16", "float32", "float64", "complex64", "complex128")[:5 if kind is Ndarray else 3]:
        x = np.full((4, 5000), -0.0, dtype)  # so many that blocks share a sum
        if x.dtype.kind == "c":
            x.imag = -0.0
        mask = np.zeros(x.shape, bool)
        mask[0], mask[2, -1], mask[3, 70] = True, True, True
        x[3, 70] = 0
        for how in ({}, {"axis": 1}, {"axis": 0}):
            for k in (4, 3, 1):
                same(wf.sum(placed(kind, x[:k]), where=placed(kind, mask[:k]), **how).x, np.asarray(wf.sum(x[:k], where=mask[:k], **how)))
                same(wf.sum(placed(kind, x[:k]), where=placed(kind, mask[1:2]), **how).x, np.asarray(wf.sum(x[:k], where=mask[1:2], **how)))
        ends = np.array([0, 5000, 10000, 15000, 19999])
        for by in (5000, ends, 9, np.arange(0, 19000, 100)):
            same(wf.segment_sum(placed(kind, x.ravel()), by if isinstance(by, int) else placed(kind, by), where=placed(kind, mask.ravel())).x, wf.segment_sum(x.ravel(), by, where=mask.ravel()))
        if x.dtype.kind == "f":
            one = np.where(np.arange(5000) % 2, 1, -1).astype(dtype)
            same(wf.dot(placed(kind, x), placed(kind, one), axis=1, where=placed(kind, mask)).x, wf.dot(x, one, axis=1, where=mask))
            same(wf.dot(placed(kind, np.ones_like(x)), placed(kind, x), axis=1, where=placed(kind, mask)).x, wf.dot(np.ones_like(x), x, axis=1, where=mask))
    for name, x in (("nansum", np.array([1 + 2j, complex(np.nan, 1), complex(1, np.nan), 3j], np.complex64)), ("nansum", np.array([np.nan, 2, 3j])), ("nanmean", np.array([1, np.nan, 2], np.float16))):
        if kind is Ndarray:
            same(getattr(wf, name)(placed(kind, x)).x, np.asarray(getattr(wf, name)(x)))


def places_of(x, mask, axis, least):
    """The first least or greatest, or the first NaN, of what the mask names; 0 where there is none."""
    if axis is None:
        x, mask, axis = x.reshape(-1), mask.reshape(-1), 0
    x, mask = np.moveaxis(x, axis, -1), np.moveaxis(mask, axis, -1)
    found = np.zeros(x.shape[:-1], np.int64)
    for k in np.ndindex(found.shape):
        places = np.flatnonzero(mask[k])
        if places.size:
            some = x[k][places]
            found[k] = places[np.argmin(some) if least else np.argmax(some)]
    return found


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_masks_and_nans_do_not_come_to_general_code(told, kind, monkeypatch):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x[0, 0] = np.nan
    mask, flat = ~np.isnan(x) & (x % 5 != 0), x.reshape(-1)
    there, where = placed(kind, x), placed(kind, mask)
    for how in ({}, {"axis": 1}, {"axis": (0, 2), "keepdims": True}):
        for name in ("sum", "mean", "var", "max", "mean_var", "minmax"):
            got, expected = getattr(wf, name)(there, where=where, **how), getattr(wf, name)(x, where=mask, **how)
            for a, b in zip(got if isinstance(got, tuple) else (got,), expected if isinstance(expected, tuple) else (expected,)):
                same(a.x, np.asarray(b))
        same(wf.nansum(there, **how).x, np.asarray(wf.nansum(x, **how)))
        same(wf.nansum(there, where=where, **how).x, np.asarray(wf.nansum(x, where=mask, **how)))
        same(wf.dot(there, there, where=where, **how).x, np.asarray(wf.dot(x, x, where=mask, **how)))
    for axis in (None, 0, 1, 2):
        same(wf.nansum(there, axis=axis).x, np.asarray(wf.nansum(x, axis=axis)))
        a, b = wf.fuse(["argmax", "sum"])(there, where=where, axis=axis)
        same(a.x, np.where(mask.any(axis=axis), places_of(x, mask, axis, False), -1))
        same(b.x, np.asarray(wf.sum(x, where=mask, axis=axis)))
    ends = np.array([0, 5, 5, 20])
    for by in (5, ends, ends.astype(np.int32)):
        to = by if isinstance(by, int) else placed(kind, by)
        for name in ("sum", "argmax", "max"):
            same(wf.segment_reduce(name, placed(kind, flat), to, where=placed(kind, mask.reshape(-1))).x, wf.segment_reduce(name, flat, by, where=mask.reshape(-1)))
        out = placed(kind, np.zeros(len(wf.segment_sum(flat, by)), np.float32))
        assert wf.segment_sum(placed(kind, flat), to, where=placed(kind, mask.reshape(-1)), out=out) is out
        same(out.x, wf.segment_sum(flat, by, where=mask.reshape(-1)))
        wf.segment_sum(placed(kind, flat), to, out=out)
        same(out.x, wf.segment_sum(flat, by))
    out = placed(kind, np.zeros(3, np.float32))
    labels = np.arange(24) % 3
    assert wf.sum_by_label(placed(kind, flat), placed(kind, labels), 3, out=out) is out
    same(out.x, wf.sum_by_label(flat, labels, 3))
    same(wf.sum(there, where=where, dtype="float64").x, np.asarray(wf.sum(x, where=mask, dtype="float64")))
    monkeypatch.undo()
    for kind_of, library in ((Tensor, _device._Torch(device_arrays.torch)), (Ndarray, _device._Cupy(device_arrays.cupy))):
        monkeypatch.setitem(_device._libraries, kind_of, library)
    what_counts_of_all_calls(kind)


def answers_side_by_side(kind):
    """What counts of answers that lie side by side, whose elements lie apart, of so many elements that kernels for that are taken."""
    rng = np.random.default_rng(41)

    def numbers(*shape):
        return (rng.standard_normal(shape) * np.exp2(rng.integers(-30, 30, shape))).astype(np.float32)

    wide, deep, high = numbers(20, 60, 50), numbers(33, 40, 7), numbers(300, 50)
    deep[3, 4], high[5] = np.nan, np.inf
    # As they lie: whose last 32 answers and whose last 64 elements are fewer, with gaps, backwards, with a dimension that is not the last at the side, with two to reduce that cannot be one.
    for x, axes in ((high, (0,)), (high[::-1, ::-1], (0,)), (high.T, (1,)), (wide, (1,)), (wide[:, 3:32, ::2], ((0, 1),)), (wide.transpose(2, 1, 0), (1, 2)), (deep.transpose(0, 2, 1), (0,)),
                    (np.broadcast_to(high, (3, 300, 50)), (1,)), (deep, (0,))):
        some = rng.random(x.shape) < 0.4
        some[0] = False
        of_answers = rng.random(x.shape[-1:]) < 0.5
        for mask in (some, of_answers, np.array(True), np.zeros((1,) * x.ndim, bool)):
            there = placed(kind, mask)
            for axis in axes:
                for name in ("mean", "var", "std"):
                    same(getattr(wf, name)(placed(kind, x), where=there, axis=axis).x, np.asarray(getattr(wf, name)(x, where=mask, axis=axis)))
                whole = np.broadcast_to(mask, x.shape)
                if isinstance(axis, int):
                    a, b = wf.fuse(["argmax", "mean"])(placed(kind, x), where=there, axis=axis)
                    same(a.x, np.where(whole.any(axis=axis), places_of(x, whole, axis, False), -1))
                    same(b.x, wf.mean(x, where=mask, axis=axis))
        same(wf.nanvar(placed(kind, x), axis=axes[0]).x, wf.nanvar(x, axis=axes[0]))
        same(wf.nanmean(placed(kind, x), axis=axes[0], where=placed(kind, some)).x, wf.nanmean(x, axis=axes[0], where=some))
    many = rng.integers(-9, 9, (8, 262_150)).astype(np.int8)  # so many answers that the elements of each are counted in one go
    for dtype in ("float16", "float64", "int8", "bool", "complex64", "complex128"):
        x = many if dtype == "int8" else (rng.standard_normal((130, 70)) * 4 + (1j * rng.standard_normal((130, 70)) if "complex" in dtype else 0)).astype(dtype)
        if kind is Tensor and x.dtype.name not in vars(device_arrays.torch):
            continue
        mask = rng.random(x.shape) < 0.5
        same(wf.mean(placed(kind, x), where=placed(kind, mask), axis=0).x, wf.mean(x, where=mask, axis=0))
        if dtype == "complex128":
            y = x[::-1] * 1j
            same(wf.dot(placed(kind, x), placed(kind, y), where=placed(kind, mask), axis=0).x, wf.dot(x, y, where=mask, axis=0))


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_what_counts_of_answers_that_lie_side_by_side(told, kind):
    answers_side_by_side(kind)


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_what_counts_of_answers_that_lie_side_by_side_in_general_code(known, kind):
    answers_side_by_side(kind)


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_keys_on_a_gpu(known, kind):
    rng = np.random.default_rng(31)
    device_arrays.entered.clear()
    x = (rng.standard_normal(500) * np.exp2(rng.integers(-40, 40, 500))).astype(np.float32)
    mask = rng.random(500) < 0.5
    for keys in (rng.integers(-5, 20, 500), rng.integers(0, 3, 500).astype(np.int32), np.round(rng.standard_normal(500)), np.where(mask, np.nan, 2.0), np.full(500, 7), mask):
        for how, here in (({}, {}), ({"where": placed(kind, mask)}, {"where": mask}), ({"rounding": "up"}, {"rounding": "up"}), ({"where": placed(kind, mask[:1])}, {"where": mask[:1]})):
            different, sums = wf.sum_by_key(placed(kind, x), placed(kind, keys), **how)
            assert type(different) is type(sums) is kind
            expected = wf.sum_by_key(x, keys, **here)
            same(different.x, expected[0])
            same(sums.x, expected[1])
        names = keys.astype(str)
        different, sums = wf.sum_by_key(placed(kind, x), names, where=placed(kind, mask))
        same(sums.x, wf.sum_by_key(x, names, where=mask)[1])
        assert different.tolist() == np.unique(names).tolist()
        for of in (placed(kind, keys), names):  # on another stream, which is the library's own for as long as it takes
            different, sums = wf.sum_by_key(placed(kind, x), of, where=placed(kind, mask), stream=2)
            same(sums.x, wf.sum_by_key(x, keys if of is not names else names, where=mask)[1])
    assert set(device_arrays.entered) == {2} and len(device_arrays.entered) >= 6
    with pytest.raises(ValueError, match="stream= of an array in the CPU's memory"):
        wf.sum_by_key(x, keys, stream=1)
    with pytest.raises(TypeError, match="stream="):
        wf.sum_by_key(placed(kind, x), placed(kind, keys), stream=object())
    different, sums = wf.sum_by_key(placed(kind, x[:0]), placed(kind, keys[:0]))
    assert different.x.shape == sums.x.shape == (0,)
    for call, error, words in ((lambda: wf.sum_by_key(x, placed(kind, keys)), TypeError, "elements in the CPU's memory"), (lambda: wf.sum_by_key(placed(kind, x), Cuda(keys)), TypeError, "CuPy's or PyTorch's"),
                               (lambda: wf.sum_by_key(placed(kind, x), placed(kind, keys[:3])), ValueError, "3 keys for 500"),
                               (lambda: wf.sum_by_key(placed(kind, x), placed(kind, keys.reshape(50, 10))), ValueError, "keys in 2 dimensions"),
                               (lambda: wf.sum_by_key(placed(kind, x.reshape(50, 10)), placed(kind, keys)), ValueError, "array of 2 dimensions")):
        with pytest.raises(error, match=words) as e:
            call()
        assert "\n" not in str(e.value)


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_exact_states_of_arrays_on_a_gpu(known, kind):
    rng = np.random.default_rng(37)
    for dtype in ("float32", "float64", "float16", "int32", "int64", "uint64", "bool"):
        x = (np.abs(rng.standard_normal((40, 30)) * np.exp2(rng.integers(-30, 4, (40, 30)))) * 1000).astype(dtype)
        if x.dtype.kind == "f":
            x[0], x[1, 0], x[2, 2] = -0.0, np.inf, np.nan
        elif dtype == "uint64":
            x += np.uint64(2**63)
        if kind is Tensor and x.dtype.name not in vars(device_arrays.torch) and dtype != "uint64":
            continue
        for such in (wf.ExactSum, wf.ExactMoments):
            for view in (x, x[::2].T, x[2:], x[:0], x[0], x[3, :1].reshape(())):
                a = such(placed(kind, view))
                assert a == such(view) and a.to_bytes() == such(view).to_bytes()
            a = such(x)
            a.add(placed(kind, x[5:]))
            a.remove(placed(kind, x[5:]))
            assert a == such(x)
    with pytest.raises(TypeError, match="complex64; it takes real types") as e:
        wf.ExactSum(placed(kind, np.ones(3, np.complex64)))
    assert "\n" not in str(e.value)


@simt
def test_answers_of_narrower_types_are_rounded_once(told, monkeypatch):
    monkeypatch.undo()  # general code works
    library = _device._Torch(device_arrays.torch)
    monkeypatch.setitem(_device._libraries, Tensor, library)
    half = 2.0**-24
    cases = [[1.0, half, 2.0**-80], [1.0, half, -(2.0**-80)], [1.0, half], [1.0, 3 * half], [-1.0, -half, -(2.0**-80)], [3e38, 3e38], [1e308, 1e308], [1e-46, -0.0], [np.nan, 1.0],
             [np.inf, -1.0], [-0.0, -0.0], [1e8, 1.0, -1e8], [0.1] * 10]
    for case in cases:
        x = np.array(case)
        same(wf.sum(Tensor(x), dtype="float32").x, np.asarray(wf.sum(x, dtype="float32")))
        same(wf.mean(Tensor(x), dtype="float32").x, np.asarray(wf.mean(x, dtype="float32")))
        small = np.float32(np.clip(x, -1e30, 1e30)) * np.float32([2.0**-10])
        same(wf.sum(Tensor(small), dtype="float16").x, np.asarray(wf.sum(small, dtype="float16")))
        same(wf.sum(Tensor(small), dtype="float64").x, np.asarray(wf.sum(small, dtype="float64")))
    for dtype in ("float16", "float32", "float64"):
        whole = np.arange(-4, 999, dtype=np.int32)
        same(wf.sum(Tensor(whole), dtype=dtype).x, np.asarray(wf.sum(whole, dtype=dtype)))
    for wrong in ({"dtype": "float32", "rounding": "up"}, {"dtype": "float32", "stream": 1}):
        with pytest.raises(TypeError, match="convert the elements"):
            wf.sum(Tensor(np.ones(3)), **wrong)


@simt
def test_the_cuda_array_interface():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    out = Interface(np.zeros((), np.float32))
    assert wf.sum(Interface(x), out=out) is out and out.x == x.sum()
    rows = Interface(np.zeros((2, 4), np.float32))
    wf.sum(Interface(x[:, ::-1]), axis=1, out=rows)
    assert (rows.x == x.sum(axis=1)).all()
    for dtype in ["bool", *(f"{k}{n}" for k in ("int", "uint") for n in (8, 16, 32, 64)), "float16", "float32", "float64", "complex64", "complex128"]:
        x = np.arange(5).astype(dtype)
        total = wf.sum(x)
        out = Interface(np.zeros((), total.dtype))
        same(wf.sum(Interface(x), out=out).x, total)
    wf.sum(Interface(x, strides="left out", stream="left out", version=2), out=out)
    assert out.x == x.sum()


@simt
def test_what_a_call_from_cpp_takes_is_of_a_call_that_is_right():
    """By which bench/gpu/python_package.py tells what Python adds."""
    compiled, out = _device.kernels("sum"), np.zeros(())
    x, to = (_device.array_of(Cuda(one), 1, "sum") for one in (np.arange(10.0), out))
    assert compiled.timed(_core.op_names.index("sum"), x, to.address, 1, 3) > 0 and out == 45
    columns = np.zeros(4)
    rows, sums = (_device.array_of(Cuda(one), 1, "sum") for one in (np.arange(12.0).reshape(3, 4), columns))
    assert compiled.timed(_core.op_names.index("sum"), rows, sums.address, 1, 3, [0]) > 0 and columns.tolist() == [12, 15, 18, 21]
    with pytest.raises(ValueError, match="no call of it"):
        compiled.timed(0, x, to.address, 1, 0)


@simt
def test_streams_are_asked_for_and_kept_in_order():
    x = Cuda(np.arange(10.0))
    wf.sum(x)
    assert x.asked[-1] == 1  # DLPack's word for the default stream
    for stream, address in [(0, 1), (1, 1), (2, 2)]:
        wf.sum(x, stream=stream)
        assert x.asked[-1] == address

    class Pytorchs:
        cuda_stream = 0

    class Cupys:
        ptr = 2

    class Cores:
        def __cuda_stream__(self):
            return 0, 2

    class Numbas:
        class handle:
            value = None
    for stream, address in [(Pytorchs(), 1), (Cupys(), 2), (Cores(), 2), (Numbas(), 1)]:
        wf.sum(x, stream=stream)
        assert x.asked[-1] == address
    for nonsense in ("s", 1.5, -1, True):
        with pytest.raises(TypeError, match="stream="):
            wf.sum(x, stream=nonsense)
    y = Interface(np.arange(10.0), stream=2)
    ordered = []
    _device.kernels("sum")
    real = _device._kernels

    class Watched:
        def __getattr__(self, name):
            return getattr(real, name)

        @staticmethod
        def in_order(device, before, after):
            ordered.append((before, after))
            real.in_order(device, before, after)
    _device._kernels = Watched()
    out = Interface(np.zeros(()))
    assert wf.sum(y, out=out).x == 45 and ordered == []  # on its own stream
    assert wf.sum(y, out=out, stream=1).x == 45 and ordered == [(2, 1)]
    with pytest.raises(ValueError, match="stream 0"):
        wf.sum(Interface(np.arange(3.0), stream=0), out=out)
    with pytest.raises(ValueError, match="stream= of an array in the CPU's memory"):
        wf.sum(np.arange(3.0), stream=1)


@simt
def test_out_takes_the_answer():
    x = np.arange(6.0).reshape(2, 3)
    out = Cuda(np.empty(3))
    assert wf.sum(Cuda(x), axis=0, out=out) is out and out.x.tolist() == [3, 5, 7]
    pinned = Cuda(np.empty(()), kind=3)
    assert wf.mean(Cuda(x), out=pinned).x == 2.5
    for wrong, kind, words in [(Cuda(np.empty(2)), ValueError, "has the shape"), (Cuda(np.empty(3, np.float32)), TypeError, "holds float32"),
                               (Cuda(np.empty(6)[::2]), ValueError, "gaps"), (np.empty(3), TypeError, "on the GPU"), ([0.0], TypeError, "on the GPU")]:
        with pytest.raises(kind, match=words) as e:
            wf.sum(Cuda(x), axis=0, out=wrong)
        assert "\n" not in str(e.value)
    frozen = np.empty(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        wf.sum(Cuda(x), axis=0, out=Interface(frozen))
    with pytest.raises(TypeError, match="tuple"):
        _device.Inputs(Cuda(x), None, _device.Asked("minmax", "exact", "nearest", 0, None)).run(_device._core.op_names.index("minmax"), out, ())
    with pytest.raises(TypeError, match="NumPy array"):
        wf.sum(x, axis=0, out=Cuda(np.empty(3)))


@simt
def test_pinned_memory_is_the_cpus_and_managed_memory_the_gpus():
    assert wf.sum(Cuda(np.arange(4.0), kind=3)) == 6.0
    assert type(wf.sum(Cuda(np.arange(4.0), kind=13))) is Cuda


@simt
def test_nothing_and_numbers():
    assert host(wf.sum(Cuda(np.zeros(0)))) == 0 and np.isnan(host(wf.mean(Cuda(np.zeros(0)))))
    assert host(wf.sum(Cuda(np.zeros((0, 3), np.float32)), axis=0)).tolist() == [0, 0, 0]
    assert host(wf.sum(Cuda(np.zeros((3, 0), np.float32)), axis=0)).shape == (0,)
    assert host(wf.sum(Cuda(np.full((), 2.5)))) == 2.5
    with pytest.raises(ValueError, match="no elements"):
        wf.min(Cuda(np.zeros(0)))


@simt
def test_dot_segments_labels_and_several():
    x = np.arange(12.0)
    same(host(wf.dot(Cuda(x), Cuda(x[::-1]))), wf.dot(x, x[::-1]))
    m = x.reshape(3, 4)
    same(host(wf.dot(Cuda(m), Cuda(m[0]), axis=1)), wf.dot(m, m[0], axis=1))
    for offsets in (5, [0, 3, 3, 12], np.array([2, 7])):
        same(host(wf.segment_sum(Cuda(x), offsets)), wf.segment_sum(x, offsets))
        same(host(wf.segment_reduce("max", Cuda(x), offsets)), wf.segment_reduce("max", x, offsets))
    at = np.array([0, 4, 12])
    same(host(wf.segment_mean(Cuda(x), Cuda(at))), wf.segment_mean(x, at))
    same(host(wf.segment_mean(Cuda(x), Cuda(at.astype(np.int32)))), wf.segment_mean(x, at))
    labels = np.array([0, 1, 2] * 4)
    same(host(wf.sum_by_label(Cuda(x), labels)), wf.sum_by_label(x, labels))
    same(host(wf.sum_by_label(Cuda(x), Cuda(labels), 4)), wf.sum_by_label(x, labels, 4))
    same(host(wf.reduce_by_label("min", Cuda(x), labels)), wf.reduce_by_label("min", x, labels))
    total, least = wf.fuse(["sum", "min"])(Cuda(m), axis=0)
    same(host(total), m.sum(axis=0))
    same(host(least), m.min(axis=0))


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray, Cuda, Interface])
def test_labels_of_any_integers(kind, known):
    """As the CPU takes them. Nobody looks at labels on a GPU: elements of those that are no answer's are left out."""
    rng = np.random.default_rng(31)
    x, labels, chosen = rng.standard_normal(700).astype(np.float32), rng.integers(0, 9, 700), rng.random(700) < 0.5
    to = (lambda n, dtype: {"out": Interface(np.zeros(n, dtype))}) if kind is Interface else lambda n, dtype: {}
    there = placed(kind, x)
    for by in label_views(labels):
        at = placed(kind, by)
        same(host(wf.sum_by_label(there, at, 9, **to(9, np.float32))), wf.sum_by_label(x, labels, 9))
        same(host(wf.reduce_by_label("argmax", there, at, 9, **to(9, np.int64))), wf.reduce_by_label("argmax", x, labels, 9))
        same(host(wf.reduce_by_label("var", there, at, 9, correction=0.5, **to(9, np.float32))), wf.reduce_by_label("var", x, labels, 9, correction=0.5))
        if kind in (Tensor, Ndarray):
            for name in ("sum", "argmin"):  # with 256 answers every uint8 is one
                same(host(wf.reduce_by_label(name, there, at, 256, where=placed(kind, chosen))), wf.reduce_by_label(name, x, labels, 256, where=chosen))
    many = 70_000  # so that what is negative, and what is not, would be an answer's the other way round
    for dtype, other in (("int8", -1), ("int16", -2**15), ("int32", -1), ("uint8", 255), ("uint16", 2**16 - 1), ("uint32", 2**32 - 1), ("uint64", 2**64 - 1), ("uint64", 2**63)):
        by = labels.astype(dtype)
        by[::3] = other
        counts = np.array([0 <= int(label) < many for label in by])
        at = placed(kind, by)
        same(host(wf.sum_by_label(there, at, many, **to(many, np.float32))), wf.sum_by_label(x[counts], by[counts].astype(np.int64), many))
        if kind in (Tensor, Ndarray):
            chosen_too = chosen & counts
            same(host(wf.reduce_by_label("max", there, at, many, where=placed(kind, chosen))), wf.reduce_by_label("max", x[chosen_too], by[chosen_too].astype(np.int64), many))
    none = np.zeros(0, np.int32)
    same(host(wf.sum_by_label(placed(kind, x[:0]), placed(kind, none), 3, **to(3, np.float32))), np.zeros(3, np.float32))
    for wrong in (labels > 4, labels * 1.0, labels.reshape(7, 100)):
        with pytest.raises(TypeError, match="whole numbers in one"):
            wf.sum_by_label(there, placed(kind, wrong), 9, **to(9, np.float32))


@simt
@pytest.mark.parametrize(("call", "kind", "words"), [
    (lambda x: wf.sum(x, where=[True]), TypeError, r"sum\(x\[where\]\)"),
    (lambda x: wf.nansum(x), TypeError, "NaNs"),
    (lambda x: wf.sum(x, axis=3), np.exceptions.AxisError if hasattr(np, "exceptions") else IndexError, "axis 3"),
    (lambda x: wf.argmax(x, axis=(0, 1)), TypeError, "one axis"),
    (lambda x: wf.sum(x, dtype="float32"), TypeError, "convert the elements"),
    (lambda x: wf.sum(x, dtype="int32"), TypeError, "convert the elements|cut off"),
    (lambda x: wf.sum_by_key(Cuda(np.ones(3)), Cuda(np.ones(3))), TypeError, "CuPy's or PyTorch's"),
    (lambda x: wf.ExactSum(x), TypeError, "cannot be fetched"),
    (lambda x: wf.argmin(x, where=[True]), TypeError, r"argmin\(x\[where\]\)"),
    (lambda x: wf.minmax(x, out=Cuda(np.ones(2))), TypeError, "it is a tuple, of an array or None for each of the 2"),
    (lambda x: wf.fuse(["sum", "min"])(x, out=(None,)), ValueError, "1 arrays; there are 2"),
    (lambda x: wf.dot(x, np.ones((2, 3))), TypeError, "one array on a GPU"),
    (lambda x: wf.dot(x, Cuda(np.ones((2, 3), np.float32))), TypeError, "float64 and float32"),
    (lambda x: wf.dot(x, Cuda(np.ones(5))), ValueError, "broadcast"),
    (lambda x: wf.segment_sum(x, 2), ValueError, "must have 1"),
    (lambda x: wf.segment_sum(Cuda(np.ones(3)), [0, 9]), ValueError, "offsets rise"),
    (lambda x: wf.segment_sum(Cuda(np.ones(3)), []), ValueError, "no offsets"),
    (lambda x: wf.segment_sum(Cuda(np.ones(3)), Cuda(np.ones(2))), TypeError, "float64"),
    (lambda x: wf.segment_sum(np.ones(3), Cuda(np.array([0, 3]))), TypeError, "offsets on a GPU"),
    (lambda x: wf.sum_by_label(Cuda(np.ones(3)), [0, -1, 0]), ValueError, "labels lie in"),
    (lambda x: wf.sum_by_label(Cuda(np.ones(3)), [0, 1]), ValueError, "2 labels for 3"),
    (lambda x: wf.sum_by_label(Cuda(np.ones(3)), Cuda(np.zeros(3, int))), TypeError, "number of answers"),
    (lambda x: wf.sum(Interface(np.ones(3))), TypeError, "give out="),
    (lambda x: wf.sum(Interface(np.ones(3, ">f8")), out=Interface(np.ones(()))), TypeError, "byte order"),
    (lambda x: wf.sum(Interface(np.ones(3), mask=Interface(np.ones(3, bool))), out=Interface(np.ones(()))), TypeError, "mask"),
    (lambda x: wf.sum(Interface(np.ones(3), shape="left out")), ValueError, "without 'shape'"),
    (lambda x: wf.sum(Interface(np.ones(3), shape=(-3,))), ValueError, "negative"),
    (lambda x: wf.sum(Interface(np.ones(3), strides=(8, 8))), ValueError, "one a dimension"),
    (lambda x: wf.sum(Interface(np.ones(3), data=(1,))), ValueError, "address"),
    (lambda x: wf.sum(Interface(np.frombuffer(bytes(25), np.uint8)[1:].view(np.float64)), out=Interface(np.ones(()))), ValueError, "alignment"),
    (lambda x: wf.sum(Interface(np.zeros(2, [("a", "f4"), ("b", "u1")])["a"]), out=Interface(np.ones((), np.float32))), TypeError, "multiple of their size"),
    (lambda x: wf.sum(Interface(np.zeros(3, np.longdouble))), TypeError, "they may be real and complex numbers"),
    (lambda x: wf.sum(Interface(np.ones(3), shape="three")), ValueError, "another type"),
])
def test_errors_are_one_clear_line(call, kind, words):
    with pytest.raises(kind, match=words) as e:
        call(Cuda(np.ones((2, 3))))
    assert "\n" not in str(e.value)


def test_a_package_without_cuda_says_how_to_get_it(monkeypatch):
    _device.on_simt(False)
    monkeypatch.setitem(sys.modules, "warpfold._gpu", None)
    for x in (Cuda(np.ones(3)), Interface(np.ones(3))):
        with pytest.raises(TypeError, match=r"sum: an array on a GPU, and this package was built without CUDA; `pip install \. -C cmake.define"):
            wf.sum(x)


@simt
def test_arrays_of_the_cpu_do_not_load_the_kernels():
    code = "import sys, numpy, warpfold as wf; wf.sum(numpy.ones((3, 4), 'f4'), axis=0, where=True); print('warpfold._device' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.skipif(importlib.util.find_spec("warpfold._gpu") is None or os.path.exists("/dev/nvidiactl"),
                    reason="built without CUDA, or on a machine with a GPU")
def test_a_machine_without_a_gpu_says_so():
    _device.on_simt(False)
    with pytest.raises(RuntimeError, match="driver|no CUDA-capable device") as e:
        wf.sum(Cuda(np.ones(3)))
    assert "\n" not in str(e.value)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Kernels of a Reduction run on simt: what was launched."""
    from own_on_simt import Simt
    from warpfold import _own_gpu
    if "WARPFOLD_TEST_SIMT" not in os.environ:
        pytest.skip("WARPFOLD_TEST_SIMT names no folder of simt's headers: tests/python does")
    machine = Simt(str(tmp_path))
    monkeypatch.setattr(_own_gpu, "driver_of", lambda: machine)
    monkeypatch.setattr(_own_gpu, "_loaded", {})
    return machine


@simt
def test_reductions_of_ones_own_keep_their_order(own):
    horner = wf.Reduction(state="std::uint64_t value, power;", identity="{0, 1}", lift="{static_cast<std::uint64_t>(x) ^ static_cast<std::uint64_t>(i), 31}",
                          combine="{a.value * b.power + b.value, a.power * b.power}", finish="s.value + static_cast<std::uint64_t>(n)")
    rng = np.random.default_rng(5)
    x = rng.integers(-99, 99, (4, 37, 70)).astype(np.int16)
    for view in (x, x.transpose(2, 0, 1), x[::-1, ::2, ::-3], np.lib.stride_tricks.as_strided(x, (37, 70), (140, 0)), x[0, 0, :1].reshape(()), x[:0], x[:, :0]):
        for axis in (None, 0, -1, (0, 1), ()):
            if view.ndim < 2 and axis not in (None, ()):
                continue
            there, here = horner(Cuda(view), axis=axis), horner(view, axis=axis)
            assert type(there) is Cuda
            same(there.x, np.asarray(here))
    same(horner(Cuda(x), axis=1, keepdims=True).x, horner(x, axis=1, keepdims=True))
    assert all(own.put())
    for n in (63, 64, 65, 4095, 4097, 12289, 70_001):  # about where a part, a tile, a thread's stretch ends
        y = rng.integers(-99, 99, n).astype(np.int16)
        same(horner(Cuda(y)).x, np.asarray(horner(y)))


@simt
def test_reductions_of_ones_own_by_segments_and_labels(own):
    horner = wf.Reduction(state="std::uint64_t value, power;", identity="{0, 1}", lift="{static_cast<std::uint64_t>(x) ^ static_cast<std::uint64_t>(i), 31}",
                          combine="{a.value * b.power + b.value, a.power * b.power}", finish="s.value + 1000003 * static_cast<std::uint64_t>(n)")
    rng = np.random.default_rng(8)
    x = rng.integers(-99, 99, 9001).astype(np.int16)
    # Short ones, one of 64 and one of 65, one of many tiles, and empty ones at both ends.
    offsets = np.array([0, 0, 1, 3, 67, 132, 132, 8500, 8990, 9001, 9001])
    for view in (x, x[::-1], np.repeat(x, 3)[1::3]):
        for by in (offsets, offsets[3:-3], Cuda(offsets), Cuda(offsets.astype(np.int32)), 1, 64, 65, 100, 9001, 10**6, np.array([5])):
            there, here = wf.segment_reduce(horner, Cuda(view), by), wf.segment_reduce(horner, view, by.x if isinstance(by, Cuda) else by)
            assert type(there) is Cuda
            same(there.x, here)
    assert all(own.put())
    # About where a lane has one element more, a warp's tile ends, and a warp takes an answer no longer; last ones of another length.
    for length in (96, 97, 511, 512, 513, 1023, 1024, 1025):
        same(wf.segment_reduce(horner, Cuda(x), length).x, wf.segment_reduce(horner, x, length))
    short = wf.segment_reduce(horner, Cuda(np.resize(x, 1025 * 65 + 700)), 65)  # 1036 answers
    same(short.x, wf.segment_reduce(horner, np.resize(x, 1025 * 65 + 700), 65))
    many = np.resize(x, (1 << 14) * 66)  # so many that warps take longer ones too
    same(wf.segment_reduce(horner, Cuda(many), np.r_[0:(1 << 14) * 4:4, many.size]).x, wf.segment_reduce(horner, many, np.r_[0:(1 << 14) * 4:4, many.size]))
    # Where order does not count, lanes take elements in turns: each counts once.
    total = wf.Reduction(state="std::uint64_t sum, n;", identity="{0, 0}", lift="{(static_cast<std::uint64_t>(x) + 7) * (static_cast<std::uint64_t>(i) + 3), 1}",
                         combine="{a.sum + b.sum, a.n + b.n}", finish="std::array<std::uint64_t, 2>{s.sum, s.n}", commutes=True)
    for by in (65, 100, 512, 513, 1024, 1025, 4097, 9001, Cuda(offsets)):
        same(wf.segment_reduce(total, Cuda(x), by).x, wf.segment_reduce(total, x, by.x if isinstance(by, Cuda) else by))
    same(total(Cuda(np.resize(x, 50_001))).x, np.asarray(total(np.resize(x, 50_001))))
    same(total(Cuda(x[:9000].reshape(90, 100)), axis=0).x, total(x[:9000].reshape(90, 100), axis=0))
    labels = rng.integers(0, 7, x.size) ** 2
    for given in (labels, labels.astype(np.uint8), *(Cuda(v) for v in label_views(labels))):
        same(wf.reduce_by_label(horner, Cuda(x), given, 40).x, wf.reduce_by_label(horner, x, labels, 40))
    same(wf.reduce_by_label(horner, Cuda(x), labels).x, wf.reduce_by_label(horner, x, labels))
    beyond = np.where(labels == 9, -1, np.where(labels == 16, 99, labels))  # nobody looks at those on the GPU: the elements are left out
    left = np.isin(labels, (9, 16), invert=True)
    same(wf.reduce_by_label(horner, Cuda(x), Cuda(beyond), 40).x, wf.reduce_by_label(horner, x[left], labels[left], 40))
    for call, kind, words in ((lambda: wf.reduce_by_label(horner, Cuda(x), Interface(labels), 40), TypeError, "library that is not known"),
                              (lambda: wf.reduce_by_label(horner, Cuda(x), Cuda(labels)), TypeError, "no number of answers"),
                              (lambda: wf.reduce_by_label(horner, Cuda(x), labels[1:]), ValueError, "9000 labels for 9001 elements"),
                              (lambda: wf.reduce_by_label(horner, Cuda(x), labels, 36), ValueError, "labels lie in"),
                              (lambda: wf.segment_reduce(horner, Cuda(x), [0, 9002]), ValueError, "offsets rise"),
                              (lambda: wf.segment_reduce(horner, Cuda(x.reshape(1, -1)), [0]), ValueError, "2 dimensions"),
                              (lambda: wf.segment_reduce(horner, x, Cuda(offsets)), TypeError, "offsets on a GPU, and elements in the CPU's memory")):
        with pytest.raises(kind, match=words) as e:
            call()
        assert "\n" not in str(e.value)


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_masks_of_reductions_of_ones_own(own, known, kind):
    horner = wf.Reduction(state="std::uint64_t value, power;", identity="{0, 1}", lift="{static_cast<std::uint64_t>(x) ^ static_cast<std::uint64_t>(i), 31}",
                          combine="{a.value * b.power + b.value, a.power * b.power}", finish="static_cast<std::int64_t>(s.value + 1000003 * static_cast<std::uint64_t>(n))")
    rng = np.random.default_rng(43)
    x = rng.integers(-99, 99, (5, 40, 70)).astype(np.int32)
    for view, mask in ((x, rng.random(x.shape) < 0.4), (x.transpose(2, 0, 1), rng.random((5, 1)) < 0.5), (x[:1], np.zeros(70, bool)), (x[:, :0], np.zeros((5, 0, 70), bool))):
        for axis in (None, 0, -1, (0, 1)):
            there = horner(placed(kind, view), axis=axis, where=placed(kind, mask), keepdims=axis == 0)
            assert type(there) is kind
            same(there.x, np.asarray(horner(view, axis=axis, where=mask, keepdims=axis == 0)))
    flat, mask, labels = x.reshape(-1), rng.random(x.size) < 0.4, rng.integers(0, 9, x.size)
    ends = np.sort(rng.integers(0, x.size, 12))
    for by in (1, 77, x.size, ends):
        out = placed(kind, np.zeros(11 if by is ends else -(-x.size // by), np.int64))
        assert wf.segment_reduce(horner, placed(kind, flat), by if isinstance(by, int) else placed(kind, by), where=placed(kind, mask), out=out) is out
        same(out.x, wf.segment_reduce(horner, flat, by, where=mask))
    for given in (labels, placed(kind, labels), placed(kind, labels.astype(np.uint8)), placed(kind, np.repeat(labels.astype(np.int32), 2)[::2])):
        same(wf.reduce_by_label(horner, placed(kind, flat), given, 10, where=placed(kind, mask)).x, wf.reduce_by_label(horner, flat, labels, 10, where=mask))
    if kind is Ndarray:
        products = wf.Reduction(state="double", identity="0", lift="x * y", combine="a + b", inputs=2)
        y = rng.integers(-9, 9, (3, 500)).astype(np.float64)
        chosen = rng.random(y.shape) < 0.5
        same(products(placed(kind, y), placed(kind, y[::-1]), axis=1, where=placed(kind, chosen)).x, np.where(chosen, y * y[::-1], 0).sum(axis=1))


@simt
def test_reductions_of_ones_own_of_any_types(own):
    x = np.random.default_rng(6).standard_normal(300)
    two = wf.Reduction(state="T", identity="T(0)", combine="std::max(a, b)", finish="std::array<T, 2>{s, T(n)}")
    for dtype in ("float32", "float16", "int8", "bool"):
        y = (x * 20).astype(dtype).reshape(3, 100)
        same(two(Cuda(y), axis=1).x, two(y, axis=1))
    large = wf.Reduction(state="double of[25];", identity="{}", lift="state s{}; s.of[i % 25] = x; return s;",
                         combine="state s; for (int k = 0; k < 25; ++k) s.of[k] = std::max(a.of[k], b.of[k]); return s;", finish="s.of[24] - s.of[3]")
    same(large(Cuda(x)).x, np.asarray(large(x)))
    farthest = wf.Reduction(state="double d; std::int64_t at;", identity="{-1, -1}", lift="{std::abs(x - y), i}", combine="b.d > a.d ? b : a", finish="s.at", inputs=2)
    same(farthest(Cuda(x), Cuda(x[::-1])).x, np.asarray(farthest(x, x[::-1])))
    out = Cuda(np.zeros(()))
    last = wf.Reduction(state="double", identity="0", combine="b != 0 ? b : a")
    assert last(Cuda(x), out=out, stream=1) is out and out.x == x[-1]
    with pytest.raises(TypeError, match="those of CuPy and PyTorch have them"):
        last(Cuda(x), where=x > 0)
    with pytest.raises(TypeError, match="one of the CPU"):
        farthest(Cuda(x), x)
    with pytest.raises(TypeError, match="one type and shape"):
        farthest(Cuda(x), Cuda(x[:3]))
    with pytest.raises(ValueError, match="stream= of an array in the CPU's memory"):
        last(x, stream=1)
    small, room = Interface(x[:5]), Interface(np.zeros(()))
    assert last(small, out=room).x == x[4]
    with pytest.raises(TypeError, match="gives no memory for states"):
        last(Interface(np.resize(x, 1025)), out=room)
    assert last(Interface(np.resize(x, 1024)), out=room).x == np.resize(x, 1024)[-1]


@simt
@pytest.mark.parametrize("kind", [Tensor, Ndarray])
def test_plain_calls_of_ones_own_do_not_come_to_general_code(own, told, kind, monkeypatch):
    from warpfold import _own_gpu
    horner = wf.Reduction(state="std::int64_t value, power;", identity="{0, 1}", lift="{x ^ i, 31}", combine="{a.value * b.power + b.value, a.power * b.power}", finish="s.value + n")
    last = wf.Reduction(state="T of[2];", identity="{0, 0}", lift="{x, y}", combine="b.of[0] != 0 ? b : a", finish="std::array<T, 2>{s.of[0], s.of[1]}", inputs=2)
    x = np.random.default_rng(9).integers(-99, 99, (3, 5, 700)).astype(np.int32)
    horner(placed(kind, x)), last(placed(kind, x), placed(kind, x))  # general code, which compiles

    class Slow(Exception):
        pass

    def refuse(*given):
        raise Slow
    monkeypatch.setattr(_own_gpu, "reduce", refuse)
    for view in (x, x.transpose(2, 0, 1), x[:, ::2, ::-1], x[1], x[0, 0, :1].reshape(()), np.broadcast_to(x[0], (4, 5, 700))):
        for how in [{}, {"keepdims": True}, *({"axis": d, "keepdims": k} for d in range(-1, view.ndim) if view.ndim for k in (False, True)), {"axis": ()}]:
            got = horner(placed(kind, view), **how)
            assert type(got) is kind
            same(got.x, np.asarray(horner(view, **how)))
            same(last(placed(kind, view), placed(kind, view[::-1] if view.ndim else view), **how).x, np.asarray(last(view, view[::-1] if view.ndim else view, **how)))
    for n in (63, 64, 65, 4097, 70_001):
        y = np.resize(x, n)
        same(horner(placed(kind, y)).x, np.asarray(horner(y)))
    y, out = placed(kind, x), placed(kind, np.zeros((), np.int64))
    for call in (lambda: horner(y, out=out), lambda: horner(y, stream=1), lambda: horner(y, axis=3), lambda: horner(y, axis=(0, 0)), lambda: horner(placed(kind, x[:0])),
                 lambda: horner(placed(kind, x.astype(np.int64))), lambda: last(y, placed(kind, x[1:])), lambda: last(y, placed(kind, x.astype(np.int64))),
                 lambda: last(y, Cuda(x)), lambda: horner(Cuda(x))):
        with pytest.raises(Slow):
            call()
    if kind is Tensor:
        with pytest.raises(Slow):
            horner(Tensor(x.astype(np.float32), neg=True))


def test_without_a_driver_one_line_says_so(monkeypatch):
    from warpfold import _own_gpu
    monkeypatch.setattr(_own_gpu.ctypes, "CDLL", lambda name: (_ for _ in ()).throw(OSError(name)))
    with pytest.raises(RuntimeError, match="^Reduction: an array on a GPU, and CUDA's driver .* is not here$"):
        _own_gpu._Driver()
