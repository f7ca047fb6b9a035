// SPDX-License-Identifier: Apache-2.0
#include "hardware.hpp"

#include <cstdint>
#include <limits>

#include <dlfcn.h>

#include "cupti.hpp"
#include "unavailable.hpp"

namespace lens::profile {
namespace {

// CUPTI's parameters carry their size, by which it knows the caller's version of them.

/// The host's side of a metric: the image that configures the counters, and values from raw counts.
class metric_host {
 public:
  metric_host(const cupti& c, const std::string& chip, const std::uint8_t* availability) : c_(c) {
    if (!c.no_host.empty()) throw unavailable(c.no_host);
    CUpti_Profiler_Host_Initialize_Params p{};
    p.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE;
    p.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    p.pChipName = chip.c_str();
    p.pCounterAvailabilityImage = availability;
    c.check(c.cuptiProfilerHostInitialize(&p), "counters of the chip " + chip);
    host_ = p.pHostObject;
  }
  ~metric_host() {
    CUpti_Profiler_Host_Deinitialize_Params p{};
    p.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE;
    p.pHostObject = host_;
    c_.cuptiProfilerHostDeinitialize(&p);
  }
  metric_host(const metric_host&) = delete;
  metric_host& operator=(const metric_host&) = delete;

  CUptiResult add(std::vector<const char*>& names) {
    CUpti_Profiler_Host_ConfigAddMetrics_Params p{};
    p.structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE;
    p.pHostObject = host_;
    p.ppMetricNames = names.data();
    p.numMetrics = names.size();
    return c_.cuptiProfilerHostConfigAddMetrics(&p);
  }

  std::vector<std::uint8_t> image() {
    CUpti_Profiler_Host_GetConfigImageSize_Params size{};
    size.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE;
    size.pHostObject = host_;
    c_.check(c_.cuptiProfilerHostGetConfigImageSize(&size), "configuring counters");
    std::vector<std::uint8_t> bytes(size.configImageSize);
    CUpti_Profiler_Host_GetConfigImage_Params p{};
    p.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE;
    p.pHostObject = host_;
    p.configImageSize = bytes.size();
    p.pConfigImage = bytes.data();
    c_.check(c_.cuptiProfilerHostGetConfigImage(&p), "configuring counters");
    return bytes;
  }

  std::size_t passes(std::vector<std::uint8_t>& config) {
    CUpti_Profiler_Host_GetNumOfPasses_Params p{};
    p.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE;
    p.configImageSize = config.size();
    p.pConfigImage = config.data();
    c_.check(c_.cuptiProfilerHostGetNumOfPasses(&p), "configuring counters");
    return p.numOfPasses;
  }

  std::vector<double> values(const std::vector<std::uint8_t>& data, std::size_t range,
                             std::vector<const char*>& names) {
    std::vector<double> all(names.size());
    CUpti_Profiler_Host_EvaluateToGpuValues_Params p{};
    p.structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE;
    p.pHostObject = host_;
    p.pCounterDataImage = data.data();
    p.counterDataImageSize = data.size();
    p.rangeIndex = range;
    p.ppMetricNames = names.data();
    p.numMetrics = names.size();
    p.pMetricValues = all.data();
    c_.check(c_.cuptiProfilerHostEvaluateToGpuValues(&p), "reading counters");
    return all;
  }

 private:
  const cupti& c_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
};

/// The range profiler, enabled on a context while it lives.
class range_profiler {
 public:
  range_profiler(const cupti& c, CUcontext context) : c_(c) {
    CUpti_RangeProfiler_Enable_Params p{};
    p.structSize = CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE;
    p.ctx = context;
    c.check(c.cuptiRangeProfilerEnable(&p), "counters");
    profiler_ = p.pRangeProfilerObject;
  }
  ~range_profiler() {
    CUpti_RangeProfiler_Disable_Params p{};
    p.structSize = CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE;
    p.pRangeProfilerObject = profiler_;
    c_.cuptiRangeProfilerDisable(&p);
  }
  range_profiler(const range_profiler&) = delete;
  range_profiler& operator=(const range_profiler&) = delete;

  std::vector<std::uint8_t> data_image(std::vector<const char*>& names, std::size_t most) {
    CUpti_RangeProfiler_GetCounterDataSize_Params size{};
    size.structSize = CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE;
    size.pRangeProfilerObject = profiler_;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = most;
    size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(most);
    c_.check(c_.cuptiRangeProfilerGetCounterDataSize(&size), "room for counters");
    std::vector<std::uint8_t> data(size.counterDataSize);
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params p{};
    p.structSize = CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE;
    p.pRangeProfilerObject = profiler_;
    p.counterDataSize = data.size();
    p.pCounterData = data.data();
    c_.check(c_.cuptiRangeProfilerCounterDataImageInitialize(&p), "room for counters");
    return data;
  }

  void set(const std::vector<std::uint8_t>& config, std::vector<std::uint8_t>& data, std::size_t most) {
    CUpti_RangeProfiler_SetConfig_Params p{};
    p.structSize = CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE;
    p.pRangeProfilerObject = profiler_;
    p.configSize = config.size();
    p.pConfig = config.data();
    p.counterDataImageSize = data.size();
    p.pCounterDataImage = data.data();
    p.range = CUPTI_AutoRange;  // a kernel is a range
    p.replayMode = CUPTI_KernelReplay;
    p.maxRangesPerPass = most;
    p.numNestingLevels = p.minNestingLevel = p.targetNestingLevel = 1;
    c_.check(c_.cuptiRangeProfilerSetConfig(&p), "configuring counters");
  }

  void start() {
    CUpti_RangeProfiler_Start_Params p{};
    p.structSize = CUpti_RangeProfiler_Start_Params_STRUCT_SIZE;
    p.pRangeProfilerObject = profiler_;
    c_.check(c_.cuptiRangeProfilerStart(&p), "counters");
  }
  void stop() {
    CUpti_RangeProfiler_Stop_Params p{};
    p.structSize = CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE;
    p.pRangeProfilerObject = profiler_;
    c_.check(c_.cuptiRangeProfilerStop(&p), "counters");
  }
  std::size_t decode() {
    CUpti_RangeProfiler_DecodeData_Params p{};
    p.structSize = CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE;
    p.pRangeProfilerObject = profiler_;
    c_.check(c_.cuptiRangeProfilerDecodeData(&p), "reading counters");
    return p.numOfRangeDropped;
  }

 private:
  const cupti& c_;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
};

/// The driver is opened as the CUDA runtime opened it: no link to it is needed.
template <class Function>
Function driver_function(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  auto* f = driver == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(driver, name));
  if (f == nullptr) throw unavailable("no CUDA driver");
  return f;
}

std::string chip_of(const cupti& c, CUdevice device) {
  CUpti_Device_GetChipName_Params p{};
  p.structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE;
  p.deviceIndex = static_cast<std::size_t>(device);
  c.check(c.cuptiDeviceGetChipName(&p), "the chip's name");
  return p.pChipName;
}

/// What this chip, as it is, can count; empty if CUPTI cannot tell.
std::vector<std::uint8_t> availability_of(const cupti& c, CUcontext context) {
  CUpti_Profiler_GetCounterAvailability_Params p{};
  p.structSize = CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE;
  p.ctx = context;
  c.check(c.cuptiProfilerGetCounterAvailability(&p), "counters");
  std::vector<std::uint8_t> image(p.counterAvailabilityImageSize);
  p.pCounterAvailabilityImage = image.data();
  c.check(c.cuptiProfilerGetCounterAvailability(&p), "counters");
  return image;
}

}  // namespace

metric_check check_metrics(const std::string& chip, std::span<const std::string_view> names) {
  const cupti& c = load_cupti();
  metric_check result;
  std::vector<std::string> known;
  for (const std::string_view& name : names) {
    metric_host one(c, chip, nullptr);
    const std::string text(name);
    std::vector<const char*> single{text.c_str()};
    if (one.add(single) == CUPTI_SUCCESS)
      known.push_back(text);
    else
      result.unknown.push_back(text);
  }
  if (known.empty()) return result;
  metric_host all(c, chip, nullptr);
  std::vector<const char*> pointers;
  for (const std::string& name : known) pointers.push_back(name.c_str());
  c.check(all.add(pointers), "these metrics together");
  auto config = all.image();
  result.passes = all.passes(config);
  return result;
}

counted count_kernels(const std::function<void()>& work, bool instructions_alone, std::size_t most_kernels) {
  const cupti& c = load_cupti();
  CUcontext context = nullptr;
  CUdevice device = 0;
  if (driver_function<CUresult (*)(CUcontext*)>("cuCtxGetCurrent")(&context) != CUDA_SUCCESS || !context)
    throw unavailable("no CUDA context on this thread");
  driver_function<CUresult (*)(CUdevice*)>("cuCtxGetDevice")(&device);
  CUpti_Profiler_Initialize_Params begin{};
  begin.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE;
  c.check(c.cuptiProfilerInitialize(&begin), "counters");

  counted result;
  result.chip = chip_of(c, device);
  const auto available = availability_of(c, context);
  std::vector<const char*> names;
  std::vector<std::size_t> places;  // those of the names in metrics()
  for (std::size_t k = 0; k < metrics().size(); ++k)
    if (!instructions_alone || metrics()[k].from == source::sass) {
      names.push_back(metrics()[k].name.data());  // a literal's
      places.push_back(k);
    }
  metric_host host(c, result.chip, available.data());
  c.check(host.add(names), "the counters of " + result.chip);
  auto config = host.image();
  result.passes = host.passes(config);

  range_profiler profiler(c, context);
  auto data = profiler.data_image(names, most_kernels);
  profiler.set(config, data, most_kernels);
  profiler.start();
  try {
    work();
  } catch (...) {
    profiler.stop();
    throw;
  }
  profiler.stop();
  if (profiler.decode() != 0)
    throw unavailable("more than " + std::to_string(most_kernels) + " kernels: counters of some are lost");
  CUpti_RangeProfiler_GetCounterDataInfo_Params info{};
  info.structSize = CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE;
  info.pCounterDataImage = data.data();
  info.counterDataImageSize = data.size();
  c.check(c.cuptiRangeProfilerGetCounterDataInfo(&info), "reading counters");
  for (std::size_t k = 0; k < info.numTotalRanges; ++k) {
    counted_kernel one{std::vector<double>(metrics().size(), std::numeric_limits<double>::quiet_NaN())};
    const auto values = host.values(data, k, names);
    for (std::size_t m = 0; m < values.size(); ++m) one.values[places[m]] = values[m];
    result.kernels.push_back(std::move(one));
  }
  return result;
}

}  // namespace lens::profile
