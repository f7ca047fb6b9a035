# SPDX-License-Identifier: Apache-2.0
"""Arrays of states of arrays on a GPU, and blocks of Dask and xarray there, which stay on it: on simt, with a stand-in for CuPy. CuPy itself is tried by test_on_gpu.py."""

import importlib
import os

import numpy as np
import pytest

import warpfold as wf
from arrays import same
from cupy_blocks import Block, Cupy, array
from warpfold import _device
from warpfold.states import Form

os.environ.pop("LD_PRELOAD", None)  # it is for warpfold._simt, and not for what is run from here
try:
    importlib.import_module("warpfold._simt")
except ImportError:  # not there, or not preloaded
    pytest.skip("no module warpfold._simt in LD_PRELOAD: tests/python builds the package with it, and runs this file so", allow_module_level=True)

TYPES = ["float16", "float32", "float64", "int32", "int64", "uint8", "bool", "complex64", "complex128"]
REDUCTIONS = ["sum", "mean", "var", "std", "mean_var", "norm", "norm1", "norm_inf", "sum_of_squares", "min", "max", "minmax", "argmin", "argmax", "any", "all",
              "count_nonzero", "prod"]


@pytest.fixture(autouse=True)
def simulated(monkeypatch):
    _device.on_simt()
    monkeypatch.setitem(_device._libraries, Block, _device._Cupy(Cupy))
    Block.fetched.clear()
    yield
    _device.on_simt(False)


def numbers(dtype, seed=0, shape=(5, 7, 3)):
    return (np.random.default_rng(seed).standard_normal(shape) * 50).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("answer", [None, "float64"])
def test_states_are_those_of_the_cpu(dtype, answer):
    x = numbers(dtype)
    tried = 0
    for reduction in REDUCTIONS:
        try:
            form = Form(reduction, dtype, answer=answer)
        except TypeError:
            continue
        for axis in (None, 0, 1, -1, (0, 2), ()):
            if reduction.startswith("arg") and isinstance(axis, tuple):
                continue
            if not _device.makes_states(form, array(x), False):
                assert dtype == "int64" and answer == "float64"  # float64 does not hold all of them
                continue
            assert form.of(array(x), axis=axis).tobytes() == form.of(x, axis=axis).tobytes(), (reduction, axis)
            tried += 1
    assert tried or (dtype == "int64" and answer == "float64") or answer is not None
    assert x.shape not in Block.fetched


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nans_are_left_out_there(dtype):
    x = numbers(dtype)
    x[np.random.default_rng(1).random(x.shape) < 0.3] = np.nan
    x[:, 2, 1] = np.nan  # an answer of nothing
    for given in (x, np.abs(np.nan_to_num(x)), np.full_like(x, np.nan)):
        for reduction in ("sum", "mean", "var", "norm", "min", "max", "count_nonzero"):
            form = Form(reduction, dtype)
            for axis in (None, 0, 2, (0, 1)):
                found = form.of(array(given), axis=axis, skip_nans=True, keepdims=True)
                want = form.of(given, axis=axis, skip_nans=True, keepdims=True)
                assert found.shape == want.shape and found.tobytes() == want.tobytes(), (reduction, axis)
    assert x.shape not in Block.fetched


def test_places_begin_where_they_are_told():
    x = numbers("float32")
    form = Form("argmax", "float32")
    assert form.of(array(x), axis=1, first=100).tobytes() == form.of(x, axis=1, first=100).tobytes()


def test_what_is_refused():
    x = numbers("float32")
    for match, f in (("elements of float32, for states of float64", lambda: Form("sum", "float64").of(array(x))),
                     ("where= of an array on a GPU", lambda: Form("sum", "float32").of(array(x), where=x > 0)),
                     ("none can be left out", lambda: Form("argmin", "float32").of(array(x), axis=0, skip_nans=True))):
        with pytest.raises(TypeError, match=match) as e:
            f()
        assert "\n" not in str(e.value)


@pytest.mark.parametrize("known", [True, False])
def test_blocks_of_dask_stay_on_the_gpu(known, monkeypatch):
    """None of a block's size comes to the CPU's memory; answers are CuPy's where Dask knows that the blocks are."""
    da = pytest.importorskip("dask.array")
    import warpfold.dask as wfd
    monkeypatch.setattr(wfd, "_short_stay", False)  # else elements are copied where they are fewer bytes than states
    r = np.random.default_rng(3)
    x = r.standard_normal((400, 30)) * 10.0 ** r.integers(-100, 100, (400, 30))
    x[5, :] = x[7, 3] = np.nan
    meta = Block((0, 0), x.dtype) if known else np.empty((0, 0))
    for chunks in ((400, 30), (370, 11), (100, 30)):
        d = da.from_array(x, chunks=chunks).map_blocks(array, dtype=x.dtype, meta=meta)
        for name in ("sum", "mean", "var", "norm", "min", "argmax", "nansum", "nanmax", "mean_var"):
            for axis in (None, 0, 1):
                for keepdims in (False, True):
                    Block.fetched.clear()
                    found, want = getattr(wfd, name)(d, axis=axis, keepdims=keepdims), getattr(wf, name)(x, axis=axis, keepdims=keepdims)
                    for lazy, right in zip(found, want) if isinstance(want, tuple) else [(found, want)]:
                        answer = lazy.compute(scheduler="sync")
                        assert type(answer) is type(lazy._meta) is (Block if known else np.ndarray) and lazy._meta.ndim == lazy.ndim
                        same(answer.x if known else answer, np.asarray(right))
                    assert not any(shape[0] in (400, 370, 100) and shape[-1] in (11, 8, 30) for shape in Block.fetched if shape), (name, axis, Block.fetched)


def test_few_elements_travel_in_place_of_states():
    da = pytest.importorskip("dask.array")
    import warpfold.dask as wfd
    x = numbers("float64", shape=(6, 30))
    found = wfd.sum(da.from_array(x, chunks=(1, 30)).map_blocks(array, dtype=x.dtype, meta=Block((0, 0), x.dtype)), axis=0).compute(scheduler="sync")
    same(found.x, wf.sum(x, axis=0))
    assert Block.fetched == [(1, 30)] * 6


def test_arrays_of_xarray_stay_on_the_gpu(monkeypatch):
    xr, da = pytest.importorskip("xarray"), pytest.importorskip("dask.array")
    import warpfold.dask as wfd
    import warpfold.xarray  # noqa: F401
    monkeypatch.setattr(wfd, "_short_stay", False)
    x = numbers("float64", shape=(60, 8))
    with_nans = np.where(x > 0, x, np.nan)
    with_nans[:, 3] = np.nan
    lazy = da.from_array(with_nans, chunks=(40, 8)).map_blocks(array, dtype=x.dtype, meta=Block((0, 0), x.dtype))
    for data, here in ((array(x), x), (array(with_nans), with_nans), (lazy, with_nans)):
        there, cpu = (xr.DataArray(d, dims=("time", "place"), attrs={"units": "K"}).warpfold for d in (data, here))
        for name, how in (("sum", {}), ("sum", {"min_count": 30}), ("mean", {"skipna": False}), ("var", {"ddof": 1}), ("max", {}), ("norm", {}), ("count_nonzero", {})):
            for dim in ("time", None):
                Block.fetched.clear()
                found, want = getattr(there, name)(dim, keep_attrs=True, **how), getattr(cpu, name)(dim, keep_attrs=True, **how)
                assert found.attrs == want.attrs == {"units": "K"} and found.dims == want.dims and found.dtype == want.dtype
                answer = found.data.compute(scheduler="sync") if hasattr(found.data, "dask") else found.data
                assert type(answer) is Block
                same(answer.x, want.values)
                assert not any(shape[-1:] == (8,) for shape in Block.fetched), (name, dim, Block.fetched)
    with pytest.raises(ValueError, match="no elements"):
        xr.DataArray(array(x[:0]), dims=("time", "place")).warpfold.min("time")
