// SPDX-License-Identifier: Apache-2.0
/// \file transform.hpp
/// Applies a function to the elements before a reduction, without a temporary array: its values lie in blocks of 4 KiB on the
/// stack, which go to the reduction's own functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <warpfold/detail/cpu/engine.hpp>

namespace wf::cpu {

/// f(x, rest…), as std::invoke calls functions and members of a struct; the header of std::invoke takes a fifth of a second to compile.
template <class F, class First, class... Rest>
constexpr decltype(auto) call(const F& f, const First& x, const Rest&... rest) {
  if constexpr (std::is_member_object_pointer_v<F>) return x.*f;
  else if constexpr (std::is_member_function_pointer_v<F>) return (x.*f)(rest...);
  else return f(x, rest...);
}

/// Elements of T… become a V by F, and these are what `r` reduces. `f`, `r` and `self` outlive this.
template <class F, class V, class... T>
class transformed {
 public:
  transformed(const F& f, const erased& r, const void* self) : f_(f), r_(r), self_(self), functions_(r) {
    functions_.inputs = sizeof...(T);
    functions_.element_sizes = {sizeof(T)...};
    functions_.short_run = nullptr;
    functions_.few_run = nullptr;
    functions_.proves = nullptr;  // a proof reads the elements as they lie
    functions_.columns = nullptr;
    functions_.identity = [](const void* p, void* s) { as(p).r_.identity(as(p).self_, s); };
    functions_.accumulate = [](const void* p, void* s, const void* const* x, std::int64_t n, std::int64_t first) {
      as(p).accumulate(s, x, n, first, std::index_sequence_for<T...>());
    };
    functions_.combine = [](const void* p, void* s, const void* later) { as(p).r_.combine(as(p).self_, s, later); };
    functions_.finish = [](const void* p, const void* s, std::int64_t n, void* out) { as(p).r_.finish(as(p).self_, s, n, out); };
  }
  transformed(const transformed&) = delete;
  transformed& operator=(const transformed&) = delete;

  const erased& functions() const { return functions_; }

 private:
  static const transformed& as(const void* p) { return *static_cast<const transformed*>(p); }

  template <std::size_t... K>
  void accumulate(void* s, const void* const* x, std::int64_t n, std::int64_t first, std::index_sequence<K...>) const {
    constexpr std::int64_t most = sizeof(V) < 4096 ? 4096 / static_cast<std::int64_t>(sizeof(V)) : 1;
    alignas(64) alignas(V) std::byte room[static_cast<std::size_t>(most) * sizeof(V)];
    V* const to = reinterpret_cast<V*>(room);
    for (std::int64_t at = 0; at < n; at += most) {
      const std::int64_t here = n - at < most ? n - at : most;
      for (std::int64_t i = 0; i < here; ++i)
        std::construct_at(to + i, static_cast<V>(call(f_, cpu::detail::load_any<T>(x[K], at + i)...)));
      const void* const block[] = {room, nullptr};
      r_.accumulate(self_, s, block, here, first + at);
    }
  }

  const F& f_;
  const erased& r_;
  const void* self_;
  erased functions_;
};

}  // namespace wf::cpu
