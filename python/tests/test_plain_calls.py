# SPDX-License-Identifier: Apache-2.0
"""The compiled fast path gives what general code gives, bit for bit and in the same kind of array, for every mixture of what a call may say; and so do the twins in C++."""

import decimal
import itertools
import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpfold as wf
from arrays import COMPLEX, REAL, laid_out, nearest, same, with_axes
from warpfold import _core, _general

OPS = [name for name in _core.op_names if name != "dot"]
TYPES = ["float16", "float32", "float64", "int8", "int32", "int64", "uint8", "uint64", "complex64", "complex128"]


def both(request, skip):
    """What the two say, or the errors they raise."""
    found = []
    for call in (_core.reduce, _general.reduce):
        try:
            found.append(call(*request(), skip))
        except (TypeError, ValueError) as e:  # AxisError is a ValueError
            found.append((type(e), str(e)))
    return found


def the_same(a, b):
    for x, y in zip(a, b) if isinstance(a, tuple) and isinstance(b, tuple) else ((a, b),):
        if isinstance(x, (type, str)):
            assert x == y
            continue
        assert type(x) is type(y)
        same(x, np.asarray(y))


@given(with_axes(laid_out([*REAL, *COMPLEX], finite=False)), st.sampled_from(OPS), st.data())
def test_the_fast_path_is_general_code(case, op, data):
    x, axis = case
    mask = None
    if op not in ("argmin", "argmax") and data.draw(st.booleans()):
        shape = data.draw(st.sampled_from([x.shape, x.shape[1:], tuple(1 for _ in x.shape)]))
        mask = np.array(data.draw(st.lists(st.booleans(), min_size=math.prod(shape), max_size=math.prod(shape))), bool).reshape(shape)
    dtype = data.draw(st.none() | st.sampled_from(TYPES)) if op in ("sum", "mean", "prod") else None
    accuracy = data.draw(st.sampled_from(["exact"] * 3 + ["fast"]))
    rounding = data.draw(st.sampled_from(["nearest"] * 5 + ["zero", "away", "up", "down"]))
    keepdims, skip = data.draw(st.booleans()), data.draw(st.booleans())
    correction = data.draw(st.sampled_from([None, 0, 1, -1])) if op in ("var", "std", "mean_var") else None
    with_out = data.draw(st.booleans())
    outs = []

    def request():
        out = None
        if with_out:
            try:
                like = _general.reduce(_core.op_names.index(op), x, axis, dtype, keepdims, correction, accuracy, rounding, mask, None, None, skip)
            except (TypeError, ValueError):
                like = np.zeros(())
            out = np.zeros(np.shape(like[0] if isinstance(like, tuple) else like), np.asarray(like[0] if isinstance(like, tuple) else like).dtype)
            outs.append(out)
        return _core.op_names.index(op), x, axis, dtype, keepdims, correction, accuracy, rounding, mask, out, None
    fast, general = both(request, skip)
    the_same(fast, general)
    if isinstance(fast, np.ndarray) and with_out:
        assert fast is outs[0]


def neighbours_of_halfway(dtype, rng, n):
    """Rows whose sums lie at, or a little beside, the middle of two numbers of a type."""
    bits = np.finfo(dtype).nmant
    low = rng.integers(1 << bits, 2 << bits, n).astype(float)
    tiny = rng.choice([0.0, 2.0**-60, -(2.0**-60)], n)
    scale = 2.0 ** rng.integers(-bits - 5, 3, n).astype(float)
    return np.stack([low * scale, 0.5 * scale, tiny * scale], axis=1) * rng.choice([-1.0, 1.0], n)[:, None]


@pytest.mark.parametrize("to", ["float32", "float16"])
def test_narrower_answers_are_rounded_once(to):
    x = neighbours_of_halfway(to, np.random.default_rng(3), 300)
    expected = [nearest(sum(map(Fraction, row.tolist())), np.dtype(to), False) for row in x]
    same(wf.sum(x, axis=1, dtype=to), np.array(expected, to))
    same(wf.sum(x, axis=1, dtype=to, where=np.array([True, True, True])), np.array(expected, to))
    wide = np.concatenate([x, np.full_like(x, np.nan)], axis=1)[:, [0, 3, 1, 4, 2, 5]]
    same(wf.nansum(wide, axis=1, dtype=to), np.array(expected, to))
    same(wf.sum(wide[:, ::2], axis=1, dtype=to), np.array(expected, to))
    same(wf.sum(x.T, axis=0, dtype=to, where=np.ones((3, 1), bool)), np.array(expected, to))
    some = np.ones(x.shape, bool)
    some[7] = False
    left = wf.sum(x, axis=1, dtype=to, where=some)  # that of nothing is 0, not -0
    same(left, np.array([*expected[:7], 0.0, *expected[8:]], to))
    for row, e in zip(x[:100], expected):
        same(wf.sum(row, dtype=to), np.asarray(e, to))
    # beyond the largest number, and at the middle between that and the next
    most = float(np.finfo(to).max)
    step = most - float(np.nextafter(np.array(most, to), np.array(0, to)))
    for row, e in (([most, step / 2], math.inf), ([most, step / 2, -2.0**-60], most), ([most, step], math.inf), ([-most, -step / 2], -math.inf)):
        same(wf.sum(np.array(row), dtype=to), np.asarray(e, to))
    # the least, of which sums are halfway
    least = float(np.finfo(to).smallest_subnormal)
    for row, e in (([least / 2], 0.0), ([least / 2, least / 1024], least), ([1.5 * least], 2 * least), ([-least / 2], -0.0)):
        same(wf.sum(np.array(row), dtype=to), np.asarray(e, to))


def test_sums_of_what_is_left_of_rows():
    x = np.array([[-0.0, 1.0, np.nan], [-0.0, -0.0, -0.0], [np.nan, np.nan, np.nan], [1.0, -1.0, 0.0]] * 50)
    for keep in ([True, True, True], [True, False, False], [False, False, False], [False, True, True]):
        for dtype in ("float64", "float32"):
            given = x.astype(dtype)
            mask = np.array(keep)
            for axis in (0, 1):
                for skip in (False, True):
                    the_same(_core.reduce(0, given, axis, None, False, None, "exact", "nearest", mask, None, None, skip),
                             _general.reduce(0, given, axis, None, False, None, "exact", "nearest", mask, None, None, skip))
    assert math.copysign(1, wf.sum(x[:, :1], axis=1, where=np.array([True]))[1]) == -1
    assert math.copysign(1, wf.sum(x[:, :1], axis=1, where=np.array([False]))[1]) == 1


def test_many_rows_a_piece_at_a_time():
    x = np.random.default_rng(1).standard_normal((700, 3, 130)).astype("float32")
    m = x > 0.2
    for axis in (0, 1, 2, (0, 2), (1, 2)):
        same(wf.sum(x, axis=axis, dtype="float64"), wf.sum(x.astype("float64"), axis=axis))
        same(wf.sum(x, axis=axis, where=m), wf.sum(np.where(m, x, np.float32(0)), axis=axis))
        same(wf.mean(x, axis=axis, dtype="float64"), wf.mean(x.astype("float64"), axis=axis))
    same(wf.sum(x, dtype="float64"), wf.sum(x.astype("float64")))


def test_elements_that_lie_apart():
    rng = np.random.default_rng(4)
    for dtype in ("float64", "float32", "int16", "bool", "complex64", "float16"):
        x = (rng.standard_normal((40, 6, 90)) * 9).astype(dtype)
        for y in (x[:, :, ::3], x[::2, :, ::-2], x[:, 1:2, ::9], x[:, :, :1]):
            for name in ("sum", "mean", "var", "count_nonzero", *(("argmax", "min", "minmax") if dtype != "complex64" else ())):
                for axis in (0, 1, 2):
                    for a, b in zip(*(one if isinstance(one, tuple) else (one,) for one in (getattr(wf, name)(y, axis=axis), getattr(wf, name)(y.copy(), axis=axis)))):
                        same(a, b)


def test_out_that_shares_memory():
    for axis in (0, 1):
        for make in (lambda a: a[0, :3], lambda a: a[:3, 1], lambda a: a[::-1][:3, 2], lambda a: np.zeros(3)[::-1]):
            x = np.arange(9.0).reshape(3, 3) + 0.5
            expected = x.sum(axis=axis)
            out = make(x)
            assert wf.sum(x, axis=axis, out=out) is out
            same(out, expected)
    m = np.array([[True, False, True]] * 3)
    expected = m.any(axis=0, where=m.copy())
    same(wf.any(m, axis=0, where=m, out=m[0]), expected)


def test_dot_has_an_out():
    x, y = np.random.default_rng(9).standard_normal((2, 4, 30)).astype(np.float32)
    for how in ({}, {"axis": 0}, {"axis": 1, "keepdims": True, "rounding": "up"}):
        expected = np.asarray(wf.dot(x, y, **how))
        out = np.full_like(expected, 7)
        assert wf.dot(x, y, out=out, **how) is out
        same(out, expected)
    into = x[0]
    expected = wf.dot(x, y, axis=0)
    assert wf.dot(x, y, axis=0, out=into) is into  # an array is itself
    same(into, expected)
    for out, error in ((np.zeros(3), ValueError), (np.zeros((), np.int8), TypeError), ([0.0], TypeError), (np.broadcast_to(np.float32(0), ()), ValueError)):
        with pytest.raises(error, match="^dot: ") as e:
            wf.dot(x, y, out=out)
        assert "\n" not in str(e.value)


def test_out_that_is_read_after_it_is_written():
    for n in (40, 300):
        for dtype in ("float64", "float32"):
            for how in ({}, {"where": np.tri(n, dtype=bool)}):
                x = np.random.default_rng(n).standard_normal((n, n)).astype(dtype)
                expected = wf.sum(x, axis=1, **how)
                same(wf.sum(x, axis=1, out=x[-1], **how), expected)


def test_dimensions_in_any_order():
    rng = np.random.default_rng(6)
    for dtype in ("float64", "float32", "int16"):
        for order in itertools.permutations(range(3)):
            x = (rng.standard_normal((5, 6, 7)) * 99).astype(dtype).transpose(order)
            mask = rng.random((5, 6, 7)).transpose(order) > 0.2
            for axis in (0, 1, 2, (0, 1), (1, 2), (0, 2)):
                for how in ({}, {"keepdims": True}, {"where": mask}, {"where": mask, "keepdims": True}, *([{"dtype": t} for t in ("float64", "float32", "float16", "int8")
                                                                                                       if t != "int8" or dtype == "int16"])):
                    here = {k: v.copy() if k == "where" else v for k, v in how.items()}
                    same(wf.sum(x, axis=axis, **how), wf.sum(x.copy(), axis=axis, **here))
                for name in ("minmax", "mean_var"):
                    for a, b in zip(getattr(wf, name)(x, axis=axis), getattr(wf, name)(x.copy(), axis=axis)):
                        same(a, b)


def test_nothing_is_left_to_be_the_least():
    x = np.arange(12.0).reshape(3, 4)
    mask = np.ones((3, 4), bool)
    mask[1] = False
    for name in ("min", "max", "minmax"):
        f = getattr(wf, name)
        for how in ({"where": mask, "axis": 1}, {"where": mask[1]}, {"where": mask & False}, {"where": mask.T[:, :3].T, "axis": 1}):
            with pytest.raises(ValueError, match=f"^{name}: where= leaves no elements"):
                f(x, **how)
        f(x, where=mask, axis=0)
        for empty in ({"x": x[:0]}, {"x": x[:, :0], "axis": 1}):
            with pytest.raises(ValueError, match=f"^{name}: there are no elements"):
                f(empty["x"], axis=empty.get("axis"))
        assert np.shape(f(x[:, :0], axis=0)) in ((0,), (2, 0))


def test_axes_of_one_element():
    for dtype in ("float32", "float64", "int16", "complex64", "bool"):
        x = (np.arange(100) % 7 - 3).astype(dtype).reshape(100, 1)
        for name in ("sum", "mean", "var", "count_nonzero", "any"):
            for how in ({"axis": 1}, {"axis": 1, "keepdims": True}, {"axis": ()}):
                same(getattr(wf, name)(x, **how), np.asarray(getattr(np, name)(x, **how), getattr(wf, name)(x, **how).dtype))
    same(wf.sum(np.array([[-0.0]] * 20), axis=1), np.array([-0.0] * 20))


def test_places_in_short_rows():
    rng = np.random.default_rng(2)
    for n in (1, 2, 3, 47, 48, 49, 65):
        for dtype in ("float64", "float32", "int8", "uint64", "float16"):
            x = rng.integers(0, 5, (40, n)).astype(dtype)
            if dtype.startswith("float"):
                x[rng.random(x.shape) < 0.1] = np.nan
                x[rng.random(x.shape) < 0.1] = -0.0
            for name in ("argmin", "argmax"):
                same(getattr(wf, name)(x, axis=1), getattr(np, name)(x, axis=1))
    big = np.array([[2**64 - 1, 2**63, 0]], np.uint64)
    assert wf.argmax(big, axis=1).tolist() == [0] and wf.argmin(big, axis=1).tolist() == [2]


NUMBERS = st.floats() | st.integers(-2**70, 2**70) | st.booleans()


@given(st.lists(st.floats(), max_size=9) | st.lists(st.integers(-2**63, 2**63 - 1), max_size=9) | st.lists(NUMBERS, max_size=5), st.sampled_from(OPS), st.booleans(),
       st.sampled_from([list, tuple]))
def test_lists_and_tuples(numbers, op, skip, kind):
    fast, general = both(lambda: (_core.op_names.index(op), kind(numbers), None, None, False, None, "exact", "nearest", None, None, None), skip)
    the_same(fast, general)


@given(with_axes(laid_out(["float32", "float64", "int32", "complex64"])), st.data())
def test_dot_segments_labels_and_fuse(case, data):
    x, _ = case
    accuracy, rounding = data.draw(st.sampled_from(["exact", "exact", "fast"])), "nearest"
    y = np.roll(x, 1)
    same(wf.dot(x, y, accuracy=accuracy), np.asarray(_general.dot(x, y, None, False, accuracy, rounding)))
    flat = x.ravel() if data.draw(st.booleans()) else x.ravel()[::-1]
    real = x.dtype.kind != "c"
    for name in ("sum", "mean", "var", *(("max", "argmin", "logsumexp") if real else ())):
        ends = np.sort(np.array(data.draw(st.lists(st.integers(0, flat.size), max_size=5)) + [0, flat.size]))
        for offsets in (ends, data.draw(st.integers(1, 7))):
            the_same(wf.segment_reduce(name, flat, offsets), _general.parted([_general.OP[name]], flat, 0, "exact", rounding, "segment_" + name, offsets=offsets)[0])
        if flat.size:
            labels = np.array(data.draw(st.lists(st.integers(0, 6), min_size=flat.size, max_size=flat.size)))
            for answers in (None, 9):
                the_same(wf.reduce_by_label(name, flat, labels, answers),
                         _general.parted([_general.OP[name]], flat, 0, "exact", rounding, "reduce_by_label", labels=labels, answers=answers)[0])
    if x.size:
        names = ["sum", "mean", "var", *(("min", "minmax", "argmax") if real else ())]
        for a, b in zip(wf.fuse(names)(x), _general.fused(names, x, None, False, 0, "exact", rounding, None)):
            the_same(a, b)


@pytest.mark.parametrize("call", [
    lambda x: wf.segment_sum(x, np.array([0, 9, 4])), lambda x: wf.segment_sum(x, np.array([0, 99])), lambda x: wf.segment_sum(x, np.array([], np.int64)),
    lambda x: wf.segment_sum(x, 0), lambda x: wf.segment_sum(x.reshape(2, 5), 2), lambda x: wf.sum_by_label(x, np.arange(9)), lambda x: wf.sum_by_label(x, np.arange(10), 3),
    lambda x: wf.sum_by_label(x, -np.arange(10)), lambda x: wf.dot(x, x[:3]), lambda x: wf.dot(x, x, rounding="up", accuracy="fast"), lambda x: wf.dot(x, x, rounding="odd"),
    lambda x: wf.fuse(["sum", "min"])(x[:0])])
def test_what_the_short_ways_refuse_is_told_by_general_code(call):
    with pytest.raises(ValueError, match="^(segment_sum|sum_by_label|dot|min): ") as e:
        call(np.arange(10.0))
    assert "\n" not in str(e.value)


MEANS = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=40)


@given(MEANS | st.lists(st.sampled_from([1.0, 3.0, 5e-324, -5e-324, 2.0**-1022, 1e308, -1e308, 0.1, -0.0, 1 + 2.0**-52]), min_size=1, max_size=12))
def test_fmean_is_rounded_once(numbers):
    true = sum(map(Fraction, numbers)) / len(numbers)
    answer = wf.fmean(numbers)
    assert type(answer) is float and answer == nearest(true, np.dtype("float64"), False)
    assert wf.fmean(tuple(numbers)) == wf.fmean(iter(numbers)) == wf.fmean(np.array(numbers)) == answer


@pytest.mark.parametrize("n", [1, 2, 3, 999, 1000, 1001, 1023, 1024, 1025, 5000])
def test_fmean_of_any_length(n):
    for seed in range(20):
        x = (np.random.default_rng(seed).standard_normal(n) * 10.0 ** np.random.default_rng(seed + 99).integers(-9, 9, n)).tolist()
        assert wf.fmean(x) == float(nearest(sum(map(Fraction, x)) / n, np.dtype("float64"), False))


def test_fmean_of_what_else_there_is():
    assert wf.fmean([decimal.Decimal("0.5"), Fraction(1, 4), 2, True, np.float32(0.25)]) == statistics.fmean([0.5, 0.25, 2, True, 0.25])
    assert wf.fmean([2**1000, 2**1000]) == 2.0**1000 and wf.fmean([1e308] * 3) == 1e308
    assert math.isnan(wf.fmean([math.nan, 1])) and wf.fmean([math.inf, 1]) == math.inf
    assert math.copysign(1, wf.fmean([-0.0, -0.0])) == math.copysign(1, statistics.fmean([-0.0, -0.0])) == 1
    assert wf.fmean([3, 5], [1, 3]) == wf.fmean(data=(3, 5), weights=iter([1, 3])) == 4.5
    assert wf.fmean(np.array([3.0, 5.0]), [1.0, 3.0]) == 4.5 and wf.fmean([1e308, 1e308], [4, 4]) == 1e308
    for bad, kind, words in (((), TypeError, "missing 1 required positional argument: 'data'"), (([1], [1], 2), TypeError, "positional arguments but 3"),
                             (([],), statistics.StatisticsError, "at least one data point"), ((iter(()),), statistics.StatisticsError, "at least one"),
                             (([1], [1, 2]), statistics.StatisticsError, "same length"), (([1], [0.0]), statistics.StatisticsError, "non-zero"),
                             (([], []), statistics.StatisticsError, "at least one"), (("12",), TypeError, "must be real number"), ((3,), TypeError, "not iterable"),
                             (([math.inf, -math.inf],), ValueError, "-inf [+] inf"), (([10**400],), OverflowError, "too large"), (([1], ["2"]), TypeError, "must be real number")):
        with pytest.raises(kind, match=words):
            wf.fmean(*bad)
    with pytest.raises(TypeError, match="unexpected keyword argument 'weight'"):
        wf.fmean([1], weight=[1])
    with pytest.raises(TypeError, match="multiple values for argument 'data'"):
        wf.fmean([1], data=[1])


def test_products_as_other_types():
    x = np.array([1.5, 2.0, -3.0], "float32")
    for dtype in ("float64", "float16", "complex128", np.float64, "longdouble", "int32"):
        def one(call, dtype=dtype):
            try:
                return call(2, x, None, dtype, False, None, "exact", "nearest", None, None, None, False)
            except TypeError as e:
                return str(e)
        assert _core.op_names[2] == "prod"
        a, b = one(_core.reduce), one(_general.reduce)
        assert type(a) is type(b) and a == b
    with pytest.raises(TypeError, match="prod: dtype=bfloat16 of float32; convert the array before"):
        wf.prod(x, dtype="bfloat16")


def test_refused_types_of_arrow_are_named():
    pa = pytest.importorskip("pyarrow")
    import datetime
    for column, words in ((pa.array([decimal.Decimal("1.5")]), "type decimal;"), (pa.array([datetime.date(2020, 1, 1)]), "type date32;"), (pa.array(["a"]), "type string;"),
                          (pa.array([datetime.datetime(2020, 1, 1)]), "type timestamp;"), (pa.array([[1]]), "type list;"), (pa.nulls(2), "type null;"),
                          (pa.array([1, 2]).dictionary_encode(), "a dictionary, whose numbers are codes"), (pa.array([datetime.timedelta(1)]), "type duration;")):
        with pytest.raises(TypeError, match=words):
            wf.sum(column)
