// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "told.hpp"
#include "views.hpp"

namespace wfpy {

namespace {

layout contiguous(const void* data, wf::dtype type, const wf::extents& shape) {
  layout x{data, type, shape, wf::extents(shape.size(), 0)};
  auto step = static_cast<std::int64_t>(wf::info(type).size);
  for (std::size_t d = shape.size(); d-- > 0;) {
    x.strides[d] = step;
    step *= shape[d];
  }
  return x;
}

/// Sums of integers are taken mod 2^64, and so mod less.
template <class To>
void narrow(const std::vector<std::uint64_t>& from, void* to) {
  std::transform(from.begin(), from.end(), static_cast<To*>(to), [](std::uint64_t x) { return static_cast<To>(x); });
}

void reduce(const warpfold_python::call& c) {
  if (c.size != sizeof c) throw wf::error(wf::errc::bad_argument, "an adapter of another version of warpfold");
  if (c.op < 0 || c.op >= wf::op_count) throw wf::error(wf::errc::bad_argument, "no such reduction");
  const auto op = static_cast<wf::op>(c.op);
  const wf::dtype element = dtype_of_code(c.element), wanted = dtype_of_code(c.answer);
  const wf::result_kind natural = wf::result_of_builtin(op, element);
  if (natural.values != 1) throw wf::error(wf::errc::unsupported, "a reduction of several answers");
  request r;
  r.ops = {op};
  r.accuracy = static_cast<wf::accuracy>(c.accuracy);
  r.options.rounding = static_cast<wf::rounding>(c.rounding);
  r.options.correction = c.correction;
  wf::extents shape(static_cast<std::size_t>(c.rank), 0);
  std::copy_n(c.shape, c.rank, shape.begin());
  wf::per_dimension<int> axes;
  for (int k = 0; k < c.axes_count; ++k) axes.push_back(static_cast<int>(c.axes[k]));
  const wf::partition by = c.axes_count == c.rank ? wf::partition() : along({axes.data(), axes.size()});
  const bool fewer_bits = wanted != natural.type && wf::is_integer(natural.type) && wf::is_integer(wanted);
  if (wanted != natural.type && !fewer_bits) r.round_to = wanted;
  std::int64_t answers = 1;
  for (int d = 0; d < c.rank; ++d)
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) answers *= c.shape[d];
  const layout x = contiguous(c.data[0], element, shape);
  if (c.fraction != 0) {  // states are what divides by such
    const state_kind states(op, element, false);
    std::vector<std::byte> made(static_cast<std::size_t>(answers) * states.bytes());
    states.from(x, {axes.data(), axes.size()}, {}, 0, made.data());
    states.finish(r.options, c.fraction, {}, made.data(), answers, c.out);
    return;
  }
  const layout y = contiguous(c.data[1], element, shape);
  const plan made(r, element, false);
  const layout* second = made.inputs() == 2 ? &y : nullptr;
  if (!fewer_bits) {
    made.run(by, x, second, c.out);
    return;
  }
  std::vector<std::uint64_t> whole(static_cast<std::size_t>(answers));
  made.run(by, x, second, whole.data());
  switch (wf::info(wanted).size) {
    case 1: narrow<std::uint8_t>(whole, c.out); break;
    case 2: narrow<std::uint16_t>(whole, c.out); break;
    case 4: narrow<std::uint32_t>(whole, c.out); break;
    default: narrow<std::uint64_t>(whole, c.out);
  }
}

int reduce_by_call(const warpfold_python::call* c) {
  try {
    reduce(*c);
    return 0;
  } catch (const std::exception& e) {
    std::snprintf(c->message, c->message_size, "%s", e.what());
    return 1;
  }
}

}  // namespace

void add_call(nb::module_& m) {
  m.def("address_of_call", [] { return reinterpret_cast<std::uintptr_t>(static_cast<warpfold_python::call_function>(reduce_by_call)); });
}

}  // namespace wfpy
