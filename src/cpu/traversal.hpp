// SPDX-License-Identifier: Apache-2.0
/// \file traversal.hpp
/// What the engine is made of: memory for states, tasks, and the walk over strided elements.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <vector>

#include <warpfold/detail/cpu/engine.hpp>

#include "environment.hpp"

namespace wf::cpu {

/// Elements of a chunk, the unit that threads share out; more where there would be too many states.
inline constexpr std::int64_t least_chunk = std::int64_t{1} << 17;
inline constexpr std::int64_t most_chunks = 4096;
/// Elements gathered from strided memory before they are folded: L1-sized, and the exact kernels' tile.
inline constexpr std::int64_t gather_size = 4096;
/// Answers side by side in memory that are gathered together: a cache line's worth of most types.
inline constexpr std::int64_t panel = 16;
inline constexpr std::int64_t panel_rows = 1024;

/// Where there are plenty, chunks have `good_chunk` bytes: a chunk costs a state and a restart of the
/// hardware's prefetchers (sums of i8 took 1.13 times as long in chunks of 128 KiB).
inline constexpr std::int64_t good_chunk = std::int64_t{1} << 20;
inline constexpr std::int64_t plenty = 128;

/// The size for n elements of so many bytes (those of all inputs).
inline std::int64_t chunk_size(std::int64_t n, std::size_t bytes) {
  std::int64_t size = least_chunk;
  const auto small = [&] { return size * static_cast<std::int64_t>(bytes) < good_chunk; };
  while (n / size >= most_chunks || (small() && n / size >= plenty)) size *= 2;
  return size;
}

/// Memory for states: aligned, freed on every path. A few lie here, and nothing is allocated.
class states {
 public:
  states(const erased& r, std::int64_t count)
      : stride_((r.state_size + r.state_align - 1) / r.state_align * r.state_align),
        align_(std::max<std::size_t>(r.state_align, 64)) {
    const std::size_t bytes = stride_ * static_cast<std::size_t>(std::max<std::int64_t>(count, 1));
    memory_ = bytes <= sizeof here_ && align_ <= 64 ? here_ : static_cast<std::byte*>(::operator new(bytes, std::align_val_t{align_}));
  }
  ~states() {
    if (memory_ != here_) ::operator delete(memory_, std::align_val_t{align_});
  }
  states(const states&) = delete;
  states& operator=(const states&) = delete;

  void* operator[](std::int64_t k) const { return memory_ + stride_ * static_cast<std::size_t>(k); }

 private:
  std::size_t stride_, align_;
  std::byte* memory_;
  alignas(64) std::byte here_[4096];
};

/// How many threads a call may have.
inline int threads_of(const context& c) { return c.threads > 0 ? c.threads : (c.executor != nullptr ? *c.executor : default_executor()).concurrency(); }

/// Runs f(k) for k in [0, tasks) on the context's executor, in the environment that the caller of this is to
/// have set, too; the first exception comes out here.
template <class F>
void parallel(const context& c, std::int64_t tasks, F f) {
  executor& e = c.executor != nullptr ? *c.executor : default_executor();
  const int limit = c.threads > 0 ? c.threads : e.concurrency();
  if (tasks <= 1 || limit == 1) {
    for (std::int64_t k = 0; k < tasks; ++k) f(k);
    return;
  }
  struct job {
    F& f;
    std::atomic<bool> failed{false};
    std::mutex mutex;
    std::exception_ptr error;
  } j{f, {}, {}, {}};
  e.run(tasks, limit, [](void* argument, std::int64_t k) {
    job& mine = *static_cast<job*>(argument);
    if (mine.failed.load(std::memory_order_relaxed)) return;
    const ieee_environment environment;  // an executor's threads may be set otherwise
    try {
      mine.f(k);
    } catch (...) {
      const std::lock_guard lock(mine.mutex);
      if (!mine.error) mine.error = std::current_exception();
      mine.failed = true;
    }
  }, &j);
  if (j.error) std::rethrow_exception(j.error);
}

/// Combines [0, count) into [0], pairwise and in order.
inline void combine_all(const erased& r, const void* self, const states& s, std::int64_t first,
                 std::int64_t count) {
  for (std::int64_t step = 1; step < count; step *= 2)
    for (std::int64_t k = 0; k + step < count; k += 2 * step)
      r.combine(self, s[first + k], s[first + k + step]);
}

struct dimension {
  std::int64_t length;
  std::array<std::int64_t, max_inputs> strides;  // bytes
};
using dimensions = per_dimension<dimension>;

/// Drops dimensions of length 1 and joins neighbours that are one run in memory.
inline dimensions joined(const dimensions& in, int inputs) {
  dimensions out;
  for (const dimension& d : in) {
    if (d.length == 1) continue;
    bool joins = !out.empty();
    for (int k = 0; k < inputs && joins; ++k)
      joins = out.back().strides[k] == d.strides[k] * d.length;
    if (joins) {
      out.back().length *= d.length;
      out.back().strides = d.strides;
    } else {
      out.push_back(d);
    }
  }
  return out;
}

using pointers = std::array<const std::byte*, max_inputs>;

inline void advance(pointers& p, const dimension& d, std::int64_t by, int inputs) {
  for (int k = 0; k < inputs; ++k) p[k] += d.strides[k] * by;
}

inline pointers at_index(pointers p, const dimensions& dims, std::int64_t index, int inputs) {
  for (std::size_t d = dims.size(); d-- > 0;) {
    advance(p, dims[d], index % dims[d].length, inputs);
    index /= dims[d].length;
  }
  return p;
}

inline void copy_strided(std::byte* to, const std::byte* from, std::int64_t stride, std::int64_t n,
                  std::size_t size) {
  if (stride == static_cast<std::int64_t>(size)) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * size);
    return;
  }
  const auto copy = [&]<std::size_t Size>(std::integral_constant<std::size_t, Size>) {
    std::int64_t i = 0;
    if constexpr (Size >= 2) {  // every second element, by vectors; nothing is read behind the last one
      using word = std::conditional_t<Size == 8, std::uint64_t, std::conditional_t<Size == 4, std::uint32_t, std::uint16_t>>;
      using vector __attribute__((vector_size(16))) = word;
      constexpr std::int64_t per = 16 / Size;
      for (; stride == 2 * static_cast<std::int64_t>(Size) && i + per < n; i += per) {
        vector a, b;
        std::memcpy(&a, from + i * stride, 16);
        std::memcpy(&b, from + i * stride + 16, 16);
        if constexpr (Size == 8) a = __builtin_shufflevector(a, b, 0, 2);
        else if constexpr (Size == 4) a = __builtin_shufflevector(a, b, 0, 2, 4, 6);
        else a = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
        std::memcpy(to + i * static_cast<std::int64_t>(Size), &a, 16);
      }
    }
    for (; i < n; ++i)
      std::memcpy(to + i * static_cast<std::int64_t>(Size), from + i * stride, Size);
  };
  switch (size) {
    case 1: return copy(std::integral_constant<std::size_t, 1>());
    case 2: return copy(std::integral_constant<std::size_t, 2>());
    case 4: return copy(std::integral_constant<std::size_t, 4>());
    case 8: return copy(std::integral_constant<std::size_t, 8>());
    default:
      for (std::int64_t i = 0; i < n; ++i)
        std::memcpy(to + i * static_cast<std::int64_t>(size), from + i * stride, size);
  }
}

/// Folds elements [begin, end) of an n-d run into one state: long rows in place, others gathered.
class folder {
 public:
  folder(const erased& r, const void* self) : r_(r), self_(self) {}

  void fold(void* state, pointers base, const dimensions& dims, std::int64_t begin,
            std::int64_t end) {
    if (begin >= end) return;
    if (dims.empty()) {
      add(state, base, 1, begin);
      return;
    }
    const dimension& row = dims.back();
    bool contiguous = true;
    for (int k = 0; k < r_.inputs; ++k)
      contiguous = contiguous && row.strides[k] == static_cast<std::int64_t>(r_.element_sizes[k]);
    const bool in_place = contiguous && (row.length >= gather_size / 4 || dims.size() == 1);

    std::int64_t filled = 0, filled_from = begin;
    for (std::int64_t i = begin; i < end;) {
      const std::int64_t column = i % row.length;
      std::int64_t n = std::min(row.length - column, end - i);
      const pointers p = at_index(base, dims, i, r_.inputs);
      if (in_place) {
        add(state, p, n, i);
        i += n;
        continue;
      }
      n = std::min(n, gather_size - filled);
      for (int k = 0; k < r_.inputs; ++k) {
        const std::size_t size = r_.element_sizes[k];
        buffer(k);
        copy_strided(buffers_[k].get() + static_cast<std::size_t>(filled) * size, p[k],
                     row.strides[k], n, size);
      }
      filled += n;
      i += n;
      if (filled == gather_size || i == end) {
        add(state, {buffers_[0].get(), buffers_[1].get()}, filled, filled_from);
        filled_from = i;
        filled = 0;
      }
    }
  }

  /// Rows of `width` answers side by side: row i of the reduced dimensions holds element i of each. f(w, p, n, i): elements
  /// i … i + n of answer w, without gaps.
  template <class F>
  void panels(std::int64_t width, pointers base, const dimensions& dims, const dimension& across, std::int64_t begin, std::int64_t end, F f) {
    for (int k = 0; k < r_.inputs; ++k) panel_buffer(k);
    const dimension& row = dims.back();
    for (std::int64_t from = begin; from < end;) {
      std::int64_t filled = 0;
      while (filled < panel_rows && from + filled < end) {
        const std::int64_t i = from + filled, n = std::min({row.length - i % row.length, end - i, panel_rows - filled});
        const pointers p = at_index(base, dims, i, r_.inputs);
        for (int k = 0; k < r_.inputs; ++k) transpose(k, p[k], row.strides[k], across.strides[k], filled, n, width);
        filled += n;
      }
      for (std::int64_t w = 0; w < width; ++w) {
        pointers q{};
        for (int k = 0; k < r_.inputs; ++k)
          q[k] = panels_[k].get() + static_cast<std::size_t>(w * panel_rows) * r_.element_sizes[k];
        f(w, q, filled, from);
      }
      from += filled;
    }
  }
  void fold_panel(const states& s, std::int64_t first_state, std::int64_t width, pointers base,
                  const dimensions& dims, const dimension& across, std::int64_t begin,
                  std::int64_t end) {
    panels(width, base, dims, across, begin, end, [&](std::int64_t w, const pointers& p, std::int64_t n, std::int64_t first) {
      add(s[first_state + w], p, n, first);
    });
  }

 private:
  void add(void* state, const pointers& p, std::int64_t n, std::int64_t first) {
    const void* x[max_inputs] = {p[0], p[1]};
    r_.accumulate(self_, state, x, n, first);
  }

  void buffer(int k) {
    if (!buffers_[k])
      buffers_[k] = std::make_unique_for_overwrite<std::byte[]>(
          static_cast<std::size_t>(gather_size) * r_.element_sizes[k]);
  }
  void panel_buffer(int k) {
    if (!panels_[k])
      panels_[k] = std::make_unique_for_overwrite<std::byte[]>(
          static_cast<std::size_t>(panel * panel_rows) * r_.element_sizes[k]);
  }

  void transpose(int k, const std::byte* from, std::int64_t row_stride, std::int64_t column_stride,
                 std::int64_t at, std::int64_t rows, std::int64_t width) {
    std::byte* to = panels_[k].get();
    const auto run = [&]<std::size_t Size>(std::integral_constant<std::size_t, Size>, std::size_t size) {
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t w = 0; w < width; ++w)
          std::memcpy(to + static_cast<std::size_t>(w * panel_rows + at + i) * (Size != 0 ? Size : size),
                      from + i * row_stride + w * column_stride, Size != 0 ? Size : size);
    };
    switch (const std::size_t size = r_.element_sizes[k]; size) {
      case 1: return run(std::integral_constant<std::size_t, 1>(), size);
      case 2: return run(std::integral_constant<std::size_t, 2>(), size);
      case 4: return run(std::integral_constant<std::size_t, 4>(), size);
      case 8: return run(std::integral_constant<std::size_t, 8>(), size);
      default: return run(std::integral_constant<std::size_t, 0>(), size);
    }
  }

  const erased& r_;
  const void* self_;
  std::unique_ptr<std::byte[]> buffers_[max_inputs], panels_[max_inputs];
};

}  // namespace wf::cpu
