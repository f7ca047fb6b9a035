// SPDX-License-Identifier: Apache-2.0
// Answers by proof (src/cpu/prove.hpp): whatever is said to be certain must be what exact states say, and of ordinary data nothing
// may be uncertain. Here against the reductions' own states, which no proof touches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <warpfold/exact_sum.hpp>

#include "../../src/cpu/columns.hpp"
#include "../../src/cpu/prove.hpp"
#include "../../src/library/adapted.hpp"
#include "../support/effort.hpp"
#include "targets.hpp"
#include "typeless.hpp"

namespace wf::test {
namespace {

constexpr dtype proved_types[] = {dtype::f16, dtype::bf16, dtype::f32, dtype::f64, dtype::c64, dtype::c128};
constexpr rounding modes[] = {rounding::nearest, rounding::zero, rounding::away, rounding::up, rounding::down};

bool is_proved(op o, dtype t) {
  const cpu::erased* r = find_builtin(o, t, accuracy::exact);
  return r != nullptr && r->proves != nullptr;
}

/// An answer; or the state as it is told outside, if `told` are the functions that tell it.
std::vector<std::byte> by_states(op o, const numbers& x, const numbers& y, const options& with, const library::adapted* told = nullptr) {
  const cpu::erased& r = builtin(o, x.type, accuracy::exact);
  std::vector<std::byte> memory(r.state_size + 64), out(told != nullptr ? told->functions().result_size : r.result_size);
  void* state = memory.data();
  std::size_t space = memory.size();
  std::align(64, r.state_size, state, space);
  r.identity(&with, state);
  const void* at[] = {x.bytes.data(), y.bytes.data()};
  r.accumulate(&with, state, at, x.size(), 0);
  if (told != nullptr) told->functions().finish(told->self(), state, x.size(), out.data());
  else r.finish(&with, state, x.size(), out.data());
  return out;
}

/// Was it certain? If so, it must be right.
bool certain(op o, const numbers& x, const numbers& y, const options& with, const std::vector<std::byte>& want) {
  const cpu::erased& r = builtin(o, x.type, accuracy::exact);
  std::vector<std::byte> out(r.result_size);
  const void* at[] = {x.bytes.data(), y.bytes.data()};
  if (!cpu::prove(r, &with, at, x.size(), {}, out.data())) return false;
  EXPECT_EQ(out, want) << properties_of(o).name << " of " << x.size() << " " << name(x.type) << ", rounding " << static_cast<int>(with.rounding);
  return true;
}

class proofs : public testing::TestWithParam<dtype> {};
INSTANTIATE_TEST_SUITE_P(of, proofs, testing::ValuesIn(proved_types), [](const auto& p) { return name(p.param); });

TEST_P(proofs, are_of_the_true_answer) {
  const dtype type = GetParam();
  generator random(seed());
  int asked = 0;
  static some_of_all chosen;
  for (const family k : all_families) {
    for (const int n : {1, 2, 3, 7, 31, 33, 63, 65, 127, 130, 1000, 2047, 2049, 4095, 4097, 8193, 20011}) {
      if (n >= 1000 && !chosen()) continue;
      const numbers x = make(type, k, n, random), y = make(type, n % 2 == 0 ? k : family::normal, n, random);
      for (const rounding mode : modes) {
        if (mode != rounding::nearest && n % 7 > 2) continue;
        const options with{mode, n > 1 ? 1 : 0};
        for (const op o : exact_ops) {
          if (!is_proved(o, type)) continue;
          const auto want = by_states(o, x, y, with);
          for_each_target([&] { asked += static_cast<int>(certain(o, x, y, with, want)); });
        }
      }
      ASSERT_FALSE(HasFailure()) << name(k) << ", n = " << n;
    }
  }
  EXPECT_GT(asked, 1000);
}

numbers real_numbers(dtype type, std::int64_t n, generator& random, int kind) {
  numbers x{type, std::vector<std::byte>(static_cast<std::size_t>(n) * info(type).size)};
  const dtype part = part_of(type);
  std::normal_distribution<double> gauss;
  const std::int64_t parts = type == part ? n : 2 * n;
  for (std::int64_t i = 0; i < parts; ++i) {
    const auto whole = static_cast<double>(random() % 2001);
    const double v = kind == 0 ? gauss(random) : kind == 1 ? static_cast<double>(random() >> 11) * 0x1p-53 : kind == 2 ? whole - 1000
                     : kind == 3 ? (whole + 1) / 100 : std::round(whole - 1000) / 8192;
    with_float(part, [&]<class T>() {
      const T as = static_cast<T>(v);
      std::memcpy(x.bytes.data() + static_cast<std::size_t>(i) * sizeof as, &as, sizeof as);
    });
  }
  return x;
}

/// Is one of an answer's numbers, of `size` bytes each, zero?
bool has_zero(const std::vector<std::byte>& answer, std::size_t size) {
  static constexpr std::byte zeros[8] = {};
  for (std::size_t i = 0; i < answer.size(); i += size)
    if (std::memcmp(&answer[i], zeros, size) == 0) return true;
  return false;
}

// Normal and uniform numbers, integers, prices, measurements of few digits: all of them are certain, ties too.
TEST_P(proofs, are_found_for_ordinary_data) {
  const dtype type = GetParam();
  generator random(seed() + 1);
  for (const auto& each : {std::pair{10, 60}, std::pair{1000, 20}, std::pair{150'000, 1}}) {
    const int n = each.first, times = trials(each.second);  // clang++ 14 captures no structured bindings
    for (int kind = 0; kind < 5; ++kind) {
      for (int k = 0; k < times; ++k) {
        const numbers x = real_numbers(type, n, random, kind), y = real_numbers(type, n, random, kind);
        const options with{rounding::nearest, 1};
        for (const op o : exact_ops) {
          if (!is_proved(o, type)) continue;
          const auto want = by_states(o, x, y, with);
          if (has_zero(want, info(type).part)) continue;  // what was added cancelled, which wants another look: one sum of ten integers in five thousand
          for_each_target([&] {
            if (cpu::active_target() == cpu::target::scalar && o == op::dot && n == 10) return;
            EXPECT_TRUE(certain(o, x, y, with, want)) << properties_of(o).name << ", n = " << n << ", kind " << kind;
          });
        }
        ASSERT_FALSE(HasFailure());
      }
    }
  }
}

// Numbers far apart whose sum is half-way between two of T, or off that by ever less: from a quarter of a unit in the last place down to
// nothing. What is uncertain may be told so.
template <class T>
void check_ties(dtype type) {
  generator random(seed() + 2);
  const int least = sizeof(T) == 8 ? -1074 : -149;
  int certain_ones = 0, cases = 0;
  for (int trial = 0; trial < trials(60); ++trial) {
    for (const int n : {2, 20, 700, 5000}) {
      std::vector<T> x;
      exact_sum s;
      const int spread = trial % 3 == 0 ? 4 : trial % 3 == 1 ? 40 : 90;
      const auto push = [&](T v) {
        x.push_back(v);
        s.add(v);
      };
      for (int i = 0; i < n; ++i)
        push(static_cast<T>(std::ldexp(static_cast<double>(random() >> 11) * 0x1p-53 - 0.5, static_cast<int>(random() % static_cast<unsigned>(spread)))));
      // To a number of T and half a unit in its last place.
      const T middle = s.value<T>(), next = std::nextafter(middle, static_cast<T>(INFINITY));
      exact_sum rest = s;
      rest.add(-static_cast<double>(middle));
      rest.add(-(static_cast<double>(next) - static_cast<double>(middle)) / 2);
      for (int k = 0; k < 200; ++k) {
        const T v = static_cast<T>(-rest.value());
        if (v == 0) break;
        push(v);
        rest.add(v);
      }
      const auto units = static_cast<int>(std::ilogb(static_cast<double>(next) - static_cast<double>(middle)));
      for (int distance = 2; distance < 140; distance = distance * 5 / 4 + 1) {
        for (const int sign : {-1, 0, 1}) {
          if (units - distance < least) continue;
          std::vector<T> all = x;
          all.push_back(static_cast<T>(std::ldexp(sign, units - distance)));
          std::shuffle(all.begin(), all.end(), random);
          numbers given{type, std::vector<std::byte>(all.size() * sizeof(T))};
          std::memcpy(given.bytes.data(), all.data(), given.bytes.size());
          const options with{};
          const auto want = by_states(op::sum, given, given, with);
          for_each_target([&] {
            ++cases;
            certain_ones += static_cast<int>(certain(op::sum, given, given, with, want));
          });
          ASSERT_FALSE(testing::Test::HasFailure()) << "n = " << n << ", distance 2^-" << distance << " units, sign " << sign;
        }
      }
    }
  }
  EXPECT_GT(certain_ones, cases / 10);
  EXPECT_LT(certain_ones, cases);
}

/// Columns side by side are added a row at a time, rows without gaps some at a time: each is what its states say, whatever lies beside it. Of ordinary data no
/// state has any element.
int accumulated = 0;
void check_columns_of(const std::vector<numbers>& each, const std::vector<op>& operations, bool ordinary) {
  const dtype type = each[0].type;
  const std::int64_t rows = each[0].size(), columns = static_cast<std::int64_t>(each.size());
  const std::size_t size = info(type).size;
  const std::int64_t element = static_cast<std::int64_t>(size), row = rows + rows % 3;  // for the other layout, with gaps between rows
  numbers all{type, std::vector<std::byte>(static_cast<std::size_t>(rows * columns) * size)};
  std::vector<std::byte> turned(static_cast<std::size_t>(row * columns) * size);
  for (std::int64_t k = 0; k < columns; ++k)
    for (std::int64_t i = 0; i < rows; ++i) {
      std::memcpy(all.bytes.data() + static_cast<std::size_t>(i * columns + k) * size, each[static_cast<std::size_t>(k)].at(i), size);
      std::memcpy(turned.data() + static_cast<std::size_t>(k * row + i) * size, each[static_cast<std::size_t>(k)].at(i), size);
    }
  const int first[] = {0};
  cpu::operands x, of_rows;
  x.shape = of_rows.shape = {rows, columns};
  x.strides[0] = {columns * element, element};
  x.data[0] = all.bytes.data();
  of_rows.strides[0] = {element, row * element};
  of_rows.data[0] = turned.data();
  for (const op o : operations) {
    const cpu::erased* const r = find_builtin(o, type, accuracy::exact);
    for (const rounding mode : modes) {
      if (mode != rounding::nearest && (ordinary || r->columns == nullptr)) continue;
      const options with{mode, o == op::std_dev && rows > 1 ? 1 : 0};
      cpu::erased counted = *r;
      static const cpu::erased* theirs;
      theirs = r;
      counted.accumulate = [](const void* self, void* s, const void* const* at, std::int64_t n, std::int64_t i) {
        ++accumulated;
        theirs->accumulate(self, s, at, n, i);
      };
      std::vector<std::byte> out(static_cast<std::size_t>(columns) * r->result_size);
      std::vector<std::vector<std::byte>> wanted;
      for (const numbers& column : each) wanted.push_back(by_states(o, column, column, with));
      for_each_target([&] {
        context c;
        c.threads = 1;  // for the count
        accumulated = 0;
        std::ranges::fill(out, std::byte{0x5a});
        cpu::reduce_axes(counted, &with, of_rows, first, c, out.data());
        for (std::int64_t k = 0; k < columns; ++k) {
          const auto& want = wanted[static_cast<std::size_t>(k)];
          ASSERT_EQ(std::memcmp(out.data() + static_cast<std::size_t>(k) * r->result_size, want.data(), want.size()), 0)
              << properties_of(o).name << " of row " << k << " of " << columns << ", " << rows << " " << name(type) << " each, rounding " << static_cast<int>(mode);
        }
        accumulated = 0;
        std::ranges::fill(out, std::byte{0x5a});
        cpu::reduce_axes(counted, &with, x, first, c, out.data());
        if (ordinary && (r->columns != nullptr || r->proves != nullptr)) {
          EXPECT_EQ(accumulated, 0) << properties_of(o).name << " of " << name(type);
        }
        for (std::int64_t k = 0; k < columns; ++k) {
          const auto& want = wanted[static_cast<std::size_t>(k)];
          ASSERT_EQ(std::memcmp(out.data() + static_cast<std::size_t>(k) * r->result_size, want.data(), want.size()), 0)
              << properties_of(o).name << " of column " << k << " of " << columns << ", " << rows << " rows of " << name(type) << ", rounding " << static_cast<int>(mode);
        }
      });
      if (mode != rounding::nearest || r->columns == nullptr || r->columns->states == nullptr) continue;
      const library::adapted told(counted, &with, {type, {}, 0, true, nullptr});
      const std::size_t bytes = library::told_bytes(*r);
      std::vector<std::byte> states(static_cast<std::size_t>(columns) * bytes);
      std::vector<std::vector<std::byte>> wanted_states;
      for (const numbers& column : each) wanted_states.push_back(by_states(o, column, column, with, &told));
      for_each_target([&] {
        context c;
        c.threads = 1;
        accumulated = 0;
        cpu::reduce_axes(told.functions(), told.self(), x, first, c, states.data());
        if (ordinary && (type == dtype::f32 || (type == dtype::f64 && rows <= 10))) {
          EXPECT_EQ(accumulated, 0) << "states of " << properties_of(o).name << " of " << rows << " rows";
        }
        for (std::int64_t k = 0; k < columns; ++k) {
          ASSERT_EQ(std::memcmp(states.data() + static_cast<std::size_t>(k) * bytes, wanted_states[static_cast<std::size_t>(k)].data(), bytes), 0)
              << "the state of " << properties_of(o).name << " of column " << k << " of " << columns << ", " << rows << " rows of " << name(type);
        }
      });
    }
  }
}
void check_columns(dtype type, std::int64_t rows, std::int64_t columns, generator& random, bool ordinary) {
  const std::size_t size = info(type).size;
  std::vector<numbers> each;
  for (std::int64_t k = 0; k < columns; ++k) {
    if (ordinary) {
      each.push_back(make(type, family::normal, static_cast<int>(rows), random));
    } else if (k % 5 != 4) {
      each.push_back(make(type, all_families[random() % std::size(all_families)], static_cast<int>(rows), random));
    } else {
      // A tie, or a number that lies the least bit beside it.
      each.push_back(make(type, family::normal, static_cast<int>(rows), random));
      with_float(type, [&]<class T>() {
        const double unit = std::ldexp(1, type == dtype::f16 ? -10 : type == dtype::bf16 ? -7 : type == dtype::f32 ? -23 : -52), beside = random() % 3 == 0 ? 0 : std::ldexp(random() % 2 == 0 ? 1 : -1, -static_cast<int>(random() % 90) - 60);
        const double values[] = {1, unit / 2, beside};
        for (std::int64_t i = 0; i < rows; ++i) {
          const T v = static_cast<T>(i < 3 ? values[i] : 0);
          std::memcpy(each.back().bytes.data() + static_cast<std::size_t>(i) * size, &v, size);
        }
      });
    }
  }
  check_columns_of(each, {op::sum, op::mean, op::norm1, op::sum_of_squares, op::norm2, op::var, op::std_dev, op::mean_var, op::min, op::max, op::minmax, op::norm_inf}, ordinary);
}
TEST_P(proofs, of_columns) {
  const dtype type = GetParam();
  if (part_of(type) != type) return;  // columns of complex numbers have states
  generator random(seed());
  some_of_all chosen;
  for (const int rows : {2, 3, 5, 100, 1023, 1025})
    for (const int columns : {1, 3, 16, 33, 530}) {
      if (!chosen()) continue;
      check_columns(type, rows, rows > 100 ? std::min(columns, 40) : columns, random, false);
    }
  check_columns(type, 150000, 3, random, false);
  // The same numbers in every draw: in some draws a variance of two f16 is a tie, or an f32 lies so far below all others that a sum needs more than a double.
  generator same(20240229);
  for (const int rows : {2, 10, 1000, 2000}) check_columns(type, rows, 37, same, true);
}

// Integers, whose sums wrap, and the least and greatest of them; means and the like are of doubles.
TEST(columns, of_integers) {
  generator random(seed());
  some_of_all chosen;
  for (const dtype type : {dtype::i8, dtype::i16, dtype::i32, dtype::i64, dtype::u8, dtype::u16, dtype::u32, dtype::u64, dtype::boolean})
    for (const int rows : {2, 17, 100, 1025})
      for (const int columns : {1, 3, 33, rows < 100 ? 4200 : 70})
        for (const bool small : {false, true}) {
          if (columns == 4200 && (small || effort() < 0.5)) continue;
          if (columns > 3 && !chosen()) continue;
          std::vector<numbers> each;
          for (int k = 0; k < columns; ++k) {
            each.push_back(random_elements(type, rows, random, small ? 1 : 0));
            // One number has no spread.
            if (k % 4 == 3)
              for (int i = 1; i < rows; ++i) std::memcpy(each.back().bytes.data() + static_cast<std::size_t>(i) * info(type).size, each.back().at(0), info(type).size);
          }
          std::vector<op> asked{op::sum, op::mean, op::norm1, op::norm2, op::min, op::max, op::minmax, op::norm_inf};
          if (type != dtype::boolean) asked.insert(asked.end(), {op::var, op::std_dev, op::mean_var, op::sum_of_squares});
          check_columns_of(each, asked, false);
          if (testing::Test::HasFailure()) return;
        }
}

// Chunks of rows, and narrow rows that are read some at a time.
TEST(columns, of_many_rows) {
  generator random(seed() + 1);
  some_of_all chosen;
  for (const dtype type : {dtype::f32, dtype::f64, dtype::i8, dtype::u64})
    for (const int columns : {1, 2, 5}) {
      if (!chosen()) continue;
      std::vector<numbers> each;
      for (int k = 0; k < columns; ++k)
        each.push_back(type == dtype::f32 || type == dtype::f64 ? make(type, family::normal, 140'003, random) : random_elements(type, 140'003, random));
      check_columns_of(each, {op::sum, op::mean, op::norm2, op::mean_var, op::max, op::minmax}, false);
    }
}

// Terms that grow and fall beyond what the first ones promise, by a little and by much, of both signs; specials that come late; nothing but zeros.
TEST(columns, of_terms_that_grow) {
  generator random(seed() + 2);
  for (const dtype type : {dtype::f32, dtype::f64})
    with_float(type, [&]<class T>() {
      if constexpr (!std::is_same_v<T, float> && !std::is_same_v<T, double>) return;
      else for (const int rows : {32, 67, 100, 1024, 1100, 2100}) {
        if (rows > 200 && effort() < 1) continue;
        std::vector<numbers> each;
        for (int k = 0; k < 41; ++k) {
          numbers x{type, std::vector<std::byte>(static_cast<std::size_t>(rows) * sizeof(T))};
          const int from = static_cast<int>(random() % static_cast<unsigned>(rows)), by = static_cast<int>(random() % 40) - 6;
          const T sign = random() % 2 == 0 ? T{1} : T{-1};
          for (int i = 0; i < rows; ++i) {
            T v = std::ldexp(static_cast<T>(1 + static_cast<double>(random() >> 11) * 0x1p-53), i >= from ? by : 0) * (random() % 4 == 0 ? -sign : sign);
            if (k % 8 == 5) v = i == from ? v : random() % 2 == 0 ? T{0} : -T{0};
            if (k % 8 == 6) v = k == 6 && i == from ? T{0} : -T{0};
            if (k % 8 == 7 && i == from) v = k == 7 ? std::numeric_limits<T>::infinity() : k == 15 ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::max() * sign;
            std::memcpy(x.bytes.data() + static_cast<std::size_t>(i) * sizeof v, &v, sizeof v);
          }
          each.push_back(x);
        }
        check_columns_of(each, {op::sum, op::mean, op::norm1}, false);
        if (testing::Test::HasFailure()) return;
      }
    });
}

// Columns of one kind, whose sums are told at once if those of all are certain: zeros of either sign, sums that cancel, ties, terms that outgrow the first ones,
// specials in the first row or the last.
TEST(columns, of_one_kind) {
  generator random(seed() + 3);
  enum kind { normal, negative_zeros, mostly_negative_zeros, cancelled, ties, grown, grown_and_back, infinite, nan, greatest, subnormal, kinds };
  for (const dtype type : {dtype::f32, dtype::f64})
    with_float(type, [&]<class T>() {
      if constexpr (!std::is_same_v<T, float> && !std::is_same_v<T, double>) return;
      else for (const int rows : {2, 16, 17, 33, 100, 1000})
        for (const int columns : {3, 17, 40, 530}) {
          if (rows * columns > 20000) continue;
          for (int k = 0; k < kinds; ++k) {
            if (rows * columns > 3000 && effort() < 1 && k != normal && k != grown) continue;
            std::vector<numbers> each;
            for (int column = 0; column < columns; ++column) {
              numbers x = make(type, family::normal, rows, random);
              for (int i = 0; i < rows; ++i) {
                auto* const at = x.bytes.data() + static_cast<std::size_t>(i) * sizeof(T);
                T v;
                std::memcpy(&v, at, sizeof v);
                const bool last = i == rows - 1, first = i == 0;
                const T limit = std::numeric_limits<T>::max();
                switch (k) {
                  case negative_zeros: v = -T{0}; break;
                  case mostly_negative_zeros: v = i == column % rows ? T{0} : -T{0}; break;
                  case cancelled: v = i % 2 == 0 ? (last ? T{0} : v) : -static_cast<T>(number(x, i - 1)); break;
                  case ties: v = first ? T{1} : i == 1 ? std::numeric_limits<T>::epsilon() / 2 : last && column % 3 == 0 ? std::numeric_limits<T>::min() : T{0}; break;
                  case grown: v = std::ldexp(v, i >= 16 ? column % 60 : 0); break;
                  case grown_and_back: v = i == 20 ? T{0x1p60} : i == 21 ? -T{0x1p60} : v; break;
                  case infinite: v = (column % 2 == 0 ? first : last) ? std::numeric_limits<T>::infinity() : v; break;
                  case nan: v = (column % 2 == 0 ? first : last) ? std::numeric_limits<T>::quiet_NaN() : v; break;
                  case greatest: v = i % 3 == 2 ? -limit : limit; break;
                  case subnormal: v = std::numeric_limits<T>::denorm_min() * static_cast<T>(static_cast<int>(random() % 100) - 50); break;
                  default: break;
                }
                std::memcpy(at, &v, sizeof v);
              }
              each.push_back(x);
            }
            check_columns_of(each, {op::sum}, false);
            ASSERT_FALSE(testing::Test::HasFailure()) << "kind " << k << ", " << rows << " rows";
          }
        }
    });
}

// Sums that are read as four runs beside each other: what is special, and what outgrows the rest, in each of them and behind them.
TEST(proofs_of_extremes, in_four_runs) {
  generator random(seed() + 4);
  for (const int n : {16384, 16385, 20011, 40000}) {
    const int run = n / 4;
    for (int k = 0; k < 5; ++k) {
      const int place = std::min(n - 1, k * run + 37);
      for (const double v : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), 0x1p40, -0x1p300, 0x1p1023, 0x1p-1074}) {
        for (const bool zeros : {false, true}) {
          numbers x = make(dtype::f64, family::normal, n, random);
          const auto put = [&](int i, double value) { std::memcpy(x.bytes.data() + static_cast<std::size_t>(i) * 8, &value, 8); };
          for (int i = 0; zeros && i < n; ++i) put(i, -0.0);
          put(place, v);
          if (k == 1) put(n - 1, -v);
          for (const op o : {op::sum, op::norm1}) {
            const options with{rounding::nearest, 0};
            const auto want = by_states(o, x, x, with);
            for_each_target([&] { certain(o, x, x, with, want); });
          }
        }
      }
    }
    ASSERT_FALSE(testing::Test::HasFailure()) << n;
  }
}

// Sums begin at whole cache lines: real and imaginary parts, which are told by their places, stay what they are, wherever an array begins.
TEST(proofs_of_extremes, at_any_address) {
  generator random(seed() + 5);
  for (const dtype type : {dtype::f64, dtype::c128})
    for (const int n : {300, 600, 20011}) {
      const numbers x = make(type, family::normal, n, random);
      for (const op o : {op::sum, op::mean}) {
        const options with{rounding::nearest, 0};
        const auto want = by_states(o, x, x, with);
        for (std::size_t by = 0; by < 128; by += by < 24 ? 4 : 8) {
          std::vector<std::byte> memory(x.bytes.size() + 128);
          std::memcpy(memory.data() + by, x.bytes.data(), x.bytes.size());
          const void* at[] = {memory.data() + by, nullptr};
          for_each_target([&] {
            std::vector<std::byte> out(want.size());
            ASSERT_TRUE(cpu::prove(builtin(o, type, accuracy::exact), &with, at, n, {}, out.data()));
            ASSERT_EQ(out, want) << properties_of(o).name << " of " << n << " " << name(type) << ", " << by << " bytes further";
          });
        }
      }
    }
}

// Squares that underflow, or whose low halves do, and elements that are left of nothing else.
TEST(columns, of_squares_that_underflow) {
  for (const int exponent : {-475, -485, -520, -540, -1000, -1074, 400, 505, 1000}) {
    std::vector<numbers> each;
    for (int k = 0; k < 24; ++k) {
      numbers x{dtype::f64, std::vector<std::byte>(10 * sizeof(double))};
      for (int i = 0; i < 10; ++i) {
        const double v = i == k % 10 ? std::ldexp(1 + (k + 1) * 0x1p-52, k % 2 == 0 ? 0 : exponent) : k < 12 && i % 3 == 0 ? 0 : std::ldexp(1 + 0x1p-27 * i + 0x1p-52, exponent);
        std::memcpy(x.bytes.data() + 8 * i, &v, 8);
      }
      each.push_back(x);
    }
    check_columns_of(each, {op::sum_of_squares, op::norm2, op::var, op::std_dev}, false);
  }
}

TEST(proofs_of_ties, of_f64) { check_ties<double>(dtype::f64); }
TEST(proofs_of_ties, of_f32) { check_ties<float>(dtype::f32); }

// One +0 among them decides the sign.
TEST(proofs_of_extremes, know_the_sign_of_zero) {
  some_of_all chosen;
  for (const dtype type : {dtype::f16, dtype::bf16, dtype::f32, dtype::f64}) {
    generator random(seed());
    for (const int n : {1, 2, 4097, 300'000}) {
      if (n == 300'000 && !chosen()) continue;
      const numbers zeros = make(type, family::zeros, n, random), negative = make(type, family::all_neg_zero, n, random);
      const auto size = static_cast<std::int64_t>(info(type).size);
      for (const std::int64_t at : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{n - 1}}) {
        numbers x = negative;
        if (at >= 0) std::memcpy(x.bytes.data() + at * size, zeros.bytes.data(), static_cast<std::size_t>(size));
        for (const op o : {op::sum, op::mean, op::norm1}) {
          const auto want = by_states(o, x, x, {});
          const auto want_zeros = by_states(o, zeros, zeros, {});
          for_each_target([&] {
            certain(o, x, x, {}, want);
            EXPECT_TRUE(certain(o, zeros, zeros, {}, want_zeros) || std::signbit(number(zeros, 0))) << properties_of(o).name;
          });
        }
      }
    }
  }
}

// Where numbers are too large or too small to be multiplied, they are scaled; a NaN is the answer wherever it is.
TEST(proofs_of_extremes, scale_and_see_nans) {
  generator random(seed() + 3);
  some_of_all chosen;
  for (const int exponent : {-1000, -700, -420, 420, 700, 1000}) {
    for (const int n : {1, 5, 300, 150'000}) {
      if (n == 150'000 && !chosen()) continue;
      numbers x = real_numbers(dtype::f64, n, random, 0);
      auto* p = reinterpret_cast<double*>(x.bytes.data());
      for (int i = 0; i < n; ++i) p[i] = std::ldexp(p[i], exponent);
      for (const op o : exact_ops) {
        const options with{rounding::nearest, n > 1 ? 1 : 0};
        const auto want = by_states(o, x, x, with);
        for_each_target([&] {
          const bool is = certain(o, x, x, with, want);
          const bool of_values = o == op::sum || o == op::mean || o == op::norm1;
          EXPECT_TRUE(is || !of_values) << properties_of(o).name << ", n = " << n << ", 2^" << exponent;
        });
      }
      ASSERT_FALSE(testing::Test::HasFailure());
    }
  }
  // What scaling down leaves out is all that stays; and subnormals that are scaled up, beside others and alone.
  for (const int small : {-130, -60, -3, 90, 119, 121}) {
    for (const int n : {5, 4097}) {
      numbers x = real_numbers(dtype::f64, n, random, 0), y = x;
      auto *p = reinterpret_cast<double*>(x.bytes.data()), *q = reinterpret_cast<double*>(y.bytes.data());
      for (int i = 0; i < n; ++i) p[i] = std::ldexp(p[i], small), q[i] = std::ldexp(q[i], -20);
      p[0] = 0x1p1000, p[1] = -0x1p1000;
      q[0] = q[1] = 0x1p10;
      for (const op o : exact_ops) {
        const options with{rounding::nearest, 1};
        const auto want = by_states(o, x, y, with);
        for_each_target([&] { certain(o, x, y, with, want); });
      }
    }
  }
  for (const auto& [large, small] : std::initializer_list<std::pair<int, int>>{{900, 118}, {900, 121}, {700, 300}, {990, 20}}) {
    for (const int n : {5, 4097}) {
      numbers x = real_numbers(dtype::f64, n, random, 0), y = x;
      auto *p = reinterpret_cast<double*>(x.bytes.data()), *q = reinterpret_cast<double*>(y.bytes.data());
      for (int i = 0; i < n; ++i) p[i] = std::ldexp(p[i], large), q[i] = std::ldexp(q[i], small);
      const auto want = by_states(op::dot, x, y, {});
      for_each_target([&] { certain(op::dot, x, y, {}, want); });
    }
  }
  for (const int exponent : {-1060, -1021, -500}) {
    for (const int n : {1, 5, 10'001}) {
      numbers x = real_numbers(dtype::f64, n, random, 0);
      auto* p = reinterpret_cast<double*>(x.bytes.data());
      for (int i = 0; i < n; ++i) p[i] = std::ldexp(p[i], i % 7 == 3 ? -1070 : i % 5 == 4 ? -1000 : exponent);
      for (const op o : exact_ops) {
        const options with{rounding::nearest, n > 1 ? 1 : 0};
        const auto want = by_states(o, x, x, with);
        for_each_target([&] { certain(o, x, x, with, want); });
      }
    }
  }
  for (const std::int64_t at : {0, 1, 2049, 140'000, 299'999}) {
    numbers x = real_numbers(dtype::f64, 300'000, random, 0), y = real_numbers(dtype::f64, 300'000, random, 0);
    const double nan = NAN;
    std::memcpy(x.bytes.data() + 8 * at, &nan, 8);
    for (const op o : exact_ops) {
      const auto want = by_states(o, x, y, {});
      for_each_target([&] { EXPECT_TRUE(certain(o, x, y, {}, want)) << properties_of(o).name; });
    }
  }
}

// Tiles of subnormal numbers alone are added up as whole ones; every second array has tiles with others, and zeros.
TEST(proofs_of_extremes, know_tiles_of_subnormal_numbers) {
  __extension__ typedef __int128 whole_number;
  std::mt19937_64 random(draw() + 23);
  for (const std::int64_t n : {40, 2047, 2048, 2049, 9000, 16384, 70'001})
    for (int kind = 0; kind < 7; ++kind) {
      numbers x{dtype::f64, std::vector<std::byte>(static_cast<std::size_t>(n) * 8)};
      std::uint64_t before = 0;
      whole_number sum = 0, magnitudes = 0;  // times 2^-1074
      const auto other = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
      for (std::int64_t i = 0; i < n; ++i) {
        std::uint64_t bits = random() & 0x800fffffffffffff;
        if (kind == 1) bits &= 0x800000000000000f;
        if (kind == 2 && i == other) bits += std::uint64_t{1} << 53;
        if (kind == 3 && i / 2048 % 2 == 1) bits += (random() % 4) << 52;
        if (kind == 4) bits = i == other ? random() % 3 : std::uint64_t{1} << 63;
        if (kind == 5) bits &= INT64_MAX;
        if (kind == 6) bits = i % 2 == 0 ? bits | std::uint64_t{1} << 63 : before & INT64_MAX;  // each and its negative, -0 last: the sum is +0
        if (kind == 6 && i + 1 == n && i % 2 == 0) bits = std::uint64_t{1} << 63;
        before = bits;
        const std::uint64_t field = bits >> 52 & 2047;
        const auto whole = static_cast<std::int64_t>(field == 0 ? bits & 0xfffffffffffff : ((bits & 0xfffffffffffff) | std::uint64_t{1} << 52) << (field - 1));
        sum += bits >> 63 != 0 ? -whole : whole;
        magnitudes += whole;
        std::memcpy(x.bytes.data() + 8 * i, &bits, 8);
      }
      const auto is = [&](op o, whole_number want) {
        const double told = std::ldexp(static_cast<double>(want), -1074);
        const cpu::erased& r = builtin(o, dtype::f64, accuracy::exact);
        const options how;
        double got = 0;
        const void* at[] = {x.bytes.data(), nullptr};
        cpu::reduce_run(r, &how, at, n, {}, &got);
        EXPECT_EQ(std::memcmp(&got, &told, 8), 0) << properties_of(o).name << " of " << n << ", kind " << kind << ": " << got << ", not " << told;
      };
      for_each_target([&] {
        is(op::sum, sum);
        is(op::norm1, magnitudes);
      });
    }
}

}  // namespace
}  // namespace wf::test
