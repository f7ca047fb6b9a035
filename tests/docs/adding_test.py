# SPDX-License-Identifier: Apache-2.0
"""adding_test.py SOURCE SCRATCH LIBRARY ORACLE -- COMPILER FLAG…: the diff that docs/adding.md shows is applied to a copy of the
sources, what it changes is compiled and linked before the library as it was built, and tests/docs/adding.cpp runs. ORACLE is
the archive of tests/cpu that knows element types at run time; behind FLAG… stand the libraries of its own.

Before that: without the diff that program does not compile, or it would be none of the operation's."""
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

source, scratch, library, oracle = (Path(a).resolve() for a in sys.argv[1:5])
compiler, *flags = sys.argv[6:]
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
for part in ("include", "src", "tests/cpu", "tests/exact", "tests/docs"):
    shutil.copytree(source / part, tree / part)
for header in source.glob("tests/*.hpp"):
    shutil.copy(header, tree / "tests")

# What names operations is compiled anew: whatever includes operations.def with others than the kernels of instruction sets.
changed = [f"src/library/{f.name}" for f in sorted((source / "src/library").glob("*.cpp"))] + ["src/c_api.cpp", "tests/cpu/judgement.cpp"]
untouched = {"adapted", "settings", "moments", "products", "order"}  # rows that stay as they are
changed = [f for f in changed if Path(f).stem not in untouched]


def compiled(name):
    to = scratch / (Path(name).stem + ".o")
    done = run([compiler, *flags, f"-I{tree}/include", "-c", str(tree / name), "-o", str(to)])
    return to, done


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

with ThreadPoolExecutor(2) as pool:
    objects = list(pool.map(compiled, [*changed, "tests/docs/adding.cpp"]))
for to, done in objects:
    if done.returncode:
        fail(f"{to.name}: {done.stdout[-3000:]}")
program = scratch / "adding"
done = run([compiler, *[str(to) for to, _ in objects], str(oracle), str(library), *libraries, "-lpthread", "-o", str(program)])
if done.returncode:
    fail(done.stdout[-3000:])
done = run([str(program)])
print(done.stdout, end="")
sys.exit(done.returncode)
