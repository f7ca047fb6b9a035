# SPDX-License-Identifier: Apache-2.0
"""Dask: the bits of the function without Dask, for any chunks, scheduler, tree and workers, killed ones too."""

import math
import os
import pathlib
import re
import signal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warpfold as wf
from arrays import COMPLEX, FLOATS, REAL, answers_of, fractions_of, laid_out, nearest, same, with_axes

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
import warpfold.dask as wfd  # noqa: E402
from warpfold.states import Form  # noqa: E402

SUMS = ["sum", "mean", "var", "std", "norm", "sum_of_squares", "any", "all", "count_nonzero", "nansum", "nanmean", "nanvar"]
OF_REAL = ["norm1", "norm_inf", "min", "max", "nanmin", "nanmax", "argmin", "argmax", "minmax"]


def chunked(draw, x):
    """The array in chunks of any sizes, as Dask lets them be."""
    chunks = []
    for n in x.shape:
        cuts = sorted(draw(st.sets(st.integers(1, n - 1), max_size=3))) if n > 1 else []
        edges = [0, *cuts, n]
        chunks.append(tuple(b - a for a, b in zip(edges, edges[1:])))
    return da.from_array(x, chunks=tuple(chunks), name=False)


@given(with_axes(laid_out([*REAL, *COMPLEX], finite=False)), st.sampled_from(SUMS + OF_REAL), st.booleans(), st.booleans(), st.sampled_from([1, 1 << 14]), st.data())
def test_chunks_do_not_matter(x_axis, name, keepdims, short, worth, data):
    x, axis = x_axis
    wfd._short_stay = short  # these arrays are small enough to travel as they are, but every other time
    wfd._worth_narrowing = worth  # and their states to stay whole
    if name in OF_REAL and x.dtype.kind == "c":
        name = "mean"
    if name.startswith("arg") and isinstance(axis, tuple):
        axis = None
    d = chunked(data.draw, x)
    if name.removeprefix("nan") in ("min", "max", "minmax", "argmin", "argmax"):
        try:
            getattr(wf, name)(x, axis=axis)
        except ValueError:
            with pytest.raises(ValueError, match="no elements"):
                getattr(wfd, name)(d, axis=axis)
            return
    split = data.draw(st.sampled_from([None, 2, 3, 100]))
    found = getattr(wfd, name)(d, axis=axis, keepdims=keepdims, split_every=split)
    want = getattr(wf, name)(x, axis=axis, keepdims=keepdims)
    for lazy, right in zip(found, want) if isinstance(want, tuple) else [(found, want)]:
        right = np.asarray(right)
        assert lazy.dtype == right.dtype == lazy._meta.dtype and lazy.shape == right.shape and lazy._meta.ndim == right.ndim
        same(lazy.compute(scheduler="sync"), right)
    wfd._short_stay, wfd._worth_narrowing = True, 1 << 14


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_narrow_states(dtype):
    """States that lie in few digits travel in these, and are merged there; the bytes are those of the whole."""
    r = np.random.default_rng(3)
    form = Form("sum", dtype)
    for scale in (1e-3, 1.0, 1e3):
        blocks = [(r.standard_normal((n, 900)) * s * scale).astype(dtype) for n, s in ((3, 1.0), (40, 1e-2), (7, 8.0))]
        states = [form.of(b, axis=0) for b in blocks]
        narrow = [wfd._narrowed(form, s) for s in states]
        if dtype != "float16" or scale == 1:
            assert all(type(n) is wfd._Narrow for n in narrow)
            assert all(2 * n.__sizeof__() < s.nbytes for n, s in zip(narrow, states) if dtype != "float16")
            assert all(wfd._whole(form, n).tobytes() == s.tobytes() for n, s in zip(narrow, states))
            assert wfd._whole(form, wfd._added(narrow)).tobytes() == form.merge(*states).tobytes()
        for few in ([0, 1], [2, 0], [0, 1, 2]):  # some of them narrow, some not
            parts = [narrow[k] if k % 2 == 0 else states[k] for k in few]
            found = wfd._merge(parts, axis=(0,), keepdims=True, form=form, skip_nans=False, last=True)
            assert found.tobytes() == form.merge(*(states[k] for k in few)).tobytes()
    whole = (r.standard_normal((5, 900)) * np.exp(r.uniform(-80, 80, (5, 900)))).astype("f4")
    for special in (np.nan, np.inf, -0.0, None):  # counted, of numbers that are far apart
        x = whole.copy() if special is None else np.full((1, 900), special, "f4")
        form = Form("sum", "float32")
        assert isinstance(wfd._narrowed(form, form.of(x, axis=0)), np.ndarray)


@given(with_axes(laid_out(FLOATS)), st.data())
@settings(max_examples=40)
def test_sums_are_fractions(x_axis, data):
    x, axis = x_axis
    want = answers_of(x, axis, lambda row: nearest(sum(fractions_of(row), Fraction(0)), x.dtype.newbyteorder("=")), x.dtype.newbyteorder("="))
    same(wfd.sum(chunked(data.draw, x), axis=axis).compute(scheduler="sync") + 0, want + 0)


@given(laid_out(["float32", "int16", "float64"]), st.sampled_from(["float64", "float32", "float16"]), st.data())
@settings(max_examples=30)
def test_dtype(x, to, data):
    for name in ("sum", "mean"):
        found = getattr(wfd, name)(chunked(data.draw, x), dtype=to)
        assert found.dtype == to
        same(found.compute(scheduler="sync"), getattr(wf, name)(x, dtype=to))


@pytest.fixture(autouse=True)
def as_it_is():
    wfd._short_stay = True


def wild(shape=(40, 30), seed=0):
    r = np.random.default_rng(seed)
    return r.standard_normal(shape) * 10.0 ** r.integers(-200, 200, shape)


def test_what_dask_itself_answers_depends_on_the_chunks():
    x = wild((4000,))
    theirs = {float(da.from_array(x, chunks=n).sum().compute()) for n in (70, 1000, 4000)}
    ours = {float(wfd.sum(da.from_array(x, chunks=n)).compute()) for n in (70, 1000, 4000)}
    assert len(theirs) > 1 and ours == {float(wf.sum(x))}


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_schedulers(scheduler):
    x = wild()
    d = da.from_array(x, chunks=(16, 7))
    total, (mean, var), at = dask.compute(wfd.sum(d, axis=0), wfd.mean_var(d), wfd.argmin(d), scheduler=scheduler)
    same(total, wf.sum(x, axis=0))
    same((mean, var), wf.mean_var(x))
    assert at == wf.argmin(x)


def test_the_first_of_equals_may_lie_in_a_later_block():
    for special in (-1.0, math.nan):
        x = np.ones((4, 6))
        x[1, 0] = x[0, 3] = special
        for chunks in ((4, 3), (2, 2), (1, 1)):
            assert int(wfd.argmin(da.from_array(x, chunks=chunks)).compute(scheduler="sync")) == 3


def test_the_graph():
    d = da.ones((64, 8), chunks=(1, 4))
    few, many = wfd.sum(d, axis=0, split_every=2), wfd.sum(d, axis=0, split_every=64)
    assert len(few.dask.layers) == len(many.dask.layers) + 5  # merged in pairs: 6 layers for 1
    assert wfd.sum(d).name == wfd.sum(d).name != wfd.sum(d, rounding="up").name
    assert few.name.startswith("warpfold-sum-value")
    assert wfd.sum(d, axis=0).chunks == ((4, 4),) and wfd.sum(d, axis=0, keepdims=True).chunks == ((1,), (4, 4))
    s = wfd.states(d, "sum", axis=0).compute()
    assert Form.of_dtype(s.dtype).values(s).tolist() == [64.0] * 8
    unknown = d[d[:, 0] > 0]
    assert wfd.sum(unknown, axis=0).compute().tolist() == [64.0] * 8 and int(wfd.min(unknown).compute()) == 1
    with pytest.raises(ValueError, match="no elements"):
        wfd.min(d[d[:, 0] > 5]).compute(scheduler="sync")


def test_chunks_of_one_step_stay_elements_until_they_are_many():
    x = wild((200, 300))
    d = da.from_array(x, chunks=(1, 300))
    tasks = wfd.states(d, "sum", axis=0, split_every=4)
    sizes = {}

    class Sizes(dask.callbacks.Callback):
        def _posttask(self, key, result, dsk, state, worker_id):
            if isinstance(result, np.ndarray):
                sizes[key] = result.nbytes

    with Sizes():
        found = tasks.compute(scheduler="sync")
    same(Form.of_dtype(found.dtype).values(found), wf.sum(x, axis=0))
    assert len([n for n in sizes.values() if n >= found.nbytes]) < 20  # 592 bytes a state, of 8 an element


def test_what_is_taken():
    assert float(wfd.sum([1.0, 2.0]).compute()) == 3.0
    masked = da.ma.masked_greater(da.from_array(np.arange(6.0), chunks=2), 3)
    assert float(wfd.sum(masked).compute()) == 6.0
    big = da.from_array(np.arange(6.0).astype(">f4"), chunks=4)
    same(wfd.mean(big).compute(), np.float32(2.5))
    ml_dtypes = pytest.importorskip("ml_dtypes")
    half = da.from_array(np.array([1, 2.0**-9, 2.0**-9, 3], ml_dtypes.bfloat16), chunks=1)
    assert wfd.sum(half).dtype == half.dtype == wfd.sum(half).compute().dtype and float(wfd.sum(half).compute()) == 4.0


class OnGpu:
    """What CuPy's arrays tell of themselves."""

    def __init__(self, x):
        self._x, self.shape, self.dtype, self.ndim = x, x.shape, x.dtype, x.ndim
        self.__cuda_array_interface__ = {"shape": x.shape, "typestr": x.dtype.str, "data": (x.ctypes.data, True), "version": 3}

    def get(self):
        return self._x.copy()


def test_blocks_on_a_gpu_of_an_unknown_library_are_copied():
    x = wild()
    d = da.from_array(x, chunks=(16, 7)).map_blocks(OnGpu, dtype=x.dtype, meta=np.empty((0, 0)))
    for name, axis in (("sum", 0), ("var", None), ("argmin", None), ("argmax", 1)):
        same(getattr(wfd, name)(d, axis=axis).compute(scheduler="sync"), getattr(wf, name)(x, axis=axis))


def test_blocks_of_cupy():
    cupy = pytest.importorskip("cupy", reason="no CuPy here, so its own arrays were not tried as blocks")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as e:
        pytest.skip(f"CuPy, but no GPU: {e}")
    x = wild()
    found = wfd.mean(da.from_array(cupy.asarray(x), chunks=(16, 7), asarray=False), axis=0)
    assert type(found._meta) is cupy.ndarray
    same(found.compute(scheduler="sync").get(), wf.mean(x, axis=0))


def test_corrections_that_are_fractions():
    x = np.random.default_rng(5).standard_normal((40, 6)) * 1e3
    d = da.from_array(x, chunks=(7, 4))
    for correction in (0.5, -1.25, 39.5, 40.5):
        for axis in (None, 0):
            for rounding in ("nearest", "up"):
                how = {"axis": axis, "correction": correction, "rounding": rounding}
                for name in ("var", "std"):
                    same(getattr(wfd, name)(d, **how).compute(), getattr(wf, name)(x, **how))
                same(wfd.mean_var(d, **how)[1].compute(), wf.var(x, **how))
    assert wfd.nanvar(da.from_array(np.array([1.0, np.nan, 3.0]), chunks=2), correction=0.5).compute() == wf.var([1.0, 3.0], correction=0.5)


def test_refusals():
    d = da.ones((4, 4), chunks=2)
    for kind, match, f in ((TypeError, "depends on the order", lambda: wfd.prod(d)),
                           (np.exceptions.AxisError if hasattr(np, "exceptions") else np.AxisError, "axis 2", lambda: wfd.sum(d, axis=2)),
                           (TypeError, "one axis", lambda: wfd.argmin(d, axis=(0, 1))),
                           (TypeError, "elements|dtype", lambda: wfd.sum(d.astype("datetime64[s]"))),
                           (ValueError, "rounding=", lambda: wfd.sum(d, rounding="odd")),
                           (ValueError, "unknown sizes", lambda: wfd.argmax(d[d > 0])),
                           (TypeError, "what is not whole", lambda: wfd.sum(d, dtype="int32")),
                           (ValueError, "finite number", lambda: wfd.var(d, correction=float("inf"))),
                           (TypeError, "no one answer", lambda: wfd.aggregation("minmax"))):
        with pytest.raises(kind, match=match) as e:
            f()
        assert "\n" not in str(e.value)
    assert int(wfd.prod(da.from_array(np.arange(1, 6), chunks=2)).compute()) == 120


# ---- Data frames.

def frame(n=600):
    pd = pytest.importorskip("pandas")
    r = np.random.default_rng(2)
    f = pd.DataFrame({"k": r.integers(0, 7, n), "g": r.choice(list("abc"), n), "x": wild((n,), 3), "i": r.integers(0, 100, n)})
    f.loc[::17, "x"] = np.nan
    f["some"] = f.k.astype(float).where(f.index % 11 != 0)
    f["nulls"] = f["i"].astype("Int64").where(f.index % 5 != 0)
    return f


def test_groupby_has_the_same_bits_for_any_partitions():
    dd = pytest.importorskip("dask.dataframe")
    f = frame()
    for by, parts, how in (("k", 7, {"split_every": 2}), ("some", 2, {}), (["k", "g"], 3, {"split_out": 2})):
        groups = dd.from_pandas(f, npartitions=parts).groupby(by)
        with dask.config.set(scheduler="sync"):
            lazy = groups[["x", "i"]].agg(wfd.aggregation("sum"), **how)
            assert list(lazy.dtypes) == [np.float64, np.int64]
            found = lazy.compute().sort_index()
            mean = groups["nulls"].agg(wfd.aggregation("mean"), **how).compute().sort_index()
        want = f.groupby(by)
        assert found["x"].tolist() == want["x"].agg(lambda s: float(wf.nansum(s.to_numpy()))).tolist()
        assert found["i"].to_dict() == want["i"].sum().to_dict() and found["i"].dtype == np.int64  # pandas 2 may have text of another type in the index
        same(mean.to_numpy(), want["nulls"].agg(lambda s: float(wf.mean(s.dropna().to_numpy("i8")))).to_numpy(np.float64))


def test_series():
    dd = pytest.importorskip("dask.dataframe")
    f = frame()
    d = dd.from_pandas(f, npartitions=5)
    same(wfd.nansum(d.x).compute(scheduler="sync"), wf.nansum(f.x))
    assert int(wfd.max(d.i).compute(scheduler="sync")) == f.i.max()


def test_foreign_cells_are_refused():
    pd = pytest.importorskip("pandas")
    cells = wfd._chunk_of_groups(pd.Series([1.0, 2.0], name="x").groupby([0, 1]), reduction="sum", skip_nans=True)
    good = cells.iloc[0]
    for bad, match in ((b"", "is no state"), ("a", "is no state"), (good[:-8], "other sizes"), (b"WF\x01" + good[3:], "several types|version 1"),
                       (good[:8] + b"\xff" * 592, "is damaged"), (good[:3] + b"\x01" + good[4:], "another reduction|several")):
        for given in ([bad], [good, bad]):
            with pytest.raises(ValueError, match=match + "|several types") as e:
                wfd._finish_of_groups(pd.Series(given), reduction="sum", rounding="nearest", correction=0)
            assert "\n" not in str(e.value)


# ---- Workers.

def fails_once(block, folder, how, block_id=None):
    """Block (2, 0) takes its worker with it the first time, or raises."""
    if block_id == (2, 0):
        try:
            open(os.path.join(folder, how), "x").close()
        except FileExistsError:
            return block
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise RuntimeError("the first try")
    return block


@pytest.mark.filterwarnings("ignore")
def test_killed_workers_retries_and_copies(tmp_path):
    distributed = pytest.importorskip("distributed")
    x = wild((60, 16))
    d = da.from_array(x, chunks=(10, 8))
    with dask.config.set({"distributed.comm.timeouts.connect": "20s", "distributed.scheduler.allowed-failures": 3}), \
            distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50) as cluster, \
            distributed.Client(cluster) as client:
        def through(how):
            return d.map_blocks(fails_once, folder=str(tmp_path), how=how, dtype=d.dtype, meta=d._meta)

        rows, at = client.compute([wfd.sum(through("raised"), axis=0, split_every=2), wfd.argmax(d)], retries=2)
        same(rows.result(), wf.sum(x, axis=0))
        assert at.result() == wf.argmax(x)

        states = wfd.states(through("killed"), "mean", axis=1, split_every=2).persist()
        distributed.wait(states)
        assert {p.name for p in tmp_path.iterdir()} == {"raised", "killed"}
        client.replicate(states)  # each result on both workers, as when a task ran twice
        same(Form("mean", x.dtype).values(states.compute()), wf.mean(x, axis=1))
        same(wfd.mean(through("killed"), axis=1).compute(), wf.mean(x, axis=1))


def test_examples():
    import doctest
    pytest.importorskip("dask.dataframe")
    found = doctest.testmod(wfd)
    assert found.failed == 0 and found.attempted > 8
    for name in wfd.__all__:
        assert ">>> " in (getattr(wfd, name).__doc__ or ""), name


def test_the_documents_code_runs():
    pytest.importorskip("dask.dataframe")
    pytest.importorskip("xarray")
    page = pathlib.Path(__file__).parents[2] / "docs/distributed.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    assert len(blocks) == 4
    names: dict = {}
    for block in blocks:
        exec(block, names)
