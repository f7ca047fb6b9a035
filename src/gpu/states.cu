// SPDX-License-Identifier: Apache-2.0
// States in the device's memory: merged, and answered.
#include <warpfold/detail/gpu/array_calls.hpp>
#include <warpfold/detail/gpu/kernels/merge_states.cuh>

#include "rows.cuh"
#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

cudaError_t launched(const launch_config& c, auto kernel, auto... a) { return c.blocks == 0 ? cudaSuccess : launch(kernel, c, a...); }

/// Sums of so many digits, in numbers of T: at most those of its products.
template <class T>
cudaError_t answer_sums(const states_request& r, int parts, int digits, int unit, cudaStream_t stream) {
  if (parts != r.rows.sums || digits != r.rows.digits || r.rows.squares != 0) return cudaErrorInvalidValue;
  const exact_question q{r.what, r.options.rounding, r.options.correction};
  return launched({static_cast<unsigned>(r.count), 32, 0, stream}, answer_sums_kernel<exact::format<T>::product_digits, T>, r.states, static_cast<int>(r.words), parts, digits, unit, q,
                  static_cast<T*>(r.out));
}

template <class T, int Parts>
cudaError_t answer_moments(const states_request& r, cudaStream_t stream) {
  using rows = rows_in_states<exact::format<T>, Parts>;
  if (Parts != r.rows.sums || rows::digits0 != r.rows.digits || rows::squares != r.rows.squares) return cudaErrorInvalidValue;
  const exact_question q{r.what, r.options.rounding, r.options.correction};
  const int values = r.what == op::mean_var ? Parts + 1 : is_spread(r.what) ? 1 : Parts;
  return launched({static_cast<unsigned>(r.count), 32, 0, stream}, answer_moments_kernel<rows, T>, r.states, static_cast<int>(r.words), q, values,
                  static_cast<T*>(r.out));
}

/// Elements have parts of type T. Squares of complex numbers are sums over both parts in one row.
template <class T, int Parts = 1>
cudaError_t answer_floats(const states_request& r, cudaStream_t stream) {
  using f = exact::format<T>;
  switch (r.kind) {
    case state_kind::sums: return answer_sums<T>(r, Parts, f::digits, f::min_exponent, stream);
    case state_kind::dots: return answer_sums<T>(r, r.rows.sums == 1 ? 1 : Parts, f::product_digits, 2 * f::min_exponent, stream);
    case state_kind::moments: return answer_moments<T, Parts>(r, stream);
    default: return cudaErrorNotSupported;
  }
}

template <class T>
std::int64_t nan_bits() { return static_cast<std::int64_t>(exact::format<T>::quiet_nan); }

cudaError_t answer(const states_request& r, cudaStream_t stream) {
  if (r.rows.sums != 0) {
    if (is_integer(r.element)) {
      return r.kind == state_kind::moments ? answer_moments<double, 1>(r, stream) : answer_sums<double>(r, 1, wf::detail::digits_of_integers, 0, stream);
    }
    switch (r.element) {
      case dtype::f16: return answer_floats<f16>(r, stream);
      case dtype::bf16: return answer_floats<bf16>(r, stream);
      case dtype::f32: return answer_floats<float>(r, stream);
      case dtype::c64: return answer_floats<float, 2>(r, stream);
      case dtype::c128: return answer_floats<double, 2>(r, stream);
      default: return answer_floats<double>(r, stream);
    }
  }
  key_answer q{r.what, static_cast<int>(element_size(r.element)), is_floating(r.element), r.element == dtype::u64 ? INT64_MIN : 0, 0};
  switch (r.element) {
    case dtype::f16: q.nan = nan_bits<f16>(); break;
    case dtype::bf16: q.nan = nan_bits<bf16>(); break;
    case dtype::f32: q.nan = nan_bits<float>(); break;
    case dtype::f64: q.nan = nan_bits<double>(); break;
    default: break;
  }
  return launched({static_cast<unsigned>((r.count + 127) / 128), 128, 0, stream}, answer_words_kernel, r.states, r.count, static_cast<int>(r.words), q,
                  static_cast<unsigned char*>(r.out));
}

cudaError_t merge(const states_request& r, cudaStream_t stream) {
  if (r.rows.sums == 0 && r.sets == 0) return cudaSuccess;  // sums of words are canonical
  if (r.sets == 0 || (r.adds && r.into)) {
    if (r.sets > 1) return cudaErrorNotSupported;
    const form_words f{static_cast<int>(r.words), r.rows.sums, r.rows.digits, r.rows.squares, r.rows.terms};
    return launched({static_cast<unsigned>(r.count), 32, 0, stream}, settle_kernel, r.states, r.sets == 0 ? nullptr : r.from, r.take_out, f);
  }
  state_merge how{};
  switch (r.kind) {
    case state_kind::extremes: how = state_merge::extremes; break;
    case state_kind::places: how = r.what == op::argmin ? state_merge::first_least : state_merge::first_greatest; break;
    case state_kind::product: how = state_merge::products; break;
    default: return cudaErrorNotSupported;
  }
  return launched({static_cast<unsigned>((r.count + 127) / 128), 128, 0, stream}, merge_sets_kernel, r.states, r.from, r.sets, r.count,
                  static_cast<int>(r.words), how, r.nothing[0], r.nothing[1], r.into);
}

cudaError_t run(const states_request& r, cudaStream_t stream) {
  if (r.count > INT32_MAX || r.words > most_state_words) return cudaErrorInvalidValue;
  if (r.states == nullptr && r.count != 0) return cudaErrorInvalidValue;
  if (r.kind == state_kind::own) {
    const states_function f = find_states_own(r.what, r.element);
    return f == nullptr ? cudaErrorNotSupported : f(r, stream);
  }
  const cudaError_t e = r.sets < 0 ? cudaSuccess : merge(r, stream);
  return e == cudaSuccess && r.out != nullptr ? answer(r, stream) : e;
}

constexpr unsigned spread_threads = 32;

/// One thread per state, since few callers ask for spreads.
__global__ void __launch_bounds__(spread_threads) spreads_kernel(const std::int64_t* states, std::int64_t words, std::int64_t count, exact::spread_of_states q, dtype type, void* out) {
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * spread_threads + threadIdx.x;
  if (k >= count) return;
  exact::scaled found{};
  const bool is = q.answer(states + k * words + 1, found);
  switch (type) {
    case dtype::f16: static_cast<f16*>(out)[k] = q.rounded<f16>(is, found); break;
    case dtype::bf16: static_cast<bf16*>(out)[k] = q.rounded<bf16>(is, found); break;
    case dtype::f32: static_cast<float*>(out)[k] = q.rounded<float>(is, found); break;
    default: static_cast<double*>(out)[k] = q.rounded<double>(is, found);
  }
}

}  // namespace

}  // namespace wf::device::inline WF_BUILD

int wf::array_calls::spreads(const std::int64_t* states, std::int64_t words, std::int64_t count, const detail::rows_of_digits& rows, dtype element, const exact::spread_question& q, void* out, void* stream) {
  const auto [type, unit] = exact::spread_of_states::type_of(element);
  return device::launched({static_cast<unsigned>((count + device::spread_threads - 1) / device::spread_threads), device::spread_threads, 0, static_cast<cudaStream_t>(stream)},
                          device::spreads_kernel, states, words, count, exact::spread_of_states{unit, rows, q}, type, out);
}

int wf::device::built_kernels::states(const states_request& r, void* stream) {
  return static_cast<int>(device::run(r, static_cast<cudaStream_t>(stream)));
}
