# SPDX-License-Identifier: Apache-2.0
"""What is taken besides NumPy's arrays, and what is refused, how."""

import array
import ctypes
import decimal
import gc
import math
import pickle
import sys
import types
import weakref
from fractions import Fraction

import numpy as np
import pytest

import warpfold as wf
from arrays import same


@pytest.mark.parametrize("x", [[1, 2, 3], (1, 2, 3), range(1, 4), iter([1, 2, 3]), (k for k in (1, 2, 3)), {1, 2, 3},
                               array.array("q", [1, 2, 3]), memoryview(array.array("q", [1, 2, 3])), np.array([1, 2, 3]),
                               (ctypes.c_int64 * 3)(1, 2, 3)], ids=lambda x: type(x).__name__)
def test_numbers_and_buffers(x):
    total = wf.sum(x)
    assert total == 6 and isinstance(total, np.int64)


@pytest.mark.parametrize(("x", "total"), [(3, 6), (2.5, 5.0), (True, 2), (1 + 2j, 2 + 4j), (np.float32(1.5), 3.0), (b"\x01\x02", None)])
def test_scalars_and_bytes(x, total):
    if total is None:
        assert wf.sum(x) == 3 and wf.sum(x).dtype == np.uint64  # bytes are a buffer of uint8
    else:
        assert wf.sum(x) == x and wf.sum([x, x]) == total


def test_a_list_of_lists_has_axes():
    assert wf.sum([[1, 2], [3, 4]], axis=0).tolist() == [4, 6]


def test_nothing():
    zero = wf.sum([])
    assert zero == 0.0 and zero.dtype == np.float64
    assert math.isnan(wf.mean([])) and wf.prod([]) == 1.0 and wf.count_nonzero([]) == 0
    assert wf.sum(iter(())) == 0.0
    assert wf.sum(np.zeros((0, 3), np.float32), axis=0).tolist() == [0, 0, 0]


class Dlpack:
    """An array of some library that knows DLPack, of either version."""

    def __init__(self, x, device=(1, 0), old=False):
        self.x, self.device, self.old = x, device, old
        self.dtype = x.dtype

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **how):
        if self.old and (set(how) - {"stream"}):
            raise TypeError("only stream")
        return self.x.__dlpack__(**how)


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint16", "uint64", "bool", "complex64", "complex128"])
def test_dlpack_of_both_versions(dtype, old):
    x = np.arange(24).astype(dtype).reshape(2, 3, 4).transpose(2, 0, 1)[::2]
    same(wf.sum(Dlpack(x, old=old)), wf.sum(x))
    same(wf.sum(Dlpack(x, old=old), axis=(0, 2)), wf.sum(x, axis=(0, 2)))


def test_dlpack_memory_is_released():
    x = np.arange(10.0)
    before = sys.getrefcount(x)
    for _ in range(100):
        wf.sum(Dlpack(x))
        wf.sum(x, axis=0)
    gc.collect()
    assert sys.getrefcount(x) == before


def test_buffers_are_released():
    x = bytearray(b"123")
    assert wf.sum(x) == 150
    x.append(1)  # BufferError while anybody holds it

    class Watched(np.ndarray):
        pass
    y = np.arange(5.0).view(Watched)
    gone = weakref.ref(y)
    wf.sum(y, axis=0)
    wf.mean(y)
    del y
    gc.collect()
    assert gone() is None


def test_other_devices_are_refused_in_a_sentence():  # CUDA's: test_gpu.py
    with pytest.raises(TypeError, match="another device"):
        wf.sum(Dlpack(np.arange(3.0), device=(8, 0)))


def test_array_interface():
    class Old:
        def __init__(self):
            self.x = np.arange(6, dtype=np.float32).reshape(2, 3)
            self.__array_interface__ = self.x.__array_interface__
    Old.__array_interface__ = property(lambda self: self.x.__array_interface__, lambda self, v: None)
    assert wf.sum(Old(), axis=1).tolist() == [3.0, 12.0]


def test_masked_arrays_leave_out():
    x = np.ma.MaskedArray([1.0, 2.0, 4.0], mask=[False, True, False])
    assert wf.sum(x) == 5.0 and wf.mean(x) == 2.5
    assert wf.ExactSum(x).value() == 5.0
    assert wf.sum(np.ma.MaskedArray([1, 2])) == 3


def test_masks_of_masks_and_of_nothing():
    x = np.arange(6.0)
    assert wf.sum(x, where=np.ma.masked_array(x > 2, x == 5)) == 7.0  # what is masked does not count
    assert wf.argmax(np.ma.masked_array(x, mask=[False] * 6)) == 5
    ml = pytest.importorskip("ml_dtypes")
    halves = np.ma.masked_array(np.ones(3, ml.bfloat16), mask=[True, False, False])
    assert wf.sum(halves) == 2 and wf.sum(halves).dtype == ml.bfloat16 == wf.sum_by_label(halves, [0, 1, 1]).dtype


def test_keys_labels_and_offsets_are_not_rounded_and_may_come_one_by_one():
    keys, sums = wf.sum_by_key([1.0, 2.0, 4.0], [2**63 + 1, 2**63, 2**63 + 1])
    assert keys.tolist() == [2**63, 2**63 + 1] and sums.tolist() == [2.0, 5.0]
    assert wf.sum_by_key([1.0, 2.0, 4.0], (k for k in "bab"))[1].tolist() == [2.0, 5.0]
    keys, sums = wf.sum_by_key([1.0, 2.0, 4.0], np.array([Fraction(1, 3), 2, Fraction(1, 3)], object))
    assert keys.tolist() == [Fraction(1, 3), 2] and sums.tolist() == [5.0, 2.0]
    assert [one.tolist() for one in wf.sum_by_key([], [])] == [[], []]
    assert wf.sum_by_label([1.0, 2.0, 4.0], iter([1, 0, 1])).tolist() == [2.0, 5.0] == wf.segment_sum([2.0, 1.0, 4.0], (k for k in (0, 1, 3))).tolist()


def test_other_buffers_that_numpy_reads():
    assert wf.sum((ctypes.c_int32.__ctype_be__ * 3)(1, 2, 300)) == 303
    assert wf.sum(((ctypes.c_int * 3) * 2)((1, 2, 3), (4, 5, 6)), axis=1).tolist() == [6, 15]
    assert wf.var([1.0, 3.0], correction=np.float32(1)) == 2.0


def test_bfloat16():
    ml = pytest.importorskip("ml_dtypes")
    x = np.array([1.0, 2.0**-9, 2.0**-9], ml.bfloat16)
    total = wf.sum(x)
    assert total.dtype == ml.bfloat16 and float(total) == 1.0  # 1 + 2^-8 is a tie, to even
    assert wf.sum(x, dtype=np.float32) == np.float32(1 + 2.0**-8)
    assert wf.sum(x.reshape(1, 3), axis=1).dtype == ml.bfloat16
    for name in (ml.bfloat16, np.dtype(ml.bfloat16), "bfloat16"):
        total = wf.sum([1.0, 2.0**-8, 2.0**-60], dtype=name)  # above a tie
        assert total.dtype == ml.bfloat16 and float(total) == 1 + 2.0**-7
    spread = wf.var(np.array([1.0, 3.0], ml.bfloat16), correction=0.5)
    assert spread.dtype == ml.bfloat16 and float(spread) == 1.3359375
    jax = pytest.importorskip("jax.numpy")
    assert wf.sum(jax.ones(3), dtype=jax.bfloat16).dtype == jax.bfloat16


def test_pandas_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.5, 2.5, np.nan], "b": [1, 2, 3]})
    assert wf.sum(frame["b"]) == 6 and math.isnan(wf.sum(frame["a"])) and wf.nansum(frame["a"]) == 4.0
    nulls = pd.array([1, None, 3], dtype="Int64")
    for x in (nulls, pd.Index(nulls), pd.Series(nulls)):
        assert wf.sum(x) == 4 and wf.sum(x).dtype == np.int64 and wf.sum(x, where=[True, True, False]) == 1
        assert wf.sum_by_label(x, [0, 0, 1]).tolist() == [1, 3] and wf.segment_sum(x, [0, 2, 3]).tolist() == [1, 3]
        with pytest.raises(TypeError, match="^sum_by_label: labels with nulls"):
            wf.sum_by_label([1.0, 2.0, 3.0], x)
        with pytest.raises(TypeError, match="^sum_by_key: keys with nulls"):
            wf.sum_by_key([1.0, 2.0, 3.0], x)
    halves = pd.Series([0.5, None, 0.25, math.nan], dtype="Float32")
    assert wf.sum(halves[:3]) == 0.75 and wf.mean(pd.Series([True, None], dtype="boolean")) == 1 and wf.argmax(pd.Series(nulls)) == 2
    assert wf.fsum(pd.Series(nulls)) == 4.0 and wf.ExactSum(pd.Series(nulls)).count == 2
    with pytest.raises(TypeError, match="^sum: elements of "):
        wf.sum(pd.Series(["a", None], dtype="string"))
    assert wf.sum(pd.Series(pd.arrays.SparseArray([0.0, 1.5, 0.0]))) == 1.5
    with pytest.raises(TypeError, match="^sum: where= with nulls"):
        wf.sum([1.0, 2.0], where=pd.array([True, None], dtype="boolean"))
    with pytest.raises(TypeError, match="extension type 'pandas.period'|elements of type period"):  # not their numbers since 1970
        wf.sum(pd.Series(pd.period_range("2020", periods=2)))
    keys, sums = wf.sum_by_key([1.0, 2.0], pd.Series([math.nan, 1.0]))  # NumPy's kind, where a NaN is a NaN
    assert math.isnan(keys[1]) and sums.tolist() == [2.0, 1.0]


def test_pandas_frames_of_one_column_and_subclasses():
    """NaNs of NumPy's types are no nulls, whatever Arrow's protocol makes of them."""
    pd = pytest.importorskip("pandas")

    class Series(pd.Series):
        pass

    class Frame(pd.DataFrame):
        pass
    column, nulls = [1.5, math.nan, 9.0], pd.array([1, None, 3], dtype="Int64")
    for x in (Series(column), pd.DataFrame({"a": column}), Frame({"a": column})):
        assert math.isnan(wf.sum(x)) and wf.argmax(x) == 1 and wf.count(x) == 3 and wf.nansum(x) == 10.5
        assert math.isnan(wf.ExactSum(x).value()) and wf.segment_sum(x, [0, 1, 3]).tolist()[0] == 1.5
    for x in (Series(nulls), pd.DataFrame({"a": nulls}), Frame({"a": nulls})):
        assert wf.sum(x) == 4 and wf.count(x) == 2
    with pytest.raises(TypeError, match="^sum_by_label: labels with nulls"):
        wf.sum_by_label([1.0, 2.0, 3.0], Series(nulls))
    with pytest.raises(TypeError, match="of 2 columns"):
        wf.sum(pd.DataFrame({"a": column, "b": column}))


def test_the_callers_kind_of_array():
    xp = pytest.importorskip("array_api_strict")
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    rows = wf.sum(x, axis=1)
    assert type(rows) is type(x) and rows.dtype == xp.float64
    whole = wf.mean(x)
    assert type(whole) is type(x) and whole.shape == () and float(whole) == 2.5


def test_answers_lie_on_the_device_of_their_array():
    xp = pytest.importorskip("array_api_strict")
    x = xp.asarray([[1.0, 2.0]], device=xp.Device("device1"))
    assert wf.sum(x).device == wf.argmax(x, axis=1).device == wf.minmax(x)[1].device == x.device
    y = xp.asarray([1.0, 2.0], device=xp.Device("device2"))
    assert wf.sum_by_label(y, [0, 1]).device == wf.dot(y, y).device == y.device


def test_an_array_of_xarray_is_its_elements():
    xr = pytest.importorskip("xarray")
    x = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("a", "b"), coords={"a": [3, 4]})
    assert wf.sum(x) == wf.sum(x.variable) == 15.0 and wf.sum(x, axis=0).tolist() == [3.0, 5.0, 7.0]
    with pytest.raises(TypeError, match="^sum: "):
        wf.sum(x.to_dataset(name="x"))


def test_arrays_in_lists_keep_their_masks_or_are_refused():
    hidden = np.ma.masked_array([1.0, 2.0], [False, True])
    lists = [[hidden, hidden], [[hidden]], ([hidden, [1.0, 2.0]],), [1.0, np.ma.masked], iter([hidden])]
    if (pa := sys.modules.get("pyarrow")) is not None:
        lists.append([pa.array([1, None])])
    for x in lists:
        with pytest.raises(TypeError, match="^sum: arrays with masked elements or nulls in a list"):
            wf.sum(x)
    assert wf.sum([np.ma.masked_array([1.0, 2.0])]) == 3.0
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="^sum: lists of different lengths, or nested deeper"):
        wf.sum(endless)


class Unreadable:
    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **how):
        raise BufferError("it is being written")


class Broken:
    """A library's array that answers its protocol with nonsense."""

    def __new__(cls, protocol, answer, device=None):
        methods = {protocol: lambda self, *given, **how: answer}
        if device is not None:
            methods["__dlpack_device__"] = lambda self: device
        return object.__new__(type("Broken", (Broken,), methods))


def released():
    view = memoryview(b"12")
    view.release()
    return view


def test_ints_of_lists_are_not_rounded():
    assert wf.sum([2**63, 1]) == 2**63 + 1 and wf.sum([2**63, 1]).dtype == np.uint64
    assert wf.sum([[2**64 - 1], [0]], axis=1).tolist() == [2**64 - 1, 0]
    assert wf.max(k for k in (2**63, 2**63 - 1)) == 2**63
    assert wf.sum([2**53, 0.5, 2**60]) == 2.0**53 + 2.0**60 and math.isinf(wf.sum([1e308, 1e308])) and math.isnan(wf.sum([math.nan, 1e300]))
    assert wf.sum([2**53 + 2, 1e300j]) == complex(2**53 + 2, 1e300)


def test_a_sequence_without_iter():
    class Squares:
        def __len__(self):
            return 4

        def __getitem__(self, k):
            if k >= 4:
                raise IndexError
            return k * k
    assert wf.sum(Squares()) == 14


def test_the_other_byte_order():
    x = np.arange(6.0).reshape(2, 3)
    assert wf.sum(memoryview(x.astype(">f8")), axis=0).tolist() == [3.0, 5.0, 7.0]
    out = np.zeros(3, ">f8")
    assert wf.sum(x, axis=0, out=out) is out and out.tolist() == [3.0, 5.0, 7.0]
    assert wf.sum(x, dtype=">f4") == np.float32(15) and wf.sum(x, dtype=">f4").dtype == np.float32


def test_two_masks_leave_out_what_either_does():
    x = np.ma.masked_greater(np.arange(12.0).reshape(3, 4), 7)
    assert wf.sum(x, where=x.data > 5) == 13.0 and wf.sum(x, axis=0, where=[True, False, True, True]).tolist() == [4.0, 0.0, 8.0, 10.0]
    assert wf.sum_by_label(x.ravel(), np.arange(12) % 2).tolist() == [12.0, 16.0]
    halves = np.ma.masked_less(np.arange(4, dtype=np.float16), 2)
    assert wf.reduce_by_label("max", halves, [0, 0, 1, 0]).tolist() == [3.0, 2.0]
    assert wf.reduce_by_label("argmax", halves, [0, 0, 1, 0]).tolist() == [2, 0]  # among the elements of a label, masked ones too
    assert wf.argmin(x, where=x.data > 5) == 6 and wf.argmax(x) == 7 and wf.segment_argmax(x.ravel(), 5).tolist() == [4, 2, -1]
    assert wf.segment_sum(x.ravel(), 5, where=x.data.ravel() > 1).tolist() == [9.0, 18.0, 0.0]
    with pytest.raises(ValueError, match="3 labels for 4 elements"):
        wf.sum_by_label(halves, [0, 0, 1])


def test_several_at_once_travel_to_other_processes():
    both = wf.fuse([wf.sum, "max"])
    again = pickle.loads(pickle.dumps(both))
    assert again([1.0, 2.0]) == (3.0, 2.0) == both([1.0, 2.0]) and repr(again) == "<warpfold.fuse(['sum', 'max'])>"


@pytest.mark.parametrize(("call", "kind", "words"), [
    (lambda x: wf.sum(x, axis=2), np.exceptions.AxisError if hasattr(np, "exceptions") else IndexError, "axis 2"),
    (lambda x: wf.sum(x, axis=(0, 0)), ValueError, "twice"),
    (lambda x: wf.sum(x, axis=1.5), TypeError, "axis=1.5"),
    (lambda x: wf.sum(x, accuracy="exactly"), ValueError, "'exact' or 'fast'"),
    (lambda x: wf.sum(x, rounding="even"), ValueError, "'nearest', 'zero', 'away', 'up' or 'down'"),
    (lambda x: wf.sum(x, dtype="int32"), TypeError, "cut off"),
    (lambda x: wf.sum(x, dtype="float80"), TypeError, "dtype="),
    (lambda x: wf.sum(x, dtype="datetime64[s]"), TypeError, "dtype="),
    (lambda x: wf.var(x, correction=math.nan), ValueError, "finite number"),
    (lambda x: wf.segment_var(x[0], 2, correction=0.5, rounding="even"), ValueError, "rounding='even'"),
    (lambda x: wf.var(x, correction=1 << 63), ValueError, "of 64 bits"),
    (lambda x: wf.sum(x, where=[1, 0]), TypeError, "array of bool"),
    (lambda x: wf.sum(x, where=[True, False, True, True]), ValueError, "broadcast"),
    (lambda x: wf.sum(x, out=np.zeros(3)), ValueError, "shape"),
    (lambda x: wf.sum(x, out=np.zeros((), np.float32)), TypeError, "out="),
    (lambda x: wf.sum(x, out=[0.0]), TypeError, "NumPy array"),
    (lambda x: wf.sum(object()), TypeError, "object"),
    (lambda x: wf.sum(np.dtype("f8")), TypeError, "^sum: an object of type"),
    (lambda x: wf.sum(["a"]), TypeError, "elements of type"),
    (lambda x: wf.sum(np.array([None])), TypeError, "elements of type object"),
    (lambda x: wf.sum([2**70]), TypeError, "neither int64 nor uint64 holds"),
    (lambda x: wf.sum([[1], [1, 2]]), ValueError, "sum: "),
    (lambda x: wf.sum(np.zeros(3, "datetime64[s]")), TypeError, "datetime64"),
    (lambda x: wf.sum(np.zeros(3, np.longdouble)), TypeError, "longdouble|float128"),
    (lambda x: wf.min(x.astype(complex)), TypeError, "complex128"),
    (lambda x: wf.min([]), ValueError, "no elements"),
    (lambda x: wf.dot(x, np.zeros(5)), ValueError, "cannot be broadcast"),
    (lambda x: wf.dot(np.zeros(2, np.int64), np.zeros(2)), TypeError, "exactly"),
    (lambda x: wf.segment_sum(x, [0, 1]), ValueError, "must have 1"),
    (lambda x: wf.segment_sum(x[0], [0, 9]), ValueError, "offsets rise"),
    (lambda x: wf.segment_sum(x[0], []), ValueError, "no offsets"),
    (lambda x: wf.segment_sum(x[0], [0.5, 1]), TypeError, "whole numbers"),
    (lambda x: wf.segment_sum(x[0], 0), ValueError, "1 or more"),
    (lambda x: wf.sum_by_label(x[0], [0, -1, 0]), ValueError, "label -1"),
    (lambda x: wf.sum_by_label(x[0], [0, 0]), ValueError, "labels for"),
    (lambda x: wf.fuse(["dot"]), TypeError, "none of the reductions"),
    (lambda x: wf.fuse([len]), TypeError, "none of the reductions"),
    (lambda x: wf.fuse([]), TypeError, "nothing to fuse"),
    (lambda x: wf.argmax(x, axis=(0, 1)), TypeError, "one axis"),
    (lambda x: wf.nonsense(x), AttributeError, "nonsense"),
    (lambda x: wf.sum(None), TypeError, "^sum: an object of type NoneType"),
    (lambda x: wf.ExactSum().add(None), TypeError, "NoneType"),
    (lambda x: wf.sum([2**63, -1]), TypeError, "neither int64 nor uint64"),
    (lambda x: wf.sum([2**53 + 1, 0.5]), TypeError, "the int 9007199254740993 among floats"),
    (lambda x: wf.sum(x, axis=True), TypeError, "axis=True"),
    (lambda x: wf.sum(x, axis=[0, 1]), TypeError, r"axis=\[0, 1\]"),
    (lambda x: wf.sum(x, keepdims="yes"), TypeError, "keepdims='yes'; it is True or False"),
    (lambda x: wf.fuse(["sum"])(x, keepdims=None), TypeError, "keepdims=None"),
    (lambda x: wf.dot(x, x, keepdims=None), TypeError, "keepdims=None"),
    (lambda x: wf.sum(x, accuracy=None), ValueError, "accuracy=None"),
    (lambda x: wf.sum(x, rounding=None), ValueError, "rounding=None"),
    (lambda x: wf.ExactSum(x).value(rounding=None), ValueError, "rounding=None"),
    (lambda x: wf.ExactMoments(x).var(rounding=None), ValueError, "rounding=None"),
    (lambda x: wf.ExactMoments(x).var(correction=math.inf), ValueError, "finite number"),
    (lambda x: wf.ExactMoments(x).std(correction=2**63), ValueError, "^ExactMoments: correction=9223372036854775808; it is a whole number of 64 bits"),
    (lambda x: wf.sum(x, out=np.float64(0)), TypeError, "^sum: out= of type float64; it is a NumPy array"),
    (lambda x: wf.sum([-2**63 - 1, 1]), TypeError, "^sum: an int of 65 bits"),
    (lambda x: wf.ExactMoments(x).var(correction=0.5, rounding="even"), ValueError, "rounding='even'"),
    (lambda x: wf.var(x, correction="1"), TypeError, "it is a number"),
    (lambda x: wf.sum(x, axis=0, out=np.broadcast_to(0.0, 3)), ValueError, "^sum: out= is read-only"),
    (lambda x: wf.nanmin(x.astype(complex)), TypeError, "^nanmin: elements of type complex128"),
    (lambda x: wf.fuse("sum"), TypeError, "in a list"),
    (lambda x: wf.fuse(["sum", "max"])([]), ValueError, "^max: there are no elements"),
    (lambda x: wf.segment_sum(x[0], None), TypeError, "^segment_sum: offsets=None"),
    (lambda x: wf.sum_by_label(x[0], None), TypeError, "^sum_by_label: labels=None"),
    (lambda x: wf.reduce_by_label("max", x[0], None), TypeError, "^reduce_by_label: labels=None"),
    (lambda x: wf.segment_sum(x[0], True), TypeError, "^segment_sum: offsets=True"),
    (lambda x: wf.segment_sum(x[0], [0, 2, 1]), ValueError, "^segment_sum: offset 2 is 1"),
    (lambda x: wf.sum_by_label(x[0], [0, 5, 1], 3), ValueError, "^sum_by_label: label 5 of element 1"),
    (lambda x: wf.sum_by_label(x[0], [0, 2**62, 1]), MemoryError, "^sum_by_label: no memory for 4611686018427387905 answers"),
    (lambda x: wf.sum_by_label(x[0], [0, 1, 1], 2.0), TypeError, "2.0 answers"),
    (lambda x: wf.sum_by_key(x[0], ["a", None, "b"]), TypeError, "^sum_by_key: keys that have no order"),
    (lambda x: wf.ExactSum.from_bytes("text"), TypeError, "^ExactSum: from_bytes"),
    (lambda x: wf.max(np.ma.masked_greater(x, 0)), ValueError, "nulls and masks leave no elements"),
    (lambda x: wf.sum(Unreadable()), TypeError, "Unreadable.__dlpack__.. says: it is being written"),
    (lambda x: wf.sum(Broken("__dlpack__", None, device=(1, 0))), TypeError, "Broken.__dlpack__.. says: nothing that is a capsule"),
    (lambda x: wf.sum(Broken("__arrow_c_array__", 1)), TypeError, "^sum: Arrow's protocol gives no pair of capsules"),
    (lambda x: wf.sum(Broken("__arrow_c_array__", (1, 2))), TypeError, "^sum: Arrow's protocol gives no capsule of an arrow_schema"),
    (lambda x: wf.sum(Broken("__arrow_c_stream__", 1)), TypeError, "^sum: Arrow's protocol gives no capsule of an arrow_array_stream"),
    (lambda x: wf.sum([decimal.Decimal(1), 2.0]), TypeError, "^sum: an element of type Decimal"),
    (lambda x: wf.sum([1.0, None]), TypeError, "^sum: an element of type NoneType"),
    (lambda x: wf.sum([10**400, 0.5]), TypeError, "^sum: an int of 1329 bits"),
    (lambda x: wf.sum((ctypes.c_longdouble * 2)(1, 2)), TypeError, "^sum: elements of type '<g', as buffers tell it"),
    (lambda x: wf.sum(memoryview((ctypes.c_void_p * 2)(1, 2))), TypeError, "^sum: elements of type '<P', as buffers tell it"),
    (lambda x: wf.sum(released()), ValueError, "^sum: .*released memoryview"),
    (lambda x: wf.sum(np.ma.array([(1, 2)], dtype="i,i")), TypeError, "^sum: elements of type"),
    (lambda x: wf.sum([np.ma.masked_less(x[0], 2)] * 2), TypeError, "^sum: arrays with masked elements or nulls in a list"),
    (lambda x: wf.sum(x, accuracy="fast", rounding="up"), ValueError, "^sum: rounding='up' with accuracy='fast'"),
    (lambda x: wf.dot(x, x, accuracy="fast", rounding="zero"), ValueError, "^dot: rounding='zero' with accuracy='fast'"),
    (lambda x: wf.segment_sum(x[0], 2, accuracy="fast", rounding="zero"), ValueError, "^segment_sum: rounding='zero' with accuracy='fast'"),
    (lambda x: wf.fuse(["sum"])(x, accuracy="fast", rounding="zero"), ValueError, "^fuse: rounding='zero' with accuracy='fast'"),
    (lambda x: wf.var(x, correction=0.5, rounding="even"), ValueError, "rounding='even'"),
    (lambda x: wf.var(x, correction=0.5, rounding="up", accuracy="fast"), ValueError, "^var: rounding='up' with accuracy='fast'"),
    (lambda x: wf.fuse(["minmax"])([]), ValueError, "^minmax: there are no elements"),
    (lambda x: wf.fuse(None), TypeError, "^fuse: None; name the reductions in a list"),
    (lambda x: wf.sum_by_label(x[0], [-1, 0, -1]), ValueError, "^sum_by_label: label -1 of element 0"),
    (lambda x: wf.sum_by_label(x[0], [-1] * 3), ValueError, "^sum_by_label: label -1 of element 0; labels are 0 or more$"),
    (lambda x: wf.sum_by_label(x[0], [0] * 3, 0), ValueError, "^sum_by_label: label 0 of element 0; there are 0 answers$"),
    (lambda x: wf.sum_by_label(x[0], np.ma.masked_equal([0, 1, 1], 1)), TypeError, "^sum_by_label: labels with nulls or masked ones"),
    (lambda x: wf.segment_sum(x[0], np.ma.masked_equal([0, 1, 3], 1)), TypeError, "^segment_sum: offsets with nulls or masked ones"),
    (lambda x: wf.sum_by_key(x[0], np.ma.masked_equal([0, 1, 1], 1)), TypeError, "^sum_by_key: keys with nulls or masked ones"),
    (lambda x: wf.sum_by_key(x[0], [2**53 + 1, 2**53, 0.5]), TypeError, "^sum_by_key: the int 9007199254740993 among floats"),
    (lambda x: wf.sum_by_key(x[0], ["1", 1, 2]), TypeError, "^sum_by_key: text and other keys"),
    (lambda x: wf.sum_by_key(x[0], []), ValueError, "^sum_by_key: 0 labels for 3 elements"),
    (lambda x: wf.sum_by_key(x[0], np.array([math.nan, 1.0, math.nan], object)), TypeError, "^sum_by_key: keys that have no order .a NaN among objects"),
    (lambda x: wf.sum_by_key(x[0], np.array([{1}, {2}, {1}], object)), TypeError, "^sum_by_key: keys that have no order"),  # sets: a part of the other is less
    (lambda x: wf.ExactSum([1j]), TypeError, "^ExactSum: elements of type complex128"),
    (lambda x: wf.ExactMoments([1j]), TypeError, "^ExactMoments: elements of type complex128"),
    (lambda x: wf.ExactSum(x).value(dtype="int32"), TypeError, "^ExactSum: dtype='int32'; it is a type of floats"),
])
def test_errors_are_one_clear_line_of_numpys_kind(call, kind, words):
    with pytest.raises(kind, match=words) as e:
        call(np.ones((2, 3)))
    assert "\n" not in str(e.value)


def test_arrays_of_more_dimensions_than_views_have():
    x = np.ones((1,) * 33)
    assert wf.sum(x) == 1.0
    with pytest.raises(ValueError, match="33 dimensions"):
        wf.sum(x, axis=0)


def test_out_takes_the_answer():
    x = np.arange(6.0).reshape(2, 3)
    out = np.empty(3)
    assert wf.sum(x, axis=0, out=out) is out and out.tolist() == [3.0, 5.0, 7.0]
    whole = np.empty(())
    assert wf.mean(x, out=whole) is whole and whole == 2.5
    wide = np.empty((1, 3), np.float32)
    assert wf.sum(x, axis=0, keepdims=True, dtype="float32", out=wide) is wide and wide.tolist() == [[3.0, 5.0, 7.0]]


@pytest.mark.parametrize("dtype", [np.complex64, "complex128", np.dtype(complex)])
def test_complex_dtypes_of_real_and_complex(dtype):
    x = np.array([0.1, 0.2, -0.3])
    total = wf.sum(x, dtype=dtype)
    assert total.dtype == np.dtype(dtype) and total.imag == 0 and total.real == wf.sum(x, dtype=total.real.dtype)
    z = x + 1j * x[::-1]
    total = wf.sum(z, dtype=dtype)
    assert total.dtype == np.dtype(dtype) and total.imag == wf.sum(z.imag, dtype=total.real.dtype)
    assert wf.prod(x, dtype=dtype).dtype == np.dtype(dtype)


class Negated:
    """As a tensor of PyTorch's that lies in memory with other signs than it has: __dlpack__() says nothing of that."""

    def __init__(self, x, refuses=False):
        self.x, self.refuses = x, refuses

    def resolve_conj(self):
        return self

    def resolve_neg(self):
        return self.x if self.refuses is False else self

    def __dlpack_device__(self):
        if self.refuses == "device":
            raise NotImplementedError("of this place\nthere is nothing to tell")
        return 1, 0

    def __dlpack__(self, **how):
        if self.refuses:
            raise BufferError("this is not to be read\nwith more lines")
        return (-self.x).__dlpack__()


def test_arrays_that_lie_negated_or_do_not_let_themselves_be_read(monkeypatch):
    x = np.arange(5.0)
    for call, expected in ((wf.sum, 10), (wf.max, 4), (lambda y: wf.ExactSum(y).value(), 10), (lambda y: wf.segment_sum(y, 5)[0], 10), (lambda y: wf.dot(y, x), 30), (lambda y: wf.sum_by_label(y, [0] * 5)[0], 10)):
        assert call(Negated(x)) == expected
    # A library's to_dlpack() is not asked for what its arrays refuse, as nanobind would.
    torch, utils, dlpack = (types.ModuleType(n) for n in ("torch", "torch.utils", "torch.utils.dlpack"))
    torch.utils, utils.dlpack, dlpack.to_dlpack = utils, dlpack, lambda y: y.x.__dlpack__()
    for module in (torch, utils, dlpack):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(Negated, "__module__", "torch")
    for refuses, said in ((True, "this is not to be read$"), ("device", "of this place$")):
        with pytest.raises(TypeError, match="^sum: the array does not let itself be read: .*" + said):
            wf.sum(Negated(x, refuses))


def test_what_only_has_items_for_something_else_is_told_in_one_line():
    class Lazy:
        def __getitem__(self, key):
            raise TypeError("a lazy thing has no items\n\ncollect it")

    class Items:
        def __getitem__(self, key):
            return [1.5, 2.0][key]
    assert wf.sum(Items()) == 3.5
    with pytest.raises(TypeError, match="^sum: an object of type Lazy; .*; a lazy thing has no items$"):
        wf.sum(Lazy())


def test_out_of_the_callers_kind():
    xp = pytest.importorskip("array_api_strict")
    x = xp.asarray([[1.0, 2.0, 4.0], [3.0, 0.5, 5.0]])
    for f, shape in ((wf.sum, (3,)), (wf.max, (3,)), (wf.var, (3,))):
        out = xp.zeros(shape, dtype=xp.float64)
        assert f(x, axis=0, out=out) is out and bool(xp.all(out == f(x, axis=0)))
    whole = xp.zeros((), dtype=xp.float64)
    assert wf.sum(x, out=whole) is whole and float(whole) == 15.5
    low, places = xp.zeros((2,), dtype=xp.float64), xp.zeros((2,), dtype=xp.int64)
    assert wf.fuse(["min", "argmax", "sum"])(x, axis=1, out=(low, places, None))[0] is low and [float(v) for v in low] == [1.0, 0.5] and [int(v) for v in places] == [2, 2]
    numpys = np.zeros(3)
    assert wf.sum(x, axis=0, out=numpys) is numpys and numpys.tolist() == [4.0, 2.5, 9.0]
    for out, kind, said in ((xp.zeros((2,), dtype=xp.float64), ValueError, r"out= has the shape [(]2,[)]; the answer has [(]3,[)]"),
                            (xp.zeros((3,), dtype=xp.float32), TypeError, "out= holds .*float32; the answer is .*float64"), ([0.0] * 3, TypeError, "out= of type list")):
        with pytest.raises(kind, match=f"^sum: {said}"):
            wf.sum(x, axis=0, out=out)
    with pytest.raises(TypeError, match="^sum: out= of type Array; it is a NumPy array"):
        wf.sum(np.ones((2, 3)), axis=0, out=xp.zeros((3,), dtype=xp.float64))


def test_keys_are_told_as_the_callers_arrays():
    xp = pytest.importorskip("array_api_strict")
    keys, sums = wf.sum_by_key([1.0, 2.0, 4.0], xp.asarray([2, 1, 2]))
    assert type(keys) is type(xp.asarray(1)) and keys.dtype == xp.int64 and [int(k) for k in keys] == [1, 2] and sums.tolist() == [2.0, 5.0]
    for given in (np.array(["b", "a", "b"]), np.array([2, 1, 2]), ["b", "a", "b"], iter("bab")):
        keys, sums = wf.sum_by_key([1.0, 2.0, 4.0], given)
        assert type(keys) is np.ndarray and sums.tolist() == [2.0, 5.0]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "u8", "c16"])
@pytest.mark.parametrize("layout", ["whole", "transposed", "reversed", "broadcast"])
def test_large_arrays_of_the_other_byte_order_by_parts(dtype, layout, monkeypatch):
    from warpfold import _swapped
    monkeypatch.setattr(_swapped, "PART", 16)
    r = np.random.default_rng(7)
    v = r.standard_normal((5, 4, 6)) * 10.0**r.integers(-3, 4, (5, 4, 6))
    native = (np.abs(v) if dtype[0] == "u" else v).astype(dtype)
    if dtype[0] in "fc":
        native[1, 2, 3] = np.nan
    native = {"whole": native, "transposed": native.T, "reversed": native[::-1, :, ::2], "broadcast": np.broadcast_to(native, (3, *native.shape))}[layout]
    other = native.astype(native.dtype.newbyteorder())
    other = np.broadcast_to(other[0], native.shape) if layout == "broadcast" else other
    assert _swapped.is_large(other) and not _swapped.is_large(native) and not _swapped.is_large(other[:1, :1, :1])
    counts = r.random(native.shape) < 0.6
    names = ["sum", "mean", "var", "mean_var", "norm", "any", "count_nonzero", "prod", "logsumexp", "nansum", "min", "minmax", "argmax", "nanmax"]
    for name in names[:8 if dtype[0] == "c" else None]:
        f = getattr(wf, name)
        for axis in (None, 0, -1, 1) if name == "argmax" else (None, 0, -1, (0, 2), (), tuple(range(native.ndim))):
            for how in ({}, {"keepdims": True}, {"where": counts}, {"where": counts[0]}, *[{"rounding": "up"}] * (name in ("sum", "norm")), *[{"correction": 0.5}] * ("var" in name),
                        *[{"dtype": "complex128"}] * (name == "sum")):
                try:
                    expected = f(native, axis=axis, **how)
                except ValueError as e:
                    with pytest.raises(type(e), match="no elements"):
                        f(other, axis=axis, **how)
                    continue
                got = f(other, axis=axis, **how)
                for a, b in zip(got if isinstance(got, tuple) else (got,), expected if isinstance(expected, tuple) else (expected,)):
                    assert type(a) is type(b) and (a.dtype, a.shape) == (b.dtype, b.shape) and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"), (name, axis, how)
    out = np.zeros(native.shape[1:], wf.sum(native).dtype)
    assert wf.sum(other, axis=0, out=out) is out and np.array_equal(out, wf.sum(native, axis=0), equal_nan=True)
    with pytest.raises(np.exceptions.AxisError if hasattr(np, "exceptions") else IndexError, match="^sum: axis 9"):
        wf.sum(other, axis=9)
    if dtype[0] != "c":
        with pytest.raises(ValueError, match="^max: where= leaves no elements"):
            wf.max(other, where=np.zeros(native.shape, bool))


def test_of_large_arrays_of_the_other_byte_order_no_copy_is_made():
    import tracemalloc
    x = np.arange(2**21, dtype="f8")
    other = x.astype(">f8" if x.dtype.newbyteorder(">") != x.dtype else "<f8")
    wf.sum(other)
    for f in (lambda: wf.sum(other), lambda: wf.mean_var(other.reshape(4, -1), axis=1), lambda: wf.max(other.reshape(-1, 4), axis=0), lambda: wf.argmax(other, axis=0, keepdims=True)):
        tracemalloc.start()
        f()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < x.nbytes / 4
    assert wf.sum(other) == wf.sum(x) and wf.argmax(other, axis=0, keepdims=True).tolist() == [x.size - 1]
