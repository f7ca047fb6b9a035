# SPDX-License-Identifier: Apache-2.0
"""The public symbols of the headers, as Doxygen reads them: names, words, examples.

Public is what docs/reference/Doxyfile reads, without what `detail` and `device` hold."""
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as xml
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Symbol:
    kind: str          # struct, class, union, concept, function, variable, typedef, enum, enumvalue, define, friend
    name: str          # wf::view::rank, wf_run
    owner: str         # wf::view; of an enumerator its enumeration; empty where it stands in a namespace, a group or a file
    header: str        # view.hpp
    page: str          # the name of its page
    args: str = ""     # (int a, int b) const
    type: str = ""     # an answer's, a variable's, or what an alias stands for
    noexcept: bool = False
    words: str = ""    # its docstring's, examples among them
    examples: list = field(default_factory=list)  # those in the docstring
    grouped: bool = False                         # in the group of reductions

    @property
    def short(self):
        return re.sub(r"\s*<.*", "", self.name).rpartition("::")[2] if "operator" not in self.name else self.name.rpartition("::")[2]


@dataclass
class Reference:
    symbols: list
    files: dict  # header: words of its \file
    said: str    # what Doxygen printed


def pages(source, tree, out, html=False):
    """What Doxygen makes of a tree's headers, by the Doxyfile of `source`: its XML, and what it printed."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    config = (source / "docs/reference/Doxyfile").read_text() + ("" if html else "\nGENERATE_HTML = NO\n")
    done = subprocess.run(["doxygen", "-"], input=config, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=out,
                          env={**os.environ, "WARPFOLD_SOURCE": str(tree), "WARPFOLD_REFERENCE": str(out), "WARPFOLD_VERSION": "0",
                               "WARPFOLD_REFERENCE_STYLE": ""})
    if done.returncode:
        raise SystemExit(f"doxygen: {done.stdout[-3000:]}")
    return out / "xml", done.stdout


def code_of(listing):
    """The text of a code block."""
    def text(e):
        return (" " if e.tag == "sp" else e.text or "") + "".join(text(c) for c in e) + (e.tail or "")
    if listing.tag != "programlisting":
        return "".join(listing.itertext())
    return "\n".join("".join((h.text or "") + "".join(text(c) for c in h) for h in line.iter("highlight")) for line in listing.iter("codeline"))


def told(element):
    """(words, examples) of a docstring."""
    parts = [e for e in map(element.find, ("briefdescription", "detaileddescription", "inbodydescription")) if e is not None]
    words = " ".join(" ".join("".join(p.itertext()).split()) for p in parts).strip()
    return words, [code_of(e) for p in parts for e in p.iter() if e.tag in ("programlisting", "verbatim", "preformatted")]


def header_of(element):
    at = element.find("location")
    return (at.get("file", "") if at is not None else "").partition("include/warpfold/")[2]


def is_none_of_its_own(kind, member, full):
    """What the compiler writes, what a base class or another page tells, and C's second name of a struct."""
    name, args = member.findtext("name"), (member.findtext("argsstring") or "").rstrip()
    if re.search(r"(^|::)(detail|device)::", full) or name.startswith(("WARPFOLD_H", "WARPFOLD_VERSION_H", "WARPFOLD_EXPORT_H")):
        return True
    if args.endswith(("=default", "=delete")) or name.startswith("~") or member.find("reimplements") is not None:
        return True
    told_in_its_namespace = kind == "file" and "::" in (member.findtext("qualifiedname") or "")
    guard = member.get("kind") == "define" and member.find("initializer") is None and not member.findall("param")
    second_name = member.get("kind") == "typedef" and not args and re.match(r"(struct|enum) \w+$", member.findtext("type") or "")
    return bool(told_in_its_namespace or guard or second_name or member.get("kind") == "friend" and "operator" not in name)


def read(folder, said=""):
    """The reference in a folder of XML."""
    r, seen = Reference([], {}, said), set()
    for file in sorted(Path(folder).glob("*.xml")):
        for compound in xml.parse(file).getroot().iter("compounddef"):
            kind, name = compound.get("kind"), compound.findtext("compoundname")
            if kind == "file" and header_of(compound):
                r.files[header_of(compound)] = told(compound)[0]
            if compound.get("prot", "public") != "public":
                continue
            is_type = kind in ("struct", "class", "union", "concept")
            if is_type and header_of(compound):
                words, examples = told(compound)
                r.symbols.append(Symbol(kind, name, "", header_of(compound), compound.get("id"), words=words, examples=examples))
            for member in compound.iter("memberdef"):
                if member.get("prot") != "public" or not header_of(member) or member.get("id") in seen:
                    continue
                in_wf = kind != "file" and (kind != "group" or "wf::" in (member.findtext("definition") or ""))
                full = f"{'wf' if kind == 'group' else name}::{member.findtext('name')}" if in_wf else member.findtext("name")
                if is_none_of_its_own(kind, member, full):
                    continue
                seen.add(member.get("id"))
                words, examples = told(member)
                type_of, page = member.find("type"), member.get("id").rpartition("_1")[0]  # members of a namespace without words are on their file's
                is_noexcept = member.get("noexcept") == "yes" or bool(re.search(r"\bnoexcept\b", member.findtext("argsstring") or ""))
                r.symbols.append(Symbol(member.get("kind"), full, name if is_type else "", header_of(member), page,
                                        member.findtext("argsstring") or "", "".join(type_of.itertext()) if type_of is not None else "",
                                        is_noexcept, words, examples, kind == "group"))
                for value in member.findall("enumvalue"):
                    r.symbols.append(Symbol("enumvalue", f"{full}::{value.findtext('name')}", full, header_of(member), page, words=told(value)[0]))
    return r
