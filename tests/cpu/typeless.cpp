// SPDX-License-Identifier: Apache-2.0
#include "typeless.hpp"

#include <warpfold/detail/exact/products.hpp>

#include "../support/oracle.hpp"

namespace wf::test {

numbers make(dtype type, family k, std::int64_t n, generator& random) {
  numbers out{type, std::vector<std::byte>(static_cast<std::size_t>(n) * info(type).size)};
  const std::size_t count = out.bytes.size() / info(type).part;
  with_float(part_of(type), [&]<class T>() {
    const std::vector<T> x = make<T>(k, count, random);
    if (count > 0) std::memcpy(out.bytes.data(), x.data(), out.bytes.size());
  });
  return out;
}

numbers random_elements(dtype type, std::int64_t n, generator& random, int kind) {
  numbers out{type, std::vector<std::byte>(static_cast<std::size_t>(n) * info(type).size)};
  const std::size_t size = info(type).size;
  for (std::size_t at = 0; at < out.bytes.size(); at += size) {
    for (std::size_t b = 0; b < size; ++b) {
      const std::uint64_t r = random();
      out.bytes[at + b] = static_cast<std::byte>(type == dtype::boolean ? r % 2 : kind == 0 ? r : b == 0 ? r % 5 : 0);
    }
  }
  return out;
}

void append(numbers& to, const numbers& more) { to.bytes.insert(to.bytes.end(), more.bytes.begin(), more.bytes.end()); }

double as_double(dtype type, const void* p) {
  if (!is_floating(type)) return static_cast<double>(answer{{type, 1}, {static_cast<const std::byte*>(p), static_cast<const std::byte*>(p) + info(type).size}}.whole());
  return with_float(type, [p]<class T>() {
    typename exact::format<T>::bits b;
    std::memcpy(&b, p, sizeof b);
    return static_cast<double>(exact::format<T>::from_bits(b));
  });
}

i128 whole(dtype type, const void* p) {
  std::uint64_t u = 0;
  const std::size_t size = info(type).size;
  std::memcpy(&u, p, size);  // little-endian, as every machine that these tests run on
  static_assert(native_order == byte_order::little);
  const bool is_signed = type >= dtype::i8 && type <= dtype::i64;
  const i128 span = i128{1} << (8 * size);
  return is_signed && (u >> (8 * size - 1) & 1) != 0 ? i128{u} - span : i128{u};
}

i128 whole(const numbers& x, std::int64_t i) { return whole(x.type, x.at(i)); }
i128 answer::whole(int k) const { return test::whole(kind.type, part(k)); }

answer reduce(op o, dtype type, const void* x, const void* y, std::int64_t n, std::int64_t stride, const how& h) {
  const cpu::erased& r = builtin(o, type, h.c.accuracy);
  answer a{result_of_builtin(o, type), std::vector<std::byte>(r.result_size)};
  options told;
  told.rounding = h.c.rounding;
  told.correction = h.correction;
  if (stride == static_cast<std::int64_t>(info(type).size)) {
    const void* p[] = {x, y};
    cpu::reduce_run(r, &told, p, n, h.c, a.bytes.data());
  } else {
    cpu::operands in;
    in.shape = {n};
    in.data = {x, y};
    in.strides = {extents{stride}, extents{stride}};
    cpu::reduce_all(r, &told, in, h.c, a.bytes.data());
  }
  return a;
}

answer reduce(op o, const numbers& x, const numbers& y, const how& h) {
  return reduce(o, x.type, x.bytes.data(), y.bytes.data(), x.size(), static_cast<std::int64_t>(info(x.type).size), h);
}
answer reduce(op o, const numbers& x, const how& h) { return reduce(o, x, x, h); }

verdict judge(const numbers& x, const numbers& y, rounding mode, std::int64_t correction) {
  real s, a, q, p;
  special_sum ss, sa, sq, sp;
  const std::int64_t n = x.size();
  bool all_neg = n > 0, all_neg_products = n > 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double v = number(x, i), w = number(y, i);
    all_neg = all_neg && v == 0 && std::signbit(v);
    all_neg_products = all_neg_products && (v == 0 || w == 0) && std::signbit(v) != std::signbit(w);
    if (std::isfinite(v)) {
      const real r(v);
      s += r;
      a += real(std::fabs(v));
      real square(v);
      square *= r;
      q += square;
    } else {
      ss.add(v);
      sa.add(std::fabs(v));
      sq.add(v * v);
    }
    if (std::isfinite(v) && std::isfinite(w)) {
      real product(v);
      product *= real(w);
      p += product;
    } else {
      sp.add(v * w);
    }
  }
  const auto rounded = [&](const real& r) {
    return with_float(x.type, [&]<class T>() { return r.round<T>(mode); });
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  verdict e{};
  const real count(static_cast<double>(n));
  e.sum = ss.any() ? ss.value() : all_neg ? -0.0 : rounded(s);
  e.norm1 = sa.any() ? sa.value() : rounded(a);
  e.squares = sq.any() ? sq.value() : rounded(q);
  e.dot = sp.any() ? sp.value() : all_neg_products ? -0.0 : rounded(p);
  real root = q;
  e.norm = sq.any() ? sq.value() : rounded(root.root());
  real mean = s;
  e.mean = ss.any() ? ss.value() : n == 0 ? nan : all_neg ? -0.0 : rounded(mean /= count);
  if (n <= correction || n == 0 || ss.any()) {
    e.var = e.std = nan;
  } else {
    real spread = q;
    spread *= count;
    real square = s;
    square *= s;
    spread -= square;
    spread /= count;
    spread /= real(static_cast<double>(n - correction));
    e.var = rounded(spread);
    e.std = rounded(spread.root());
  }
  return e;
}

numbers parts_of(const numbers& x, int which, bool flipped) {
  numbers out{part_of(x.type), std::vector<std::byte>(x.bytes.size() / 2)};
  const std::size_t size = info(out.type).size;
  for (std::int64_t i = 0; i < out.size(); ++i) {
    std::byte* to = out.bytes.data() + static_cast<std::size_t>(i) * size;
    std::memcpy(to, x.bytes.data() + static_cast<std::size_t>(2 * i + which) * size, size);
    if (flipped) to[size - 1] ^= std::byte{0x80};
  }
  return out;
}

namespace {

numbers joined(numbers a, const numbers& b) {
  append(a, b);
  return a;
}

/// (n·Σ|x|² - |Σx|²) / (n(n - correction)), or its root.
std::pair<double, double> complex_spread(const numbers& re, const numbers& im, rounding mode, std::int64_t correction) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::int64_t n = re.size();
  if (n <= correction || n == 0) return {nan, nan};
  const real count(static_cast<double>(n));
  real all;
  for (const numbers* x : {&re, &im}) {
    real s, q;
    for (std::int64_t i = 0; i < n; ++i) {
      const real v(number(*x, i));
      if (!std::isfinite(number(*x, i))) return {nan, nan};
      real square = v;
      square *= v;
      s += v;
      q += square;
    }
    q *= count;
    real square = s;
    square *= s;
    q -= square;
    all += q;
  }
  all /= count;
  all /= real(static_cast<double>(n - correction));
  return with_float(re.type, [&]<class T>() {
    const double var = all.round<T>(mode);
    return std::pair{var, all.root().round<T>(mode)};
  });
}

}  // namespace

complex_verdict judge_complex(const numbers& x, const numbers& y, rounding mode, std::int64_t correction) {
  const numbers xr = parts_of(x, 0), xi = parts_of(x, 1), yr = parts_of(y, 0), yi = parts_of(y, 1);
  const verdict re = judge(joined(xr, parts_of(x, 1, true)), joined(yr, yi), mode, 0);
  const verdict im = judge(joined(xr, xi), joined(yi, yr), mode, 0);
  const verdict of_re = judge(xr, xr, mode, 1), of_im = judge(xi, xi, mode, 1);
  const auto [var, deviation] = complex_spread(xr, xi, mode, correction);
  return {{of_re.sum, of_im.sum}, {of_re.mean, of_im.mean}, {re.dot, im.dot}, im.squares, im.norm, var, deviation};
}

verdict judge_by_core(const numbers& x, const numbers& y, std::int64_t correction) {
  return with_float(x.type, [&]<class T>() {
    const auto at = [](const numbers& from, std::int64_t i) {
      typename exact::format<T>::bits b;
      std::memcpy(&b, from.at(i), sizeof b);
      return exact::format<T>::from_bits(b);
    };
    auto p = exact::dot_state<T>::identity();
    auto m = exact::moments_state<T>::identity();
    for (std::int64_t i = 0; i < x.size(); ++i) {
      p.add(at(x, i), at(y, i));
      m.add(at(x, i));
    }
    verdict v{};
    v.sum = static_cast<double>(m.sum());
    v.dot = static_cast<double>(p.value());
    v.var = static_cast<double>(m.var(correction));
    return v;
  });
}

double verdict_on(op o, const verdict& v, int part) {
  switch (o) {
    case op::sum: return v.sum;
    case op::mean: return v.mean;
    case op::norm1: return v.norm1;
    case op::sum_of_squares: return v.squares;
    case op::norm2: return v.norm;
    case op::dot: return v.dot;
    case op::var: return v.var;
    case op::std_dev: return v.std;
    case op::mean_var: return part == 0 ? v.mean : v.var;
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

bool same_number(double got, double want) { return same(got, want); }

}  // namespace wf::test
