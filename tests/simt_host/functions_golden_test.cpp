// SPDX-License-Identifier: Apache-2.0
// Every function of cuda_functions.inc that its arguments alone decide gives on simt what a GPU gave (functions_golden.txt, by
// functions_golden.cu): to the last bit, over 65536 arguments, but where CUDA states an error; there no further off than that.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "functions_golden.hpp"

namespace {

using functions_golden::answer;

struct golden {
  std::uint64_t checksum = 0;
  std::vector<std::uint64_t> words;
};

std::map<std::string, golden> read_golden() {
  std::map<std::string, golden> all;
  std::ifstream file(SIMT_HOST_FOLDER "/functions_golden.txt");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    std::istringstream words(line.substr(colon + 2));
    golden g;
    words >> std::hex >> g.checksum;
    for (std::uint64_t w = 0; words >> w;) g.words.push_back(w);
    all[line.substr(0, colon)] = g;
  }
  return all;
}

template <class T>
struct bits_of_type {
  using type = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
};
template <class T>
double number(std::uint64_t word) {
  return static_cast<double>(std::bit_cast<T>(static_cast<typename bits_of_type<T>::type>(word)));
}
/// Neighbours differ by 1, NaN from every number and 0 from -0 by infinitely much.
template <class T>
double units_between(std::uint64_t a, std::uint64_t b) {
  using bits = typename bits_of_type<T>::type;
  const bits nan = static_cast<bits>(static_cast<bits>(~bits{0}) >> 1), x = static_cast<bits>(a), y = static_cast<bits>(b);
  if (x == nan || y == nan) return x == y ? 0 : HUGE_VAL;
  if (((x | y) & nan) == 0 && x != y) return HUGE_VAL;
  const auto place = [&](bits u) { return (u > nan ? -1.0L : 1.0L) * static_cast<long double>(u & nan); };
  return static_cast<double>(std::abs(place(x) - place(y)));
}

/// How far off an answer may be, and in what.
struct allowed {
  double units = 0, absolute = 0, relative = 0;
};
constexpr allowed anything{HUGE_VAL, 0, 0};

/// What the CUDA Programming Guide states of functions without one bound in units for all arguments: x is the first, y the second; of
/// Bessel functions `order` is the first, y the second.
template <class T>
allowed allowance(const std::string& name, double order, double x, double y) {
  const auto named = [&](const char* of) { return functions_golden::is(name.c_str(), of) || functions_golden::is(name.c_str(), of, "f"); };
  const double magnitude = std::abs(x), second_magnitude = std::abs(y);
  const bool is_float = sizeof(T) == 4;
  if (named("__exp")) return {.units = 2 + std::floor(1.173 * magnitude)};
  if (named("__exp10")) return {.units = 2 + std::floor(2.97 * magnitude)};
  if (named("__log")) return x >= 0.5 && x <= 2 ? allowed{.absolute = std::exp2(-21.41)} : allowed{.units = 3};
  if (named("__log2")) return x >= 0.5 && x <= 2 ? allowed{.absolute = 0x1p-22} : allowed{.units = 2};
  if (named("__log10")) return x >= 0.5 && x <= 2 ? allowed{.absolute = 0x1p-24} : allowed{.units = 3};
  if (named("__sin") || named("__cos") || named("__sincos")) return magnitude <= M_PI ? allowed{.absolute = std::exp2(named("__sin") ? -21.41 : -21.19)} : anything;
  if (named("__fdivide")) return std::abs(y) >= 0x1p-126 && std::abs(y) <= 0x1p126 ? allowed{.units = 2} : anything;
  if (named("__tanh")) return {.relative = std::exp2(-10.987)};
  if (named("htanh_approx") || named("h2tanh_approx")) return std::is_same_v<T, __half> ? allowed{.absolute = std::exp2(-10.987)} : allowed{.relative = 0x1p-8 + 0x1p-9};  // and simt's own rounding
  if (named("lgamma") && x > -23.01 && x < -2.26) return anything;
  if ((named("j0") || named("j1") || named("y0") || named("y1")) && magnitude >= 8) return {.absolute = is_float ? 2.2e-6 : 5e-12};
  if (named("yn") && is_float && second_magnitude < std::max(order, 8.0)) return {.units = std::max(9.0, std::ceil(2 + 2.5 * order)), .absolute = 2.2e-6};  // orders 0 and 1 as y0, y1
  if ((named("jn") || named("yn")) && second_magnitude > 1.5 * order && second_magnitude < HUGE_VAL) return {.absolute = is_float ? 2.2e-6 : 5e-12};
  return anything;  // __powf and __tanf are told by what they are made of; of jn, yn, norm and rnorm is no bound for all that is asked
}

/// The numbers that an answer is made of.
enum class numbers { other, f32, f64, f16, bf16, two_f16, two_bf16 };

template <class T>
constexpr numbers numbers_of() {
  if constexpr (std::is_same_v<T, float>) return numbers::f32;
  else if constexpr (std::is_same_v<T, double>) return numbers::f64;
  else if constexpr (std::is_same_v<T, __half>) return numbers::f16;
  else if constexpr (std::is_same_v<T, __nv_bfloat16>) return numbers::bf16;
  else if constexpr (std::is_same_v<T, __half2>) return numbers::two_f16;
  else if constexpr (std::is_same_v<T, __nv_bfloat162>) return numbers::two_bf16;
  else return numbers::other;
}

/// A line of the list, at run time: what is done with its answers is compiled once, not a thousand times.
struct line {
  const char *name, *text;
  double stated;
  std::uint64_t kept;
  int words;
  numbers of;
  answer (*on_simt)(std::uint64_t);
};

template <class T>
void expect_near(const line& l, std::uint64_t i, std::uint64_t ours, std::uint64_t gpus) {
  const double units = units_between<T>(ours, gpus);
  if (units == 0 || (units <= l.stated && l.stated < 1e300)) return;
  const double x = static_cast<double>(math_cases::argument<float>(i)), ours_is = number<T>(ours), gpus_is = number<T>(gpus);
  const double first = sizeof(T) == 8 ? math_cases::argument<double>(i) : x;
  const double second = sizeof(T) == 8 ? math_cases::argument<double>(i, 1) : static_cast<double>(math_cases::argument<float>(i, 1));
  const allowed most = allowance<T>(l.name, static_cast<double>(i % 5), first, second);
  if (units <= most.units || std::abs(ours_is - gpus_is) <= most.absolute + most.relative * std::abs(ours_is)) return;
  ADD_FAILURE() << l.text << ", argument " << i << ": " << ours_is << ", a GPU's " << gpus_is << ", " << units << " units off";
}

// The type of the numbers in an answer.
template <class Returned, class First, class... Given>
auto type_of_answer(functions_golden::signature<Returned, First, Given...>) {
  return std::conditional_t<std::is_void_v<Returned>, std::type_identity<First>, std::type_identity<Returned>>{};
}

/// The i-th answer of simt; of a float too large for an integer, where CUDA promises nothing, the greatest, as of a GPU.
template <class Line>
answer on_simt(std::uint64_t i) {
  answer a = functions_golden::run<Line>(i);
  using functions_golden::begins;
  if constexpr (begins(Line::name, "lrint") || begins(Line::name, "llrint") || begins(Line::name, "lround") || begins(Line::name, "llround")) {
    constexpr std::uint64_t least = std::uint64_t{1} << 63;
    const bool is_above = functions_golden::is_of_doubles(typename Line::types{}) ? math_cases::argument<double>(i) > 0 : math_cases::argument<float>(i) > 0;
    if (a.words[0] == least && is_above) a.words[0] = least - 1;
  }
  return a;
}

void compare(const line& l, std::map<std::string, golden>& all) {
  const auto found = all.find(l.text);
  ASSERT_NE(found, all.end()) << l.text;
  const golden of_gpu = found->second;
  all.erase(found);
  ASSERT_EQ(of_gpu.words.size(), l.kept * static_cast<std::uint64_t>(l.words)) << l.text;
  if (l.stated == 0) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < functions_golden::summed; ++i) sum += functions_golden::term(i, l.on_simt(i));
#if defined(__clang__)  // libstdc++'s fmax(float, float) is computed in place there, and either zero may come (docs/simt.md)
    if (l.text == std::string_view("fmax(float, float, float)") || l.text == std::string_view("max(float, float, float)")) return;
#endif
    EXPECT_EQ(sum, of_gpu.checksum) << l.text;
    return;
  }
  for (std::uint64_t i = 0; i < l.kept; ++i) {
    const answer mine = l.on_simt(i);
    for (int k = 0; k < l.words; ++k) {
      const std::uint64_t ours = mine.words[k], gpus = of_gpu.words[i * static_cast<std::uint64_t>(l.words) + static_cast<std::uint64_t>(k)];
      switch (l.of) {
        case numbers::f32: expect_near<float>(l, i, ours, gpus); break;
        case numbers::f64: expect_near<double>(l, i, ours, gpus); break;
        case numbers::f16: expect_near<__half>(l, i, ours, gpus); break;
        case numbers::bf16: expect_near<__nv_bfloat16>(l, i, ours, gpus); break;
        case numbers::two_f16:
          expect_near<__half>(l, i, ours & 0xffff, gpus & 0xffff);
          expect_near<__half>(l, i, ours >> 16, gpus >> 16);
          break;
        case numbers::two_bf16:
          expect_near<__nv_bfloat16>(l, i, ours & 0xffff, gpus & 0xffff);
          expect_near<__nv_bfloat16>(l, i, ours >> 16, gpus >> 16);
          break;
        case numbers::other: FAIL() << l.text << " has a stated error, and answers that are no floats";
      }
    }
  }
}

template <class Line>
void compare_line(std::map<std::string, golden>& all) {
  if constexpr (functions_golden::facts<Line>::is_asked) {
    using types = typename Line::types;
    using type = typename decltype(type_of_answer(types{}))::type;
    compare({Line::name, Line::text, functions_golden::stated_of<Line>(), functions_golden::kept<Line>(), functions_golden::words_of(types{}),
             numbers_of<type>(), on_simt<Line>}, all);
  }
}

TEST(functions_golden, what_a_gpu_computes) {
  auto all = read_golden();
#define HAS(...) HAS_AT(__LINE__)
#define HAS_AT(number) HAS_CASE(number)
#define HAS_CASE(number) compare_line<functions_golden::line_##number>(all);
#include "cuda_functions.inc"
#undef HAS
  for (const auto& [text, g] : all) ADD_FAILURE() << text << " is no line of the list";
}

}  // namespace
