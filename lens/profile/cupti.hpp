// SPDX-License-Identifier: Apache-2.0
/// \file cupti.hpp
/// CUPTI, loaded when it is first wanted: a program that never profiles needs no profiler installed.
#pragma once

#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <string>
#include <string_view>

namespace lens::profile {

#define LENS_CUPTI_FUNCTIONS(F)                                                                   \
  F(cuptiGetVersion)                                                                              \
  F(cuptiGetErrorMessage)                                                                         \
  F(cuptiGetTimestamp)                                                                            \
  F(cuptiGetCallbackName)                                                                         \
  F(cuptiActivityRegisterCallbacks)                                                               \
  F(cuptiActivityEnable)                                                                          \
  F(cuptiActivityDisable)                                                                         \
  F(cuptiActivityFlushAll)                                                                        \
  F(cuptiActivityGetNextRecord)                                                                   \
  F(cuptiActivityGetNumDroppedRecords)                                                            \
  F(cuptiDeviceGetChipName)                                                                       \
  F(cuptiProfilerInitialize)                                                                      \
  F(cuptiProfilerGetCounterAvailability)                                                          \
  F(cuptiProfilerHostInitialize)                                                                  \
  F(cuptiProfilerHostDeinitialize)                                                                \
  F(cuptiProfilerHostConfigAddMetrics)                                                            \
  F(cuptiProfilerHostGetConfigImageSize)                                                          \
  F(cuptiProfilerHostGetConfigImage)                                                              \
  F(cuptiProfilerHostGetNumOfPasses)                                                              \
  F(cuptiProfilerHostEvaluateToGpuValues)                                                         \
  F(cuptiRangeProfilerEnable)                                                                     \
  F(cuptiRangeProfilerDisable)                                                                    \
  F(cuptiRangeProfilerGetCounterDataSize)                                                         \
  F(cuptiRangeProfilerCounterDataImageInitialize)                                                 \
  F(cuptiRangeProfilerSetConfig)                                                                  \
  F(cuptiRangeProfilerStart)                                                                      \
  F(cuptiRangeProfilerStop)                                                                       \
  F(cuptiRangeProfilerDecodeData)                                                                 \
  F(cuptiRangeProfilerGetCounterDataInfo)

struct cupti {
#define LENS_CUPTI_MEMBER(name) decltype(&::name) name = nullptr;
  LENS_CUPTI_FUNCTIONS(LENS_CUPTI_MEMBER)
#undef LENS_CUPTI_MEMBER
  std::string path;        ///< where the library that was loaded lies
  std::uint32_t version = 0;
  std::string no_host;     ///< why libnvperf_host could not be loaded; without it there are no counters

  /// Throws unavailable: what was done, and CUPTI's own text.
  void check(CUptiResult, std::string_view what) const;
};

/// Throws unavailable, with where it was looked for.
const cupti& load_cupti();

}  // namespace lens::profile
