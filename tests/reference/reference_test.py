# SPDX-License-Identifier: Apache-2.0
"""reference_test.py SOURCE SCRATCH: every public symbol has a docstring, an example, its units and its errors.

    docstring   of every symbol
    example     a line of a program of docs/reference/examples.dox, or a code block in its own docstring, that names it. Enumerators,
                constructors and operators are shown by their type's
    errors      of every function that is not noexcept: what it throws or returns, in its docstring, in that of its type, or for all
                functions of a header in its \\file
    units       of everything that has a number, a pointer or an array: of what
    nothing     functions of the front door say what they answer for no elements

Names of the library in README and docs are all among them.

Public is what docs/reference/Doxyfile reads. The test itself is tried on copies from which one of each was taken out."""
import re
import shutil
import sys
from pathlib import Path

source, scratch = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
sys.path.insert(0, str(source / "docs/reference"))
sys.dont_write_bytecode = True  # nothing is written among the sources
import examples  # noqa: E402
import symbols  # noqa: E402

ERRORS = r"[Tt]hrow|wf::error|unchecked|WF_[A-Z_]+\b"
SIZED = r"\bint\b|int\d+_t|size_t|\*|span|extents|vector|array<|per_dimension<|const [XRY] ?&"
UNITS = r"""element|byte|shape|length|stride|answer|state|dimension|pair|task|thread|\brows?\b|ax[ei]s|offset|label|segment|index|\bkeys?\b|\bruns?\b|value|digit|
            bits|piece|device|\binput|operation|request|rank|version|wf_|file|span|number|stream|place|text|variance|array|memory""".replace("\n", "").replace(" ", "")


def constructs(s):
    return bool(s.owner) and s.short == re.sub(r"\s*<.*", "", s.owner).rpartition("::")[2]


def judge(reference, uses):
    """What is missing, by kind: names."""
    lacking = {kind: set() for kind in ("docstring", "example", "errors", "units", "nothing")}
    of_types = {s.name: s.words for s in reference.symbols if s.kind in ("struct", "class")}
    shown = {s.name for s in reference.symbols if any(re.search(rf"\b{re.escape(s.short)}\b", e) for e in s.examples)}
    for s in reference.symbols:
        if not s.words:
            lacking["docstring"].add(s.name)
        if s.kind == "enumvalue":
            continue
        needs_example = not (constructs(s) or s.short.startswith("operator"))
        if needs_example and s.name not in shown and not uses.of(s):
            lacking["example"].add(s.name)
        if s.kind == "function":
            in_header = re.search(r"Nothing here throws", reference.files.get(s.header, ""))
            of_type = re.search(ERRORS, of_types.get(s.owner, ""))
            cannot = s.header.endswith(".h") and s.type.removeprefix("WF_API").strip() in ("void", "const char *")
            if not (s.noexcept or cannot or in_header or of_type or re.search(ERRORS, s.words)):
                lacking["errors"].add(s.name)
        sized = re.search(SIZED, s.args + s.type if s.kind == "function" else s.type if s.kind == "variable" else "")
        if sized and not constructs(s) and not s.short.startswith("operator") and not re.search(UNITS, s.words, re.I):
            lacking["units"].add(s.name)
        if s.grouped and not re.search(r"[Nn]o elements give|without elements|special cases are those of|checked|count", s.words + s.name):
            lacking["nothing"].add(s.name)
    return lacking


# Levels of a GPU for kernels of one's own, which change without notice (docs/reference/README.md); places for a name; namespaces.
NOT_PUBLIC = r"wf::\w+_reduce$|wf::block_states|wf::thread_in_block|wf::device\b|wf::exact::sum_state|.*NAME$|wf::mpi$|wf_dynamic_shared|wf_add_simt_library|WF_API"


def strangers(reference):
    """Names of the library that pages tell users, and the reference does not have."""
    known = {re.sub(r"\s*<.*", "", s.name) for s in reference.symbols} | {s.short for s in reference.symbols if s.kind == "enumvalue"}
    told = []
    for page in (source / "README.md", source / "docs/reference/README.md", *sorted((source / "docs").glob("*.md"))):
        for name in sorted(set(re.findall(r"`(wf(?:::\w+)+|wf_\w+|WF_\w+)", page.read_text()))):
            if name not in known and not re.match(NOT_PUBLIC, name):
                told.append(f"{page.relative_to(source)}: {name} has no page")
    return told


def copy_of_sources(name):
    tree = scratch / name
    shutil.rmtree(tree, ignore_errors=True)
    for part in ("include", "docs/reference", "examples"):
        shutil.copytree(source / part, tree / part)
    return tree


def look_at(tree, name, html=False):
    folder, said = symbols.pages(source, tree, scratch / name, html)
    reference = symbols.read(folder, said)
    return reference, judge(reference, examples.Uses(reference, examples.programs(tree)))


# One of each taken out: (file, what goes, what comes in its place, what is missed, whose).
BROKEN = (
    ("include/warpfold/rounding.hpp", r"  ///< toward 0$", "", "docstring", "wf::rounding::zero"),
    ("include/warpfold/view.hpp", r"  +///< dimensions$", "", "docstring", "wf::view::rank"),
    ("include/warpfold/warpfold.h", r"  +/\*\*< how many axes \*/", "", "docstring", "wf_request::axis_count"),
    ("include/warpfold/operations.def", r"^/// The greatest \|x\|\.\n/// .*\n///\n///  .*\n", "", "docstring", "wf::norm_inf"),
    ("include/warpfold/context.hpp", r"^/// How a reduction is to be run\.\n///\n(///  .*\n)+", "", "docstring", "wf::context"),
    ("examples/reference/arrays.cpp", r"image\.transposed\(0, 1\)", "image", "example", None),  # it is used once more: nothing is missed
    ("examples/reference/runs.cpp", r"groups\.count\(0\)", "3", "example", "wf::runs::count"),
    ("examples/reference/threads.cpp", r"wf::cpu::target_named\(wf::cpu::name\(t\)\) == t", "true", "example", "wf::cpu::name"),
    ("examples/reference/c_interface.c", r"q\.index_bytes = 4;", "", "example", "wf_request::index_bytes"),
    ("include/warpfold/backend.hpp", r"^/// Throws wf::error \(capacity\) .*\n", "", "errors", "wf::merge_states"),
    ("include/warpfold/view.hpp", r"int rank\(\) const noexcept", "int rank() const", "errors", "wf::view::rank"),
    ("include/warpfold/warpfold.h", r"WF_BAD_ARGUMENT: axes that are none of x, or named twice\.", "", "errors", "wf_reduce_axes"),
    ("include/warpfold/io/dtype.hpp", r"///< bytes of an element$", "///< how large", "units", "wf::dtype_info::size"),
    ("include/warpfold/operations.def", r"^/// Real element types; integers give a double\. No elements give -inf\.$", "/// Real element types.", "nothing", "wf::logsumexp"),
)

if not shutil.which("doxygen"):
    print("reference_test: no doxygen here")
    sys.exit(77)
whole, lacking = look_at(source, "whole", html=True)
failures = [f"no {kind}: {name}" for kind in lacking for name in sorted(lacking[kind])]
failures += [line for line in whole.said.splitlines() if "warning:" in line or "error:" in line]
failures += strangers(whole)
if not strangers(symbols.Reference([s for s in whole.symbols if s.name != "wf::tuning_problem"], {}, "")):
    failures.append("a function that docs/gpu.md names is not missed where the reference has it not")
grouped = {s.name for s in whole.symbols if s.grouped}
if len(whole.symbols) < 650 or len(grouped) < 26:
    failures.append(f"{len(whole.symbols)} public symbols and {len(grouped)} reductions; there are more")
without_blocks = {s.name for s in whole.symbols if s.grouped and not s.examples and s.kind == "variable"}
failures += [f"no code block in the docstring: {name}" for name in sorted(without_blocks)]

# The tables of examples at the ends of the pages.
examples.add_tables(source, scratch / "whole")
for page, row in (("classwf_1_1view", r"view::transposed</code></td><td><a href=\"arrays_8cpp-example\.html\">"), ("structwf__request", r"c_interface_8c-example\.html"),
                  ("view_8hpp", r"<code>row_major</code>"), ("group__reductions", r"<code>logsumexp</code>")):
    text = (scratch / f"whole/html/{page}.html").read_text()
    if not re.search(row, text):
        failures.append(f"{page}.html has no {row}")
    for link in set(re.findall(r"<td><a href=\"(\w+-example\.html)\"", text)):
        if not (scratch / "whole/html" / link).exists():
            failures.append(f"{page}.html: no such page: {link}")

tree = copy_of_sources("broken")
for file, words, instead, _, _ in BROKEN:
    text, count = re.subn(words, instead, (tree / file).read_text(), flags=re.M)
    if count != 1:
        failures.append(f"nothing to take out of {file}: {words}")
    (tree / file).write_text(text)
_, missed = look_at(tree, "pages_of_broken")
for file, words, _, kind, name in BROKEN:
    if name and name not in missed[kind]:
        failures.append(f"the test does not see that {name} has no {kind}, which was taken out of {file}")
more = {(kind, name) for kind in missed for name in missed[kind]} - {(kind, name) for _, _, _, kind, name in BROKEN}
failures += [f"in a broken copy no {kind} of {name}, which was not taken out" for kind, name in sorted(more)
             if name not in lacking[kind] and name not in missed["docstring"]]
print("\n".join(failures) if failures else f"{len(whole.symbols)} public symbols with docstrings, examples, errors and units; {len(grouped)} reductions")
sys.exit(1 if failures else 0)
