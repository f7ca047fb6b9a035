# SPDX-License-Identifier: Apache-2.0
"""The program `warpfold`: the ladder, explanations, reductions of files. In this package where it was built with the tools."""

from __future__ import annotations

import os
import sys


def main() -> int:
    from warpfold._program import WITHOUT, find
    program = find()
    if program is None:
        print(f"warpfold: {WITHOUT}", file=sys.stderr)
        return 2
    try:
        os.execv(program, [program, *sys.argv[1:]])
    except OSError as e:
        print(f"warpfold: the program {program} does not run: {e.strerror}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
