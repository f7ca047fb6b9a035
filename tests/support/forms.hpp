// SPDX-License-Identifier: Apache-2.0
/// \file forms.hpp
/// Every form of state, data of every element type, and states of pieces of an array on the CPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <warpfold/backend.hpp>

using bytes = std::vector<std::byte>;

inline std::string name_of(const wf::state_form& f) {
  return std::string(wf::op_names[static_cast<int>(f.what)]) + " of " + std::string(wf::info(f.element).name) +
         (f.accuracy == wf::accuracy::fast ? ", fast" : "");
}

inline std::vector<wf::state_form> all_forms() {
  std::vector<wf::state_form> forms;
  for (int k = 0; k < wf::op_count; ++k)
    for (std::size_t t = 0; t < wf::dtypes.size(); ++t)
      for (const auto a : {wf::accuracy::exact, wf::accuracy::fast})
        if (wf::find_builtin(static_cast<wf::op>(k), static_cast<wf::dtype>(t), a) != nullptr)
          forms.push_back(wf::form_of_states(static_cast<wf::op>(k), static_cast<wf::dtype>(t), a));
  return forms;
}

/// any: every pattern of bits, so NaNs and infinities too; finite: every finite one; alike: few different numbers; none: nothing
/// but -0, of integers 0; whole: small whole numbers, which native arithmetic adds and multiplies without rounding.
enum class family { any, finite, alike, none, whole };

inline bytes make_data(wf::dtype t, family which, std::int64_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::size_t part = wf::info(t).part, parts = static_cast<std::size_t>(n) * wf::info(t).size / part;
  bytes out(parts * part);
  const bool floats = !wf::is_integer(t);
  const auto put = [&](std::size_t k, const auto& x) { std::memcpy(out.data() + k * part, &x, part); };
  const auto put_number = [&](std::size_t k, double x) {
    if (t == wf::dtype::f16) put(k, wf::f16(x));
    else if (t == wf::dtype::bf16) put(k, wf::bf16(x));
    else if (part == 4 && floats) put(k, static_cast<float>(x));
    else if (floats) put(k, x);
    else put(k, static_cast<std::int64_t>(x));  // the low bytes
  };
  for (std::size_t k = 0; k < parts; ++k) {
    const std::uint64_t bits = random();
    switch (which) {
      case family::any: put(k, t == wf::dtype::boolean ? bits & 1 : bits); break;
      case family::finite: {
        const std::uint64_t exponent = t == wf::dtype::f16 ? 0x4000u : part == 2 ? 0x0080u : part == 4 ? 0x00800000u : std::uint64_t{1} << 52;
        put(k, t == wf::dtype::boolean ? bits & 1 : floats ? bits & ~exponent : bits);
        break;
      }
      case family::alike: put_number(k, t == wf::dtype::boolean ? static_cast<double>(bits & 1) : static_cast<double>(bits % 3)); break;
      case family::none: put_number(k, floats ? -0.0 : 0.0); break;
      case family::whole: put_number(k, static_cast<double>(t == wf::dtype::boolean ? 1 : 1 + bits % 2)); break;
    }
  }
  return out;
}

/// The state of x[from … from + n), whose indexes begin at `first`.
inline bytes state_of(const wf::state_form& f, const bytes& x, const bytes& y, std::int64_t from, std::int64_t n, std::int64_t first) {
  const auto size = static_cast<std::int64_t>(wf::info(f.element).size);
  bytes state(f.bytes);
  wf::request r;
  r.what = f.what;
  r.element = f.element;
  r.context.accuracy = f.accuracy;
  r.context.threads = 1;
  r.inputs.shape = {n};
  r.inputs.strides = {wf::extents{size}, wf::extents{size}};
  r.inputs.data = {x.data() + from * size, y.data() + from * size};
  r.first = first;
  r.wanted = wf::output::states;
  r.out = state.data();
  wf::cpu_backend().run(r);
  return state;
}
inline bytes state_of(const wf::state_form& f, const bytes& x, const bytes& y, std::int64_t from, std::int64_t n) {
  return state_of(f, x, y, from, n, from);
}

/// n + 1 places in [0, size], the first 0 and the last size; many pieces are empty.
inline std::vector<std::int64_t> random_split(std::int64_t size, int pieces, std::mt19937_64& random) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(pieces) + 1, size);
  at[0] = 0;
  for (int k = 1; k < pieces; ++k) at[static_cast<std::size_t>(k)] = random() % 4 == 0 ? at[static_cast<std::size_t>(k) - 1] : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size + 1));
  std::sort(at.begin() + 1, at.end());
  return at;
}
