// SPDX-License-Identifier: Apache-2.0
/// \file prove.hpp
/// Exact answers by proof: sums in doubles, what they lost at most (simd/certify.hpp), and whether the answer is certain
/// (detail/exact/certified.hpp). Where it is not, the caller adds up exactly.
#pragma once

#include <warpfold/detail/cpu/engine.hpp>
#include <warpfold/detail/exact/certified.hpp>

#include "kernels.hpp"

namespace wf::cpu {

/// How a reduction is proved.
struct proof {
  /// The sums of n elements without gaps, of any alignment. `again`: those of the second try.
  void (*gather)(const void* const* x, std::int64_t n, bool again, evidence& out);
  /// The answer, or false if it is uncertain. `again`: whether there was a second try, and then whether one may tell
  /// more, by elements that are scaled by all.scale.
  bool (*conclude)(const void* self, evidence& all, std::int64_t n, void* out, bool& again);
  /// Adds n elements to a state by what was gathered of them; false, and nothing is added, where something was lost. Null where that is the rule.
  bool (*add)(const evidence& all, std::int64_t n, void* state) = nullptr;
};

/// What the sums of two runs tell together.
inline void join(evidence& to, const evidence& more) {
  if (more.verdict != evidence::sums || to.verdict != evidence::sums) {
    // A NaN decides. What is hopeless may hold one that was not reached.
    if (to.verdict != evidence::is_nan && more.verdict != evidence::sums) to.verdict = more.verdict;
    return;
  }
  const auto add = [](double& s, double& c, double& lost, double more_s, double more_c) {
    using exact::certified::magnitude, exact::certified::two_sum;
    const auto sum = two_sum(s, more_s), rest = two_sum(c, more_c), all = two_sum(rest.sum, sum.error);
    s = sum.sum;
    c = all.sum;
    lost += magnitude(rest.error) + magnitude(all.error);
  };
  for (int j = 0; j < 2; ++j) {
    add(to.values[j], to.values_rest[j], to.lost_values, more.values[j], more.values_rest[j]);
    add(to.products[j], to.products_rest[j], to.lost_products, more.products[j], more.products_rest[j]);
  }
  to.lost_values += more.lost_values;
  to.lost_products += more.lost_products;
  to.zeros = to.zeros && more.zeros;
  to.negative = to.negative && more.negative;
}

/// One answer from n elements without gaps, n > 0, by all threads; false if there is no proof of it.
bool prove(const erased& r, const void* self, const void* const* x, std::int64_t n, const context& c, void* out);

}  // namespace wf::cpu
