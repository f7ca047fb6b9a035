// SPDX-License-Identifier: Apache-2.0
/// \file states_table.hpp
/// States of every operation: arrays cut at random, each piece reduced on the CPU or on a machine, or on a second one, the states merged in
/// random trees and taken out of one another again. The bytes are those of the whole array on the CPU.
#pragma once

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include <warpfold/backend.hpp>

#include "table.hpp"

struct states_of_type {
  const machine& m;
  const wf::device_place& place;
  wf::dtype t;
  std::vector<unsigned char> x, y;
  std::int64_t n;
  unsigned char *device_x, *device_y, *device_state;
  std::mt19937_64 random;

  static constexpr std::size_t room = 8192;

  static std::vector<unsigned char> made(wf::dtype type, const std::string& family, std::int64_t count, std::uint64_t seed) {
    const auto n = static_cast<std::uint64_t>(count);
    return family == in_any_order ? make_in_any_order(type, n, seed) : make_bytes(type, family, n, seed);
  }

  states_of_type(const machine& on, const wf::device_place& p, wf::dtype type, const std::string& family, std::int64_t count,
                 std::uint64_t seed)
      : m(on), place(p), t(type), x(made(type, family, count, seed)), y(made(type, family, count, seed + 1)), n(count),
        device_x(static_cast<unsigned char*>(on.allocate(x.size() + 1))), device_y(static_cast<unsigned char*>(on.allocate(y.size() + 1))),
        device_state(static_cast<unsigned char*>(on.allocate(room))), random(seed), family_(family), every_order_(family == in_any_order) {
    EXPECT_EQ(m.upload(device_x, x.data(), x.size()), "");
    EXPECT_EQ(m.upload(device_y, y.data(), y.size()), "");
  }
  ~states_of_type() {
    m.free(device_x);
    m.free(device_y);
    m.free(device_state);
  }
  states_of_type(const states_of_type&) = delete;

  wf::request request(const wf::state_form& f, const unsigned char* px, const unsigned char* py, std::int64_t from, std::int64_t count) {
    const auto size = static_cast<std::int64_t>(wf::info(t).size);
    wf::request r;
    r.what = f.what;
    r.element = t;
    r.context.accuracy = f.accuracy;
    r.inputs.shape = {count};
    r.inputs.strides = {wf::extents{size}, wf::extents{size}};
    r.inputs.data = {px + from * size, py + from * size};
    r.first = from;
    r.wanted = wf::output::states;
    return r;
  }
  std::vector<unsigned char> on_cpu(const wf::state_form& f, std::int64_t from, std::int64_t count) {
    std::vector<unsigned char> s(f.bytes);
    wf::request r = request(f, x.data(), y.data(), from, count);
    r.out = s.data();
    wf::cpu_backend().run(r);
    return s;
  }
  std::vector<unsigned char> on_machine(const wf::state_form& f, std::int64_t from, std::int64_t count) {
    std::vector<unsigned char> s(f.bytes);
    EXPECT_LE(f.bytes, room);
    wf::request r = request(f, device_x, device_y, from, count);
    r.out = device_state;
    place.run(r);
    EXPECT_EQ(m.download(s.data(), device_state, f.bytes), "");
    return s;
  }

  /// Some states on the machine, for a scope.
  struct held {
    const machine& m;
    unsigned char* at;
    std::size_t bytes;
    held(const machine& on, const std::vector<unsigned char>& states) : m(on), at(static_cast<unsigned char*>(on.allocate(states.size()))), bytes(states.size()) {
      EXPECT_EQ(m.upload(at, states.data(), bytes), "");
    }
    ~held() { m.free(at); }
    held(const held&) = delete;
    std::vector<unsigned char> back() const {
      std::vector<unsigned char> s(bytes);
      EXPECT_EQ(m.download(s.data(), at, bytes), "");
      return s;
    }
  };

  /// What the machine does with states is what the CPU does: two and two merged, taken out again, answered, cleared.
  void check_work(const wf::state_form& f, const std::vector<std::vector<unsigned char>>& pieces) {
    const std::int64_t pairs = static_cast<std::int64_t>(pieces.size() / 2);
    std::vector<unsigned char> first, second;
    for (std::int64_t k = 0; k < 2 * pairs; ++k) {
      auto& to = k % 2 == 0 ? first : second;
      to.insert(to.end(), pieces[static_cast<std::size_t>(k)].begin(), pieces[static_cast<std::size_t>(k)].end());
    }
    if (pairs == 0) return;
    const bool defined = f.canonical || every_order_;
    const held to(m, first), later(m, second);
    auto merged = first;
    wf::merge_states(f, merged.data(), second.data(), pairs);
    place.merge(f, to.at, later.at, pairs);
    EXPECT_EQ(to.back(), merged) << "states merged on the machine";
    EXPECT_EQ(later.back(), second);

    const auto size = wf::builtin(f.what, f.element, f.accuracy).result_size;
    for (const auto rounding : {wf::rounding::nearest, wf::rounding::down}) {
      wf::options told;
      told.rounding = rounding;
      told.correction = 1;
      const auto padded = std::vector<unsigned char>(size * static_cast<std::size_t>(pairs), 0x5a);
      auto want = padded;
      wf::finish_states(f, told, merged.data(), pairs, want.data());
      const held out(m, padded);
      place.finish(f, told, to.at, pairs, out.at);
      if (defined) {
        EXPECT_EQ(out.back(), want) << "answered on the machine";
      }
      EXPECT_EQ(to.back(), merged);
    }

    if (f.adds) {
      auto rest = merged;
      wf::unmerge_states(f, rest.data(), second.data(), pairs);
      place.unmerge(f, to.at, later.at, pairs);
      EXPECT_EQ(to.back(), rest) << "states taken out on the machine";
    } else {
      EXPECT_THROW(place.unmerge(f, to.at, later.at, pairs), wf::error);
    }
    auto nothing = first;
    wf::clear_states(f, nothing.data(), pairs);
    place.clear(f, to.at, pairs);
    EXPECT_EQ(to.back(), nothing) << "cleared on the machine";
  }

  void check(wf::op o, wf::accuracy a) {
    if (!place.takes(o, t, a, wf::partition::kinds::whole, wf::output::states)) return;
    const wf::state_form f = wf::form_of_states(o, t, a);
    const auto whole = on_cpu(f, 0, n);
    const auto same = [&](const std::vector<unsigned char>& s, const char* what) {
      for (std::size_t w = 0; w < f.bytes / 8; ++w) {
        std::uint64_t got = 0, want = 0;
        std::memcpy(&got, s.data() + 8 * w, 8);
        std::memcpy(&want, whole.data() + 8 * w, 8);
        if (got != want) {
          ADD_FAILURE() << what << ": word " << w << " of " << f.bytes / 8 << " is " << got << ", not " << want;
          return;
        }
      }
    };
    const bool defined = f.canonical || every_order_;
    if (defined) same(on_machine(f, 0, n), "the whole array on the machine");

    std::vector<std::vector<unsigned char>> pieces;
    for (std::int64_t at = 0; at < n || pieces.empty();) {
      const std::int64_t count = std::min<std::int64_t>(n - at, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n / 3 + 2)));
      const auto where = random() % (beside == nullptr ? 2 : 3);
      pieces.push_back(where == 1 ? on_cpu(f, at, count) : (where == 0 ? *this : *beside).on_machine(f, at, count));
      at += count;
    }
    check_work(f, pieces);
    const auto kept = pieces;
    while (pieces.size() > 1) {
      const std::size_t k = random() % (pieces.size() - 1);
      std::size_t other = k + 1;
      if (f.adds) {  // in any order, and by plain addition of the words now and then
        other = random() % pieces.size();
        if (other == k) continue;
        if (random() % 2 != 0) {
          for (std::size_t w = 0; w < f.bytes / 8; ++w) {
            std::uint64_t p = 0, q = 0;
            std::memcpy(&p, pieces[k].data() + 8 * w, 8);
            std::memcpy(&q, pieces[other].data() + 8 * w, 8);
            p += q;
            std::memcpy(pieces[k].data() + 8 * w, &p, 8);
          }
          std::vector<unsigned char> nothing(f.bytes);
          wf::clear_states(f, nothing.data(), 1);
          wf::merge_states(f, pieces[k].data(), nothing.data(), 1);
          pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(other));
          continue;
        }
      }
      wf::merge_states(f, pieces[k].data(), pieces[other].data(), 1);
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(other));
    }
    if (defined) same(pieces[0], "the pieces' states, merged");

    // The answer of the states is that of the elements.
    wf::options told;
    told.correction = 1;
    const auto size = static_cast<std::size_t>(wf::builtin(o, t, a).result_size);
    std::vector<unsigned char> got(size), want(size);
    wf::finish_states(f, told, pieces[0].data(), 1, got.data());
    wf::request r = request(f, x.data(), y.data(), 0, n);
    r.options = told;
    r.wanted = wf::output::answers;
    r.out = want.data();
    wf::cpu_backend().run(r);
    if (!is_native(o, t, a) || every_order_) {
      EXPECT_EQ(got, want) << "the answer of the merged states";
    } else if (o == wf::op::logsumexp && (wf::is_integer(t) || family_ == "normal" || family_ == "one_nan")) {
      EXPECT_EQ(native_fault(o, t, family_, {x.data(), n, 1}, {y.data(), n, 1}, want, got), "") << "the answer of the merged states";
    }

    if (!f.adds || kept.size() < 2) return;
    // All but one piece, taken out one after the other.
    auto rest = whole;
    const std::size_t stays = random() % kept.size();
    for (std::size_t k = 0; k < kept.size(); ++k)
      if (k != stays) wf::unmerge_states(f, rest.data(), kept[k].data(), 1);
    auto alone = kept[stays];
    const auto counters_of_minus_zero = [&](std::vector<unsigned char>& s) {  // lost where not all elements were -0
      if (family_ == "zeros") std::fill(s.begin() + 8, s.end(), 0);
    };
    counters_of_minus_zero(rest);
    counters_of_minus_zero(alone);
    EXPECT_EQ(rest, alone) << "what is left after all other pieces were taken out";
  }
  states_of_type* beside = nullptr;  ///< the same elements on another machine
  std::string family_;
  bool every_order_;  ///< every order of the elements gives the same bits
};

/// For all operations, unless some are named. Pieces go to the CPU, the first machine and, where there is one, the second.
inline void check_states(const machine& m, const wf::device_place& place, wf::dtype t, const std::string& family, std::int64_t n,
                         std::uint64_t seed, const std::vector<wf::op>& some = {}, const machine* second = nullptr, const wf::device_place* there = nullptr) {
  states_of_type s(m, place, t, family, n, seed);
  std::optional<states_of_type> other;
  if (second != nullptr) s.beside = &other.emplace(*second, *there, t, family, n, seed);
  for (int k = 0; k < wf::op_count; ++k) {
    if (!some.empty() && std::find(some.begin(), some.end(), static_cast<wf::op>(k)) == some.end()) continue;
    for (const auto a : {wf::accuracy::exact, wf::accuracy::fast}) {
      SCOPED_TRACE("states: " + name_of(static_cast<wf::op>(k), t, a, family, {n, 0, 1}));
      s.check(static_cast<wf::op>(k), a);
    }
  }
}
