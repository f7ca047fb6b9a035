# SPDX-License-Identifier: Apache-2.0
"""Libraries that the package works with but does not need."""

from __future__ import annotations

import importlib
from typing import Any


def need(name: str, who: str, package: str) -> Any:
    """A module of another library; ImportError in one line where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as e:
        raise ImportError(f"{who} needs {package}: pip install '{package}' ({e})") from None
