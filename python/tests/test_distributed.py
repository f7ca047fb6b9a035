# SPDX-License-Identifier: Apache-2.0
"""Ranks of mpi4py and of torch.distributed: the same bits for any number of them. What runs in each is ranks.py."""

import importlib.util
import inspect
import os
import pathlib
import re
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest

import warpfold as wf
import warpfold.distributed as wfd
from arrays import run_examples

SCRIPT = str(pathlib.Path(__file__).with_name("ranks.py"))


def launcher_of_mpi():
    """That of the MPI which mpi4py finds when it is imported: another's would start ranks that do not know of each other."""
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("no mpi4py; pip install mpi4py")
    told = subprocess.run([sys.executable, "-c", "from mpi4py import MPI; print(MPI.Get_library_version())"], capture_output=True, text=True)
    kind = "openmpi" if "Open MPI" in told.stdout else "mpich"
    found = shutil.which("mpiexec." + kind) or shutil.which("mpiexec")
    if told.returncode != 0 or found is None:
        pytest.skip("no MPI; Debian's openmpi-bin is one")
    return found


def run_mpi(ranks, *arguments):
    # Open MPI alone knows these variables: they let root start it, and more ranks than cores.
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
           "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    return subprocess.run([launcher_of_mpi(), "-n", str(ranks), sys.executable, SCRIPT, "mpi", *arguments], capture_output=True, text=True,
                          timeout=300, env=env)


def run_gloo(ranks, meet, *arguments):
    """Exit statuses, and what each rank said."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("no torch; pip install torch")
    run = [subprocess.Popen([sys.executable, SCRIPT, "gloo", *arguments, str(k), str(ranks), str(meet)], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True) for k in range(ranks)]
    try:
        told = [p.communicate(timeout=600)[0] for p in run]
    finally:
        for p in run:
            p.kill()
    return [p.returncode for p in run], told


@pytest.mark.parametrize("ranks", [3])
def test_mpi(ranks):
    done = run_mpi(ranks)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("answers") == 1


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_gloo(ranks, tmp_path):
    statuses, told = run_gloo(ranks, tmp_path / "meet")
    assert statuses == [0] * ranks, "\n".join(told)
    assert "answers" in told[0]


def test_a_lost_rank_of_mpi():
    """mpiexec ends the others within its own time; none of them has an answer."""
    done = run_mpi(3, "lost")
    assert done.returncode != 0 and "has an answer" not in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("is there") == 3, done.stdout + done.stderr


def test_a_lost_rank_of_gloo(tmp_path):
    """The others are told by gloo, or after its timeout; none of them has an answer."""
    statuses, told = run_gloo(3, tmp_path / "meet", "lost")
    assert statuses == [3, -9, 3], "\n".join(told)
    assert all("is there" in said and "has an answer" not in said for said in told), "\n".join(told)


class One:
    """A communicator of one rank, by which what does not need more is tested where there is no MPI."""

    def Get_rank(self): return 0
    def Get_size(self): return 1
    def Allreduce(self, a, out): out[...] = a  # mpi4py's communicators are known by it
    def Iallreduce(self, a, out): return Arrival(a, out)
    def Ireduce(self, a, out, root): return Arrival(a, out)
    def Iallgather(self, a, out): return Arrival(a, out)
    def Igather(self, a, out, root): return Arrival(a, out)
    def Ialltoall(self, a, out): return Arrival(a, out)


class Arrival:
    """A request of which nothing is there before it was waited for, as one of MPI may be."""

    def __init__(self, a, out): self.a, self.out, self.tests = a, out, 0

    def Wait(self): self.out[...] = self.a

    def Test(self):
        self.tests += 1
        return self.tests > 2


def test_one_rank():
    x = np.array([[1e300, 1.0], [-1e300, 2.0]])
    assert wfd.sum(x, One(), axis=0).tolist() == [0.0, 3.0] and float(wfd.std(x, One(), correction=1)) == float(wf.std(x, correction=1))
    assert wfd.all_reduce(wf.ExactSum(x), One()) == wf.ExactSum(x) == wfd.reduce(wf.ExactSum(x), One())
    assert int(wfd.argmin(x, One())) == 2 and wfd.all_reduce(x, One()).tolist() == x.tolist()
    assert wfd.sum([1, 2], One()) == 3
    for kind, match, f in ((TypeError, "communicator of mpi4py", lambda: wfd.sum(x, object())), (TypeError, "it takes states", lambda: wfd.all_reduce([1.0], One())),
                           (ValueError, "op='max'", lambda: wfd.all_reduce(x, One(), op="max")), (TypeError, "it takes an ExactSum", lambda: wfd.reduce(x, One())),
                           (ValueError, "ask for the mean", lambda: wfd.all_reduce(wf.ExactSum(), One(), op="mean")),
                           (TypeError, "it may be", lambda: wfd.answer("median", x, One())),
                           (TypeError, "depends on the order", lambda: wfd.answer("logsumexp", x, One()))):
        with pytest.raises(kind, match=match) as e:
            f()
        assert "\n" not in str(e.value)


def test_async():
    x = np.arange(5.0)
    first, second = wfd.all_reduce(wf.ExactSum(x), One(), async_op=True), wfd.all_reduce(x, One(), op="mean", async_op=True)
    assert [first.is_completed() for _ in range(3)] == [False, False, True]
    assert first.wait() == first.wait() == wf.ExactSum(x) and first.is_completed()
    assert second.wait().tolist() == x.tolist()
    assert wfd.reduce(wf.ExactMoments(x), One(), async_op=True).wait() == wf.ExactMoments(x)

    class Broken(One):
        def Iallreduce(self, a, out):
            found = Arrival(a, out)
            found.Wait = lambda: 1 / 0
            return found

    broken = wfd.all_reduce(wf.ExactSum(x), Broken(), async_op=True)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            broken.wait()
    assert broken.is_completed()


def documents(of):
    """What is public there with its own docstring: functions, classes and their methods."""
    for name in of.__all__:
        it = getattr(of, name)
        yield name, it
        if inspect.isclass(it):
            yield from ((f"{name}.{n}", f) for n, f in inspect.getmembers(it, inspect.isfunction) if not n.startswith("_"))


def test_everything_is_documented():
    for name, it in documents(wfd):
        doc = inspect.getdoc(it)
        assert doc is not None and "\nExamples\n--------\n>>> " in doc, name
        if inspect.isclass(it):
            continue
        assert "\nReturns\n-------\n" in doc, name
        parameters = [p for p in inspect.signature(it).parameters if p != "self"]
        assert not parameters or ("\nRaises\n------\n" in doc and "\nReferences\n----------\n" in doc), name
        assert re.findall(r"^(\w+) : ", doc, re.M) == parameters, name


def test_examples(monkeypatch):
    """With the communicator above in the place of MPI's."""
    fake = types.ModuleType("mpi4py")
    fake.MPI = types.SimpleNamespace(COMM_SELF=One())
    monkeypatch.setitem(sys.modules, "mpi4py", fake)
    found = run_examples(wfd)
    assert found.failed == 0 and found.attempted > 50


def test_examples_by_mpi():
    done = run_mpi(2, "examples")
    assert done.returncode == 0 and done.stdout.count("examples are right") == 2, done.stdout + done.stderr


def test_neither_library_is_imported():
    code = "import sys, warpfold.distributed; print([m for m in ('torch', 'mpi4py', 'dask', 'xarray') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
