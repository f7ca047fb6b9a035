# SPDX-License-Identifier: Apache-2.0
"""The ladder and explanations: as text, as HTML, as data; the program's complaints as errors."""

import html
import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

import warpfold as wf
from warpfold import _program

there = pytest.mark.skipif(_program.find() is None, reason="the program is not in the package, and WARPFOLD_PROGRAM names none")


@there
def test_the_ladder_is_climbed():
    climbed = wf.ladder(n=4096, only=["cpu/kahan", "race", "tree_strided"], device="simt")
    rows = climbed.rows()
    assert [r["name"] for r in rows] == ["cpu/kahan", "race", "tree_strided"]
    assert [r["verdict"] for r in rows] == ["right", "wrong as expected", "right"]
    assert rows[2]["counters.barriers"] == 16 * 9 and rows[2]["launch.block"] == 256  # 8 steps of halving and one before, in 16 blocks
    assert abs(rows[2]["result"] - float(climbed.data["exact"])) <= rows[2]["error_bound"]
    lines = str(climbed).splitlines()
    assert lines[0].startswith("4096 f32 on simt; the exact sum is ") and repr(climbed) == str(climbed)
    assert lines[3].split()[:3] == ["cpu/kahan", "one", "core"] and lines[4].endswith("wrong as expected")
    assert len({line.index("verdict") for line in lines[2:3]} | {lines[k].index(rows[k - 3]["verdict"]) for k in (3, 4, 5)}) == 1
    assert any(line.startswith("race in race: ladder/02_race.cuh:16 (read) with ladder/02_race.cuh:16 (write), global memory") for line in lines)
    shown = climbed._repr_html_()
    assert shown.count("<tr>") == 4 and "<td>tree_strided</td>" in shown
    assert climbed.command.startswith("warpfold ladder")


@there
def test_a_kernel_is_explained():
    told = wf.explain("tree_strided", n=4096)
    total = told.data["kernels"][0]["counters"]["shared_load"]["conflicts"]
    assert total > 0 and sum(r.get("shared_load.conflicts", 0) for r in told.rows()) == total
    assert all(r["file"] == "ladder/08_tree_strided.cuh" for r in told.rows())
    assert "shared load" in str(told) and "bank conflicts" in str(told).lower() and repr(told) == str(told)
    shown = told._repr_html_()
    assert shown.startswith('<iframe srcdoc="') and shown.count('"') == 6 and html.escape("tree_strided") in shown
    assert "<svg" in told.html
    both = wf.explain("tree_sequential", vs="tree_strided", n=4096, block=128, dtype="f64")
    assert both.data["dtype"] == "f64" and both.data["block"] == 128


@there
def test_data_frames():
    pytest.importorskip("pandas")
    table = wf.ladder(n=1024, only=["atomic", "two_pass"], device="simt").to_dataframe()
    assert list(table.index) == ["atomic", "two_pass"] and table["counters.atomics"]["atomic"] == 1024
    lines = wf.explain("tree_strided", n=1024).to_dataframe()
    assert {"kernel", "line", "shared_load.conflicts"} <= set(lines.columns) and len(lines) > 3


@there
def test_complaints_are_errors():
    for call, message in ((lambda: wf.ladder(only=["nope"]), "^ladder: .*nope"), (lambda: wf.ladder(n=-1), "^ladder: "),
                          (lambda: wf.explain("nope"), "^explain: no rung nope"), (lambda: wf.explain("tree_strided", dtype="f8"), "^explain: ")):
        with pytest.raises(ValueError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_what_names_nothing_is_refused_before_the_program_runs():
    with pytest.raises(ValueError, match=r"^ladder: only=\[\] names no rung"):
        wf.ladder(only=[])
    with pytest.raises(TypeError, match="^explain: None; it is the name of a rung"):
        wf.explain(None)


def test_without_pandas(monkeypatch):
    from warpfold._study import Ladder
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="needs pandas"):
        Ladder({"rungs": []}).to_dataframe()


def test_without_the_program(monkeypatch, tmp_path):
    monkeypatch.setenv("WARPFOLD_PROGRAM", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError, match="none does not run: No such file"):
        wf.ladder()
    done = subprocess.run([sys.executable, "-m", "warpfold"], capture_output=True, text=True)
    assert done.returncode == 2 and "does not run" in done.stderr and len(done.stderr.splitlines()) == 1
    monkeypatch.delenv("WARPFOLD_PROGRAM")
    monkeypatch.setattr(os.path, "exists", lambda path: False)
    with pytest.raises(FileNotFoundError, match="^explain: this package was built without"):
        wf.explain("atomic")


def test_a_program_that_fails_is_told(monkeypatch, tmp_path):
    for code, says, kind, message in ((3, "warpfold: the device is gone", RuntimeError, "^ladder: the device is gone$"),
                                      (7, "", RuntimeError, "ended with 7 and said nothing"), (2, "warpfold: no", ValueError, "^ladder: no$"), (2, "warpfold: ladder: no", ValueError, "^ladder: no$")):
        program = tmp_path / "program"
        program.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit {code}\n" if says else f"#!/bin/sh\nexit {code}\n")
        program.chmod(0o755)
        monkeypatch.setenv("WARPFOLD_PROGRAM", str(program))
        with pytest.raises(kind, match=message):
            wf.ladder()


def test_numbas_rungs_are_climbed_or_say_what_is_missing():
    if importlib.util.find_spec("numba") is None:
        with pytest.raises(ModuleNotFoundError, match="pip install numba"):
            wf.ladder(n=64, only="numba")
        pytest.skip("no Numba")
    climbed = wf.ladder(n=100, only="numba", block=32, device="simt")
    assert [r["name"] for r in climbed.rows()] == ["numba/" + k for k in ("shared_atomic", "block_tree", "block_atomic", "grid_stride")]
    for r in climbed.rows():
        assert r["verdict"] == "right, of 100 on Numba's simulator" and abs(r["error"]) <= r["error_bound"]
    assert "numba/grid_stride" in str(climbed) and "<td>numba/block_tree</td>" in climbed._repr_html_()
    if _program.find() is not None:
        program = wf.ladder(n=100, only=["cpu/exact"])
        assert program.data["exact"] == climbed.data["exact"]  # the same elements, by the same counters


def test_numbas_rungs_can_be_found_wrong():
    from warpfold import _numba
    x = _numba.elements(np, "f32", "uniform", 1000, 1)
    right = _numba.judged(np, x, wf.sum(x), 10)
    assert right["right"] and right["digits_right"] == "all"
    assert not _numba.judged(np, x, x[1:].sum(dtype=np.float64), 10)["right"]
    whole = _numba.whole_numbers(np, "i32", 1000)
    assert _numba.judged(np, whole, whole.sum(), 10)["right"] and not _numba.judged(np, whole, whole.sum() + 1, 10)["right"]


@pytest.mark.parametrize(("how", "words"), [({"only": "numba/nothing"}, "no rung numba/nothing"), ({"dtype": "f16"}, "of f16"), ({"block": 48}, "blocks of 48"),
                                            ({"data": "hard"}, "data='hard'"), ({"n": "many"}, "n='many'")])
def test_numbas_rungs_refuse_in_a_line(how, words):
    with pytest.raises(ValueError, match=words) as e:
        wf.ladder(**{"n": 64, "only": "numba", **how})
    assert "\n" not in str(e.value)
