# SPDX-License-Identifier: Apache-2.0
"""Ranks of mpi4py and of torch.distributed: the same bits for any number of them. What runs in each is ranks.py."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import warpfold as wf
import warpfold.distributed as wfd

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


@pytest.mark.parametrize("ranks", [3])
def test_mpi(ranks):
    launcher = launcher_of_mpi()
    # Open MPI alone knows these variables: they let root start it, and more ranks than cores.
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
           "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    done = subprocess.run([launcher, "-n", str(ranks), sys.executable, SCRIPT, "mpi"], capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("answers") == 1


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_gloo(ranks, tmp_path):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("no torch; pip install torch")
    run = [subprocess.Popen([sys.executable, SCRIPT, "gloo", str(k), str(ranks), str(tmp_path / "meet")], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True) for k in range(ranks)]
    try:
        told = [p.communicate(timeout=600)[0] for p in run]
    finally:
        for p in run:
            p.kill()
    assert [p.returncode for p in run] == [0] * ranks, "\n".join(told)
    assert "answers" in told[0]


class One:
    """A communicator of one rank, by which what does not need more is tested where there is no MPI."""

    def Get_rank(self): return 0
    def Get_size(self): return 1
    def Allreduce(self, a, out): out[...] = a
    def Reduce(self, a, out, root): out[...] = a
    def Allgather(self, a, out): out[...] = a
    def Gather(self, a, out, root): out[...] = a
    def Alltoall(self, a, out): out[...] = a


def test_one_rank():
    x = np.array([[1e300, 1.0], [-1e300, 2.0]])
    assert wfd.sum(x, One(), axis=0).tolist() == [0.0, 3.0] and float(wfd.std(x, One(), correction=1)) == float(wf.std(x, correction=1))
    assert wfd.all_reduce(wf.ExactSum(x), One()) == wf.ExactSum(x) == wfd.reduce(wf.ExactSum(x), One())
    assert int(wfd.argmin(x, One())) == 2 and wfd.all_reduce(x, One()).tolist() == x.tolist()
    assert wfd.sum([1, 2], One()) == 3
    for kind, match, f in ((TypeError, "communicator of mpi4py", lambda: wfd.sum(x)), (TypeError, "it takes states", lambda: wfd.all_reduce([1.0], One())),
                           (ValueError, "op='max'", lambda: wfd.all_reduce(x, One(), op="max")), (TypeError, "it takes an ExactSum", lambda: wfd.reduce(x, One())),
                           (ValueError, "ask for the mean", lambda: wfd.all_reduce(wf.ExactSum(), One(), op="mean")),
                           (TypeError, "it may be", lambda: wfd.answer("median", x, One())),
                           (TypeError, "depends on the order", lambda: wfd.answer("logsumexp", x, One()))):
        with pytest.raises(kind, match=match) as e:
            f()
        assert "\n" not in str(e.value)


def test_neither_library_is_imported():
    code = "import sys, warpfold.distributed; print([m for m in ('torch', 'mpi4py', 'dask', 'xarray') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
