// SPDX-License-Identifier: Apache-2.0
#include "drawn_array.hpp"
#include "entries.hpp"

#include <numeric>

namespace {

using namespace fuzz;

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
  const drawn_call drawn(in);
  const int op = drawn.op, type = drawn.type;
  const std::uint8_t flags = drawn.flags;
  const drawn_array& x = drawn.x;
  const std::optional<drawn_array>& y = drawn.y;
  const wf_options& options = drawn.options;
  const wf_options* const told = drawn.has_options ? &options : nullptr;
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
    drawn_axes d(in, x);
    axes = d.axes;
    answers = d.answers;
    return d.right;
  };
  const int* const no_axes = nullptr;

  switch (drawn.function % 6) {
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
      // More answers than this have states of gigabytes.
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
