// SPDX-License-Identifier: Apache-2.0
#include <warpfold/detail/cpu/fusion.hpp>

#include <algorithm>
#include <string>

namespace wf::cpu {

namespace {

constexpr std::int64_t fused_tile = 4096;

std::size_t aligned(std::size_t offset, std::size_t to) { return (offset + to - 1) / to * to; }

std::byte* at(void* p, std::size_t offset) { return static_cast<std::byte*>(p) + offset; }
const std::byte* at(const void* p, std::size_t offset) { return static_cast<const std::byte*>(p) + offset; }

}  // namespace

fusion::fusion(std::span<const part> parts) {
  if (parts.empty()) throw error(errc::bad_argument, "fuse: nothing to fuse; name one reduction or more");
  const erased& first = *parts.front().functions;
  functions_.state_align = 1;
  functions_.inputs = first.inputs;
  functions_.element_sizes = first.element_sizes;
  functions_.commutes = true;
  if (parts.size() > few) {
    many_.resize(parts.size());
    placed_ = many_;
  } else {
    placed_ = std::span(few_).first(parts.size());
  }
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const part& p = parts[k];
    const erased& f = *p.functions;
    if (f.inputs != first.inputs || f.element_sizes != first.element_sizes)
      throw error(errc::bad_argument, "fuse: reductions of different inputs; they must take the same elements");
    const std::size_t state = aligned(functions_.state_size, f.state_align);
    const std::size_t result = aligned(functions_.result_size, 16);
    placed_[k] = {p, state, result};
    functions_.state_size = state + f.state_size;
    functions_.state_align = std::max(functions_.state_align, f.state_align);
    functions_.result_size = result + f.result_size;
    functions_.commutes = functions_.commutes && f.commutes;
  }
  functions_.state_size = aligned(functions_.state_size, functions_.state_align);
  functions_.result_size = aligned(functions_.result_size, 16);

  functions_.identity = [](const void* self, void* s) {
    for (const placed& p : parts_of(self)) p.what.functions->identity(p.what.self, at(s, p.state));
  };
  functions_.accumulate = [](const void* self, void* s, const void* const* x, std::int64_t n,
                             std::int64_t start) {
    const std::span<const placed> all = parts_of(self);
    const erased& one = *all.front().what.functions;
    for (std::int64_t i = 0; i < n; i += fused_tile) {
      const void* here[max_inputs] = {};
      for (int k = 0; k < one.inputs; ++k)
        here[k] = at(x[k], static_cast<std::size_t>(i) * one.element_sizes[k]);
      for (const placed& p : all)
        p.what.functions->accumulate(p.what.self, at(s, p.state), here, std::min(fused_tile, n - i), start + i);
    }
  };
  functions_.combine = [](const void* self, void* s, const void* later) {
    for (const placed& p : parts_of(self))
      p.what.functions->combine(p.what.self, at(s, p.state), at(later, p.state));
  };
  functions_.finish = [](const void* self, const void* s, std::int64_t n, void* out) {
    for (const placed& p : parts_of(self))
      p.what.functions->finish(p.what.self, at(s, p.state), n, at(out, p.result));
  };
}

}  // namespace wf::cpu
