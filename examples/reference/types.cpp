// SPDX-License-Identifier: Apache-2.0
// types.hpp, half.hpp, io/dtype.hpp: element types, at compile time and at run time.
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <warpfold/warpfold.hpp>

#include "expect.hpp"

/// A type of your own that has the bits of an f16: arrays of it are taken as arrays of those.
struct my_half {
  std::uint16_t bits;
};
template <>
struct wf::stands_for<my_half> {
  using type = wf::f16;
};

namespace {

static_assert(wf::floating<wf::bf16> && wf::integer<bool> && wf::complex_number<wf::c64> && wf::real<float> && wf::element<wf::c128>);
static_assert(!wf::real<wf::c64> && !wf::element<long double> && !wf::floating<int>);
static_assert(std::is_same_v<wf::c64, std::complex<float>> && std::is_same_v<wf::c128, std::complex<double>>);

// What answers are: of sums, of means, of variances.
static_assert(std::is_same_v<wf::sum_type<std::int8_t>, std::int64_t> && std::is_same_v<wf::sum_type<float>, float>);
static_assert(std::is_same_v<wf::wide_integer<std::uint16_t>, std::uint64_t>);
static_assert(std::is_same_v<wf::mean_type<int>, double> && std::is_same_v<wf::var_type<wf::c64>, float>);
static_assert(std::is_same_v<wf::stands_for<my_half>::type, wf::f16>);

/// A function for host and device, in a header of your own that nvcc compiles too.
WF_HD double halved(double x) { return x / 2; }

void halves() {
  const wf::f16 one(1.0F), tenth(0.1);               // rounded once, ties to even
  const wf::bf16 large(1e30F);
  expect(static_cast<float>(one) == 1 && static_cast<double>(tenth) == 0.0999755859375 && static_cast<float>(large) > 9e29F);
  expect(one.bits == 0x3c00 && static_cast<float>(wf::f16::from_bits(0x7bff)) == 65504);
  const std::vector<wf::f16> many(1000, tenth);
  expect(static_cast<float>(wf::sum(many)) == 100);
  const std::vector<my_half> mine(1000, my_half{0x3c00});
  expect(static_cast<float>(wf::sum(mine)) == 1000);
  expect(wf::to_double(tenth) == static_cast<double>(tenth) && halved(3) == 1.5);
}

void at_run_time() {
  const wf::dtype type = wf::dtype_of<std::int32_t>;
  expect(type == wf::dtype::i32 && wf::dtype_named("i32") == type && !wf::dtype_named("i33"));
  const wf::dtype_info of_type = wf::info(type);
  expect(of_type.name == "i32" && of_type.npy == "i4" && of_type.size == 4 && of_type.part == 4);   // bytes
  expect(wf::is_integer(type) && wf::is_floating(wf::dtype::f16) && wf::is_complex(wf::dtype::c64));
  expect(of_type.kind == wf::number_kind::integer && wf::kind_of(wf::dtype::c128) == wf::number_kind::complex);
  expect(wf::element_size(wf::dtype::c64) == 8);
  for (const wf::dtype_info& each : wf::dtypes) expect(wf::dtype_named(each.name).has_value());
  expect(wf::native_order == wf::byte_order::little || wf::native_order == wf::byte_order::big);
}

}  // namespace

int main() {
  halves();
  at_run_time();
}
