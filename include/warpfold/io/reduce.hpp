// SPDX-License-Identifier: Apache-2.0
/// \file reduce.hpp
/// Reductions of arrays in files, whatever their element type, on the CPU engine.
#pragma once

#include <warpfold/builtin.hpp>
#include <warpfold/io/array_file.hpp>
#include <warpfold/results.hpp>
#include <warpfold/view.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace wf::io {

/// How a file is to be reduced.
struct reduce_options {
  wf::context context;             ///< accuracy, rounding, threads
  std::int64_t correction = 0;     ///< var, std: divided by n - correction, n the number of elements
  std::optional<axis> axes;        ///< nothing: one answer from all elements
  bool check_overflow = false;     ///< for integers, where they can (see find_checked); costs up to 1 ns per element
  std::atomic<std::uint64_t>* progress = nullptr;  ///< counts the bytes reduced so far, if given
};

/// The answers of a reduction of a file, C-ordered.
struct reduced {
  op operation;               ///< the operation
  dtype elements;             ///< the type of the elements
  result_kind kind;           ///< the type of a value, and how many an answer has (2 of minmax)
  extents shape;              ///< the answers'; empty: one
  std::uint64_t count;        ///< elements reduced
  std::vector<std::byte> values;               ///< the answers' bytes
  std::vector<checked<std::uint64_t>> checks;  ///< one per answer, if overflow was checked

  /// How many answers there are.
  std::size_t answers() const noexcept { return values.size() / (info(kind.type).size * static_cast<std::size_t>(kind.values)); }
  /// Value `part` of answer k, as bytes of kind.type; both count from 0, unchecked.
  const std::byte* value(std::size_t k, int part = 0) const noexcept {
    return values.data() + (k * static_cast<std::size_t>(kind.values) + static_cast<std::size_t>(part)) * info(kind.type).size;
  }
  /// The number of answers whose true value does not fit their type; 0 where that was not checked. Throws nothing.
  std::size_t overflows() const;
};

/// Reduces all that is left of the file, or of two files of one type and shape (dot). Mapped files are
/// reduced in place. A pipe is reduced as it comes, in bounded memory, if there are no axes and the
/// order of its elements is that of the reduction; else it is read into memory first. Throws wf::error
/// as array_file::next() does, and bad_argument where the file's name begins the message.
///
///     auto file = wf::io::array_file::open("temperatures.npy");
///     const wf::io::reduced r = wf::io::reduce(wf::op::sum, file);
///     std::puts(wf::io::value_text(r.kind.type, r.value(0)).c_str());
reduced reduce(op o, array_file& x, const reduce_options& options = {});
/// The same of two files: dot. Throws wf::error (bad_argument) of two types or shapes.
reduced reduce(op o, array_file& x, array_file& y, const reduce_options& options = {});

/// A value of any type as the shortest decimal that reads back in its type; complex: 1.5-2j. `value` points to
/// the bytes of one, of any alignment. Throws nothing but std::bad_alloc.
std::string value_text(dtype type, const std::byte* value);
/// All digits of the true answer, an integer of that type, also where it overflows. Throws nothing but std::bad_alloc.
std::string true_integer_text(dtype type, const checked<std::uint64_t>& c);

}  // namespace wf::io
