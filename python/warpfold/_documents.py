# SPDX-License-Identifier: Apache-2.0
"""Docstrings of functions that have most of their words in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def documented(parameters: Mapping[str, str], sections: Mapping[str, str], example: str) -> Callable[[F], F]:
    """Adds NumPy's sections to a docstring: of the parameters those that the function has, then the others, then the example. `NAME` is the function's name."""
    def put(f: F) -> F:
        if f.__doc__ is not None:  # None under -OO
            code = f.__code__
            names = [n for n in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount] if n != "self"]
            told = {"Parameters": "\n".join(parameters[n] for n in names), **sections, "Examples": example}
            own = f.__doc__.rstrip().replace("\n    ", "\n")  # from Python 3.13 on it has no indentation
            f.__doc__ = own + "".join(f"\n\n{title}\n{'-' * len(title)}\n{text.strip()}" for title, text in told.items()).replace("NAME", f.__name__) + "\n"
        return f
    return put
