// SPDX-License-Identifier: Apache-2.0
// Requests to a device, brought into the form that its kernels take.
#include <string>

#include <warpfold/gpu.hpp>

namespace wf {

namespace {

/// The elements of all inputs make one answer.
bool one_answer(const request& r) {
  return r.by.kind == partition::kinds::whole ||
         (r.by.kind == partition::kinds::axes && r.by.axes.size() == r.inputs.shape.size());
}

}  // namespace

std::int64_t device_place::stride_of(const extents& shape, const extents& byte_strides, std::size_t size) {
  std::int64_t stride = 0, length = 1;  // of what has been looked at, the last dimension first
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 0) return 1;
    if (shape[d] == 1) continue;
    if (length == 1) stride = byte_strides[d];
    else if (byte_strides[d] != stride * length)
      throw error(errc::unsupported, "gpu: a view whose dimensions do not lie in one another; it must be like one "
                                     "dimension with one stride");
    length *= shape[d];
  }
  const auto bytes = static_cast<std::int64_t>(size);
  if (length != 1 && stride % bytes != 0)
    throw error(errc::unsupported, "gpu: elements that are " + std::to_string(stride) + " bytes apart; a multiple of their size, " +
                                       std::to_string(size) + ", is needed");
  return length == 1 ? 1 : stride / bytes;
}

bool device_place::takes(op what, dtype element, accuracy a, partition::kinds by, output wanted) const noexcept {
  return by == partition::kinds::whole && wanted != output::checked && kernels_->takes(what, element, a, wanted == output::states);
}

void device_place::run(const request& r) const {
  check(r);
  const char* const who = op_names[static_cast<int>(r.what)];
  const auto refuse = [&](const char* what) {
    throw error(errc::unsupported, std::string(who) + " on " + (name() == "simt" ? "simt" : "a GPU") + ": " + what);
  };
  if (!one_answer(r)) refuse("whole arrays only so far; reduce all axes");
  if (r.wanted == output::checked) refuse("whether an answer overflowed is told on the CPU alone");
  if (r.swapped[0] || r.swapped[1]) refuse("elements of the other byte order; give them in the machine's");
  device_request d{r.what, r.element, r.context.accuracy, r.options, {}, {1, 1}, *detail::product(r.inputs.shape), r.out,
                   r.first, r.wanted == output::states};
  for (std::size_t k = 0; k < static_cast<std::size_t>(inputs_of(r.what)); ++k) {
    d.x[k] = r.inputs.data[k];
    d.stride[k] = stride_of(r.inputs.shape, r.inputs.strides[k], info(r.element).size);
  }
  kernels_->run(d, scratch(), stream_);
}

}  // namespace wf
