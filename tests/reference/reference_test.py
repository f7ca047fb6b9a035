# SPDX-License-Identifier: Apache-2.0
"""reference_test.py SOURCE SCRATCH: every public symbol has a docstring, and the main ones an example.

Public is what docs/reference/Doxyfile reads. Functions of the front door also say what they answer for no elements. Before
that, the test itself: in copies of two headers from which a docstring was taken out, it must miss that docstring."""
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

source, scratch = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
# Those with which a user begins. Beside them all functions of the group of reductions have an example.
WITH_EXAMPLES = {"wf::reduce", "wf::fuse", "wf::view", "wf::array", "wf::axis", "wf::error", "wf::context", "wf::backend", "wf::rounding",
                 "wf::exact_sum", "wf::exact_moments", "wf::exact_dot", "wf::cpu::executor", "wf::io::array_file", "wf::io::reduce",
                 "wf_reduce", "wf_request"}


def pages(tree, name):
    """The XML that Doxygen makes of a tree's headers."""
    out = scratch / name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    config = (source / "docs/reference/Doxyfile").read_text() + "\nGENERATE_HTML = NO\nGENERATE_XML = YES\nXML_PROGRAMLISTING = NO\n"
    done = subprocess.run(["doxygen", "-"], input=config, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=out,
                          env={**os.environ, "WARPFOLD_SOURCE": str(tree), "WARPFOLD_REFERENCE": str(out), "WARPFOLD_VERSION": "0",
                               "WARPFOLD_REFERENCE_STYLE": ""})
    if done.returncode:
        sys.exit(f"reference_test: doxygen: {done.stdout[-3000:]}")
    return [xml.parse(f).getroot() for f in sorted((out / "xml").glob("*.xml")) if f.name != "index.xml"], done.stdout


def says(element):
    return any("".join(element.find(part).itertext()).strip() for part in ("briefdescription", "detaileddescription") if element.find(part) is not None)


def has_example(element):
    return any(element.find(part) is not None and any(e.tag in ("programlisting", "verbatim") for e in element.find(part).iter())
               for part in ("briefdescription", "detaileddescription"))


def own(member):
    """Copies, moves and constructors that the compiler writes, destructors, and what a base class has told."""
    args = member.findtext("argsstring") or ""
    name = member.findtext("name")
    return args.rstrip().endswith(("=default", "=delete")) or name.startswith("~") or member.find("reimplements") is not None or member.get("kind") == "friend" and "operator" not in name


def is_public(at):
    file = at.get("file", "") if at is not None else ""
    return "include/warpfold/" in file


def judge(roots):
    """(how many symbols, those without a docstring, those without an example)."""
    seen, silent, examples, grouped = 0, [], set(), []
    for root in roots:
        for compound in root.iter("compounddef"):
            kind, name = compound.get("kind"), compound.findtext("compoundname")
            if compound.get("prot", "public") != "public":
                continue
            if kind in ("struct", "class", "union", "concept") and is_public(compound.find("location")):
                seen += 1
                if not says(compound):
                    silent.append(name)
                if has_example(compound):
                    examples.add(re.sub("<.*", "", name))
            for member in compound.iter("memberdef"):
                if member.get("prot") != "public" or not is_public(member.find("location")):
                    continue
                full = member.findtext("name") if kind == "file" or kind == "group" and not (member.findtext("definition") or "").count("wf::") else \
                    (f"wf::{member.findtext('name')}" if kind == "group" else f"{name}::{member.findtext('name')}")
                if kind == "file" and member.get("kind") in ("function", "variable", "enum", "typedef") and "::" in (member.findtext("qualifiedname") or ""):
                    continue  # told in its namespace
                if re.search(r"(^|::)(detail|device)::", full) or member.findtext("name").startswith(("WARPFOLD_H", "WARPFOLD_VERSION_H", "WARPFOLD_EXPORT_H")):
                    continue
                if own(member) or member.get("kind") == "define" and member.find("initializer") is None and not member.findall("param"):
                    continue
                if member.get("kind") == "typedef" and (member.findtext("argsstring") or "") == "" and re.match(r"(struct|enum) \w+$", member.findtext("type") or ""):
                    continue  # C's second name of a struct
                seen += 1
                if not says(member):
                    silent.append(full)
                for value in member.findall("enumvalue"):
                    seen += 1
                    if not says(value):
                        silent.append(f"{full}::{value.findtext('name')}")
                if has_example(member):
                    examples.add(full)
                if kind == "group":
                    grouped.append((full, "".join(member.find("detaileddescription").itertext())))
    lacking = sorted(WITH_EXAMPLES - examples) + [f for f, _ in grouped if f not in examples]
    wordless = [f for f, text in grouped if not re.search(r"[Oo]f nothing|As (var|min|mean)|checked|count", text + f)]
    return seen, sorted(set(silent)), lacking, wordless, len(grouped)


if not shutil.which("doxygen"):
    print("reference_test: no doxygen here")
    sys.exit(77)
roots, said = pages(source, "whole")
seen, silent, lacking, wordless, grouped = judge(roots)
failures = [f"no docstring: {s}" for s in silent] + [f"no example: {s}" for s in lacking] + [f"not a word on no elements: {s}" for s in wordless]
failures += [line for line in said.splitlines() if "warning:" in line or "error:" in line]
if seen < 400 or grouped < 26:
    failures.append(f"{seen} public symbols and {grouped} reductions; there are more")

# The test can fail: a symbol of each kind without its docstring.
broken = scratch / "broken"
shutil.rmtree(broken, ignore_errors=True)
shutil.copytree(source / "include", broken / "include")
(broken / "docs/reference").mkdir(parents=True)
shutil.copy(source / "docs/reference/README.md", broken / "docs/reference")
for header, words, symbol in (("rounding.hpp", r"  ///< toward 0$", "wf::rounding::zero"), ("view.hpp", r"  +///< dimensions$", "wf::view::rank"),
                              ("warpfold.h", r"  +/\*\*< how many axes \*/$", "wf_request::axis_count"),
                              ("operations.def", r"^/// The greatest \|x\|\.\n/// .*\n///\n///  .*\n", "wf::norm_inf"),
                              ("context.hpp", r"^/// How a reduction is to be run\.\n///\n(///  .*\n)+", "wf::context")):
    file = broken / "include/warpfold" / header
    text, count = re.subn(words, "", file.read_text(), flags=re.M)
    if count != 1:
        failures.append(f"nothing to take out of {header}: {words}")
    file.write_text(text)
    if symbol not in (missed := judge(pages(broken, "pages_of_broken")[0])[1]):
        failures.append(f"{symbol} has no docstring in a broken {header}, and the test does not see it: {missed}")
print("\n".join(failures) if failures else f"{seen} public symbols, each with its docstring; {grouped} reductions with examples")
sys.exit(1 if failures else 0)
