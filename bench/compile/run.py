#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/compile/run.py --prefix PREFIX [--shared PREFIX] [--nvcc NVCC] [--cxx CXX] [--repetitions N] [--json FILE]

What a program that reduces on a GPU costs beside CUB and Thrust of the toolkit: the time to compile a file with three reductions, and
the size of programs. PREFIX is an installed copy, with the component gpu, for one architecture, without line tables; --shared another of shared
libraries. Times are processor time of the compiler and what it starts, user and system, the least of N; compilers take turns, so that
what else runs meets all of them. Sizes are those of stripped programs. No GPU is needed."""
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


def flags_of(prefix, *what):
    env = {**os.environ, "PKG_CONFIG_PATH": str(next(Path(prefix).rglob("pkgconfig")))}
    return run(["pkg-config", *what, "warpfold-gpu"], env=env).split()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--shared")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--architecture", default="sm_90")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json")
    a = parser.parse_args()
    found = {"command": "bench/compile/run.py --prefix PREFIX" + " --shared PREFIX" * bool(a.shared), "cxx": run([a.cxx, "--version"]).splitlines()[0], "nvcc": run([a.nvcc, "--version"]).splitlines()[-2],
             "machine": platform.machine(), "processors": os.cpu_count(), "load": os.getloadavg()[0],
             "revision": subprocess.run(["git", "-C", HERE, "rev-parse", "--short=12", "HEAD"], stdout=subprocess.PIPE, text=True).stdout.strip()}
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder)
        cxx = [a.cxx, "-std=c++20", "-O2", *flags_of(a.prefix, "--cflags")]
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
        found["compile_seconds"] = {name: {"least": min(s), "all": s} for name, s in seconds.items()}
        run([*cxx, "-c", HERE / "one_sum.cpp", "-o", there / "one.o"])
        links = {
            "three reductions, warpfold": [a.nvcc, there / "three.o", *flags_of(a.prefix, "--libs", "--static")],
            "three reductions, CUB": [a.nvcc, there / "cub.o"],
            "three reductions, Thrust": [a.nvcc, there / "thrust.o"],
            "one sum, warpfold": [a.nvcc, there / "one.o", *flags_of(a.prefix, "--libs", "--static")],
        }
        if a.shared:
            links["one sum, shared warpfold"] = [a.nvcc, there / "one.o", *flags_of(a.shared, "--libs")]
        sizes = {}
        for name, command in links.items():
            run([*command, "-o", there / "program"])
            run(["strip", there / "program"])
            sizes[name] = (there / "program").stat().st_size
        if a.shared:
            for library in ("libwarpfold.so", "libwarpfold_gpu.so"):
                run(["strip", "-o", there / "library", next(Path(a.shared).rglob(library))])
                sizes[library] = (there / "library").stat().st_size
        found["program_bytes"] = sizes
    for name, s in found["compile_seconds"].items():
        print(f"{name:32} {s['least']:8.2f} s")
    for name, size in found["program_bytes"].items():
        print(f"{name:32} {size / 2**20:8.2f} MiB")
    if a.json:
        Path(a.json).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
