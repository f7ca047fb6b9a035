# SPDX-License-Identifier: Apache-2.0
"""ExactSum and ExactMoments against fractions: values, bytes, merging, pickles, hashes."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpfold as wf
from arrays import FLOATS, REAL, fractions_of, laid_out, nearest, root, same

floats = st.floats(allow_nan=False, allow_infinity=False)


@given(laid_out(REAL))
def test_a_sum_is_its_fraction(x):
    s = wf.ExactSum(x)
    v = sum(fractions_of(x), Fraction(0))
    assert s.count == x.size == len(s)
    assert s.as_fraction() == v
    for to in FLOATS:
        same(np.dtype(to).type(s.value(dtype=to)) + 0, nearest(v, to))
    assert s.value() == float(s)


@given(st.lists(floats, max_size=20), st.data())
def test_pieces_and_orders_are_the_same_bytes(v, data):
    whole = wf.ExactSum(v)
    cut = data.draw(st.integers(0, len(v)))
    shuffled = data.draw(st.permutations(v))
    a, b = wf.ExactSum(shuffled[:cut]), wf.ExactSum(np.array(shuffled[cut:], np.float64))
    one_by_one = wf.ExactSum()
    for x in v:
        one_by_one.add(x)
    for other in (a + b, b + a, one_by_one, pickle.loads(pickle.dumps(whole)), copy.deepcopy(whole), wf.ExactSum.from_bytes(whole.to_bytes())):
        assert other == whole and hash(other) == hash(whole) and other.to_bytes() == whole.to_bytes()
    assert a.count + b.count == whole.count


@given(laid_out(REAL))
def test_moments_are_their_fractions(x):
    m = wf.ExactMoments(x)
    v, n = fractions_of(x), x.size
    first, second = sum(v, Fraction(0)), sum((q * q for q in v), Fraction(0))
    same(np.float64(m.sum()) + 0, nearest(first, "float64"))
    same(np.float64(m.sum_of_squares()), nearest(second, "float64"))
    same(np.float64(m.norm()), root(second, "float64"))
    if n > 1:
        var = (n * second - first**2) / (n * (n - 1))
        same(np.float64(m.var(correction=1)), nearest(var, "float64"))
        same(np.float64(m.std(correction=1)), root(var, "float64"))
    if n:
        same(np.float64(m.mean()) + 0, nearest(first / n, "float64"))
    else:
        assert math.isnan(m.mean())
    halves = wf.ExactMoments(x.ravel()[:n // 2]) + wf.ExactMoments(x.ravel()[n // 2:])
    for other in (halves, pickle.loads(pickle.dumps(m)), copy.copy(m)):
        assert other == m and hash(other) == hash(m) and other.to_bytes() == m.to_bytes()


def test_states_from_pieces_of_other_types_merge():
    a = wf.ExactSum(np.array([1, 2], np.int8)) + wf.ExactSum(np.array([0.5], np.float32)) + wf.ExactSum([2**63, -2**63])
    assert a.as_fraction() == Fraction(7, 2) and a.count == 5
    assert wf.ExactSum([3.5, 0, 0, 0, 0]) == a
    assert wf.ExactSum(np.arange(100_000.0)).value() == 4999950000.0  # over threads, without the GIL
    assert wf.ExactSum(np.arange(100_000.0)[::-2]) == wf.ExactSum(np.arange(1, 100_000, 2))


def test_copies_are_apart():
    a = wf.ExactSum([1.0])
    b = a.copy()
    b.add(1.0)
    assert (a.value(), b.value()) == (1.0, 2.0) and a != b
    c = a
    c += b
    assert a.value() == 1.0 and c.value() == 3.0
    a.merge(a)
    assert a.value() == 2.0 and a.count == 2


@given(st.lists(st.floats(), max_size=12), st.data())
def test_what_is_taken_out_leaves_what_is_left(v, data):
    parts = [data.draw(st.integers(0, 2)) for _ in v]
    for kind in (wf.ExactSum, wf.ExactMoments):
        s = kind()
        for k in range(3):  # in the order of pieces, so that what is taken out is spread over what was added
            s.add([x for x, p in zip(v, parts) if p == k])
        extra = data.draw(st.lists(st.floats(), max_size=5))
        for x in extra:
            s.add(x)
        s.remove(np.array([x for x, p in zip(v, parts) if p == 0], np.float64))
        s.unmerge(kind(extra))
        for x, p in zip(v, parts):
            if p == 1:
                s.remove(x)
        left = [x for x, p in zip(v, parts) if p == 2]
        if left and len(left) < len(v + extra) and all(x == 0 and math.copysign(1, x) < 0 for x in left):
            left = [0.0] * len(left) if any(not (x == 0 and math.copysign(1, x) < 0) for x in v + extra) else left
        assert s == kind(left) and hash(s) == hash(kind(left)) and bytes(s) == kind(left).to_bytes()
        assert kind(left) + kind(extra) - kind(extra) == s


def test_a_window_that_slides_a_long_way_stays_exact():
    x = (np.random.default_rng(1).standard_normal(3000) * 10.0**np.random.default_rng(2).integers(-200, 200, 3000))
    s, m = wf.ExactSum(x[:50]), wf.ExactMoments(x[:50])
    for k in range(50, 3000):
        for state in (s, m):
            state.add(float(x[k]))
            state.remove(float(x[k - 50]))
    assert s == wf.ExactSum(x[-50:]) and m == wf.ExactMoments(x[-50:])
    assert m.var(correction=1) == wf.var(x[-50:], correction=1)


def test_specials_are_taken_out():
    s = wf.ExactSum([1.0, math.inf, -math.inf, math.nan, -0.0])
    s.remove([math.nan, math.inf])
    assert s.value() == -math.inf
    s.remove(-math.inf)
    assert s.as_fraction() == 1 and s.count == 2
    s.remove(1.0)
    assert math.copysign(1, s.value()) == 1  # docs/states.md: nothing but -0 is left, after others
    zeros = wf.ExactSum([-0.0, -0.0])
    zeros.remove(-0.0)
    assert math.copysign(1, zeros.value()) == -1
    zeros.remove(-0.0)
    assert zeros == wf.ExactSum()


@pytest.mark.parametrize("kind", [wf.ExactSum, wf.ExactMoments])
def test_what_was_never_in_is_refused(kind):
    s = kind([1.0, 2.0])
    for more, why in (([1.0, 2.0, 3.0], "3 elements cannot be taken out of 2"), ([math.nan], "not all added"),
                      ([math.inf], "not all added"), ([1.0, 1.0], "not all added")):
        with pytest.raises(ValueError, match=why):
            s.remove(more)
        with pytest.raises(ValueError, match=f"^{kind.__name__}: .*{why}"):
            s -= kind(more)
        assert s == kind([1.0, 2.0])
    with pytest.raises(TypeError, match="unmerge"):
        s.unmerge(wf.ExactMoments() if kind is wf.ExactSum else wf.ExactSum())
    with pytest.raises(TypeError):
        s - 1.0
    if kind is wf.ExactMoments:
        with pytest.raises(ValueError, match="not all added"):
            s.remove(5.0)  # 9 squares less than none


@given(laid_out(REAL))
def test_moments_as_fractions(x):
    v = fractions_of(x)
    assert wf.ExactMoments(x).as_fractions() == (sum(v, Fraction(0)), sum((q * q for q in v), Fraction(0)))
    for bad in (math.inf, -math.inf, math.nan):
        with pytest.raises(ValueError, match="no fraction"):
            wf.ExactMoments([1.0, bad]).as_fractions()


def test_rounding_and_specials():
    s = wf.ExactSum([1.0, 2.0**-60])
    assert s.value(rounding="up") == 1 + 2.0**-52 and s.value(rounding="down") == 1.0
    assert s.mean(rounding="up") == 0.5 + 2.0**-53
    assert wf.ExactSum([1.0, 2.0**-24, 2.0**-60]).value(dtype="float32") == 1 + 2.0**-23
    assert math.isnan(wf.ExactSum([math.inf, -math.inf]).value())
    with pytest.raises(ValueError, match="NaN"):
        wf.ExactSum([math.nan]).as_fraction()
    with pytest.raises(OverflowError, match="infinite"):
        wf.ExactSum([-math.inf]).as_fraction()
    assert math.copysign(1, wf.ExactSum([-0.0]).value()) == -1


def test_refusals():
    with pytest.raises(OverflowError, match="neither 64 bits"):
        wf.ExactSum([1, 2**70 + 1])
    assert wf.ExactSum([2**70]).as_fraction() == 2**70
    s = wf.ExactSum([1.0])
    with pytest.raises(OverflowError):
        s.add([5, 2**70 + 1])
    assert s.value() == 1.0 and s.count == 1  # all or nothing
    for bad in (1j, [1j], "a", ["a"], object(), np.zeros(2, complex)):
        with pytest.raises(TypeError):
            wf.ExactSum(bad)
    with pytest.raises(TypeError, match="another one"):
        s.merge(wf.ExactMoments())
    with pytest.raises(TypeError):
        s + 1.0
    with pytest.raises(TypeError):
        1 + s
    assert sum([s, s]) == wf.ExactSum([1.0, 1.0]) and sum([s]) is not s
    assert repr(s) == "<ExactSum of 1 element: 1.0>" and wf.ExactMoments([1.0, 2.0]).var(correction=1.0) == 0.5
    assert s != 1.0 and s != wf.ExactMoments([1.0])
    with pytest.raises(ValueError, match="rounding="):
        s.value(rounding="odd")
    with pytest.raises(TypeError, match="type of floats"):
        s.value(dtype="int32")


@given(st.integers(0, 327), st.integers(0, 7))
def test_damaged_bytes_are_refused(place, bit):
    good = bytearray(wf.ExactSum([1.5, -3.0]).to_bytes())
    good[place] ^= 1 << bit
    with pytest.raises((ValueError, TypeError)):
        wf.ExactSum.from_bytes(good)


@pytest.mark.parametrize("size", [0, 11, 327, 329])
def test_bytes_of_another_size_are_refused(size):
    with pytest.raises(ValueError, match=f"{size} bytes, expected 328"):
        wf.ExactSum.from_bytes((wf.ExactSum([1.5]).to_bytes() + b"x")[:size])


@pytest.mark.parametrize("kind", [wf.ExactSum, wf.ExactMoments])
def test_bytes_of_another_version_are_a_wrong_value(kind):
    stored = bytearray(kind([1.0]).to_bytes())
    stored[4] += 1
    with pytest.raises(ValueError, match="version"):
        kind.from_bytes(stored)


def test_large_ints_may_come_one_by_one():
    assert wf.ExactSum(iter([2**100, 1])) == wf.ExactSum([2**100, 1])


class Named(wf.ExactSum):
    """A subclass, as a caller may have."""


def test_subclasses_are_states_of_the_same_kind():
    a, b = Named([1.0, 2.0]), wf.ExactSum([2.0])
    assert type(a + b) is Named and type(b + a) is wf.ExactSum and a + b == b + a and hash(a + b) == hash(b + a)
    assert (a - b).value() == 1.0 and Named([2.0]) == b == Named([2.0])
    a.merge(b)
    a.unmerge(b)
    assert a.value() == 3.0 and sum([a, b]).count == 3
    with pytest.raises(TypeError, match="^Named: merge[(][)] takes another one, not ExactMoments"):
        a.merge(wf.ExactMoments([1.0]))
    assert a != wf.ExactMoments([1.0, 2.0]) and a != 3.0
