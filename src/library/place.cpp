// SPDX-License-Identifier: Apache-2.0
// Places that take any request. A program that makes none links nothing of this.
#include <warpfold/backend.hpp>
#include <warpfold/gpu.hpp>

namespace wf {

const device_place& device_stream::with_all(const device_library& library) const {
  if (!all_) all_ = std::shared_ptr<const device_place>(new device_place(library, same{*this}));
  return *all_;
}

// Here, and not beside what runs kernels: a program that only sums on a GPU is to link nothing of the CPU's table.
bool device_library::takes(op o, dtype t, accuracy a) const noexcept { return family_of(o, t, a) != kernel_family::none; }

bool device_library::takes_rows(op o, dtype t, accuracy a) const noexcept {
  if (has_kernels(t) && operation_of(o).state == state_kind::own) {
    const cpu::erased* const on_cpu = find_builtin(o, t, a);
    return on_cpu != nullptr && on_cpu->state_size <= most_own_row_state;
  }
  return takes(o, t, a);
}

bool device_place::takes(op what, dtype element, accuracy a, partition::kinds by, output wanted) const noexcept {
  if (by != partition::kinds::whole) {
    if (wanted == output::checked) return is_checked_on_devices(what, element);
    if (!kernels_->takes_rows(what, element, a)) return false;
    // Rows are exact under either accuracy, but for those by the CPU's arithmetic.
    return wanted == output::answers || a == accuracy::exact || operation_of(what).state == state_kind::own ||
           form_of_states(what, element, a).canonical;
  }
  if (wanted == output::checked) return is_checked_on_devices(what, element);
  return kernels_->takes(what, element, a);
}

void device_place::run(const request& r) const {
  check(r);
  const bool states = r.wanted == output::states && takes(r.what, r.element, r.context.accuracy, partition::kinds::axes, r.wanted);
  device_stream::run(r, kernels_->kernels, states ? form_of_states(r.what, r.element, r.context.accuracy).bytes : 0);
}

}  // namespace wf
