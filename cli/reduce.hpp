// SPDX-License-Identifier: Apache-2.0
/// \file reduce.hpp
/// The commands that reduce files, in three parts: reduce.cpp makes a request of arguments, reduce_inputs.cpp reads and reduces what
/// it names, reduce_answers.cpp prints.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <warpfold/executor.hpp>
#include <warpfold/io/reduce.hpp>

#include "commands.hpp"

namespace cli {

/// The options and inputs of a command.
enum reduction_feature : unsigned {
  rounds = 1,
  overflows = 2,
  corrects = 4,
  has_order = 8,
  takes_pairs = 16,
  divides = 32,           // by the number of elements, less a correction
  needs_an_element = 64,  // has no answer of nothing
};

struct reduction_command {
  std::string name;
  wf::op operation;
  unsigned features;
  std::string help;
  /// Files of each answer.
  std::size_t inputs() const { return features & takes_pairs ? 2 : 1; }
};

/// The arguments of a command, as they were written.
struct reduction_request {
  std::vector<std::string> files;
  std::string dtype, byte_order = "little", device = "auto", round = "nearest", accuracy = "exact";
  std::string axis, ord = "2", out;
  std::uint64_t offset = 0;
  std::int64_t correction = 0;
  int threads = 0;
  bool json = false, keepdims = false, check_overflow = false;
};

/// Reduces files as a request says. It refers to the command and the request.
class file_reducer {
 public:
  file_reducer(const reduction_command&, const reduction_request&);
  /// Which of a command's operations it is: norm has three.
  wf::op operation() const { return operation_; }
  /// The answers of one file, or of two. Throws wf::error, as it does where each answer needs an element and has none.
  wf::io::reduced reduce(std::span<const std::string> files) const;

 private:
  const reduction_command& what_;
  const reduction_request& given_;
  wf::op operation_;
  wf::io::reduce_options options_;
  std::optional<wf::cpu::thread_pool> pool_;
  std::optional<wf::io::raw_format> raw_;
};

/// Prints and writes answers as a request says. It refers to the command and the request.
class answer_printer {
 public:
  answer_printer(const reduction_command&, const reduction_request&, wf::op operation, run_state&);
  /// Prints the answers of those files, and on standard error which answers overflowed and why an answer is NaN.
  void show(std::span<const std::string> files, const wf::io::reduced&) const;
  /// Prints that those files have no answer, and why.
  void show_error(std::span<const std::string> files, const char* why) const;

 private:
  std::string json_line(std::span<const std::string> files, const wf::io::reduced&) const;
  void write(const wf::io::reduced&) const;
  void tell_overflow(std::span<const std::string> files, const wf::io::reduced&) const;
  void tell_nan(std::span<const std::string> files, const wf::io::reduced&) const;

  const reduction_command& what_;
  const reduction_request& given_;
  wf::op operation_;
  run_state& state_;
};

/// Elements of each answer; there is one at least.
inline std::int64_t elements_of_each(const wf::io::reduced& r) { return static_cast<std::int64_t>(r.count / r.answers()); }
/// Files as errors of reading name them.
std::string names_of(std::span<const std::string> files);

}  // namespace cli
