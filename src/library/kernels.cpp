// SPDX-License-Identifier: Apache-2.0
// How a device's kernels are asked: what is refused, and in which words.
#include <string>

#include <warpfold/gpu.hpp>
#include <warpfold/error.hpp>

#include "shapes.hpp"

namespace wf {

namespace {

std::string who(const device_machine& m, op what, const char* of) {
  return std::string(op_names[static_cast<int>(what)]) + of + " on " + (m.name == std::string_view("simt") ? "simt" : "a GPU");
}
[[noreturn]] void refuse_elements(const std::string& who, dtype element, const char* how = "") {
  throw error(errc::unsupported, who + ": elements of type " + std::string(info(element).name) + how +
                                     " are not among those that it takes there: see docs/gpu.md");
}

}  // namespace

namespace detail {

void run_whole(const device_machine& m, const call_kernels& kernels, const device_request& r, void* scratch, void* stream) {
  const auto name = [&] { return who(m, r.what, ""); };
  if (r.n < 0) throw error(errc::bad_argument, name() + ": " + std::to_string(r.n) + " elements; 0 or more are right");
  if (r.out == nullptr) refuse_out(name());
  const run_kernel run = r.checked ? kernels.checked : kernels.whole[r.accuracy == accuracy::fast ? 1 : 0];
  const int code = run == nullptr ? no_such_kernel : run(r, scratch, stream);
  if (code == no_such_kernel) refuse_elements(name(), r.element);
  if (code != 0) m.fail(code, name().c_str());
}

void run_rows(const device_machine& m, const call_kernels& kernels, const rows_request& r, void* scratch, void* stream) {
  const int code = kernels.rows == nullptr ? no_such_kernel : kernels.rows(r, scratch, stream);
  if (code == no_such_kernel) refuse_elements(who(m, r.what, " of rows"), r.element, r.labels != nullptr ? " by label" : "");
  if (code != 0) m.fail(code, who(m, r.what, " of rows").c_str());
}

}  // namespace detail

void device_library::run(const device_request& r, void* scratch, void* stream) const { detail::run_whole(*this, kernels, r, scratch, stream); }

void device_library::run_rows(const rows_request& r, void* scratch, void* stream) const { detail::run_rows(*this, kernels, r, scratch, stream); }

}  // namespace wf
