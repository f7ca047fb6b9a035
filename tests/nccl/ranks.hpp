// SPDX-License-Identifier: Apache-2.0
/// \file ranks.hpp
/// Ranks that are threads: on simt with a stand-in for NCCL, or, with WF_REAL_NCCL, on this machine's GPUs with NCCL itself.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include <warpfold/gpus.hpp>
#include <warpfold/nccl.hpp>

#include "../support/forms.hpp"

#ifdef WF_REAL_NCCL
using place_type = wf::gpu;
using places_type = wf::gpus;
inline const wf::device_library& library() { return wf::cuda_library(); }
#else
using place_type = wf::simulated_gpu;
using places_type = wf::simulated_gpus;
inline const wf::device_library& library() { return wf::simt_library(); }
#endif

/// How many devices there are; simt has one, which may be named several times.
inline int device_count() {
  try {
    return library().devices();
  } catch (const wf::error&) {
    return 0;
  }
}
/// The k-th of several, on a machine that may have fewer.
inline int nth_device(std::size_t k) { return static_cast<int>(k) % device_count(); }

/// Numbers of ranks to try; none where there is no device.
inline std::vector<int> rank_counts() {
#ifdef WF_REAL_NCCL
  std::vector<int> all;
  for (int n = 1; n <= device_count(); n *= 2) all.push_back(n);
  return all;
#else
  return {1, 2, 3, 5};
#endif
}

/// Memory of the device with a copy of bytes.
class on_device {
 public:
  explicit on_device(const bytes& x) : size_(x.size()) {
    const bytes some = x.empty() ? bytes(8) : x;
    p_ = library().trials->allocate(some.size(), some.data(), some.size());
  }
  ~on_device() { library().trials->release(p_); }
  on_device(const on_device&) = delete;
  void* get() const { return p_; }
  bytes back() const {
    bytes x(size_);
    library().trials->copy_out(x.data(), p_, size_);
    return x;
  }

 private:
  void* p_;
  std::size_t size_;
};

struct rank_type {
  int index, ranks;
  const place_type& place;
  ncclComm_t comm;
};

/// f of each rank, each on a thread; the first failure is thrown.
inline void with_ranks(int ranks, const std::function<void(const rank_type&)>& f) {
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> failed(static_cast<std::size_t>(ranks));
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(ranks));
#ifdef WF_REAL_NCCL
  ASSERT_EQ(ncclCommInitAll(comms.data(), ranks, nullptr), ncclSuccess);
#else
  const auto team = std::make_shared<stand_in_team>(ranks);
  std::vector<ncclComm> made;
  for (int k = 0; k < ranks; ++k) made.push_back({team, k});
  for (int k = 0; k < ranks; ++k) comms[static_cast<std::size_t>(k)] = &made[static_cast<std::size_t>(k)];
#endif
  for (int k = 0; k < ranks; ++k)
    threads.emplace_back([&, k] {
      try {
#ifdef WF_REAL_NCCL
        library().use(k);
#endif
        void* const stream = library().make_stream();
        {
#ifdef WF_REAL_NCCL
          const place_type place(static_cast<CUstream_st*>(stream));
#else
          const place_type place(stream);
#endif
          f({k, ranks, place, comms[static_cast<std::size_t>(k)]});
        }
        library().end_stream(stream);
      } catch (...) {
        failed[static_cast<std::size_t>(k)] = std::current_exception();
#ifndef WF_REAL_NCCL
        team->meet.arrive_and_drop();
#endif
      }
    });
  for (std::thread& t : threads) t.join();
#ifdef WF_REAL_NCCL
  for (const ncclComm_t c : comms) ncclCommDestroy(c);
#endif
  for (const auto& e : failed)
    if (e) std::rethrow_exception(e);
}
