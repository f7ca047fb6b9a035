// SPDX-License-Identifier: Apache-2.0
#include "activity.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <cxxabi.h>

#include "cupti.hpp"
#include "unavailable.hpp"

namespace lens::profile {
namespace {

#if CUPTI_API_VERSION >= 130000
using kernel_activity = CUpti_ActivityKernel10;
using copy_activity = CUpti_ActivityMemcpy6;
using fill_activity = CUpti_ActivityMemset4;
#else
using kernel_activity = CUpti_ActivityKernel9;
using copy_activity = CUpti_ActivityMemcpy5;
using fill_activity = CUpti_ActivityMemset4;
#endif

constexpr CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_RUNTIME};

template <class Record>
struct linked {
  std::uint32_t correlation;
  Record record;
};

/// What the callbacks, which carry no pointer of ours, fill. They come from threads of CUPTI's own.
struct collected {
  std::mutex mutex;
  std::vector<linked<kernel_record>> kernels;
  std::vector<linked<transfer_record>> transfers;
  struct timed_call {
    std::uint64_t start, end;
    std::uint32_t correlation;
    call_record record;
  };
  std::vector<timed_call> calls;
  std::uint64_t dropped = 0;
};

collected& inbox() {
  static collected one;
  return one;
}

double seconds_between(std::uint64_t from, std::uint64_t to) {
  return to > from ? static_cast<double>(to - from) * 1e-9 : 0;
}

const char* direction(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD: return "copy, host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH: return "copy, device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD: return "copy, within the device";
    default: return "copy";
  }
}

/// `cudaLaunchKernelExC_v11060` is cudaLaunchKernelExC.
std::string call_name(const cupti& c, CUpti_CallbackId id) {
  const char* text = nullptr;
  if (c.cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, id, &text) != CUPTI_SUCCESS || !text)
    return "call " + std::to_string(id);
  std::string name = text;
  if (const auto v = name.rfind("_v"); v != name.npos) name.resize(v);
  return name;
}

void take(const cupti& c, CUpti_Activity* record) {
  collected& all = inbox();
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: {
      const auto& k = *reinterpret_cast<kernel_activity*>(record);
      kernel_record r;
      r.name = demangled(k.name);
      r.seconds = seconds_between(k.start, k.end);
      r.order = k.start;
      const std::int32_t grid[] = {k.gridX, k.gridY, k.gridZ}, block[] = {k.blockX, k.blockY, k.blockZ};
      for (int i = 0; i < 3; ++i) {
        r.grid[i] = static_cast<std::uint32_t>(grid[i]);
        r.block[i] = static_cast<std::uint32_t>(block[i]);
      }
      r.registers = k.registersPerThread;
      r.static_shared = static_cast<std::uint64_t>(k.staticSharedMemory);
      r.dynamic_shared = static_cast<std::uint64_t>(k.dynamicSharedMemory);
      r.local_bytes = k.localMemoryPerThread;
      all.kernels.push_back({k.correlationId, std::move(r)});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& m = *reinterpret_cast<copy_activity*>(record);
      all.transfers.push_back(
          {m.correlationId, {direction(m.copyKind), seconds_between(m.start, m.end), m.bytes}});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& m = *reinterpret_cast<fill_activity*>(record);
      all.transfers.push_back({m.correlationId, {"fill", seconds_between(m.start, m.end), m.bytes}});
      break;
    }
    case CUPTI_ACTIVITY_KIND_RUNTIME: {
      const auto& a = *reinterpret_cast<CUpti_ActivityAPI*>(record);
      all.calls.push_back({a.start, a.end, a.correlationId,
                           {call_name(c, a.cbid), seconds_between(a.start, a.end)}});
      break;
    }
    default: break;
  }
}

constexpr std::size_t buffer_bytes = 1 << 20, buffer_alignment = 8;

void CUPTIAPI buffer_wanted(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(buffer_alignment, buffer_bytes));
  *size = *buffer != nullptr ? buffer_bytes : 0;
  *most_records = 0;  // as many as fit
}

void CUPTIAPI buffer_filled(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                            std::size_t, std::size_t used) {
  const cupti& c = load_cupti();
  const std::lock_guard lock(inbox().mutex);
  CUpti_Activity* record = nullptr;
  while (used > 0 && c.cuptiActivityGetNextRecord(buffer, used, &record) == CUPTI_SUCCESS)
    take(c, record);
  std::size_t dropped = 0;
  if (c.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS)
    inbox().dropped += dropped;
  std::free(buffer);
}

}  // namespace

std::string demangled(const char* name) {
  if (name == nullptr) return {};
  if (!std::string_view(name).starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? text.get() : name;
}

struct recording::state {
  const cupti& c;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> windows;
  bool running = false;
};

recording::recording() : state_(new state{load_cupti(), {}, false}) {
  const cupti& c = state_->c;
  {
    const std::lock_guard lock(inbox().mutex);
    inbox().kernels.clear();
    inbox().transfers.clear();
    inbox().calls.clear();
    inbox().dropped = 0;
  }
  c.check(c.cuptiActivityRegisterCallbacks(buffer_wanted, buffer_filled), "activity records");
  for (const CUpti_ActivityKind kind : kinds)
    c.check(c.cuptiActivityEnable(kind), "activity records");
  state_->running = true;
}

recording::~recording() {
  if (!state_->running) return;
  for (const CUpti_ActivityKind kind : kinds) state_->c.cuptiActivityDisable(kind);
  state_->c.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

void recording::open() {
  std::uint64_t now = 0;
  state_->c.check(state_->c.cuptiGetTimestamp(&now), "time");
  state_->windows.emplace_back(now, ~std::uint64_t{0});
}

void recording::close() {
  state_->c.check(state_->c.cuptiGetTimestamp(&state_->windows.back().second), "time");
}

trace recording::finish() {
  const cupti& c = state_->c;
  c.check(c.cuptiActivityFlushAll(0), "activity records");
  for (const CUpti_ActivityKind kind : kinds) c.check(c.cuptiActivityDisable(kind), "activity records");
  c.check(c.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "activity records");
  state_->running = false;

  collected& all = inbox();
  const std::lock_guard lock(all.mutex);
  trace result;
  std::unordered_map<std::uint32_t, std::size_t> wanted;  // a call's window
  const auto& windows = state_->windows;
  for (auto& call : all.calls) {
    // The last window that opened before the call.
    const auto after = std::upper_bound(windows.begin(), windows.end(), call.start,
                                        [](std::uint64_t t, const auto& w) { return t < w.first; });
    if (after == windows.begin() || call.end > std::prev(after)->second) continue;
    wanted[call.correlation] = static_cast<std::size_t>(std::prev(after) - windows.begin());
    result.calls.push_back(std::move(call.record));
  }
  for (auto& [correlation, record] : all.kernels) {
    const auto call = wanted.find(correlation);
    if (call == wanted.end()) continue;
    record.window = call->second;
    result.kernels.push_back(std::move(record));
  }
  for (auto& [correlation, record] : all.transfers)
    if (wanted.contains(correlation)) result.transfers.push_back(std::move(record));
  std::stable_sort(result.kernels.begin(), result.kernels.end(),
                   [](const auto& a, const auto& b) { return a.order < b.order; });
  result.dropped = all.dropped;
  return result;
}

}  // namespace lens::profile
