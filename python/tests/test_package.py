# SPDX-License-Identifier: Apache-2.0
"""What the package promises as a package: its examples, its types, its import, its version, its program."""

import doctest
import importlib
import importlib.metadata
import inspect
import operator
import os
import pathlib
import subprocess
import sys

import pytest

import warpfold as wf

HERE = pathlib.Path(wf.__file__).parent


@pytest.mark.parametrize("name", ["warpfold", "warpfold._functions", "warpfold._own", "warpfold._states", "warpfold.numpy", "warpfold._twins", "warpfold.statistics"])
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)
    if name == "warpfold._own":
        try:
            importlib.import_module("warpfold._compile").compiler()
        except FileNotFoundError as e:
            pytest.skip(str(e))
    found = doctest.testmod(module)
    assert found.failed == 0
    assert found.attempted > 0


FUNCTIONS = sorted(n for n in wf.__all__ if n not in ("CompileError", "__version__", "statistics"))
TWINS = ["statistics." + n for n in wf.statistics.__all__ if n not in ("StatisticsError", "fmean")]


@pytest.mark.parametrize("name", FUNCTIONS + TWINS)
def test_every_function_is_documented_with_an_example(name):
    doc = inspect.getdoc(operator.attrgetter(name)(wf))
    assert doc is not None
    for section in ("Parameters\n----------\n", "Examples\n--------\n", "Raises\n------\n", "References\n----------\n", ">>> "):
        assert section in doc, section
    assert "keepdims : bool" not in doc or "    Answers have the shape of " in doc
    if name.startswith("segment_") or "_by_" in name:
        assert "    Answers lie in one dimension, " in doc


@pytest.mark.parametrize("kind", [wf.ExactSum, wf.ExactMoments])
def test_every_method_of_a_state_has_an_example(kind):
    for name, f in inspect.getmembers(kind, callable):
        assert name.startswith("_") or ">>> " in inspect.getdoc(f), name


@pytest.mark.parametrize("name", FUNCTIONS + TWINS)
def test_every_parameter_is_documented(name):
    import re
    f = operator.attrgetter(name)(wf)
    section = re.search(r"Parameters\n-{10}\n(.*?)(?:\n\n[A-Z][a-z]+\n-{3,}\n|\Z)", inspect.getdoc(f), re.S).group(1)
    told = [n.strip(" *") for line in section.splitlines() if (m := re.match(r"(\w[\w, *]*) : ", line)) for n in m[1].split(",")]
    assert sorted(told) == sorted(inspect.signature(f).parameters)


def test_the_stub_of_the_compiled_part_names_what_is_there():
    import ast
    from warpfold import _core
    tree = ast.parse((HERE / "_core.pyi").read_text())
    names = {n.name: n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    variables = {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)}
    assert {*names, *variables} == {n for n in dir(_core) if not n.startswith("_")}
    for name, node in names.items():
        if isinstance(node, ast.ClassDef):
            assert ({n.name for n in node.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("__")} ==
                    {n for n in vars(getattr(_core, name)) if not n.startswith("__")}), name


def test_every_operation_of_the_library_has_a_function():
    from warpfold import _core, _functions
    assert "count" in _functions.OF_TABLE  # which nobody wrote
    for name in _core.op_names:
        f = getattr(wf, {"norm2": "norm"}.get(name, name))
        assert f.__name__ in wf.__all__
        if _core.operations[_core.op_names.index(name)][1] == 1:
            assert f([[2, 3], [5, 7]]) is not None
    assert wf.count(range(5)) == 5
    assert wf.count([[1.0, 2.0], [3.0, 4.0]], axis=0, keepdims=True).tolist() == [[2, 2]]
    assert wf.count([1.0, 2.0, 3.0], where=[True, False, True]) == 2


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """A command of both tests below: the second finds in the folder what the first has read of NumPy."""
    pytest.importorskip("mypy")
    return [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path_factory.mktemp('mypy')}"]


def test_types_are_checked(tmp_path, mypy):
    done = subprocess.run([*mypy, "-p", "warpfold"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (HERE / "py.typed").exists()


def test_callers_types_are_checked(tmp_path, mypy):
    (tmp_path / "caller.py").write_text("import warpfold as wf\n"
                                        "s: float = wf.ExactSum([1.0]).value()\n"
                                        "wf.sum([1.0], axis=0, rounding='up')\n"
                                        "wf.sum([1.0], axis='0')\n"
                                        "t: str = wf.fsum([1.0])\n"
                                        "wf.no_such([1.0])\n"
                                        "u: wf.ExactSum = sum([wf.ExactSum()], wf.ExactSum()) + wf.ExactSum()\n"
                                        "u + 1\n"
                                        "wf.mean([1.0], rounding='upward')\n"
                                        "wf.segment_sum([1.0], 1, accuracy='quick')\n"
                                        "wf.jax.sum([1.0], rounding='even')\n"
                                        "u.value(rounding='even')\n" + "".join(f"wf.{name}\n" for name in sorted({*wf.__all__, *wf._MODULES})))
    done = subprocess.run([*mypy, "caller.py"], capture_output=True, text=True, cwd=tmp_path)
    lines = [line for line in done.stdout.splitlines() if "error" in line and line.startswith("caller.py")]
    assert [int(line.split(":")[1]) for line in lines] == [4, 5, 6, 8, 9, 10, 11, 12], done.stdout


def test_import_is_quick_and_leaves_numpy_alone():
    code = ("import sys, time; before = time.process_time(); import warpfold; spent = time.process_time() - before; "
            "print(spent, 'numpy' in sys.modules, 'statistics' in sys.modules, 'typing' in sys.modules)")
    runs = [subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True).stdout.split() for _ in range(5)]
    assert runs[0][1:3] == ["False", "False"]
    assert min(float(r[0]) for r in runs) < 0.060


def test_version_is_the_projects():
    assert wf.__version__ == importlib.metadata.version("warpfold")


def test_the_program_is_there_or_says_why(tmp_path):
    """`warpfold` beside this Python, as `pip install` puts it on PATH, and `python -m warpfold`."""
    import numpy as np
    import sysconfig
    np.save(tmp_path / "x.npy", np.array([1e308, 1.0, -1e308]))
    command = os.path.join(sysconfig.get_path("scripts"), "warpfold")
    for start in ([command], [sys.executable, "-m", "warpfold"]):
        done = subprocess.run([*start, "sum", str(tmp_path / "x.npy")], capture_output=True, text=True)
        if importlib.import_module("warpfold._program").find() is not None:
            assert (done.returncode, done.stdout.split()[-1], done.stderr) == (0, "1", "")
        else:
            assert done.returncode == 2
            assert len(done.stderr.splitlines()) == 1 and "built without the program" in done.stderr


@pytest.mark.parametrize("page", ["docs/python.md", "README.md"])
def test_the_documents_code_runs(page):
    import re

    import numpy as np
    path = pathlib.Path(__file__).parents[2] / page
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(), re.S)
    assert blocks
    for block in blocks:
        x = np.arange(24.0).reshape(2, 3, 4)
        given = {"x": x, "chunk": x, "other": [1.5], "offsets": [0, 2, 24], "labels": [0, 1, 1, 0] * 6, "names": list("abba" * 6)}
        exec(block, given)
        assert "wf" in given


def test_the_page_of_the_api_is_that_of_the_docstrings():
    import api_page
    assert api_page.PAGE.read_text(encoding="utf-8") == api_page.page(), "run python python/tests/api_page.py"


def test_the_widest_kernels_of_this_processor_run():
    import os
    cpus = pathlib.Path("/proc/cpuinfo")
    if os.environ.get("WARPFOLD_CPU_TARGET") or not cpus.exists() or "flags" not in cpus.read_text():
        pytest.skip("a target that was asked for, or no x86-64")
    flags = set(cpus.read_text().partition("flags")[2].partition("\n")[0].split())
    avx2 = {"avx2", "fma", "bmi2", "f16c"} <= flags
    wide = avx2 and {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags
    assert importlib.import_module("warpfold._core").cpu_target() == ("avx512" if wide else "avx2" if avx2 else "scalar")
