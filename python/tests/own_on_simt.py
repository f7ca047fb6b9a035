# SPDX-License-Identifier: Apache-2.0
"""The kernels of a Reduction on simt: the text that NVRTC gets, compiled by the host's compiler with simt's headers in place of CUDA's. Their machine is
that of warpfold._simt, which has to be preloaded."""

import ctypes
import os
import re
import subprocess

from warpfold import _compile, _device, _own_gpu

_HEAD = """\
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <cuda_runtime.h>
#include <warpfold/half.hpp>

"""
_TAIL = """
template <class... P>
static int warpfold_put(void (*kernel)(P...), unsigned blocks, unsigned threads, void* stream, void** a) {
  cudaLaunchConfig_t c{};
  c.gridDim = blocks;
  c.blockDim = threads;
  c.stream = static_cast<cudaStream_t>(stream);
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return static_cast<int>(cudaLaunchKernelEx(&c, kernel, *static_cast<std::remove_reference_t<P>*>(a[K])...));
  }(std::index_sequence_for<P...>());
}
extern "C" const int* warpfold_numbers() { return warpfold_told; }
extern "C" int warpfold_put_of[4] = {};  // how often each kernel was
extern "C" int warpfold_launch(void* which, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned, void* stream, void** a, void**) {
  const auto k = reinterpret_cast<std::uintptr_t>(which) - 1;
  ++warpfold_put_of[k];
  if (k == 0) return warpfold_put(warpfold_own_each, blocks, threads, stream, a);
  if (k == 1) return warpfold_put(warpfold_own_warp, blocks, threads, stream, a);
  if (k == 2) return warpfold_put(warpfold_own_fold, blocks, threads, stream, a);
  return warpfold_put(warpfold_own_finish, blocks, threads, stream, a);
}
"""


class Simt:
    """In place of _own_gpu's driver."""

    def __init__(self, folder):
        self.folder, self.made = folder, []

    def kernels(self, own, element, device):
        text = _HEAD + own._source(element, _own_gpu.WHOLE.removeprefix(_own_gpu._HEAD)) + _TAIL
        name = os.path.join(self.folder, re.sub(r"\W", "", _compile.key_of(text, {}, ())))
        with open(name + ".cpp", "w") as f:
            f.write(text)
        subprocess.run([*_compile.compiler(), "-std=c++20", "-O1", "-w", "-shared", "-fPIC", "-fno-extern-tls-init", "-ffp-contract=off",
                        "-I", os.environ["WARPFOLD_TEST_SIMT"], "-I", _compile.INCLUDE, name + ".cpp", "-o", name + ".so"], check=True)
        made = ctypes.CDLL(name + ".so")
        self.made.append(made)
        made.warpfold_numbers.restype = ctypes.POINTER(ctypes.c_int)
        launch = ctypes.cast(made.warpfold_launch, ctypes.c_void_p).value
        return _device.kernels("Reduction").OwnKernels(tuple(made.warpfold_numbers()[:4]), 0, [1, 2, 3, 4], [launch, 0, 0])

    def said(self, e, name):
        assert e == 0

    def put(self):
        """How often each of the four kernels was launched."""
        all_ = [(ctypes.c_int * 4).in_dll(made, "warpfold_put_of") for made in self.made]
        return [sum(one[k] for one in all_) for k in range(4)]
