# SPDX-License-Identifier: Apache-2.0
"""Arrays that say that they are on a GPU: of simt, whose device's memory is the CPU's. Real ones, where there are a GPU and their library."""

from __future__ import annotations

import ctypes

import numpy as np

_get = ctypes.pythonapi.PyCapsule_GetPointer
_get.restype, _get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def capsule_on(x, device_type):
    """NumPy's capsule of x, which says that its device is another: DLTensor begins with an address, and then the device."""
    capsule = x.__dlpack__()
    told = _get(capsule, b"dltensor")
    ctypes.c_int32.from_address(told + 8).value = device_type
    return capsule


class Interface:
    """An array of a library that knows the __cuda_array_interface__ alone, as Numba's."""

    def __init__(self, x, stream=None, **more):
        self.x, self.stream, self.more = x, stream, more

    @property
    def __cuda_array_interface__(self):
        told = {"shape": self.x.shape, "typestr": self.x.dtype.str, "data": (self.x.ctypes.data, not self.x.flags.writeable), "version": 3,
                "strides": None if self.x.flags.c_contiguous else self.x.strides, "stream": self.stream}
        return {k: v for k, v in {**told, **self.more}.items() if v != "left out"}


class Namespace:
    """What __array_namespace__ gives: just what answers need."""

    def __getattr__(self, name):
        try:
            return np.dtype(name)
        except TypeError:
            raise AttributeError(name) from None

    @staticmethod
    def empty(shape, *, dtype, device):
        return Cuda(np.full(shape, 77, dtype), device=device)

    @staticmethod
    def asarray(x, *, device):
        return Cuda(np.array(x), device=device)


class Cuda:
    """An array of a library that knows DLPack and the array API standard, as CuPy's. `asked` has the streams that it was asked for."""

    def __init__(self, x, kind=2, device="cuda:0"):
        self.x, self.kind, self.device, self.asked = x, kind, device, []
        self.shape, self.dtype = x.shape, x.dtype

    def __array_namespace__(self, api_version=None):
        return Namespace()

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, *, stream=None):
        self.asked.append(stream)
        return capsule_on(self.x, self.kind)


def host(x):
    """The elements of an array on a GPU, of any library here."""
    if isinstance(x, (Cuda, Interface)):
        return x.x
    if hasattr(x, "cpu"):
        return x.cpu().numpy()
    if hasattr(x, "get"):
        return x.get()
    return x.copy_to_host()


def real_libraries():
    """By name, what makes a NumPy array one of the library's on a GPU; those that are here and find a GPU."""
    found = {}
    try:
        import torch
        if torch.cuda.is_available():
            found["torch"] = lambda x: torch.from_numpy(x).cuda()
    except ImportError:
        pass
    try:
        import cupy
        if cupy.cuda.runtime.getDeviceCount():
            found["cupy"] = cupy.asarray
    except Exception:
        pass
    try:
        from numba import config, cuda
        if not config.ENABLE_CUDASIM and cuda.is_available():
            found["numba"] = cuda.to_device
    except Exception:
        pass
    return found
