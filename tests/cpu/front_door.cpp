// SPDX-License-Identifier: Apache-2.0
#include "front_door.hpp"

#include <span>
#include <stdexcept>
#include <tuple>

#include <warpfold/warpfold.hpp>

namespace wf::test {

namespace {

#define WF_OPERATION(name, ...) , std::tuple(wf::name)
constexpr std::tuple functions = std::tuple_cat(std::tuple()
#include <warpfold/operations.def>
);

template <class Result>
answers bytes_of(const Result& r) {
  const auto* p = reinterpret_cast<const std::byte*>(&r);
  return {{}, {}, sizeof r, {p, p + sizeof r}};
}
template <class Result>
answers bytes_of(const array<Result>& r) {
  const auto* p = reinterpret_cast<const std::byte*>(r.values.data());
  return {{}, r.shape, sizeof(Result), {p, p + r.values.size() * sizeof(Result)}};
}

template <class F, class X, class... S>
answers call(const F& f, const X& x, const X& y, const how& h, const S&... s) {
  if constexpr (F::operation == op::dot) return bytes_of(f(x, y, h.c, correction{h.correction}, s...));
  else return bytes_of(f(x, h.c, correction{h.correction}, s...));
}

template <class T, class F>
answers call_at(const F& f, const elements& x, const elements& y, const where& w, const how& h) {
  const auto* a = reinterpret_cast<const T*>(x.first);
  const auto* b = reinterpret_cast<const T*>(y.first);
  const view<T> v(a, x.shape, x.strides), u(b, y.shape, y.strides);
  switch (w.kind) {
    case place::range: {
      const auto n = static_cast<std::size_t>(x.shape[0]);
      return call(f, std::span<const T>(a, n), std::span<const T>(b, n), h);
    }
    case place::whole: return call(f, v, u, h);
    case place::axes: return call(f, v, u, h, w.axes);
    case place::segments: return call(f, v, u, h, segments{w.numbers});
    case place::segments_of: return call(f, v, u, h, segments_of{w.count});
    case place::labels: return call(f, v, u, h, by_label{w.numbers, w.count});
  }
  throw std::logic_error("no such place");
}

template <class T>
answers of_type(op o, const elements& x, const elements& y, const where& w, const how& h) {
  answers out{};
  const auto try_one = [&]<class F>(const F& f) {
    if constexpr (takes<F::operation, T>)
      if (F::operation == o) out = call_at<T>(f, x, y, w, h);
  };
  std::apply([&](const auto&... f) { (try_one(f), ...); }, functions);
  out.kind = result_of_builtin(o, x.type);
  return out;
}

}  // namespace

answers at_front_door(op o, const elements& x, const elements& y, const where& w, const how& h) {
  switch (x.type) {
    case dtype::f16: return of_type<f16>(o, x, y, w, h);
    case dtype::bf16: return of_type<bf16>(o, x, y, w, h);
    case dtype::f32: return of_type<float>(o, x, y, w, h);
    case dtype::f64: return of_type<double>(o, x, y, w, h);
    case dtype::i8: return of_type<std::int8_t>(o, x, y, w, h);
    case dtype::i16: return of_type<std::int16_t>(o, x, y, w, h);
    case dtype::i32: return of_type<std::int32_t>(o, x, y, w, h);
    case dtype::i64: return of_type<std::int64_t>(o, x, y, w, h);
    case dtype::u8: return of_type<std::uint8_t>(o, x, y, w, h);
    case dtype::u16: return of_type<std::uint16_t>(o, x, y, w, h);
    case dtype::u32: return of_type<std::uint32_t>(o, x, y, w, h);
    case dtype::u64: return of_type<std::uint64_t>(o, x, y, w, h);
    case dtype::boolean: return of_type<bool>(o, x, y, w, h);
    case dtype::c64: return of_type<c64>(o, x, y, w, h);
    case dtype::c128: return of_type<c128>(o, x, y, w, h);
  }
  throw std::logic_error("no such type");
}

}  // namespace wf::test
