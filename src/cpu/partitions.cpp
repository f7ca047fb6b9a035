// SPDX-License-Identifier: Apache-2.0
// Segments and labels.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <warpfold/detail/cpu/indexes.hpp>

#include "problem.hpp"

namespace wf::cpu {

namespace {

[[noreturn]] void refuse(const std::string& what) { throw error(errc::bad_argument, what); }

void check_one_dimension(const operands& x, const char* who) {
  if (x.shape.size() != 1)
    refuse(std::string(who) + ": the input has " + std::to_string(x.shape.size()) +
           " dimensions; it must have 1");
}

/// Elements of one input, of Size bytes or, where that is 0, of `size`, each to the next place of its label.
template <std::size_t Size>
void gather_by_label(const std::byte* x, std::int64_t stride, std::span<const std::int64_t> labels, std::int64_t* places, std::byte* to, std::size_t size) {
  if constexpr (Size != 0) size = Size;
  for (const std::int64_t label : labels) {
    std::memcpy(to + static_cast<std::size_t>(places[label]++) * size, x, size);
    x += stride;
  }
}
void gather_by_label(const std::byte* x, std::int64_t stride, std::span<const std::int64_t> labels, std::int64_t* places, std::byte* to, std::size_t size) {
  switch (size) {
    case 1: return gather_by_label<1>(x, stride, labels, places, to, size);
    case 2: return gather_by_label<2>(x, stride, labels, places, to, size);
    case 4: return gather_by_label<4>(x, stride, labels, places, to, size);
    case 8: return gather_by_label<8>(x, stride, labels, places, to, size);
    case 16: return gather_by_label<16>(x, stride, labels, places, to, size);
    default: return gather_by_label<0>(x, stride, labels, places, to, size);
  }
}

/// For few elements: all of them are brought together by label at once, and no answer needs a state but that of nothing.
void reduce_few_by_label(const erased& r, const void* self, const operands& x, std::span<const std::int64_t> labels, std::int64_t answers, void* out) {
  const std::int64_t n = x.shape[0];
  std::vector<std::int64_t> ends(static_cast<std::size_t>(answers) + 1, 0);  // where the answers before end; then each one
  for (std::int64_t i = 0; i < n; ++i) {
    if (labels[i] < 0 || labels[i] >= answers) refuse_label(labels[i], i, answers);
    ++ends[static_cast<std::size_t>(labels[i]) + 1];
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::array<std::vector<std::byte>, max_inputs> gathered;
  for (int k = r.inputs; k-- > 0;) {
    gathered[k].resize(static_cast<std::size_t>(n) * r.element_sizes[k]);
    std::vector<std::int64_t> places;  // for all inputs but the first, which moves the ends themselves
    if (k > 0) places = ends;
    gather_by_label(static_cast<const std::byte*>(x.data[k]), x.strides[k][0], labels, k > 0 ? places.data() : ends.data(), gathered[k].data(), r.element_sizes[k]);
  }
  std::optional<states> nothing;
  for (std::int64_t a = 0, begin = 0; a < answers; begin = ends[static_cast<std::size_t>(a++)]) {
    const std::int64_t count = ends[static_cast<std::size_t>(a)] - begin;
    void* const to = static_cast<std::byte*>(out) + static_cast<std::size_t>(a) * r.result_size;
    if (count == 0) {
      if (!nothing) r.identity(self, nothing.emplace(r, 1)[0]);
      r.finish(self, (*nothing)[0], 0, to);
      continue;
    }
    const void* p[max_inputs] = {};
    for (int k = 0; k < r.inputs; ++k) p[k] = gathered[k].data() + static_cast<std::size_t>(begin) * r.element_sizes[k];
    if (r.few_run == nullptr || !r.few_run(self, p, count, to)) r.short_run(self, p, count, to);
  }
}

}  // namespace

void reduce_segments(const erased& r, const void* self, const operands& x,
                     std::span<const std::int64_t> offsets, const context& c, void* out) {
  check_one_dimension(x, "segments");
  if (offsets.empty()) refuse("segments: no offsets; n segments have n + 1 offsets");
  const std::int64_t n = x.shape[0];
  for (std::size_t k = 0; k < offsets.size(); ++k) {
    const std::int64_t before = k == 0 ? 0 : offsets[k - 1];
    if (offsets[k] < before || offsets[k] > n) refuse_offset(static_cast<std::int64_t>(k), offsets[k], n);
  }
  const auto segments = static_cast<std::int64_t>(offsets.size()) - 1;
  auto* to = static_cast<std::byte*>(out);
  const auto of_segment = [&](std::int64_t k) {
    problem p;
    p.elements = offsets[k + 1] - offsets[k];
    dimension d{n, {}};
    for (int i = 0; i < r.inputs; ++i) {
      d.strides[i] = x.strides[i][0];
      p.base[i] = static_cast<const std::byte*>(x.data[i]) + d.strides[i] * offsets[k];
    }
    d.length = p.elements;
    if (p.elements != 1) p.reduced.push_back(d);
    return p;
  };
  bool without_gaps = true;
  for (int i = 0; i < r.inputs; ++i) without_gaps = without_gaps && x.strides[i][0] == static_cast<std::int64_t>(r.element_sizes[i]);
  // Short segments share tasks of about a chunk; a long one is spread over the threads by itself.
  std::vector<std::int64_t> ends;  // where all tasks but the last end, so that a few short segments need no memory
  std::vector<std::int64_t> long_ones;
  std::int64_t load = 0;
  constexpr std::int64_t overhead = 64;  // what a segment costs, in elements
  for (std::int64_t k = 0; k < segments; ++k) {
    const std::int64_t length = offsets[k + 1] - offsets[k];
    if (length > least_chunk) long_ones.push_back(k);
    else load += length;
    load += overhead;
    if (load >= least_chunk && k + 1 < segments) {
      ends.push_back(k + 1);
      load = 0;
    }
  }
  const auto tasks = static_cast<std::int64_t>(ends.size()) + 1;
  context alone = c;
  alone.threads = 1;
  parallel(c, tasks, [&](std::int64_t task) {
    const std::int64_t begin = task == 0 ? 0 : ends[task - 1], end = task + 1 == tasks ? segments : ends[task];
    const ieee_environment environment;
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t length = offsets[k + 1] - offsets[k];
      std::byte* const answer = to + static_cast<std::size_t>(k) * r.result_size;
      if (without_gaps && r.short_run != nullptr && length > 0 && length <= gather_size) {
        const void* elements[max_inputs] = {};
        for (int i = 0; i < r.inputs; ++i) elements[i] = static_cast<const std::byte*>(x.data[i]) + x.strides[i][0] * offsets[k];
        if (r.few_run == nullptr || !r.few_run(self, elements, length, answer)) r.short_run(self, elements, length, answer);
      } else if (length <= least_chunk) {
        solve(r, self, of_segment(k), alone, answer);
      }
    }
  });
  for (const std::int64_t k : long_ones)
    solve(r, self, of_segment(k), c, to + static_cast<std::size_t>(k) * r.result_size);
}

void reduce_labels(const erased& r, const void* self, const operands& x,
                   std::span<const std::int64_t> labels, std::int64_t answers, const context& c,
                   void* out) {
  check_one_dimension(x, "labels");
  const std::int64_t n = x.shape[0];
  if (static_cast<std::int64_t>(labels.size()) != n)
    refuse("labels: " + std::to_string(labels.size()) + " labels for " + std::to_string(n) +
           " elements; there must be one for each");
  if (answers < 0) refuse("labels: " + std::to_string(answers) + " answers; there must be 0 or more");
  // Each answer has a state, aligned, and some whole numbers.
  const auto each = static_cast<std::int64_t>(r.state_size + r.state_align + 64);
  if (answers > std::numeric_limits<std::int64_t>::max() / each)
    refuse("labels: " + std::to_string(answers) + " answers; no memory holds so many");
  const ieee_environment environment;
  if (n <= gather_size && r.short_run != nullptr) {
    reduce_few_by_label(r, self, x, labels, answers, out);
    return;
  }
  // A stable counting sort of a block at a time brings an answer's elements together; answers are
  // then shared out among the threads.
  const states s(r, answers);
  std::vector<std::int64_t> seen(static_cast<std::size_t>(answers), 0);
  for (std::int64_t a = 0; a < answers; ++a) r.identity(self, s[a]);
  const std::int64_t block = std::max<std::int64_t>(std::int64_t{1} << 20, answers);
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> order;
  for (std::int64_t begin = 0; begin < n; begin += block) {
    const std::int64_t count = std::min(block, n - begin);
    starts.assign(static_cast<std::size_t>(answers) + 2, 0);
    for (std::int64_t i = begin; i < begin + count; ++i) {
      if (labels[i] < 0 || labels[i] >= answers) refuse_label(labels[i], i, answers);
      ++starts[static_cast<std::size_t>(labels[i]) + 2];
    }
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    order.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = begin; i < begin + count; ++i)
      order[starts[static_cast<std::size_t>(labels[i]) + 1]++] = i;
    const std::int64_t together = (answers + 63) / 64;
    parallel(c, (answers + together - 1) / std::max<std::int64_t>(together, 1), [&](std::int64_t task) {
      std::array<std::vector<std::byte>, max_inputs> buffers;
      for (int k = 0; k < r.inputs; ++k)
        buffers[k].resize(static_cast<std::size_t>(gather_size) * r.element_sizes[k]);
      const std::int64_t last = std::min(answers, (task + 1) * together);
      for (std::int64_t a = task * together; a < last; ++a) {
        for (std::int64_t i = starts[a]; i < starts[a + 1];) {
          const std::int64_t m = std::min(gather_size, starts[a + 1] - i);
          for (int k = 0; k < r.inputs; ++k) {
            const std::size_t size = r.element_sizes[k];
            for (std::int64_t j = 0; j < m; ++j)
              std::memcpy(buffers[k].data() + static_cast<std::size_t>(j) * size,
                          static_cast<const std::byte*>(x.data[k]) + x.strides[k][0] * order[i + j], size);
          }
          const void* p[max_inputs] = {buffers[0].data(), buffers[1].data()};
          r.accumulate(self, s[a], p, m, seen[a]);
          seen[a] += m;
          i += m;
        }
      }
    });
  }
  for (std::int64_t a = 0; a < answers; ++a)
    r.finish(self, s[a], seen[a], static_cast<std::byte*>(out) + static_cast<std::size_t>(a) * r.result_size);
}

}  // namespace wf::cpu
