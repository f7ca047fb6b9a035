# SPDX-License-Identifier: Apache-2.0
"""The GIL, threads and fork()."""

import os
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
