# SPDX-License-Identifier: Apache-2.0
"""adding_test.py SOURCE SCRATCH LIBRARY ORACLE SIMT IO -- COMPILER FLAG…: the diff that docs/adding.md shows is applied to a copy of
the sources, what it changes is compiled and linked before the libraries as they were built, and tests/docs/adding.cpp runs, and the
program `warpfold`. ORACLE is the archive of tests/cpu that knows element types at run time; SIMT are the archives of the kernels on
simt and of simt, IO those of files, both apart by commas; behind FLAG… stand the libraries of the oracle.

Before that: without the diff that program does not compile, or it would be none of the operation's."""
import os
import re
import shutil
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

source, scratch, library, oracle = (Path(a).resolve() for a in sys.argv[1:5])
simt, io = (text.split(",") for text in sys.argv[5:7])
compiler, *flags = sys.argv[8:]
libraries = [f for f in flags if f.startswith(("/", "-l")) and not f.startswith("-I")]
flags = [f for f in flags if f not in libraries]
page = (source / "docs/adding.md").read_text()
diff = re.search(r"^```diff\n(.*?\n)```$", page, re.M | re.S).group(1)
told = re.search(r"^```\n( include/.*?\n)```$", page, re.M | re.S).group(1)


def fail(what):
    sys.exit(f"adding_test: {what}")


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


tree = scratch / "tree"
shutil.rmtree(scratch, ignore_errors=True)
for part in ("include", "src", "cli", "simt/include", "tests/cpu", "tests/exact", "tests/docs"):
    shutil.copytree(source / part, tree / part)
for header in source.glob("tests/*.hpp"):
    shutil.copy(header, tree / "tests")

# What names operations is compiled anew: whatever includes operations.def with others than the kernels of instruction sets.
changed = [f"src/library/{f.name}" for f in sorted((source / "src/library").glob("*.cpp"))] + ["src/c_api.cpp", "tests/cpu/judgement.cpp"]
untouched = {"adapted", "settings", "moments", "products", "order"}  # rows that stay as they are
changed = [f for f in changed if Path(f).stem not in untouched]


# The kernels of such operations, as simt has them, and the way there of requests made at run time.
kernels = ["src/gpu/own.cu", "src/gpu/library.cpp"]
on_simt = ["-x", "c++", "-DWF_LIBRARY_IS_SIMT=1", f"-I{tree}/simt/include", "-fno-extern-tls-init", "-Wno-unknown-pragmas"]
# The program without the ladder; of its sources reduce.cpp alone reads the table.
program_sources = [f"cli/{name}.cpp" for name in ("main", "info", "interrupt", "option_text", "progress", "reduce", "reduce_answers", "reduce_inputs", "tune")]
of_program = ["-DWARPFOLD_BUILD_TYPE=\"\"", "-DWARPFOLD_HAS_CUDA=0", "-DWARPFOLD_HAS_SIMT=0", "-DWARPFOLD_HAS_LADDER=0"]


def compiled(name):
    to = scratch / (name.replace("/", "_") + ".o")
    more = on_simt if name in kernels else of_program if name in program_sources else []
    done = run([compiler, *flags, *more, f"-I{tree}/include", "-c", str(tree / name), "-o", str(to)])
    return to, done


def linked(objects, libraries, to):
    done = run([compiler, *map(str, objects), *map(str, libraries), "-lpthread", "-ldl", "-o", str(to)])
    if done.returncode:
        fail(done.stdout[-3000:])


to, done = compiled("tests/docs/adding.cpp")
if done.returncode == 0 or "prod_abs" not in done.stdout:
    fail(f"without the diff, adding.cpp should not find prod_abs: {done.stdout[-2000:]}")

# A tree of its own, though a repository may be around it.
away = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent), "GIT_DIR": str(scratch / "none")}
(scratch / "adding.diff").write_text(diff)
applied = run(["git", "apply", "--verbose", str(scratch / "adding.diff")], cwd=tree, env=away)
if applied.returncode:
    fail(f"the diff of docs/adding.md does not apply: {applied.stdout}")
stat = run(["git", "apply", "--stat", str(scratch / "adding.diff")], cwd=tree, env=away).stdout
if stat.split() != told.split():
    fail(f"docs/adding.md shows another --stat than that of its diff:\n{stat}")
if "prod_abs" not in (tree / "include/warpfold/operations.def").read_text():
    fail("nothing was applied")

io_sources = ["src/io/reduce.cpp"]
sources = [*changed, *kernels, "tests/docs/adding.cpp", *io_sources, *program_sources]
with ThreadPoolExecutor(2) as pool:
    objects = dict(zip(sources, pool.map(compiled, sources)))
for to, done in objects.values():
    if done.returncode:
        fail(f"{to.name}: {done.stdout[-3000:]}")
of = {name: to for name, (to, _) in objects.items()}
table = [of[name] for name in changed if not name.startswith("tests/")]
linked([of[name] for name in [*changed, *kernels, "tests/docs/adding.cpp"]], [oracle, *simt, library, *libraries], scratch / "adding")
done = run([str(scratch / "adding")])
print(done.stdout, end="")
if done.returncode:
    sys.exit(done.returncode)

linked([*table, *(of[name] for name in [*io_sources, *program_sources])], [*io, library], scratch / "warpfold")
array = scratch / "x.f64"
array.write_bytes(struct.pack("<4d", -2, 3, -0.5, 4))


def shown(*arguments):
    done = run([str(scratch / "warpfold"), *arguments])
    if done.returncode:
        fail(f"warpfold {' '.join(map(str, arguments))}: {done.stdout}")
    return done.stdout


if shown("prod_abs", "--dtype", "f64", array) != "12\n":
    fail("warpfold prod_abs does not answer 12")
if "Π|x|" not in shown("prod_abs", "--help") or "--round" in shown("prod_abs", "--help"):
    fail("warpfold prod_abs --help does not tell what the table does")
print("warpfold prod_abs answers")
