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
  if (named("yn") && is_float && second_magnitude < std::max(order, 8.0)) return {.units = std::max(9.0, std::ceil(2 + 2.5 * order)), .absolute = 2.2e-6};  // of 0 and 1 as y0, y1
  if ((named("jn") || named("yn")) && second_magnitude > 1.5 * order && second_magnitude < HUGE_VAL) return {.absolute = is_float ? 2.2e-6 : 5e-12};
  return anything;  // __powf and __tanf are told by what they are made of; of jn, yn, norm and rnorm is no bound for all that is asked
}

template <class Line, class T>
void expect_near(std::uint64_t i, std::uint64_t ours, std::uint64_t gpus) {
  const double stated = functions_golden::stated_of<Line>(), units = units_between<T>(ours, gpus);
  if (units == 0 || (units <= stated && stated < 1e300)) return;
  const std::string name = Line::name;
  const double x = static_cast<double>(math_cases::argument<float>(i)), ours_is = number<T>(ours), gpus_is = number<T>(gpus);
  const double first = sizeof(T) == 8 ? math_cases::argument<double>(i) : x;
  const double second = sizeof(T) == 8 ? math_cases::argument<double>(i, 1) : static_cast<double>(math_cases::argument<float>(i, 1));
  const allowed most = allowance<T>(name, static_cast<double>(i % 5), first, second);
  if (units <= most.units || std::abs(ours_is - gpus_is) <= most.absolute + most.relative * std::abs(ours_is)) return;
  ADD_FAILURE() << Line::text << ", argument " << i << ": " << ours_is << ", a GPU's " << gpus_is << ", " << units << " units off";
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

template <class Line>
void compare(std::map<std::string, golden>& all) {
  if constexpr (functions_golden::facts<Line>::is_asked) {
    const auto found = all.find(Line::text);
    ASSERT_NE(found, all.end()) << Line::text;
    const golden of_gpu = found->second;
    all.erase(found);
    constexpr int words = functions_golden::words_of(typename Line::types{});
    constexpr std::uint64_t kept = functions_golden::kept<Line>();
    ASSERT_EQ(of_gpu.words.size(), kept * words) << Line::text;
    if constexpr (functions_golden::stated_of<Line>() == 0) {
      std::uint64_t sum = 0;
      for (std::uint64_t i = 0; i < functions_golden::summed; ++i) sum += functions_golden::term(i, on_simt<Line>(i));
#if defined(__clang__)  // libstdc++'s fmax(float, float) is computed in place there, and either zero may come (docs/simt.md)
      if (Line::text == std::string_view("fmax(float, float, float)") || Line::text == std::string_view("max(float, float, float)")) return;
#endif
      EXPECT_EQ(sum, of_gpu.checksum) << Line::text;
    } else {
      using type = typename decltype(type_of_answer(typename Line::types{}))::type;
      for (std::uint64_t i = 0; i < kept; ++i) {
        const answer ours = on_simt<Line>(i);
        for (int k = 0; k < words; ++k) {
          const std::uint64_t gpus = of_gpu.words[i * words + static_cast<std::uint64_t>(k)];
          if constexpr (std::is_same_v<type, __half2> || std::is_same_v<type, __nv_bfloat162>) {
            using half = std::conditional_t<std::is_same_v<type, __half2>, __half, __nv_bfloat16>;
            expect_near<Line, half>(i, ours.words[k] & 0xffff, gpus & 0xffff);
            expect_near<Line, half>(i, ours.words[k] >> 16, gpus >> 16);
          } else {
            expect_near<Line, type>(i, ours.words[k], gpus);
          }
        }
      }
    }
  }
}

TEST(functions_golden, what_a_gpu_computes) {
  auto all = read_golden();
#define HAS(...) HAS_AT(__LINE__)
#define HAS_AT(number) HAS_CASE(number)
#define HAS_CASE(number) compare<functions_golden::line_##number>(all);
#include "cuda_functions.inc"
#undef HAS
  for (const auto& [text, g] : all) ADD_FAILURE() << text << " is no line of the list";
}

}  // namespace
