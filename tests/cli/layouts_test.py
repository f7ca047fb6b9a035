#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random arrays, laid out in every way, through every command, against a plain oracle.
layouts_test.py PROGRAM SOURCES [--cases N] [--seconds S] [--seed S]

Draws the command, its options, the element type, shape and axes, and for each input its memory order (C or
Fortran), byte order and how it comes (mapped or a pipe; .npy or raw). The oracle knows nothing of layouts: it
has the elements in C order, and takes sums in whole numbers. Standard library only. A failure prints the seed
and the case; --seed with it draws the same cases again.
"""
import argparse
import ast
import fcntl
import itertools
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import time

from cli_test import FLOATS, INTEGERS, PROGRAM, SOURCES, Fraction, npy, rounded_bits

COMMANDS = ("sum", "mean", "var", "std", "mean_var", "sum_of_squares", "norm", "norm1", "norm2", "norm_inf", "dot", "prod", "min",
            "max", "argmin", "argmax", "minmax", "count", "count_nonzero", "any", "all", "logsumexp")
NEED_AN_ELEMENT = {"min", "max", "minmax", "argmin", "argmax"}
OF_REALS = NEED_AN_ELEMENT | {"logsumexp", "norm1", "norm_inf"}
ROUNDED = {"sum", "mean", "var", "std", "mean_var", "sum_of_squares", "norm", "norm1", "norm2", "dot"}
DIVIDED = {"mean", "var", "std", "mean_var"}
CORRECTED = DIVIDED - {"mean"}
WRAPPING = {"sum", "prod", "dot", "sum_of_squares", "norm1"}
ROUNDING = ("nearest", "zero", "away", "up", "down")
UNIT = 1074  # every finite element is a whole number of 2^-1074
F_SETPIPE_SZ = 1031


def part_of(name):
    return {"c64": "f32", "c128": "f64"}.get(name, name)


def is_complex(name):
    return name in ("c64", "c128")


def is_signed(name):
    return name[0] == "i" or name == "bool"


def float_of(bits, name):
    """Every float type's values are values of f64."""
    _, _, size, mantissa_bits, exponent_bits = FLOATS[name]
    if name == "bf16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    return struct.unpack("<" + {2: "e", 4: "f", 8: "d"}[size], bits.to_bytes(size, "little"))[0]


def bits_of(value, name):
    """A float that the type has, as its bits."""
    _, _, size, mantissa_bits, exponent_bits = FLOATS[name]
    sign = int(math.copysign(1, value) < 0) << (8 * size - 1)
    if math.isnan(value):
        return sign | 2**exponent_bits - 1 << mantissa_bits | 1 << mantissa_bits - 1
    if math.isinf(value):
        return sign | 2**exponent_bits - 1 << mantissa_bits
    return rounded_bits(Fraction(value), mantissa_bits, exponent_bits) if value else sign


# ---- The oracle: elements are floats, whole numbers or, of complex types, pairs; answers are bits or whole numbers.

def scaled(x):
    numerator, denominator = x.as_integer_ratio()
    return numerator << UNIT - denominator.bit_length() + 1


def rounded(x, name, mode, minus_zero=False):
    """A fraction (or "nan", ±inf) as a float's bits."""
    _, _, size, mantissa_bits, exponent_bits = FLOATS[name]
    if isinstance(x, float):
        return bits_of(x, name)
    if not x:
        return int(minus_zero) << (8 * size - 1)
    return rounded_bits(x, mantissa_bits, exponent_bits, mode)


def root(x, name, mode):
    """The square root, rounded once: hundreds of its bits, and one that says whether there are more."""
    if isinstance(x, float) or not x:
        return rounded(x, name, mode)
    scale = 400 + x.denominator.bit_length()
    square = x * 4**scale
    whole = math.isqrt(math.floor(square))
    return rounded((whole + Fraction(whole * whole != square, 2)) / 2**scale, name, mode)


def special(x):
    """The sum of floats of which one is not finite, else nothing."""
    if any(map(math.isnan, x)) or (math.inf in x and -math.inf in x):
        return math.nan
    return math.inf if math.inf in x else -math.inf if -math.inf in x else None


def float_sum(x, name, mode, divisor=1):
    odd = special(x)
    if odd is not None:
        return rounded(odd, name, mode)
    minus_zero = len(x) > 0 and all(v == 0 and math.copysign(1, v) < 0 for v in x)
    return rounded(Fraction(sum(map(scaled, x)), divisor * 2**UNIT), name, mode, minus_zero)


def float_dot(pairs, name, mode):
    """Of pairs (a, b), as their products are under IEEE 754 but for rounding."""
    odd = special([a * b for a, b in pairs if not (math.isfinite(a) and math.isfinite(b))])
    if odd is not None:
        return rounded(odd, name, mode)
    minus_zero = len(pairs) > 0 and all(
        (a == 0 or b == 0) and math.copysign(1, a) * math.copysign(1, b) < 0 for a, b in pairs)
    return rounded(Fraction(sum(scaled(a) * scaled(b) for a, b in pairs), 4**UNIT), name, mode, minus_zero)


def squares(x):
    """Of the parts of all elements: the exact sum of squares."""
    if any(map(math.isnan, x)):
        return math.nan
    return math.inf if any(map(math.isinf, x)) else Fraction(sum(scaled(v) ** 2 for v in x), 4**UNIT)


def variance(parts, n, correction):
    if n == 0 or n <= correction or any(not math.isfinite(v) for p in parts for v in p):
        return math.nan
    total = 0
    for p in parts:
        whole = [scaled(v) for v in p]
        total += n * sum(v * v for v in whole) - sum(whole) ** 2
    return Fraction(total, n * (n - correction) * 4**UNIT)


def least(x, greatest=False):
    """NaN before all; -0 below +0."""
    key = lambda v: (v, math.copysign(1, v)) if isinstance(v, float) else v
    for v in x:
        if v != v:
            return v
    return (max if greatest else min)(x, key=key)


def modulo(x, signed):
    return (x + 2**63) % 2**64 - 2**63 if signed else x % 2**64


class Case:
    def __init__(self, generator):
        self.random = generator
        pick = generator.choice
        self.command = pick(COMMANDS + ("dot",) * 8)
        self.raw = generator.random() < 0.2
        types = [t for t in (*FLOATS, *INTEGERS, "bool") if not (is_complex(t) and self.command in OF_REALS)]
        self.type = pick(types)
        self.raw = self.raw or self.type == "bf16"  # which .npy files have not
        self.ord = pick(("2", "1", "inf")) if self.command == "norm" and not is_complex(self.type) else "2"
        norms = {"norm": "norm" + self.ord.replace("inf", "_inf")}
        self.operation = norms.get(self.command, self.command)  # what is computed
        self.inputs = 2 if self.command == "dot" else 1
        self.draw_shape()
        self.options()
        self.elements = [self.draw_elements() for _ in range(self.inputs)]
        self.layouts = [{"fortran": generator.random() < 0.5 and not self.raw, "big": generator.random() < 0.5,
                         "pipe": generator.random() < 0.4} for _ in range(self.inputs)]
        if self.raw:  # one --byte-order for all
            for layout in self.layouts:
                layout["big"] = self.layouts[0]["big"]

    def draw_shape(self):
        pick = self.random.choice
        if self.raw:
            self.shape = (pick((0, 1, 2, 7, 60, 5000)),)
        elif self.random.random() < 0.1:
            self.shape = pick(((70, 90), (2, 3000), (3000, 2), (9, 10, 70), (4097,)))
        else:
            self.shape = tuple(pick((0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5, 6)) for _ in range(pick((0, 1, 2, 2, 2, 3, 3, 4))))
        self.count = math.prod(self.shape)
        rank = len(self.shape)
        self.axes = None
        if rank and self.random.random() < 0.5:
            named = self.random.sample(range(rank), self.random.randint(1, rank))
            self.axes = [d - rank if self.random.random() < 0.3 else d for d in named]
        self.keepdims = self.random.random() < 0.2

    def options(self):
        pick, number = self.random.choice, self.random.random
        self.mode = pick(ROUNDING) if self.command in ROUNDED and number() < 0.4 else "nearest"
        # Native arithmetic gives the true answer where nothing is rounded on the way.
        self.fast = self.mode == "nearest" and self.operation in WRAPPING - {"prod"} and self.count <= 200 and number() < 0.2
        self.correction = pick((0, 1, 2, -1, 3)) if self.command in CORRECTED else 0
        self.checks = self.command in WRAPPING | {"norm"} and number() < 0.3
        self.to_file = number() < 0.2

    def draw_elements(self):
        n, name, number = self.count, self.type, self.random.random
        if name == "bool":
            return [self.random.getrandbits(1) for _ in range(n)]
        if name in INTEGERS:
            bits = 8 * struct.calcsize("<" + INTEGERS[name])
            if number() < 0.5 or self.command == "logsumexp":
                return [self.random.randint(-3 if is_signed(name) else 0, 3) for _ in range(n)]
            return [self.random.getrandbits(bits) - (2 ** (bits - 1) if is_signed(name) else 0) for _ in range(n)]
        part = part_of(name)
        _, _, size, mantissa_bits, exponent_bits = FLOATS[part]
        style = "whole" if self.fast else self.random.choice(("whole", "near", "any", "any", "special", "zeros"))
        if self.command == "prod":  # native: powers of two, whose product f64 has
            style = "powers"
        if self.command == "logsumexp":
            style = "near"

        def one():
            if style == "whole":
                return float(self.random.randint(-3, 3))
            if style == "powers":
                return math.copysign(2.0 ** self.random.choice((0, 0, 0, 1, -1)), number() - 0.5)
            if style == "zeros" or (style == "special" and number() < 0.1):
                return math.copysign(0.0, number() - 0.7)
            if style == "special" and number() < 0.1:
                return self.random.choice((math.inf, math.inf, -math.inf, math.nan))
            bias = 2 ** (exponent_bits - 1) - 1
            exponent = self.random.randint(bias - 3, bias + 2) if style == "near" else self.random.randrange(2**exponent_bits - 1)
            return float_of(self.random.getrandbits(1) << 8 * size - 1 | exponent << mantissa_bits
                            | self.random.getrandbits(mantissa_bits), part)

        if style == "powers" and is_complex(name) and n > 16:  # each takes up to 3 bits more, of 53
            return [self.random.choice(((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))) for _ in range(n)]
        return [(one(), one()) for _ in range(n)] if is_complex(name) else [one() for _ in range(n)]

    # ---- Files

    def content(self, elements, layout):
        where = range(self.count)
        if layout["fortran"]:
            ranges = [range(n) for n in reversed(self.shape)]
            strides = [math.prod(self.shape[d + 1:]) for d in reversed(range(len(self.shape)))]
            where = [sum(map(lambda i, s: i * s, index, strides)) for index in itertools.product(*ranges)]
        stored = [elements[i] for i in where]
        order = ">" if layout["big"] else "<"
        if self.type in FLOATS:
            code, letter, *_ = FLOATS[self.type]
            parts = [p for v in stored for p in (v if is_complex(self.type) else [v])]
            data = struct.pack(order + str(len(parts)) + letter, *[bits_of(p, part_of(self.type)) for p in parts])
        else:
            letter = INTEGERS.get(self.type, "B")
            code = "b1" if self.type == "bool" else self.type[0] + str(struct.calcsize("<" + letter))
            data = struct.pack(order + str(len(stored)) + letter, *stored)
        return data if self.raw else npy(order + code, str(self.shape), data, layout["fortran"])

    def arguments(self):
        out = [self.command, "--json", "--threads", str(self.random.choice((1, 2, 3)))]
        if self.axes is not None:
            out.append("--axis=" + ",".join(map(str, self.axes)))
        if self.keepdims:
            out.append("--keepdims")
        if self.mode != "nearest":
            out += ["--round", self.mode]
        if self.fast:
            out += ["--accuracy", "fast"]
        if self.correction:
            out += [f"--correction={self.correction}"]
        if self.ord != "2":
            out += ["--ord", self.ord]
        if self.checks:
            out += ["--check-overflow"]
        if self.raw:
            out += ["--dtype", self.type, "--byte-order", "big" if self.layouts[0]["big"] else "little"]
        return out

    def run(self, folder):
        paths, ends = [], []
        for k, (elements, layout) in enumerate(zip(self.elements, self.layouts)):
            content = self.content(elements, layout)
            if layout["pipe"]:
                reader, writer = os.pipe()
                fcntl.fcntl(writer, F_SETPIPE_SZ, 1 << 20)
                if os.write(writer, content) != len(content):
                    raise RuntimeError("the pipe does not hold the input")
                os.close(writer)
                ends.append(reader)
                paths.append(f"/dev/fd/{reader}")
            else:
                paths.append(os.path.join(folder, f"x{k}"))
                with open(paths[-1], "wb") as file:
                    file.write(content)
        self.ran = [PROGRAM, *self.arguments(), *paths]
        self.answers_file = os.path.join(folder, "answers.npy")
        if self.to_file:
            self.ran += ["--out", self.answers_file]
        try:
            return subprocess.run(self.ran, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, pass_fds=ends)
        finally:
            for end in ends:
                os.close(end)

    # ---- What is expected

    def groups(self):
        """The elements of each answer (of dot: pairs), and the answers' shape; no shape: one answer."""
        rank = len(self.shape)
        whole = self.axes is None
        reduced = set(range(rank)) if whole else {a % rank for a in self.axes}
        kept = [n for d, n in enumerate(self.shape) if d not in reduced]
        x = list(zip(*self.elements)) if self.inputs == 2 else self.elements[0]
        out = {index: [] for index in itertools.product(*map(range, kept))}
        for index, value in zip(itertools.product(*map(range, self.shape)), x):
            out[tuple(i for d, i in enumerate(index) if d not in reduced)].append(value)
        shape = [1 if d in reduced else n for d, n in enumerate(self.shape)] if self.keepdims else [] if whole else kept
        return list(out.values()), shape

    def result_type(self):
        floating, real = self.type in FLOATS, part_of(self.type)
        wide = "i64" if is_signed(self.type) else "u64"
        return {"sum": self.type if floating else wide, "prod": self.type if floating else wide,
                "dot": self.type if floating else wide, "mean": self.type if floating else "f64",
                "var": real if floating else "f64", "std": real if floating else "f64",
                "mean_var": real if floating else "f64", "sum_of_squares": real if floating else wide,
                "norm1": real if floating else "u64", "norm2": real if floating else "f64",
                "norm_inf": real if floating else "u64", "count_nonzero": "i64",
                "min": self.type, "max": self.type, "minmax": self.type, "argmin": "i64", "argmax": "i64", "count": "i64",
                "any": "bool", "all": "bool", "logsumexp": self.type if floating else "f64"}[self.operation]

    def expected(self, x):
        """Bits of floats, whole numbers, truth values; a list of them where an answer has parts."""
        command, n, kind = self.operation, len(x), self.result_type()
        floating = self.type in FLOATS
        if command == "count":
            return n
        if command == "count_nonzero":
            return sum(v != 0 and v != (0.0, 0.0) for v in x)
        if command in ("any", "all"):
            true = [v != 0 and v != (0.0, 0.0) for v in x]
            return any(true) if command == "any" else all(true)
        if command in ("min", "max", "minmax"):
            both = [least(x), least(x, True)]
            both = [bits_of(v, kind) if floating else bool(v) if kind == "bool" else v for v in both]
            return both if command == "minmax" else both[command == "max"]
        if command in ("argmin", "argmax"):
            for k, v in enumerate(x):
                if v != v:
                    return k
            return x.index((min if command == "argmin" else max)(x))
        if is_complex(self.type):
            parts = [[v[k] for v in x] for k in (0, 1)] if command != "dot" else None
        else:
            parts = [[float(v) if floating else v for v in x]] if command != "dot" else None
        if command == "dot":
            if is_complex(self.type):
                return [float_dot([p for (a, b), (c, d) in x for p in ((a, c), (-b, d))], part_of(kind), self.mode),
                        float_dot([p for (a, b), (c, d) in x for p in ((a, d), (b, c))], part_of(kind), self.mode)]
            return float_dot(x, kind, self.mode) if floating else modulo(sum(a * b for a, b in x), kind == "i64")
        if command == "sum":
            if not floating:
                return modulo(sum(x), kind == "i64")
            sums = [float_sum(p, part_of(kind), self.mode) for p in parts]
            return sums if is_complex(self.type) else sums[0]
        if command in ("mean", "mean_var"):
            name = part_of(kind)
            if n == 0:
                means = [rounded(math.nan, name, self.mode)] * len(parts)
            elif floating:
                means = [float_sum(p, name, self.mode, n) for p in parts]
            else:
                means = [rounded(Fraction(sum(x), n), name, self.mode)]
            if command == "mean_var":
                return [*means, rounded(variance(parts, n, self.correction), name, self.mode)]
            return means if is_complex(self.type) else means[0]
        if command in ("var", "std"):
            return (root if command == "std" else rounded)(variance(parts, n, self.correction), kind, self.mode)
        if command in ("norm2", "sum_of_squares"):
            if command == "sum_of_squares" and not floating:
                return modulo(sum(v * v for v in x), kind == "i64")
            return (root if command == "norm2" else rounded)(squares([v for p in parts for v in p]), kind, self.mode)
        if command in ("norm1", "norm_inf"):
            sizes = [abs(v) for v in x]
            if floating:
                return float_sum(sizes, kind, self.mode) if command == "norm1" else bits_of(least(sizes + [0.0], True), kind)
            return sum(sizes) % 2**64 if command == "norm1" else max(sizes, default=0)
        if command == "prod":
            if not floating:
                return modulo(math.prod(x), kind == "i64")
            if not is_complex(self.type):
                true = math.prod(map(Fraction, x))
                return rounded(true, kind, "nearest")
            re, im = Fraction(1), Fraction(0)
            for a, b in x:
                re, im = re * Fraction(a) - im * Fraction(b), re * Fraction(b) + im * Fraction(a)
            return [re, im]
        raise AssertionError(command)

    def true_integer(self, x):
        """Of integers, what is answered modulo 2^64."""
        return {"sum": lambda: sum(x), "prod": lambda: math.prod(x), "dot": lambda: sum(a * b for a, b in x),
                "sum_of_squares": lambda: sum(v * v for v in x), "norm1": lambda: sum(map(abs, x))}[self.operation]()

    # ---- The comparison

    def bits_of_text(self, told, name):
        _, _, size, mantissa_bits, exponent_bits = FLOATS[name]
        if told in ("NaN", "Infinity", "-Infinity"):
            return bits_of(float(told), name)
        value = Fraction(told)
        return rounded_bits(value, mantissa_bits, exponent_bits) if value else int(told.startswith("-")) << 8 * size - 1

    def same(self, told, want, group, kind):
        if self.command == "logsumexp":
            return self.near_logsumexp(told, group, kind)
        if self.command == "prod" and is_complex(kind):
            # The sign of a zero follows from the order of multiplications, which is native.
            name = part_of(kind)
            bits = [rounded(w, name, "nearest") for w in want]
            return all(self.bits_of_text(t, name) == b or (not w and not Fraction(t))
                       for t, b, w in zip(told, bits, want))
        if isinstance(want, list):
            return len(told) == len(want) and all(self.same(t, w, group, part_of(kind)) for t, w in zip(told, want))
        if kind in FLOATS:
            return self.bits_of_text(told, kind) == want
        if isinstance(want, bool):
            return told is want
        return told == str(want)

    def near_logsumexp(self, told, x, kind):
        """log Σ exp(x - m) + m in f64. With |x - m| <= 2^4 each exponential has a relative error below 2^5 · 2^-53
        (its argument's rounding, and 2 ulps of exp), the sum n · 2^-53 more, which is the logarithm's absolute
        error; the logarithm and the addition of m round results below |answer| + 2^5 twice. As much again for the
        oracle; then half an ulp of T, and of an answer that is subnormal in T half of its least number."""
        _, _, _, mantissa_bits, exponent_bits = FLOATS[kind]
        if not x:
            return told == "-Infinity"
        m = max(x)
        want = math.log(math.fsum(math.exp(v - m) for v in x)) + m
        error = 2 * ((len(x) + 2**5) * 2.0**-53 + 2 * (abs(want) + 2**5) * 2.0**-53)
        half_ulp = max(abs(want) * 2.0 ** -(mantissa_bits + 1), 2.0 ** (1 - 2 ** (exponent_bits - 1) - mantissa_bits))
        return abs(float_of(self.bits_of_text(told, kind), kind) - want) <= error + half_ulp

    def wrong_in_file(self, values, shape, kind):
        """What --out wrote: the same answers, those of several values along a last axis."""
        with open(self.answers_file, "rb") as file:
            content = file.read()
        os.unlink(self.answers_file)
        length = struct.unpack_from("<H", content, 8)[0]
        header = ast.literal_eval(content[10:10 + length].decode())
        parts = {"minmax": 2, "mean_var": 3 if is_complex(self.type) else 2}.get(self.command, 1)
        if header["fortran_order"] or header["shape"] != (*shape, *([parts] if parts > 1 else [])):
            return f"--out wrote the header {header}"
        told = [v for value in values for v in (value if isinstance(value, list) else [value])]
        if kind in FLOATS:
            code, letter = FLOATS[kind][:2]
            told = [self.bits_of_text(v, part_of(kind)) for v in told]
        else:
            letter = INTEGERS.get(kind, "B")
            code = "b1" if kind == "bool" else kind[0] + str(struct.calcsize("<" + letter))
            told = list(map(int, told))
        if header["descr"][1:] != code:
            return f"--out wrote elements of {header['descr']}, not {code}"
        if content[10 + length:] != struct.pack(f"{'>' if header['descr'][0] == '>' else '<'}{len(told)}{letter}", *told):
            return "--out wrote other answers than --json"
        return None

    def wrong_in_overflow(self, told, groups, errors, status):
        """Of integers whose answers are taken modulo 2^64: which do not fit is told, and asked for it is the exit status."""
        if self.type in FLOATS or self.operation not in WRAPPING or not groups or not (self.checks or self.operation == "sum"):
            return "an overflow where there can be none" if status != 0 or "overflow" in told and told["overflow"] else None
        true = [self.true_integer(g) for g in groups]
        kind = self.result_type()
        over = [t for t in true if t != modulo(t, kind == "i64")]
        if told.get("overflow") is not bool(over) or ("modulo 2^64" in errors) is not bool(over):
            return f"overflow is {told.get('overflow')}; of the true answers {len(over)} do not fit"
        if "value" in told and self.operation != "prod" and told.get("true_value") != (str(true[0]) if over else None):
            return f"true_value is {told.get('true_value')}, not {true[0]}"
        return f"exit status {status}" if status != (1 if over and self.checks else 0) else None

    def check(self, folder):
        """Nothing, or what is wrong."""
        groups, shape = self.groups()
        run = self.run(folder)
        errors = run.stderr.decode()
        nothing = self.count == 0 and len(groups) > 0
        if nothing and self.command in NEED_AN_ELEMENT:
            if run.returncode != 2 or errors.count("\n") != 1 or f"{self.command} of no elements" not in errors:
                return "an answer of nothing, or no line that refuses it"
            return None
        if self.to_file and self.result_type() == "bf16":
            refused = run.returncode == 2 and errors.count("\n") == 1 and not os.path.exists(self.answers_file)
            return None if refused else "a .npy file of bf16, or no line that refuses it"
        if run.returncode not in (0, 1):
            return f"exit status {run.returncode}"
        told = json.loads(run.stdout, parse_float=str, parse_int=str)
        kind = self.result_type()
        head = (told["dtype"], told["result_dtype"], told["count"])
        if head != (self.type, kind, str(self.count)):
            return f"says {head}"
        undefined = groups and self.command in DIVIDED and len(groups[0]) <= max(0, self.correction)
        warned = "the answer is nan" in errors or "the answers are nan" in errors
        if bool(undefined) != warned:
            return "a line about NaN that is not due, or none"
        if shape or self.keepdims and self.shape:
            if told["shape"] != list(map(str, shape)):
                return f"the shape is not {shape}"
            values = told["values"]
            for _ in shape[1:]:
                values = [v for row in values for v in row]
        else:
            values = [told["value"]] if "value" in told else [told["values"]]
        if len(values) != len(groups):
            return f"{len(values)} answers, not {len(groups)}"
        for k, (value, group) in enumerate(zip(values, groups)):
            want = None if self.command == "logsumexp" else self.expected(group)
            if not self.same(value, want, group, kind):
                shown = want if not (kind in FLOATS and isinstance(want, int)) else f"{want:#x}, {float_of(want, kind)}"
                return f"answer {k} is {value}, not {shown}"
        wrong = self.wrong_in_file(values, shape if shape or self.keepdims else [], kind) if self.to_file else None
        return wrong or self.wrong_in_overflow(told, groups, errors, run.returncode)

    def __str__(self):
        lines = [f"{' '.join(self.ran)}", f"shape {self.shape} of {self.type}{', raw' if self.raw else ''}"]
        for layout, elements in zip(self.layouts, self.elements):
            lines.append(", ".join(("Fortran order" if layout["fortran"] else "C order",
                                    "big-endian" if layout["big"] else "little-endian",
                                    "a pipe" if layout["pipe"] else "mapped")) + f": {elements[:20]}")
        return "\n  ".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("sources")
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=0, help="stop after these, if not 0; at least 50 cases run")
    parser.add_argument("--seed", type=int, default=20240611)
    given = parser.parse_args()
    with open(os.path.join(SOURCES, "include/warpfold/operations.def"), encoding="utf-8") as table:
        named = set(re.findall(r'^WF_OPERATION\(\w+, \w+, "(\w+)"', table.read(), re.M))
    if named | {"norm"} != set(COMMANDS):
        print(f"commands that no case is drawn of, or that are none: {named | {'norm'} ^ set(COMMANDS)}")
        return 1
    start, wrong, drawn = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for k in range(given.cases):
            if given.seconds and k >= 50 and time.monotonic() - start > given.seconds:
                break
            case = Case(random.Random(f"{given.seed}/{k}"))
            why = case.check(folder)
            drawn += 1
            if why:
                wrong += 1
                print(f"case {k} of seed {given.seed}: {why}\n  {case}")
    print(f"{drawn} cases of seed {given.seed} in {time.monotonic() - start:.1f} s, {wrong} wrong")
    return 1 if wrong or drawn == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
