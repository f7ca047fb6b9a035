# SPDX-License-Identifier: Apache-2.0
"""The program `warpfold`: the ladder, explanations, reductions of files. In this package where it was built with the tools."""

from __future__ import annotations

import os
import sys


def main() -> int:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "warpfold")
    if not os.path.exists(program):
        print("warpfold: this package was built without the program; `pip install . -C cmake.define.WARPFOLD_BUILD_TOOLS=ON` builds it "
              "in, with what scripts/dependencies installs", file=sys.stderr)
        return 2
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
