# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel around a library that is compiled already, installs it, runs the package's tests.

Exits with 77, and says why, where Python's headers, venv or the package index are missing.
"""

import argparse
import os
import pathlib
import shlex
import subprocess
import sys
import sysconfig
import venv

BUILD = ["scikit-build-core>=0.10", "nanobind>=2.4", "cmake>=3.25", "ninja"]
NEEDED = ["numpy", "ml-dtypes", "pytest", "pytest-xdist", "hypothesis", "array-api-strict", "mypy"]
# What only some tests need, which skip without. Below the whole WARPFOLD_TEST_EFFORT, as in ./check, the packages of one of three
# groups, another one for each WARPFOLD_TEST_DRAW: all of them are a gigabyte.
OTHERS = [["pyarrow", "pandas", "polars", "duckdb"], ["jax", "numba", "mpi4py"],
          ["nbclient", "nbformat", "ipykernel", "dask[array,dataframe]", "distributed", "xarray"]]

# Tests that take a minute, of compilers that they run, and the draws of ./check that have them (cmake/tests.cmake).
LONG = {"test_own.py": "14"}


def drawn():
    """The number of the part that is done, where a part is: below the whole effort. None: all."""
    return int(os.environ.get("WARPFOLD_TEST_DRAW", "0")) if float(os.environ.get("WARPFOLD_TEST_EFFORT", "1")) < 1 else None


def skip(why):
    print(f"python_package: skipped: {why}")
    sys.exit(77)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--source", type=pathlib.Path, required=True)
    a.add_argument("--library", type=pathlib.Path, required=True)
    a.add_argument("--scratch", type=pathlib.Path, required=True)
    a.add_argument("--program", help="DRAWS:FILE, the program warpfold, for what runs it, and the draws of ./check that build it")
    a.add_argument("--simt", help="DRAWS:FILES, archives of the kernels for simt: a module for the tests of arrays on a GPU")
    a.add_argument("--gpu", help="the same of those for CUDA")
    a.add_argument("--nvcc", default="", help="that which compiled them")
    given = a.parse_args()
    draw = drawn()
    for name in ("program", "simt"):
        draws, _, files = (getattr(given, name) or "").partition(":")
        is_left_out = draw is not None and str(draw % 6) not in draws
        if files and is_left_out:
            print(f"python_package: without {name}, which is left to other revisions")
        setattr(given, name, "" if is_left_out else files)

    base = getattr(sys, "_base_executable", sys.executable)
    if sys.version_info < (3, 10):
        skip(f"Python {sys.version_info.major}.{sys.version_info.minor}; the package needs 3.10 or later")
    if not (pathlib.Path(sysconfig.get_paths()["include"]) / "Python.h").exists():
        skip("no Python.h; scripts/dependencies tests installs it")
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        skip(f"{base} has no ensurepip; scripts/dependencies tests installs python3-venv")
    given.scratch.mkdir(parents=True, exist_ok=True)
    place = given.scratch / "venv"
    python = place / "bin" / "python"
    groups = OTHERS if draw is None else [OTHERS[(draw + draw // 6) % 3]]
    others = sum(groups, [])
    stamp, base_stamp = place / "installed", [" ".join(sys.version.split()), *BUILD, *NEEDED]
    installed = stamp.read_text().split("\n") if stamp.exists() else []
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "-q"]
    anew = installed[:len(base_stamp)] != base_stamp
    missing = [p for p in others if anew or p not in installed]
    if anew or missing:
        if anew:
            venv.create(place, with_pip=True, clear=True)
            installed = base_stamp
        # uv reads the same index and takes a fifth of the time; without it pip does the same.
        has_uv = subprocess.run([*pip, "install", "--retries", "1", "uv"], stderr=subprocess.DEVNULL).returncode == 0
        install = [str(python), "-m", "uv", "pip", "install", "-q", "--python", str(python)] if has_uv else [*pip, "install", "--retries", "1"]
        needed = BUILD + NEEDED if anew else []
        if not has_uv or subprocess.run([*install, *needed, *missing], stderr=subprocess.DEVNULL).returncode != 0:
            for packages in [needed, *([p for p in group if p in missing] for group in groups)]:
                if not packages:
                    continue
                done = subprocess.run([*install, *packages], stderr=subprocess.PIPE, text=True)
                if done.returncode != 0 and packages is needed:
                    skip("pip cannot install " + " ".join(packages) + ": " + done.stderr.strip().splitlines()[-1])
                if done.returncode != 0:
                    print("python_package: without " + " ".join(packages) + ": " + done.stderr.strip().splitlines()[-1])
        stamp.write_text("\n".join([*installed, *missing]))

    # The line of README, and with CUDA then the one of docs/python.md, as they stand; what is compiled already, and what is installed in the
    # environment, is said by variables.
    def modules(pattern):
        return subprocess.run([str(python), "-c", f"import glob, os, warpfold; print(*glob.glob(os.path.dirname(warpfold.__file__) + '/{pattern}'))"],
                              stdout=subprocess.PIPE, text=True, check=True, cwd=given.scratch).stdout.strip()

    define = {"WARPFOLD_PREBUILT": given.library, "WARPFOLD_PREBUILT_SIMT": given.simt or "", "WARPFOLD_PREBUILT_PROGRAM": given.program or "",
              "WARPFOLD_WARNINGS_AS_ERRORS": "ON"}
    for line, page, gpu in (("pip install .", "README.md", ""), ("pip install . -C cmake.define.WARPFOLD_CUDA=ON", "docs/python.md", given.gpu)):
        if line not in (given.source / page).read_text():
            sys.exit(f"{page} does not say {line}")
        if page != "README.md" and not gpu:
            continue
        if draw is not None and given.gpu and draw % 2 != (page == "README.md"):
            print(f"python_package: {line} is left to another revision")
            continue
        defined = define | {"WARPFOLD_PREBUILT_GPU": gpu} | ({"CMAKE_CUDA_COMPILER": given.nvcc} if gpu else {})
        variables = {"PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}", "SKBUILD_BUILD_DIR": str(given.scratch / "build"),
                     "CMAKE_ARGS": shlex.join(f"-D{name}={value}" for name, value in defined.items()),
                     "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_QUIET": "1", "PIP_NO_DEPS": "1", "PIP_FORCE_REINSTALL": "1",
                     "PIP_NO_BUILD_ISOLATION": "0"}  # pip reads this one as `build isolation: 0`
        subprocess.run(["bash", "-euc", line], cwd=given.source, env=os.environ | variables, check=True)
        if bool(modules("_gpu*.so")) != bool(gpu):
            sys.exit(f"{line}: the package has{' no' if gpu else ' a'} module for GPUs")
    environment = {k: v for k, v in os.environ.items() if k != "WARPFOLD_PROGRAM"}  # the package has its own
    if given.simt:  # for kernels of a Reduction's text
        environment["WARPFOLD_TEST_SIMT"] = str(given.source / "simt/include")
    run = [str(python), "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]
    tests = given.source / "python/tests"
    # Arrays on a GPU, in a process of its own: simt's memory of threads has to be there from the start.
    arrays_on_gpus = [str(tests / name) for name in ("test_gpu.py", "test_gpu_blocks.py")]
    beside = None
    if given.simt:
        beside = subprocess.Popen(["env", f"LD_PRELOAD={modules('_simt.*so')}", *run, *arrays_on_gpus], cwd=given.scratch, env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    left_out = [file for file, draws in LONG.items() if draw is not None and str(draw % 6) not in draws]
    for file in left_out:
        print(f"python_package: {file} is left to other revisions")
    ignored = [*arrays_on_gpus, *(str(tests / file) for file in left_out)]
    # Two processes, as CTest is told: one alone would end minutes behind all other tests.
    two = [] if beside else ["-n", "2", "--dist", "worksteal"]
    all_else = subprocess.run([*run, *two, *(f"--ignore={file}" for file in ignored), str(tests)], cwd=given.scratch, env=environment)
    if beside:
        print(beside.communicate()[0])
    return all_else.returncode or (beside.returncode if beside else 0)


if __name__ == "__main__":
    sys.exit(main())
