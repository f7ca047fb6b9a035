// SPDX-License-Identifier: Apache-2.0
#include <warpfold/detail/cpu/running.hpp>

#include <algorithm>
#include <cstring>

#include "environment.hpp"

namespace wf::cpu {

namespace {

/// The reduction of a piece: indexes go on from those before, and the answer is the state.
struct piece {
  const erased& r;
  const void* self;
  std::int64_t first;

  static const piece& as(const void* p) { return *static_cast<const piece*>(p); }

  erased functions() const {
    erased f = r;
    f.result_size = r.state_size;
    f.short_run = nullptr;
    f.few_run = nullptr;
    f.proves = nullptr;
    f.columns = nullptr;
    f.identity = [](const void* p, void* s) { as(p).r.identity(as(p).self, s); };
    f.accumulate = [](const void* p, void* s, const void* const* x, std::int64_t n, std::int64_t i) {
      as(p).r.accumulate(as(p).self, s, x, n, as(p).first + i);
    };
    f.combine = [](const void* p, void* s, const void* later) { as(p).r.combine(as(p).self, s, later); };
    f.finish = [](const void* p, const void* s, std::int64_t, void* out) {
      std::memcpy(out, s, as(p).r.state_size);
    };
    return f;
  }
};

}  // namespace

running::state running::new_state() const {
  const std::align_val_t align{std::max<std::size_t>(r_.state_align, 64)};
  return state(static_cast<std::byte*>(::operator new(r_.state_size, align)), free_aligned{align});
}

void running::add(const void* const* x, std::int64_t n) {
  const ieee_environment environment;
  const piece p{r_, self_, count_};
  state s = new_state();
  reduce_run(p.functions(), &p, x, n, context_, s.get());
  count_ += n;
  waiting_.push_back(std::move(s));
  for (std::int64_t k = ++pieces_; k % 2 == 0; k /= 2) {
    r_.combine(self_, waiting_[waiting_.size() - 2].get(), waiting_.back().get());
    waiting_.pop_back();
  }
}

void running::finish(void* out) {
  const ieee_environment environment;
  if (waiting_.empty()) {
    waiting_.push_back(new_state());
    r_.identity(self_, waiting_[0].get());
  }
  while (waiting_.size() > 1) {
    r_.combine(self_, waiting_[waiting_.size() - 2].get(), waiting_.back().get());
    waiting_.pop_back();
  }
  r_.finish(self_, waiting_[0].get(), count_, out);
}

}  // namespace wf::cpu
