# SPDX-License-Identifier: Apache-2.0
"""docs/python-api.md, made from the docstrings: `python python/tests/api_page.py` writes it; test_package.py compares."""

import inspect
import pathlib

import warpfold as wf
from warpfold import _functions

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python-api.md"
SECTIONS = ("Parameters", "Returns", "Raises", "Notes", "References", "Examples")
SHARED = ["\n".join(map(str.strip, text.splitlines())) for text in _functions._PARAMETERS.values()]  # told once, at the top
COMMON = ("Elements that are no numbers of the types above, or a dtype that would lose some of the answer.",
          "Axes that the array does not have, shapes that do not fit, names that are none.",
          "Offsets that fall or leave the array, an array that is not one-dimensional.")
SHAPES = [" ".join(text.split()).format("x") for text in dict.fromkeys(_functions._SHAPES.values())]
SOURCES = (_functions._SOURCES, _functions._SOURCES_OF_EXACT)


def signature_of(f):
    told = str(inspect.signature(f)).replace("'", "")
    told = told.partition(" -> ")[0] if not told.startswith("<") else "(…)"
    for kind in (": Any", ": Accuracy", ": Rounding", ": bool", ": str", ": float", ": int | tuple[int, ...] | None", ": int | None"):
        told = told.replace(kind, "")
    return told.replace(" = ", "=")


def items_of(lines):
    """A section's entries, each with what is indented below it."""
    found = []
    for line in lines:
        if line.startswith("    ") and found:
            found[-1].append(line.strip())
        elif line.strip():
            found.append([line.strip()])
    return found


def body_of(doc):
    """NumPy's sections as Markdown, but what all functions share."""
    lines = doc.splitlines()
    starts = [k for k in range(len(lines) - 1) if lines[k] in SECTIONS and set(lines[k + 1]) == {"-"}]
    out = ["\n".join(lines[: starts[0]]).strip(), ""]
    for k, end in zip(starts, [*starts[1:], len(lines)]):
        part = lines[k + 2:end]
        if lines[k] == "Examples":
            out += ["```python", *"\n".join(part).strip().splitlines(), "```"]
        elif lines[k] == "Notes":
            out += ["\n".join(part).strip(), ""]
        else:
            kept = []
            for title, *rest in items_of(part):
                if "\n".join([title, *rest]) in SHARED or title in SOURCES or (lines[k] == "Raises" and rest and rest[0] in COMMON):
                    continue
                more = " ".join(rest)
                for shape in SHAPES:
                    more = more.replace(shape, "").strip()
                kept.append(f"- {title}" if lines[k] == "References" else f"- `{title}`: {more}" if more else f"- `{title}`")
            if kept:
                out += [f"**{lines[k]}**", "", *kept, ""]
    return "\n".join(out)


def page():
    told = ["# The Python package, name by name", "",
            "Made from the docstrings by `python python/tests/api_page.py`, whose examples the tests run. What the package is for: [python.md](python.md).", "",
            "## What many functions have", "", "**Parameters**", ""]
    told += [f"- `{text[0]}`: {' '.join(text[1:])}" for text in ([line.strip() for line in shared.splitlines()] for shared in SHARED)]
    told += ["", "**Raises**", "", f"- `TypeError`: {COMMON[0]}", f"- `ValueError`, `numpy.exceptions.AxisError`: {COMMON[1]} {COMMON[2]}", "",
             "**Returns**", "", SHAPES[0], "Those by segments, labels, keys lie in one dimension.", "",
             "**References**", "", f"- {SOURCES[0]}", f"- For functions with the parameter `rounding`: {SOURCES[1]}", ""]
    for name in sorted((n for n in wf.__all__ if n not in ("__version__", "statistics", "CompileError")), key=str.lower):
        it = getattr(wf, name)
        told += [f"## {name}", "", "```python", f"wf.{name}{signature_of(it)}", "```", "", body_of(inspect.getdoc(it)), ""]
        if inspect.isclass(it):
            for member, f in inspect.getmembers(it):
                if member.startswith("_") or inspect.getdoc(f) is None:
                    continue
                first = inspect.getdoc(f).split("\n\n")[0].replace("\n", " ")
                told.append(f"- `{member}{signature_of(f) if callable(f) else ''}`: {first}")
            told.append("")
    told += ["## statistics", "", "Twins of the standard library's `mean`, `variance`, `pvariance`, `stdev` and `pstdev`: `wf.statistics.mean(data)` …", ""]
    return "\n".join(told)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
