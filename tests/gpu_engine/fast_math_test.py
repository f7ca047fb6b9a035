# SPDX-License-Identifier: Apache-2.0
"""fast_math_test.py NVCC SOURCE_DIR WORK_DIR ARCHITECTURE: no float of an exact sum is converted by an instruction that takes subnormals for zeros, though the
caller's compiler is told --use_fast_math. Looks at the PTX of fast_math.cu; the seeds of reciprocals and roots (exact/arithmetic.hpp), which are no subnormals, may be."""

import pathlib
import re
import subprocess
import sys

nvcc, source, work, architecture = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4]
work.mkdir(parents=True, exist_ok=True)
ptx = work / "fast_math.ptx"
subprocess.run([nvcc, "-std=c++20", f"-arch={architecture}", "--use_fast_math", "-lineinfo", "-ptx", f"-I{source / 'include'}", source / "tests/gpu_engine/fast_math.cu", "-o", ptx], check=True)

files, place, seen, wrong = {}, ("", ""), 0, []
for line in ptx.read_text().splitlines():
    if found := re.match(r'\s*\.file\s+(\d+)\s+"([^"]+)"', line):
        files[found[1]] = found[2]
for line in ptx.read_text().splitlines():
    if found := re.match(r"\s*\.loc\s+(\d+)\s+(\d+)", line):
        place = (files[found[1]], found[2])
    elif "cvt.ftz.f64.f32" in line and not place[0].endswith("exact/arithmetic.hpp"):
        wrong.append(f"{place[0]}:{place[1]}: {line.strip()}")
    elif "cvt.f64.f32" in line:
        seen += 1
print("\n".join(wrong))
if wrong or seen == 0:
    sys.exit(f"fast_math_test: {len(wrong)} conversions take subnormals for zeros, {seen} keep them; none and some are right")
