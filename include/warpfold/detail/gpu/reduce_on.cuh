// SPDX-License-Identifier: Apache-2.0
/// \file reduce_on.cuh
/// How wf::reduce on a GPU (gpu.cuh) reads its arguments (inputs, where the answer goes, a transform, a reduction, settings) and makes a request of them.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/kernels/mapped_reduce.cuh>
#include <warpfold/detail/gpu/kernels/reduce.cuh>
#include <warpfold/detail/gpu/kernels/rows_own.cuh>
#include <warpfold/detail/gpu/own_kernels.hpp>
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

/// A reduction of a user's, or a transform and then any: the type of its answer, and how it is enqueued, for one answer and for many.
template <class R, class... T>
struct job {
  static_assert(wf::detail::require_reduction<R, T...>());
  using answer = result_of<R>;
  const R& r;
  order_labels_kernel sort = nullptr;

  cudaError_t enqueue(const request& q, const own_input& in, workspace& w, cudaStream_t stream) const {
    return reduce_with<plain_fold<R, T...>, T...>({r}, q.inputs.data.data(), in.stride.data(), static_cast<std::uint64_t>(in.n), q.out, w, stream);
  }
  cudaError_t enqueue_rows(const request& q, const own_input& in, workspace& w, cudaStream_t stream) const {
    const reduction_part<R> part{r, {static_cast<unsigned char*>(q.out), sizeof(answer)}};
    return enqueue_own_rows(own_rows<reduction_part<R>, no_function, T...>{part, {}, nullptr}, *in.rows, static_cast<std::uint64_t>(in.n), sort, w, stream);
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
  order_labels_kernel sort = nullptr;

  cudaError_t enqueue(const request& q, const own_input& in, workspace& w, cudaStream_t stream) const {
    const auto n = static_cast<std::uint64_t>(in.n);
    if constexpr (builtin) {
      using U = typename wf::detail::transformed_operand<R::operation, element>::type;
      return mapped_reduce<U, T...>(r, f, q.options, q.inputs.data.data(), in.stride.data(), n, q.out, w, stream);
    } else {
      using mapped = mapped_reduction<R, F>;
      return reduce_with<plain_fold<mapped, T...>, T...>({{r, f}}, q.inputs.data.data(), in.stride.data(), n, q.out, w, stream);
    }
  }
  cudaError_t enqueue_rows(const request& q, const own_input& in, workspace& w, cudaStream_t stream) const {
    const auto with = [&](const auto& parts) {
      using parts_type = std::remove_cvref_t<decltype(parts)>;
      return enqueue_own_rows(own_rows<parts_type, F, T...>{parts, f, nullptr}, *in.rows, static_cast<std::uint64_t>(in.n), sort, w, stream);
    };
    if constexpr (builtin) {
      using U = typename wf::detail::transformed_operand<R::operation, element>::type;
      const std::tuple<R> one(r);
      const std::array<answers_to, 1> to{{{q.out, sizeof(answer)}}};
      return with(row_fusion<U, R>{one, to, q.options}.parts());
    } else {
      return with(reduction_part<R>{r, {static_cast<unsigned char*>(q.out), sizeof(answer)}});
    }
  }
};

/// A job's functions for one answer, or for many, from elements of T….
template <class Job, bool Many, class... T>
struct own_kernels_of {
  static int enqueue(const void* self, const request& r, const own_input& in, void* scratch, void* stream) {
    const Job& work = *static_cast<const Job*>(self);
    auto& w = *static_cast<workspace*>(scratch);
    auto* const s = static_cast<cudaStream_t>(stream);
    if constexpr (Many) return static_cast<int>(work.enqueue_rows(r, in, w, s));
    else return static_cast<int>(work.enqueue(r, in, w, s));
  }
  static constexpr own_kernels kernels{sizeof...(T), {sizeof(T)...}, {alignof(T)...}, enqueue};
};

/// The inputs are known; a: where the answer goes, if that is given, then a transform, if there is one, the reduction, settings.
template <class P, class... X, class... A>
auto reduce_on(const P& place, const std::tuple<const X&...>& x, A&&... a) {
  constexpr bool told_where = wf::detail::out_like<std::tuple_element_t<0, std::tuple<A...>>>;
  const auto with = [&](auto&& out, auto work, const auto&... settings) {
    constexpr int partitions = wf::detail::partitions<std::remove_cvref_t<decltype(settings)>...>;
    static_assert(partitions <= 1, "at most one of axis, segments, segments_of and by_label");
    constexpr const char* who = "reduce on a GPU";
    using work_type = decltype(work);
    using answer = typename work_type::answer;
    const wf::detail::settings told(settings...);
    // A program links what sorts labels if it names labels.
    if constexpr ((std::is_same_v<std::remove_cvref_t<decltype(settings)>, by_label> || ...)) work.sort = place.order_labels();
    const own_reduction own{nullptr, &work, who, &own_kernels_of<work_type, partitions == 1, wf::detail::element_of<wf::detail::as_input_t<X>>...>::kernels};
    if constexpr (told_where) {
      static_assert(!(wf::detail::host_array<X> || ...), "warpfold: a GPU cannot read this array of the host: give it a std::span or wf::view of its "
                                                         "own memory, or no place for the answer, as in wf::reduce(place, x, r), and the array is copied");
      request r = wf::detail::asked(own, std::apply([](const auto&... one) { return wf::detail::operands_of(wf::detail::as_input(one)...); }, x), told);
      if constexpr (partitions == 1) wf::detail::shape_of_answers(r.inputs, told, who);  // labels are as many as elements
      r.out = wf::detail::out_of<answer>(std::forward<decltype(out)>(out));
      place.run_own(r, {&r.out, 1});
    } else {
      const auto in = std::apply([](const auto&... one) { return wf::detail::inputs_of_call(one...); }, x);
      const request r = wf::detail::asked(own, in.operands, told);
      const auto fetch = [&](void* to, std::size_t bytes) {
        place.fetch(r, in, to, bytes, &place, [](const void* self, const request& there) { static_cast<const P*>(self)->run_own(there, {&there.out, 1}); });
      };
      if constexpr (partitions == 1) {
        array<answer> to;
        wf::detail::make_room(to, wf::detail::shape_of_answers(in.operands, told, who), who);
        fetch(to.values.data(), to.values.size() * sizeof(answer));
        return to;
      } else {
        answer to;
        fetch(&to, sizeof to);
        return to;
      }
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
