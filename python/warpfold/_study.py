# SPDX-License-Identifier: Apache-2.0
"""The ladder and explanations of kernels, by the program `warpfold`: as text, as HTML in a notebook, as a table of data."""

from __future__ import annotations

import html
import importlib
import json
import os
import tempfile
from typing import Any

from ._program import output_of


def _flat(row: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Values under the names of all that they are in, with dots between."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            found.update(_flat(value, f"{before}{name}."))
        elif not isinstance(value, list):
            found[before + name] = value
    return found


def _data_frame(rows: list[dict[str, Any]], index: str | None) -> Any:
    try:
        pandas: Any = importlib.import_module("pandas")
    except ImportError:
        raise ModuleNotFoundError("to_dataframe() needs pandas, which is not installed; `rows()` gives the same as a list of dicts") from None
    table = pandas.DataFrame(rows)
    return table if index is None else table.set_index(index)


class _Told:
    """What the program told: `data` is its JSON, `command` the command that tells it again."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    @property
    def command(self) -> str:
        return str(self.data.get("command", ""))

    def __repr__(self) -> str:
        return str(self)


def _digits(value: Any, how: str) -> str:
    if isinstance(value, str):  # "all" digits
        return value
    return "-" if value is None else format(float(value), how)


class Ladder(_Told):
    """A climb of the ladder. Prints as a table; `rows()` and `to_dataframe()` have every figure of every rung."""

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each rung; what is nested has names with dots, as ``counters.barriers`` or ``seconds.median``."""
        return [{**_flat(rung), "result": float(rung["result"])} for rung in self.data["rungs"]]

    def to_dataframe(self) -> Any:
        """A pandas.DataFrame with a row for each rung, by its name."""
        return _data_frame(self.rows(), "name")

    def _table(self) -> tuple[list[str], list[list[str]]]:
        timed = self.data.get("place") == "gpu"
        head = ["rung", "block × grid", "result", "ulps off", "digits", "error"]
        head += ["time, µs", "GB/s", "% ceiling"] if timed else ["threads", "barriers", "shuffles", "atomics", "races"]
        lines = []
        for rung in self.data["rungs"]:
            launch, counted = rung.get("launch"), rung.get("counters", {})
            line = [rung["name"], f"{launch['block']} × {launch['blocks']}" if launch else "one core", rung["result"],
                    _digits(rung.get("error_ulps"), ".3g"), _digits(rung.get("digits_right"), ".0f"), _digits(rung.get("error"), ".3g")]
            if timed:
                seconds, share = rung.get("seconds", {}).get("median"), rung.get("of_ceiling")
                line += [_digits(None if seconds is None else 1e6 * seconds, ".4g"), _digits(rung.get("gb_per_s"), ".4g"),
                         _digits(None if share is None else 100 * share, ".1f")]
            else:
                line += [str(counted.get(name, "-")) for name in ("threads", "barriers", "shuffles", "atomics")] + [str(rung.get("races", "-"))]
            lines.append([*line, rung["verdict"]])
        return [*head, "verdict"], lines

    def _title(self) -> str:
        d = self.data
        return f"{d['n']} {d['dtype']} on {d['device']}; the exact sum is {d['exact']}"

    def _races(self) -> list[str]:
        return [f"race in {r['rung']}: " + " with ".join(f"{r[s]['file']}:{r[s]['line']} ({r[s]['access']})" for s in "ab") +
                f", {r['memory']} memory, {r['count']} times" for r in self.data.get("races", [])]

    def __str__(self) -> str:
        head, lines = self._table()
        wide = [max(len(line[k]) for line in [head, *lines]) for k in range(len(head))]
        last = len(head) - 1

        def row(cells: list[str]) -> str:
            return "  ".join(c.ljust(w) if k in (0, last) else c.rjust(w) for k, (c, w) in enumerate(zip(cells, wide))).rstrip()
        return "\n".join([self._title(), "", row(head), *map(row, lines), *self._races()])

    def _repr_html_(self) -> str:
        head, lines = self._table()

        def row(cells: list[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"
        return (f"<p>{html.escape(self._title())}</p><table><thead>{row(head, 'th')}</thead><tbody>" +
                "".join(row(line, "td") for line in lines) + "</tbody></table>" +
                "".join(f"<p>{html.escape(line)}</p>" for line in self._races()))


class Explanation(_Told):
    """Why a kernel is as fast as it is. Prints as text; a notebook shows the page with drawings, which is `html`."""

    def __init__(self, data: dict[str, Any], page: str, words: list[str]) -> None:
        super().__init__(data)
        self.html = page
        self._words, self._text = words, ""

    def rows(self) -> list[dict[str, Any]]:
        """A dict of counters for each source line of each kernel, as ``shared_load.conflicts``."""
        found = []
        told = [self.data, self.data["versus"]] if isinstance(self.data.get("versus"), dict) else [self.data]
        for one in told:
            for kernel in one.get("kernels", []):
                for line in kernel.get("lines", []):
                    found.append({"rung": one.get("rung"), "kernel": kernel.get("name"), "file": line.get("file"), "line": line.get("line"),
                                  **_flat(line.get("counters", {}))})
        return found

    def to_dataframe(self) -> Any:
        """A pandas.DataFrame with a row for each source line of each kernel."""
        return _data_frame(self.rows(), None)

    def __str__(self) -> str:
        if not self._text:
            self._text = output_of(["explain", *self._words], "explain").rstrip("\n")
        return self._text

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.html)}" style="width: 100%; height: 40em; border: 0" '
                'sandbox="allow-scripts"></iframe>')


def _options(**given: Any) -> list[str]:
    words = []
    for name, value in given.items():
        if value is not None:
            words += ["--" + name, ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)]
    return words


def ladder(*, n: int | str = "1M", dtype: str = "f32", only: Any = None, block: int | None = None, data: str = "uniform", seed: int = 1,
           device: str = "auto") -> Ladder:
    """Climbs the ladder: every classic way of summing on a GPU, verified, timed on a GPU or counted on simt.

    Parameters
    ----------
    n : int or str
        Elements: 1000, "1M" (2^20), "2^20".
    dtype : {"f32", "f64", "i32", "f16"}
        Their type.
    only : sequence of str, optional
        Names of rungs, as ``["atomic", "cpu/kahan"]``. ``"numba"`` stands for rungs that Numba compiles, where it is installed:
        ``"numba/shared_atomic"``, ``"numba/block_tree"``, ``"numba/block_atomic"``, ``"numba/grid_stride"``; without a GPU, on its simulator
        and of at most 1024 elements.
    block : int, optional
        Threads per block, a multiple of 32.
    data : {"uniform", "ones", "normal", "hard"}
        What is summed.
    seed : int
        What the data are drawn from.
    device : {"auto", "gpu", "simt"}
        Where; auto is a GPU if there is one and the program was built for it, else simt, which needs none.

    Returns
    -------
    Ladder
        Prints as a table, shows as one in a notebook; ``to_dataframe()``, ``rows()`` and ``data`` have all figures.

    Raises
    ------
    ValueError
        What the program does not take.
    FileNotFoundError
        There is no program: wheels have it, and what ``pip install .`` makes where its libraries are.
    RuntimeError
        A device failed.

    References
    ----------
    docs/ladder/README.md: the rungs, and what the figures mean.

    Examples
    --------
    >>> import warpfold as wf
    >>> climbed = wf.ladder(n=4096, only=["race", "tree_strided"], device="simt")  # doctest: +SKIP
    >>> [rung["verdict"] for rung in climbed.rows()]  # doctest: +SKIP
    ['wrong as expected', 'right']
    """
    names = [only] if isinstance(only, str) else None if only is None else list(only)
    if names == []:
        raise ValueError("ladder: only=[] names no rung; None is all of them")
    numba = [k for k in names or [] if k.partition("/")[0] == "numba"]
    if names is not None and numba:
        names = [k for k in names if k not in numba]
    told: dict[str, Any] = {}
    if names is None or names:
        words = _options(n=n, dtype=dtype, only=names, block=block, data=data, seed=seed, device=device)
        told = json.loads(output_of(["ladder", *words, "--json"], "ladder"))
    if numba:
        from . import _numba
        wanted = list(_numba.NAMES) if "numba" in numba else [k.removeprefix("numba/") for k in numba]
        climbed = _numba.rungs_of(wanted, _count(n), dtype, block or 256, data, seed, device)
        told = {**climbed, **told, "rungs": told.get("rungs", []) + climbed["rungs"]}
    return Ladder(told)


def _count(n: int | str) -> int:
    """1000, "64K", "2^16", as the program reads them."""
    try:
        text = str(n)
        if "^" in text:
            base, _, power = text.partition("^")
            return int(int(base)**int(power))
        return int(text[:-1]) << {"K": 10, "M": 20, "G": 30}[text[-1]] if text[-1:] in "KMG" else int(text)
    except (ValueError, KeyError):
        raise ValueError(f"ladder: n={n!r}; it is a number, as 1000, '64K' or '2^16'") from None


def explain(what: str, *, vs: str | None = None, n: int | str | None = None, block: int | str | None = None, dtype: str | None = None,
            options: Any = ()) -> Explanation:
    """Why a rung of the ladder, or a CUDA kernel of your own, is as fast as it is: its counters, races and drawings from simt.

    Parameters
    ----------
    what : str
        A rung, as ``"tree_strided"``; ``"transpose"``, ``"overlap"``, ``"precision"``; a kernel of your own, ``"FILE.cu:KERNEL"``.
    vs : str, optional
        Another rung, to compare with.
    n : int or str, optional
        Elements: 1000, "64K", "2^16".
    block : int or str, optional
        Threads per block.
    dtype : {"f32", "f64", "i32", "f16"}, optional
        The elements' type.
    options : sequence of str
        More words of the command line, as ``["--arg", "f32[1M]:uniform"]`` of a kernel of your own.

    Returns
    -------
    Explanation
        Prints as text, shows as a page with drawings in a notebook; ``to_dataframe()`` and ``rows()`` have the counters of each
        source line, ``data`` everything.

    Raises
    ------
    ValueError
        What the program does not take.
    FileNotFoundError
        There is no program: wheels have it, and what ``pip install .`` makes where its libraries are.
    RuntimeError
        A kernel failed.

    References
    ----------
    docs/lens.md: what is counted, and how.

    Examples
    --------
    >>> import warpfold as wf
    >>> told = wf.explain("tree_strided", n=4096)  # doctest: +SKIP
    >>> sum(row.get("shared_load.conflicts", 0) for row in told.rows())  # doctest: +SKIP
    1120
    """
    if not isinstance(what, (str, os.PathLike)):
        raise TypeError(f"explain: {what!r}; it is the name of a rung, or of a file of yours")
    words = [what, *_options(vs=vs, n=n, block=block, dtype=dtype), *options]
    with tempfile.TemporaryDirectory(prefix="warpfold-") as folder:
        page = os.path.join(folder, "page.html")
        data = json.loads(output_of(["explain", *words, "--json", "--html", page], "explain"))
        with open(page, encoding="utf-8") as f:
            return Explanation(data, f.read(), words)
