// SPDX-License-Identifier: Apache-2.0
#include "converted.hpp"

#include <cmath>
#include <cstring>
#include <type_traits>

namespace wfpy {

using wf::dtype;

namespace {

template <class T>
T load(const void* p) {
  T x;
  std::memcpy(static_cast<void*>(&x), p, sizeof x);
  return x;
}

template <class U>
struct bits_of;
template <>
struct bits_of<float> { using type = std::uint32_t; static constexpr int exponents = 128, fraction = 23; };
template <>
struct bits_of<wf::f16> { using type = std::uint16_t; static constexpr int exponents = 16, fraction = 10; };
template <>
struct bits_of<wf::bf16> { using type = std::uint16_t; static constexpr int exponents = 128, fraction = 7; };

/// The magnitude with these bits; that of infinity is the number after the largest.
template <class U>
double magnitude(typename bits_of<U>::type bits) {
  if (bits == static_cast<typename bits_of<U>::type>((2 * bits_of<U>::exponents - 1) << bits_of<U>::fraction)) return std::ldexp(1.0, bits_of<U>::exponents);
  return static_cast<double>(__builtin_bit_cast(U, bits));
}

/// Rounded to nearest; false if x lies halfway. Of all other x the true number lies on the same side of every halfway point, since rounding keeps order.
template <class U>
bool narrow_one(double x, U& to) {
  to = static_cast<U>(x);
  if (!std::isfinite(x)) return true;
  using bits = typename bits_of<U>::type;
  constexpr auto without_sign = static_cast<bits>(static_cast<bits>(~bits{0}) >> 1);
  const auto b = static_cast<bits>(__builtin_bit_cast(bits, to) & without_sign);
  const double m = std::fabs(x), here = magnitude<U>(b);
  if (here == m) return true;
  const double there = magnitude<U>(static_cast<bits>(m > here ? b + 1 : b - 1));
  return std::fabs(m - here) != std::fabs(there - m);
}

template <class T, class U>
bool narrow_all(const void* from, std::size_t n, void* out) {
  bool certain = true;
  for (std::size_t i = 0; i < n; ++i) {
    U to;
    certain = narrow_one(static_cast<double>(load<T>(static_cast<const std::byte*>(from) + i * sizeof(T))), to) && certain;
    std::memcpy(static_cast<std::byte*>(out) + i * sizeof(U), &to, sizeof to);
  }
  return certain;
}
template <class U>
bool narrow_to(const void* from, dtype type, std::size_t n, void* out) {
  return type == dtype::f64 ? narrow_all<double, U>(from, n, out) : narrow_all<float, U>(from, n, out);
}

template <class I, class U>
void floats_of(const void* from, std::size_t n, void* out) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto whole = load<I>(static_cast<const std::byte*>(from) + i * sizeof(I));
    U to;
    if constexpr (sizeof(U) == 2) to = static_cast<U>(static_cast<double>(whole));  // exactly: what a double does not hold is infinite
    else to = static_cast<U>(whole);
    std::memcpy(static_cast<std::byte*>(out) + i * sizeof(U), &to, sizeof to);
  }
}

using copy_row = void (*)(const std::byte* x, std::int64_t step, const std::byte* mask, std::int64_t mask_step, bool skip_nans, std::int64_t n, void* to);

/// A row; the loop over neighbours, which a compiler makes vectors of, by itself.
template <class T, class U>
void row(const std::byte* x, std::int64_t step, const std::byte* mask, std::int64_t mask_step, bool skip_nans, std::int64_t n, void* out) {
  auto* to = static_cast<U*>(out);
  const auto fill = std::is_floating_point_v<U> ? static_cast<U>(-0.0) : U(0);
  const auto walk = [&](auto x_step, auto counts) {
    for (std::int64_t i = 0; i < n; ++i) {
      const T one = load<T>(x + i * x_step);
      to[i] = counts(one, i) ? static_cast<U>(one) : fill;
    }
  };
  const auto walk_any = [&](auto counts) {
    if (step == sizeof(T)) walk(std::integral_constant<std::int64_t, sizeof(T)>(), counts);
    else walk(step, counts);
  };
  const auto is_number = [](T one) { return one == one; };
  const auto named = [&](std::int64_t i) { return mask[i * mask_step] != std::byte{0}; };
  if (mask == nullptr && !skip_nans) walk_any([](T, std::int64_t) { return true; });
  else if (mask == nullptr) walk_any([&](T one, std::int64_t) { return is_number(one); });
  else if (skip_nans) walk_any([&](T one, std::int64_t i) { return is_number(one) && named(i); });
  else walk_any([&](T, std::int64_t i) { return named(i); });
}

/// Whether each element counts.
template <class T>
void row_of_counts(const std::byte* x, std::int64_t step, const std::byte* mask, std::int64_t mask_step, bool skip_nans, std::int64_t n, void* out) {
  auto* to = static_cast<std::uint8_t*>(out);
  for (std::int64_t i = 0; i < n; ++i) {
    const T one = load<T>(x + i * step);
    to[i] = (mask == nullptr || mask[i * mask_step] != std::byte{0}) && (!skip_nans || one == one);
  }
}

copy_row row_of(dtype from, dtype to) {
  if (to == dtype::boolean && from == dtype::f64) return row_of_counts<double>;
  if (to == dtype::boolean && from == dtype::f32) return row_of_counts<float>;
  if (from == dtype::f32 && to == dtype::f64) return row<float, double>;
  if (from != to) return nullptr;
  if (from == dtype::f64) return row<double, double>;
  if (from == dtype::f32) return row<float, float>;
  if (!wf::is_integer(from)) return nullptr;
  switch (wf::info(from).size) {
    case 1: return row<std::uint8_t, std::uint8_t>;
    case 2: return row<std::uint16_t, std::uint16_t>;
    case 4: return row<std::uint32_t, std::uint32_t>;
    default: return row<std::uint64_t, std::uint64_t>;
  }
}

}  // namespace

bool narrow(const void* answers, dtype type, std::size_t n, dtype to, void* out) {
  switch (to) {
    case dtype::f32: return narrow_to<float>(answers, type, n, out);
    case dtype::f16: return narrow_to<wf::f16>(answers, type, n, out);
    default: return narrow_to<wf::bf16>(answers, type, n, out);
  }
}

void as_floats(const void* sums, dtype type, std::size_t n, dtype to, void* out) {
  const auto each = [&]<class I>(I) {
    switch (to) {
      case dtype::f64: return floats_of<I, double>(sums, n, out);
      case dtype::f32: return floats_of<I, float>(sums, n, out);
      default: return floats_of<I, wf::f16>(sums, n, out);
    }
  };
  if (type == dtype::u64) each(std::uint64_t{});
  else each(std::int64_t{});
}

bool can_copy(dtype from, dtype to) { return row_of(from, to) != nullptr; }

void copy_filled(const layout& x, const counted& c, dtype to, void* out) {
  const copy_row copy = row_of(x.type, to);
  // Dimensions whose elements follow each other as if they were of one are taken for one.
  wf::extents shape, steps, mask_steps;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    const std::int64_t step = x.strides[d], mask_step = c.mask == nullptr ? 0 : c.mask->strides[d];
    if (x.shape[d] == 1) continue;
    if (!shape.empty() && steps.back() == step * x.shape[d] && mask_steps.back() == mask_step * x.shape[d]) {
      shape.back() *= x.shape[d];
      steps.back() = step;
      mask_steps.back() = mask_step;
    } else {
      shape.push_back(x.shape[d]);
      steps.push_back(step);
      mask_steps.push_back(mask_step);
    }
  }
  if (shape.empty()) {
    shape.push_back(1);
    steps.push_back(0);
    mask_steps.push_back(0);
  }
  const std::size_t last = shape.size() - 1;
  std::int64_t rows = 1;
  for (std::size_t d = 0; d < last; ++d) rows *= shape[d];
  wf::extents at(last, 0);
  const auto* from = static_cast<const std::byte*>(x.data);
  const auto* mask = c.mask == nullptr ? nullptr : static_cast<const std::byte*>(c.mask->data);
  auto* into = static_cast<std::byte*>(out);
  for (std::int64_t r = 0; r < rows && shape[last] > 0; ++r) {
    copy(from, steps[last], mask, mask_steps[last], c.skip_nans, shape[last], into);
    into += static_cast<std::size_t>(shape[last]) * wf::info(to).size;
    for (std::size_t d = last; d-- > 0;) {  // the next row
      const bool more = ++at[d] < shape[d];
      const std::int64_t by = more ? 1 : 1 - shape[d];
      from += by * steps[d];
      if (mask != nullptr) mask += by * mask_steps[d];
      if (more) break;
      at[d] = 0;
    }
  }
}

}  // namespace wfpy
