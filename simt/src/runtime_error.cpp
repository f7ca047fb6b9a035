// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <utility>

#include "runtime_state.hpp"

namespace simt {
namespace {

struct entry {
  cudaError_t code;
  const char *name, *text;
};

#define SIMT_ERROR(code, text) \
  { code, #code, text }
constexpr entry errors[] = {
    SIMT_ERROR(cudaSuccess, "no error"),
    SIMT_ERROR(cudaErrorInvalidValue, "invalid argument"),
    SIMT_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    SIMT_ERROR(cudaErrorInitializationError, "initialization error"),
    SIMT_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    SIMT_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    SIMT_ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    SIMT_ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    SIMT_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    SIMT_ERROR(cudaErrorInsufficientDriver,
               "CUDA driver version is insufficient for CUDA runtime version"),
    SIMT_ERROR(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    SIMT_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    SIMT_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    SIMT_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    SIMT_ERROR(cudaErrorNoKernelImageForDevice,
               "no kernel image is available for execution on the device"),
    SIMT_ERROR(cudaErrorUnsupportedLimit, "limit is not supported on this architecture"),
    SIMT_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    SIMT_ERROR(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    SIMT_ERROR(cudaErrorSymbolNotFound, "named symbol not found"),
    SIMT_ERROR(cudaErrorNotReady, "device not ready"),
    SIMT_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    SIMT_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    SIMT_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    SIMT_ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    SIMT_ERROR(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    SIMT_ERROR(cudaErrorAssert, "device-side assert triggered"),
    SIMT_ERROR(cudaErrorHostMemoryAlreadyRegistered,
               "part or all of the requested memory range is already mapped"),
    SIMT_ERROR(cudaErrorHostMemoryNotRegistered,
               "pointer does not correspond to a registered memory region"),
    SIMT_ERROR(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    SIMT_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    SIMT_ERROR(cudaErrorInvalidAddressSpace,
               "operation not supported on global/shared address space"),
    SIMT_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    SIMT_ERROR(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    SIMT_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    SIMT_ERROR(cudaErrorNotSupported, "operation not supported"),
    SIMT_ERROR(cudaErrorStreamCaptureUnsupported,
               "operation not permitted when stream is capturing"),
    SIMT_ERROR(cudaErrorStreamCaptureInvalidated,
               "operation failed due to a previous error during capture"),
    SIMT_ERROR(cudaErrorStreamCaptureMerge,
               "operation would result in a merge of separate capture sequences"),
    SIMT_ERROR(cudaErrorStreamCaptureUnmatched,
               "capture was not ended in the same stream as it began"),
    SIMT_ERROR(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    SIMT_ERROR(cudaErrorStreamCaptureIsolation,
               "dependency created on uncaptured work in another stream"),
    SIMT_ERROR(cudaErrorStreamCaptureImplicit,
               "operation would make the legacy stream depend on a capturing blocking stream"),
    SIMT_ERROR(cudaErrorCapturedEvent,
               "operation not permitted on an event last recorded in a capturing stream"),
    SIMT_ERROR(cudaErrorStreamCaptureWrongThread,
               "attempt to terminate a thread-local capture sequence from another thread"),
    SIMT_ERROR(cudaErrorTimeout, "wait operation timed out"),
    SIMT_ERROR(cudaErrorInvalidClusterSize,
               "a kernel launch error has occurred due to cluster misconfiguration"),
    SIMT_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef SIMT_ERROR

constexpr const char* unknown = "unrecognized error code";

const entry* find(cudaError_t error) {
  for (const entry& e : errors) {
    if (e.code == error) return &e;
  }
  return nullptr;
}

// What breaks a CUDA context: every later call in the process gives it.
bool is_fault(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorLaunchFailure:
      return true;
    default:
      return false;
  }
}

thread_local cudaError_t last_error = cudaSuccess;
thread_local int host_functions = 0;
std::atomic<cudaError_t> sticky{cudaSuccess};

}  // namespace

namespace detail {

cudaError_t set_last_error(cudaError_t error) {
  last_error = error;
  if (is_fault(error)) sticky = error;
  return error;
}

cudaError_t sticky_error() { return sticky; }

void clear_sticky_error() {
  sticky = cudaSuccess;
  last_error = cudaSuccess;
}

cudaError_t enter() {
  if (host_functions > 0) return cudaErrorNotPermitted;
  const cudaError_t fault = sticky_error();
  if (fault != cudaSuccess) last_error = fault;
  return fault;
}

host_function_scope::host_function_scope() { ++host_functions; }
host_function_scope::~host_function_scope() { --host_functions; }

}  // namespace detail

// A fault is forgotten here too, as on a GPU (measured): the next call that meets it is told of it again.
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

cudaError_t cudaPeekAtLastError() { return last_error; }

const char* cudaGetErrorName(cudaError_t error) {
  const entry* const e = find(error);
  return e != nullptr ? e->name : unknown;
}

const char* cudaGetErrorString(cudaError_t error) {
  const entry* const e = find(error);
  return e != nullptr ? e->text : unknown;
}

}  // namespace simt
