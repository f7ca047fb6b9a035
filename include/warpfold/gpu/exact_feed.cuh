// SPDX-License-Identifier: Apache-2.0
/// \file exact_feed.cuh
/// How a thread's elements come to a row set of exact_rows.cuh or exact_levels.cuh.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/gpu/items.cuh>
#include <warpfold/gpu/warp.cuh>
#include <warpfold/results.hpp>

namespace wf::device::inline WF_BUILD {

/// This thread's share of the arrays into a row set. `doubles`: FP64 operations are not much slower than others.
template <class Rows, class... T>
__device__ __forceinline__ void feed(Rows& rows, const arrays<sizeof...(T)>& a, op what, bool doubles,
                                     typename Rows::room& room) {
  const auto with_item = [&](std::uint64_t i, auto add) {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      add((i < a.n ? load_item<T>(a.x[K] + static_cast<std::int64_t>(i) * a.stride[K]) : T{})...);
    }(std::index_sequence_for<T...>());
  };
  if constexpr (requires { Rows::looks_ahead; }) {
    constexpr int inputs = sizeof...(T), loads = Rows::loads;
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
    const std::uint64_t first = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
    // Those that stay together go on until the first of their warp has nothing more.
    const std::uint64_t warp_begins = Rows::together ? lane_index() : 0;
    const loader<cache::share> load(a.kept);
    struct batch {
      pack p[loads][inputs];
      int count;
    };
    const auto load_batch = [&](batch& b, std::uint64_t v) {
      b.count = 0;
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        if (v + threads * u < a.packs) {
#pragma unroll
          for (int k = 0; k < inputs; ++k) b.p[u][k] = load_pack_of<Rows::item_size>(a, k, v + threads * u, load);
          b.count = u + 1;
        }
      }
    };
    batch now, next;
    std::uint64_t v = first;
    bool started = false;
    if (Rows::ahead) load_batch(next, v);
    do {  // once at least: all threads of the block start together
      if (Rows::ahead) now = next;
      else load_batch(now, v);
      v += threads * loads;
      if (!started) {
        rows.start(what, doubles, room, now.p, now.count);
        started = true;
      }
      if (Rows::ahead) load_batch(next, v);
      rows.add(now.p, now.count);
    } while (v - warp_begins < a.packs);
    for (std::uint64_t i = first + a.packs * (16 / Rows::item_size); i - warp_begins < a.n; i += threads) {
      with_item(i, [&](auto... x) { rows.add_item(i < a.n, x...); });
    }
    rows.finish();
  } else {
    rows.start(what);
    for_each_share<Rows::loads, Rows::item_size, true>(
        a, [&](const pack(&p)[sizeof...(T)], std::uint64_t) { rows.add(p); },
        [&](std::uint64_t i) { with_item(i, [&](auto... x) { rows.add_item(x...); }); }, [&] { rows.after_batch(); });
    rows.finish();
  }
}

}  // namespace wf::device::inline WF_BUILD
