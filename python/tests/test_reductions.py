# SPDX-License-Identifier: Apache-2.0
"""Every reduction, over dtypes × axes × layouts × masks, against fractions where it is exact and against NumPy elsewhere."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpfold as wf
from arrays import COMPLEX, FLOATS, INTEGERS, REAL, answers_of, fractions_of, laid_out, nearest, root, same, with_axes

ANY = [*REAL, *COMPLEX]


def float_of(dtype):
    return dtype.newbyteorder("=") if dtype.kind == "f" else np.dtype("float64")


def wide_of(dtype):
    return np.dtype("uint64" if dtype.kind == "u" else "int64")


def wrapped(n, dtype):
    """An int modulo 2^64, as int64 or uint64."""
    n %= 1 << 64
    return n if dtype.kind == "u" or n < 1 << 63 else n - (1 << 64)


def true_sum(row):
    if row.dtype.kind in "iub":
        return wrapped(sum(int(v) for v in row), wide_of(row.dtype))
    return nearest(sum(fractions_of(row)), row.dtype, row.size > 0 and np.all((row == 0) & np.signbit(row)))


def true_var(correction):
    correction = Fraction(correction)

    def f(row):
        v, n = fractions_of(row), row.size
        if n == 0 or n <= correction:
            return math.nan
        return nearest((n * sum(q * q for q in v) - sum(v)**2) / (n * (n - correction)), float_of(row.dtype))
    return f


@given(with_axes(laid_out(REAL)), st.booleans())
def test_sum_is_the_true_one(case, keepdims):
    x, axis = case
    dtype = x.dtype.newbyteorder("=") if x.dtype.kind == "f" else wide_of(x.dtype)
    same(wf.sum(x, axis=axis, keepdims=keepdims), answers_of(x, axis, true_sum, dtype, keepdims))


@given(with_axes(laid_out(REAL)))
def test_mean_is_rounded_once(case):
    x, axis = case
    dtype = float_of(x.dtype)
    same(wf.mean(x, axis=axis), answers_of(x, axis, lambda r: nearest(
        sum(fractions_of(r)) / r.size, dtype, np.all((r == 0) & np.signbit(r))) if r.size else math.nan, dtype))


@given(with_axes(laid_out(REAL)), st.one_of(st.integers(0, 3), st.sampled_from([0.5, 1.25, -0.75, 0.1])))
def test_var_std_and_mean_var(case, correction):
    x, axis = case
    dtype = float_of(x.dtype)
    var = answers_of(x, axis, true_var(correction), dtype)
    same(wf.var(x, axis=axis, correction=correction), var)
    same(wf.mean_var(x, axis=axis, correction=correction)[1], var)
    same(wf.mean_var(x, axis=axis)[0], wf.mean(x, axis=axis))

    def std(row):
        v, n = fractions_of(row), row.size
        return root((n * sum(q * q for q in v) - sum(v)**2) / (n * (n - Fraction(correction))), dtype) if n > correction and n else math.nan
    same(wf.std(x, axis=axis, correction=correction), answers_of(x, axis, std, dtype))


@pytest.mark.parametrize("rounding", ["nearest", "zero", "away", "up", "down"])
def test_corrections_that_are_fractions(rounding):
    x = np.array([[1.0, 3.0, np.nan], [2.0, 9.0, 4.0]])
    counts = np.array([[True, True, False], [True, False, True]])
    how = {"correction": 0.5, "rounding": rounding}
    thirds = {"nearest": 4 / 3, "zero": 4 / 3, "down": 4 / 3, "away": np.nextafter(4 / 3, 2), "up": np.nextafter(4 / 3, 2)}[rounding]
    assert wf.var(x, axis=1, where=counts, **how).tolist() == [thirds] * 2 == wf.mean_var(x, axis=1, where=counts, **how)[1].tolist()
    means = wf.mean_var(x, axis=1, where=counts, keepdims=True, **how)[0]
    assert means.tolist() == [[2.0], [3.0]]
    assert wf.nanvar(np.array([1j, 3j, np.nan, complex(0, np.nan)]), **how) == thirds
    assert wf.nanvar(x[:1], **how) == thirds == wf.ExactMoments([1.0, 3.0]).var(**how) == wf.fuse(["max", "var"])(x[0, :2], **how)[1]
    assert wf.std(x[0, :2] * 2**600, **how) == wf.ExactMoments([1.0, 3.0]).std(**how) * 2**600
    assert wf.var(np.array([1 + 2j, 3 + 4j], np.complex64), **how) == np.float32(nearest(Fraction(8, 3), "float32")) or rounding != "nearest"
    assert np.isnan(wf.var(x, axis=1, **how)).tolist() == [True, False] and np.isnan(wf.var([1.0], correction=1.5)) and np.isnan(wf.var([], correction=-0.5))
    assert wf.fuse(["prod", "std"])(x[0, :2], correction=0.5)[0] == 3  # which has no states
    largest = np.finfo(float).max
    over = wf.var([largest, -largest], **how)
    assert over == (largest if rounding in ("zero", "down") else np.inf)
    out = np.zeros((2, 1), np.float32)
    assert wf.var(np.ones((2, 3), np.float32), axis=1, keepdims=True, out=out, **how) is out and not out.any()


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "c16"])
def test_corrections_that_are_fractions_by_segments_and_labels(dtype):
    rng = np.random.default_rng(7)
    for n in (0, 1, 30):
        x, labels, offsets = (rng.standard_normal(n) * 10).astype(dtype), rng.integers(0, 4, n), np.sort(rng.integers(0, n + 1, 5))
        for where in (None, rng.random(n) < 0.6):
            for correction in (0.5, -2.25):
                chosen = np.ones(n, bool) if where is None else where
                of_labels = [x[chosen & (labels == k)] for k in range(4)]
                of_segments = [x[a:b][chosen[a:b]] for a, b in zip(offsets, offsets[1:])]
                found = {"var": [], "std": []}
                for name, got in found.items():
                    got += [wf.reduce_by_label(name, x, labels, 4, correction=correction, where=where, rounding="up"),
                            getattr(wf, f"segment_{name}")(x, offsets, correction=correction, where=where, rounding="up")]
                    for answers, parts in zip(got, (of_labels, of_segments)):
                        want = [getattr(wf, name)(part, correction=correction, rounding="up") for part in parts]
                        same(answers, np.array(want, answers.dtype))
                means, variances = wf.reduce_by_label("mean_var", x, labels, 4, correction=correction, where=where, rounding="up")
                same(variances, found["var"][0])
                same(means, wf.reduce_by_label("mean", x, labels, 4, where=where, rounding="up"))
    with pytest.raises(ValueError, match="offset 1 is 5"):
        wf.segment_var(np.ones(4), [0, 5], correction=0.5)


@given(st.sampled_from(["float16", "float32", "float64"]), st.integers(2, 2**16), st.floats(-0.99, 0.99), st.sampled_from(["nearest", "up", "down"]),
       st.sampled_from([1.0, 2.0**-60, -2.0**-60, 2.0**-1074, 2.0**-400, 0.0]), st.integers(1, 8))
def test_fractions_and_their_halfway_points_are_rounded_once(dtype, half, scale, rounding, beside, n):
    """Corrections that make n - correction a power of two or a little more or less, so that quotients are halfway between two answers or beside them."""
    correction = math.copysign(n - 2.0**-3, 1) if beside == 0 else n - 2.0**-3 + (beside if abs(beside) > 2.0**-50 else 0)
    x = [float(half), -float(half), *[0.0] * (n - 1)] if n > 1 else [float(half), -float(half)]
    m = wf.ExactMoments(x)
    for c in (correction, beside / 2 if 0 < abs(beside) < 1 else 0.5, scale or 0.5):
        if float(c).is_integer():
            continue
        q = 2 * Fraction(half)**2 / (len(x) - Fraction(c))
        for name, true in (("var", nearest), ("std", root)):
            found = getattr(m, name)(correction=c, rounding=rounding, dtype=dtype)
            if rounding == "nearest":
                same(np.dtype(dtype).type(found), true(q, dtype))
            elif math.isfinite(found):
                power = 1 if name == "var" else 2
                with np.errstate(over="ignore"):
                    beyond = float(np.nextafter(np.dtype(dtype).type(found), np.dtype(dtype).type(-math.inf if rounding == "up" else math.inf)))
                is_beyond = math.isinf(beyond) or (beyond < 0 or Fraction(beyond)**power < q if rounding == "up" else Fraction(beyond)**power > q)
                assert is_beyond and (Fraction(found)**power >= q if rounding == "up" else Fraction(found)**power <= q)


def test_a_little_beside_a_halfway_point_is_seen():
    """Where n - correction is 2^-1074 or 2^-60 beside a whole number, and the quotient that much beside a halfway point or an answer."""
    k = 94906267
    m = wf.ExactMoments([float(k), -float(k)])  # whose variance is an odd number of 54 bits, halfway between two doubles
    assert m.var() in (k * k - 1.0, k * k + 1.0)
    for tiny in (2.0**-1074, 2.0**-60):
        for more, beside in ((tiny, k * k + 1), (-tiny, k * k - 1)):
            assert m.var(correction=more) == beside and m.var(correction=more, rounding="up") == k * k + 1 and m.var(correction=more, rounding="down") == k * k - 1
    one = wf.ExactMoments([1.0, -1.0])
    assert one.std(correction=2.0**-1074) == one.std(correction=-2.0**-1074) == 1
    assert one.std(correction=2.0**-1074, rounding="up") == 1 + 2.0**-52 and one.std(correction=-2.0**-1074, rounding="down") == 1 - 2.0**-53
    assert one.var(correction=2 - 2.0**-51) == 2.0**52 and math.isnan(one.var(correction=2 + 2.0**-51))
    apart = wf.ExactMoments([1.0, -1.0, 2.0**-500, -2.0**-500])  # whose squares are far below the 256 bits that are looked at first
    assert apart.var(correction=3.5) == 4 == apart.var(correction=3.5, rounding="down") and apart.var(correction=3.5, rounding="up") == 4 + 2.0**-50
    for bits in (30, 46, 62):  # divisors of whole limbs
        for k in range(1, 200):
            m = wf.ExactMoments([float(k), -float(k)])
            for c in (2.0**-bits, -2.0**-bits, 0.7):
                same(m.var(correction=c), nearest(2 * Fraction(k)**2 / (2 - Fraction(c)), "float64"))
    for special in (math.inf, -math.inf, math.nan):
        assert math.isnan(wf.var([1.0, special], correction=0.5)) and math.isnan(wf.ExactMoments([special, 2.0]).std(correction=-0.5))


@given(with_axes(laid_out(FLOATS)))
def test_squares_norms_and_magnitudes(case):
    x, axis = case
    dtype = float_of(x.dtype)
    same(wf.sum_of_squares(x, axis=axis), answers_of(x, axis, lambda r: nearest(sum(q * q for q in fractions_of(r)), dtype), dtype))
    same(wf.norm(x, axis=axis), answers_of(x, axis, lambda r: root(sum(q * q for q in fractions_of(r)), dtype), dtype))
    same(wf.norm1(x, axis=axis), answers_of(x, axis, lambda r: nearest(sum(abs(q) for q in fractions_of(r)), dtype), dtype))
    same(wf.norm_inf(x, axis=axis), answers_of(x, axis, lambda r: nearest(max((abs(q) for q in fractions_of(r)), default=Fraction(0)), dtype), dtype))


@given(with_axes(laid_out(["float32", "float64"])), st.data())
def test_dot_is_the_true_one(case, data):
    x, axis = case
    y = np.roll(x.ravel(), data.draw(st.integers(0, 3))).reshape(x.shape)
    dtype = x.dtype.newbyteorder("=")
    places = np.arange(x.size, dtype=np.int64).reshape(x.shape)  # so that one walk of answers serves both arrays
    left, right = x.astype(dtype).ravel(), y.astype(dtype).ravel()

    def one(row):
        a, b = left[row], right[row]
        p = [q * r for q, r in zip(fractions_of(a), fractions_of(b))]
        minus = len(p) > 0 and not any(p) and np.all(np.signbit(a) != np.signbit(b))
        return nearest(sum(p), dtype, minus)
    same(wf.dot(x, y, axis=axis), answers_of(places, axis, one, dtype))


@given(with_axes(laid_out(ANY, finite=False)), st.booleans())
def test_logical_and_counts_as_numpy(case, keepdims):
    x, axis = case
    for ours, numpys in ((wf.any, np.any), (wf.all, np.all)):
        same(ours(x, axis=axis, keepdims=keepdims), numpys(x, axis=axis, keepdims=keepdims))
    same(wf.count_nonzero(x, axis=axis, keepdims=keepdims), np.asarray(np.count_nonzero(x, axis=axis, keepdims=keepdims), np.int64))


@given(with_axes(laid_out(REAL, finite=False)), st.booleans())
def test_extrema_as_numpy(case, keepdims):
    x, axis = case
    native = x.astype(x.dtype.newbyteorder("=")) + 0 if x.dtype.kind == "f" else x.astype(x.dtype.newbyteorder("="))  # -0 is +0 here
    try:
        low = np.min(native, axis=axis, keepdims=keepdims)
    except ValueError:
        for f in (wf.min, wf.max, wf.minmax):
            with pytest.raises(ValueError, match="there are no elements"):
                f(x, axis=axis, keepdims=keepdims)
        return
    high = np.max(native, axis=axis, keepdims=keepdims)
    plus = (lambda a: a + type(a.ravel()[0])(0) if a.dtype.kind == "f" and a.size else a)
    same(plus(wf.min(x, axis=axis, keepdims=keepdims)), low)
    same(plus(wf.max(x, axis=axis, keepdims=keepdims)), high)
    both = wf.minmax(x, axis=axis, keepdims=keepdims)
    same(both[0], wf.min(x, axis=axis, keepdims=keepdims))
    same(both[1], wf.max(x, axis=axis, keepdims=keepdims))


@given(with_axes(laid_out(REAL, finite=False)), st.booleans())
def test_places_as_numpy(case, keepdims):
    x, axis = case
    if isinstance(axis, tuple):
        with pytest.raises(TypeError, match="one axis"):
            wf.argmin(x, axis=axis)
        return
    native = x.astype(x.dtype.newbyteorder("="))
    for ours, numpys in ((wf.argmin, np.argmin), (wf.argmax, np.argmax)):
        try:
            expected = numpys(native, axis=axis, keepdims=keepdims)
        except ValueError:
            with pytest.raises(ValueError, match="there are no elements"):
                ours(x, axis=axis, keepdims=keepdims)
            continue
        same(ours(x, axis=axis, keepdims=keepdims), np.asarray(expected, np.int64))


@given(with_axes(laid_out(INTEGERS)))
def test_prod_of_integers_as_numpy(case):
    x, axis = case
    same(wf.prod(x, axis=axis), np.prod(x.astype(wide_of(x.dtype)), axis=axis, dtype=wide_of(x.dtype)))


@given(with_axes(laid_out(["float64"])))
def test_prod_of_floats_is_within_its_bound(case):
    """n - 1 roundings, each of a relative error of at most 2^-53, where nothing over- or underflows on the way."""
    x, axis = case
    x = np.where(np.abs(x) > 1, 1.5, 0.75) * np.where(np.signbit(x), -1, 1)  # 18 such factors are far from both ends
    ours = np.asarray(wf.prod(x, axis=axis)).ravel()
    rows = answers_of(x, axis, lambda r: math.prod(fractions_of(r), start=Fraction(1)), object).ravel()
    n = max(x.size, 1)
    for a, b in zip(ours, rows):
        assert abs(Fraction(float(a)) - b) <= abs(b) * n * Fraction(2)**-52


@given(with_axes(laid_out(COMPLEX)))
def test_complex_sums_are_those_of_the_parts(case):
    x, axis = case
    total = np.asarray(wf.sum(x, axis=axis))
    assert total.dtype == x.dtype.newbyteorder("=")
    part = x.real.dtype.newbyteorder("=")
    same(total.real, wf.sum(np.asarray(x.real, part), axis=axis))
    same(total.imag, wf.sum(np.asarray(x.imag, part), axis=axis))


@given(with_axes(laid_out(REAL)), st.data())
def test_masks_leave_out(case, data):
    x, axis = case
    if x.ndim == 0:
        return
    mask = data.draw(st.one_of(
        st.lists(st.booleans(), min_size=x.size, max_size=x.size).map(lambda m: np.array(m, bool).reshape(x.shape)),
        st.lists(st.booleans(), min_size=x.shape[-1], max_size=x.shape[-1]).map(lambda m: np.array(m, bool))))  # broadcast
    whole = np.broadcast_to(mask, x.shape)
    if axis is None:
        some = x[whole]
        for f in (wf.sum, wf.mean, wf.var, wf.prod, wf.any, wf.all, wf.count_nonzero, wf.norm):
            same(f(x, where=mask), f(some))
        if x.dtype.kind != "c":
            same(wf.dot(x, x, where=mask), wf.dot(some, some))
        if some.size and x.dtype.kind != "c":
            for f in (wf.argmin, wf.argmax):
                same(f(x, where=mask), np.flatnonzero(whole)[f(some)])
        if some.size:
            same(wf.max(x, where=mask), wf.max(some))
        elif x.size:
            with pytest.raises(ValueError, match="leaves no elements"):
                wf.max(x, where=mask)
        return
    axes = {a % x.ndim for a in (axis if isinstance(axis, tuple) else (axis,))}
    kept = [d for d in range(x.ndim) if d not in axes]
    shape = [x.shape[d] for d in kept]
    rows = x.transpose(*kept, *sorted(axes)).reshape(math.prod(shape), math.prod(x.shape[d] for d in axes))
    masks = whole.transpose(*kept, *sorted(axes)).reshape(rows.shape)
    for f in (wf.sum, wf.mean, wf.var, wf.prod):
        answer = np.asarray(f(x, axis=axis, where=mask))
        same(answer, np.array([f(r[m]) for r, m in zip(rows, masks)], answer.dtype).reshape(shape))
    if x.dtype.kind != "c":
        answer = np.asarray(wf.dot(x, x, axis=axis, where=mask))
        same(answer, np.array([wf.dot(r[m], r[m]) for r, m in zip(rows, masks)], answer.dtype).reshape(shape))
    if len(axes) == 1 and not isinstance(axis, tuple) and x.dtype.kind != "c" and masks.shape[1] and masks.any(axis=1).all():
        for f in (wf.argmin, wf.argmax):
            same(np.asarray(f(x, axis=axis, where=mask)), np.array([np.flatnonzero(m)[f(r[m])] for r, m in zip(rows, masks)], np.int64).reshape(shape))


@given(laid_out(REAL, max_dims=1, max_side=30), st.data())
def test_masks_of_segments_labels_and_keys(x, data):
    if x.ndim != 1:
        return
    n = len(x)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
    cuts = sorted(data.draw(st.lists(st.integers(0, n), min_size=1, max_size=6)))
    length = data.draw(st.integers(1, 8))
    labels = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), np.int64)
    by_length = [*range(0, n, length), n]
    for name in ("sum", "mean", "var", "std", "norm", "prod", "count_nonzero", "min", "max", "argmin", "argmax", "logsumexp"):
        one = getattr(wf, name)

        def of(part, counts):
            if not counts.any():
                return wf.segment_reduce(name, part[:0], [0, 0])[0]
            found = one(part[counts])
            return np.flatnonzero(counts)[found] if name.startswith("arg") else found
        for by, ends in ((cuts, cuts), (length, by_length)):
            got = getattr(wf, "segment_" + name)(x, by, where=mask)
            same(got, np.array([of(x[a:b], mask[a:b]) for a, b in zip(ends, ends[1:])], got.dtype))
            out = np.empty_like(got)
            assert getattr(wf, "segment_" + name)(x, by, where=mask, out=out) is out
            same(out, got)
        got = wf.reduce_by_label(name, x, labels, 5, where=mask)
        same(got, np.array([of(x[labels == k], mask[labels == k]) for k in range(5)], got.dtype))
    out = np.empty(5, wf.sum_by_label(x, labels, 5).dtype)
    assert wf.sum_by_label(x, labels, 5, where=mask, out=out) is out
    same(out, np.array([wf.sum(x[(labels == k) & mask]) for k in range(5)], out.dtype))
    keys, sums = wf.sum_by_key(x, labels, where=mask)
    assert keys.tolist() == sorted(set(labels.tolist()))
    same(sums, out[keys])


def test_answers_go_where_the_caller_wants_them():
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    for name in ("minmax", "mean_var"):
        for axis, shape in ((None, ()), (0, (4,)), (1, (3,))):
            outs = np.empty(shape, np.float32), np.empty(shape, np.float32)
            got = getattr(wf, name)(x, axis=axis, out=outs)
            assert got[0] is outs[0] and got[1] is outs[1]
            for a, b in zip(outs, getattr(wf, name)(x, axis=axis)):
                same(a, np.asarray(b))
            only = np.empty(shape, np.float32)
            first, second = getattr(wf, name)(x, axis=axis, out=(None, only))
            assert second is only
            same(np.asarray(first), outs[0])
    pair, at = (np.empty(4, np.float32), None), np.empty(4, np.int64)
    total, (least, greatest), places = wf.fuse(["sum", "minmax", "argmax"])(x, axis=0, where=x < 10, out=(None, pair, at))
    assert least is pair[0] and places is at
    assert (total.tolist(), least.tolist(), greatest.tolist(), at.tolist()) == ([12, 15, 8, 10], [0, 1, 2, 3], [8, 9, 6, 7], [2, 2, 1, 1])
    low, high = np.empty(2, np.float32), np.empty(2, np.float32)
    assert wf.segment_reduce("minmax", x.ravel(), [0, 5, 12], out=(low, high))[1] is high
    assert (low.tolist(), high.tolist()) == ([0, 5], [4, 11])
    assert wf.reduce_by_label("mean_var", x.ravel(), [0, 1] * 6, out=(low, high))[0] is low and low.tolist() == [5, 6]
    own = np.empty(2)
    assert wf.segment_sum([1, 2, 3], [0, 1, 3], out=np.empty(2, np.int64)).tolist() == [1, 5] and wf.dot(own * 0 + 1, own * 0 + 2, where=[True, False], out=own[:1].reshape(())) == 2
    right, frozen = np.empty((), np.float32), np.empty((), np.float32)
    frozen.flags.writeable = False
    for out, kind, words in ((right, TypeError, "it is a tuple, of an array or None for each of the 2 answers"), ((right,), ValueError, "1 arrays; there are 2"), ((right, np.empty(())), TypeError, "holds float64"),
                             ((right, np.empty(1, np.float32)), ValueError, "has the shape"), ((right, frozen), ValueError, "read-only"), ((right, 3), TypeError, "NumPy array")):
        right[...] = 77
        with pytest.raises(kind, match=words):
            wf.fuse(["min", "minmax"])(x, out=(right, out))
        for call in (lambda: wf.minmax(x, out=out), lambda: wf.fuse(["min", "max"])(x, out=out), lambda: wf.fuse(["minmax"])(x, out=(out,))):  # noqa: B023
            with pytest.raises(kind, match=words) as e:
                call()
            assert "\n" not in str(e.value) and right == 77  # nothing is written before all is right
    for call in (lambda: wf.segment_sum(x.ravel(), 3, out=np.empty(3, np.float32)), lambda: wf.sum_by_label(x.ravel(), [0] * 12, out=np.empty(2, np.float32))):
        with pytest.raises(ValueError, match="has the shape"):
            call()
    for call in (lambda: wf.argmin(x, where=np.zeros(4, bool)), lambda: wf.argmax(x, axis=0, where=x < 1)):
        with pytest.raises(ValueError, match="leaves no elements"):
            call()
    with pytest.raises(ValueError, match="cannot be broadcast"):
        wf.dot(x, x, where=[True, False])
    with pytest.raises(TypeError, match="where= of type"):
        wf.segment_sum(x.ravel(), 3, where=x.ravel())


@given(with_axes(laid_out(FLOATS, finite=False)))
def test_nan_functions_leave_nans_out(case):
    x, axis = case
    mask = ~np.isnan(x)
    for f, g in ((wf.nansum, wf.sum), (wf.nanmean, wf.mean), (wf.nanvar, wf.var)):
        same(f(x, axis=axis), g(x, axis=axis, where=mask))
    try:
        same(wf.nanmin(x, axis=axis), wf.min(x, axis=axis, where=mask))
        same(wf.nanmax(x, axis=axis), wf.max(x, axis=axis, where=mask))
    except ValueError:
        pass


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX])
def test_infinities_are_no_nans(dtype):
    x = np.array([1.0, math.inf, math.nan], dtype)
    assert wf.nansum(x).real == math.inf and wf.nansum(-x).real == -math.inf
    if dtype in FLOATS:
        assert wf.nanmax(x) == math.inf and wf.nanmin(x) == 1.0 and math.isnan(wf.nanvar(x))


@pytest.mark.parametrize(("to", "bits"), [("float32", 24), ("float16", 11)])
def test_a_sum_is_not_rounded_twice(to, bits):
    """A tie but for what is beyond the last bit of f64."""
    x = np.array([1.0, 2.0**-bits, 2.0**-60])
    up = np.dtype(to).type(1 + 2.0**(1 - bits))
    assert wf.sum(x[:2], dtype=to) == 1 and wf.sum(x, dtype=to) == up
    assert wf.mean(np.append(x, 0.0), dtype=to) == up / 4 and wf.ExactSum(x).value(dtype=to) == up
    assert wf.sum(np.array([2**62, 2**(62 - bits), 1]), dtype=to) == (up * np.float32(2.0**62) if to == "float32" else math.inf)


@given(with_axes(laid_out(REAL)), st.sampled_from(FLOATS))
def test_dtype_is_what_the_true_sum_is_rounded_to(case, to):
    x, axis = case
    if x.dtype.kind == "f":
        minus = lambda r: r.size > 0 and np.all((r == 0) & np.signbit(r))
    else:
        minus = lambda r: False
    same(wf.sum(x, axis=axis, dtype=to), answers_of(x, axis, lambda r: nearest(sum(fractions_of(r)), to, minus(r)), to))
    same(wf.mean(x, axis=axis, dtype=to), answers_of(
        x, axis, lambda r: nearest(sum(fractions_of(r)) / r.size, to, minus(r)) if r.size else math.nan, to))


@given(with_axes(laid_out(INTEGERS)), st.sampled_from(INTEGERS))
def test_sums_of_integers_wrap_to_dtype(case, to):
    x, axis = case
    native = x.astype(x.dtype.newbyteorder("="))
    same(wf.sum(x, axis=axis, dtype=to), np.sum(native.astype(to), axis=axis, dtype=to))
    same(wf.prod(x, axis=axis, dtype=to), np.prod(native.astype(to), axis=axis, dtype=to))


@given(laid_out(FLOATS), st.sampled_from(["zero", "away", "up", "down"]))
def test_directed_modes_enclose_and_are_adjacent(x, mode):
    v = sum(fractions_of(x))
    dtype = x.dtype.newbyteorder("=")
    got = wf.sum(x, rounding=mode)
    if not np.isfinite(got):
        assert abs(v) > Fraction(float(np.finfo(dtype).max))
        return
    exact = Fraction(float(got))
    below = mode == "down" or (mode == "zero" and v > 0) or (mode == "away" and v < 0)
    assert exact <= v if below else exact >= v
    if exact != v:
        with np.errstate(all="ignore"):
            beyond = np.nextafter(got, dtype.type(np.inf if below else -np.inf), dtype=dtype)
        if np.isfinite(beyond):
            assert Fraction(float(beyond)) > v if below else Fraction(float(beyond)) < v


@given(with_axes(laid_out(REAL)))
def test_fused_answers_are_those_alone(case):
    x, axis = case
    names = ["sum", wf.mean, wf.var, "count_nonzero", wf.mean_var, wf.norm]
    answers = wf.fuse(names)(x, axis=axis)
    for name, got in zip(["sum", "mean", "var", "count_nonzero", "mean_var", "norm"], answers):
        alone = getattr(wf, name)(x, axis=axis)
        if isinstance(alone, tuple):
            same(got[0], alone[0])
            same(got[1], alone[1])
        else:
            same(got, alone)


@given(laid_out(REAL, max_dims=1, max_side=30), st.data())
def test_segments_and_labels(x, data):
    if x.ndim != 1:
        return
    n = len(x)
    cuts = sorted(data.draw(st.lists(st.integers(0, n), min_size=1, max_size=6)))
    for f, g in ((wf.segment_sum, wf.sum), (wf.segment_mean, wf.mean), (wf.segment_var, wf.var), (wf.segment_norm, wf.norm),
                 (wf.segment_prod, wf.prod), (wf.segment_count_nonzero, wf.count_nonzero)):
        got = f(x, cuts)
        same(got, np.array([g(x[a:b]) for a, b in zip(cuts, cuts[1:])], got.dtype))
    length = data.draw(st.integers(1, 8))
    same(wf.segment_sum(x, length), wf.segment_sum(x, [*range(0, n, length), n]))
    for f, g in ((wf.segment_min, wf.min), (wf.segment_argmax, wf.argmax)):
        got = f(x, length)
        same(got, np.array([g(x[a:a + length]) for a in range(0, n, length)], got.dtype))
    labels = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), np.int64)
    got = wf.sum_by_label(x, labels, 5)
    same(got, np.array([wf.sum(x[labels == k]) for k in range(5)], got.dtype))
    got = wf.reduce_by_label(wf.mean, x, labels, 5)
    same(got, np.array([wf.mean(x[labels == k]) for k in range(5)], got.dtype))
    names = np.array(["e", "d", "c", "b", "a"])[labels]
    keys, sums = wf.sum_by_key(x, names)
    assert keys.tolist() == sorted(set(names.tolist()))
    same(sums, np.array([wf.sum(x[names == k]) for k in keys], sums.dtype))


def test_fast_is_the_same_on_every_run_and_near():
    x = np.random.default_rng(1).normal(size=100_001)
    first = wf.sum(x, accuracy="fast")
    assert all(wf.sum(x, accuracy="fast") == first for _ in range(3))
    assert abs(first - wf.sum(x)) <= 100_001 * 2.0**-52 * float(wf.norm1(x))
    wide = np.concatenate([x * 1e16, -x * 1e16, [1.0]])
    assert wf.sum(wide) == 1.0
    assert wf.sum(wide, accuracy="fast") != 1.0  # so it is another arithmetic that answers


def test_large_arrays_of_all_layouts():
    """Beyond the fast path's hold on the GIL, and over chunks and threads."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(700, 900)) * 10.0**rng.integers(-20, 20, size=(700, 900))
    total = float(sum(Fraction(v) for v in x.ravel().tolist()))
    for y in (x, x.T, x[::-1, ::-1], np.asfortranarray(x), x.astype(">f8")):
        assert float(wf.sum(y)) == total
        assert float(wf.sum(wf.ExactSum(y).value())) == total
    mask = rng.random(x.shape) < 0.5
    assert float(wf.sum(x, where=mask)) == float(sum(Fraction(v) for v in x[mask].tolist()))
    assert float(wf.sum(x.T, where=mask.T)) == float(wf.sum(x[mask]))
    same(wf.sum(x, axis=0), np.array([wf.sum(c) for c in x.T]))
    same(wf.sum(x, axis=1), np.array([wf.sum(r) for r in x]))
    same(wf.argmax(x, axis=0), np.argmax(x, axis=0))


@pytest.mark.parametrize("rows", [1, 2, 10, 100, 129, 8192, 8193])
def test_halves_side_by_side_are_those_of_each_column(rows):
    """Doubles add 2^13 of them exactly; beyond, and with infinities and NaNs, digits decide."""
    rng = np.random.default_rng(rows)
    columns = 70 if rows < 1000 else 9
    bits = rng.integers(0, 1 << 16, (rows, columns)).astype(np.uint16)
    x = bits.view(np.float16)
    finite = np.where(np.isfinite(x), x, np.float16(-0.0))
    large = np.full((rows, columns), 65504, np.float16)
    large[:, ::2] *= np.float16(-1)
    for y in (x, finite, large, np.full_like(x, -0.0), (rng.integers(-3, 4, x.shape) * 2.0**-24).astype(np.float16), finite[:, 3:5]):
        for name in ("sum", "mean"):
            for rounding in ("nearest", "up"):
                f = functools.partial(getattr(wf, name), rounding=rounding)
                each = np.array([f(np.ascontiguousarray(y[:, k])) for k in range(y.shape[1])])
                same(f(y, axis=0), each)
                same(f(np.ascontiguousarray(y.T), axis=1), each)
                if rounding == "nearest" and np.isfinite(y).all():
                    for k in range(3 if y.shape[1] > 2 else 1):
                        true = sum(Fraction(float(v)) for v in y[:, k]) / (rows if name == "mean" else 1)
                        assert float(each[k]) == float(nearest(true, np.dtype("float16")))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "bool"])
def test_norms_of_integers_are_rounded_once(dtype):
    rng = np.random.default_rng(3)
    low, high = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for n in (1, 63, 64, 65, 1000, 40_001):
        for x in (rng.integers(low, high, n, dtype="int64" if dtype == "bool" else dtype, endpoint=True).astype(dtype), np.full(n, low, dtype), np.full(n, high, dtype)):
            true = sum(int(v) ** 2 for v in x)
            spread = Fraction(n * true - sum(int(v) for v in x) ** 2, n * n)
            same(wf.var(x), nearest(spread, "float64"))
            same(wf.mean(x), nearest(Fraction(sum(int(v) for v in x), n), "float64"))
            for got in (wf.norm(x), wf.norm(x[::-1]), wf.norm(np.tile(x, (2, 1)), axis=1)[1]):
                got = float(got)
                below, above = (Fraction(got) + Fraction(float(np.nextafter(got, to))) for to in (0.0, np.inf))
                assert below**2 <= 4 * true <= above**2


@pytest.mark.parametrize("keepdims", [False, True])
def test_answers_lie_in_the_order_of_their_elements(keepdims):
    """As NumPy's do, so that neither needs to be turned: whoever reduces the answers again reads them as they lie."""
    x = np.arange(4 * 41 * 35 * 3, dtype=np.float64).reshape(4, 41, 35, 3)
    for order in itertools.permutations(range(4)):
        y = x.transpose(order)
        for axis in (0, 1, 2, 3, (0, 2), (3, 1)):
            told, want = wf.sum(y, axis=axis, keepdims=keepdims), np.sum(y, axis=axis, keepdims=keepdims)
            assert np.array_equal(told, want)
            assert [s for s, n in zip(told.strides, told.shape) if n > 1] == [s for s, n in zip(want.strides, want.shape) if n > 1]
            whole = np.empty(want.shape)  # an `out` lies as it lies
            assert wf.sum(y, axis=axis, keepdims=keepdims, out=whole) is whole and np.array_equal(whole, want)
        for axis in range(4):
            assert np.array_equal(wf.argmax(y, axis=axis, keepdims=keepdims), np.argmax(y, axis=axis, keepdims=keepdims))
