// SPDX-License-Identifier: Apache-2.0
// Arrays whose fields are drawn from bytes, for the entries that call the C interface.
#pragma once

#include "promises.hpp"

#include <warpfold/operations.hpp>
#include <warpfold/warpfold.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <optional>
#include <vector>

namespace fuzz {

__extension__ using wide = __int128;

inline constexpr std::int64_t most_bytes = 1 << 16, most_elements = 1 << 14;

/// Exactly as large as it is to be, so that the sanitizer sees a byte beyond.
struct memory {
  explicit memory(std::size_t n) : bytes(new std::byte[n]), size(n) {}
  std::unique_ptr<std::byte[]> bytes;
  std::size_t size;
};

enum class sort { real, refused, too_large };

inline std::size_t size_of(int type) { return wf::dtypes[static_cast<std::size_t>(type)].size; }
inline bool is_type(int type) { return type >= 0 && type <= WF_C128; }

/// An array with any fields. If they may be read, there is memory of just the size that they reach.
struct drawn_array {
  wf_array fields{};
  std::vector<std::int64_t> shape, strides;
  std::optional<memory> storage;
  sort is = sort::real;
  std::int64_t elements = 1;
  bool known = true;  ///< the type and the rank

  drawn_array(fuzz::taker& in, int type, const std::vector<std::int64_t>* same_shape) {
    const std::uint8_t r = in.byte();
    constexpr int odd_ranks[] = {-1, 32, 33, INT_MAX, INT_MIN};
    fields.rank = same_shape != nullptr ? static_cast<int>(same_shape->size()) : r < 245 ? r % 5 : odd_ranks[r % 5];
    fields.dtype = type;
    for (int d = 0; d < std::clamp(fields.rank, 0, 32); ++d) {
      const std::uint8_t kind = in.byte();
      shape.push_back(same_shape != nullptr ? (*same_shape)[static_cast<std::size_t>(d)]
                      : kind < 240          ? kind % 7
                                            : in.number());
    }
    const std::size_t size = is_type(type) ? size_of(type) : 1;
    const std::uint8_t how = in.byte();
    if (how % 3 != 0) {
      std::int64_t step = static_cast<std::int64_t>(size);
      strides.resize(shape.size());
      for (std::size_t d = shape.size(); d-- > 0;) {
        strides[d] = how % 3 == 1 ? step : in.number();
        if ((in.byte() & 3) == 0) strides[d] = static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(strides[d]));
        if (__builtin_mul_overflow(step, std::max<std::int64_t>(1, shape[d]), &step)) step = 1;
      }
      if (how % 9 == 1 && strides.size() > 1) std::swap(strides.front(), strides.back());
    }
    fields.shape = shape.empty() ? nullptr : shape.data();
    fields.strides = strides.empty() ? nullptr : strides.data();
    known = is_type(type) && fields.rank >= 0 && fields.rank <= 32;
    place(size);
    if (!storage) return;
    const auto seed = in.take<std::uint64_t>();
    std::uint64_t x = seed | 1;
    for (std::size_t k = 0; k < storage->size; ++k) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      // Small patterns more often than random bits: zeros, ones, exponents of infinities.
      storage->bytes[k] = in.empty() || (seed & 0x300) == 0 ? static_cast<std::byte>((seed & 0xc0) == 0 ? x >> 56 : (x >> 56 & 1) * (x >> 48))
                                                             : static_cast<std::byte>(in.byte());
    }
  }

  void place(std::size_t size) {
    wide low = 0, high = 0, product = 1, row_major = static_cast<wide>(size);
    bool overflows = false;
    for (const std::int64_t n : shape) {
      if (n < 0) is = sort::refused;
      if (n == 0) elements = 0;
    }
    if (!known) is = sort::refused;
    if (is == sort::refused) return;
    for (std::size_t d = shape.size(); d-- > 0 && elements != 0;) {
      product *= shape[d];
      overflows = overflows || product > INT64_MAX;
      if (overflows) break;
      const wide stride = strides.empty() ? row_major : wide{strides[d]};
      row_major *= shape[d];
      if (shape[d] == 1) continue;
      (stride < 0 ? low : high) += stride * (shape[d] - 1);
    }
    if (overflows) is = sort::refused;
    if (elements == 0 || is == sort::refused) return;
    elements = static_cast<std::int64_t>(product);
    // Strides that reach farther than memory can be are refused, others that no memory here has are left out.
    const wide reach = high - low + static_cast<wide>(size);
    if (reach > most_bytes || elements > most_elements) {
      is = high - low > INT64_MAX && !strides.empty() ? sort::refused : sort::too_large;
      fields.data = &elements;  // not null, and not to be read
      return;
    }
    storage.emplace(static_cast<std::size_t>(reach));
    fields.data = storage->bytes.get() - static_cast<std::int64_t>(low);
  }

  /// The same elements, C-ordered and without gaps.
  std::vector<std::byte> gathered() const {
    const std::size_t size = size_of(fields.dtype);
    std::vector<std::byte> out(static_cast<std::size_t>(elements) * size);
    for (std::int64_t k = 0; k < elements; ++k) {
      std::int64_t index = k, at = 0, step = static_cast<std::int64_t>(size);
      for (std::size_t d = shape.size(); d-- > 0;) {
        const std::int64_t i = index % shape[d];
        if (shape[d] > 1) at += i * (strides.empty() ? step : strides[d]);
        step *= shape[d];
        index /= shape[d];
      }
      std::memcpy(out.data() + static_cast<std::size_t>(k) * size, static_cast<const std::byte*>(fields.data) + at, size);
    }
    return out;
  }
};

inline void require_told(int status) {
  require(status >= WF_OK && status < WF_INTERNAL, "a status that is none, or WF_INTERNAL");
  if (status == WF_OK) return;
  require(status == WF_BAD_ARGUMENT || status == WF_UNSUPPORTED || status == WF_OUT_OF_MEMORY, "a status of another kind");
  fuzz::require_one_line(wf_last_error());
}

/// Bytes of an answer; nothing if there is no such operation.
inline std::optional<std::size_t> result_size(int op, int type) {
  int kind = 0, values = 0;
  const int status = wf_result_type(op, type, &kind, &values);
  require_told(status);
  if (status != WF_OK) return std::nullopt;
  require(is_type(kind) && values >= 1 && values <= 3, "an answer of no type");
  return size_of(kind) * static_cast<std::size_t>(values);
}

/// What every call has: an operation, an element type, one or two arrays, options; of each what there is, and what there is not.
struct drawn_call {
  std::uint8_t function;
  int op, type;
  std::uint8_t flags;
  drawn_array x;
  std::optional<drawn_array> y;
  wf_options options{};
  bool has_options = false;

  explicit drawn_call(taker& in) : drawn_call{in, in.byte(), in.byte(), in.byte(), in.byte()} {}  // braces: from left to right
  bool too_large() const { return x.is == sort::too_large || (y && y->is == sort::too_large); }
  const wf_array* second() const { return y ? &y->fields : nullptr; }

 private:
  drawn_call(taker& in, std::uint8_t f, std::uint8_t o, std::uint8_t t, std::uint8_t given)
      : function(f), op(o < 250 ? o % wf::op_count : in.take<int>()), type(t < 250 ? t % (WF_C128 + 1) : in.take<int>()), flags(given),
        x(in, type, nullptr) {
    if ((op == WF_DOT) != ((flags & 0x3f) == 0))
      y.emplace(in, (flags & 0x1f) == 1 ? in.byte() % 16 : type, (flags & 0x1f) == 2 ? nullptr : &x.shape);
    has_options = (flags & 0x80) != 0;
    if (!has_options) return;
    const std::uint8_t odd = in.byte();
    options = {in.byte() % 2, in.byte() % 5, in.number(), in.byte() % 3};
    if (odd < 8) (odd % 3 == 0 ? options.accuracy : odd % 3 == 1 ? options.rounding : options.threads) = in.take<int>();
  }
};

/// The axes of a reduction, right or not, and how many answers that makes.
struct drawn_axes {
  std::vector<int> axes;
  std::int64_t answers = 1;
  bool right = true;

  drawn_axes(taker& in, const drawn_array& x) {
    const std::uint8_t n = in.byte();
    for (int k = 0; k < n % 5; ++k) axes.push_back(n < 200 ? static_cast<int>(in.byte() % 8) - 3 : in.take<int>());
    right = x.known;
    std::vector<bool> reduced(x.shape.size());
    for (const int a : axes) {
      const std::int64_t d = a < 0 ? std::int64_t{a} + x.fields.rank : a;
      if (d < 0 || d >= static_cast<std::int64_t>(reduced.size()) || reduced[static_cast<std::size_t>(d)]) right = false;
      else reduced[static_cast<std::size_t>(d)] = true;
    }
    wide product = 1;
    bool none = false;
    for (std::size_t d = 0; d < x.shape.size(); ++d) {
      if (reduced[d]) continue;
      none = none || x.shape[d] == 0;
      if (product <= INT64_MAX && x.shape[d] > 0) product *= x.shape[d];
    }
    answers = none ? 0 : product > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(product);
  }
};

}  // namespace fuzz
