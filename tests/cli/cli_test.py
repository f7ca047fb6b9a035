#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives the built program as a user would. cli_test.py PROGRAM SOURCES [unittest's arguments]

Standard library only. The exact sums are computed anew here, with fractions, and compared bit for bit.
"""
import fractions
import json
import math
import os
import pathlib
import pty
import random
import re
import resource
import select
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM, SOURCES = sys.argv[1:3]
SEED = 20240611
Fraction = fractions.Fraction

# name: (numpy's code, struct's letter, bytes of a part, mantissa bits and exponent bits of a float)
FLOATS = {"f16": ("f2", "H", 2, 10, 5), "bf16": (None, "H", 2, 7, 8), "f32": ("f4", "I", 4, 23, 8),
          "f64": ("f8", "Q", 8, 52, 11), "c64": ("c8", "I", 4, 23, 8), "c128": ("c16", "Q", 8, 52, 11)}
INTEGERS = {"i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q"}


def value_of(bits, mantissa_bits, exponent_bits):
    """A finite float's bits as a fraction."""
    bias = 2 ** (exponent_bits - 1) - 1
    mantissa = bits & (2**mantissa_bits - 1)
    exponent = bits >> mantissa_bits & (2**exponent_bits - 1)
    assert exponent != 2**exponent_bits - 1
    if exponent:
        mantissa += 2**mantissa_bits
    value = Fraction(mantissa) * Fraction(2) ** (max(exponent, 1) - bias - mantissa_bits)
    return -value if bits >> (mantissa_bits + exponent_bits) else value


def rounded_bits(x, mantissa_bits, exponent_bits, mode="nearest"):
    """A fraction, not 0, rounded once to a float's bits."""
    bias = 2 ** (exponent_bits - 1) - 1
    sign = (x < 0) << (mantissa_bits + exponent_bits)
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, 1 - bias)
    scaled = size / Fraction(2) ** (exponent - mantissa_bits)
    up = mode == "away" or mode == ("down" if x < 0 else "up")
    whole = round(scaled) if mode == "nearest" else math.ceil(scaled) if up else math.floor(scaled)
    # A whole number of 2^(mantissa_bits + 1) carries into the exponent by itself.
    bits = (exponent + bias - 1 << mantissa_bits) + whole
    infinity = 2**exponent_bits - 1 << mantissa_bits
    if bits >= infinity:
        bits = infinity if mode == "nearest" or up else infinity - 1
    return sign | bits


def npy(descr, shape, data, fortran=False):
    header = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, content):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def run_program(self, *arguments, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, timeout=120, **more)

    def ok(self, *arguments, **more):
        run = self.run_program(*arguments, **more)
        self.assertEqual((run.returncode, run.stderr), (0, b""), arguments)
        return run.stdout.decode()

    def refused(self, *arguments, says="", status=2, output=b"", **more):
        """Nothing on stdout, one line on stderr."""
        run = self.run_program(*arguments, **more)
        text = run.stderr.decode()
        self.assertEqual(run.returncode, status, (arguments, text))
        self.assertEqual(run.stdout, output)
        self.assertRegex(text, r"\Awarpfold: [^\n]+\n\Z")
        self.assertNotRegex(text[:-1], r"[\x00-\x1f\x7f]")
        self.assertIn(says, text)
        return text

    def json_of(self, *arguments, **more):
        return [json.loads(line) for line in self.ok("sum", "--json", *arguments, **more).splitlines()]


class Sum(ProgramTest):
    def check_float(self, name, words, order, mode, *options):
        code, letter, size, mantissa_bits, exponent_bits = FLOATS[name]
        parts = 2 if name.startswith("c") else 1
        data = struct.pack(order + str(len(words)) + letter, *words)
        arguments = ["--round", mode, *options]
        if code:
            path = self.file("x.npy", npy(order + code, (len(words) // parts,), data))
        else:
            path = self.file("x.raw", data)
            arguments += ["--dtype", name, "--byte-order", "big" if order == ">" else "little"]
        (told,) = self.json_of(path, *arguments)
        self.assertEqual((told["dtype"], told["sum_dtype"], told["count"]), (name, name, len(words) // parts))
        self.assertEqual((told["file"], told["place"]), (path, "cpu"))
        bits = told["bits"] if parts == 2 else [told["bits"]]
        values = told["value"] if parts == 2 else [told["value"]]
        for part in range(parts):
            true = sum(value_of(w, mantissa_bits, exponent_bits) for w in words[part::parts])
            expected = rounded_bits(true, mantissa_bits, exponent_bits, mode) if true else 0
            self.assertEqual(bits[part], f"{expected:0{2 * size}x}", (name, order, mode, SEED))
            if expected & (2**exponent_bits - 1) << mantissa_bits != (2**exponent_bits - 1) << mantissa_bits:
                # The printed decimal reads back as the same bits.
                decimal = Fraction(str(values[part]))
                read = rounded_bits(decimal, mantissa_bits, exponent_bits) if decimal else 0
                self.assertEqual(read, expected, (name, values[part]))

    def test_floats_are_rounded_once(self):
        generator = random.Random(SEED)
        for name, (_, _, size, mantissa_bits, exponent_bits) in FLOATS.items():
            for order in "<>":
                for mode in ("nearest", "zero", "away", "up", "down"):
                    for n in (2, 30, 3000):
                        # Random bits over every exponent, subnormals among them, and some that cancel.
                        words = []
                        while len(words) < n:
                            word = generator.getrandbits(8 * size)
                            exponent = word >> mantissa_bits & 2**exponent_bits - 1
                            if exponent < 2**exponent_bits - 20:
                                words += [word, word ^ 1 << 8 * size - 1 ^ generator.getrandbits(1)]
                        generator.shuffle(words)
                        self.check_float(name, words, order, mode)

    def test_as_math_fsum(self):
        generator = random.Random(SEED)
        values = [generator.gauss(0, 1) * 10 ** generator.uniform(-20, 20) for _ in range(50_000)]
        path = self.file("x.npy", npy("<f8", (50_000,), struct.pack("<50000d", *values)))
        self.assertEqual(float(self.ok("sum", path)), math.fsum(values))

    def test_no_overflow_on_the_way(self):
        path = self.file("x.npy", npy("<f8", (3,), struct.pack("<3d", 1e308, 1e308, -1e308)))
        self.assertEqual(self.ok("sum", path), "1e+308\n")

    def test_f32_is_not_rounded_through_f64(self):
        path = self.file("x.npy", npy("<f4", (3,), struct.pack("<3f", 1, 2**-24, 2**-60)))
        self.assertEqual(self.json_of(path)[0]["bits"], "3f800001")

    def test_special_values(self):
        inf, nan = math.inf, math.nan
        for values, text, in_json, bits in (
                ([inf, 1], "inf", "Infinity", "7ff0000000000000"),
                ([-inf, 1e308], "-inf", "-Infinity", "fff0000000000000"),
                ([inf, -inf], "nan", "NaN", "7ff8000000000000"),
                ([1, -nan, 2], "nan", "NaN", "7ff8000000000000"),
                ([1e308, 1e308], "inf", "Infinity", "7ff0000000000000"),
                ([-0.0, -0.0], "-0", -0.0, "8000000000000000"),
                ([-0.0, 0.0], "0", 0, "0" * 16),
                ([1.5, -1.5], "0", 0, "0" * 16),
                ([], "0", 0, "0" * 16)):
            path = self.file("x.npy", npy("<f8", (len(values),), struct.pack(f"<{len(values)}d", *values)))
            self.assertEqual(self.ok("sum", path), text + "\n", values)
            (told,) = self.json_of(path)
            self.assertEqual((told["value"], told["bits"]), (in_json, bits), values)
            self.assertEqual(str(told["value"]).startswith("-"), text.startswith("-"))

    def test_integers(self):
        generator = random.Random(SEED)
        for name, letter in INTEGERS.items():
            for order in "<>":
                bits = 8 * struct.calcsize(order + letter)
                words = [generator.getrandbits(bits) - (2 ** (bits - 1) if name[0] == "i" else 0) for _ in range(1001)]
                path = self.file("x.npy", npy(order + name[0] + str(bits // 8), (7, 11, 13),
                                              struct.pack(order + "1001" + letter, *words)))
                run = self.run_program("sum", "--json", path)
                self.assertEqual(run.returncode, 0)
                told = json.loads(run.stdout)
                true, signed = sum(words), name[0] == "i"
                self.assertEqual(told["sum_dtype"], "i64" if signed else "u64")
                self.assertEqual(told["bits"], f"{true % 2**64:016x}")
                fits = -(2**63) <= true < 2**63 if signed else true < 2**64
                self.assertEqual(told["overflow"], not fits)
                wrapped = (true + 2**63) % 2**64 - 2**63 if signed else true % 2**64
                self.assertEqual(told["value"], wrapped)
                if not fits:
                    self.assertEqual(told["true_value"], str(true))
                    self.assertEqual(run.stderr.count(b"\n"), 1)

    def test_overflow_is_told_and_checked_on_request(self):
        path = self.file("x.npy", npy("<i8", (2,), struct.pack("<2q", 2**63 - 1, 1)))
        value = b"-9223372036854775808\n"
        self.refused("sum", path, says="the true sum 9223372036854775808 does not fit i64", status=0, output=value)
        self.refused("sum", path, "--check-overflow", says="does not fit i64", status=1, output=value)

    def test_bool_counts_true(self):
        path = self.file("x.npy", npy("|b1", (2, 3), b"\1\0\1\1\0\1"))
        self.assertEqual(self.ok("sum", path), "4\n")

    def test_complex(self):
        path = self.file("x.npy", npy(">c16", (2,), struct.pack(">4d", 1.5, -2, 0.25, 0)))
        self.assertEqual(self.ok("sum", path), "1.75-2j\n")
        self.assertEqual(complex(self.ok("sum", path).strip()), 1.75 - 2j)

    def test_fortran_order_and_zero_dimensions(self):
        data = struct.pack("<6d", *range(6))
        for shape, n in (("(2, 3)", 6), ("()", 1), ("(0,)", 0), ("(4, 0, 2)", 0)):
            path = self.file("x.npy", npy("<f8", shape, data[:8 * n], fortran=True))
            self.assertEqual(self.json_of(path)[0]["count"], n)

    def test_raw_at_any_offset(self):
        for offset in range(9):
            path = self.file("x.raw", b"\xff" * offset + struct.pack(">5d", 1, 2, 3, 4, 1e-30))
            self.assertEqual(
                self.ok("sum", path, "--dtype", "f64", "--byte-order", "big", "--offset", offset), "10\n")

    def test_threads_change_nothing(self):
        generator = random.Random(SEED)
        data = b"".join(struct.pack("<d", generator.gauss(0, 1) * 2.0 ** generator.randint(-300, 300))
                        for _ in range(400_000))
        path = self.file("x.raw", data)
        bits = {self.json_of(path, "--dtype", "f64", "--threads", n)[0]["bits"] for n in (1, 2, 3, 7, 32)}
        self.assertEqual(len(bits), 1)
        for misaligned in (1, 4):
            shifted = self.file("y.raw", b"x" * misaligned + data)
            bits.add(self.json_of(shifted, "--dtype", "f64", "--offset", misaligned)[0]["bits"])
        with open(path, "rb") as file:  # through a pipe, in pieces
            piped = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
            bits.add(self.json_of("-", "--dtype", "f64", stdin=piped.stdout)[0]["bits"])
            piped.stdout.close()
            self.assertEqual(piped.wait(), 0)
        self.assertEqual(len(bits), 1)

    def test_standard_input(self):
        content = npy("<f8", (3,), struct.pack("<3d", 1, 2, 4))
        path = self.file("x.npy", content)
        with open(path, "rb") as file:
            self.assertEqual(self.ok("sum", "-", stdin=file), "7\n")
        self.assertEqual(self.ok("sum", "-", stdin=None, input=content), "7\n")
        self.refused("sum", "-", stdin=None, input=content[:-1], says="standard input: the data ends after 23 bytes")
        self.refused("sum", "-", stdin=None, input=content + b"x", says="standard input: too many bytes at the end")
        self.refused("sum", "-", stdin=None, input=b"", says="the file is empty")
        self.refused("sum", "-", says="standard input: is a character device")

    def test_several_files_and_a_bad_one(self):
        good = self.file("good.npy", npy("<f8", (1,), struct.pack("<d", 7)))
        bad = self.file("bad.npy", npy("<f8", (9,), b""))
        self.refused("sum", good, bad, good, says=bad + ": byte 128", output=f"{good}: 7\n{good}: 7\n".encode())
        run = self.run_program("sum", "--json", bad, good)
        self.assertEqual(run.returncode, 2)
        first, second = map(json.loads, run.stdout.splitlines())
        self.assertEqual(first["file"], bad)
        self.assertIn("the data ends after 0 bytes", first["error"])
        self.assertEqual((second["file"], second["value"]), (good, 7))

    def test_every_wrong_file_of_the_corpus(self):
        files = sorted(pathlib.Path(SOURCES, "tests/fuzz/corpus/npy").glob("wrong_*"))
        self.assertGreater(len(files), 80)
        for path in files:
            self.refused("sum", path, says=f"{path}: byte ")
        run = self.run_program("sum", *files)
        self.assertEqual((run.returncode, run.stdout), (2, b""))
        self.assertEqual(run.stderr.count(b"\n"), len(files))

    def test_names_that_no_terminal_should_see(self):
        path = self.file("a\n\x1b[31m\udce9", npy("<f8", (1,), struct.pack("<d", 7)))
        self.assertEqual(self.json_of(path)[0]["value"], 7)
        self.refused("sum", path, "--dtype", "f64", says="a\\x0a\\x1b[31m\\xe9: is a .npy file")

    def test_places_that_are_no_files(self):
        secret = self.file("secret.npy", b"")
        os.chmod(secret, 0)
        self.refused("sum", self.folder.name, says="is a directory")
        self.refused("sum", "/dev/zero", "--dtype", "f64", says="is a character device")
        self.refused("sum", self.folder.name + "/none.npy", says="cannot be opened: No such file or directory")
        self.refused("sum", secret, says="the file is empty" if os.geteuid() == 0 else "Permission denied")
        # Says that it is empty and is not.
        self.refused("sum", "/proc/version", says="text, and no .npy file")

    def test_named_pipe(self):
        path = os.path.join(self.folder.name, "pipe")
        os.mkfifo(path)
        program = subprocess.Popen([PROGRAM, "sum", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with open(path, "wb") as file:
            file.write(npy("<f8", (2,), struct.pack("<2d", 1, 2)))
        self.assertEqual(program.communicate(timeout=60), (b"3\n", b""))

    def test_the_example(self):
        folder = pathlib.Path(SOURCES, "examples/data")
        path = folder / "sea_surface_temperature.npy"
        values = struct.unpack("<732d", path.read_bytes()[128:])
        naive = 0.0
        for x in values:
            naive += x
        told = self.ok("sum", path)
        self.assertEqual(float(told), math.fsum(values))
        self.assertNotEqual(float(told), naive)
        readme = (folder / "README.md").read_text()
        self.assertIn(f"\n{told}```", readme)
        self.assertIn(repr(naive), readme)
        self.assertIn(self.json_of(path)[0]["bits"], readme)


def rounded_root(x, mantissa_bits, exponent_bits):
    """The square root of a fraction, rounded once to a float's bits: 400 bits of it and a sticky one."""
    if not x:
        return 0
    scale = 400 + x.denominator.bit_length()
    square = x * 4**scale
    root = math.isqrt(math.floor(square))
    return rounded_bits((root + Fraction(root * root != square, 2)) / 2**scale, mantissa_bits, exponent_bits)


class Family(ProgramTest):
    """Every reduction × element type × byte order × memory order × axes, against the definitions."""
    SHAPE = (3, 4, 5)
    AXES = (None, "0", "1", "-1", "0,2", "1,0", "0,1,2")

    def arrays(self, generator):
        """(path, name, elements in C order as fractions, or pairs of them, options)"""
        cells = [(i, j, k) for i in range(3) for j in range(4) for k in range(5)]
        for name in (*FLOATS, *INTEGERS, "bool"):
            for order in "<>":
                for fortran in (False, True):
                    if name in FLOATS:
                        code, letter, size, mantissa_bits, exponent_bits = FLOATS[name]
                        parts = 2 if name[0] == "c" else 1
                        bias = 2 ** (exponent_bits - 1) - 1
                        words = [generator.getrandbits(mantissa_bits) | generator.randint(bias - 3, bias + 3) << mantissa_bits
                                 | generator.getrandbits(1) << 8 * size - 1 for _ in range(60 * parts)]
                        values = [value_of(w, mantissa_bits, exponent_bits) for w in words]
                        if parts == 2:
                            values = list(zip(values[::2], values[1::2]))
                            words = list(zip(words[::2], words[1::2]))
                    else:
                        letter = INTEGERS.get(name, "B")
                        bits = 8 * struct.calcsize("<" + letter)
                        words = [generator.getrandbits(1 if name == "bool" else bits) - (2 ** (bits - 1) if name[0] == "i" else 0)
                                 for _ in range(60)]
                        code, values, parts = "b1" if name == "bool" else name[0] + str(bits // 8), words, 1
                    if not code and fortran:
                        continue  # bf16 comes raw, and raw files have one dimension
                    place = dict(zip(cells, words))
                    stored = sorted(cells, key=lambda c: c[::-1]) if fortran else cells
                    flat = [w for c in stored for w in (place[c] if parts == 2 else [place[c]])]
                    data = struct.pack(order + str(len(flat)) + letter, *flat)
                    label = f"{name}{'le' if order == '<' else 'be'}{'F' if fortran else 'C'}"
                    path = self.file(label, npy(order + code, str(self.SHAPE), data, fortran) if code else data)
                    options = [] if code else ["--dtype", name, "--byte-order", "big" if order == ">" else "little"]
                    yield path, name, values, options

    def answers(self, values, axes, raw):
        """The elements of each answer in order, and the shapes of the answers without and with keepdims."""
        shape = (60,) if raw else self.SHAPE
        which = range(len(shape)) if axes is None else {int(a) % len(shape) for a in axes.split(",")}
        groups = {}
        for at, value in enumerate(values):
            index = []
            for n in reversed(shape):
                index.insert(0, at % n)
                at //= n
            groups.setdefault(tuple(i for d, i in enumerate(index) if d not in which), []).append(value)
        kept = [n for d, n in enumerate(shape) if d not in which]
        return list(groups.values()), kept, [1 if d in which else n for d, n in enumerate(shape)]

    def expected(self, reduction, name, x):
        """Bits in hexadecimal, or the value itself."""
        n, integer = len(x), name not in FLOATS
        if reduction in ("min", "max"):
            return bool((min if reduction == "min" else max)(x)) if name == "bool" else (min if reduction == "min" else max)(x)
        if reduction == "minmax":
            return [self.expected(r, name, x) for r in ("min", "max")]
        if reduction in ("argmin", "argmax"):
            return x.index((min if reduction == "argmin" else max)(x))
        zeros = sum(1 for v in x if v == 0 or v == (0, 0))
        if reduction in ("count", "any", "all"):
            return {"count": n, "any": zeros < n, "all": zeros == 0}[reduction]
        if name[0] == "c":
            parts = list(zip(*x))
            if reduction in ("sum", "mean"):
                return [self.expected(reduction, {"c64": "f32", "c128": "f64"}[name], list(p)) for p in parts]
            if reduction == "norm":
                return self.expected("norm", {"c64": "f32", "c128": "f64"}[name], [v for p in parts for v in p])
            if reduction == "dot":  # with itself: re² - im², 2·re·im
                _, _, _, mantissa_bits, exponent_bits = FLOATS[name]
                true = [sum(re * re - im * im for re, im in x), sum(2 * re * im for re, im in x)]
                return [value_of(rounded_bits(Fraction(v), mantissa_bits, exponent_bits) if v else 0,
                                 mantissa_bits, exponent_bits) for v in true]
            x = None
        signed = name[0] == "i" or name == "bool"
        wrapped = lambda v: (v + 2**63) % 2**64 - 2**63 if signed else v % 2**64
        if integer and reduction == "sum":
            return wrapped(sum(x))
        if integer and reduction == "dot":
            return wrapped(sum(v * v for v in x))
        if integer and reduction == "prod":
            return wrapped(math.prod(x))
        if integer and reduction == "norm1":
            return sum(map(abs, x)) % 2**64
        if integer and reduction == "norminf":
            return max(map(abs, x))
        _, _, size, mantissa_bits, exponent_bits = FLOATS["f64" if integer else name]
        if x is None:  # variance of complex numbers
            true = sum(Fraction(sum(v * v for v in p), n) - Fraction(sum(p), n) ** 2 for p in parts)
        elif reduction in ("var", "std"):
            true = Fraction(sum(v * v for v in x), n) - Fraction(sum(x), n) ** 2
        else:
            true = {"sum": lambda: sum(x), "mean": lambda: Fraction(sum(x), n), "dot": lambda: sum(v * v for v in x),
                    "norm": lambda: sum(v * v for v in x), "norm1": lambda: sum(map(abs, x)),
                    "norminf": lambda: max(map(abs, x))}[reduction]()
        root = reduction in ("std", "norm")
        bits = rounded_root(true, mantissa_bits, exponent_bits) if root else \
            rounded_bits(Fraction(true), mantissa_bits, exponent_bits) if true else 0
        return value_of(bits, mantissa_bits, exponent_bits)

    def flat(self, nested, depth):
        return nested if depth <= 1 else [x for row in nested for x in self.flat(row, depth - 1)]

    def test_every_reduction_type_order_and_axis(self):
        generator = random.Random(SEED)
        arrays = list(self.arrays(generator))
        reals = [a for a in arrays if a[1][0] != "c"]
        for reduction, options, takes in (
                ("sum", [], arrays), ("mean", [], arrays), ("var", [], arrays), ("std", [], arrays),
                ("norm", [], arrays), ("norm1", ["--ord", "1"], reals), ("norminf", ["--ord", "inf"], reals),
                ("dot", [], arrays), ("min", [], reals), ("max", [], reals), ("minmax", [], reals),
                ("argmin", [], reals), ("argmax", [], reals), ("count", [], arrays), ("any", [], arrays),
                ("all", [], arrays), ("prod", [], [a for a in reals if a[1] not in FLOATS])):
            command = "norm" if reduction.startswith("norm") else reduction
            pairs = 2 if reduction == "dot" else 1
            for axes in self.AXES:
                keep = axes == "1,0"
                for more in ([], *[a[3] for a in takes if a[3]]):
                    files = [a for a in takes if a[3] == more]
                    if more and axes not in (None, "0", "-1"):
                        continue
                    arguments = [*options, *more, *(["--axis=" + axes] if axes else []), *(["--keepdims"] if keep else [])]
                    run = self.run_program(command, "--json", *arguments, *[f[0] for f in files for _ in range(pairs)])
                    self.assertEqual(run.returncode, 0, run.stderr)
                    told = list(map(json.loads, run.stdout.splitlines()))
                    self.assertEqual(len(told), len(files))
                    for t, (path, name, values, _) in zip(told, files):
                        groups, kept, keptdims = self.answers(values, axes, bool(more))
                        want = [self.expected(reduction, name, g) for g in groups]
                        self.assertEqual(t["count"], 60)
                        if axes is None or not (keep or kept):
                            got = [t["value"]]
                        else:
                            self.assertEqual(t["shape"], keptdims if keep else kept)
                            got = self.flat(t["values"], len(t["shape"]))
                        self.check_values(t, name, reduction, axes, got, want)

    def check_values(self, told, name, reduction, axes, got, want):
        kind = told["result_dtype"]
        self.assertEqual(len(got), len(want))
        for g, w in zip(got, want):
            parts = zip(g, w) if isinstance(w, list) else [(g, w)]
            for one, true in parts:
                where = (reduction, name, axes, told["file" if "file" in told else "files"], one, true, SEED)
                if isinstance(true, (bool, int)) and not isinstance(true, Fraction):
                    if kind in FLOATS:
                        true = Fraction(true)
                    else:
                        self.assertIs(type(one), type(true), where)
                        self.assertEqual(one, true, where)
                        continue
                _, _, _, mantissa_bits, exponent_bits = FLOATS[kind]
                read = Fraction(str(one))
                bits = rounded_bits(read, mantissa_bits, exponent_bits) if read else 0
                self.assertEqual(value_of(bits, mantissa_bits, exponent_bits), true, where)

    def test_correction_rounding_and_accuracy(self):
        path = self.file("x.npy", npy("<f8", (4,), struct.pack("<4d", 1, 2, 3, 5)))
        self.assertEqual(self.ok("var", path), "2.1875\n")
        self.assertEqual(self.ok("var", path, "--correction", 1), "2.9166666666666665\n")
        self.assertEqual(self.ok("var", path, "--correction", 1, "--round", "up"), "2.916666666666667\n")
        self.assertEqual(self.ok("var", path, "--correction", 3), "8.75\n")
        for command, correction in (("std", 4), ("var", 5), ("var", 2**63 - 1)):
            self.refused(command, path, "--correction", correction, status=0, output=b"nan\n",
                         says=f"{path}: {command} of 4 elements with the correction {correction}, which must be less; the answer is nan")
        self.assertEqual(self.ok("var", path, f"--correction={-2**63}"), f"{8.75 / 2**63}\n")
        self.assertEqual(self.ok("mean", path, "--accuracy", "fast"), "2.75\n")
        cancels = self.file("y.npy", npy("<f8", (3,), struct.pack("<3d", 1e16, 1, -1e16)))
        self.assertEqual(self.ok("sum", cancels), "1\n")
        self.assertEqual(self.ok("norm", path, "--ord", "1"), "11\n")
        self.assertEqual(self.ok("norm", cancels, "--ord", "inf"), "1e+16\n")
        for other, order in (("norm1", "1"), ("norm2", "2"), ("norm_inf", "inf")):
            self.assertEqual(self.ok(other, cancels), self.ok("norm", cancels, "--ord", order))
        self.assertEqual(json.loads(self.ok("norm1", path, "--json"))["reduction"], "norm1")
        self.assertAlmostEqual(float(self.ok("logsumexp", path)), math.log(sum(map(math.exp, (1, 2, 3, 5)))), 14)
        self.assertEqual(self.ok("prod", path), "30\n")
        self.assertEqual(self.ok("minmax", path), "1 5\n")
        self.assertEqual(self.ok("sum_of_squares", path), "39\n")
        self.assertEqual(self.ok("mean_var", path), "2.75 2.1875\n")
        self.assertEqual(self.ok("mean_var", path, "--correction", 1), "2.75 2.9166666666666665\n")
        self.assertEqual(self.ok("count_nonzero", cancels), "3\n")
        parts = self.file("c.npy", npy("<c16", (2,), struct.pack("<4d", 1, 2, 3, 6)))
        self.assertEqual(self.ok("mean_var", parts), "2 4 5\n")
        whole = self.file("i.npy", npy("<i8", (2,), struct.pack("<2q", 2**62, 1)))
        self.refused("sum_of_squares", whole, "--check-overflow", status=1, output=b"1\n", says=f"the true sum_of_squares {2**124 + 1} does not fit")

    def test_every_operation_is_a_command(self):
        names = re.findall(r"^\| `(\w+)` \|", (pathlib.Path(SOURCES) / "docs/reductions.md").read_text("utf-8"), re.M)
        self.assertGreaterEqual(len(names), 21)
        path = self.file("x.npy", npy("<f8", (4,), struct.pack("<4d", 1, 2, 3, 5)))
        for name in names:
            self.ok(name, *([path] * (2 if name == "dot" else 1)))

    def test_fast_is_the_same_however_it_comes(self):
        generator = random.Random(SEED)
        n = 3_000_000  # three pieces of a pipe
        values = [generator.gauss(0, 1) for _ in range(n)]
        little, big = struct.pack(f"<{n}d", *values), struct.pack(f">{n}d", *values)
        told = set()
        for content, order in ((little, "<"), (big, ">")):
            path = self.file("x.npy", npy(order + "f8", (n,), content))
            for threads in ("1", "2", "5"):
                told.add(self.ok("sum", path, "--accuracy", "fast", "--threads", threads))
                told.add(self.ok("sum", "-", "--accuracy", "fast", "--threads", threads, stdin=None,
                                 input=npy(order + "f8", (n,), content)))
            told.add(self.ok("sum", "-", "--accuracy", "fast", "--dtype", "f64", "--byte-order",
                             "big" if order == ">" else "little", stdin=None, input=content))
        self.assertEqual(len(told), 1)
        self.assertAlmostEqual(float(told.pop()), math.fsum(values), 8)

    def test_pipes(self):
        data = struct.pack("<6d", 5, -1, 2, 9, -7, 2)
        plain, fortran = npy("<f8", (2, 3), data), npy("<f8", (2, 3), data, fortran=True)
        for command, expected in (("sum", "10"), ("argmin", "4"), ("argmax", "3"), ("prod", "1260"), ("minmax", "-7 9")):
            self.assertEqual(self.ok(command, "-", stdin=None, input=plain), expected + "\n")
        # In memory order 5 -1 2 9 -7 2; by index 5 2 -7 / -1 9 2.
        self.assertEqual(self.ok("argmin", "-", stdin=None, input=fortran), "2\n")
        self.assertEqual(self.ok("argmin", self.file("f.npy", fortran)), "2\n")
        self.assertEqual(self.ok("sum", "-", "--axis", "0", stdin=None, input=fortran), "4\n11\n-5\n")
        self.assertEqual(self.ok("max", "-", "--axis", "0", "--dtype", "f64", stdin=None, input=data), "9\n")
        path = self.file("x.npy", plain)
        self.assertEqual(self.ok("dot", path, "-", stdin=None, input=plain), "164\n")
        self.refused("dot", path, "-", "--dtype", "f64", "--offset", "128", stdin=None, input=data, says="past the end")
        raw = self.file("x.raw", data)
        self.refused("dot", raw, "-", "--dtype", "f64", stdin=None, input=data[:-8],
                     says="one ends before the other; they must have as many elements")

    def test_dot_pairs_by_index(self):
        rows = struct.pack("<6d", 1, 2, 3, 4, 5, 6)
        columns = struct.pack("<6d", 1, 4, 2, 5, 3, 6)
        c = self.file("c.npy", npy("<f8", (2, 3), rows))
        f = self.file("f.npy", npy("<f8", (2, 3), columns, fortran=True))
        big = self.file("b.npy", npy(">f8", (2, 3), struct.pack(">6d", 1, 2, 3, 4, 5, 6)))
        self.assertEqual(self.ok("dot", c, f, big, big), f"{c} {f}: 91\n{big} {big}: 91\n")
        self.assertEqual(self.ok("dot", f, big, "--axis", "1"), "14\n77\n")
        (told,) = map(json.loads, self.ok("dot", "--json", c, big).splitlines())
        self.assertEqual((told["files"], told["value"]), ([c, big], 91))
        flat = self.file("flat.npy", npy("<f8", (6,), rows))
        whole = self.file("whole.npy", npy("<i8", (2, 3), rows))
        self.refused("dot", c, flat, says=f"{c} and {flat}: shapes (2, 3) and (6,); they must be the same")
        self.refused("dot", c, whole, says=f"{c} and {whole}: elements of f64 and of i64; they must be of one type")
        self.refused("dot", c, says="1 files; dot takes two, or several pairs")

    def test_axes_print_a_line_an_answer_and_out_writes_them(self):
        path = self.file("x.npy", npy("<i4", (2, 3), struct.pack("<6i", 3, 1, 2, -5, 7, 0)))
        self.assertEqual(self.ok("sum", path, "--axis", "0"), "-2\n8\n2\n")
        self.assertEqual(self.ok("minmax", path, path, "--axis=-1"), f"{path}: 1 3\n{path}: -5 7\n" * 2)
        out = os.path.join(self.folder.name, "out.npy")
        for arguments, descr, shape, data in (
                (["sum", "--axis", "0"], "<i8", "(3,)", struct.pack("<3q", -2, 8, 2)),
                (["sum"], "<i8", "()", struct.pack("<q", 8)),
                (["mean", "--axis", "1", "--keepdims"], "<f8", "(2, 1)", struct.pack("<2d", 2, 2 / 3)),
                (["mean", "--keepdims"], "<f8", "(1, 1)", struct.pack("<d", 8 / 6)),
                (["minmax", "--axis", "1"], "<i4", "(2, 2)", struct.pack("<4i", 1, 3, -5, 7)),
                (["any", "--axis", "0"], "|b1", "(3,)", b"\1\1\1")):
            self.assertEqual(self.ok(*arguments, path, "--out", out), "")
            self.assertEqual(pathlib.Path(out).read_bytes(), npy(descr, shape, data), arguments)
        self.assertEqual(self.ok("sum", out), "3\n")  # it reads what it writes
        raw = self.file("x.raw", bytes(4))
        self.refused("sum", raw, "--dtype", "bf16", "--out", out, says=".npy files have no type for bf16")
        self.refused("sum", path, "--out", "/no/such/x.npy", says="/no/such/x.npy.part: cannot be created: No such file")
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["out.npy", "x.npy", "x.raw"])

    def test_out_is_a_pipe_a_device_or_a_link(self):
        path = self.file("x.npy", npy("<f8", (2,), struct.pack("<2d", 1, 2)))
        answer = npy("<f8", "()", struct.pack("<d", 3))
        folder = pathlib.Path(self.folder.name)
        pipe = folder / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        self.ok("sum", path, "--out", str(pipe))
        self.assertTrue(stat.S_ISFIFO(pipe.lstat().st_mode))
        self.assertEqual(os.read(reader, 4096), answer)
        self.assertEqual(self.run_program("sum", path, "--out", "/dev/stdout").stdout, answer)  # a link to a pipe
        full = folder / "full"
        os.symlink("/dev/full", full)
        self.refused("sum", path, "--out", str(full), says=f"{full}: cannot be written: No space left on device")
        link, file = folder / "link.npy", folder / "file.npy"
        file.write_bytes(b"before")
        os.symlink("file.npy", link)
        self.ok("sum", path, "--out", str(link))
        self.assertTrue(link.is_symlink())
        self.assertEqual(file.read_bytes(), answer)
        self.assertEqual(sorted(os.listdir(folder)), ["file.npy", "full", "link.npy", "pipe", "x.npy"])

    def told(self, *arguments, output, says):
        """An answer, and one line about it."""
        self.refused(*arguments, says=says, status=0, output=output)

    def test_of_nothing(self):
        path = self.file("x.npy", npy("<f8", (0, 3), b""))
        empty = npy("<f8", (0,), b"")
        for command, text in (("sum", "0"), ("prod", "1"), ("count", "0"), ("any", "false"), ("all", "true"),
                              ("logsumexp", "-inf"), ("norm", "0")):
            self.assertEqual(self.ok(command, path), text + "\n")
            self.assertEqual(self.ok(command, path, "--axis", "0"), (text + "\n") * 3)
            self.assertEqual(self.ok(command, path, "--axis", "1"), "")
        self.assertEqual(self.ok("norm", "--ord", "inf", path), "0\n")
        self.assertEqual(self.ok("dot", path, path), "0\n")
        for command in ("mean", "var", "std"):
            self.told(command, path, output=b"nan\n", says=f"warpfold: {path}: {command} of 0 elements; the answer is nan\n")
            self.told(command, path, "--axis", "0", output=b"nan\n" * 3,
                      says=f"warpfold: {path}: {command} of 0 elements; the answers are nan\n")
            self.assertEqual(self.ok(command, path, "--axis", "1"), "")
        out = os.path.join(self.folder.name, "out.npy")
        for command in ("min", "max", "minmax", "argmin", "argmax"):
            line = f"{command} of no elements; it takes 1 or more for each answer\n"
            self.refused(command, path, says=f"warpfold: {path}: {line}")
            self.refused(command, path, "--axis", "0", "--out", out, says=f"warpfold: {path}: {line}")
            self.refused(command, "-", stdin=None, input=empty, says=f"warpfold: standard input: {line}")
            self.refused(command, "-", "--dtype", "i32", stdin=None, input=b"", says=line)
            self.assertEqual(self.ok(command, path, "--axis", "1"), "")  # no answers
        self.assertFalse(os.path.exists(out))
        run = self.run_program("max", "--json", path)
        self.assertEqual((run.returncode, json.loads(run.stdout)["error"]),
                         (2, f"{path}: max of no elements; it takes 1 or more for each answer"))
        told = self.json_of(path, "--axis", "1")[0]
        self.assertEqual((told["shape"], told["values"], told["count"]), ([0], [], 0))
        many = self.file("many.npy", npy("<f8", (0, 1 << 40), b""))
        self.refused("sum", many, "--axis", "0", says="no elements, but answers of the shape (1099511627776,)")

    def test_overflow(self):
        path = self.file("x.npy", npy("<i8", (2, 2), struct.pack("<4q", 2**62, 2**62, -2**62, 1)))
        self.refused("dot", path, path, "--check-overflow", status=1, output=b"1\n",
                     says=f"the true dot {3 * 2**124 + 1} does not fit i64; the answer given is taken modulo 2^64")
        self.assertEqual(self.ok("dot", path, path), "1\n")
        self.refused("prod", path, "--check-overflow", status=1, output=b"0\n", says="the true product does not fit i64")
        self.refused("sum", path, "--axis", "1", status=0, output=b"-9223372036854775808\n-4611686018427387903\n",
                     says="of 2 true answers 1 does not fit i64; the answers given are taken modulo 2^64")
        self.assertEqual(self.ok("norm", path, "--ord", "1", "--check-overflow"), f"{3 * 2**62 + 1}\n")

    def test_refusals(self):
        path = self.file("x.npy", npy("<f8", (2, 3), bytes(48)))
        numbers = self.file("c.npy", npy("<c16", (1,), bytes(16)))
        scalar = self.file("scalar.npy", npy("<f8", (), bytes(8)))
        for arguments, says in (
                (["sum", path, "--axis", "2"], f"{path}: axis 2 of an array of 2 dimensions; axes are -2 to 1"),
                (["sum", path, "--axis", "0,-2"], "axis -2 is named twice"),
                (["sum", path, "--axis", "one"], "'one' is not a list of axes such as 0 or 0,2 or -1"),
                (["sum", path, "--axis", "0,"], "'0,' is not a list of axes"),
                (["sum", path, "--axis", "99999999999"], "is not a list of axes"),
                (["sum", path, path, "--out", "y.npy"], "--out: 2 answers for one file; reduce one at a time"),
                (["sum", path, "--accuracy", "fast", "--round", "up"], "up goes with exact answers"),
                (["min", path, "--round", "up"], "--round"),
                (["norm", path, "--ord", "3"], "3 not in {1,2,inf}"),
                (["sum", scalar, "--axis", "0"], f"{scalar}: axis 0 of an array of 0 dimensions, which has no axes"),
                (["var", path, "--correction", "x"], "--correction"),
                (["std", path, "--correction", "18446744073709551615"], "is not a correction from -2^63 to 2^63 - 1"),
                (["std", path, "--correction", "99999999999999999999"], "is not a correction"),
                (["std", path, "--correction", "1.5"], "is not a correction"),
                (["max", path, "--device", "gpu"], "gpu does not run max in this version"),
                (["sum", path, "--out", ""], "--out: '' is no file"),
                (["min", numbers], "min: elements of type c128; it takes real types"),
                (["norm", "--ord", "1", numbers], "norm1: elements of type c128; it takes real types")):
            with self.subTest(arguments=arguments):
                self.refused(*arguments, says=says)


class Documents(ProgramTest):
    def test_what_the_page_shows(self):
        text = pathlib.Path(SOURCES, "docs/cli.md").read_text()
        shown = [line for block in re.findall(r"```console\n(.*?)```", text, re.S) for line in block.splitlines()]
        commands = [k for k, line in enumerate(shown) if line.startswith("$ warpfold ")]
        self.assertGreaterEqual(len(commands), 3)
        for k, following in zip(commands, [*commands[1:], len(shown)]):
            told = self.ok(*shown[k].split()[2:], cwd=SOURCES)
            self.assertEqual(told.splitlines(), shown[k + 1:following])
        for option in re.findall(r"(?m)^\| `(--[a-z-]+)", text):
            self.assertTrue(any(option in self.ok(command, "--help") for command in ("sum", "var", "norm")), option)


class Usage(ProgramTest):
    def test_refusals(self):
        path = self.file("x.npy", npy("<f8", (1,), bytes(8)))
        raw = self.file("x.raw", bytes(7))
        for arguments, says in (
                ([], "subcommand is required"),
                (["summ", path], "no command 'summ'; did you mean sum?"),
                (["unheard-of", path], "no command 'unheard-of'; see: warpfold --help"),
                (["sum", path, "--out", path], "is what is read, and would be overwritten"),
                (["sum", path, "--out", os.path.join(os.path.dirname(path), ".", "x.npy")], "would be overwritten"),
                (["sum"], "FILE is required"),
                (["sum", path, "--frobnicate"], "--frobnicate"),
                (["sum", path, "--offset", "8"], "--offset requires --dtype"),
                (["sum", path, "--byte-order", "big"], "--byte-order requires --dtype"),
                (["sum", path, "--dtype", "f8"], "f8 not in {f16,bf16,f32"),
                (["sum", path, "--dtype", "f64"], "is a .npy file, which names its own type"),
                (["sum", raw, "--dtype", "f64"], "7 bytes are not a multiple of 8"),
                (["sum", raw, "--dtype", "u8", "--offset", "8"], "the offset 8 is past the end"),
                (["sum", raw, "--dtype", "u8", "--offset", "-1"], "--offset"),
                (["sum", raw, "--dtype", "u8", "--offset", "9223372036854775808"], "--offset: '9223372036854775808' is not a number of bytes"),
                (["sum", raw, "--dtype", "u8", "--offset", "1k"], "--offset"),
                (["sum", path, "--threads", "0"], "--threads"),
                (["sum", path, "--threads", "many"], "--threads"),
                (["sum", path, "--round", "even"], "--round"),
                (["sum", path, "--device", "tpu"], "--device"),
                (["sum", path, "--device", "gpu"], "gpu does not run sum in this version; cpu and auto do"),
                (["sum", path, "--device", "simt"], "simt does not run sum in this version; cpu and auto do"),
                (["info", "extra"], "extra"),
                (["sum", "a\nb"], "a\\x0ab")):
            with self.subTest(arguments=arguments):
                self.refused(*arguments, says=says)

    def test_what_explain_refuses(self):
        if b"explain" not in self.run_program("--help").stdout:
            self.skipTest("built without the ladder")
        for option, text, says in (("--tolerance", "x", "--tolerance: 'x' is not a number of 0 or more, as 0.01"), ("--tolerance", "nan", "is not a number of 0 or more"),
                                   ("--tolerance", "-0.5", "is not a number of 0 or more"), ("--tolerance", "0.5", "--tolerance is for a kernel of your own"),
                                   ("--html", "", "--html: '' is no file"), ("--svg", "", "--svg: '' is no file")):
            with self.subTest(option=option, text=text):
                self.refused("explain", "atomic", "--n", "1000", option, text, says=says)

    def test_an_input_that_would_be_overwritten_stays_as_it_is(self):
        content = npy("<f8", (3,), struct.pack("<3d", 1, 2, 3))
        path = self.file("kept.npy", content)
        link = os.path.join(self.folder.name, "link.npy")
        os.symlink(path, link)
        self.refused("sum", path, "--out", link, says="would be overwritten")
        self.assertEqual(pathlib.Path(path).read_bytes(), content)
        other = os.path.join(self.folder.name, "other.npy")
        self.ok("sum", path, "--out", other)
        self.assertTrue(os.path.exists(other))

    def test_ctrl_c_leaves_no_folder(self):
        kernel = os.path.join(SOURCES, "tests/lens/own/schedules.cu") + ":child"
        if b"explain" not in self.run_program("--help").stdout:
            self.skipTest("built without the ladder")
        folder = pathlib.Path(self.folder.name)
        for number in (signal.SIGINT, signal.SIGTERM):
            program = subprocess.Popen([PROGRAM, "explain", kernel, "--grid", "1", "--block", "64", "--arg", "out:i32[64]"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(folder)})
            begun = time.monotonic()
            while not list(folder.glob("warpfold-*/program.cpp")):
                self.assertLess(time.monotonic() - begun, 60)
                time.sleep(0.01)
            program.send_signal(number)
            self.assertEqual(program.stderr.read(), b"")
            program.stderr.close()
            self.assertEqual(program.wait(60), -number)
            self.assertEqual(list(folder.glob("warpfold-*")), [])

    def test_help_and_version(self):
        self.assertRegex(self.ok("--version"), r"\Awarpfold \d+\.\d+\.\d+\n\Z")
        self.assertIn("Exit status:", self.ok("--help"))
        text = self.ok("sum", "--help")
        for option in ("--dtype", "--offset", "--byte-order", "--round", "--device", "--threads",
                       "--check-overflow", "--json"):
            self.assertIn(option, text)
        self.assertIn("info", self.ok("--help"))

    def test_output_that_cannot_be_written(self):
        path = self.file("x.npy", npy("<f8", (1,), bytes(8)))
        with open("/dev/full", "wb") as full:
            run = subprocess.run([PROGRAM, "sum", path], stdout=full, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(run.returncode, 2)
        self.assertRegex(run.stderr.decode(), r"\Awarpfold: standard output cannot be written: [^\n]+\n\Z")

    def test_a_reader_that_leaves(self):
        path = self.file("x.npy", npy("<f8", (1,), bytes(8)))
        program = subprocess.Popen([PROGRAM, "sum", *[path] * 20_000], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        program.stdout.readline()
        program.stdout.close()
        self.assertEqual(program.stderr.read(), b"")
        program.stderr.close()
        self.assertEqual(program.wait(60), -signal.SIGPIPE)

    def limited(self, *arguments, **more):
        """Refused for want of memory, of which the program has 400 MiB."""
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
        if self.run_program("--version", preexec_fn=limit).returncode != 0:
            self.skipTest("the program does not start in so little memory: the sanitizers are in it")
        self.refused(*arguments, says="warpfold: out of memory", preexec_fn=limit, **more)

    def test_no_memory(self):
        with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE) as zeros:
            self.limited("sum", "--dtype", "f64", "--axis", "0", "-", stdin=zeros.stdout)
            zeros.kill()
        header = self.file("header.npy", npy("<f4", "(134217728,)", b""))
        with subprocess.Popen(["cat", header], stdout=subprocess.PIPE) as pipe:
            self.limited("ladder", "--device", "simt", "--input", "-", stdin=pipe.stdout)

    def test_a_file_that_shrinks_while_it_is_read(self):
        path = self.file("x.raw", b"")
        os.truncate(path, 64 << 30)  # sparse: seconds of work
        program = subprocess.Popen([PROGRAM, "sum", path, "--dtype", "f64"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.5)
        os.truncate(path, 0)
        output, errors = program.communicate(timeout=60)
        self.assertEqual((program.returncode, output), (2, b""))
        self.assertEqual(errors, b"warpfold: a file shrank or its disk failed while it was read\n")


class Info(ProgramTest):
    def test_words(self):
        text = self.ok("info")
        for word in ("warpfold", "compiler", "processor", "cpu", "simt", "gpu"):
            self.assertRegex(text, rf"(?m)^{word} ")

    def test_json(self):
        told = json.loads(self.ok("info", "--json"))
        self.assertEqual("warpfold " + told["version"] + "\n", self.ok("--version"))
        self.assertGreaterEqual(told["cpu"]["cores"], 1)
        places = {place["place"]: place for place in told["places"]}
        self.assertEqual(list(places), ["cpu", "simt", "gpu"])
        self.assertTrue(places["cpu"]["available"])
        for place in places.values():
            self.assertTrue(place["available"] or place["why"])  # what is missing says why

    def test_tuning(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "tuning.json"
            file.write_text("{")
            env = {**os.environ, "WARPFOLD_TUNE": str(file)}
            told = json.loads(self.ok("info", "--json", env=env))["tuning"]
            self.assertEqual(told["file"], str(file))
            self.assertIn(f"{file}: not JSON", told["why"])
            self.assertRegex(self.ok("info", env=env), r"(?m)^tuning +not used: .*not JSON")
            file.write_text('{"warpfold_tuning": 1, "gpus": {}}')
            self.assertEqual(json.loads(self.ok("info", "--json", env=env))["tuning"], {"file": str(file)})


class Tune(ProgramTest):
    def test_what_the_page_shows(self):
        """The commands of docs/gpu.md, which without a GPU end with one line and write nothing; the file that it shows is one that is read."""
        page = pathlib.Path(SOURCES, "docs/gpu.md").read_text()
        commands = [line.split("#")[0].split() for line in re.findall(r"(?m)^warpfold (.*)$", page)]
        self.assertEqual(commands, [["tune"], ["tune", "--dry-run"]])
        shown = next(block for block in re.findall(r"```json\n(.*?)```", page, re.S) if "warpfold_tuning" in block)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "tuning.json"
            env = {**os.environ, "WARPFOLD_TUNE": str(file), "CUDA_VISIBLE_DEVICES": ""}
            for command in commands:
                self.refused(*command, env=env, status=3)
                self.assertFalse(file.exists())
            file.write_text(shown)
            self.assertEqual(json.loads(self.ok("info", "--json", env=env))["tuning"], {"file": str(file)})
            values = next(iter(json.loads(shown)["gpus"].values()))
            self.assertEqual(list(values), re.findall(r"(?m)^\| `(\w+)` \| [^|]*\| (?:multiples of|0 or|1 to)[^|]*\|$", page))
            for wrong in ("gpus", "warpfold_tuning"):  # the same file with another name in it is told of
                file.write_text(shown.replace(f'"{wrong}"', '"other"'))
                self.assertIn("why", json.loads(self.ok("info", "--json", env=env))["tuning"])

    def test_there_is_nothing_to_tune_without_a_gpu(self):
        self.refused("tune", "--device", "simt", says="simt is not a GPU", status=3)
        places = {place["place"]: place for place in json.loads(self.ok("info", "--json"))["places"]}
        if not places["gpu"]["available"]:
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "tuning.json"
                self.refused("tune", "--out", file, status=3)
                self.assertFalse(file.exists())

    def test_options(self):
        self.refused("tune", "--memory", "1", says="--memory")
        self.refused("tune", "--device", "cpu", says="--device")


class Terminal(ProgramTest):
    def watch(self, pause, *options):
        """Feeds a pipe slowly to a program whose errors go to a terminal; what the terminal showed."""
        terminal, program_end = pty.openpty()
        content = npy("<f8", (2000,), bytes(16000))
        program = subprocess.Popen([PROGRAM, "sum", "-", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=program_end)
        os.close(program_end)
        program.stdin.write(content[:8000])
        program.stdin.flush()
        time.sleep(pause)
        program.stdin.write(content[8000:])
        program.stdin.close()
        output = program.stdout.read()
        program.stdout.close()
        self.assertEqual(program.wait(60), 0)
        self.assertEqual(output, b"0\n")
        return self.all_shown(terminal)

    def test_a_bar_after_a_second(self):
        shown = self.watch(1.6)
        self.assertRegex(shown, r"standard input \[[#.]+\] +\d+%")
        self.assertTrue(shown.endswith("\r\033[K"), repr(shown[-40:]))

    def explain_watched(self, n):
        """A terminal for standard error, and the program."""
        if b"explain" not in subprocess.run([PROGRAM, "--help"], capture_output=True).stdout:
            self.skipTest("built without the ladder")
        terminal, program_end = pty.openpty()
        program = subprocess.Popen([PROGRAM, "explain", "tree_modulo", "--n", n], stdout=subprocess.PIPE, stderr=program_end)
        os.close(program_end)
        return terminal, program

    def all_shown(self, terminal):
        shown = b""
        while select.select([terminal], [], [], 0.2)[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:  # the other end is closed
                break
        os.close(terminal)
        return shown.decode()

    def test_explain_tells_how_far_it_is(self):
        terminal, program = self.explain_watched("1M")
        shown = os.read(terminal, 65536).decode()  # the bar has begun
        output = program.stdout.read().decode()
        program.stdout.close()
        shown += self.all_shown(terminal)
        self.assertEqual(program.wait(60), 0)
        self.assertRegex(shown, r"explain tree_modulo: (counting|looking for races) \[#*\.*\] \d+%, about \d+ s left")
        self.assertTrue(shown.endswith("\r\033[K"), repr(shown[-40:]))
        self.assertTrue(output.startswith("tree_modulo"), output[:80])
        self.assertNotIn("\033", output)

    def test_ctrl_c_wipes_the_bar_of_explain(self):
        terminal, program = self.explain_watched("64M")
        shown = os.read(terminal, 65536).decode()
        program.send_signal(signal.SIGINT)
        self.assertEqual(program.wait(60), -signal.SIGINT)
        self.assertEqual(program.stdout.read(), b"")
        program.stdout.close()
        shown += self.all_shown(terminal)
        self.assertRegex(shown, r"explain tree_modulo: (preparing|counting) \[")
        self.assertTrue(shown.endswith("\r\033[K"), repr(shown[-40:]))

    def test_ctrl_c_wipes_the_bar(self):
        terminal, program_end = pty.openpty()
        program = subprocess.Popen([PROGRAM, "sum", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=program_end)
        os.close(program_end)
        program.stdin.write(npy("<f8", (2000,), bytes(16000))[:8000])
        program.stdin.flush()
        shown = os.read(terminal, 65536)  # the bar has begun
        program.send_signal(signal.SIGINT)
        self.assertEqual(program.wait(60), -signal.SIGINT)
        program.stdin.close()
        while select.select([terminal], [], [], 0.2)[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:
                break
        os.close(terminal)
        self.assertTrue(shown.endswith(b"\r\033[K"), repr(shown[-40:]))

    def test_none_before(self):
        self.assertEqual(self.watch(0.1), "")


if __name__ == "__main__":
    print("seed", SEED)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
