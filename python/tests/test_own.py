# SPDX-License-Identifier: Apache-2.0
"""Reductions of the caller's own: what they answer, where errors point, and the cache that processes share."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpfold as wf
from arrays import laid_out, with_axes
from warpfold import _compile, _nvrtc
from warpfold._inputs import code_of

try:
    _compile.compiler()
except FileNotFoundError as e:
    pytest.skip(str(e), allow_module_level=True)

# Neither commutes: the first element other than zero, and digits of a polynomial mod 2^64.
FIRST = {"state": "double", "identity": "0", "lift": "static_cast<double>(x)", "combine": "a != 0 ? a : b"}
HORNER = {"state": "std::uint64_t value, power;", "identity": "{0, 1}", "lift": "{static_cast<std::uint64_t>(x), 31}",
          "combine": "{a.value * b.power + b.value, a.power * b.power}", "finish": "s.value"}
MASK = 2**64 - 1


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as m:
        m.setenv("WARPFOLD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def horner(values):
    found = 0
    for v in values:
        found = (found * 31 + int(v)) & MASK
    return found


horner_of = wf.Reduction(**HORNER)
first_of = wf.Reduction(**FIRST)


@given(with_axes(laid_out(["int16", "bool"])), st.booleans())
def test_layouts_and_axes_keep_their_order(x_axis, keepdims):
    x, axis = x_axis
    got = horner_of(x, axis=axis, keepdims=keepdims)
    expected = np.sum(np.zeros(x.shape), axis=axis, keepdims=keepdims)
    assert got.shape == expected.shape and got.dtype == np.uint64
    axes = range(x.ndim) if axis is None else [d % x.ndim for d in (axis if isinstance(axis, tuple) else (axis,))]
    rest = [d for d in range(x.ndim) if d not in axes]
    rows = x.transpose([*rest, *sorted(axes)]).reshape(int(np.prod([x.shape[d] for d in rest])), -1) if x.size else None
    if rows is not None:
        assert np.asarray(got).ravel().tolist() == [horner(row) for row in rows]
    else:
        assert not np.asarray(got).any()


def test_large_arrays_masks_segments_labels_and_pieces():
    x = np.random.default_rng(1).integers(-9, 9, 300_001).astype(np.int16)
    assert int(horner_of(x)) == horner(x)
    assert int(horner_of(x, where=x > 0)) == horner(x[x > 0])
    assert int(horner_of(np.ma.masked_less(x, 0))) == horner(x[x >= 0])
    assert int(horner_of(np.array([2, 0], np.uint8).view(bool))) == 31  # bytes other than 0 are true
    some = x[:100]
    assert wf.segment_reduce(horner_of, some, [0, 0, 60, 100]).tolist() == [0, horner(some[:60]), horner(some[60:])]
    labels = np.arange(100) % 3
    assert wf.reduce_by_label(horner_of, some, labels, 4).tolist() == [horner(some[labels == k]) for k in range(3)] + [0]
    out = np.zeros(2, np.uint64)
    assert horner_of(x[:10].reshape(2, 5), axis=1, out=out) is out and out.tolist() == [horner(x[:5]), horner(x[5:10])]
    pa = pytest.importorskip("pyarrow")
    pieces = pa.chunked_array([pa.array([1, None, 2], pa.int16()), pa.array([3], pa.int16())])
    assert int(horner_of(pieces)) == horner([1, 2, 3]) and int(horner_of(pieces, where=[False, True, True, True])) == horner([2, 3])
    with pytest.raises(ValueError, match="^Reduction: where= has 3 elements; the array has 4"):
        horner_of(pieces, where=[True] * 3)


@given(st.data(), st.integers(0, 300), st.integers(0, 12), st.booleans(), st.integers(-2, 2).filter(bool), st.sampled_from([np.int64, np.uint8, np.dtype(">i4")]))
def test_labels_and_segments_keep_the_order_of_their_elements(data, n, answers, masked, step, kind):
    """Of a reduction that does not commute, beside a loop in Python: empty labels, strides, masks, types of labels."""
    r = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    x = r.integers(-9, 9, n * abs(step)).astype(np.int16)[::step][:n]
    labels = r.integers(0, max(answers, 1), n).astype(kind) if answers else np.zeros(0, kind)
    x = x[:labels.size]
    hidden = r.random(x.size) < 0.3 if masked else np.zeros(x.size, bool)
    given_, counts = np.ma.masked_array(x, hidden) if masked else x, ~hidden
    expected = [horner(x[counts & (labels == k)]) for k in range(answers)]
    assert wf.reduce_by_label(horner_of, given_, labels, answers).tolist() == expected
    seen = max(labels.tolist(), default=-1) + 1
    assert wf.reduce_by_label(horner_of, given_, labels).tolist() == expected[:seen]
    offsets = np.sort(r.integers(0, x.size + 1, answers + 1))
    pairs = list(zip(offsets[:-1], offsets[1:]))
    assert wf.segment_reduce(horner_of, given_, offsets).tolist() == [horner(x[a:b][counts[a:b]]) for a, b in pairs]


def test_answers_of_several_values_two_inputs_halves_and_complex():
    both = wf.Reduction(state="T", identity="T(0)", combine="a + b", finish="std::array<T, 2>{s, s / T(n)}")
    assert both(np.array([[1, 2], [3, 6]], np.float32), axis=1).tolist() == [[3.0, 1.5], [9.0, 4.5]]
    assert both(np.array([1, 2], np.float16)).dtype == np.float32  # T of halves is float
    assert both([1j, 3.0]).tolist() == [3 + 1j, 1.5 + 0.5j]
    farthest = wf.Reduction(state="double d; std::int64_t at;", identity="{-1, -1}", lift="{std::abs(x - y), i}",
                            combine="b.d > a.d ? b : a", finish="if (n == 0) return std::int64_t{-1};\nreturn s.at;", inputs=2)
    assert int(farthest([1.0, 5.0, 2.0], [1.0, 2.0, 9.0])) == 2 and int(farthest([], [])) == -1
    with pytest.raises(TypeError, match="takes 2"):
        farthest([1.0])
    with pytest.raises(TypeError, match="one type and shape"):
        farthest([1.0], [1.0, 2.0])


def test_a_semicolon_and_a_comment_change_nothing():
    assert wf.Reduction(state="double", identity="0.0;", lift="x; // each", combine="return a + b; /* both */")([1.0, 2.0]) == 3.0


def test_exact_states_in_a_preamble():
    exact = wf.Reduction(preamble="#include <warpfold/detail/exact/sum_state.hpp>", state="wf::exact::sum_state<double>",
                         identity="state::identity()", lift="auto s = state::identity(); s.add(x); return s;",
                         combine="state::combine(a, b)", finish="s.value()", commutes=True)
    assert float(exact([1e308, 1.0, -1e308])) == 1.0
    assert "sum_state" in exact.source("float64") and "#line 1 \"lift\"" in exact.source("float64")


WRONG = [({"lift": "x +\n  z"}, r"^Reduction: lift=, line 2: .*'z'.*, in: z$"),
         ({"combine": "(a + b"}, r"^Reduction: combine=, line 1: .*, in: \(a \+ b$"),
         ({"finish": "s.nothing"}, r"^Reduction: finish=, line 1: .*nothing.*, in: s\.nothing$"),
         ({"state": "duble"}, r"^Reduction: state=, line 1: .*duble.*, in: duble$"),
         ({"finish": '"text"'}, r"^Reduction: finish= gives a type that arrays do not have"),
         ({"state": "std::string", "preamble": "#include <string>", "identity": "{}", "lift": "std::string()"},
          r"^Reduction: the state of a reduction is trivially copyable; this is not$"),
         ({"combine": "{ return a;"}, r"^Reduction: combine=: a \{ that has no other$"),
         ({"lift": "x; }"}, r"^Reduction: lift=: a \} that has no other$"),
         ({"lift": "if (x > 3)\n  return 1.0;"}, r"^Reduction: lift=, line 2: .*non-void function"),
         ({"preamble": "#include <no_such_header>"}, r"^Reduction: preamble=, line 1: .*no_such_header")]  # each takes a second


@pytest.mark.parametrize("change, message", WRONG)
def test_errors_point_into_the_callers_text(change, message):
    with pytest.raises(wf.CompileError, match=message) as caught:
        wf.Reduction(**{"state": "double", "identity": "0.0", "lift": "x", "combine": "a + b", **change})([1.0])
    assert "\n" not in str(caught.value) and "error" in caught.value.output
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.output == caught.value.output


def test_parameters_are_checked():
    good = {"state": "double", "identity": "0.0", "combine": "a + b"}
    for change, kind, message in (({"lift": " "}, ValueError, "lift= is empty"), ({"lift": 1}, TypeError, "C\\+\\+ text"), ({"lift": "x\0"}, ValueError, "character 0"),
                                  ({"inputs": 3}, ValueError, "1 or 2"), ({"flags": "-O2"}, TypeError, "list of words")):
        with pytest.raises(kind, match=message):
            wf.Reduction(**{**good, **change})
    with pytest.raises(TypeError, match="elements of type"):
        first_of(np.array(["a"]))
    with pytest.raises(TypeError, match="rounding"):
        wf.segment_reduce(first_of, [1.0], [0, 1], rounding="up")
    with pytest.raises(ValueError, match="axis 1"):
        first_of([1.0], axis=1)


def test_no_compiler_is_said(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(FileNotFoundError, match="CXX=no-such-compiler: there is no such program"):
        wf.Reduction(**{**FIRST, "identity": "0.0f"})([1.0])
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FileNotFoundError, match="PATH has no c"):
        wf.Reduction(**{**FIRST, "identity": "0.0f"})([1.0])


ELSEWHERE = """
import os, sys
from warpfold import Reduction, _compile
if len(sys.argv) > 1:
    def refuse(*given):
        sys.exit("compiled again")
    _compile._build = refuse
print(float(Reduction(state="double", identity="0", lift="x", combine="a != 0 ? a : b")([0.0, 7.0, 1.0])))
"""


def elsewhere(folder, *argv):
    done = subprocess.run([sys.executable, "-c", ELSEWHERE, *argv], capture_output=True, text=True, env={**os.environ, "WARPFOLD_CACHE": str(folder)})
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def test_the_cache_is_shared_and_repaired(tmp_path):
    folder = tmp_path / "new" / "cache"
    with ThreadPoolExecutor(2) as pool:  # at once, of an empty cache
        assert list(pool.map(lambda _: elsewhere(folder), range(2))) == ["7.0"] * 2
    [kept] = folder.iterdir()  # no folder of a compilation is left
    assert kept.suffix == ".so" and elsewhere(folder, "only kept") == "7.0"
    good = kept.read_bytes()
    middle = len(good) // 2
    for bad in (good[:middle], good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1:]):
        kept.write_bytes(bad)
        assert elsewhere(folder, "only kept") == "compiled again"
    assert elsewhere(folder) == "7.0" and kept.read_bytes()[-40:-32] == b"warpfold" and _compile._intact(str(kept))


def test_without_a_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert elsewhere("off") == "7.0" and not list(tmp_path.iterdir())
    not_a_folder = tmp_path / "file"
    not_a_folder.write_text("")
    assert elsewhere(not_a_folder) == "7.0"


def test_other_flags_and_headers_are_other_entries(monkeypatch):
    command = _compile.compiler()
    key = _compile._key("a", {}, command)
    assert key == _compile._key("a", {}, command)
    assert len({key, _compile._key("b", {}, command), _compile._key("a", {"x": ""}, command), _compile._key("a", {}, [*command, "-O1"])}) == 4
    monkeypatch.setattr(_compile, "_headers", lambda: "others")
    assert _compile._key("a", {}, command) != key


def test_pickles_and_threads():
    again = pickle.loads(pickle.dumps(horner_of))
    assert int(again(np.array([1, 2], np.int16))) == 33 and repr(again) == repr(horner_of)
    with ThreadPoolExecutor(4) as pool:
        fresh = wf.Reduction(**{**FIRST, "lift": "x + 1.0"})
        assert list(pool.map(lambda k: float(fresh([float(k), 5.0])), range(4))) == [1.0, 2.0, 3.0, 4.0]


# NVRTC compiles wherever it is; nothing is run.
try:
    _nvrtc._includes()
    _nvrtc._library()
    WITHOUT_NVRTC = ""
except FileNotFoundError as e:
    WITHOUT_NVRTC = str(e)
nvrtc = pytest.mark.skipif(bool(WITHOUT_NVRTC), reason=WITHOUT_NVRTC)


def on_gpu(capability, dtype, **texts):
    return wf.Reduction(**texts)._cubin(capability, code_of(dtype, "Reduction"))


@nvrtc
def test_the_same_text_is_compiled_for_gpus():
    for capability in (75, 90):
        found = on_gpu(capability, "int16", **HORNER)
        assert found.cubin[:4] == b"\x7fELF" and found.told == (256, 16, code_of("uint64", ""), 1)
    two = on_gpu(80, "float16", state="T", identity="T(0)", combine="a + b", finish="std::array<T, 2>{s, s / T(n)}")
    assert two.told == (256, 4, code_of("float32", ""), 2)
    large = on_gpu(80, "complex64", state="std::complex<double> of[30];", identity="{}", lift="{{x}}", combine="a", finish="s.of[0]")
    assert large.told == (64, 480, code_of("complex128", ""), 1)
    pair = on_gpu(80, "bool", state="bool", identity="false", lift="x && std::isfinite(float(y))", combine="std::max(a, b)", inputs=2)
    assert pair.told == (256, 1, code_of("bool", ""), 1)


@nvrtc
@pytest.mark.parametrize("change, message", [
    ({"lift": "x +\n  z"}, r"^Reduction: lift=, line 2: .*z.*, in: z$"), ({"combine": "(a + b"}, r"^Reduction: combine=, line 1: .*, in: \(a \+ b$"),
    ({"finish": '"text"'}, r"^Reduction: finish= gives a type that arrays do not have"), ({"state": "duble"}, r"^Reduction: state=, line 1: .*duble.*, in: duble$"),
    ({"preamble": "#include <no_such_header>"}, r"^Reduction: preamble=, line 1: .*no_such_header"),
    ({"state": "char all[1600];", "identity": "{}", "lift": "{}", "combine": "a", "finish": "n"}, r"^Reduction: state= of more than 1536 bytes")])
def test_errors_of_nvrtc_point_into_the_callers_text(change, message):
    with pytest.raises(wf.CompileError, match=message) as caught:
        on_gpu(80, "float64", **{"state": "double", "identity": "0.0", "lift": "x", "combine": "a + b", **change})
    assert "\n" not in str(caught.value) and "error" in caught.value.output


GPU_ELSEWHERE = """
import hashlib, sys
from warpfold import Reduction, _nvrtc
if len(sys.argv) > 1:
    def refuse(*given):
        sys.exit("compiled again")
    _nvrtc._run = refuse
made = Reduction(state="double", identity="0", lift="x", combine="a != 0 ? a : b")._cubin(90, 3)
print(made.told, made.cubin[:4] == b"\\x7fELF")
"""


@nvrtc
def test_cubins_are_kept_for_all_processes_and_repaired(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "ELSEWHERE", GPU_ELSEWHERE)
    folder, right = tmp_path / "cache", "(256, 8, 3, 1) True"
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda _: elsewhere(folder), range(3))) == [right] * 3
    [kept] = folder.iterdir()
    assert kept.suffix == ".cubin" and elsewhere(folder, "only kept") == right
    good = kept.read_bytes()
    for bad in (good[:-1], b"", good[:100] + bytes([good[100] ^ 1]) + good[101:]):
        kept.write_bytes(bad)
        assert elsewhere(folder, "only kept") == "compiled again"
    assert elsewhere(folder) == right and kept.read_bytes() == good
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert elsewhere("off") == right and not list(tmp_path.glob("home/**/*warpfold*"))  # NVRTC may have a cache of its own there
    assert elsewhere("~/warpfold") == right and list(tmp_path.glob("home/**/*warpfold*"))
    monkeypatch.setenv("WARPFOLD_CACHE", str(folder))
    one = wf.Reduction(state="double", identity="0", lift="x", combine="a != 0 ? a : b")
    one._cubin(90, 3), one._cubin(80, 3), one._cubin(90, 2)
    assert len(list(folder.iterdir())) == 3  # by GPU, by type
    monkeypatch.setattr(_nvrtc, "version", lambda: (1, 0))
    one._cubin(90, 3)
    assert len(list(folder.iterdir())) == 4  # and by compiler


def test_no_nvrtc_is_said(monkeypatch):
    monkeypatch.setattr(_nvrtc, "_folders", list)
    monkeypatch.setattr(_nvrtc.ctypes, "CDLL", lambda path: (_ for _ in ()).throw(OSError(path)))
    with pytest.raises(FileNotFoundError, match="^no NVRTC, CUDA's run-time compiler: `pip install") as e:
        _nvrtc._library.__wrapped__()
    assert "\n" not in str(e.value)
