# SPDX-License-Identifier: Apache-2.0
"""fsum, sumprod, fmean and statistics: CPython's own tests run against them where they are installed, and what is beyond those."""

import importlib.util
import math
import operator
import random
import statistics as standard
import sys
import unittest
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpfold as wf

floats = st.floats(allow_nan=False, allow_infinity=False)
here = pytest.mark.skipif(importlib.util.find_spec("test.test_statistics") is None,
                          reason="CPython's own tests are not installed (Debian: libpython3.11-testsuite)")


def run(cases):
    """The unittests of these cases, all of which have to be there."""
    suite = unittest.TestSuite(cases)
    assert suite.countTestCases() > 0
    result = unittest.TestResult()
    suite.run(result)
    assert result.testsRun > 0
    assert result.wasSuccessful(), "\n".join(text for _, text in result.failures + result.errors)
    return result.testsRun


@here
def test_cpythons_tests_of_fsum(monkeypatch):
    monkeypatch.setattr(math, "fsum", wf.fsum)
    from test import test_math
    assert run([test_math.MathTests("testFsum")]) == 1


@here
def test_cpythons_tests_can_fail(monkeypatch):
    monkeypatch.setattr(math, "fsum", sum)
    from test import test_math
    with pytest.raises(AssertionError):
        run([test_math.MathTests("testFsum")])


@here
@pytest.mark.skipif(sys.version_info < (3, 12), reason="math.sumprod is of Python 3.12")
def test_cpythons_tests_of_sumprod(monkeypatch):
    monkeypatch.setattr(math, "sumprod", wf.sumprod)
    from test import test_math
    run([test_math.MathTests(n) for n in dir(test_math.MathTests) if n.startswith(("test_sumprod", "testSumProd"))
         and "stress" not in n])


@here
@pytest.mark.parametrize(("name", "case"), [("mean", "TestMean"), ("fmean", "TestFMean"), ("variance", "TestVariance"),
                                            ("pvariance", "TestPVariance"), ("stdev", "TestStdev"), ("pstdev", "TestPStdev")])
def test_cpythons_tests_of_statistics(name, case, monkeypatch):
    from test import test_statistics
    monkeypatch.setattr(standard, name, getattr(wf.statistics, name))
    # What the twins hand on must be the standard library's own.
    monkeypatch.setattr(wf.statistics, "standard", _own_copy())
    random.seed(1)  # test_compare_to_variance expects the root of a rounded variance, which few data do not have as their own
    assert run(unittest.defaultTestLoader.loadTestsFromTestCase(getattr(test_statistics, case))) > 2


def _own_copy():
    spec = importlib.util.find_spec("statistics")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.StatisticsError = standard.StatisticsError
    return module


@given(st.lists(floats))
def test_fsum_is_the_true_sum(v):
    try:
        expected = float(sum(map(Fraction, v), Fraction(0)))
    except OverflowError:
        with pytest.raises(OverflowError):
            wf.fsum(v)
        return
    for data in (v, tuple(v), iter(v), np.array(v, np.float64)):
        got = wf.fsum(data)
        assert type(got) is float and got == expected and math.copysign(1, got) == math.copysign(1, expected)


def test_fsum_of_what_is_not_finite():
    assert wf.fsum([1e308, 1e308, -1e308]) == 1e308  # math.fsum overflows on the way
    assert wf.fsum([math.inf, 1]) == math.inf and math.isnan(wf.fsum([math.nan, math.inf]))
    with pytest.raises(ValueError, match="-inf \\+ inf"):
        wf.fsum([math.inf, -math.inf])
    with pytest.raises(OverflowError):
        wf.fsum([1e308, 1e308])
    with pytest.raises(OverflowError):
        wf.fsum([10**400])
    with pytest.raises(TypeError):
        wf.fsum(["a"])
    with pytest.raises(TypeError):
        wf.fsum(None)
    with pytest.raises(ZeroDivisionError):
        wf.fsum(1 / n for n in (1, 0))


def test_zero_has_no_sign():
    """As the standard library's: of a list, an array, and where all that is left is rounded to zero."""
    for x in ([-0.0], np.array([-0.0]), np.array([-0.0], "float32"), [-0.0] * 3, np.full(3, -0.0)):
        one = [1.0] * len(x) if isinstance(x, list) else np.ones(len(x))
        for got in (wf.fsum(x), wf.fmean(x), wf.fmean(x, one), wf.statistics.mean(x), wf.sumprod(x, one), wf.sumprod(one, x)):
            assert math.copysign(1, got) == 1
    assert math.copysign(1, wf.sumprod([-1e-200], [1e-200])) == math.copysign(1, wf.sumprod(np.array([-1e-200]), np.array([1e-200]))) == 1
    if sys.version_info >= (3, 12):
        assert math.copysign(1, math.sumprod([-0.0], [1.0])) == math.copysign(1, math.sumprod([-1e-200], [1e-200])) == 1


class Shrinks:
    """A number that takes the last elements of its list away when it is read."""

    def __init__(self, x):
        self.x = x

    def __float__(self):
        del self.x[1:]
        return 1.0


def test_a_list_that_shrinks_while_it_is_read():
    x = []
    x.extend([Shrinks(x), *[2.0] * 1000])
    assert wf.fsum(x) == 1.0


@given(st.lists(st.tuples(floats, floats)))
def test_sumprod_is_the_true_one(pairs):
    p, q = [a for a, _ in pairs], [b for _, b in pairs]
    got = wf.sumprod(p, q)
    if not pairs:
        assert got == 0 and type(got) is int
        return
    try:
        expected = float(sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0)))
    except OverflowError:
        assert math.isinf(got)
        return
    assert type(got) is float and got == expected


def test_sumprod_of_other_numbers():
    assert wf.sumprod([10, 20], [3, 2**70]) == 30 + 20 * 2**70
    assert type(wf.sumprod([True], [2])) is int
    assert wf.sumprod([Fraction(1, 3)], [3]) == 1
    assert wf.sumprod([0.1, 2**53 + 1], [1.0, 1]) == 2.0**53 + 2  # 1.1 above 2^53, whose neighbour is 2 away
    assert wf.sumprod([1e308, 1e308, -1e308], [10.0, 1.0, 10.0]) == 1e308
    with pytest.raises(ValueError, match="same length"):
        wf.sumprod([1], [1, 2])
    with pytest.raises(OverflowError):
        wf.sumprod([10**1000], [1.0])
    assert wf.sumprod([-5, -5, 10], [1.5, 2**62, 2**61]) == wf.sumprod([-5, -5, 10], [1.5, np.int64(2**62), 2**61]) == 0  # as CPython's own tests have it


@given(st.lists(st.tuples(*[st.one_of(floats, st.booleans(), st.integers(-2**80, 2**80), floats.map(np.float64), st.integers(-2**63, 2**63 - 1).map(np.int64))] * 2)))
def test_sumprod_of_ints_bools_and_numpys_numbers(pairs):
    pairs = [(a, b) for a, b in pairs if isinstance(a, float) or isinstance(b, float) or abs(int(a) * int(b)) < 2**63]
    p, q = [1.0, *(a for a, _ in pairs)], [0.5, *(b for _, b in pairs)]
    plain = [[Fraction(x.item() if isinstance(x, np.generic) else x) for x in one] for one in (p, q)]
    total = sum(map(operator.mul, *plain), Fraction(0))
    try:
        expected = float(total)
    except OverflowError:
        expected = math.inf if total > 0 else -math.inf
    got = wf.sumprod(p, q)
    assert type(got) is float and got == expected


def test_sumprod_of_arrays():
    x = np.array([1e16, 1.0, -1e16])
    for one in (np.ones(3), np.ones(3, np.float32), np.ones(3, np.int8), np.ones(3, bool), [1, 1, 1], [np.int64(1)] * 3):
        assert wf.sumprod(x, one) == wf.sumprod(one, x) == 1.0
    whole = wf.sumprod(np.array([2**62, 3]), np.array([2**62, 5]))
    assert whole == 2**124 + 15 and type(whole) is int
    assert wf.sumprod(np.array([Fraction(1, 2)]), [4]) == 2
    with pytest.raises(TypeError, match="^sumprod: an array with nulls or masked elements"):
        wf.sumprod(np.ma.masked_array([1.0, 2.0], [False, True]), [1.0, 1.0])
    with pytest.raises(ValueError, match="^sumprod: an array of 2 dimensions"):
        wf.sumprod(np.ones((2, 2)), [1.0, 1.0])


def test_weighted_means_do_not_overflow_on_the_way():
    largest = 1.7976931348623157e308
    assert wf.fmean([1e308, 1e308], [1, 1]) == 1e308 and wf.fmean([largest, -largest, 1.0], [1e308, 1e308, 1e308]) == 1 / 3
    assert wf.fmean([5e-324, 1e-323], [1e-300, 1e-300]) == 1e-323  # 7.5e-324 lies halfway
    assert wf.fmean([1e200], [1e200]) == 1e200 and wf.fmean([1e-200], [1e-200]) == 1e-200
    assert wf.fmean([1e308, -1e308], [1.0, -0.5]) == math.inf and math.isnan(wf.fmean([1.0, math.inf], [1.0, 0.0]))
    assert wf.fmean([-1e308, 1e308], [1.0, -0.5]) == -math.inf == -wf.sumprod([math.inf, 2**70 + 1, 1e308], [1, 1.0, -1e308])
    assert wf.fmean(np.array([1.0, 4.0]), weights=np.array([2, 1])) == 2.0
    with pytest.raises(TypeError, match="^fmean: an array with nulls or masked elements"):
        wf.fmean(np.ma.masked_array([1.0, 2.0], [False, True]), [1.0, 1.0])


def test_numpys_integers_are_whole_numbers():
    v = [np.int64(24), np.int64(21)]  # statistics.variance makes an np.int64 of these
    assert wf.statistics.mean(v) == 22.5 and wf.statistics.variance(v) == 4.5 and wf.statistics.pvariance(v, 22.5) == 2.25
    assert wf.statistics.stdev(v) == math.sqrt(4.5) and wf.statistics.mean([np.uint8(255), np.uint8(1)]) == 128
    assert wf.statistics.mean([np.int64(2**62), 2**62, np.True_, True]) == (2**63 + 2) // 4


@given(st.lists(st.one_of(floats, st.integers(-2**60, 2**60)), min_size=2))
def test_statistics_are_the_standard_librarys(v):
    for name in ("mean", "variance", "pvariance"):
        try:
            expected = getattr(standard, name)(v)
        except OverflowError:
            continue
        got = getattr(wf.statistics, name)(v)
        assert got == expected and type(got) is type(expected), name
    if sys.version_info >= (3, 11):  # before, roots were rounded twice
        for name in ("stdev", "pstdev"):
            try:
                expected = getattr(standard, name)(v)
            except OverflowError:
                continue
            assert getattr(wf.statistics, name)(v) == expected, name


def test_roots_of_variances_that_are_not_finite():
    """Where the standard library's end in an AttributeError."""
    for data in ([math.nan, 1.0], [math.inf, -math.inf], [math.inf, 1.0], [1, math.nan]):
        for name, squared in (("stdev", "variance"), ("pstdev", "pvariance")):
            for middle in ((), (1.0,)):
                try:
                    expected = str(math.sqrt(getattr(standard, squared)(data, *middle)))
                except (OverflowError, ValueError):  # Python 3.10's, and then ours
                    continue
                for given in (data, tuple(data), iter(data)):
                    assert str(getattr(wf.statistics, name)(given, *middle)) == expected, (name, data)
            assert math.isnan(getattr(wf.statistics, name)(np.array(data))), (name, data)
    with pytest.raises(TypeError):
        wf.statistics.stdev(["a", "b"])


def test_statistics_of_arrays_are_their_elements():
    x = np.random.default_rng(3).normal(1e6, 1, 1000)
    for name in ("mean", "variance", "pvariance", "stdev", "pstdev"):
        if "stdev" in name and sys.version_info < (3, 11):
            continue
        assert getattr(wf.statistics, name)(x) == getattr(standard, name)(x.tolist()), name
    assert wf.fmean(x) == float(sum(map(Fraction, x.tolist())) / 1000)
    with pytest.raises(standard.StatisticsError):
        wf.statistics.variance(np.zeros(1))
    with pytest.raises(standard.StatisticsError):
        wf.fmean(np.zeros(0))


@pytest.mark.parametrize("dtype", ["float64", ">f8", "float32", "float16", "int64", "uint8", "bool"])
def test_statistics_of_arrays_are_rounded_once(dtype):
    """Whatever the type, the layout and the mask: by the kernels of arrays or by states."""
    x = (np.random.default_rng(4).normal(3, 40, (30, 20)) + (0 if dtype == "float16" else 1e6)).astype(dtype)
    for some in (x, x[::-2, 1::3], x.T, np.ma.masked_array(x, np.arange(600).reshape(30, 20) % 3 == 0), x[:1, :2], np.ma.masked_array(x[0, :2], [False, True])):
        values = [Fraction(float(one)) for one in np.ma.compressed(some).tolist()]
        assert wf.statistics.mean(some) == wf.fmean(some) == float(sum(values) / len(values))
        assert wf.statistics.pvariance(some) == float(standard.pvariance(values))
        if len(values) == 1:
            with pytest.raises(standard.StatisticsError):
                wf.statistics.variance(some)
        else:
            assert wf.statistics.variance(some) == float(standard.variance(values))
    with pytest.raises(standard.StatisticsError):
        wf.fmean(np.ma.masked_array(x, True))
    assert math.isnan(wf.statistics.mean(np.array([math.inf, -math.inf]))) and wf.statistics.mean(np.array([math.inf, 1.0])) == math.inf


@pytest.mark.parametrize("n", [0, 1, 100, 1023, 1024, 1025, 2048, 3001])
def test_lists_longer_than_a_tile(n):
    """Tiles of 1024 numbers: none is lost or counted twice at their ends, and what is not finite decides."""
    r = random.Random(n)
    p, q = ([r.uniform(-1, 1) * 2.0**r.randint(-400, 400) for _ in range(n)] for _ in range(2))
    total = float(sum(map(Fraction, p)))
    assert wf.fsum(p) == wf.fsum(iter(p)) == total
    if n:
        assert wf.sumprod(p, q) == float(sum(Fraction(a) * Fraction(b) for a, b in zip(p, q)))
        for k in {0, n // 2, n - 1}:
            with_inf = [*p[:k], -math.inf, *p[k + 1:]]
            assert wf.fsum(with_inf) == -math.inf and wf.sumprod(with_inf, [1.0] * n) == -math.inf
            assert math.isnan(wf.fsum([*p[:k], math.nan, *p[k:]])) and math.isnan(wf.sumprod(with_inf, [0.0] * n))
        with pytest.raises(ValueError, match="-inf [+] inf"):
            wf.fsum([math.inf, *p, -math.inf])
    with pytest.raises(OverflowError):
        wf.fsum([1.7976931348623157e308, *p, 1.7976931348623157e308])


def test_text_and_complex_numbers_are_no_real_ones():
    for call in (lambda: wf.fmean(["1.5"]), lambda: wf.fmean([1.0], weights=["2"]), lambda: wf.fmean([b"1", 2.0]), lambda: wf.fsum(["1"])):
        with pytest.raises(TypeError, match="must be real number, not"):
            call()
    for name in ("fsum", "fmean", "mean", "variance", "pvariance", "stdev", "pstdev"):
        call = getattr(wf if name[0] == "f" else wf.statistics, name)
        for x in (np.array([1j]), np.array([1j, 2.0])):  # a sample of one alone has no variance
            with pytest.raises(TypeError, match=f"^{name}: elements of type complex128; it takes real types$"):
                call(x)


def test_fmean_is_rounded_once():
    v = [0.1] * 3
    assert wf.fmean(v) == 0.1
    assert wf.fmean([1e308, 1e308]) == 1e308
    assert wf.fmean([2, 4], weights=[1, 3]) == 3.5
