// SPDX-License-Identifier: Apache-2.0
// What is asked of every function of cuda_functions.inc whose answer its arguments alone decide, both of a GPU
// (functions_golden.cu) and of simt (functions_golden_test.cpp): arguments by their types, and a checksum of the answers.
#pragma once

#include <type_traits>
#include <utility>

#include "math_cases.hpp"

namespace functions_golden {

constexpr std::uint64_t summed = 1u << 16;  // every value of a half

template <class Returned, class... Given>
struct signature {
  using numbers = std::index_sequence_for<Given...>;
};

// What each line of the list is: LINE::name, LINE::types, LINE::text and the call.
#define HAS(function, ...) HAS_LINE(__LINE__, #function, #function "(" #__VA_ARGS__ ")", function, __VA_ARGS__)
#define HAS_LINE(number, ...) HAS_NUMBER(number, __VA_ARGS__)
#define HAS_NUMBER(number, name_of, text_of, function, ...)  \
  struct line_##number {                                     \
    static constexpr char name[] = name_of, text[] = text_of; \
    using types = signature<__VA_ARGS__>;                    \
    template <class... X>                                    \
    MATH_CASE auto of(X... x) {                              \
      return function(x...);                                 \
    }                                                        \
  };
#include "cuda_functions.inc"
#undef HAS

constexpr bool begins(const char* name, const char* start) {
  while (*start != 0 && *name == *start) ++name, ++start;
  return *start == 0;
}
/// Is it asked? Not those that read or write memory or other threads, nor those of a text or of long double.
constexpr bool is_asked(const char* name) {
  const char* const others[] = {"__brkpt", "__syncthreads", "__threadfence", "__ld", "__st", "__shfl", "atomicAdd", "clock64", "nan", "__finitel"};
  for (const char* other : others)
    if (begins(name, other)) return false;
  return true;
}
/// Orders of Bessel functions and lengths of vectors are small.
constexpr bool counts(const char* name) { return begins(name, "jn") || begins(name, "yn") || begins(name, "norm") || begins(name, "rnorm"); }

/// The i-th word of an argument; every fourth time those of one call are close.
MATH_CASE std::uint64_t word_of(std::uint64_t i, int which) {
  const std::uint64_t k = math_cases::mix(i * 8 + static_cast<std::uint64_t>(which));
  if (which == 0 || i % 4 != 0) return k;
  return math_cases::mix(i * 8) ^ (k & 0x8001800180018001u & k >> 7);
}

/// The i-th argument of type T: any number, any bits; of one half, or the first of several, every one.
template <class T, bool Counts>
MATH_CASE T given(std::uint64_t i, int which) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return math_cases::argument<T>(i, which);
  } else if constexpr (std::is_same_v<T, float2>) {
    return float2{math_cases::argument<float>(i, 0), math_cases::argument<float>(i, 1)};
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (Counts) return static_cast<T>(i % 5);
    const std::uint64_t k = word_of(i, which);
    return static_cast<T>(i % 3 == 0 ? static_cast<long long>(k) >> (k & 63) : static_cast<long long>(k));
  } else {
    const std::uint64_t k = which == 0 && sizeof(T) == 2 ? i : word_of(i, which);
    T x;
    memcpy(&x, &k, sizeof x);
    return x;
  }
}

/// An argument where it lives. A pointer is to four numbers, which are zero before the call if it may write them.
template <class T, bool Counts>
struct place {
  static constexpr bool is_pointer = std::is_pointer_v<T>, is_written = is_pointer && !std::is_const_v<std::remove_pointer_t<T>>;
  using type = std::remove_cv_t<std::remove_pointer_t<T>>;
  type values[is_pointer ? 4 : 1];
  MATH_CASE place of(std::uint64_t i, int which) {
    place p = {};
    if constexpr (!is_pointer) {
      p.values[0] = given<T, Counts>(i, which);
    } else if constexpr (!is_written) {
      for (unsigned j = 0; j < 4; ++j) p.values[j] = given<type, false>(i * 4 + j, 0);
    }
    return p;
  }
};
template <class P>
MATH_CASE auto passed(P& p) {
  if constexpr (P::is_pointer) return &p.values[0];
  else return p.values[0];
}

/// The bits of an answer, one for all NaNs of its type.
template <class T>
MATH_CASE std::uint64_t bits_of(T x) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return math_cases::bits_of(x);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::uint64_t>(x);
  } else if constexpr (std::is_same_v<T, float2>) {
    return math_cases::bits_of(x.x) | static_cast<std::uint64_t>(math_cases::bits_of(x.y)) << 32;
  } else {
    constexpr unsigned infinity = std::is_same_v<T, __half> || std::is_same_v<T, __half2> ? 0x7c00 : 0x7f80;
    const auto half = [](unsigned u) { return (u & 0x7fff) > infinity ? 0x7fffu : u; };
    std::uint32_t u = 0;
    memcpy(&u, &x, sizeof x);
    return half(u & 0xffff) | half(u >> 16) << 16;
  }
}

/// What one call gives: what it returns, then what it writes behind pointers.
struct answer {
  std::uint64_t words[3];
};

template <class Line>
struct facts {
  static constexpr bool is_asked = functions_golden::is_asked(Line::name), has_small_integers = counts(Line::name),
                        is_remquo = begins(Line::name, "remquo");
};

template <class Line, class Returned, class... P>
MATH_CASE answer called(P... places) {
  answer a = {};
  if constexpr (std::is_void_v<Returned>) Line::of(passed(places)...);
  else a.words[0] = bits_of(Line::of(passed(places)...));
  int next = 1;
  const auto keep = [&](auto& p) {
    if constexpr (std::remove_reference_t<decltype(p)>::is_written) a.words[next++] = bits_of(p.values[0]);
  };
  (keep(places), ...);
  if constexpr (facts<Line>::is_remquo) a.words[1] &= 7;  // what C promises of the quotient
  return a;
}
template <class Line, class Returned, class... Given, std::size_t... Which>
MATH_CASE answer called_of(signature<Returned, Given...>, std::index_sequence<Which...>, std::uint64_t i) {
  return called<Line, Returned>(place<Given, facts<Line>::has_small_integers>::of(i, static_cast<int>(Which))...);
}
/// How many words a call gives: 1 where it writes nothing behind pointers.
template <class Returned, class... Given>
constexpr int words_of(signature<Returned, Given...>) {
  return 1 + (0 + ... + int{place<Given, false>::is_written});
}

template <class Returned, class Given>
constexpr bool is_of_one_half(signature<Returned, Given>) {
  return sizeof(Given) == 2;
}
constexpr bool is_of_one_half(...) { return false; }
template <class Returned, class... Given>
constexpr bool is_of_doubles(signature<Returned, Given...>) {
  return (std::is_same_v<Given, double> || ...) || std::is_same_v<Returned, double>;
}

constexpr bool is(const char* name, const char* other, const char* end = "") {
  while (*other != 0 && *name == *other) ++name, ++other;
  return *other == 0 && *name == *end && (*end == 0 || name[1] == 0);
}
/// The greatest error that CUDA states, in units in the last place; 0 of functions that it promises to the last bit.
constexpr double stated(const char* name, bool of_doubles) {
  struct entry {
    const char* name;
    double of_float, of_double;
  };
  constexpr double none = 1e300;  // "no bound can be given", or one that is not in units: functions_golden_test.cpp knows which
#define FUNCTIONS_ENTRY(name, of_float, of_double) {#name, of_float, of_double},
  const entry entries[] = {
      MATH_UNARY(FUNCTIONS_ENTRY) MATH_BESSEL(FUNCTIONS_ENTRY) MATH_BINARY(FUNCTIONS_ENTRY) MATH_TERNARY(FUNCTIONS_ENTRY)
      {"jn", none, none}, {"yn", none, none}, {"norm", none, none}, {"rnorm", none, none}, {"norm4d", 3, 2}, {"rnorm4d", 2, 1},
      {"sincos", 2, 2}, {"sincospi", 1, 2}, {"__exp", none, 0}, {"__exp10", none, 0}, {"__log", none, 0}, {"__log2", none, 0},
      {"__log10", none, 0}, {"__sin", none, 0}, {"__cos", none, 0}, {"__sincos", none, 0}, {"__tan", none, 0}, {"__pow", none, 0},
      {"__tanh", none, 0}, {"__fdivide", none, 0}, {"htanh_approx", none, none}, {"h2tanh_approx", none, none}};
#undef FUNCTIONS_ENTRY
  for (const entry& e : entries)
    if (is(name, e.name) || is(name, e.name, "f")) return of_doubles ? e.of_double : e.of_float;
  return 0;
}
template <class Line>
constexpr double stated_of() {
  return stated(Line::name, is_of_doubles(typename Line::types{}));
}
/// How many answers the file holds.
template <class Line>
constexpr std::uint64_t kept() {
  return stated_of<Line>() == 0 ? 8 : 64;
}

/// The i-th answer.
template <class Line>
MATH_CASE answer run(std::uint64_t i) {
  using types = typename Line::types;
  return called_of<Line>(types{}, typename types::numbers{}, i);
}
/// What it adds to the checksum.
MATH_CASE std::uint64_t term(std::uint64_t i, const answer& a) {
  return math_cases::mix(math_cases::mix(math_cases::mix(a.words[0] ^ i << 32) ^ a.words[1]) ^ a.words[2]);
}

}  // namespace functions_golden
