# SPDX-License-Identifier: Apache-2.0
"""Which line of which example program uses a symbol; and a table of them at the end of each page of the reference:

    docs/reference/examples.py SOURCE REFERENCE      # where Doxygen has written REFERENCE/html and REFERENCE/xml

Programs are those of examples.dox, all of which are compiled and run as tests. A name of a namespace is used where it stands with its
namespace, wf::sum. A member is used where it stands behind an object of its type, or behind the type: the object is one that
the program declares by the type's name, an alias of it, or the name of a type that is derived from it."""
import html
import re
import sys
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True  # nothing is written among the sources
import symbols  # noqa: E402

# Bases that are hidden from the pages, and so from Doxygen.
DERIVED = {"wf::device_stream": ["wf::simulated_gpu", "wf::gpu", "wf::device_place"], "wf::backend": ["wf::device_place"]}


@dataclass
class Program:
    name: str
    lines: list  # as they are
    code: str    # without comments and texts, line by line


def without_comments(text):
    """The same lines; comments, and what stands in quotation marks, are blanks."""
    blank = lambda m: re.sub(r"[^\n]", " ", m[0])
    return re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", blank, text, flags=re.S)


def programs(source):
    """Those that examples.dox names."""
    source = Path(source)
    found = []
    for name in re.findall(r"\\example (\S+)", (source / "docs/reference/examples.dox").read_text()):
        at = next((f for f in (source / "examples/reference" / name, source / "examples" / name) if f.exists()), None)
        if at is None:
            raise SystemExit(f"docs/reference/examples.dox: there is no examples/reference/{name}, nor examples/{name}")
        text = at.read_text()
        found.append(Program(name, text.splitlines(), without_comments(text)))
    return found


def spelled(name):
    """A regular expression of a name, whose arguments may be set with or without blanks."""
    return re.sub(r"(?:\\ )+", r"\\s*", re.escape(name)).replace("<", r"\s*<").replace(">", r"\s*>")


def names_of_types(reference):
    """Of each type the names by which programs declare its objects: its own, its aliases', those of types derived from it."""
    types = {s.name: [s.name] for s in reference.symbols if s.kind in ("struct", "class", "union")}
    for s in reference.symbols:
        if s.kind == "typedef" and not s.owner:
            for name in types:
                if re.match(rf"(?:wf::)?{re.escape(name.removeprefix('wf::'))}\b", s.type.strip()):
                    types[name].append(s.name)
    for base, derived in DERIVED.items():
        types.get(base, []).extend(derived)
    return types


class Uses:
    def __init__(self, reference, of):
        self.programs, self.types = of, names_of_types(reference)
        self.enumerators = {}
        for s in reference.symbols:
            if s.kind == "enumvalue":
                self.enumerators.setdefault(s.owner, []).append(s.name.rpartition("::")[2])

    def patterns(self, s, program):
        """What in a program's code is a use of the symbol."""
        if s.name in self.enumerators and "::" not in s.name:  # C, where an enumerator stands alone
            return [rf"\b(?:{'|'.join(self.enumerators[s.name])})\b"]
        if not s.owner:
            return [rf"(?<![\w:]){spelled(name)}(?!\w)" for name in self.types.get(s.name, [s.name])]
        found = []
        for name in self.types.get(s.owner, [s.owner]):
            for alias in [name, *re.findall(rf"using (\w+) = {spelled(name)};", program.code)]:
                of_type = rf"(?<![\w:]){spelled(alias)}(?:<[^;={{}}]*>)?"
                found.append(rf"{of_type}::{s.short}\b")
                found.append(rf"{of_type}\s+\w*\s*(?:=\s*)?\{{[^{{}}]*\.{s.short}\b")  # named in an initialiser
                for variable in set(re.findall(rf"{of_type}\s*[&*]?\s*(\w+)\b(?!\s*::)", program.code)):
                    found.append(rf"\b{variable}(?:\[\w+\])?(?:\.|->){s.short}\b")
                if re.search(rf":\s*{of_type}\s*\{{", program.code):                  # a type of the program's own is derived from it
                    found.append(rf"\b{s.short}\(")
        return found

    def of(self, s):
        """(program, number of the line) of its first use in each program."""
        uses = []
        for p in self.programs:
            at = min((m.end() for pattern in self.patterns(s, p) if (m := re.search(pattern, p.code))), default=None)
            if at is not None:
                uses.append((p, p.code.count("\n", 0, at) + 1))
        return uses


def table(rows):
    lines = ["<h2 class=\"groupheader\">Examples</h2>", "<p>The first line that uses it, of programs that are compiled and run as tests.</p>",
             "<table class=\"doxtable examples\">"]
    for s, uses in rows:
        for program, number in uses[:2]:
            page = program.name.replace(".", "_8")
            lines.append(f"<tr><td><code>{html.escape(s.name.removeprefix('wf::'))}</code></td><td><a href=\"{page}-example.html\">{program.name}</a>:{number}</td>"
                         f"<td><code>{html.escape(program.lines[number - 1].strip())}</code></td></tr>")
    return "\n".join([*lines, "</table>", ""])


def add_tables(source, folder):
    """The tables, at the ends of the pages in folder/html; how many pages have one."""
    reference = symbols.read(Path(folder) / "xml")
    uses, of_pages = Uses(reference, programs(source)), {}
    for s in reference.symbols:
        if s.kind == "enumvalue" or s.short.startswith("operator") or any(s.name == other.name for other, _ in of_pages.get(s.page, [])):
            continue
        if found := uses.of(s):
            of_pages.setdefault(s.page, []).append((s, found))
    for page, rows in of_pages.items():
        at = Path(folder) / "html" / f"{page}.html"
        text = at.read_text()
        end = "</div><!-- contents -->"
        if end not in text:
            raise SystemExit(f"{at}: not a page of this Doxygen's")
        at.write_text(text.replace(end, table(rows) + end, 1))
    return len(of_pages)


if __name__ == "__main__":
    print(f"examples on {add_tables(sys.argv[1], sys.argv[2])} pages")
