// SPDX-License-Identifier: Apache-2.0
#include "entries.hpp"
#include "promises.hpp"

#include <warpfold/operations.hpp>
#include <warpfold/warpfold.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

namespace {

using fuzz::require;
__extension__ using wide = __int128;

constexpr std::int64_t most_bytes = 1 << 16, most_elements = 1 << 14;

/// Exactly as large as it is to be, so that the sanitizer sees a byte beyond.
struct memory {
  explicit memory(std::size_t n) : bytes(new std::byte[n]), size(n) {}
  std::unique_ptr<std::byte[]> bytes;
  std::size_t size;
};

enum class sort { real, refused, too_large };

std::size_t size_of(int type) { return wf::dtypes[static_cast<std::size_t>(type)].size; }
bool is_type(int type) { return type >= 0 && type <= WF_C128; }

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

void require_told(int status) {
  require(status >= WF_OK && status < WF_INTERNAL, "a status that is none, or WF_INTERNAL");
  if (status == WF_OK) return;
  require(status == WF_BAD_ARGUMENT || status == WF_UNSUPPORTED || status == WF_OUT_OF_MEMORY, "a status of another kind");
  fuzz::require_one_line(wf_last_error());
}

/// Bytes of an answer; nothing if there is no such operation.
std::optional<std::size_t> result_size(int op, int type) {
  int kind = 0, values = 0;
  const int status = wf_result_type(op, type, &kind, &values);
  require_told(status);
  if (status != WF_OK) return std::nullopt;
  require(is_type(kind) && values >= 1 && values <= 3, "an answer of no type");
  return size_of(kind) * static_cast<std::size_t>(values);
}

/// Calls with x and y as drawn, then as the same elements without gaps: of exact reductions the same bytes.
template <class Call>
void check_call(const drawn_array& x, const drawn_array* y, bool refused, bool compare, std::size_t out_size, Call call) {
  if (x.is == sort::too_large || (y != nullptr && y->is == sort::too_large)) return;
  memory out(std::max<std::size_t>(out_size, 1));
  const int status = call(&x.fields, y != nullptr ? &y->fields : nullptr, out.bytes.get());
  require_told(status);
  refused = refused || x.is == sort::refused || (y != nullptr && y->is == sort::refused);
  require(!refused || status != WF_OK, "what is no array is reduced");
  if (status != WF_OK || !compare) return;
  const auto flat_x = x.gathered(), flat_y = y != nullptr ? y->gathered() : std::vector<std::byte>();
  wf_array a = x.fields, b = y != nullptr ? y->fields : x.fields;
  a.data = flat_x.data();
  b.data = flat_y.data();
  a.strides = b.strides = nullptr;
  memory again(out.size);
  std::memset(again.bytes.get(), 0x5a, again.size);
  require(call(&a, y != nullptr ? &b : nullptr, again.bytes.get()) == WF_OK, "refused without gaps");
  require(std::memcmp(out.bytes.get(), again.bytes.get(), out_size) == 0, "another answer without gaps");
}

}  // namespace

void check_c_api(std::span<const std::byte> content) {
  fuzz::taker in(content);
  const std::uint8_t function = in.byte();
  const std::uint8_t o = in.byte(), t = in.byte(), flags = in.byte();
  const int op = o < 250 ? o % wf::op_count : in.take<int>();
  const int type = t < 250 ? t % (WF_C128 + 1) : in.take<int>();
  const drawn_array x(in, type, nullptr);
  std::optional<drawn_array> y;
  if ((op == WF_DOT) != ((flags & 0x3f) == 0)) y.emplace(in, (flags & 0x1f) == 1 ? in.byte() % 16 : type, (flags & 0x1f) == 2 ? nullptr : &x.shape);

  wf_options options{};
  if ((flags & 0x80) != 0) {
    const std::uint8_t odd = in.byte();
    options = {in.byte() % 2, in.byte() % 5, in.number(), in.byte() % 3};
    if (odd < 8) (odd % 3 == 0 ? options.accuracy : odd % 3 == 1 ? options.rounding : options.threads) = in.take<int>();
  }
  const wf_options* const told = (flags & 0x80) != 0 ? &options : nullptr;
  const bool exact = options.accuracy == WF_EXACT;
  const auto size = result_size(op, type);
  const std::size_t answer = size.value_or(16);
  const auto y_or_null = [&]() { return y ? &*y : nullptr; };
  const bool compare = exact && size && x.known;
  // Threads beyond those of the process cost time alone.
  if (options.threads > 64) return;

  std::vector<int> axes;
  std::int64_t answers = 1;
  const auto draw_axes = [&] {
    const std::uint8_t n = in.byte();
    for (int k = 0; k < n % 5; ++k) axes.push_back(n < 200 ? static_cast<int>(in.byte() % 8) - 3 : in.take<int>());
    bool right = x.known;
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
    return right;
  };
  const int* const no_axes = nullptr;

  switch (function % 6) {
    case 0:
      check_call(x, y_or_null(), !size, compare, answer, [&](const wf_array* a, const wf_array* b, void* out) {
        return wf_reduce(op, a, b, told, out);
      });
      return;
    case 1: {
      const bool right = draw_axes();
      if (right && answers > most_elements && answers != INT64_MAX) return;
      if (right && answers == INT64_MAX && x.is == sort::real) return;  // more than memory can be, but the caller's to know
      check_call(x, y_or_null(), !size || !right, compare, answer * static_cast<std::size_t>(right && answers <= most_elements ? answers : 1),
                 [&](const wf_array* a, const wf_array* b, void* out) {
                   return wf_reduce_axes(op, a, b, axes.empty() ? no_axes : axes.data(), static_cast<int>(axes.size()), told, out);
                 });
      return;
    }
    case 2: {
      std::vector<std::int64_t> offsets{0};
      const std::uint8_t n = in.byte();
      for (int k = 0; k < n % 8; ++k) offsets.push_back(n < 200 ? offsets.back() + in.byte() % 4 : in.number());
      const std::int64_t segments = n < 250 ? static_cast<std::int64_t>(offsets.size()) - 1 : n % 2 == 0 ? -1 : INT64_MAX;
      check_call(x, y_or_null(), !size || x.fields.rank != 1 || segments != static_cast<std::int64_t>(offsets.size()) - 1, compare,
                 answer * offsets.size(), [&](const wf_array* a, const wf_array* b, void* out) {
                   std::memset(out, 0, answer * offsets.size());
                   return wf_reduce_segments(op, a, b, offsets.data(), segments, told, out);
                 });
      return;
    }
    case 3: {
      if (x.elements > 256) return;
      const std::int64_t wanted = in.number();
      // Of more the states alone take gigabytes.
      if (wanted > most_elements / 16 && wanted < INT64_MAX / 64) return;
      std::vector<std::int64_t> labels;
      const bool in_range = (in.byte() & 7) != 0 && wanted > 0;
      for (std::int64_t k = 0; k < x.elements; ++k) labels.push_back(in_range ? in.byte() % std::min<std::int64_t>(wanted, 256) : in.number());
      const std::size_t room = answer * static_cast<std::size_t>(wanted > 0 && wanted <= most_elements ? wanted : 1);
      check_call(x, y_or_null(), !size || x.fields.rank != 1 || wanted < 0 || wanted > most_elements, compare, room,
                 [&](const wf_array* a, const wf_array* b, void* out) {
                   if (wanted <= 0) std::memset(out, 0, room);
                   return wf_reduce_by_label(op, a, b, labels.empty() ? nullptr : labels.data(), wanted, told, out);
                 });
      return;
    }
    case 4: {
      if (y || x.is == sort::too_large) return;
      std::vector<int> ops{op};
      for (int k = in.byte() % 4; k > 0; --k) ops.push_back(in.byte() % (wf::op_count + 2) - 1);
      bool right = x.is == sort::real;
      std::vector<memory> outs;
      std::vector<void*> to;
      for (const int one : ops) {
        const auto bytes = result_size(one, type);
        right = right && bytes && one != WF_DOT;
        outs.emplace_back(bytes.value_or(16));
        to.push_back(outs.back().bytes.get());
      }
      const int status = wf_reduce_many(ops.data(), static_cast<int>(ops.size()), &x.fields, told, to.data());
      require_told(status);
      require(right || status != WF_OK, "what cannot be fused is");
      for (std::size_t k = 0; k < ops.size() && status == WF_OK && exact; ++k) {
        memory alone(outs[k].size);
        require(wf_reduce(ops[k], &x.fields, nullptr, told, alone.bytes.get()) == WF_OK, "fused, and refused alone");
        require(std::memcmp(alone.bytes.get(), outs[k].bytes.get(), alone.size) == 0, "another answer where it is fused");
      }
      return;
    }
    default: {
      const bool all = (flags & 0x40) != 0;
      const bool right = draw_axes();
      if (all) answers = 1;
      if (answers > most_elements || x.is == sort::too_large || (y && y->is == sort::too_large)) return;
      memory out(static_cast<std::size_t>(answers) * 8 + 1), overflow(static_cast<std::size_t>(answers) + 1);
      std::memset(overflow.bytes.get(), 0x5a, overflow.size);
      const int none = 0;  // axes that are null name all
      const int status = wf_reduce_checked(op, &x.fields, y ? &y->fields : nullptr, all ? no_axes : axes.empty() ? &none : axes.data(),
                                           static_cast<int>(axes.size()), told, out.bytes.get(),
                                           reinterpret_cast<unsigned char*>(overflow.bytes.get()));
      require_told(status);
      if (status != WF_OK) return;
      require((all || right) && x.is == sort::real, "what is no array is reduced");
      for (std::int64_t k = 0; k < answers; ++k)
        require(std::to_integer<unsigned>(overflow.bytes[static_cast<std::size_t>(k)]) <= 1, "a flag that is neither 0 nor 1");
      std::vector<int> which(x.shape.size());
      std::iota(which.begin(), which.end(), 0);
      if (!all) which = axes;
      memory plain(static_cast<std::size_t>(answers) * answer + 1);
      require(wf_reduce_axes(op, &x.fields, y ? &y->fields : nullptr, which.data(), static_cast<int>(which.size()), told,
                             plain.bytes.get()) == WF_OK, "checked, and refused otherwise");
      require(std::memcmp(plain.bytes.get(), out.bytes.get(), static_cast<std::size_t>(answers) * 8) == 0,
              "another answer where overflow is looked for");
    }
  }
}
