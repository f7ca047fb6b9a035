// SPDX-License-Identifier: Apache-2.0
/// \file explanation.hpp
/// All that `warpfold explain` knows of one rung: its counters, races and drawings.
#pragma once

#include <ladder/ladder.hpp>
#include <ladder/races.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "counting.hpp"
#include "trace.hpp"

namespace lens {

struct explain_request {
  std::string rung;  ///< `tree_modulo`, `cpu/kahan`; `transpose`, `overlap` and `precision` are the side stairs
  wf::dtype type = wf::dtype::f32;
  std::uint64_t n = 65536;
  unsigned block = 256;
};

struct explanation {
  explain_request asked;
  std::string name, file;      ///< `warp_leader/nested`, `ladder/04_warp_leader.cuh`
  std::string lesson;          ///< the head comment
  std::string setting;         ///< for a user's own kernel: its launch and arguments; then `asked` is empty
  std::vector<std::string> outputs;  ///< what a kernel's own arrays hold after the run
  bool on_host = false;        ///< no kernel: nothing below but the result
  bool is_stair = false;
  std::string result, exact;   ///< sums, as text; of a stair nothing
  bool right = true, expected_wrong = false;
  std::string why;             ///< it is wrong
  std::uint64_t additions = 0; ///< that any sum of n elements needs; 0 where nothing is summed
  std::vector<kernel_counts> kernels;
  counters total;              ///< all kernels' together
  std::uint64_t longest_queue = 0;
  std::vector<ladder::race_pair> races;
  /// From a run of its own, small enough to draw.
  std::vector<block_trace> traces;
  std::uint64_t trace_n = 0;
  unsigned trace_block = 0;
};

/// Throws wf::error: bad_argument for a rung that does not exist or cannot use the block, device if a launch
/// failed. `lens` is ladder::open_lens().
explanation explain(ladder::place& lens, const explain_request&);

/// The names that `explain` takes.
std::vector<std::string> names_to_explain(const ladder::place& lens, wf::dtype);

/// What one of several kernels did on a line.
struct kernel_share {
  std::string kernel;
  counters counted;
};
/// A source line with what was counted on it; of other files than the rung's own, only stretches that ran.
struct annotated_line {
  int number = 0;
  std::string_view text;
  counters counted;
  bool raced = false;
  std::vector<kernel_share> shares;  ///< where the line is several kernels' (instances of one template), of each
};
struct annotated_file {
  std::string path;
  std::vector<annotated_line> lines;  ///< numbers may skip
};
std::vector<annotated_file> annotate(const explanation&);

/// A column of numbers beside the source, or a row of a comparison.
struct column {
  std::string_view name, meaning;
  std::string (*text)(const counters&);  ///< empty for nothing
};
/// Those of which `of` has any.
std::vector<column> columns_for(const std::vector<annotated_file>& of);

/// What two runs counted, and in words what went and what came.
struct comparison_row {
  std::string_view name;
  double before = 0, after = 0;
  bool is_ratio = false;
};
std::vector<comparison_row> compare(const explanation& before, const explanation& after);
std::vector<std::string> changes_in_words(const std::vector<comparison_row>&);

/// The kinds of memory access, by name.
struct memory_row {
  std::string_view name;
  const memory_counts counters::*counts;
  bool in_shared, is_atomic;
};
inline constexpr memory_row memory_rows[] = {
    {"global load", &counters::global_load, false, false},
    {"global store", &counters::global_store, false, false},
    {"global atomic", &counters::global_atomic, false, true},
    {"shared load", &counters::shared_load, true, false},
    {"shared store", &counters::shared_store, true, false},
    {"shared atomic", &counters::shared_atomic, true, true},
};

/// As a table for a terminal, one JSON object, a page of its own.
std::string to_text(const explanation&);
std::string to_text(const explanation&, const explanation& versus);
std::string comparison_text(const explanation&, const explanation& versus);
std::string to_json(const explanation&, const explanation* versus, const std::string& command);
std::string to_html(const explanation&, const explanation* versus, const std::string& command);
/// What of to_json() a comparison needs: counters, and how many pairs of lines race.
explanation counted_from_json(const std::string& text, const std::string& name);

/// The drawings below each other, as one SVG file; empty if there are none. `kinds`: those of values, banks, sectors and lanes
/// that are wanted; none: all.
std::string drawings_file(const explanation&, const std::vector<std::string>& kinds);

/// The block of a rung's page in docs/ladder, without its marks. `drawing_name`: its drawings; empty if it has none.
std::string page_block(const explanation&, const std::string& drawing_name);

}  // namespace lens
