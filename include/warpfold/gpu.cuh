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
/// are inputs, one or two; where the answer goes; a wf::transform, if any; the reduction, behind a transform also one of the
/// library's; settings. Without a place for the answer the call waits and gives it. With an axis, segments or labels there are
/// answers, C-ordered, as on the CPU; states are then of 300 bytes at most. Throws wf::error: unsupported for a view whose
/// dimensions do not lie in one another and no axis, bad_argument for an address that is no multiple of its element's alignment.
///
///     wf::reduce(place, std::span(device_values, n), device_out, my_reduction{});
///     wf::reduce(place, x, y, device_out, my_distance{});                        // of two inputs
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

/// One kernel that reads the values once, of axes, segments and labels too. The answers are those of each reduction alone, under either
/// accuracy the exact ones; rounding and correction are all parts'.
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
  constexpr auto many_of = []<class S>(std::type_identity<S>) {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (0 + ... + static_cast<int>(std::is_same_v<std::remove_cvref_t<std::tuple_element_t<first_setting + I, asked>>, S>));
    }(settings_at());
  };
  constexpr int labels = many_of(std::type_identity<by_label>());
  constexpr int places = labels + many_of(std::type_identity<axis>()) + many_of(std::type_identity<segments>()) + many_of(std::type_identity<segments_of>());
  static_assert(places <= 1, "at most one of axis, segments, segments_of and by_label");

  using where = std::array<void*, parts>;
  const auto enqueue = [&](const cpu::operands& o, const partition& by, const where& out) {
    if constexpr (places == 1) {
      if (*detail::product(detail::shape_of_answers(o, told, who)) == 0) return;
    }
    for (const void* to : out) {
      if (to == nullptr) throw error(errc::bad_argument, std::string(who) + ": nowhere to put an answer");
    }
    if constexpr (places == 1) {
      const auto rows = device::rows_of<T>(o, by, who);
      place.look_at(o, rows.all, nullptr, who);
      for (const void* to : out) place.look_at({}, 0, to, who);
      order_labels_kernel sort = nullptr;
      if constexpr (labels == 1) sort = place.order_labels();
      const std::array<device::answers_to, parts> to = [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::array<device::answers_to, parts>{{{out[I], sizeof(typename detail::answer_of_part<F, T>::type)}...}};
      }(std::index_sequence_for<F...>());
      const auto each = device::row_fusion<T, F...>{parts_, to, told.options}.parts();
      const cudaError_t e = device::enqueue_own_rows(device::own_rows<std::remove_cv_t<decltype(each)>, device::no_function, T>{each, {}, nullptr},
                                                     rows.rows, static_cast<std::uint64_t>(rows.all), sort,
                                                     *static_cast<device::workspace*>(place.scratch()), static_cast<cudaStream_t>(place.stream()));
      place.machine().fail(static_cast<int>(e), who);
    } else {
      std::uint64_t n = 1;
      for (const std::int64_t d : o.shape) n *= static_cast<std::uint64_t>(d);
      place.look_at(o, static_cast<std::int64_t>(n), nullptr, who);
      for (const void* to : out) place.look_at({}, 0, to, who);
      const std::int64_t stride = device_stream::stride_of(o.shape, o.strides[0], sizeof(T));
      const cudaError_t e = device::fused_reduce<T>(parts_, out, told.options, o.data[0], stride, n,
                                                    *static_cast<device::workspace*>(place.scratch()),
                                                    static_cast<cudaStream_t>(place.stream()));
      place.machine().fail(static_cast<int>(e), who);
    }
  };

  if constexpr (told_where) {
    where out{};
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      static_assert((detail::out_like<std::tuple_element_t<I, asked>> && ...), "after the values come pointers, to the type of each part's answer");
      ((out[I] = detail::out_of<typename detail::answer_of_part<F, T>::type>(std::get<I>(given))), ...);
    }(std::index_sequence_for<F...>());
    enqueue(detail::operands_of(detail::as_input(x)), told.by, out);
  } else {
    // The answers of each part one after the other, those of the next from a multiple of 16 bytes on.
    const auto in = detail::inputs_of_call(x);
    std::size_t answers = 1;
    std::conditional_t<places == 1, std::tuple<array<typename detail::answer_of_part<F, T>::type>...>, std::tuple<typename detail::answer_of_part<F, T>::type...>> to;
    if constexpr (places == 1) {
      const extents shape = detail::shape_of_answers(in.operands, told, who);
      answers = static_cast<std::size_t>(*detail::product(shape));
      std::apply([&](auto&... one) { (detail::make_room(one, shape, who), ...); }, to);  // throws where no memory holds so many
    }
    constexpr std::size_t sizes[] = {sizeof(typename detail::answer_of_part<F, T>::type)...};
    std::array<std::size_t, parts + 1> at{};
    for (std::size_t k = 0; k < parts; ++k) at[k + 1] = at[k] + (sizes[k] * answers + 15) / 16 * 16;
    std::vector<std::byte> raw(at[parts]);
    const auto work = [&](const cpu::operands& o, const partition& by, void* on_device) {
      where out{};
      for (std::size_t k = 0; k < parts; ++k) out[k] = static_cast<std::byte*>(on_device) + at[k];
      enqueue(o, by, out);
    };
    place.fetch(in, told.by, raw.data(), raw.size(), who, &work, [](const void* self, const cpu::operands& o, const partition& by, void* on_device) {
      (*static_cast<decltype(&work)>(self))(o, by, on_device);
    });
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto unpack = [&](auto& one, std::size_t from) {
        if constexpr (places == 1) {
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
