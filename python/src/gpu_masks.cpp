// SPDX-License-Identifier: Apache-2.0
/// What counts of an array on a GPU: selections and fillings as the library's kernels are told of them (src/gpu/selections.cu).
#include "gpu_masks.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "gpu_library.hpp"
#include "own.hpp"

static_assert(wf::array_selection::max_rank == wf::max_rank);

namespace wfpy {

namespace {

/// What counts of an array, and of its mask, that lie so.
wf::array_selection selection_in(const own::view& v, wf::dtype element, bool skip_nans) {
  wf::array_selection s;
  s.x = v.at[0];
  s.mask = v.at[1];
  s.rank = static_cast<int>(v.kept + v.reduced);
  s.shape = v.length;
  s.strides = v.stride[0];
  s.mask_strides = v.stride[1];
  s.element = element;
  s.skip_nans = skip_nans;
  return s;
}

}  // namespace

wf::array_selection selection_of(const device_array& x, const device_array* mask, const wf::extents& shape, std::vector<int> axes, bool skip_nans, std::int64_t row) {
  std::sort(axes.begin(), axes.end());
  const wf::extents of_x = broadcast_strides(x, shape), of_mask = mask == nullptr ? wf::extents(shape.size(), 0) : broadcast_strides(*mask, shape);
  const own::view v = own::view_of({x.data, mask == nullptr ? nullptr : mask->data}, shape, mask == nullptr ? std::vector{&of_x} : std::vector{&of_x, &of_mask}, axes);
  auto s = selection_in(v, x.type, skip_nans);
  s.row = row;
  return s;
}

wf::extents dense_strides(const device_array& x, const wf::extents& shape) {
  const wf::extents lie = broadcast_strides(x, shape);
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return std::abs(lie[a]) > std::abs(lie[b]); });
  wf::extents strides(shape.size(), 0);
  auto step = static_cast<std::int64_t>(wf::info(x.type).size);
  for (std::size_t k = order.size(); k-- > 0; step *= shape[order[k]]) strides[order[k]] = step;
  return strides;
}

wf::array_selection filling_of(const device_array& x, const device_array* mask, const wf::extents& shape, const wf::extents& dense, bool skip_nans) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return dense[a] > dense[b]; });
  const wf::extents of_x = broadcast_strides(x, shape), of_mask = mask == nullptr ? wf::extents(shape.size(), 0) : broadcast_strides(*mask, shape);
  wf::extents lengths, steps, mask_steps;
  std::vector<const wf::extents*> both{&steps};
  if (mask != nullptr) both.push_back(&mask_steps);
  for (const std::size_t d : order) {
    lengths.push_back(shape[d]);
    steps.push_back(of_x[d]);
    mask_steps.push_back(of_mask[d]);
  }
  const own::view v = own::view_of({x.data, mask == nullptr ? nullptr : mask->data}, lengths, both, {});
  return selection_in(v, x.type, skip_nans);
}

std::optional<std::array<std::byte, 16>> neutral_of(wf::op o, wf::dtype t, bool second) {
  std::array<std::byte, 16> found{};
  const std::size_t size = wf::info(t).size;
  const bool floating = wf::is_floating(t), has_sign = floating || (wf::is_integer(t) && t != wf::dtype::boolean && (t < wf::dtype::u8 || t > wf::dtype::u64));
  const auto put = [&](std::uint64_t bits) { std::memcpy(found.data(), &bits, std::min(size, sizeof bits)); };
  const std::uint64_t ones = ~std::uint64_t{0} >> (64 - 8 * std::min<std::size_t>(size, 8)), sign = std::uint64_t{1} << (8 * std::min<std::size_t>(size, 8) - 1);
  const auto float_bits = [t](std::uint64_t f64, std::uint64_t f32, std::uint64_t f16, std::uint64_t bf16) {
    return t == wf::dtype::f64 ? f64 : t == wf::dtype::f32 ? f32 : t == wf::dtype::f16 ? f16 : bf16;
  };
  const std::uint64_t one = floating ? float_bits(0x3ff0000000000000, 0x3f800000, 0x3c00, 0x3f80) : 1, infinity = float_bits(0x7ff0000000000000, 0x7f800000, 0x7c00, 0x7f80);
  switch (o) {
    case wf::op::dot:
      if (wf::is_complex(t)) return std::nullopt;
      if (second) {
        put(one);
        return found;
      }
      [[fallthrough]];
    case wf::op::sum:
      if (floating) put(sign);
      if (t == wf::dtype::c64) put(std::uint64_t{1} << 63 | std::uint64_t{1} << 31);
      if (t == wf::dtype::c128) found[7] = found[15] = std::byte{0x80};
      return found;
    case wf::op::sum_of_squares: case wf::op::norm1: case wf::op::norm2: case wf::op::norm_inf: case wf::op::count_nonzero: case wf::op::any: return found;
    case wf::op::all:
      if (wf::is_complex(t)) return std::nullopt;
      put(one);
      return found;
    case wf::op::min:
      if (wf::is_complex(t)) return std::nullopt;
      put(floating ? infinity : t == wf::dtype::boolean ? 1 : has_sign ? ones ^ sign : ones);
      return found;
    case wf::op::max:
      if (wf::is_complex(t)) return std::nullopt;
      put(floating ? infinity | sign : has_sign ? sign : 0);
      return found;
    default: return std::nullopt;
  }
}

int parts_of_sum(wf::op o, wf::dtype t) { return (o != wf::op::sum && o != wf::op::dot) || wf::is_integer(t) ? 0 : wf::is_complex(t) ? 2 : 1; }

int settle_zeros(const wf::array_selection& s, wf::dtype t, int parts, void* sums, std::int64_t count, const void* starts, int bytes, void* stream) {
  return array_calls::settle_zeros(s, sums, static_cast<int>(wf::info(t).size) / parts, parts, count, starts, bytes, stream);
}

std::int64_t row_of(const wf::extents& shape, const std::vector<int>& axes) {
  std::int64_t row = 1;
  for (const int d : axes) row *= shape[static_cast<std::size_t>(d)];
  return row;
}

bool library::fits(const wf::extents& given, const wf::extents& shape) {
  if (given.size() > shape.size()) return false;
  for (std::size_t d = 0, before = shape.size() - given.size(); d < given.size(); ++d)
    if (given[d] != 1 && given[d] != shape[before + d]) return false;
  return true;
}

void library::settle(wf::op o, const prepared& p, const turn& t, void* out) {
  if (p.parts != 0) {
    t.place.machine().fail(settle_zeros(*p.counted, p.x.x.type, p.parts, out, *wf::detail::product(p.kept), p.starts, p.start_bytes, t.place.stream()), "where");
    return;
  }
  if (p.places == nullptr || wf::operation_of(o).state != wf::state_kind::places) return;
  const wf::device_place& on = t.place;
  on.machine().fail(array_calls::widen(static_cast<std::int64_t*>(out), *wf::detail::product(p.kept), static_cast<const std::int64_t*>(p.r.by.indexes), p.places, p.starts, p.start_bytes, p.row,
                                       on.stream()), "where");
}

bool library::select(std::span<const wf::op> ops, const asked& how, prepared& p) const {
  if (how.labels != nullptr || p.widened || p.cut || type_object(wf::dtype::i64) == Py_None) return false;
  if (how.where != nullptr) {
    if (Py_TYPE(how.where) != Py_TYPE(p.object) || !read(how.where, p.mask) || p.mask.x.type != wf::dtype::boolean || p.mask.x.device != p.x.x.device || p.mask.stream != p.x.stream ||
        !fits(p.mask.x.shape, p.r.inputs.shape))
      return false;
    if (how.stream != Py_None) used(how.where, how.stream);
  }
  using kinds = wf::partition::kinds;
  const std::int64_t n = *wf::detail::product(p.r.inputs.shape), answers = *wf::detail::product(p.kept);
  const bool by_offsets = p.r.by.kind == kinds::segments;
  std::vector<int> axes = p.axes;
  p.row = n;
  if (p.r.by.kind == kinds::equal_segments) p.row = p.r.by.length;
  else if (p.r.by.kind == kinds::axes) p.row = row_of(p.r.inputs.shape, axes);
  if (answers == 0 || p.row == 0) return false;
  const bool asks_places = std::any_of(ops.begin(), ops.end(), [](wf::op o) { return wf::operation_of(o).state == wf::state_kind::places; });
  const auto made = [&](wf::dtype type, std::int64_t count) {
    auto [one, address] = room(p.object, p.x, wf::extents{count}, type);
    if (how.stream != Py_None) used(one.ptr(), how.stream);
    p.held.push_back(std::move(one));
    return address;
  };
  const device_array* const mask = how.where == nullptr ? nullptr : &p.mask.x;
  const wf::extents shape = p.r.inputs.shape;
  if (const auto neutral = neutral_of(ops[0], p.x.x.type, false); ops.size() == 1 && neutral) {
    std::array<wf::array_selection, 2> fill;
    int inputs = 0;
    for (const device_array* const x : {&p.x.x, p.r.inputs.data[1] == nullptr ? nullptr : &p.y.x}) {
      if (x == nullptr) continue;
      const auto k = static_cast<std::size_t>(inputs++);
      const wf::extents dense = dense_strides(*x, shape);
      fill[k] = filling_of(*x, mask, shape, dense, how.skip_nans);
      fill[k].to = made(x->type, n);
      p.r.inputs.data[k] = fill[k].to;
      p.r.inputs.strides[k] = dense;
    }
    p.parts = parts_of_sum(ops[0], p.x.x.type);
    if (p.parts != 0) p.counted = selection_of(p.x.x, mask, shape, axes, how.skip_nans, p.row);
    if (by_offsets) {
      p.starts = p.r.by.indexes;
      p.start_bytes = p.r.by.index_bytes;
    }
    in_turn(p.x.x.device, p.stream, ops[0], [&](const turn& t) {
      for (std::size_t k = 0; k < static_cast<std::size_t>(inputs); ++k)
        t.place.machine().fail(array_calls::fill(fill[k], neutral_of(ops[0], p.x.x.type, k == 1)->data(), t.place.stream()), "where");
    });
    return true;
  }
  const auto numbers = [&](std::int64_t count) { return static_cast<std::int64_t*>(made(wf::dtype::i64, count)); };
  wf::array_selection first = selection_of(p.x.x, mask, shape, axes, how.skip_nans, p.row), second = first;
  first.to = made(p.x.x.type, n);
  first.offsets = numbers((by_offsets ? 1 : answers) + 1);
  if (by_offsets || asks_places) first.places = numbers(n);
  if (p.r.inputs.data[1] != nullptr) {
    second = selection_of(p.y.x, mask, shape, axes, false, p.row);
    second.to = made(p.x.x.type, n);
    second.offsets = first.offsets;  // the same once more
  }
  const std::int64_t* offsets = first.offsets;
  std::int64_t* narrowed = nullptr;
  if (by_offsets) {
    offsets = narrowed = numbers(answers + 1);
    p.starts = p.r.by.indexes;
    p.start_bytes = p.r.by.index_bytes;
  }
  if (asks_places) p.places = first.places;
  in_turn(p.x.x.device, p.stream, ops[0], [&](const turn& t) {
    const wf::device_place& on = t.place;
    const auto check_one = [&on](int e) { on.machine().fail(e, "where"); };
    check_one(array_calls::select(first, on.scratch(), on.stream()));
    if (second.to != nullptr) check_one(array_calls::select(second, on.scratch(), on.stream()));
    if (by_offsets) check_one(array_calls::narrow(first.places, first.offsets + 1, p.starts, p.start_bytes, answers + 1, narrowed, on.stream()));
  });
  const auto size = static_cast<std::int64_t>(wf::info(p.x.x.type).size);
  p.r.inputs.shape = {n};
  p.r.inputs.data[0] = first.to;
  p.r.inputs.strides[0] = {size};
  if (second.to != nullptr) {
    p.r.inputs.data[1] = second.to;
    p.r.inputs.strides[1] = {size};
  }
  p.axes.clear();
  p.r.by = {};
  p.r.by.kind = kinds::segments;
  p.r.by.indexes = offsets;
  p.r.by.index_bytes = 8;
  p.r.by.count = answers;
  return true;
}

}  // namespace wfpy
