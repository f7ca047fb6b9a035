# SPDX-License-Identifier: Apache-2.0
"""Arrays of states: cut anywhere, merged in any order, they are the bytes of the whole, and answer as the functions do."""

import math
import pickle
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpfold as wf
from arrays import COMPLEX, FLOATS, INTEGERS, REAL, answers_of, fractions_of, laid_out, nearest, same, with_axes
from warpfold import _core, _general
from warpfold.states import Form

ALL = ["sum", "mean", "var", "std", "mean_var", "norm", "sum_of_squares", "any", "all", "count_nonzero"]
OF_REAL = ["norm1", "norm_inf", "min", "max", "minmax", "argmin", "argmax"]


def native(x):
    return x.astype(x.dtype.newbyteorder("="))


def pieces_of(data, x, axis):
    """The array cut along an axis, each piece with the index of its first element there, in any order."""
    cuts = sorted(data.draw(st.lists(st.integers(0, x.shape[axis]), max_size=3)))
    edges = [0, *cuts, x.shape[axis]]
    cut = [slice(None)] * x.ndim
    pieces = []
    for a, b in zip(edges, edges[1:]):
        cut[axis] = slice(a, b)
        pieces.append((x[tuple(cut)], a))
    return data.draw(st.permutations(pieces))


def merged(data, form, states):
    """In a tree at random."""
    states = list(states)
    while len(states) > 1:
        k = data.draw(st.integers(0, len(states) - 2))
        states[k:k + 2] = [form.merge(states[k], states[k + 1])]
    return states[0]


@given(with_axes(laid_out([*REAL, *COMPLEX], finite=False)), st.sampled_from(ALL + OF_REAL), st.booleans(), st.data())
def test_pieces_are_the_bytes_of_the_whole(x_axis, reduction, skip, data):
    x, axis = x_axis
    if reduction in OF_REAL and x.dtype.kind == "c":
        reduction = "sum"
    one_axis = reduction.startswith("arg")
    skip = skip and not one_axis
    if one_axis and (axis is None or isinstance(axis, tuple)):
        axis = 0 if x.ndim else None
    form = Form(reduction, x.dtype)
    whole = form.of(x, axis=axis, skip_nans=skip)
    assert whole.dtype == form.dtype and Form.of_dtype(whole.dtype) == form
    if x.ndim:
        along = axis if one_axis else data.draw(st.integers(0, x.ndim - 1))
        reduced = set(_general.axes_of(axis, x.ndim, "test"))
        parts = [form.of(p, axis=axis, skip_nans=skip, keepdims=True, first=first if one_axis else 0)
                 for p, first in pieces_of(data, x, along % x.ndim)] if along % x.ndim in reduced else []
        if parts:
            found = merged(data, form, parts)
            assert found.reshape(whole.shape).tobytes() == whole.tobytes()
            at = data.draw(st.integers(0, found.ndim))
            assert form.merge_axis(np.stack(parts, at), axis=at).tobytes() == whole.tobytes()
    if reduction in ("min", "max", "minmax", "argmin", "argmax") and whole.size and not form.counts(whole).all():
        with pytest.raises(ValueError, match="no elements"):
            form.values(whole)
        return
    answers = form.values(whole, correction=1 if reduction in ("var", "std", "mean_var") else 0)
    want = _general.reduce(form.op, native(x), axis, None, False, 1 if reduction in ("var", "std", "mean_var") else None, "exact", "nearest",
                           None, None, None, skip)
    for a, b in zip(answers, want) if isinstance(want, tuple) else [(answers, want)]:
        same(a, np.asarray(b))
    assert form.dtype == pickle.loads(pickle.dumps(form)).dtype and pickle.loads(pickle.dumps(whole)).dtype == form.dtype


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reduction", [*ALL, *OF_REAL, "prod", "count"])
def test_every_type(reduction):
    """Each form's bytes pass its own check, whatever is special about the elements."""
    r = np.random.default_rng(0)
    for dtype in map(np.dtype, [*REAL, *COMPLEX]):
        if dtype.kind == "c" and reduction in OF_REAL or dtype.kind in "fc" and reduction == "prod":
            continue
        form = Form(reduction, dtype)
        x = (r.standard_normal((7, 9)) * 50 + (1j * r.standard_normal((7, 9)) if dtype.kind == "c" else 0)).astype(dtype)
        for special in [None, -0.0, math.nan, math.inf] if dtype.kind in "fc" else [None]:
            y = x.copy()
            if special is not None:
                y[0 if special == 0 else 2:][:7 if special == 0 else 1] = special
            whole, a, b = (form.of(p, axis=0, first=k) for p, k in ((y, 0), (y[:3], 0), (y[3:], 3)))
            assert form.merge(b, a).tobytes() == form.merge(a, b).tobytes() == form.check(whole).tobytes()
            if form.adds:
                assert form.settle((form.words(a) + form.words(b)).view(form.dtype).reshape(9)).tobytes() == whole.tobytes()
            if not reduction.startswith("arg"):
                assert form.merge_axis(whole).tobytes() == form.of(y).tobytes()


@given(with_axes(laid_out(FLOATS + INTEGERS)), st.sampled_from(FLOATS))
def test_sums_are_rounded_once_to_another_type(x_axis, to):
    x, axis = x_axis
    form = Form("sum", x.dtype, answer=to)
    halves = form.merge(form.of(x, axis=axis), form.of(x, axis=axis))  # each element twice
    want = answers_of(x, axis, lambda row: nearest(2 * sum(fractions_of(row), Fraction(0)), to), to)
    same(form.values(halves) + 0, want + 0)  # the sum of nothing but -0 is -0, which a fraction does not know


@given(laid_out(["float32", "float64", "int8"]), st.data())
def test_labels(x, data):
    x = x.ravel()
    labels = np.array(data.draw(st.lists(st.integers(0, 4), min_size=x.size, max_size=x.size)), np.int64)
    form = Form("mean", x.dtype)
    states = form.of_labels(x, labels, 5)
    want = np.concatenate([form.of(native(x)[labels == k]).reshape(1) for k in range(5)])
    assert states.tobytes() == want.tobytes()
    assert form.merge_labels(np.concatenate([states, states]), np.tile([0, 0, 1, 1, 1], 2), 2).tobytes() == \
        np.stack([form.merge(*(s for s in states[a:b] for _ in (0, 1))) for a, b in ((0, 2), (2, 5))]).tobytes()


@given(laid_out([*FLOATS, "int16"]), st.data())
def test_words_are_added_by_others(x, data):
    """As an all-reduce of int64 does, which knows nothing of carries."""
    for reduction in ("sum", "mean_var", "norm", "count_nonzero"):
        form = Form(reduction, x.dtype)
        assert form.adds
        whole = form.of(x)
        parts = [form.of(p) for p, _ in pieces_of(data, x, 0)] if x.ndim else [whole]
        total = np.sum([form.words(p) for p in parts], axis=0, dtype=np.int64)
        assert form.settle(total.view(form.dtype).reshape(())).tobytes() == whole.tobytes()


def test_exact_sums_are_states_of_reals():
    x = np.array([1e300, 1.5, -1e300, math.inf])
    form = Form("sum", "reals")
    s = wf.ExactSum(x)
    assert _core.words_of_sum(s._state) == form.of(x).tobytes()
    assert _core.sum_of_words(form.of(x).tobytes()).equals(s._state)
    assert Form("sum", "float32", answer="float64").of(x[1:2].astype("f4")).tobytes() == _core.words_of_sum(wf.ExactSum([1.5])._state)
    m = wf.ExactMoments(x[:3])
    assert _core.moments_of_words(_core.words_of_moments(m._state)).equals(m._state)
    with pytest.raises(ValueError, match="592|591"):
        _core.sum_of_words(b"\0" * 591)


def test_fewest():
    x = np.array([[1.0, math.nan], [math.nan, math.nan]])
    form = Form("min", x.dtype)
    states = form.of(x, axis=1, skip_nans=True)
    same(form.values(states, fewest=1), np.array([1.0, math.nan]))
    same(form.values(states, fewest=0), np.array([1.0, math.inf]))


def test_bf16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([1.0, 2.0**-9, 2.0**-9], ml_dtypes.bfloat16)
    form = Form("sum", x.dtype)
    assert form.answers == (x.dtype,) and form.values(form.of(x)).dtype == x.dtype
    assert float(form.values(form.of(x))) == 1.0
    assert pickle.loads(pickle.dumps(form)).answers == form.answers


# ---- What is refused, in one line.

def refused(kind, match, f):
    with pytest.raises(kind, match=match) as e:
        f()
    assert "\n" not in str(e.value)


def test_no_states_where_the_order_is_seen():
    for reduction, dtype in (("prod", "float64"), ("logsumexp", "float32"), ("logsumexp", "int8")):
        refused(TypeError, "depends on the order", lambda r=reduction, d=dtype: Form(r, d))
    assert int(Form("prod", "int8").values(Form("prod", "int8").of(np.array([3, 5], "i1")))) == 15
    refused(TypeError, "it may be", lambda: Form("median", "float64"))
    refused(TypeError, "two arrays", lambda: Form("dot", "float64"))
    refused(TypeError, "complex64", lambda: Form("sum", "float32", answer="complex64"))


def test_foreign_arrays_are_refused():
    form = Form("sum", "float64")
    good = form.of(np.ones((2, 3)), axis=1)
    other = Form("sum", "float32").of(np.ones(2, "f4"))
    refused(TypeError, "one of states", lambda: form.values(np.zeros(2)))
    refused(TypeError, "sum of float64", lambda: form.merge(good, other))
    refused(TypeError, "one of states", lambda: form.check(good.view("V592")))
    refused(ValueError, "shapes", lambda: form.merge(good, good[:1]))
    stale = good.view([("warpfold 1: sum of float64", "V592")])
    refused(TypeError, "version 1; this package has version 2", lambda: form.values(stale))
    refused(TypeError, "states of 584 bytes", lambda: Form.of_dtype([("warpfold 2: sum of float64", "V584")]))
    refused(TypeError, "int64, for states of float64", lambda: form.of(np.arange(3)))
    refused(TypeError, "none can be left out", lambda: Form("argmin", "float64").of(np.ones(2), skip_nans=True))
    refused(ValueError, "label 2 of state 1", lambda: form.merge_labels(good, np.array([0, 2]), 2))


@pytest.mark.parametrize("reduction, dtype, word, value, why", [
    ("sum", "float64", 0, -1, "negative number of elements"),
    ("sum", "float64", 5, 2**32, "not in canonical form"),
    ("sum", "float64", 5, -1, "not in canonical form"),
    ("sum", "float64", 68, 2**31, "leading digit"),
    ("sum", "float64", 69, 4, "contradicts itself"),
    ("sum", "float64", 70, 4, "beyond the number of elements"),
    ("sum", "float64", 73, 2, "counters that are not in canonical form"),
    ("sum", "float64", 68, 2**20, "too large for so few elements"),
    ("mean_var", "float32", 37, -1, "leading digit"),
    ("mean_var", "complex64", 60, 2**33, "not in canonical form"),
    ("norm", "float16", 1, 2**40, "not in canonical form"),
    ("mean", "int8", 2, 2**40, "not in canonical form"),
    ("min", "float64", 3, 2, "extremes that no elements have"),
    ("argmax", "float64", 2, -1, "a place"),
    ("any", "float64", 1, 4, "a count beyond"),
])
def test_damaged_states_are_refused(reduction, dtype, word, value, why):
    form = Form(reduction, dtype)
    bad = form.of(np.ones(3, dtype)).reshape(1)
    form.words(bad)
    bad.view(np.int64)[word] = value
    good = form.of(np.ones((1, 3), dtype), axis=1)
    for use in (form.check, form.values, lambda s: form.merge(s, good), lambda s: form.merge(good, s), form.merge,
                lambda s: form.merge_axis(s, axis=0), lambda s: form.merge_labels(s, np.array([0]), 1), form.to_bytes):
        refused(ValueError, f"state 0 has .*{why}", lambda use=use: use(bad))


def test_too_many_elements():
    form = Form("count_nonzero", "bool")
    s = form.of(np.ones(2, bool)).reshape(1)
    s.view(np.int64)[:] = 2**62
    with pytest.raises(OverflowError, match=r"more than 2\^63 - 1 elements"):
        form.merge(s, s)
    s.view(np.int64)[:] = -(2**63)
    refused(ValueError, "more than 2", lambda: form.settle(s))


@given(st.integers(0, 20 + 2 * 592 - 1), st.integers(0, 7))
def test_bytes(place, bit):
    form = Form("sum", "float64")
    states = form.of(np.array([[1.5, -3.0], [1e300, 2.0]]), axis=1)
    data = form.to_bytes(states)
    assert form.from_bytes(data).tobytes() == states.tobytes()
    bad = bytearray(data)
    bad[place] ^= 1 << bit
    refused(ValueError, "sum: ", lambda: form.from_bytes(bad))


def test_bytes_of_others():
    form = Form("sum", "float64")
    data = form.to_bytes(form.nothing((2,)))
    refused(ValueError, "bytes; 2 states have", lambda: form.from_bytes(data[:-1]))
    refused(ValueError, "bytes; 2 states have", lambda: form.from_bytes(data + b"\0"))
    refused(ValueError, "no states", lambda: form.from_bytes(b""))
    refused(ValueError, "no states", lambda: form.from_bytes(wf.ExactSum([1.0]).to_bytes()))
    refused(ValueError, "version 1; this package has version 2", lambda: form.from_bytes(data[:4] + struct.pack("<H", 1) + data[6:]))
    refused(ValueError, "states of sum of float64; they must be mean of int8", lambda: Form("mean", "int8").from_bytes(data))


def test_examples():
    import doctest

    from warpfold import states
    found = doctest.testmod(states)
    assert found.failed == 0 and found.attempted > 5


def families(dtype, shape):
    """Columns of many kinds, some whose sums in doubles are exact and some whose are not, side by side."""
    r = np.random.default_rng(11)
    x = r.standard_normal(shape)
    if dtype.kind != "f":
        return (x * 100).astype(dtype)
    few = np.finfo(dtype)
    with np.errstate(over="ignore", under="ignore"):
        x[:, 1] *= 2.0 ** r.integers(few.minexp // 2, few.maxexp // 2, len(x))
        x[:, 2] = -0.0
        x[:, 3] = 0.0
        x[:, 4] = np.where(r.random(len(x)) < 0.5, 0.0, -0.0)
        x[:, 5] = np.where(np.arange(len(x)) % 2 == 0, 1.5, -1.5)
        x[7 % len(x), 6] = np.inf
        x[5 % len(x), 7] = np.nan
        x[:, 8] = few.smallest_subnormal
        x[:, 9] = few.max
        x[::2, 10] *= 2.0 ** -(few.nmant + 3)
        x[3 % len(x), 11], x[4 % len(x), 11] = np.inf, -np.inf
        return x.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int16", "int64", "uint8"])
@pytest.mark.parametrize("reduction", ["sum", "mean", "norm1", "norm", "var", "min", "max", "minmax"])
def test_states_are_those_of_digits(reduction, dtype):
    """Columns and rows have short ways, by sums in doubles that lost nothing; elements by label are added up in digits."""
    form = Form(reduction, dtype)

    def in_digits(column, skip):
        parts = np.arange(len(column)) // 1000
        return form.merge_axis(form.of_labels(column, parts, int(parts[-1]) + 1, skip_nans=skip))

    for shape in ((300, 20), (9001, 12), (1, 12), (70, 1000)):
        x = families(np.dtype(dtype), shape)
        for skip in (False, True):
            want = [in_digits(c, skip) for c in x.T]
            for given, axis in ((x, 0), (np.ascontiguousarray(x.T), 1), (np.asfortranarray(x), 0)):
                found = form.of(given, axis=axis, skip_nans=skip)
                for k in range(shape[1]):
                    assert found[k].tobytes() == want[k].tobytes(), (shape, axis, skip, k)
        part = x.T[[0, 1, 2, 5, 10]].reshape(-1)
        assert form.of(part).tobytes() == in_digits(part, False).tobytes()
