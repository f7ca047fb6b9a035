// SPDX-License-Identifier: Apache-2.0
/// \file view.hpp
/// Views of n-dimensional arrays: a pointer, a shape and strides. Nothing is owned, nothing copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>  // and the concepts of ranges that it is constrained by: <ranges> has the views, too, a sixth of what compiling three sums took
#include <string>
#include <vector>

#include <warpfold/error.hpp>

namespace wf {

/// The most dimensions of a view.
inline constexpr int max_rank = 32;

/// Up to max_rank values, one per dimension, without an allocation. More throw wf::error (bad_argument).
template <class T>
class per_dimension {
 public:
  using value_type = T;             ///< a value's
  using iterator = T*;              ///< to a value
  using const_iterator = const T*;  ///< to a value that is only read

  /// None. Not `= default`, with which `{}` would clear all 32.
  per_dimension() noexcept {}
  /// That many values.
  explicit per_dimension(std::size_t n, T value = T()) { resize(n, value); }
  /// Those values.
  per_dimension(std::initializer_list<T> values) : per_dimension(values.begin(), values.end()) {}
  /// The values of a range.
  template <std::input_iterator I>
  per_dimension(I first, I last) {
    for (; first != last; ++first) push_back(static_cast<T>(*first));
  }
  /// Those values.
  per_dimension(const std::vector<T>& values) : per_dimension(values.begin(), values.end()) {}
  /// The same values.
  per_dimension(const per_dimension& o) : size_(o.size_) {
    for (std::size_t k = 0; k < size_; ++k) value_[k] = o.value_[k];
  }
  /// The same values.
  per_dimension& operator=(const per_dimension& o) {
    size_ = o.size_;
    for (std::size_t k = 0; k < size_; ++k) value_[k] = o.value_[k];
    return *this;
  }

  std::size_t size() const noexcept { return size_; }                         ///< values
  bool empty() const noexcept { return size_ == 0; }                          ///< whether there are none
  T* data() noexcept { return value_; }                                       ///< the first value
  const T* data() const noexcept { return value_; }                           ///< the first value
  T* begin() noexcept { return value_; }                                      ///< the first value
  T* end() noexcept { return value_ + size_; }                                ///< behind the last value
  const T* begin() const noexcept { return value_; }                          ///< the first value
  const T* end() const noexcept { return value_ + size_; }                    ///< behind the last value
  T& operator[](std::size_t k) noexcept { return value_[k]; }                 ///< value k, unchecked
  const T& operator[](std::size_t k) const noexcept { return value_[k]; }     ///< value k, unchecked
  T& front() noexcept { return value_[0]; }                                   ///< the first value
  const T& front() const noexcept { return value_[0]; }                       ///< the first value
  T& back() noexcept { return value_[size_ - 1]; }                            ///< the last
  const T& back() const noexcept { return value_[size_ - 1]; }                ///< the last
  /// One more.
  void push_back(const T& value) {
    if (size_ == max_rank) refuse();
    value_[size_++] = value;
  }
  void pop_back() noexcept { --size_; }                                       ///< one less
  /// That many; new ones have the value that is given.
  void resize(std::size_t n, T value = T()) {
    if (n > max_rank) refuse();
    for (; size_ < n; ++size_) value_[size_] = value;
    size_ = n;
  }
  void clear() noexcept { size_ = 0; }                                        ///< none

  /// As many, and equal.
  friend bool operator==(const per_dimension& a, const per_dimension& b) {
    if (a.size_ != b.size_) return false;
    for (std::size_t k = 0; k < a.size_; ++k)
      if (!(a[k] == b[k])) return false;
    return true;
  }

 private:
  [[noreturn]] static void refuse() {
    throw error(errc::bad_argument, "an array of more than 32 dimensions; at most 32 are supported");
  }

  std::size_t size_ = 0;
  T value_[max_rank];
};

/// Lengths, or strides, one per dimension; the last varies fastest in element order.
using extents = per_dimension<std::int64_t>;

namespace detail {

/// How many positions dimensions of these lengths have; nothing if more than 2^63 - 1.
template <class Dimensions, class Length = std::identity>
std::optional<std::int64_t> product(const Dimensions& dimensions, Length length_of = {}) {
  std::int64_t n = 1;
  bool fits = true;
  for (const auto& d : dimensions) {
    const std::int64_t length = length_of(d);
    if (length == 0) return 0;
    fits = fits && !__builtin_mul_overflow(n, length, &n);
  }
  return fits ? std::optional(n) : std::nullopt;
}

/// The strides in bytes, for elements of that size; 0 where the array is empty or the dimension has one position: there any stride is right.
/// Throws wf::error (bad_argument) where the elements would lie more than 2^63 - 1 bytes apart.
inline extents byte_strides(const extents& shape, extents strides, std::int64_t size) {
  const bool empty = product(shape) == 0;
  std::int64_t reach = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t stride = 0;
    if (!empty && shape[d] != 1) {
      std::int64_t span = 0;
      if (__builtin_mul_overflow(strides[d], size, &stride) || __builtin_mul_overflow(stride, shape[d] - 1, &span) ||
          (span < 0 && __builtin_sub_overflow(std::int64_t{0}, span, &span)) || __builtin_add_overflow(reach, span, &reach))
        throw error(errc::bad_argument, "an array of " + std::to_string(shape[d]) + " elements that are " +
                                            std::to_string(strides[d]) + (size == 1 ? " bytes" : " elements") +
                                            " apart; no memory is so large");
    }
    strides[d] = stride;
  }
  return strides;
}

inline std::string text_of(const extents& shape) {
  std::string text = "(";
  for (const std::int64_t n : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace detail

/// The strides of a C-ordered array of that shape, in elements; without elements they mean nothing.
inline extents row_major(const extents& shape) noexcept {
  extents strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    if (shape[d] > 1 && __builtin_mul_overflow(stride, shape[d], &stride)) stride = 0;
  }
  return strides;
}

/// A view of an n-dimensional array: element (i0, i1, …) lies at data[i0·strides[0] + i1·strides[1] + …]. Strides
/// count elements and may be zero or negative. Elements need not be aligned to their size. Nothing is owned.
///
///     wf::view<float> matrix(pixels, {1080, 1920});             // C order, no gaps
///     wf::view<float> red(pixels, {1080, 1920}, {5760, 3});     // every third one
///     auto columns = wf::mean(matrix, wf::axis{0});             // 1920 answers
template <class T>
class view {
 public:
  using element = T;  ///< the type of an element

  /// A C-ordered array without gaps. Throws wf::error (bad_argument) on a negative length and on more than 2^63 - 1 elements.
  view(const T* data, extents shape) : view(data, shape, row_major(shape)) {}
  /// An array with these strides, in elements, one for each length. Throws wf::error (bad_argument) as the constructor above, and where there are not
  /// as many strides as lengths.
  view(const T* data, extents shape, extents strides)
      : data_(data), shape_(std::move(shape)), strides_(std::move(strides)) {
    if (shape_.size() != strides_.size())
      throw error(errc::bad_argument, "view: " + std::to_string(shape_.size()) + " lengths but " +
                                          std::to_string(strides_.size()) + " strides; one of each a dimension");
    for (const std::int64_t n : shape_)
      if (n < 0)
        throw error(errc::bad_argument, "view: a length of " + std::to_string(n) + "; lengths are 0 or more");
    const auto size = detail::product(shape_);
    if (!size) throw error(errc::bad_argument, "view: more than 2^63 elements");
    size_ = *size;
  }

  const T* data() const noexcept { return data_; }                          ///< element (0, 0, …)
  const extents& shape() const noexcept { return shape_; }                  ///< a length for each dimension
  const extents& strides() const noexcept { return strides_; }              ///< in elements
  int rank() const noexcept { return static_cast<int>(shape_.size()); }     ///< dimensions
  std::int64_t size() const noexcept { return size_; }                      ///< elements

  /// The same elements with two dimensions exchanged. Throws wf::error (bad_argument) where they are not both in [0, rank()).
  view transposed(int a, int b) const {
    if (a < 0 || b < 0 || a >= rank() || b >= rank())
      throw error(errc::bad_argument, "view: transposed(" + std::to_string(a) + ", " + std::to_string(b) + ") of " +
                                          std::to_string(rank()) + " dimensions, which count from 0");
    view v = *this;
    std::swap(v.shape_[static_cast<std::size_t>(a)], v.shape_[static_cast<std::size_t>(b)]);
    std::swap(v.strides_[static_cast<std::size_t>(a)], v.strides_[static_cast<std::size_t>(b)]);
    return v;
  }

 private:
  const T* data_;
  extents shape_;
  extents strides_;
  std::int64_t size_;
};

/// The axes to reduce over. Negative ones count from the last. The reduction refuses axes that the input does not have or that
/// are named twice, with wf::error (bad_argument).
///
///     auto rows = wf::sum(matrix, wf::axis{1});           // an answer for each row
///     auto kept = wf::sum(cube, wf::axis{0, 2}.keep());   // has the shape (1, n, 1)
struct axis {
  per_dimension<int> which;  ///< the axes that are reduced
  bool keepdims = false;     ///< reduced axes stay, with length 1

  /// Those axes, in any order.
  axis(std::initializer_list<int> axes) : which(axes) {}
  /// Those axes, in any order.
  explicit axis(const per_dimension<int>& axes, bool keep = false) : which(axes), keepdims(keep) {}
  /// Those axes, in any order.
  explicit axis(const std::vector<int>& axes, bool keep = false) : which(axes), keepdims(keep) {}
  /// The same axes, with keepdims.
  axis keep() const { return axis(which, true); }
};

/// An answer for each position along the axes that were kept, each segment or each label, C-ordered.
///
///     wf::array<double> rows = wf::sum(matrix, wf::axis{1});
///     for (std::int64_t k = 0; k < rows.size(); ++k) use(rows[k]);
template <class T>
struct array {
  std::vector<T> values;  ///< the answers
  extents shape;          ///< a length for each axis that was kept

  T* data() noexcept { return values.data(); }                                                                  ///< the first answer
  const T* data() const noexcept { return values.data(); }                                                      ///< the first answer
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(values.size()); }                       ///< answers
  const T& operator[](std::int64_t i) const noexcept { return values[static_cast<std::size_t>(i)]; }            ///< answer i, unchecked
  /// A view of the answers, to reduce them further. Throws what view's constructor throws where `shape` was changed and no longer fits.
  operator view<T>() const { return view<T>(values.data(), shape); }
};

/// std::vector<bool> holds bits, not elements: an array of bool is one of bytes.
template <>
struct array<bool> {
  std::vector<std::uint8_t> values;  ///< the answers: 0 or 1
  extents shape;                     ///< a length for each axis that was kept

  bool* data() noexcept { return reinterpret_cast<bool*>(values.data()); }                                     ///< the first answer
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(values.size()); }                      ///< answers
  bool operator[](std::int64_t i) const noexcept { return values[static_cast<std::size_t>(i)] != 0; }          ///< answer i, unchecked
};

/// What the functions take beside views: contiguous ranges that know their length.
template <class R>
concept host_range = std::ranges::contiguous_range<R> && std::ranges::sized_range<R>;

}  // namespace wf
