// SPDX-License-Identifier: Apache-2.0
/// \file gpu.cuh
/// The front door on a GPU for reductions of your own, and for fused ones. Needs nvcc (or simt).
///
///     struct my_reduction { … members marked WF_HD … };
///     wf::gpu place{stream};
///     wf::reduce(place, std::span(device_values, n), device_out, my_reduction{});
///     wf::fuse(wf::sum, wf::max, my_reduction{})(place, values, sum_out, max_out, mine_out);
///     wf::fuse(wf::mean, wf::std_dev)(place, values, mean_out, std_out, wf::correction{1});
///     auto [m, d] = wf::fuse(wf::mean, wf::std_dev)(place, values);   // waits, and gives the answers; arrays of the host are copied
///     wf::reduce(place, matrix, rows_out, my_reduction{}, wf::axis{1});
///     wf::fuse(wf::mean, wf::std_dev)(place, matrix, means_out, stds_out, wf::axis{0});
///
/// One kernel reads the values once. Places, memory, errors: gpu.hpp.
#pragma once

#include <warpfold/config.hpp>  // first: it says what a compiler must be set to

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <warpfold/cuda_types.cuh>
#include <warpfold/detail/gpu/kernels/fused_reduce.cuh>
#include <warpfold/detail/gpu/reduce_on.cuh>
#include <warpfold/gpu.hpp>

namespace wf {

/// A reduction of your own on a GPU, in the order of the elements unless it commutes. Members of R are WF_HD. The arguments
/// are one or two inputs; where the answer goes; a wf::transform, if any; the reduction (behind a transform it may be one of the
/// library); settings. Without a pointer for the answer the call waits and returns it. With an axis, segments or labels it writes
/// several answers, C-ordered, as on the CPU; states then have 300 bytes at most. Throws wf::error: unsupported for a view whose
/// dimensions do not lie in one another, unless an axis is given; bad_argument for an address that is no multiple of its element's alignment.
///
///     wf::reduce(place, std::span(device_values, n), device_out, my_reduction{});
///     wf::reduce(place, x, y, device_out, my_distance{});                        // for two inputs
///     wf::reduce(place, x, device_out, wf::transform(square{}), wf::sum);        // no array of squares
///     double d = wf::reduce(place, x, y, wf::transform(product{}), wf::sum);     // waits
///     wf::reduce(place, matrix, rows_out, wf::transform(square{}), wf::sum, wf::axis{1});
template <class P, class X, class A, class... More>
  requires(P::is_place)
auto reduce(const P& place, const X& x, A&& a, More&&... more) {
  if constexpr (detail::next_input<std::remove_cvref_t<A>>) {
    return device::reduce_on(place, std::tuple<const X&, const std::remove_cvref_t<A>&>(x, a), std::forward<More>(more)...);
  } else {
    return device::reduce_on(place, std::tuple<const X&>(x), std::forward<A>(a), std::forward<More>(more)...);
  }
}

namespace detail {

template <class F, class T>
struct answer_of_part { using type = result_of<F>; };
template <class F, class T>
  requires is_builtin<F>
struct answer_of_part<F, T> {
  static_assert(takes<F::operation, T>, "a fused reduction does not take this element type: see docs/reductions.md");
  using type = result<F::operation, T>;
};

}  // namespace detail

/// \cond
namespace device::inline WF_BUILD {

/// Reductions of one input, elements of T, that are one kernel.
template <class T, class... F>
struct fused_job {
  const std::tuple<F...>& parts;
  const std::array<void*, sizeof...(F)>& out;  ///< where the answers of each part go
  order_labels_kernel sort;

  cudaError_t enqueue(const request& q, const own_input& in, workspace& w, cudaStream_t stream) const {
    return fused_reduce<T>(parts, out, q.options, q.inputs.data[0], in.stride[0], static_cast<std::uint64_t>(in.n), w, stream);
  }
  cudaError_t enqueue_rows(const request& q, const own_input& in, workspace& w, cudaStream_t stream) const {
    const std::array<answers_to, sizeof...(F)> to = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<answers_to, sizeof...(F)>{{{out[I], sizeof(typename wf::detail::answer_of_part<F, T>::type)}...}};
    }(std::index_sequence_for<F...>());
    const auto each = row_fusion<T, F...>{parts, to, q.options}.parts();
    return enqueue_own_rows(own_rows<std::remove_cv_t<decltype(each)>, no_function, T>{each, {}, nullptr}, *in.rows, static_cast<std::uint64_t>(in.n), sort, w,
                            stream);
  }
};

}  // namespace device::inline WF_BUILD
/// \endcond

/// One kernel that reads the values once, also by axes, segments and labels. Each answer is the one that its reduction gives alone, and exact under
/// either accuracy; rounding and correction hold for all parts.
template <class... F>
template <class P, class X, class... A>
  requires(P::is_place)
auto fused<F...>::operator()(const P& place, const X& x, A&&... a) const {
  static_assert(sizeof...(F) > 0, "fuse: nothing to fuse; name one reduction or more");
  constexpr const char* who = "fuse on a GPU";
  constexpr std::size_t parts = sizeof...(F);
  constexpr bool told_where = detail::out_like<detail::first_of<A..., context>>;
  static_assert(!told_where || sizeof...(A) >= parts, "after the values come pointers, to the type of each part's answer");
  static_assert(!told_where || !detail::host_array<X>, "warpfold: a GPU cannot read this array of the host: give it a std::span or wf::view of its own memory, or no "
                                                       "places for the answers, and the array is copied");
  // As the library knows it; your own reductions are given what lies there.
  using input = detail::as_input_t<X>;
  using T = std::conditional_t<(detail::is_builtin<F> && ...), detail::builtin_element_of<input>, detail::element_of<input>>;
  using asked = std::tuple<A...>;
  constexpr std::size_t first_setting = told_where ? parts : 0;
  using settings_at = std::make_index_sequence<(sizeof...(A) < first_setting ? 0 : sizeof...(A) - first_setting)>;
  const auto given = std::forward_as_tuple(std::forward<A>(a)...);
  const detail::settings told = [&]<std::size_t... I>(std::index_sequence<I...>) { return detail::settings(std::get<first_setting + I>(given)...); }(settings_at());
  constexpr int partitions = []<std::size_t... I>(std::index_sequence<I...>) {
    return detail::partitions<std::remove_cvref_t<std::tuple_element_t<first_setting + I, asked>>...>;
  }(settings_at());
  static_assert(partitions <= 1, "at most one of axis, segments, segments_of and by_label");
  constexpr bool labels = []<std::size_t... I>(std::index_sequence<I...>) {
    return (false || ... || std::is_same_v<std::remove_cvref_t<std::tuple_element_t<first_setting + I, asked>>, by_label>);
  }(settings_at());

  std::array<void*, parts> out{};
  order_labels_kernel sort = nullptr;  // a program links it if it names labels
  if constexpr (labels) sort = place.order_labels();
  using job = device::fused_job<T, F...>;
  const job work{parts_, out, sort};
  const own_reduction own{nullptr, &work, who, &device::own_kernels_of<job, partitions == 1, T>::kernels};
  if constexpr (told_where) {
    request r = detail::asked(own, detail::operands_of(detail::as_input(x)), told);
    if constexpr (partitions == 1) detail::shape_of_answers(r.inputs, told, who);  // labels are as many as elements
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      static_assert((detail::out_like<std::tuple_element_t<I, asked>> && ...), "after the values come pointers, to the type of each part's answer");
      ((out[I] = detail::out_of<typename detail::answer_of_part<F, T>::type>(std::get<I>(given))), ...);
    }(std::index_sequence_for<F...>());
    r.out = out[0];
    place.run_own(r, out);
  } else {
    // The answers of each part one after the other, those of the next from a multiple of 16 bytes on.
    const auto in = detail::inputs_of_call(x);
    const request r = detail::asked(own, in.operands, told);
    std::size_t answers = 1;
    std::conditional_t<partitions == 1, std::tuple<array<typename detail::answer_of_part<F, T>::type>...>, std::tuple<typename detail::answer_of_part<F, T>::type...>> to;
    if constexpr (partitions == 1) {
      const extents shape = detail::shape_of_answers(in.operands, told, who);
      answers = static_cast<std::size_t>(*detail::product(shape));
      std::apply([&](auto&... one) { (detail::make_room(one, shape, who), ...); }, to);  // throws where no memory holds so many
    }
    constexpr std::size_t sizes[] = {sizeof(typename detail::answer_of_part<F, T>::type)...};
    std::array<std::size_t, parts + 1> at{};
    for (std::size_t k = 0; k < parts; ++k) at[k + 1] = at[k] + (sizes[k] * answers + 15) / 16 * 16;
    std::vector<std::byte> raw(at[parts]);
    const auto enqueue = [&](const request& there) {
      for (std::size_t k = 0; k < parts; ++k) out[k] = static_cast<std::byte*>(there.out) + at[k];
      place.run_own(there, out);
    };
    place.fetch(r, in, raw.data(), raw.size(), &enqueue, [](const void* self, const request& there) { (*static_cast<decltype(&enqueue)>(self))(there); });
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto unpack = [&](auto& one, std::size_t from) {
        if constexpr (partitions == 1) {
          if (!one.values.empty()) __builtin_memcpy(one.values.data(), raw.data() + from, one.values.size() * sizeof one.values[0]);
        } else {
          __builtin_memcpy(static_cast<void*>(&one), raw.data() + from, sizeof one);
        }
      };
      (unpack(std::get<I>(to), at[I]), ...);
    }(std::index_sequence_for<F...>());
    return to;
  }
}

}  // namespace wf
