# SPDX-License-Identifier: Apache-2.0
"""The program `warpfold`, where it is, and what it says."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

WITHOUT = ("this package was built without the program; `pip install .` builds it in where what scripts/dependencies installs is there, "
           "or the variable WARPFOLD_PROGRAM names one")


def find() -> str | None:
    """The path of the program: what WARPFOLD_PROGRAM names, or the package's own."""
    named = os.environ.get("WARPFOLD_PROGRAM")
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "warpfold")
    return named or (own if os.path.exists(own) else None)


def output_of(words: Sequence[str], who: str) -> str:
    """What the program prints. Its complaints are raised: ValueError for what it was given, RuntimeError for a device's.

    A result that was found wrong is told, not raised: to show that is what the ladder is for.
    """
    import subprocess
    program = find()
    if program is None:
        raise FileNotFoundError(f"{who}: {WITHOUT}")
    try:
        done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8")
    except OSError as e:
        raise FileNotFoundError(f"{who}: the program {program} does not run: {e.strerror}") from None
    if done.returncode in (0, 1) and done.stdout:
        return done.stdout
    said = done.stderr.strip().splitlines() or [f"the program {program} ended with {done.returncode} and said nothing"]
    line = said[0].removeprefix("warpfold: ").removeprefix(f"{who}: ")
    raise (ValueError if done.returncode == 2 else RuntimeError)(f"{who}: {line}")
