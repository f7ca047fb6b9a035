// SPDX-License-Identifier: Apache-2.0
/// \file reduce_on.cuh
/// How wf::reduce on a GPU (gpu.cuh) reads its arguments: inputs, where the answer goes, a transform, a reduction, settings.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/kernels/mapped_reduce.cuh>
#include <warpfold/detail/gpu/kernels/reduce.cuh>
#include <warpfold/detail/gpu/kernels/rows_own.cuh>
#include <warpfold/gpu.hpp>

namespace wf {

namespace detail {

template <class A>
inline constexpr bool is_transform = false;
template <class F>
inline constexpr bool is_transform<transform<F>> = true;

/// What is an input beside the first: C arrays are where an answer goes.
template <class A>
concept next_input = !std::is_array_v<A> && (input<A> || device_container<A>);

}  // namespace detail

namespace device::inline WF_BUILD {

/// Elements of T… as a kernel takes them; throws wf::error of what is not like one dimension.
template <class... T>
struct flat_inputs {
  std::uint64_t n = 1;
  std::int64_t stride[sizeof...(T)];
  explicit flat_inputs(const cpu::operands& o) {
    for (const std::int64_t d : o.shape) n *= static_cast<std::uint64_t>(d);
    constexpr std::size_t sizes[] = {sizeof(T)...};
    for (std::size_t k = 0; k < sizeof...(T); ++k) stride[k] = device_stream::stride_of(o.shape, o.strides[k], sizes[k]);
  }
};

/// A reduction of a user's, or a transform and then any: the type of its answer, and how it is enqueued.
template <class R, class... T>
struct job {
  static_assert(wf::detail::require_reduction<R, T...>());
  using answer = result_of<R>;
  const R& r;

  cudaError_t enqueue(const options&, const void* const* x, const flat_inputs<T...>& in, void* out, workspace& w, cudaStream_t stream) const {
    return reduce_with<plain_fold<R, T...>, T...>({r}, x, in.stride, in.n, out, w, stream);
  }
  cudaError_t enqueue_rows(const options&, const device_stream::shared_rows& in, void* out, order_labels_kernel sort, workspace& w, cudaStream_t stream) const {
    const reduction_part<R> part{r, {static_cast<unsigned char*>(out), sizeof(answer)}};
    return enqueue_own_rows(own_rows<reduction_part<R>, no_function, T...>{part, {}, nullptr}, in.rows, static_cast<std::uint64_t>(in.all), sort, w, stream);
  }
};
template <class F, class R, class... T>
struct mapped_job {
  using element = typename wf::detail::transformed_element<F, T...>::type;
  static constexpr bool builtin = wf::detail::is_builtin<R>;
  static constexpr auto answer_type() {
    if constexpr (builtin) {
      static_assert(!R::is_checked, "after wf::transform, whether an answer overflowed is told on the CPU alone");
      return std::type_identity<result<R::operation, typename wf::detail::transformed_operand<R::operation, element>::type>>();
    } else {
      static_assert(wf::detail::require_reduction<R, element>());
      return std::type_identity<result_of<R>>();
    }
  }
  using answer = typename decltype(answer_type())::type;
  const F& f;
  const R& r;

  cudaError_t enqueue(const options& told, const void* const* x, const flat_inputs<T...>& in, void* out, workspace& w,
                      cudaStream_t stream) const {
    if constexpr (builtin) {
      using U = typename wf::detail::transformed_operand<R::operation, element>::type;
      return mapped_reduce<U, T...>(r, f, told, x, in.stride, in.n, out, w, stream);
    } else {
      using mapped = mapped_reduction<R, F>;
      return reduce_with<plain_fold<mapped, T...>, T...>({{r, f}}, x, in.stride, in.n, out, w, stream);
    }
  }
  cudaError_t enqueue_rows(const options& told, const device_stream::shared_rows& in, void* out, order_labels_kernel sort, workspace& w,
                           cudaStream_t stream) const {
    const auto with = [&](const auto& parts) {
      using parts_type = std::remove_cvref_t<decltype(parts)>;
      return enqueue_own_rows(own_rows<parts_type, F, T...>{parts, f, nullptr}, in.rows, static_cast<std::uint64_t>(in.all), sort, w, stream);
    };
    if constexpr (builtin) {
      using U = typename wf::detail::transformed_operand<R::operation, element>::type;
      const std::tuple<R> one(r);
      const std::array<answers_to, 1> to{{{out, sizeof(answer)}}};
      return with(row_fusion<U, R>{one, to, told}.parts());
    } else {
      return with(reduction_part<R>{r, {static_cast<unsigned char*>(out), sizeof(answer)}});
    }
  }
};

/// Rows of inputs of T… as kernels take them. Throws wf::error of strides that would take elements to where their type cannot lie.
template <class... T>
device_stream::shared_rows rows_of(const cpu::operands& o, const partition& by, const char* who) {
  constexpr std::size_t aligns[] = {alignof(T)...};
  for (std::size_t k = 0; k < sizeof...(T); ++k) {
    for (const std::int64_t s : o.strides[k]) {
      if (s % static_cast<std::int64_t>(aligns[k]) != 0)
        throw error(errc::unsupported, std::string(who) + ": elements that are " + std::to_string(s) + " bytes apart; a multiple of their alignment, " +
                                           std::to_string(aligns[k]) + ", is needed");
    }
  }
  return device_stream::rows_in_bytes(o, static_cast<int>(sizeof...(T)), by, who);
}

/// Inputs have been told apart; a: where the answer goes, if it is told, then a transform, if there is one, the reduction, settings.
template <class P, class... X, class... A>
auto reduce_on(const P& place, const std::tuple<const X&...>& x, A&&... a) {
  constexpr bool told_where = wf::detail::out_like<std::tuple_element_t<0, std::tuple<A...>>>;
  const auto with = [&](auto&& out, const auto& work, const auto&... settings) {
    constexpr int places = wf::detail::places<std::remove_cvref_t<decltype(settings)>...>;
    static_assert(places <= 1, "at most one of axis, segments, segments_of and by_label");
    constexpr const char* who = "reduce on a GPU";
    const wf::detail::settings told(settings...);
    order_labels_kernel sort = nullptr;  // a program links it if it names labels
    if constexpr ((std::is_same_v<std::remove_cvref_t<decltype(settings)>, by_label> || ...)) sort = place.order_labels();
    using work_type = std::remove_cvref_t<decltype(work)>;
    using answer = typename work_type::answer;
    const auto enqueue_rows = [&](const cpu::operands& o, const partition& by, void* to) {
      const std::int64_t answers = *wf::detail::product(wf::detail::shape_of_answers(o, told, who));
      if (answers == 0) return;
      if (to == nullptr) throw error(errc::bad_argument, std::string(who) + ": nowhere to put the answers");
      const auto rows = rows_of<wf::detail::element_of<wf::detail::as_input_t<X>>...>(o, by, who);
      place.look_at(o, rows.all, to, who);
      const cudaError_t e = work.enqueue_rows(told.options, rows, to, sort, *static_cast<workspace*>(place.scratch()),
                                              static_cast<cudaStream_t>(place.stream()));
      place.machine().fail(static_cast<int>(e), who);
    };
    const auto enqueue = [&](const cpu::operands& o, void* to) {
      if (to == nullptr) throw error(errc::bad_argument, std::string(who) + ": nowhere to put the answer");
      const flat_inputs<wf::detail::element_of<wf::detail::as_input_t<X>>...> in(o);
      place.look_at(o, static_cast<std::int64_t>(in.n), to, who);
      const cudaError_t e = work.enqueue(told.options, o.data.data(), in, to, *static_cast<workspace*>(place.scratch()),
                                         static_cast<cudaStream_t>(place.stream()));
      place.machine().fail(static_cast<int>(e), who);
    };
    if constexpr (told_where) {
      static_assert(!(wf::detail::host_array<X> || ...), "warpfold: a GPU cannot read this array of the host: give it a std::span or wf::view of its "
                                                         "own memory, or no place for the answer, as in wf::reduce(place, x, r), and the array is copied");
      const cpu::operands o = std::apply([](const auto&... one) { return wf::detail::operands_of(wf::detail::as_input(one)...); }, x);
      void* const to = wf::detail::out_of<answer>(std::forward<decltype(out)>(out));
      if constexpr (places == 1) enqueue_rows(o, told.by, to);
      else enqueue(o, to);
    } else if constexpr (places == 1) {
      const auto in = std::apply([](const auto&... one) { return wf::detail::inputs_of_call(one...); }, x);
      array<answer> to;
      wf::detail::make_room(to, wf::detail::shape_of_answers(in.operands, told, who), who);
      place.fetch(in, told.by, to.values.data(), to.values.size() * sizeof(answer), who, &enqueue_rows,
                  [](const void* self, const cpu::operands& o, const partition& by, void* out_on_device) {
                    (*static_cast<decltype(&enqueue_rows)>(self))(o, by, out_on_device);
                  });
      return to;
    } else {
      const auto in = std::apply([](const auto&... one) { return wf::detail::inputs_of_call(one...); }, x);
      answer to;
      place.fetch(in, &to, sizeof to, who, &enqueue, [](const void* self, const cpu::operands& o, void* out_on_device) {
        (*static_cast<decltype(&enqueue)>(self))(o, out_on_device);
      });
      return to;
    }
  };
  const auto of_work = [&](auto&& out, const auto& what, const auto&... rest) {
    using what_type = std::remove_cvref_t<decltype(what)>;
    if constexpr (wf::detail::is_transform<what_type>) {
      static_assert(sizeof...(rest) > 0, "after wf::transform comes a reduction: wf::reduce(place, x, out, wf::transform(f), wf::sum)");
      return [&](const auto& r, const auto&... settings) {
        const mapped_job<decltype(what.f), std::remove_cvref_t<decltype(r)>, wf::detail::element_of<wf::detail::as_input_t<X>>...> work{what.f, r};
        return with(std::forward<decltype(out)>(out), work, settings...);
      }(rest...);
    } else {
      const job<what_type, wf::detail::element_of<wf::detail::as_input_t<X>>...> work{what};
      return with(std::forward<decltype(out)>(out), work, rest...);
    }
  };
  if constexpr (told_where) return of_work(std::forward<A>(a)...);
  else return of_work(nullptr, std::forward<A>(a)...);
}

}  // namespace device::inline WF_BUILD

}  // namespace wf
