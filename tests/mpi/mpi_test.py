# SPDX-License-Identifier: Apache-2.0
"""Faults of ranks, seen from outside: a message from every rank, an exit status that is not 0, and an end in time.

    mpi_test.py MPIEXEC PROGRAM
"""
import re
import subprocess
import sys

launcher, program = sys.argv[1:]
RANKS = 3
failures = []


def run(what, seconds=60):
    """Exit status and output; a run that does not end is ended, and a failure."""
    try:
        done = subprocess.run([launcher, "-n", str(RANKS), program, what], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired as late:
        failures.append(f"{what}: it hangs; so far it said\n{late.stdout}")
        return 1, ""
    return done.returncode, done.stdout


def expect(condition, what, said):
    if not condition:
        failures.append(f"{what}:\n{said}")


status, said = run("nothing")
expect(status == 0 and len(re.findall("has an answer", said)) == RANKS, "nothing is wrong", said)

status, said = run("damaged")
expect(status != 0, "damaged: the exit status", said)
expect(re.search("rank 1: .*sum of f64: state 0 has no elements, but something beside them", said), "damaged: the rank itself", said)
for rank in (0, 2):
    expect(re.search(rf"rank {rank}: all_reduce: sum of f64: rank 1 could not take part \(bad input\)", said), f"damaged: rank {rank}", said)

status, said = run("other")
expect(status != 0, "other: the exit status", said)
for rank in range(RANKS):
    expect(re.search(rf"rank {rank}: .*ranks must ask alike, but rank 1 has sum of f32, rank 0 has sum of f64", said)
           or re.search(rf"rank {rank}: .*ranks must ask alike, but rank 0 has sum of f64, rank 1 has sum of f32", said), f"other: rank {rank}", said)

# A rank that is gone: mpiexec ends the others. None of them has an answer. (MPICH's takes an exit without MPI_Finalize for a
# success, where the status was 0, and now and then a rank that was killed.)
for what in ("killed", "killed_and_returned", "exits"):
    status, said = run(what)
    expect((status != 0 or what == "exits" or "mpich" in launcher) and "has an answer" not in said, what, said)

if failures:
    sys.exit("mpi_test.py: " + "\n".join(failures))
