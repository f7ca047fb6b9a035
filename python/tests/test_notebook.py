# SPDX-License-Identifier: Apache-2.0
"""The notebook of examples/ runs from its first cell to its last, and has no output of another day in it."""

import pathlib

import pytest

PAGE = pathlib.Path(__file__).parents[2] / "examples" / "why_sums_differ.ipynb"


def test_the_notebook_runs():
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    page = nbformat.read(PAGE, as_version=4)
    nbformat.validate(page)
    cells = [c for c in page.cells if c.cell_type == "code"]
    assert not any(c.outputs for c in cells)
    nbclient.NotebookClient(page, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(PAGE.parent)}}).execute()
    told = {c.id: "".join(o.get("text", "") for o in c.outputs) for c in cells}
    assert "off by" in told["orders"] and "for 100 orders" in told["exact"]
    from warpfold import _program
    if _program.find() is None:
        assert "built without the program" in told["ladder"]
    else:
        assert "passes of shared memory" in told["explain"]
