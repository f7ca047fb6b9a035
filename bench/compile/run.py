#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/compile/run.py [--prefix PREFIX] [--nvcc NVCC] [--cxx CXX] [--architecture SM] [--repetitions N] [--json FILE]

What a program that reduces on a GPU costs beside CUB and Thrust of the toolkit: the time to compile a file with three reductions, and,
with --prefix, the size of programs. PREFIX is an installed copy, with the component gpu, for one architecture, without line tables; those of the
shared library are among them where it has one. Without it the headers are this tree's, and a FILE keeps the sizes that it has, which tell their
own revision. Times are processor time of the compiler and what it starts, user and system, the least of N; compilers take turns, so
that what else runs meets all of them. Sizes are those of stripped programs. No GPU is needed."""
import argparse
import json
import os
import platform
import resource
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run(command, **more):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode:
        sys.exit(f"{shlex.join(map(str, command))}\n{done.stdout[-4000:]}")
    return done.stdout


def processor_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def flags_of(prefix, package, *what):
    env = {**os.environ, "PKG_CONFIG_PATH": str(next(Path(prefix).rglob("pkgconfig")))}
    return run(["pkg-config", *what, package], env=env).split()


def least_times(a, there, cflags):
    cxx = [a.cxx, "-std=c++20", "-O2", *cflags]
    nvcc = [a.nvcc, "-std=c++20", "-O3", f"-arch={a.architecture}"]
    compiles = {
        "warpfold, g++": [*cxx, "-c", HERE / "three_warpfold.cpp", "-o", there / "three.o"],
        "CUB, nvcc": [*nvcc, "-c", HERE / "three_cub.cu", "-o", there / "cub.o"],
        "Thrust, nvcc": [*nvcc, "-c", HERE / "three_thrust.cu", "-o", there / "thrust.o"],
    }
    seconds = {name: [] for name in compiles}
    for _ in range(a.repetitions):
        for name, command in compiles.items():
            seconds[name].append(processor_seconds(command))
    return {name: {"least": min(s), "all": s} for name, s in seconds.items()}


def program_sizes(a, there, cflags):
    run([a.cxx, "-std=c++20", "-O2", *cflags, "-c", HERE / "one_sum.cpp", "-o", there / "one.o"])
    archives = flags_of(a.prefix, "warpfold-gpu-static", "--libs")
    links = {
        "three reductions, warpfold": [there / "three.o", *archives],
        "three reductions, CUB": [there / "cub.o"],
        "three reductions, Thrust": [there / "thrust.o"],
        "one sum, warpfold": [there / "one.o", *archives],
    }
    shared = sorted(Path(a.prefix).rglob("libwarpfold*.so"))
    if shared:
        links["one sum, shared warpfold"] = [there / "one.o", *flags_of(a.prefix, "warpfold-gpu", "--libs")]
    sizes = {}
    for name, command in links.items():
        run([a.nvcc, *command, "-o", there / "program"])
        run(["strip", there / "program"])
        sizes[name] = (there / "program").stat().st_size
    for library in shared:
        run(["strip", "-o", there / "library", library])
        sizes[library.name] = (there / "library").stat().st_size
    return sizes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--prefix")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--architecture", default="sm_90")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json")
    a = parser.parse_args()
    cflags = flags_of(a.prefix, "warpfold-gpu", "--cflags") if a.prefix else [f"-I{HERE.parents[1]}/include"]
    here = {"command": "bench/compile/run.py" + " --prefix PREFIX" * bool(a.prefix), "cxx": run([a.cxx, "--version"]).splitlines()[0],
            "nvcc": run([a.nvcc, "--version"]).splitlines()[-2], "machine": platform.machine(), "processors": os.cpu_count(), "load": os.getloadavg()[0],
            "revision": run(["git", "-C", HERE, "rev-parse", "--short=12", "HEAD"]).strip()}
    found = json.loads(Path(a.json).read_text()) if a.json and Path(a.json).exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        found["compile"] = {**here, "seconds": least_times(a, Path(folder), cflags)}
        if a.prefix:
            found["programs"] = {**here, "bytes": program_sizes(a, Path(folder), cflags)}
    for name, s in found["compile"]["seconds"].items():
        print(f"{name:32} {s['least']:8.2f} s")
    if a.prefix:
        for name, size in found["programs"]["bytes"].items():
            print(f"{name:32} {size / 2**20:8.2f} MiB")
    if a.json:
        Path(a.json).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
