// SPDX-License-Identifier: Apache-2.0
/// \file rows_any.cuh
/// An accumulator of rows (rows_kernel.cuh) that learns operation and element type at run time: one kernel for all that no
/// faster one is compiled for. Whole numbers and keys are exact; prod and logsumexp are native, in f64.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/checked_folds.cuh>
#include <warpfold/detail/gpu/accumulate/folds.cuh>
#include <warpfold/detail/gpu/accumulate/native_folds.cuh>
#include <warpfold/detail/gpu/domain/rows_view.cuh>
#include <warpfold/detail/gpu/epilogue/integer_moments.cuh>
#include <warpfold/detail/gpu/epilogue/state_words.cuh>

namespace wf::device::inline WF_BUILD {

/// f(T{}) of the real type that is named, as kernels know it.
template <class F>
__device__ __forceinline__ void with_real(dtype t, F f) {
  switch (t) {
    case dtype::f16: return f(f16{});
    case dtype::bf16: return f(bf16{});
    case dtype::f32: return f(float{});
    case dtype::f64: return f(double{});
    case dtype::i8: return f(std::int8_t{});
    case dtype::i16: return f(std::int16_t{});
    case dtype::i32: return f(std::int32_t{});
    case dtype::i64: return f(std::int64_t{});
    case dtype::u8: return f(std::uint8_t{});
    case dtype::u16: return f(std::uint16_t{});
    case dtype::u32: return f(std::uint32_t{});
    case dtype::u64: return f(std::uint64_t{});
    case dtype::boolean: return f(bool{});
    default: return;
  }
}
/// The same of floats and the parts of complex numbers.
template <class F>
__device__ __forceinline__ void with_float(dtype t, F f) {
  switch (t) {
    case dtype::f16: return f(f16{});
    case dtype::bf16: return f(bf16{});
    case dtype::f32: case dtype::c64: return f(float{});
    default: return f(double{});
  }
}

/// What is done with elements.
enum class row_work : std::uint8_t { count, nonzero, add, multiply, extremes, arg, moments, product, complex_product, logsumexp, checked_sum, checked_product };

/// The work of an operation; that of floats' sums and moments is done elsewhere.
inline row_work row_work_of(op o, dtype t) {
  switch (operation_of(o).state) {
    case state_kind::count: return row_work::count;
    case state_kind::nonzeros: return row_work::nonzero;
    case state_kind::extremes: return row_work::extremes;
    case state_kind::places: return row_work::arg;
    case state_kind::logsumexp: return row_work::logsumexp;
    case state_kind::product: return is_complex(t) ? row_work::complex_product : is_floating(t) ? row_work::product : row_work::multiply;
    case state_kind::moments: return row_work::moments;
    case state_kind::sums: case state_kind::dots: return operation_of(o).wraps ? row_work::add : row_work::moments;
    case state_kind::own: break;
  }
  return row_work::count;  // what own_operation.cuh is asked for
}

template <int Inputs>
struct any_rows {
  static constexpr int inputs = Inputs, fixed_size = 0;  ///< the size is known when it runs
  static constexpr bool proves = false, packs = false;
  struct state {
    std::uint64_t w[5];
  };
  using running = state;

  op what;
  dtype type;
  row_work work;
  std::int8_t size, align;  ///< an element's, in bytes
  bool is_signed, is_float;
  bool states;                  ///< states are wanted, not answers
  std::size_t answer_bytes;
  wf::rounding rounding;
  std::int64_t correction;
  std::int64_t first_index;     ///< the first index in a row

  WF_HD int item_size() const { return size; }
  WF_HD int item_align() const { return align; }
  std::size_t result_size() const { return answer_bytes; }
  struct facts_type {};
  facts_type facts(std::uint64_t, std::uint64_t, std::uint64_t) const { return {}; }

  static any_rows of(const rows_request& r) {
    const dtype t = r.element;
    const result_kind k = result_of_kind(operation_of(r.what).answer, t);
    const dtype_info i = info(t);
    const bool sign = t == dtype::i8 || t == dtype::i16 || t == dtype::i32 || t == dtype::i64;
    const row_work work = r.checked ? (r.what == op::prod ? row_work::checked_product : row_work::checked_sum) : row_work_of(r.what, t);
    const std::size_t answer = r.checked ? sizeof(wf::checked<std::int64_t>) : info(k.type).size * static_cast<std::size_t>(k.values);
    any_rows a{r.what, t, work, static_cast<std::int8_t>(i.size), static_cast<std::int8_t>(i.part), sign, is_floating(t),
               r.state_bytes != 0, r.state_bytes != 0 ? r.state_bytes : answer,
               r.options.rounding, r.options.correction, r.first};
    return a;
  }

  /// Whether there is code for its work: of two inputs there are dot products alone.
  bool is_compiled() const { return Inputs == 1 || work == row_work::add || work == row_work::checked_sum; }

  __device__ __forceinline__ state start() const { return identity(); }
  __device__ __forceinline__ state identity() const {
    state s{{0, 0, 0, 0, 0}};
    switch (work_done()) {
      case row_work::multiply: s.w[0] = 1; break;
      case row_work::checked_product: s = words_of(product_fold().identity()); break;
      case row_work::extremes: s.w[0] = static_cast<std::uint64_t>(INT64_MAX); s.w[1] = static_cast<std::uint64_t>(INT64_MIN); break;
      case row_work::arg: s.w[0] = static_cast<std::uint64_t>(INT64_MAX); s.w[1] = ~std::uint64_t{0}; break;
      case row_work::product: case row_work::complex_product: s.w[0] = bits_of(1); s.w[1] = bits_of(0); break;
      case row_work::logsumexp: s.w[0] = bits_of(-infinity()); s.w[1] = bits_of(0); break;
      default: break;
    }
    return s;
  }
  __device__ __forceinline__ void add_item(running& s, const pack (&p)[Inputs], std::uint64_t i) const {
    const std::uint64_t x = raw(p[0]), y = Inputs == 2 ? raw(p[Inputs - 1]) : x;
    switch (work_done()) {
      case row_work::count: break;
      case row_work::nonzero: s.w[0] += nonzero(p[0]) ? 1 : 0; break;
      case row_work::add: s.w[0] += term(x, y); break;
      case row_work::multiply: s.w[0] *= whole(x); break;
      case row_work::checked_sum: {
        auto now = part_of<typename sum_fold::state>(s);
        if constexpr (Inputs == 2) sums().add_item(now, i, whole(x), whole(y));
        else sums().add_item(now, i, whole(x));
        s = words_of(now);
        break;
      }
      case row_work::checked_product: {
        auto now = part_of<checked_product_fold<8, true>::state>(s);
        product_fold().add_item(now, i, whole(x));
        s = words_of(now);
        break;
      }
      case row_work::extremes: case row_work::arg: {
        const std::int64_t k = key(x);
        s = combine(s, work == row_work::arg ? state{{static_cast<std::uint64_t>(rank(k)), i, 0, 0, 0}}
                                             : state{{static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(k), 0, 0, 0}});
        break;
      }
      case row_work::moments: {
        const std::uint64_t v = whole(x);
        const bool negative = is_signed && static_cast<std::int64_t>(v) < 0;
        const std::uint64_t m = negative ? 0 - v : v;
        const exact::u128 square = exact::u128{m} * m;
        s = combine(s, {{v, negative ? ~std::uint64_t{0} : 0, static_cast<std::uint64_t>(square), static_cast<std::uint64_t>(square >> 64), 0}});
        break;
      }
      case row_work::product: s = combine(s, {{bits_of(real_of(x)), 0, 0, 0, 0}}); break;
      case row_work::complex_product: {
        double re, im;
        if (size == 8) {
          re = static_cast<double>(__builtin_bit_cast(float, p[0].word[0]));
          im = static_cast<double>(__builtin_bit_cast(float, p[0].word[1]));
        } else {
          re = number_of_bits(raw(p[0]));
          im = number_of_bits(std::uint64_t{p[0].word[3]} << 32 | p[0].word[2]);
        }
        s = combine(s, {{bits_of(re), bits_of(im), 0, 0, 0}});
        break;
      }
      case row_work::logsumexp: {
        const double v = real_of(x);
        const bool special = v == infinity() || v != v;
        s = combine(s, {{bits_of(special ? 0 : v), bits_of(special ? v : v == -infinity() ? 0 : 1), 0, 0, 0}});
        break;
      }
    }
  }
  __device__ __forceinline__ state total(const running& s) const { return s; }
  __device__ __forceinline__ state combine(state a, const state& b) const {
    switch (work_done()) {
      case row_work::count: break;
      case row_work::nonzero: case row_work::add: a.w[0] += b.w[0]; break;
      case row_work::multiply: a.w[0] *= b.w[0]; break;
      case row_work::checked_sum: return words_of(sums().combine(part_of<typename sum_fold::state>(a), part_of<typename sum_fold::state>(b)));
      case row_work::checked_product:
        return words_of(product_fold().combine(part_of<checked_product_fold<8, true>::state>(a), part_of<checked_product_fold<8, true>::state>(b)));
      case row_work::extremes:
        if (as_signed(b.w[0]) < as_signed(a.w[0])) a.w[0] = b.w[0];
        if (as_signed(b.w[1]) > as_signed(a.w[1])) a.w[1] = b.w[1];
        break;
      case row_work::arg: {
        const bool none = as_signed(b.w[1]) < 0, first = as_signed(a.w[1]) < 0;
        const bool better = as_signed(b.w[0]) < as_signed(a.w[0]) || (b.w[0] == a.w[0] && b.w[1] < a.w[1]);
        if (!none && (first || better)) a = b;
        break;
      }
      case row_work::moments: {
        const exact::u128 sum = (exact::u128{a.w[1]} << 64 | a.w[0]) + (exact::u128{b.w[1]} << 64 | b.w[0]);
        const exact::u128 low = (exact::u128{a.w[3]} << 64 | a.w[2]), squares = low + (exact::u128{b.w[3]} << 64 | b.w[2]);
        a = {{static_cast<std::uint64_t>(sum), static_cast<std::uint64_t>(sum >> 64), static_cast<std::uint64_t>(squares),
              static_cast<std::uint64_t>(squares >> 64), a.w[4] + b.w[4] + (squares < low ? 1 : 0)}};
        break;
      }
      case row_work::product: a.w[0] = bits_of(number_of_bits(a.w[0]) * number_of_bits(b.w[0])); break;
      case row_work::complex_product: {
        const double ar = number_of_bits(a.w[0]), ai = number_of_bits(a.w[1]), br = number_of_bits(b.w[0]), bi = number_of_bits(b.w[1]);
        a.w[0] = bits_of(ar * br - ai * bi);
        a.w[1] = bits_of(ar * bi + ai * br);
        break;
      }
      case row_work::logsumexp: {
        const double x = number_of_bits(a.w[0]), y = number_of_bits(b.w[0]), s = number_of_bits(a.w[1]), t = number_of_bits(b.w[1]);
        const bool first = x >= y;
        const double largest = first ? x : y, less = first ? y : x, kept = first ? s : t, moved = first ? t : s;
        // An infinity, or a NaN, stays one where exp() is 0; of nothing and -inf alone `less` is -inf, and nothing moves.
        const double by = less == -infinity() ? 1.0 : exp(less - largest);
        a.w[0] = bits_of(largest);
        a.w[1] = bits_of(kept + (moved - moved == 0 ? moved * by : moved));
        break;
      }
    }
    return a;
  }

  /// Not inlined: it is long, and kernels of segments ask twice.
  __device__ __attribute__((noinline)) bool answer(const state& s, std::uint64_t n, const facts_type&, void* out) const {
    if (states) {
      put_words(s, n, static_cast<std::int64_t*>(out));
      return true;
    }
    switch (work_done()) {
      case row_work::count: write_as<std::int64_t>(out, static_cast<std::int64_t>(n)); break;
      case row_work::nonzero:
        if (what == op::any) write_as<bool>(out, s.w[0] != 0);
        else if (what == op::all) write_as<bool>(out, s.w[0] == n);
        else write_as<std::uint64_t>(out, s.w[0]);
        break;
      case row_work::add: case row_work::multiply: write_as<std::uint64_t>(out, s.w[0]); break;
      case row_work::checked_sum: sums().write(part_of<typename sum_fold::state>(s), n, out); break;
      case row_work::checked_product: product_fold().write(part_of<checked_product_fold<8, true>::state>(s), n, out); break;
      case row_work::arg: write_as<std::int64_t>(out, as_signed(s.w[1]) < 0 ? -1 : as_signed(s.w[1]) + first_index); break;
      case row_work::extremes:
        with_real(type, [&]<class T>(T) { extremes_fold<T>{what}.write({as_signed(s.w[0]), as_signed(s.w[1])}, n, out); });
        break;
      case row_work::moments: {
        const integer_moments m{{s.w[0], s.w[1]}, {s.w[2], s.w[3], s.w[4]}};
        m.answer(what, n, -1, rounding, correction, static_cast<double*>(out));
        break;
      }
      case row_work::product: case row_work::complex_product:
        with_float(type, [&]<class T>(T) {
          static_cast<T*>(out)[0] = from_double<T>(number_of_bits(s.w[0]));
          if (work == row_work::complex_product) static_cast<T*>(out)[1] = from_double<T>(number_of_bits(s.w[1]));
        });
        break;
      case row_work::logsumexp: {
        const double sum = number_of_bits(s.w[1]);
        double v = number_of_bits(s.w[0]) + log(sum);
        if (sum != sum || sum == infinity()) v = sum;
        if (sum == 0) v = -infinity();
        with_float(is_float ? type : dtype::f64, [&]<class T>(T) { write_as<T>(out, from_double<T>(v)); });
        break;
      }
    }
    return true;
  }

 private:
  __device__ __forceinline__ row_work work_done() const { return Inputs == 1 ? work : work == row_work::checked_sum ? row_work::checked_sum : row_work::add; }
  using sum_fold = checked_sum_fold<8, Inputs, true>;
  __device__ __forceinline__ words_of_64<8, true> wide() const { return {is_signed, type == dtype::boolean}; }
  __device__ __forceinline__ sum_fold sums() const { return {what, wide()}; }
  __device__ __forceinline__ checked_product_fold<8, true> product_fold() const { return {wide()}; }
  template <class S>
  static __device__ __forceinline__ S part_of(const state& s) {
    S part;
    __builtin_memcpy(&part, &s, sizeof part);
    return part;
  }
  template <class S>
  static __device__ __forceinline__ state words_of(const S& part) {
    static_assert(sizeof(S) <= sizeof(state));
    state s{{0, 0, 0, 0, 0}};
    __builtin_memcpy(&s, &part, sizeof part);
    return s;
  }
  /// The words of a state, as docs/states.md has them.
  __device__ __attribute__((noinline)) void put_words(const state& s, std::uint64_t n, std::int64_t* to) const {
    auto* const own = reinterpret_cast<std::uint64_t*>(to + 1);
    to[0] = static_cast<std::int64_t>(n);
    switch (work_done()) {
      case row_work::count: own[0] = n; break;
      case row_work::checked_sum: case row_work::checked_product: break;  // answers alone
      case row_work::nonzero: case row_work::add: case row_work::multiply: case row_work::product: own[0] = s.w[0]; break;
      case row_work::complex_product: case row_work::logsumexp:
        own[0] = s.w[0];
        own[1] = s.w[1];
        break;
      case row_work::extremes:
        with_real(type, [&]<class T>(T) { extremes_fold<T>{what}.write_state({as_signed(s.w[0]), as_signed(s.w[1])}, n, first_index, own); });
        break;
      case row_work::arg: {
        const std::int64_t index = as_signed(s.w[1]), rank = as_signed(s.w[0]);
        const bool nan = index >= 0 && is_float && rank == INT64_MIN;
        auto k = static_cast<std::uint64_t>(what == op::argmax ? ~rank : rank);  // without elements the greatest
        if (!is_signed && !is_float && type != dtype::boolean && size < 8) k += std::uint64_t{1} << (8 * size - 1);
        own[0] = index < 0 || nan ? 0 : k;
        own[1] = static_cast<std::uint64_t>(index < 0 ? -1 : index + first_index);
        own[2] = nan ? 1 : 0;
        break;
      }
      case row_work::moments: {
        std::int64_t digits[14] = {};  // six for Σx, eight for Σx²
        for (int k = 0; k < 3; ++k) digits[k] = static_cast<std::int64_t>(s.w[k / 2] >> (32 * (k % 2)) & 0xffffffffu);
        digits[3] = as_signed(s.w[1]) >> 32;
        for (int k = 0; k < 6; ++k) digits[6 + k] = static_cast<std::int64_t>(s.w[2 + k / 2] >> (32 * (k % 2)) & 0xffffffffu);
        if (what == op::mean) put_state<std::int64_t, terms::sum>(digits, nullptr, n, what, to);
        else put_state<std::int64_t, terms::moments>(digits, nullptr, n, what, to);
        break;
      }
    }
  }
  static __device__ __forceinline__ std::uint64_t bits_of(double x) { return __builtin_bit_cast(std::uint64_t, x); }
  static __device__ __forceinline__ double number_of_bits(std::uint64_t b) { return __builtin_bit_cast(double, b); }
  static __device__ __forceinline__ double infinity() { return number_of_bits(std::uint64_t{0x7ff} << 52); }
  static __device__ __forceinline__ std::int64_t as_signed(std::uint64_t w) { return static_cast<std::int64_t>(w); }
  /// The element's bits.
  static __device__ __forceinline__ std::uint64_t raw(const pack& p) { return std::uint64_t{p.word[1]} << 32 | p.word[0]; }
  /// An integer of 64 bits.
  __device__ __forceinline__ std::uint64_t whole(std::uint64_t x) const {
    if (type == dtype::boolean) return x != 0 ? 1 : 0;
    const int up = 64 - 8 * size;
    return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(x << up) >> up) : x;
  }
  __device__ __forceinline__ std::uint64_t term(std::uint64_t x, std::uint64_t y) const {
    const std::uint64_t v = whole(x);
    if (what == op::norm1) return is_signed && as_signed(v) < 0 ? 0 - v : v;
    return what == op::sum ? v : v * whole(y);
  }
  /// As pack_keys.
  __device__ __forceinline__ std::int64_t key(std::uint64_t x) const {
    const int up = 64 - 8 * size;
    if (is_float) {
      const std::int64_t b = static_cast<std::int64_t>(x << up) >> up;
      return b < 0 ? b ^ static_cast<std::int64_t>(~(~std::uint64_t{0} << (63 - up))) : b;
    }
    if (is_signed || type == dtype::boolean) return as_signed(whole(x));
    return as_signed(x - (std::uint64_t{1} << (63 - up)));
  }
  /// As arg_fold.
  __device__ __forceinline__ std::int64_t rank(std::int64_t k) const {
    if (is_float) {
      const std::int64_t most = type == dtype::f16 ? exact::format<f16>::infinity : type == dtype::bf16 ? exact::format<bf16>::infinity
          : type == dtype::f32 ? exact::format<float>::infinity : static_cast<std::int64_t>(exact::format<double>::infinity);
      if (k > most || k < ~most) return INT64_MIN;
      if (k == -1) k = 0;
    }
    return what == op::argmax ? ~k : k;
  }
  __device__ __forceinline__ bool nonzero(const pack& p) const {
    if (type == dtype::c64 || type == dtype::c128) {
      if (size == 8) return ((p.word[0] | p.word[1]) & 0x7fffffffu) != 0;
      return (p.word[0] | p.word[2] | ((p.word[1] | p.word[3]) & 0x7fffffffu)) != 0;
    }
    const std::uint64_t x = raw(p);
    return is_float ? x << (65 - 8 * size) != 0 : x != 0;
  }
  /// A real element as f64.
  __device__ __forceinline__ double real_of(std::uint64_t x) const {
    if (!is_float) return is_signed ? static_cast<double>(as_signed(whole(x))) : static_cast<double>(whole(x));
    if (type == dtype::f64) return number_of_bits(x);
    const auto w = static_cast<std::uint32_t>(x);
    if (type == dtype::f32) return static_cast<double>(__builtin_bit_cast(float, w));
    if (type == dtype::bf16) return static_cast<double>(__builtin_bit_cast(float, w << 16));
    return static_cast<double>(to_float(f16::from_bits(static_cast<std::uint16_t>(w))));
  }
};

}  // namespace wf::device::inline WF_BUILD
