# SPDX-License-Identifier: Apache-2.0
"""Arrow's arrays and streams, by the PyCapsule protocol: types, nulls, slices, pieces, tables; of pyarrow, polars and pandas."""

import gc
import importlib
import math
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpfold as wf
from arrays import same

pa = pytest.importorskip("pyarrow")

TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bool"]


class Alone:
    """Nothing but the protocol, so that no other way in can answer for it."""

    def __init__(self, x):
        if hasattr(x, "__arrow_c_stream__"):
            self.__arrow_c_stream__ = x.__arrow_c_stream__
        else:
            self.__arrow_c_array__ = x.__arrow_c_array__


class Array(Alone):
    def __arrow_c_array__(self, requested_schema=None):
        raise AssertionError("replaced")


class Stream(Alone):
    def __arrow_c_stream__(self, requested_schema=None):
        raise AssertionError("replaced")


def alone(x):
    return (Stream if hasattr(x, "__arrow_c_stream__") else Array)(x)


@st.composite
def columns(draw):
    """(values that count, where they lie if there are nulls between, an array or stream of all)."""
    dtype = draw(st.sampled_from(TYPES))
    values = draw(st.lists(st.one_of(st.none(), st.integers(0, 1 if dtype == "bool" else 100)), max_size=40))
    kind = {"float16": pa.float16(), "bool": pa.bool_()}.get(dtype) or getattr(pa, dtype)()
    typed = [None if v is None else np.dtype(dtype).type(v) for v in values]
    column = pa.array(typed, kind) if typed else pa.array([], kind)
    a = draw(st.integers(0, len(values)))
    b = draw(st.integers(a, len(values)))
    column, typed = column.slice(a, b - a), typed[a:b]
    how = draw(st.sampled_from(["array", "pieces", "table", "batches"]))
    if how != "array":
        cuts = sorted({0, len(typed), *draw(st.lists(st.integers(0, len(typed)), max_size=3))})
        column = pa.chunked_array([column.slice(i, j - i) for i, j in zip(cuts, cuts[1:])], kind)
    if how in ("table", "batches"):
        column = pa.table({"x": column})
    if how == "batches":
        column = pa.RecordBatchReader.from_batches(column.schema, column.to_batches())
    return np.array([v for v in typed if v is not None], dtype), np.array([k for k, v in enumerate(typed) if v is not None], int) if None in typed else None, column


@given(columns(), st.sampled_from(["sum", "mean", "var", "max", "count_nonzero", "minmax", "argmax", "ExactSum", "fsum", "fuse", "float32"]))
def test_what_is_null_does_not_count(case, name):
    values, places, column = case
    x = alone(column)
    if name == "ExactSum":
        assert wf.ExactSum(x) == wf.ExactSum(values)
    elif name == "fsum":
        assert wf.fsum(x) == wf.fsum(values)
    elif name == "fuse":
        for a, b in zip(wf.fuse(["sum", "std"])(x), wf.fuse(["sum", "std"])(values)):
            same(a, b)
    elif name == "float32":
        same(wf.sum(x, dtype="float32", rounding="up"), wf.sum(values, dtype="float32", rounding="up"))
    elif name == "argmax" and places is not None and not isinstance(column, pa.Array):
        try:
            assert wf.argmax(x) == places[np.argmax(values)]
        except (TypeError, ValueError) as e:  # several pieces, whose places are not put together; or nothing
            assert ("nulls" if isinstance(e, TypeError) else "no elements") in str(e)
    elif name == "argmax" and places is not None and values.size:
        same(wf.argmax(x), np.int64(places[np.argmax(values)]))
    elif values.size == 0 and name in ("max", "minmax", "argmax"):
        with pytest.raises(ValueError, match="no elements"):
            getattr(wf, name)(x)
    else:
        a, b = getattr(wf, name)(x), getattr(wf, name)(values)
        if isinstance(b, tuple):
            same(a[1], b[1])
        same(np.asarray(a)[..., 0] if isinstance(b, tuple) else a, np.asarray(b)[..., 0] if isinstance(b, tuple) else b)


@pytest.mark.parametrize("values", [np.arange(20.0), np.arange(20) % 3 == 0, np.arange(20, dtype=np.uint8)], ids=lambda v: v.dtype.name)
def test_structs_of_one_field_have_offsets_and_nulls_of_their_own(values):
    missing = np.arange(20) % 5 == 0
    left_out = np.arange(20) % 7 == 0
    structs = pa.StructArray.from_arrays([pa.array(values, mask=missing)], ["x"], mask=pa.array(left_out))
    for a, b in ((0, 20), (3, 20), (9, 17), (4, 4)):
        counts = ~(missing | left_out)[a:b]
        same(wf.sum(Array(structs.slice(a, b - a))), wf.sum(values[a:b][counts]))
    plain = pa.StructArray.from_arrays([pa.array(values)], ["x"])
    same(wf.sum(Array(plain.slice(3))), wf.sum(values[3:]))


def few_batches():
    """A stream of 200 batches, and how many of their arrays were alive at most."""
    made, most = [], [0]

    def batches():
        for k in range(200):
            values = np.full(1000, float(k))
            made.append(weakref.ref(values))
            batch = pa.record_batch({"x": values})
            del values
            most[0] = max(most[0], sum(one() is not None for one in made))
            yield batch
            del batch
    return pa.RecordBatchReader.from_batches(pa.schema([("x", pa.float64())]), batches()), most


def test_a_stream_is_read_a_piece_at_a_time():
    """The batches that are alive at once are few, whatever the length of the stream."""
    calls = [wf.sum, wf.argmax, wf.ExactSum, wf.fuse(["mean", "var"]), lambda x: wf.var(x, correction=0.5), lambda x: wf.sum(x, where=np.arange(200_000) % 2 == 0)]
    try:
        importlib.import_module("warpfold._compile").compiler()
        calls.append(wf.Reduction(state="double", identity="0", lift="x", combine="a + b"))
    except FileNotFoundError:
        pass
    for call in calls:
        reader, most = few_batches()
        call(Stream(reader))
        assert most[0] <= 5
        assert wf.sum(reader) == 0.0  # it was read to its end
    assert wf.sum(Stream(few_batches()[0])) == 1000.0 * 199 * 100


def test_a_stream_that_fails_says_why():
    def batches():
        yield pa.record_batch({"x": [1.0]})
        raise RuntimeError("the disk is gone")
    reader = pa.RecordBatchReader.from_batches(pa.schema([("x", pa.float64())]), batches())
    with pytest.raises(OSError, match="^sum: .*the disk is gone") as e:
        wf.sum(reader)
    assert "\n" not in str(e.value)


def test_places_in_pieces_with_nulls():
    r = np.random.default_rng(3)
    for dtype in (np.float64, np.float32, np.int8, np.uint64, bool):
        for _ in range(60):
            sizes = r.integers(0, 5, r.integers(1, 6))
            v = r.integers(0, 4, sizes.sum()).astype(dtype)
            if dtype(0.5) == 0.5:
                v[r.random(v.size) < 0.1] = np.nan
                v[r.random(v.size) < 0.2] = -0.0
            hidden = r.random(v.size) < 0.4
            ends = np.cumsum(sizes)
            pieces = pa.chunked_array([pa.array(v[e - n:e], mask=hidden[e - n:e]) for n, e in zip(sizes, ends)], pa.from_numpy_dtype(dtype))
            for name in ("argmin", "argmax"):
                f = getattr(wf, name)
                if hidden.all():
                    with pytest.raises(ValueError, match=f"^{name}: "):
                        f(pieces)
                    continue
                expected = f(np.ma.array(v, mask=hidden))
                assert f(pieces) == f(Stream(pieces)) == expected and f(pieces, axis=0, keepdims=True).tolist() == [expected]
                total, at, count = wf.fuse(["sum", name, "count"])(pieces)
                assert at == expected and count == (~hidden).sum() and np.array_equal(total, wf.sum(pieces), equal_nan=True)


def test_masks_of_pieces():
    r = np.random.default_rng(4)
    for _ in range(60):
        sizes = r.integers(0, 5, r.integers(2, 6))
        v = r.standard_normal(sizes.sum()) * 10.0**r.integers(-3, 4, sizes.sum())
        hidden, counts, ends = r.random(v.size) < 0.3, r.random(v.size) < 0.6, np.cumsum(sizes)
        pieces = pa.chunked_array([pa.array(v[e - n:e], mask=hidden[e - n:e]) for n, e in zip(sizes, ends)], pa.float64())
        whole = np.ma.array(v, mask=hidden)
        for where in (counts, counts.tolist(), pa.array(counts), pa.chunked_array([counts[:1], counts[1:]])):
            if v.size < 2 or len(pieces.chunks) < 2:
                break
            for name, how in (("sum", {}), ("mean", {"dtype": "float32"}), ("var", {"correction": 0.5}), ("mean_var", {}), ("argmax", {}), ("max", {}), ("nansum", {}), ("norm", {"rounding": "up"})):
                f = getattr(wf, name)
                try:
                    expected = f(whole, where=counts, **how)
                except ValueError:
                    with pytest.raises(ValueError, match=f"^{name}: "):
                        f(pieces, where=where, **how)
                    continue
                assert np.array_equal(f(pieces, where=where, **how), expected, equal_nan=True), (name, sizes)
            assert wf.fuse(["sum", "count"])(Stream(pieces), where=where) == (wf.sum(whole, where=counts), (counts & ~hidden).sum())


def test_refusals():
    with pytest.raises(TypeError, match="2 columns"):
        wf.sum(pa.table({"x": [1], "y": [2]}))
    for bad in (pa.array(["a"]), pa.array([None]), pa.array([1]).dictionary_encode(), pa.array([[1]])):
        with pytest.raises(TypeError, match="Arrow's type|a dictionary"):
            wf.sum(bad)
    nothing = pa.chunked_array([pa.nulls(2, pa.float64()), pa.nulls(1, pa.float64())])
    with pytest.raises(ValueError, match="^max: there are no elements"):
        wf.fuse(["sum", "max"])(nothing)
    for missing in (pa.array([0, None, 1]), pa.chunked_array([[0], [None, 1]])):
        with pytest.raises(TypeError, match="^sum_by_label: labels with nulls"):
            wf.sum_by_label([1.0, 2.0, 3.0], missing)
        with pytest.raises(TypeError, match="^sum_by_key: keys with nulls"):  # NumPy would make floats of them, and lose digits
            wf.sum_by_key([1.0, 2.0, 3.0], missing)
    with pytest.raises(TypeError, match="^sum: where= with nulls"):
        wf.sum([1.0, 2.0], where=pa.array([True, None]))
    pieces = pa.chunked_array([[1.0], [2.0]])
    with pytest.raises(TypeError, match="several pieces"):
        wf.dot(pieces, pieces)
    with pytest.raises(TypeError, match="several pieces"):
        wf.segment_sum(pieces, [0, 1])
    for where, said in (([True], None), ([True] * 3, "3 elements; the array has 2$"), (np.zeros(0, bool), "0 elements; the array has 1 or more$"), ([[True, False]], "2 dimensions")):
        if said:
            with pytest.raises(ValueError, match=f"^sum: where= .*{said}"):
                wf.sum(pieces, where=where)
        else:
            assert wf.sum(pieces, where=where) == 3.0 == wf.sum(pieces, where=np.True_)
    with pytest.raises(TypeError, match="^sum: where= of type int64"):
        wf.sum(pieces, where=[1, 0])
    with pytest.raises(Exception, match="axis 1"):
        wf.sum(pieces, axis=1)
    assert wf.sum(pieces, axis=0, keepdims=True).tolist() == [3.0]


def test_capsules_are_read_once():
    class Twice:
        def __init__(self):
            self.both = pa.array([1.0]).__arrow_c_array__()

        def __arrow_c_array__(self, requested_schema=None):
            return self.both
    x = Twice()
    assert wf.sum(x) == 1.0
    with pytest.raises(ValueError, match="read before"):
        wf.sum(x)


def test_columns_of_frames():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [1.5, None, 2.5], "b": [1, 2, 3]})
    assert wf.sum(frame["a"]) == 4.0 and wf.mean(frame["b"]) == 2.0 and wf.sum(frame[["a"]]) == 4.0
    pd = pytest.importorskip("pandas")
    series = pd.Series([1, None, 3], dtype="Int64")
    assert wf.sum(series) == 4 and wf.ExactMoments(series).count == 2
    assert math.isnan(wf.sum(pd.Series([1.0, math.nan])))  # a NaN of NumPy's kind is no null


def test_data_sets_and_queries_are_streams(tmp_path):
    """What is larger than memory: files of Parquet, a query of DuckDB's, a lazy frame of Polars; nulls skipped."""
    ds, pq = pytest.importorskip("pyarrow.dataset"), pytest.importorskip("pyarrow.parquet")
    parts = [[1e16, None, 1.0], [None], [-1e16, 2.0**-60]]
    for k, part in enumerate(parts):
        pq.write_table(pa.table({"v": pa.array(part, pa.float64()), "w": list(range(len(part)))}), tmp_path / f"{k}.parquet")
    flat = [v for part in parts for v in part if v is not None]
    streams = {"pyarrow": lambda: ds.dataset(tmp_path).scanner(columns=["v"], batch_size=2).to_reader()}
    try:
        import duckdb
        streams["duckdb"] = lambda: duckdb.sql(f"select v from read_parquet('{tmp_path}/*.parquet')")
    except ImportError:
        pass
    try:
        import polars as pl
        if hasattr(pl.LazyFrame, "collect_batches"):
            streams["polars"] = lambda: pl.scan_parquet(tmp_path / "*.parquet").select("v").collect_batches(chunk_size=2)
    except ImportError:
        pass
    for name, stream in streams.items():
        assert wf.sum(stream()) == math.fsum(flat) and wf.ExactSum(stream()).count == len(flat), name
        assert wf.ExactSum(stream()) == wf.ExactSum(flat), name
        assert wf.fuse(["min", "max", "count"])(stream()) == (-1e16, 1e16, len(flat)), name
        assert wf.mean(stream()) == wf.mean(flat) and wf.var(stream(), correction=1) == wf.var(flat, correction=1), name
        assert wf.std(stream(), correction=0.5) == wf.std(flat, correction=0.5), name
        assert wf.fuse(["max", "mean_var"])(stream(), correction=-0.25) == wf.fuse(["max", "mean_var"])(flat, correction=-0.25), name


def test_memory_is_given_back():
    gc.collect()  # what earlier tests left would be given back meanwhile
    before = pa.total_allocated_bytes()
    for _ in range(50):
        wf.sum(pa.chunked_array([pa.array(np.arange(1000.0)), pa.array([None, 1.0])]))
        with pytest.raises(TypeError):
            wf.sum(pa.table({"x": [1], "y": [2]}))
    gc.collect()
    assert pa.total_allocated_bytes() <= before
