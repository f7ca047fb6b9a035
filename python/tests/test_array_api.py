# SPDX-License-Identifier: Apache-2.0
"""The array API standard's functions: signatures, dtypes, shapes and errors, with array-api-strict as oracle."""

import inspect
import warnings

import numpy as np
import pytest

import warpfold as wf

xp = pytest.importorskip("array_api_strict")

NAMES = ["sum", "prod", "mean", "var", "std", "min", "max", "argmin", "argmax", "any", "all", "count_nonzero"]
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_of_the_standard_is_taken(name):
    theirs = inspect.signature(getattr(xp, name)).parameters
    ours = inspect.signature(getattr(wf, name)).parameters
    for key, parameter in theirs.items():
        assert key in ours, key
        assert ours[key].kind == parameter.kind or parameter.kind == parameter.POSITIONAL_OR_KEYWORD, key
        if parameter.default is not parameter.empty:
            assert ours[key].default == parameter.default, key
    for key, parameter in ours.items():
        assert key in theirs or parameter.default is not parameter.empty, key


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_and_shapes(name, dtype):
    x = xp.asarray(np.arange(12).reshape(3, 4) % 3, dtype=getattr(xp, dtype))
    f, g = getattr(xp, name), getattr(wf, name)
    for how in ({}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"keepdims": True}):
        try:
            expected = f(x, **how)
        except TypeError:  # types that the standard leaves open: ours is NumPy's or an error of that kind
            try:
                got = g(x, **how)
            except TypeError:
                continue
            assert got.shape == np.sum(np.zeros((3, 4)), **how).shape
            continue
        got = g(x, **how)
        assert type(got) is type(expected)
        assert got.dtype == expected.dtype, how
        assert got.shape == expected.shape, how
        a, b = np.asarray(got._array), np.asarray(expected._array)
        if a.dtype.kind in "fc":  # 12 elements of at most 2, a few roundings
            assert np.all(np.abs(a - b) <= 16 * np.finfo(a.dtype).eps * np.abs(b))
        else:
            assert np.array_equal(a, b)


@pytest.mark.parametrize("name", ["sum", "prod"])
@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize("to", DTYPES[1:])
def test_dtype_arguments(name, dtype, to):
    kinds = {"i": 0, "u": 0, "f": 1, "c": 2}
    x = xp.asarray(np.arange(1, 5), dtype=getattr(xp, dtype))
    want = getattr(xp, to)
    if kinds[np.dtype(dtype).kind] > kinds[np.dtype(to).kind]:
        with pytest.raises(TypeError, match="cut off|imaginary part"):
            getattr(wf, name)(x, dtype=want)
        return
    expected = getattr(xp, name)(x, dtype=want)
    got = getattr(wf, name)(x, dtype=want)
    assert got.dtype == expected.dtype == want
    assert bool(got == expected)  # 10 and 24, exact in every type


@pytest.mark.parametrize("name", NAMES)
def test_errors_are_of_the_kind_that_numpy_raises(name):
    x = np.ones((2, 3))
    f, g = getattr(np, name), getattr(wf, name)
    for axis in (5, -3, "0", 1.5):
        with pytest.raises(Exception) as expected:
            f(x, axis=axis)
        with pytest.raises(Exception) as got:
            g(x, axis=axis)
        assert isinstance(got.value, (expected.type, expected.type.__mro__[1])), axis


@pytest.mark.parametrize("name", ["var", "std"])
def test_corrections(name):
    x = xp.asarray([1.0, 2.0, 4.0])
    for correction in (0, 1, 2, 1.0, 0.5, 1.75, -0.5):
        a, b = getattr(wf, name)(x, correction=correction), getattr(xp, name)(x, correction=correction)
        assert abs(float(a) - float(b)) <= 2.0**-50
    assert np.isnan(float(getattr(wf, name)(x, correction=3)))


ONE_AXIS = {"argmin", "argmax"}
NEED_ELEMENTS = {"min", "max", "argmin", "argmax"}


def outcome(f, x, **how):
    """Shape, type and values, or the kind of error: of NumPy's family, or another."""
    try:
        answer = f(x, **how)
    except (TypeError, ValueError, IndexError) as e:  # AxisError is both of the latter
        return "type" if isinstance(e, TypeError) else "value"
    assert type(answer) is type(x), how
    return answer.shape, answer.dtype, np.asarray(answer._array).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_every_axis_or_the_same_kind_of_error(name):
    x = xp.reshape(xp.asarray([float(k % 5 - 1) for k in range(24)]), (2, 3, 4))
    axes = [None, 0, 1, 2, -1, -3, 3, -4, "0", 1.0]
    if name not in ONE_AXIS:  # which the standard gives one axis
        axes += [(), (0,), (0, 2), (2, 0), (-1, 0), (0, 1, 2), (0, 0), (0, -3), (0, 3)]
    for axis in axes:
        for keepdims in (False, True):
            expected = outcome(getattr(xp, name), x, axis=axis, keepdims=keepdims)
            got = outcome(getattr(wf, name), x, axis=axis, keepdims=keepdims)
            if isinstance(expected, str):
                assert got == expected, (axis, keepdims)
                continue
            assert got[:2] == expected[:2], (axis, keepdims)
            # 24 whole numbers below 4: all that NumPy rounds are quotients and roots, a few times each
            assert np.allclose(got[2], expected[2], rtol=2.0**-48, atol=0), (axis, keepdims)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
def test_of_nothing(name, shape):
    x = xp.zeros(shape)
    for axis in (None, *range(len(shape))):
        with warnings.catch_warnings():  # NumPy's of means of nothing
            warnings.simplefilter("ignore")
            expected = outcome(getattr(xp, name), x, axis=axis)
        got = outcome(getattr(wf, name), x, axis=axis)
        if isinstance(expected, str):
            assert name in NEED_ELEMENTS and got == expected == "value"
        else:
            assert got[:2] == expected[:2] and np.array_equal(got[2], expected[2], equal_nan=True), axis


@pytest.mark.parametrize("name", NAMES)
def test_how_arguments_are_passed(name):
    f, x = getattr(wf, name), xp.asarray([1.0, 2.0])
    for wrong in (lambda: f(x, 0), lambda: f(x=x), lambda: f(), lambda: f(x, axes=0)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(TypeError):
        f(x, dtype="float64") if name not in ("sum", "prod", "mean") else f(x, dtype="text")
    assert f(x).device == x.device


@pytest.mark.parametrize("how", [{}, {"axis": 0}, {"axis": (0, 1)}, {"axis": -1, "keepdims": True}])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_vector_norm_and_vecdot_of_the_standard(how, dtype):
    x = xp.asarray(np.arange(12).reshape(3, 4) - 5, dtype=getattr(xp, dtype))
    y = xp.asarray(np.arange(12).reshape(3, 4) % 5, dtype=getattr(xp, dtype))
    a, b = wf.norm(x, **how), xp.linalg.vector_norm(x, **how)
    assert (type(a), a.dtype, a.shape) == (type(b), b.dtype, b.shape)
    assert np.allclose(np.asarray(a._array), np.asarray(b._array), rtol=16 * float(xp.finfo(x.dtype).eps), atol=0)
    if isinstance(how.get("axis", -1), int) and "keepdims" not in how:
        axis = how.get("axis", -1)
        if axis >= 0:
            x, y, axis = xp.permute_dims(x, (1, 0)), xp.permute_dims(y, (1, 0)), -1  # the standard's axis is one of the last
        c, d = wf.dot(x, y, axis=axis), xp.vecdot(x, y, axis=axis)  # real values: vecdot conjugates, dot does not
        assert (type(c), c.dtype, c.shape) == (type(d), d.dtype, d.shape) and bool(xp.all(c == d))
