# SPDX-License-Identifier: Apache-2.0
"""warpfold.numpy: NumPy's signatures and types with this package's answers, by name, by method and by NEP 18."""

import inspect
import math
from fractions import Fraction

import numpy as np
import pytest

import warpfold as wf
from arrays import nearest, root, same
from warpfold import numpy as wnp

NAMES = [n for n in wnp.__all__ if n not in ("exact", "ndarray")]
METHODS = [n for n in NAMES if not n.startswith("nan") and n != "count_nonzero"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex128"])
def test_answers_and_types_are_numpys_where_numpy_is_exact(name, dtype):
    x = np.array([[3, 1, 2, 0], [1, 0, 2, 1]]).astype(dtype)  # sums, squares and quotients by 2, 4, 8 are exact in every type
    theirs, ours = getattr(np, name), getattr(wnp, name)
    for args, kwargs in (((), {}), ((0,), {}), ((-1,), {}), ((), {"axis": 1, "keepdims": True})):
        try:
            expected = theirs(x, *args, **kwargs)
            got = ours(x, *args, **kwargs)
        except TypeError:
            assert dtype == "complex128" and "m" in name  # no order of complex numbers
            with pytest.raises(TypeError):
                ours(x, *args, **kwargs)
            continue
        expected = np.asarray(expected)  # count_nonzero gave an int before NumPy 2.3
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape), (args, kwargs)
        loses = name in ("std", "nanstd") or (name == "var" and dtype == "float16")
        assert np.allclose(got, expected, rtol=4 * np.finfo(got.dtype).eps) if loses else np.array_equal(got, expected)
        again = theirs(wnp.exact(x), *args, **kwargs)  # NumPy's own function
        assert np.array_equal(again, got) and isinstance(again, wnp.ndarray) == (np.ndim(got) > 0)
        if name in METHODS:
            assert np.array_equal(getattr(wnp.exact(x), name)(*args, **kwargs), got)


@pytest.mark.parametrize("name", NAMES)
def test_positions_are_numpys(name):
    theirs = [k for k, p in inspect.signature(getattr(np, name)).parameters.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    ours = list(wnp._PARAMETERS[name])
    assert theirs[1:len(ours) + 1] == ours


def test_what_numpys_own_lose_is_kept():
    x = np.array([1e16, 1.0, -1e16, 1.0] * 100)
    e = wnp.exact(x)
    assert float(np.sum(x)) != 200.0 == float(np.sum(e)) == float(e.sum()) == float(wnp.sum(x))
    thirds = np.array([2.0**53, 1.0, 0.0])  # no method: NumPy rounds the sum, then the quotient
    assert float(np.nanmean(thirds)) != (2**53 + 1) // 3 == float(np.nanmean(wnp.exact(thirds)))
    assert np.mean(e.reshape(100, 4), axis=1).tolist() == [0.5] * 100
    assert float((e * 2)[:4].sum()) == 4.0  # what ufuncs and slices make
    for made, total in ((np.where(e > 0, e, 0), 1e18 + 200), (np.concatenate([e, x]), 400), (np.stack([e, e]), 400), (np.nan_to_num(e), 200), (np.tile(e, 3), 600)):
        assert type(made) is wnp.ndarray and float(made.sum()) == total
    assert isinstance(e.sum(axis=0, keepdims=True), wnp.ndarray) and np.shares_memory(e, x)
    assert np.var(e, ddof=1) == wf.var(x, correction=1) and e.std(ddof=2) == wf.std(x, correction=2)
    assert np.sum(e, where=x > 0) == wf.sum(x, where=x > 0)
    out = wnp.exact(np.zeros(()))
    assert np.sum(e, out=out) is out and float(out) == 200.0


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
@pytest.mark.parametrize("to", ["float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("dtype", ["int32", "float16", "float32", "float64", "complex128"])
def test_variances_of_other_types_are_rounded_once(name, dtype, to):
    x = np.random.default_rng(1).standard_normal((40, 9)).astype(dtype) if dtype != "int32" else np.random.default_rng(1).integers(-99, 99, (40, 9), dtype)
    got = getattr(wnp, name)(x, axis=1, ddof=1, dtype=to)
    assert got.dtype == np.finfo(to).dtype
    q = [Fraction(v) for v in x.real.astype(float).ravel().tolist()], [Fraction(v) for v in np.imag(x).astype(float).ravel().tolist()]
    for k in range(40):
        parts = [part[9 * k:9 * k + 9] for part in q]
        variance = sum((sum(v * v for v in part) - sum(part)**2 / 9) / 8 for part in parts)
        assert same(got[k], (root if "std" in name else nearest)(variance, got.dtype)) is None


def test_variances_of_other_types_beyond_those():
    assert wnp.var(np.array([1e200, -1e200]), dtype="f4") == np.inf and wnp.std([1e-60, -1e-60], dtype="f4") == 0 and np.isnan(wnp.var([], dtype="f4"))
    x = [2.0, -2.0, 2.0**-11, -2.0**-11, 2.0**-30, -2.0**-30, 0.0, 0.0]  # 1 + 2^-24 + 2^-62, whose nearest f64 lies halfway between two f32
    assert np.var(wnp.exact(x), dtype=np.float32) == 1 + 2.0**-23 and np.float32(np.var(x)) == 1
    a = math.sqrt(2.0**-21)
    a = a if Fraction(a)**2 < Fraction(2)**-21 else math.nextafter(a, 0)
    x = [2.0, -2.0, a, -a, 2.0**-11, -2.0**-11, 0.0, 0.0]  # a little less than 1 + 2^-23 + 2^-24
    assert wnp.var(x, dtype=np.float32) == 1 + 2.0**-23
    out = np.zeros((), np.float32)
    assert wnp.std([1.0, 3.0], dtype=np.float32, out=out) is out and out == 1
    with pytest.raises(TypeError, match="^var: dtype=int64; it is a type of floats"):
        wnp.var([1.0, 2.0], dtype=int)
    assert np.nanstd(wnp.exact([1e16, np.nan, 1e16 + 2])) == 1 and wnp.std(np.ma.masked_array([1.0, 3.0, 9.0], [0, 0, 1]), dtype="f4") == 1


def test_all_else_is_numpys():
    assert wnp.linspace is np.linspace and wnp.pi == math.pi and "linspace" in dir(wnp)
    assert np.sort(wnp.exact([3.0, 1.0])).tolist() == [1.0, 3.0]
    days = np.array(["2020-01-02", "2020-01-01"], "datetime64[D]")
    assert wnp.min(days) == days[1] == np.min(wnp.exact(days))
    with pytest.raises(AttributeError):
        wnp.no_such_name


def test_refusals():
    x = wnp.exact([1.0, 2.0])
    for call, message in ((lambda: np.sum(x, initial=1.0), "^sum: initial=, which"), (lambda: wnp.sum(x, 0, axis=0), "axis= is given twice"),
                          (lambda: wnp.argmin(x, 0, None, 1), "4 arguments"), (lambda: wnp.sum(np.ones(2, np.longdouble)), "^sum: elements of type")):
        with pytest.raises(TypeError, match=message):
            call()
    masked = np.ma.masked_less(np.arange(4.0), 2)
    for call, message in ((lambda: np.sum(x, ddof=1), "'ddof'"), (lambda: wnp.mean([1.0], ddof=1), "'ddof'"), (lambda: wnp.exact(masked), "^exact: a masked array")):
        with pytest.raises(TypeError, match=message):
            call()
    with pytest.raises(ValueError, match="^std: ddof= and correction="):
        np.std(x, ddof=1, correction=1)
    with pytest.raises(ValueError, match="no elements"):
        np.min(wnp.exact([]))
    assert wnp.sum(masked) == 5.0 and wnp.mean(masked.reshape(2, 2), axis=0).tolist() == [2.0, 3.0]  # the mask is not lost


@pytest.mark.parametrize("name", wnp.__all__)
def test_every_name_has_an_example(name):  # test_package.py runs them
    told = inspect.getdoc(getattr(wnp, name))
    assert ">>> " in told and "References\n----------\n" in told and (name == "ndarray" or "Parameters\n----------\n" in told)
