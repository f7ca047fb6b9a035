# SPDX-License-Identifier: Apache-2.0
"""The GIL, threads and fork()."""

import os
import subprocess
import sys
import sysconfig
import threading
import time

import numpy as np
import pytest

import warpfold as wf


def test_other_threads_run_during_a_reduction():
    """A thread counts while this one reduces. With the GIL held it would be let in once in 5 ms at the most, and only between two
    calls: never during one, so its clock would show a gap as long as the call."""
    x = np.random.default_rng(1).normal(size=1 << 22) * 10.0**np.random.default_rng(2).integers(-200, 200, size=1 << 22)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0002)
    other = threading.Thread(target=tick)
    other.start()
    during = []
    try:
        for f in (wf.sum, lambda y: wf.sum(y, where=True, accuracy="exact", rounding="up"), lambda y: wf.ExactSum(y),
                  lambda y: wf.prod(y), lambda y: wf.sum(y.reshape(-1, 2), axis=0), lambda y: wf.dot(y, y),
                  lambda y: wf.fuse(["sum", "norm"])(y)):
            for _ in range(20):  # a loaded machine may not let the other thread run for a while
                start = time.perf_counter()
                f(x)
                end = time.perf_counter()
                here = sum(start + (end - start) / 4 < t < end - (end - start) / 4 for t in list(ticks))
                if here:
                    break
            during.append(here)
    finally:
        stop.set()
        other.join()
    assert all(during), during


def test_threads_share_arrays_and_give_the_same_answers():
    x = np.random.default_rng(3).normal(size=200_000)
    expected = (wf.sum(x), wf.var(x), wf.sum(x.reshape(100, -1), axis=0).tobytes(), wf.ExactSum(x).to_bytes())
    wrong = []

    def work():
        for _ in range(20):
            got = (wf.sum(x), wf.var(x), wf.sum(x.reshape(100, -1), axis=0).tobytes(), wf.ExactSum(x).to_bytes())
            if got != expected:
                wrong.append(got)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def in_threads(work, count=8):
    """The results of work(k), begun by all threads at once."""
    begin, found = threading.Barrier(count), [None] * count

    def run(k):
        begin.wait()
        found[k] = work(k)
    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return found


@pytest.mark.parametrize("kind", [wf.ExactSum, wf.ExactMoments])
def test_threads_share_states(kind):
    """Nothing that they add and take out is lost, by the GIL or by locks of the states."""
    values = np.random.default_rng(5).normal(size=(8, 500)) * 1e10
    large = np.random.default_rng(6).normal(size=20_000)  # for which the GIL is released
    shared, whole = kind([1.0]), kind([1.0])
    pieces = [kind(values[k]) for k in range(8)]
    for piece in pieces:
        whole.merge(piece)

    def work(k):
        for one in values[k].tolist():
            shared.add(one)
            shared.add([one, 2.5])
            shared.remove([2.5, one])
        shared.add(large)
        shared.merge(pieces[(k + 1) % 8])
        shared.unmerge(pieces[(k + 1) % 8])
        shared.remove(large)
        return shared == shared and len(shared.to_bytes()) and shared.count > 0 and shared.mean() is not None
    assert all(in_threads(work)) and shared == whole and shared.count == 4001


def test_a_list_may_change_while_it_is_summed():
    values = [1.0] * 10_000
    stop = threading.Event()

    def change():
        while not stop.is_set():
            del values[5_000:]
            values.extend([1.0] * 5_000)
    other = threading.Thread(target=change)
    other.start()
    try:
        sums = {float(f(values)) for _ in range(200) for f in (wf.fsum, wf.fmean)}
    finally:
        stop.set()
        other.join()
    assert all(1.0 <= one <= 15_000.0 and one == int(one) for one in sums)


FIRST_CALLS = """
import sys, threading
import warpfold as wf
import numpy as np
x, begin, wrong = np.arange(1000.0), threading.Barrier(8), []
def run():
    begin.wait()
    if (wf.sum(x), wf.max(x), wf.sum(x.reshape(10, 100), axis=0)[0], wf.fsum(x)) != (499500.0, 999.0, 4500.0, 499500.0):
        wrong.append(1)
threads = [threading.Thread(target=run) for _ in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(wrong), getattr(sys, "_is_gil_enabled", lambda: True)())
"""


def test_first_calls_of_many_threads_at_once():
    """What the package looks up of NumPy once is there for all of them; where Python has no GIL, none is asked for."""
    without = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    for _ in range(5):
        done = subprocess.run([sys.executable, "-W", "error", "-c", FIRST_CALLS], capture_output=True, text=True)
        assert (done.stdout.split(), done.stderr) == (["0", str(not without)], "")


LEFT_BEHIND = """
import sys, threading, time
import warpfold as wf
import warpfold.states
import numpy as np
x, state = np.arange(100_000.0), wf.ExactSum()
sums = warpfold.states.Form("sum", "float64")
calls = {"sum": lambda: wf.sum(x), "rows": lambda: wf.sum(x.reshape(-1, 100), axis=0), "mask": lambda: wf.mean(x, where=x > 5), "state": lambda: state.add(x),
         "states": lambda: sums.of(x.reshape(-1, 100), axis=0), "segments": lambda: wf.segment_sum(x, 100), "dot": lambda: wf.dot(x, x)}
def run(call):
    while True:
        call()
for call in 2 * [calls[sys.argv[1]]]:
    threading.Thread(target=run, args=(call,), daemon=True).start()
time.sleep(0.1)
"""


@pytest.mark.parametrize("what", ["sum", "rows", "mask", "state", "states", "segments", "dot"])
def test_a_daemon_thread_that_reduces_when_the_interpreter_ends(what):
    """It is left where it is, and the process ends as it would without it; nothing is printed."""
    done = subprocess.run([sys.executable, "-c", LEFT_BEHIND, what], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_reduces_too():
    x = np.random.default_rng(4).normal(size=1 << 20)
    expected = float(wf.sum(x))  # over threads, which the child does not have
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if float(wf.sum(x)) == expected and wf.sum(x[:100]) == wf.fsum(x[:100]) else 2
        finally:
            os._exit(code)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            break
        time.sleep(0.01)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the child hangs")
    assert float(wf.sum(x)) == expected
