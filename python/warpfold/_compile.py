# SPDX-License-Identifier: Apache-2.0
"""C++ text as shared objects: the host's compiler, and a cache on disk that processes share."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
import threading

from ._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

INCLUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
FLAGS = ["-std=c++20", "-O3", "-fPIC", "-shared", "-fvisibility=hidden", "-ffp-contract=off", "-Werror=return-type"]
# After the ELF file, which no loader reads: a mark and the digest of all before it. A file cut short or damaged is seen by that
# before it is loaded, which could end the process.
MARK = b"warpfold"
_TRAILER = len(MARK) + 32

_loaded: dict[str, ctypes.CDLL] = {}
_locks: dict[str, threading.Lock] = {}  # by key: two threads may compile two sources


class CompileError(ValueError):
    """C++ text that does not compile. Its message is the compiler's first error, `output` all that the compiler said."""

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message)
        self.output = output

    def __reduce__(self) -> tuple[type[CompileError], tuple[str, str]]:
        return type(self), (str(self), self.output)


def compiler() -> list[str]:
    """The command of the host's C++ compiler: $CXX, Python's own, then what PATH has."""
    wanted = os.environ.get("CXX", "").strip()
    if wanted:
        words = shlex.split(wanted)
        found = shutil.which(words[0])
        if found is None:
            raise FileNotFoundError(f"CXX={wanted}: there is no such program; unset it, or name a C++20 compiler")
        return [found, *words[1:]]
    pythons = shlex.split(sysconfig.get_config_var("CXX") or "")[:1]
    for name in (*pythons, "c++", "g++", "clang++"):
        found = shutil.which(name)
        if found is not None:
            return [found]
    raise FileNotFoundError("no C++ compiler: $CXX names none, and PATH has no c++, g++ or clang++; install g++ 12 or clang++ 15, or later ones")


def cache_folder() -> str | None:
    """Where compiled files are kept; None: nowhere."""
    named = os.environ.get("WARPFOLD_CACHE")
    if named is not None:
        return None if named in ("", "0", "off") else os.path.abspath(os.path.expanduser(named))
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "warpfold")


@functools.lru_cache(maxsize=None)
def _headers() -> str:
    """The digest of all headers that may be included: a compiled file lays its tables out as they say."""
    digest = hashlib.sha256()
    for folder, below, names in os.walk(INCLUDE):
        below.sort()
        for name in sorted(names):
            digest.update(name.encode())
            with open(os.path.join(folder, name), "rb") as f:
                digest.update(f.read())
    return digest.hexdigest()


def key_of(source: str, texts: Mapping[str, str], told: Sequence[str]) -> str:
    """The name of a compiled file: of its source, the package's version, and what else decides what is compiled."""
    parts = [__version__, *told, source, *texts.keys(), *texts.values()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def _key(source: str, texts: Mapping[str, str], command: Sequence[str]) -> str:
    at = os.stat(os.path.realpath(command[0]))  # another compiler of the same name is another file
    told = [_headers(), *command, f"{at.st_size} {at.st_mtime_ns}"]
    if any("native" in word for word in command):
        told.append(_processor())
    return key_of(source, texts, told)


def _processor() -> str:
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith(("flags", "Features")):
                return line
    return " ".join(os.uname())


def _intact(path: str) -> bool:
    try:
        with open(path, "rb") as f:
            content = f.read()
    except OSError:
        return False
    body, mark, digest = content[:-_TRAILER], content[-_TRAILER:-32], content[-32:]
    return mark == MARK and hashlib.sha256(body).digest() == digest


def kept_file(name: str, build: Callable[[], bytes]) -> bytes:
    """What build() gives, from the cache where it is there and whole; else built, and kept there."""
    with _locks.setdefault(name, threading.Lock()):
        cache = cache_folder()
        path = None if cache is None else os.path.join(cache, name)
        if path is not None and _intact(path):
            with contextlib.suppress(OSError), open(path, "rb") as f:
                return f.read()[:-_TRAILER]
        content = build()
        made, writable = _folder(cache)
        with made as place:
            if writable is not None and path is not None:
                whole = os.path.join(place, name)
                with open(whole, "wb") as f:
                    f.write(content + MARK + hashlib.sha256(content).digest())
                with contextlib.suppress(OSError):
                    os.replace(whole, path)
        return content


def _folder(cache: str | None) -> tuple[tempfile.TemporaryDirectory[str], str | None]:
    """A folder of one's own to compile in, on the file system of the cache if that can be written to, and the cache if so."""
    if cache is not None:
        with contextlib.suppress(OSError):
            os.makedirs(cache, mode=0o700, exist_ok=True)
            return tempfile.TemporaryDirectory(prefix=".compiling-", dir=cache), cache
    return tempfile.TemporaryDirectory(prefix="warpfold-"), None


def load(source: str, texts: Mapping[str, str], flags: Sequence[str], who: str) -> ctypes.CDLL:
    """The shared object of a source, compiled unless it was before.

    `texts` are the pieces of it that the caller wrote, by the names that its #line directives give them.
    """
    command = [*compiler(), *FLAGS, *flags, "-I", INCLUDE]
    key = _key(source, texts, command)
    with _locks.setdefault(key, threading.Lock()):
        if key in _loaded:
            return _loaded[key]
        cache = cache_folder()
        kept = None if cache is None else os.path.join(cache, key + ".so")
        if kept is not None and _intact(kept):
            with contextlib.suppress(OSError):  # it cannot be loaded on this system: compiled anew
                _loaded[key] = ctypes.CDLL(kept)
                return _loaded[key]
        made, writable = _folder(cache)
        with made as place:
            built = _build(source, texts, command, place, who)
            if writable is not None and kept is not None:
                with contextlib.suppress(OSError):  # whole or not at all, whoever else writes it
                    os.replace(built, kept)
                    built = kept
            _loaded[key] = ctypes.CDLL(built)
        return _loaded[key]


def _build(source: str, texts: Mapping[str, str], command: list[str], place: str, who: str) -> str:
    for name, text in {**texts, "reduction.cpp": source}.items():  # the compiler quotes lines of them
        with open(os.path.join(place, name), "w", encoding="utf-8") as f:
            f.write(text + "\n")
    built = os.path.join(place, "reduction.so")
    done = subprocess.run([*command, "reduction.cpp", "-o", "reduction.so"], cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", env={**os.environ, "LC_ALL": "C"})
    if done.returncode != 0 or not os.path.exists(built):
        raise CompileError(first_error(done.stdout, texts, who, command[0]), done.stdout)
    with open(built, "rb") as f:
        digest = hashlib.sha256(f.read()).digest()
    with open(built, "ab") as f:
        f.write(MARK + digest)
    return built


def first_error(output: str, texts: Mapping[str, str], who: str, program: str) -> str:
    """One line: where in the caller's text, and what the compiler says of it."""
    found = [(m[1], int(m[2]), m[4]) for m in re.finditer(r"^([^\s:][^:\n]*):(\d+):(?:(\d+):)? (?:fatal )?error: (.*)$", output, re.M)]
    lone = next(((name, bracket) for name, text in texts.items() if (bracket := _lone_bracket(text)) is not None), None)
    for name, line, what in found:
        ours = re.search(r"warpfold: (.*)", what)
        if ours and lone is not None:  # which moves what is behind it
            break
        if ours:  # a rule of reductions, not of C++
            return f"{who}: {ours[1].rstrip(chr(34))}"
        if name in texts:
            lines = texts[name].splitlines()
            quoted = lines[line - 1].strip() if 0 < line <= len(lines) else ""
            return f"{who}: {name}=, line {line}: {what}, in: {quoted}"
    if lone is not None:  # what a compiler notices far behind it
        return f"{who}: {lone[0]}=: a {lone[1]} that has no other"
    if found:
        return f"{who}: {found[0][2]}"
    rest = [line for line in output.splitlines() if line.strip()]
    return f"{who}: {program} does not compile it: {rest[-1].strip() if rest else 'it says nothing'}"


def _lone_bracket(text: str) -> str | None:
    """A bracket of a text that opens and does not close, or the other way round; literals and comments do not count."""
    opened: list[str] = []
    for one in re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", " ", text, flags=re.DOTALL):
        if one in "([{":
            opened.append(one)
        elif one in ")]}" and (not opened or opened.pop() + one not in ("()", "[]", "{}")):
            return one
    return opened[-1] if opened else None
