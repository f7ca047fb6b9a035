# SPDX-License-Identifier: Apache-2.0
"""CUDA C++ text as cubins: NVRTC, where it is, and the cache on disk that `_compile` keeps."""

from __future__ import annotations

import ctypes
import functools
import glob
import json
import os
import re
import sys
from typing import NamedTuple

from ._compile import CompileError, first_error, key_of, kept_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OPTIONS = ["-std=c++20", "-default-device", "-fmad=false", "-w", "-diag-error=940"]  # 940: a function that returns nothing


class Cubin(NamedTuple):
    """A compiled file, and the whole numbers of its `warpfold_told`."""

    cubin: bytes
    told: tuple[int, ...]


def _folders() -> list[str]:
    """Where a toolkit may lie: what CUDA_HOME and CUDA_PATH name, NVIDIA's packages of this Python, and the usual folder."""
    named = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    packages = [found for path in sys.path for pattern in ("nvidia/cu1[0-9]", "nvidia/cuda_nvrtc") for found in sorted(glob.glob(os.path.join(path, pattern)), reverse=True)]
    return [*named, *packages, "/usr/local/cuda"]


@functools.lru_cache(maxsize=None)
def _library() -> ctypes.CDLL:
    tried = [path for folder in _folders() for below in ("lib64", "lib") for path in sorted(glob.glob(os.path.join(folder, below, "libnvrtc.so.1[0-9]")), reverse=True)]
    for path in [*tried, "libnvrtc.so.13", "libnvrtc.so.12"]:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise FileNotFoundError("no NVRTC, CUDA's run-time compiler: `pip install \"nvidia-cuda-nvrtc\" \"nvidia-cuda-cccl\" \"nvidia-cuda-runtime\"` brings it, or let "
                            "CUDA_HOME name a toolkit")


@functools.lru_cache(maxsize=None)
def version() -> tuple[int, int]:
    major, minor = ctypes.c_int(), ctypes.c_int()
    _library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


@functools.lru_cache(maxsize=None)
def _includes() -> list[str]:
    """The folders of CUDA's headers and of libcu++, NVRTC's standard library."""
    found = {}
    packages = [os.path.join(path, "nvidia", name) for path in sys.path for name in ("cuda_runtime", "cuda_cccl")]
    for folder in [*_folders(), *packages]:
        for below in ("include", "include/cccl"):
            for wanted in ("cuda_fp16.h", "cuda/std/cstdint"):
                if wanted not in found and os.path.exists(os.path.join(folder, below, wanted)):
                    found[wanted] = os.path.join(folder, below)
    for wanted, package in (("cuda_fp16.h", "nvidia-cuda-runtime"), ("cuda/std/cstdint", "nvidia-cuda-cccl")):
        if wanted not in found:
            raise FileNotFoundError(f"no CUDA header {wanted}: `pip install {package}` brings it, or let CUDA_HOME name a toolkit")
    return sorted(set(found.values()))


def _run(source: str, options: Sequence[str]) -> tuple[int, str, bytes, bytes]:
    """NVRTC's verdict, what it said, the cubin and its PTX."""
    api, program = _library(), ctypes.c_void_p()
    e = api.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"reduction.cu", 0, None, None)
    if e:
        raise RuntimeError(f"NVRTC: no program (error {e})")
    try:
        words = [o.encode() for o in options]
        verdict = api.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words))

        def got(what: str) -> bytes:
            size = ctypes.c_size_t()
            if getattr(api, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) or not size.value:
                return b""
            room = ctypes.create_string_buffer(size.value)
            getattr(api, f"nvrtcGet{what}")(program, room)
            return room.raw

        log = got("ProgramLog").rstrip(b"\0").decode(errors="replace")
        return verdict, log, b"" if verdict else got("CUBIN"), b"" if verdict else got("PTX")
    finally:
        api.nvrtcDestroyProgram(ctypes.byref(program))


def compiled(source: str, texts: Mapping[str, str], flags: Sequence[str], capability: int, who: str) -> Cubin:
    """A source as a cubin for GPUs of a compute capability (90 is 9.0), compiled unless it was before: by this source, these flags, this capability,
    this NVRTC and this version of the package.

    `texts` are the pieces of it that the caller wrote, by the names that its #line directives give them.
    """
    options = [*OPTIONS, *flags, *(f"-I{folder}" for folder in _includes()), f"-arch=sm_{capability}"]
    key = key_of(source, texts, ["nvrtc", *map(str, version()), *options])

    def build() -> bytes:
        verdict, log, cubin, ptx = _run(source, options)
        if verdict:
            raise CompileError(first_error(_as_compilers_say(log), texts, who, "NVRTC"), log)
        found = re.search(rb"warpfold_told\[(\d+)\] = \{([^}]*)\}", ptx)
        if found is None:
            raise RuntimeError(f"{who}: NVRTC's PTX does not tell of the kernels")
        numbers = [int(word) for word in found[2].split(b",")]
        numbers += [0] * (int(found[1]) - len(numbers))  # zeros at the end are not written
        told = [int.from_bytes(bytes(numbers[i:i + 4]), "little", signed=True) for i in range(0, len(numbers), 4)]
        head = json.dumps(told).encode()
        return len(head).to_bytes(4, "little") + head + cubin

    content = kept_file(key + ".cubin", build)
    size = 4 + int.from_bytes(content[:4], "little")
    return Cubin(content[size:], tuple(json.loads(content[4:size])))


def _as_compilers_say(log: str) -> str:
    """`name(line): error: …` as `name:line: error: …`."""
    return re.sub(r"^([^\s(:][^(\n]*)\((\d+)\): (?:catastrophic )?error(?: #[^:]*)?: ", r"\1:\2: error: ", log, flags=re.M)
