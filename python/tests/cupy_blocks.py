# SPDX-License-Identifier: Apache-2.0
"""CuPy's arrays, as far as blocks of Dask and xarray need them, in the memory of simt's GPU. None may leave it but for what is small."""

from __future__ import annotations

import numpy as np

import device_arrays


class Block(device_arrays.Ndarray):
    """`fetched` has the shapes of what was copied to the CPU's memory."""

    fetched: list = []

    def __init__(self, shape, dtype, x=None):
        super().__init__(shape, dtype, x)
        self.ndim = self.x.ndim

    def get(self):
        Block.fetched.append(self.shape)
        return self.x.copy()

    def __array__(self, *given, **how):
        raise TypeError("an array on a GPU is not converted to NumPy's by itself")

    # Dask and xarray ask what may stand for NumPy's arrays for these.
    def __array_function__(self, function, types, args, kwargs):
        return self._of(function(*_plain(args), **_plain(kwargs)))

    def __array_ufunc__(self, function, method, *args, **kwargs):
        return self._of(getattr(function, method)(*_plain(args), **_plain(kwargs)))

    def _of(self, x):
        return Block(None, None, np.asarray(x))

    def __getitem__(self, key):
        return self._of(self.x[_plain(key)])

    def __invert__(self):
        return self._of(~self.x)

    def __bool__(self):
        return bool(self.x)

    def __array_namespace__(self, api_version=None):
        return Cupy

    def transpose(self, *axes):
        return self._of(self.x.transpose(*axes))

    def reshape(self, *shape):
        return self._of(self.x.reshape(*shape))

    def astype(self, dtype, **how):
        return self._of(self.x.astype(dtype))

    def all(self):
        return self._of(self.x.all())

    def sum(self, axis=None):
        return self._of(self.x.sum(axis=axis))


def _plain(x):
    if isinstance(x, (tuple, list)):
        return type(x)(_plain(one) for one in x)
    if isinstance(x, dict):
        return {k: _plain(v) for k, v in x.items()}
    return x.x if isinstance(x, Block) else x


class Cupy(device_arrays.cupy):
    """The module."""

    ndarray = Block
    float64 = np.dtype("float64")

    @staticmethod
    def empty(shape, dtype):
        return Block(shape, dtype)

    @staticmethod
    def zeros(shape, dtype):
        return Block(None, None, np.zeros(shape, dtype))

    @staticmethod
    def asarray(x):
        return Block(None, None, np.array(x))

    @staticmethod
    def isnan(x):
        return Block(None, None, np.isnan(x.x))

    @staticmethod
    def cumsum(x):
        return Block(None, None, np.cumsum(x.x))

    @staticmethod
    def concatenate(parts):
        return Block(None, None, np.concatenate([p.x for p in parts]))


def array(x):
    return Block(None, None, np.array(x))
