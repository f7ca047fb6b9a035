# SPDX-License-Identifier: Apache-2.0
"""xarray: named dimensions, coordinates and attributes as xarray keeps them, and the same bits for any chunks."""

import numpy as np
import pytest

import warpfold as wf

xr = pytest.importorskip("xarray")
pytest.importorskip("dask.array")
import warpfold.xarray  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # NumPy's, of slices of nothing but NaN


def heat(dtype="float32"):
    r = np.random.default_rng(0)
    v = r.standard_normal((12, 5, 4)).astype(dtype)
    v[r.random(v.shape) < 0.2] = np.nan
    v[:, 2, 1] = np.nan
    return xr.DataArray(v, dims=("time", "lat", "lon"), coords={"time": np.arange(12), "lat": np.arange(5.0)}, attrs={"units": "K"}, name="heat")


def data_set():
    a = heat()
    return xr.Dataset({"heat": a, "n": a.fillna(0).astype(int), "name": ("lat", list("abcde"))}, attrs={"title": "a set"})


def test_a_sum_depends_on_the_chunks_in_xarray_and_not_here():
    """xarray's issue 2902: a mean of float32 whose digits change with the chunks."""
    r = np.random.default_rng(5)
    x = xr.DataArray((r.standard_normal(100_000) + 280).astype("f4"), dims="time")
    chunks = (700, 3000, 100_000)
    theirs = {float(x.chunk(time=n).sum("time")) for n in chunks} | {float(x.sum("time"))}
    ours = {float(x.chunk(time=n).warpfold.sum("time")) for n in chunks} | {float(x.warpfold.sum("time"))}
    assert len(theirs) > 1 and ours == {float(wf.sum(x.values))}


@pytest.mark.parametrize("reduction", ["sum", "mean", "var", "std", "min", "max"])
def test_as_xarray_but_for_the_last_digits(reduction):
    a, s = heat(), data_set()
    for dim, skipna, keep in ((None, None, None), ("time", True, True), (("time", "lon"), None, False), (..., False, None), ("lat", False, True)):
        want = getattr(a, reduction)(dim, skipna=skipna, keep_attrs=keep)
        found = getattr(a.warpfold, reduction)(dim, skipna=skipna, keep_attrs=keep)
        xr.testing.assert_allclose(found, want, rtol=1e-4)
        assert (found.attrs, found.name, found.dtype, found.dims) == (want.attrs, want.name, want.dtype, want.dims)
        assert set(found.coords) == set(want.coords)
        lazy = getattr(a.chunk(time=5, lat=2).warpfold, reduction)(dim, skipna=skipna, keep_attrs=keep)
        assert lazy.chunks is not None and lazy.dtype == found.dtype
        assert lazy.compute().identical(found)
    found = getattr(s.warpfold, reduction)("time")
    want = getattr(s[["heat", "n"]], reduction)("time")
    xr.testing.assert_allclose(found[["heat", "n"]], want, rtol=1e-4)
    assert found["name"].identical(s["name"]) and found.attrs == want.attrs
    assert getattr(s.chunk(time=3).warpfold, reduction)("time").compute().identical(found)


def test_others():
    a = heat()
    filled = a.fillna(0)
    for x in (a, a.chunk(time=5)):
        assert float(x.warpfold.norm()) == float(wf.norm(filled.values))
        assert float(x.warpfold.sum_of_squares()) == float(wf.sum_of_squares(filled.values))
        assert int(x.warpfold.count_nonzero()) == int(a.count()) and bool(x.warpfold.any()) and bool(x.warpfold.all())
        assert float(x.warpfold.var(ddof=1)) == float(wf.nanvar(a.values, correction=1))
        assert float(x.warpfold.mean(rounding="up", dtype="float64")) == float(wf.nanmean(a.values, rounding="up", dtype="float64"))
        assert x.warpfold.sum("lat", keepdims=True).dims == a.dims
        for least in (1, 9, 13):
            found = x.warpfold.sum("time", min_count=least).compute()
            assert (found.isnull() == (a.count("time") < least)).all()
            xr.testing.assert_allclose(found, a.sum("time", min_count=least), rtol=1e-4)
    assert float(a.groupby("lat").map(lambda g: g.warpfold.sum("time"))[0, 0]) == float(wf.nansum(a.values[:, 0, 0]))


def test_refusals():
    a = heat()
    for x in (a, a.chunk(time=5)):
        with pytest.raises(ValueError, match="place"):
            x.warpfold.sum("place")
        with pytest.raises(ValueError, match="no elements"):
            x[:0].warpfold.min("time")
        with pytest.raises(TypeError, match="elements of type|dtype"):
            x.astype("datetime64[s]").warpfold.sum("time")


def test_examples():
    import doctest
    found = doctest.testmod(warpfold.xarray)
    assert found.failed == 0 and found.attempted > 40


def test_every_method_is_documented():
    import inspect
    import re
    for name, f in inspect.getmembers(warpfold.xarray.DataArrayReductions, inspect.isfunction):
        if not name.startswith("_"):
            doc = inspect.getdoc(f)
            for section in ("Returns\n-------\n", "Raises\n------\n", "References\n----------\n", "Examples\n--------\n>>> "):
                assert section in doc, (name, section)
            assert re.findall(r"^(\w+) : ", doc.partition("\nReturns\n")[0], re.M) == [p for p in inspect.signature(f).parameters if p != "self"], name
            assert f"x.warpfold.{name}(" in doc


@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "min", "max"])
def test_arrays_of_warpfolds_numpy_inside(name):
    """xarray's own reductions of them are exact, whether they look for NaNs or not."""
    v = np.array([[1e16, 1.0, -1e16, 1.0], [3.0, 1e-3, 1e20, -1e20]])
    x = xr.DataArray(wf.numpy.exact(v), dims=("a", "b"))
    for skipna in (None, True, False):
        for dim, axis in ((None, None), ("b", 1), ("a", 0)):
            with xr.set_options(use_bottleneck=False, **({"use_numbagg": False} if "use_numbagg" in xr.get_options() else {})):  # which sum by themselves, where they are
                got = getattr(x, name)(dim, skipna=skipna)
            assert np.array_equal(got.values, getattr(wf, name)(v, axis=axis)), (skipna, dim)
    if name == "sum":
        gaps = xr.DataArray(wf.numpy.exact([1e16, np.nan, 1.0, -1e16]), dims="a")
        assert float(gaps.sum()) == 1.0 and float(gaps.sum(min_count=2)) == 1.0 and float(xr.concat([gaps, gaps], "a").fillna(0.5).sum()) == 3.0
        assert float(xr.DataArray(gaps.values, dims="a").sum()) == 0.0  # NumPy's own


def test_subclasses_of_data_arrays():
    class Other(xr.DataArray):
        __slots__ = ()
    assert wf.sum(Other([1.0, 2.0], dims="x", coords={"x": [3, 4]})) == 3


def test_over_no_dimension():
    x = xr.DataArray(np.array([[0.0, 2.0], [np.nan, 4.0]]), dims=("t", "p"))
    both = xr.Dataset({"x": x, "rest": ("q", [0, 3])})
    for name in ("any", "all", "sum", "mean", "min", "max", "var", "std"):
        for given, dim in ((x, []), (x > 1, []), (both, "q"), (both, "t"), (both[["rest"]], [])):
            found = getattr(given.warpfold, name)(dim)
            xr.testing.assert_equal(found, getattr(given, name)(dim))
            xr.testing.assert_equal(getattr(given.chunk().warpfold, name)(dim).compute(), found)
            for one in [found] if isinstance(found, xr.DataArray) else found.values():
                assert name not in ("any", "all") or one.dtype == bool
