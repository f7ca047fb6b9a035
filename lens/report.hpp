// SPDX-License-Identifier: Apache-2.0
// The sentences and numbers that every form of a report says alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drawing.hpp"
#include "explanation.hpp"

namespace lens {

/// `tree_modulo · ladder/07_tree_modulo.cuh · 65536 f32, blocks of 256`
std::string headline(const explanation&);
/// The result and whether it is right.
std::string verdict(const explanation&);
/// `tree_modulo_sum<float>: 256 blocks of 256 threads, 1024 bytes of dynamic shared memory`
std::string kernel_line(const kernel_counts&);
/// Operations, bytes, and one over the other; of integers the additions that a sum needs. Empty where there are none.
std::string intensity(const explanation&);
/// What a multiprocessor of the reference GPU holds of it at once.
std::string occupancy_line(const kernel_counts&);
std::string race_line(const ladder::race_pair&);

/// a / b with so many digits behind the point; a dash if b is 0.
std::string per(std::uint64_t a, std::uint64_t b, int digits);
std::string shortened(const std::string&, std::size_t);
std::string comparison_number(const comparison_row&, double);
inline int column_width(const column& c) { return c.name.size() < 7 ? 7 : static_cast<int>(c.name.size()); }

struct named_count {
  std::string_view name;
  std::string text;
};
/// What is not a memory access: barriers, shuffles, divergence …; only what there is.
std::vector<named_count> other_counts_of(const kernel_counts&);

/// What there is to draw, in order.
struct picture {
  std::string title;
  const block_trace* trace = nullptr;
  bool of_lanes = false;  ///< a trace's
  const sample *banks = nullptr, *sectors = nullptr;
  std::string_view main_file;  ///< whose lines need no name

  std::string_view kind() const { return banks != nullptr ? "banks" : sectors != nullptr ? "sectors" : of_lanes ? "lanes" : "values"; }
};
std::vector<picture> pictures_of(const explanation&);
drawing draw(const picture&);

}  // namespace lens
