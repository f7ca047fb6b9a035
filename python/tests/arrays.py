# SPDX-License-Identifier: Apache-2.0
"""Arrays of every layout for hypothesis, and the true answers by fractions."""

from __future__ import annotations

import doctest
import importlib.util
import math
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
COMPLEX = ["complex64", "complex128"]
REAL = [*FLOATS, *INTEGERS, "bool"]


@st.composite
def laid_out(draw, dtypes, max_dims=3, max_side=6, finite=True):
    """An array, cut, turned, transposed, broadcast, misaligned, of the other byte order, read-only."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=max_dims, min_side=0, max_side=max_side))
    elements = None
    if dtype.kind in "fc" and finite:
        elements = {"allow_nan": False, "allow_infinity": False}
    x = draw(hnp.arrays(dtype, shape, elements=elements))
    how = draw(st.sampled_from(["as is", "steps", "reversed", "transposed", "broadcast", "misaligned", "other order", "read-only", "fortran"]))
    if how == "steps" and x.ndim:
        wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), dtype)
        wide[..., ::2] = x
        x = wide[..., ::2]
    elif how == "reversed" and x.ndim:
        x = x[::-1]
    elif how == "transposed":
        x = x.transpose(draw(st.permutations(range(x.ndim))))
    elif how == "broadcast":
        x = np.broadcast_to(x, (3, *x.shape))
    elif how == "misaligned":
        room = np.zeros(x.nbytes + 1, np.uint8)
        y = room[1:].view(dtype) if x.size else x.ravel()
        y = y.reshape(x.shape)
        y[...] = x
        x = y
    elif how == "other order":
        x = x.astype(dtype.newbyteorder(">"))
    elif how == "read-only":
        x = x.copy()
        x.flags.writeable = False
    elif how == "fortran":
        x = np.asfortranarray(x)
    return x


@st.composite
def with_axes(draw, arrays):
    x = draw(arrays)
    if x.ndim == 0:
        return x, draw(st.sampled_from([None, ()]))
    one = st.integers(-x.ndim, x.ndim - 1)
    several = st.lists(st.integers(0, x.ndim - 1), unique=True).map(tuple)
    return x, draw(st.one_of(st.none(), one, several))


def fractions_of(x):
    """The elements, as fractions, of a list of finite real numbers."""
    return [Fraction(int(v)) if x.dtype.kind in "iub" else Fraction(float(v)) for v in x.ravel().tolist()]


def nearest(q, dtype, negative_zero=False):
    """A fraction rounded once to a type of floats, ties to even: written here, and not by the library."""
    bits, least, most = {"float16": (11, -24, 15), "float32": (24, -149, 127), "float64": (53, -1074, 1023)}[np.dtype(dtype).name]
    if q == 0:
        return np.dtype(dtype).type(-0.0 if negative_zero else 0.0)
    a = abs(q)
    e = a.numerator.bit_length() - a.denominator.bit_length()
    if a < Fraction(2)**e:
        e -= 1
    unit = Fraction(2)**max(e - bits + 1, least)
    n = round(a / unit)  # half to even
    value = n * unit
    if value >= Fraction(2)**(most + 1):
        return np.dtype(dtype).type(-math.inf if q < 0 else math.inf)
    return np.dtype(dtype).type(-float(value) if q < 0 else float(value))


def root(q, dtype):
    """The correctly rounded root of a fraction: a fraction close enough, with what is below its last bit told apart."""
    if q == 0:
        return np.dtype(dtype).type(0.0)
    shift = 2400
    n = math.isqrt((q.numerator << (2 * shift)) // q.denominator)
    r = Fraction(n, 1 << shift)
    if r * r != q:
        r += Fraction(1, 1 << (shift + 1))
    return nearest(r, dtype)


def same(a, b):
    """Equal bit for bit, but that any NaN is any other."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype, (a.dtype, b.dtype)
    assert a.shape == b.shape, (a.shape, b.shape)
    if a.dtype.kind in "fc":
        a, b = a.view(a.real.dtype) if a.ndim else a.reshape(1).view(a.real.dtype), b.view(b.real.dtype) if b.ndim else b.reshape(1).view(b.real.dtype)
        ok = ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
    else:
        ok = a == b
    assert np.all(ok), (a, b)


def answers_of(x, axis, f, dtype, keepdims=False):
    """f(elements of an answer, in C order) for each answer, of the array's native bytes."""
    x = x.astype(x.dtype.newbyteorder("="))
    axes = tuple(range(x.ndim)) if axis is None else tuple(a % x.ndim for a in (axis if isinstance(axis, tuple) else (axis,)))
    kept = [d for d in range(x.ndim) if d not in axes]
    moved = x.transpose(*kept, *sorted(axes))
    shape = [x.shape[d] for d in kept]
    n = math.prod(x.shape[d] for d in axes)
    rows = moved.reshape(math.prod(shape), n)
    out = np.array([f(row) for row in rows], dtype).reshape(shape)
    if keepdims:
        out = out.reshape([1 if d in axes else m for d, m in enumerate(x.shape)])
    return out


def run_examples(module):
    """The examples of a module's docstrings, but those of PyTorch where it is not installed: how many there were, and how many failed."""
    runner = doctest.DocTestRunner()
    for one in doctest.DocTestFinder().find(module):
        if "import torch" not in one.docstring or importlib.util.find_spec("torch") is not None:
            runner.run(one)
    return runner.summarize()
