// SPDX-License-Identifier: Apache-2.0
/// \file fused.cuh
/// The fused reductions of fused.hpp on the device that this is compiled for. Each is a kernel, or two, that takes a
/// second to compile: WF_FUSED_TESTED 0 is the fewest, 1 those whose row sets differ, 2 all types.
#pragma once

#include <cuda_runtime.h>

#include <tuple>
#include <type_traits>
#include <vector>

#include <warpfold/gpu.cuh>

#include "fused.hpp"
#include "../support/own_reductions.cuh"

#if !defined(WF_FUSED_TESTED)
#define WF_FUSED_TESTED 0
#endif

namespace machines::inline WF_BUILD {

template <wf::op... O>
struct op_list {
  static std::vector<wf::op> listed() { return {O...}; }
};
template <class T, class... U>
inline constexpr bool any_of = (std::is_same_v<T, U> || ...);

/// The operations of each, in the order of their answers. None: not compiled.
template <fused_kind Kind, class T>
constexpr auto ops_of() {
  using enum wf::op;
  using list_of_complex = op_list<sum, mean, prod, var, std_dev, mean_var, sum_of_squares, norm2, any, all, count, count_nonzero>;
  using list_of_reals = op_list<sum, mean, prod, var, std_dev, mean_var, sum_of_squares, norm1, norm2, norm_inf, min, max, minmax,
                                argmin, argmax, any, all, count, count_nonzero, logsumexp>;
  constexpr int tested = WF_FUSED_TESTED;
  if constexpr (Kind == fused_kind::own && any_of<T, wf::bf16>) return op_list<mean_var, max>();
  else if constexpr (tested == 0) return op_list<>();
  else if constexpr (Kind == fused_kind::headline && any_of<T, float>) return op_list<mean, std_dev, min, max>();
  else if constexpr (Kind == fused_kind::headline && any_of<T, wf::c64>) return op_list<mean_var, norm2, any>();
  else if constexpr (Kind == fused_kind::headline && any_of<T, double>)
    return op_list<norm1, mean_var, sum, norm2, sum_of_squares, std_dev, any>();
  else if constexpr (Kind == fused_kind::everything && any_of<T, std::int32_t>) return list_of_reals();
  else if constexpr (Kind == fused_kind::norm1 && any_of<T, wf::f16>) return op_list<argmin, norm1>();
  else if constexpr (Kind == fused_kind::own && any_of<T, std::uint8_t>) return op_list<sum, mean>();
  else if constexpr (tested == 1) return op_list<>();
  else if constexpr (Kind == fused_kind::everything && any_of<T, std::uint8_t, std::int16_t, std::uint32_t>) return op_list<>();
  else if constexpr (Kind == fused_kind::everything && wf::real<T>) return list_of_reals();
  else if constexpr (Kind == fused_kind::everything) return list_of_complex();
  else if constexpr (Kind == fused_kind::sums && any_of<T, wf::bf16, wf::c64>) return op_list<mean, count_nonzero, sum>();
  else if constexpr (Kind == fused_kind::squares && any_of<T, float, wf::c128>) return op_list<norm2, sum_of_squares>();
  else if constexpr (Kind == fused_kind::own && any_of<T, double>) return op_list<mean_var, max>();
  else return op_list<>();
}

/// f.template operator()<Kind, T>().
template <fused_kind Kind, class F>
auto with_element(wf::dtype t, F f) {
  switch (t) {
    case wf::dtype::f16: return f.template operator()<Kind, wf::f16>();
    case wf::dtype::bf16: return f.template operator()<Kind, wf::bf16>();
    case wf::dtype::f32: return f.template operator()<Kind, float>();
    case wf::dtype::f64: return f.template operator()<Kind, double>();
    case wf::dtype::i8: return f.template operator()<Kind, std::int8_t>();
    case wf::dtype::i16: return f.template operator()<Kind, std::int16_t>();
    case wf::dtype::i32: return f.template operator()<Kind, std::int32_t>();
    case wf::dtype::i64: return f.template operator()<Kind, std::int64_t>();
    case wf::dtype::u8: return f.template operator()<Kind, std::uint8_t>();
    case wf::dtype::u16: return f.template operator()<Kind, std::uint16_t>();
    case wf::dtype::u32: return f.template operator()<Kind, std::uint32_t>();
    case wf::dtype::u64: return f.template operator()<Kind, std::uint64_t>();
    case wf::dtype::boolean: return f.template operator()<Kind, bool>();
    case wf::dtype::c64: return f.template operator()<Kind, wf::c64>();
    case wf::dtype::c128: break;
  }
  return f.template operator()<Kind, wf::c128>();
}
template <class F>
auto with_kind(fused_kind k, wf::dtype t, F f) {
  switch (k) {
    case fused_kind::everything: return with_element<fused_kind::everything>(t, f);
    case fused_kind::sums: return with_element<fused_kind::sums>(t, f);
    case fused_kind::norm1: return with_element<fused_kind::norm1>(t, f);
    case fused_kind::squares: return with_element<fused_kind::squares>(t, f);
    case fused_kind::headline: return with_element<fused_kind::headline>(t, f);
    case fused_kind::own: break;
  }
  return with_element<fused_kind::own>(t, f);
}
inline std::vector<wf::op> fused_ops(fused_kind kind, wf::dtype t) {
  return with_kind(kind, t, [&]<fused_kind Kind, class T>() { return decltype(ops_of<Kind, T>())::listed(); });
}

template <class T, wf::op... O, class... Own>
void run_fused(const wf::device_place& place, const fused_request& r, op_list<O...>, const Own&... own) {
  unsigned char* to = r.out;
  const auto next = [&]<class A>(A*) {
    unsigned char* const here = to;
    to += 32;
    return reinterpret_cast<A*>(here);
  };
  const wf::view<T> x(static_cast<const T*>(r.x), {r.n}, {r.stride});
  const std::tuple answers{next(static_cast<wf::result<O, T>*>(nullptr))..., next(static_cast<wf::result_of<Own>*>(nullptr))...};
  std::apply(
      [&](auto*... out) {
        wf::fuse(wf::detail::function<O>()..., own...)(place, x, out..., r.options.rounding,
                                                       wf::correction{r.options.correction});
      },
      answers);
}

inline std::string fuse(const wf::device_place& place, const fused_request& r) {
  try {
    with_kind(r.kind, r.element, [&]<fused_kind Kind, class T>() {
      using ops = decltype(ops_of<Kind, T>());
      if constexpr (std::is_same_v<ops, op_list<>>) return;
      else if constexpr (Kind == fused_kind::own) run_fused<T>(place, r, ops(), in_order<T>());
      else run_fused<T>(place, r, ops());
    });
  } catch (const wf::error& e) {
    return e.what();
  }
  return "";
}

}  // namespace machines::inline WF_BUILD
