// SPDX-License-Identifier: Apache-2.0
#include "entries.hpp"
#include "promises.hpp"

#include <warpfold/exact_moments.hpp>

#include <cmath>
#include <optional>
#include <vector>

namespace {

using fuzz::require;
using bytes = std::span<const std::byte>;

constexpr wf::rounding modes[] = {wf::rounding::nearest, wf::rounding::zero, wf::rounding::away, wf::rounding::up,
                                  wf::rounding::down};

bool same(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0 || (a == 0 && b == 0); }

/// One true value in every mode: within its neighbours down and up.
template <class U, class Value>
void check_modes(Value value) {
  const auto of = [&](wf::rounding m) { return static_cast<double>(static_cast<float>(U(value(m)))); };
  if constexpr (std::is_same_v<U, double>) {
    const double down = value(wf::rounding::down), up = value(wf::rounding::up);
    for (const wf::rounding m : modes) {
      const double x = value(m);
      require(std::isnan(x) ? std::isnan(down) && std::isnan(up) : down <= x && x <= up, "a value beyond its neighbours");
    }
    require(!(down < up) || std::nextafter(down, up) == up, "down and up are no neighbours");
  } else {
    for (const wf::rounding m : modes) (void)of(m);
  }
}

void check_values(const wf::exact_sum& s) {
  check_modes<double>([&](wf::rounding m) { return s.value(m); });
  check_modes<wf::f16>([&](wf::rounding m) { return s.value<wf::f16>(m); });
  check_modes<wf::bf16>([&](wf::rounding m) { return s.value<wf::bf16>(m); });
  check_modes<float>([&](wf::rounding m) { return s.value<float>(m); });
  check_modes<double>([&](wf::rounding m) { return s.mean(m); });
  const auto pair = s.value_pair();
  require(std::isnan(pair.hi) || same(pair.hi, s.value()), "the pair begins with another value");
}
void check_values(const wf::exact_moments& s) {
  check_modes<double>([&](wf::rounding m) { return s.sum(m); });
  check_modes<double>([&](wf::rounding m) { return s.mean(m); });
  check_modes<double>([&](wf::rounding m) { return s.norm(m); });
  check_modes<double>([&](wf::rounding m) { return s.sum_of_squares(m); });
  check_modes<float>([&](wf::rounding m) { return s.var<float>(0, m); });
  for (const std::int64_t correction : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, s.count(), INT64_MAX, INT64_MIN}) {
    const double var = s.var(correction), std = s.std_dev(correction);
    require(std::isnan(var) ? std::isnan(std) : var >= 0 && std >= 0, "a variance below 0");
    check_modes<double>([&](wf::rounding m) { return s.var(correction, m); });
  }
}
void check_values(const wf::exact_dot& s) {
  check_modes<double>([&](wf::rounding m) { return s.value(m); });
  check_modes<float>([&](wf::rounding m) { return s.value<float>(m); });
  (void)s.value_pair();
}

template <class State>
std::optional<State> read(bytes stored) {
  try {
    const State s = State::from_bytes(stored);
    const auto again = s.to_bytes();
    require(std::equal(again.begin(), again.end(), stored.begin(), stored.end()), "accepted, and written back otherwise");
    return s;
  } catch (const wf::error& e) {
    require(e.code() == wf::errc::bad_input || e.code() == wf::errc::unsupported, "an error of another code");
    fuzz::require_one_line(e.what());
    return std::nullopt;
  }
}

template <class State>
State merged(State a, const State& b) {
  a.merge(b);
  return a;
}

/// Two states that were accepted.
template <class State>
void check_pair(const State& a, const State& b) {
  check_values(a);
  require(merged(a, State()) == a && merged(State(), a) == a, "merging nothing changes a state");
  const bool fits = a.count() <= INT64_MAX - b.count();
  try {
    const State ab = merged(a, b), ba = merged(b, a);
    require(fits, "more elements than a state counts");
    require(ab == ba && ab.to_bytes() == ba.to_bytes() && ab.hash() == ba.hash(), "merging depends on the order");
    require(ab.count() == a.count() + b.count(), "merging loses elements");
    require(read<State>(ab.to_bytes()).has_value(), "a merged state is not read back");
    check_values(ab);
  } catch (const wf::error& e) {
    require(!fits && e.code() == wf::errc::capacity, "merging is refused");
  }
  // As often as the count allows: digits must not run over, nor need to be carried in between.
  State sum = a;
  for (int k = 0; k < 64 && sum.count() <= INT64_MAX / 2; ++k) sum.merge(State(sum));
  require(read<State>(sum.to_bytes()).has_value(), "a state that was doubled is not read back");
  check_values(sum);
}

void put(std::byte* at, std::uint64_t value, int size) {
  for (int k = 0; k < size; ++k) at[k] = static_cast<std::byte>(value >> (8 * k));
}

/// The form of serial.hpp around digits and counters from `content`: fuzzers find no checksums.
void make_right(std::span<std::byte> one, int digits, int min_exponent) {
  std::memcpy(one.data(), "WFXS", 4);
  put(&one[4], 1, 2);
  put(&one[6], static_cast<std::uint64_t>(digits), 2);
  put(&one[8], static_cast<std::uint32_t>(min_exponent), 4);
  put(&one[one.size() - 4], wf::exact::crc32(one.first(one.size() - 4)), 4);
}

/// The bytes as they are.
template <class State>
void check_stored(bytes content) {
  if (const auto s = read<State>(content)) check_pair(*s, *s);
}

/// Two states that the bytes write.
template <class State>
void check_drawn(bytes content) {
  constexpr std::size_t size = State::byte_size, sum_size = wf::exact_sum::byte_size;
  // Digits and counters are written by a small language, for random digits are never plausible.
  fuzz::taker in(content);
  const auto drawn = [&] {
    std::vector<std::byte> all(size);
    const auto draw_part = [&](std::span<std::byte> one, int digits, const std::byte* counters) {
      std::uint32_t fill = (in.byte() & 1) != 0 ? 0xffffffffu : 0;
      const unsigned words = in.byte() % 16u;
      for (int k = 0; k < digits; ++k) put(&one[12 + 4 * static_cast<std::size_t>(k)], 0, 4);
      unsigned at = in.byte() % static_cast<unsigned>(digits);
      for (unsigned k = 0; k < words && at < static_cast<unsigned>(digits); ++k, ++at)
        put(&one[12 + 4 * at], in.take<std::uint32_t>(), 4);
      if (fill != 0)
        for (; at < static_cast<unsigned>(digits); ++at) put(&one[12 + 4 * at], fill, 4);
      std::byte* const to = &one[12 + 4 * static_cast<std::size_t>(digits)];
      if (counters != nullptr) {
        std::memcpy(to, counters, 40);
        return;
      }
      const std::int64_t count = in.number();
      std::int64_t values[5] = {count, 0, 0, 0, 0};
      if ((in.byte() & 3) == 0)
        for (int k = 1; k < 5; ++k) values[k] = (in.byte() & 1) != 0 ? in.number() : (in.byte() & 1) != 0 ? count : 0;
      for (int k = 0; k < 5; ++k) put(to + 8 * k, static_cast<std::uint64_t>(values[k]), 8);
    };
    if constexpr (std::is_same_v<State, wf::exact_moments>) {
      const std::span<std::byte> first(all.data(), sum_size), second(all.data() + sum_size, size - sum_size);
      draw_part(first, 68, nullptr);
      // The counters of the squares follow from those of the sum, if they are to be accepted.
      std::int64_t c[5];
      std::memcpy(c, &first[12 + 4 * 68], sizeof c);
      const std::int64_t of_squares[5] = {c[0], c[1], static_cast<std::int64_t>(static_cast<std::uint64_t>(c[2]) + static_cast<std::uint64_t>(c[3])), 0, 0};
      const bool follow = (in.byte() & 7) != 0;
      draw_part(second, 134, follow ? reinterpret_cast<const std::byte*>(of_squares) : nullptr);
      make_right(first, 68, -1074);
      make_right(second, 134, -2148);
    } else if constexpr (std::is_same_v<State, wf::exact_sum>) {
      draw_part(all, 68, nullptr);
      make_right(all, 68, -1074);
    } else {
      draw_part(all, 134, nullptr);
      make_right(all, 134, -2148);
    }
    return read<State>(all);
  };
  const auto a = drawn();
  const auto b = drawn();
  if (a) check_pair(*a, b ? *b : *a);
}

}  // namespace

void check_state(bytes content) {
  check_stored<wf::exact_sum>(content);
  check_stored<wf::exact_moments>(content);
  check_stored<wf::exact_dot>(content);
  if (content.empty()) return;
  const bytes rest = content.subspan(1);
  switch (std::to_integer<int>(content[0]) % 3) {
    case 0: check_drawn<wf::exact_sum>(rest); break;
    case 1: check_drawn<wf::exact_moments>(rest); break;
    default: check_drawn<wf::exact_dot>(rest);
  }
}
