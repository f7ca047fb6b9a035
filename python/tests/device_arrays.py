# SPDX-License-Identifier: Apache-2.0
"""Arrays that say that they are on a GPU: of simt, whose device's memory is the CPU's. Real ones, where there are a GPU and their library."""

from __future__ import annotations

import contextlib
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

    # What labels of a Reduction are sorted by.
    @staticmethod
    def astype(x, dtype, *, copy):
        assert not copy
        return Cuda(x.x.astype(dtype))

    @staticmethod
    def arange(n, *, device):
        return Cuda(np.arange(n), device=device)

    @staticmethod
    def argsort(x, *, stable):
        assert stable
        return Cuda(np.argsort(x.x, kind="stable"))

    @staticmethod
    def take(x, places):
        return Cuda(x.x[places.x])

    @staticmethod
    def searchsorted(x, values):
        assert x.dtype == values.dtype  # the standard says nothing of two types
        return Cuda(np.searchsorted(x.x, values.x))


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


class _Tensor(ctypes.Structure):
    """DLPack's DLTensor."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_Tensor))
def _tell(x, out):
    if x.fails:
        return -1
    codes = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
    lengths = ctypes.c_int64 * max(1, x.x.ndim)
    x.lengths, x.steps = lengths(*x.x.shape), lengths(*(s // x.x.itemsize for s in x.x.strides))
    out[0] = _Tensor(x.x.ctypes.data - 16, x.kind, 0, x.x.ndim, codes[x.x.dtype.kind], 8 * x.x.itemsize, 1, x.lengths, x.steps, 16)
    return 0


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
def _stream(device_type, device_id, out):
    out[0] = Tensor.stream
    return 0


_table = (ctypes.c_uint64 * 7)(1 | 3 << 32, 0, 0, 0, 0, ctypes.cast(_tell, ctypes.c_void_p).value, ctypes.cast(_stream, ctypes.c_void_p).value)
_NAME = b"dlpack_exchange_api"  # which capsules point to
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class posing:
    """A table of PyTorch's functions of DLPack by which its tensors of the CPU are on a GPU, and a capsule of it; `theirs` is PyTorch's."""

    def __init__(self, theirs):
        words = (ctypes.c_uint64 * 7).from_address(_get(theirs, _NAME))
        tell = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_Tensor))(words[5])

        @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_Tensor))
        def posed(x, out):
            try:
                failed = tell(x, out)
            except Exception:
                return -1
            if not failed and out[0].device_type == 1:
                out[0].device_type, out[0].device_id = 2, 0
            return failed
        self.table = (ctypes.c_uint64 * 7)(*words[:5], ctypes.cast(posed, ctypes.c_void_p).value, ctypes.cast(_stream, ctypes.c_void_p).value)
        self.held, self.capsule = posed, _capsule(ctypes.addressof(self.table), _NAME, None)
        _kept.append(self)  # the compiled module has its address


_kept = []


class Tensor:
    """An array that tells of itself as PyTorch's tensors: by DLPack's C functions."""

    __dlpack_c_exchange_api__ = _capsule(ctypes.addressof(_table), _NAME, None)
    stream = None

    def __init__(self, x, kind=2, requires_grad=False, neg=False, conj=False, fails=False):
        self.x, self.kind, self.requires_grad, self.neg, self.conj, self.fails = np.asarray(x), kind, requires_grad, neg, conj, fails
        self.device, self.dtype, self.recorded = "cuda:0", self.x.dtype, []

    def record_stream(self, stream):
        if not hasattr(stream, "cuda_stream"):
            raise TypeError("not a stream of PyTorch's")
        self.recorded.append(stream)

    def is_neg(self):
        return self.neg

    def is_conj(self):
        return self.conj

    def new_empty(self, shape, dtype=None):
        rooms.append(tuple(shape))
        return Tensor(np.full(shape, 77, dtype or self.dtype))

    def data_ptr(self):
        return self.x.ctypes.data

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, *, stream=None):
        if self.requires_grad or self.neg or self.conj or self.fails:
            raise BufferError("such a tensor is not exported")
        return capsule_on(self.x, self.kind)

    def to(self, dtype):
        if dtype == self.device:
            return self
        with np.errstate(over="ignore"):
            return Tensor(self.x.astype(dtype))

    def view(self, dtype):
        return Tensor(self.x.view(dtype))

    def __eq__(self, other):
        return Tensor(self.x == other.x)

    def __or__(self, bits):
        return Tensor(self.x | bits)

    def __and__(self, other):
        return Tensor(self.x & other.x)

    def __ne__(self, other):
        return Tensor(self.x != other.x)

    def __invert__(self):
        return Tensor(~self.x)

    def __getitem__(self, k):
        return Tensor(self.x[k.x if isinstance(k, Tensor) else k])

    def __len__(self):
        return len(self.x)

    def __add__(self, k):
        return Tensor(self.x + k)

    def new_zeros(self, n):
        return self.new_full((n,), 0)

    def new_full(self, shape, value):
        return Tensor(np.full(shape, value, self.dtype))

    def cpu(self):
        return self

    def numpy(self):
        return self.x

    @property
    def shape(self):
        return self.x.shape

    def reshape(self, *shape):
        return Tensor(self.x.reshape(*shape))


rooms = []  # the shapes of arrays that were made for answers
entered = []  # the streams that were made a library's current one


class torch:
    """What of PyTorch's module is used of such."""

    float16, float32, float64, int32, int64, bool = (np.dtype(n) for n in ("float16", "float32", "float64", "int32", "int64", "bool"))

    class cuda:
        class Stream:
            pass

        @staticmethod
        def current_stream(device):
            class now:
                cuda_stream = Tensor.stream or 0
            return now

        @staticmethod
        def ExternalStream(address, device):
            return address

        @staticmethod
        @contextlib.contextmanager
        def stream(address):
            entered.append(address)
            before, Tensor.stream = Tensor.stream, address
            yield
            Tensor.stream = before

    @staticmethod
    def where(chosen, a, b):
        return Tensor(np.where(chosen.x, a.x, np.asarray(getattr(b, "x", b)).astype(a.dtype)))

    @staticmethod
    def broadcast_to(x, shape):
        return Tensor(np.broadcast_to(x.x, shape))

    @staticmethod
    def arange(n, device):
        assert device == "cuda:0"
        return Tensor(np.arange(n))

    @staticmethod
    def from_numpy(x):
        return Tensor(np.array(x))

    @staticmethod
    def sort(x, *, stable):
        assert stable
        order = np.argsort(x.x, kind="stable")
        return Tensor(x.x[order]), Tensor(order)

    @staticmethod
    def nonzero(x):
        return Tensor(np.argwhere(x.x))

    @staticmethod
    def cat(parts):
        return Tensor(np.concatenate([p.x for p in parts]))

    @staticmethod
    def searchsorted(x, values):
        assert x.dtype == values.dtype  # or PyTorch raises
        return Tensor(np.searchsorted(x.x, values.x))


class Ndarray:
    """An array that tells of itself as CuPy's: by attributes."""

    class data:
        def __init__(self, ptr):
            self.ptr, self.device_id = ptr, 0

    def __init__(self, shape, dtype, x=None):
        if x is None:
            rooms.append(tuple(shape))
        self.x = np.full(shape, 77, dtype) if x is None else x
        self.shape, self.strides, self.dtype = self.x.shape, self.x.strides, self.x.dtype
        self.data = Ndarray.data(self.x.ctypes.data)
        self.size = self.x.size
        self.device = contextlib.nullcontext()

    def __getitem__(self, k):
        if isinstance(k, int):
            return Ndarray(None, None, self.x[k:k + 1].reshape(self.x.shape[1:]))
        return Ndarray(None, None, self.x[k.x if isinstance(k, Ndarray) else k])

    def __ne__(self, other):
        return Ndarray(None, None, np.asarray(self.x != other.x))

    def __invert__(self):
        return Ndarray(None, None, ~self.x)

    def __len__(self):
        return len(self.x)

    def __add__(self, k):
        return Ndarray(None, None, self.x + k)

    def get(self):
        return self.x

    def transpose(self, order):
        return Ndarray(None, None, self.x.transpose(order))

    def astype(self, dtype):
        return Ndarray(None, None, self.x.astype(dtype))

    def __eq__(self, other):
        return Ndarray(None, None, self.x == other.x)

    def __and__(self, other):
        return Ndarray(None, None, self.x & other.x)

    def reshape(self, *shape):
        return Ndarray(None, None, self.x.reshape(*shape))

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, *, stream=None):
        return capsule_on(self.x, 2)


class cupy:
    """What of CuPy's module is used of such."""

    ndarray = Ndarray
    float64, int64 = np.dtype("float64"), np.dtype("int64")

    @staticmethod
    def empty(shape, dtype):
        return Ndarray(shape, dtype)

    @staticmethod
    def broadcast_to(x, shape):
        return Ndarray(None, None, np.broadcast_to(x.x, shape))

    @staticmethod
    def arange(n):
        return Ndarray(None, None, np.arange(n))

    @staticmethod
    def where(chosen, a, b):
        return Ndarray(None, None, np.where(chosen.x, a.x, np.asarray(b).astype(a.dtype)))

    @staticmethod
    def asarray(x):
        return Ndarray(None, None, np.array(x))

    @staticmethod
    def argsort(x):
        return Ndarray(None, None, np.argsort(x.x, kind="stable"))

    @staticmethod
    def nonzero(x):
        return tuple(Ndarray(None, None, k) for k in np.nonzero(x.x))

    @staticmethod
    def concatenate(parts):
        return Ndarray(None, None, np.concatenate([p.x for p in parts]))

    @staticmethod
    def zeros(n, dtype):
        return Ndarray(None, None, np.zeros(n, dtype))

    @staticmethod
    def full(n, value, dtype):
        return Ndarray(None, None, np.full(n, value, dtype))

    @staticmethod
    def searchsorted(x, values):
        return Ndarray(None, None, np.searchsorted(x.x, values.x))

    class cuda:
        stream = 0

        @staticmethod
        def get_current_stream():
            class now:
                ptr = cupy.cuda.stream
            return now

        @staticmethod
        @contextlib.contextmanager
        def ExternalStream(address):
            entered.append(address)
            before, cupy.cuda.stream = cupy.cuda.stream, address
            yield
            cupy.cuda.stream = before


def host(x):
    """The elements of an array on a GPU, of any library here."""
    if isinstance(x, (Cuda, Interface, Tensor, Ndarray)):
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
