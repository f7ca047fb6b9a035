// SPDX-License-Identifier: Apache-2.0
#include "entries.hpp"
#include "promises.hpp"

#include <cli/option_text.hpp>
#include <lens/own/arguments.hpp>
#include <warpfold/error.hpp>
#include <warpfold/io/dtype.hpp>

#include <limits>
#include <vector>

using fuzz::require;

namespace {

std::vector<lens::own::parameter> parameters() {
  using namespace lens::own;
  return {describe<float*>(),         describe<const double*>(), describe<__half*>(),       describe<__nv_bfloat16*>(),
          describe<std::int8_t*>(),   describe<bool*>(),         describe<std::uint64_t*>(), describe<void*>(),
          describe<float>(),          describe<double>(),        describe<__half>(),        describe<__nv_bfloat16>(),
          describe<bool>(),           describe<std::int8_t>(),   describe<std::uint8_t>(),  describe<std::int16_t>(),
          describe<std::int32_t>(),   describe<std::uint32_t>(), describe<std::int64_t>(),  describe<std::uint64_t>(),
          describe<float**>(),        describe<std::vector<int>>()};
}

std::size_t size_of(const std::string& element) {
  for (const wf::dtype_info& d : wf::dtypes)
    if (d.name == element) return d.size;
  return 0;
}

void check_argument(const lens::own::parameter& p, const std::string& text) {
  const lens::own::kernel k{{p}, {}};
  try {
    const auto all = lens::own::arguments_for(k, {text}, 1, std::uint64_t{1} << 16);
    require(all.size() == 1 && p.is_known, "an argument too many, or for an unknown type");
    const auto& a = all.front();
    require(a.is_array == p.is_pointer, "an array for a number, or a number for an array");
    const std::size_t size = size_of(a.element);
    require(size != 0 && a.bytes.size() == (a.is_array ? a.count * size : size), "bytes that are not those of the type");
    require(!a.is_array || a.bytes.size() <= std::size_t{1} << 16, "an array larger than allowed");
    require(*p.element == '\0' || a.element == p.element, "another type than the kernel's");
    if (a.is_array) require(lens::own::elements_text(a, a.bytes.data()).empty() == (a.count == 0), "an array without text");
  } catch (const wf::error& e) {
    require(e.code() == wf::errc::bad_argument, "an error that is not bad_argument");
    fuzz::require_one_line(e.what());
  }
}

}  // namespace

void check_options(std::span<const std::byte> content) {
  static const auto all = parameters();
  const std::string_view text = fuzz::text_of(content);
  for (std::size_t from = 0; from <= text.size();) {
    const auto end = std::min(text.find('\n', from), text.size());
    const std::string line(text.substr(from, end - from));
    from = end + 1;
    for (const auto& p : all) check_argument(p, line);
    for (const auto check : {cli::check_offset, cli::check_correction, cli::check_axes})
      if (const std::string said = check(line); !said.empty()) fuzz::require_one_line(said);
    if (const auto axes = cli::axes_of(line)) require(!axes->empty(), "a list of no axes");
    try {
      for (const std::uint32_t n : cli::extent_option("--grid", line)) require(n >= 1 && n <= 2147483647u, "an extent of nothing");
    } catch (const wf::error& e) {
      require(e.code() == wf::errc::bad_argument, "an error that is not bad_argument");
      fuzz::require_one_line(e.what());
    }
  }
}
