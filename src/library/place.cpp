// SPDX-License-Identifier: Apache-2.0
// Places that take any request. A program that makes none links nothing of this.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include <warpfold/backend.hpp>
#include <warpfold/detail/gpu/states.hpp>
#include <warpfold/gpu.hpp>

#include "shapes.hpp"

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
  if (r.own.kernels != nullptr) {
    run_own(r, {&r.out, 1});
    return;
  }
  check(r);
  if (detail::is_own(r))
    throw error(errc::unsupported, std::string(r.own.name) + ": a request of a reduction that no operation names is for the CPU, where it has no kernels; on a GPU "
                                                             "wf::reduce and wf::fuse of warpfold/gpu.cuh compile them");
  const bool states = r.wanted == output::states && takes(r.what, r.element, r.context.accuracy, partition::kinds::axes, r.wanted);
  device_stream::run(r, kernels_->kernels, states ? form_of_states(r.what, r.element, r.context.accuracy).bytes : 0);
}

// ---- States. The functions of the host are asked for none first: they refuse what no place takes.

namespace {

std::size_t bytes_of(const state_form& form, std::int64_t n) { return form.bytes * static_cast<std::size_t>(n); }

/// Memory of the host for states and answers: few of them lie on the stack.
class host_memory {
 public:
  explicit host_memory(std::size_t bytes) : many_(bytes > few_.size() ? new std::byte[bytes] : nullptr), size_(bytes) {}
  /// States that no kernel merges or answers, which come to the host.
  host_memory(const device_stream& place, const void* states, std::size_t bytes) : host_memory(bytes) {
    place.machine().copy_back(data(), states, bytes, place.stream());
  }
  std::byte* data() { return many_ ? many_.get() : few_.data(); }
  std::size_t size() const { return size_; }

 private:
  std::array<std::byte, detail::most_state_bytes> few_;
  std::unique_ptr<std::byte[]> many_;
  std::size_t size_;
};

void look_at_states(const device_stream& place, const void* to, const void* other, std::int64_t n, op what) {
  cpu::operands read;
  read.data[0] = other;
  place.look_at(read, n, n == 0 ? nullptr : to, op_names[static_cast<int>(what)]);
}

}  // namespace

void device_place::clear(const state_form& form, void* states, std::int64_t n) const {
  clear_states(form, nullptr, 0);
  check_states_call(form.what, n, {{states, "states"}});
  if (n == 0) return;
  look_at_states(*this, states, nullptr, n, form.what);
  std::array<std::byte, detail::most_state_bytes> some;
  const std::int64_t fit = std::min(n, static_cast<std::int64_t>(some.size() / form.bytes));
  clear_states(form, some.data(), fit);
  auto* const to = static_cast<std::byte*>(states);
  const std::size_t bytes = bytes_of(form, n);
  std::size_t done = bytes_of(form, fit);
  machine().copy_in(to, some.data(), done, stream());
  while (done < bytes) {  // the device copies what it has, twice as much each time
    const std::size_t more = std::min(done, bytes - done);
    machine().copy_in(to + done, to, more, stream());
    done += more;
  }
}

void device_place::fold(const state_form& form, void* to, const void* later, std::int64_t n, bool take_out) const {
  check_states_call(form.what, n, {{to, "to"}, {later, "later"}});
  if (n == 0) return;
  look_at_states(*this, to, later, n, form.what);
  const bool own = operation_of(form.what).state == state_kind::own;
  if (!form.canonical || (take_out && own)) {
    host_memory here(*this, to, bytes_of(form, n)), others(*this, later, here.size());
    (take_out ? unmerge_states : merge_states)(form, here.data(), others.data(), n);
    machine().copy_in(to, here.data(), here.size(), stream());
    return;
  }
  states_request r = detail::states_of(form, {}, n);
  r.states = static_cast<std::int64_t*>(to);
  r.from = static_cast<const std::int64_t*>(later);
  r.sets = 1;
  r.into = true;
  r.take_out = take_out;
  machine().fail(kernels_->states(r, stream()), op_names[static_cast<int>(form.what)]);
}

void device_place::merge(const state_form& form, void* to, const void* later, std::int64_t n) const {
  merge_states(form, nullptr, nullptr, 0);
  fold(form, to, later, n, false);
}

void device_place::unmerge(const state_form& form, void* to, const void* later, std::int64_t n) const {
  unmerge_states(form, nullptr, nullptr, 0);
  fold(form, to, later, n, true);
}

void device_place::finish(const state_form& form, const options& o, const void* states, std::int64_t n, void* out) const {
  finish_states(form, o, nullptr, 0, nullptr);
  check_states_call(form.what, n, {{states, "states"}, {out, "out"}});
  if (n == 0) return;
  look_at_states(*this, out, states, n, form.what);
  if (!form.canonical) {
    host_memory here(*this, states, bytes_of(form, n)), answers(builtin(form.what, form.element, form.accuracy).result_size * static_cast<std::size_t>(n));
    finish_states(form, o, here.data(), n, answers.data());
    machine().copy_in(out, answers.data(), answers.size(), stream());
    return;
  }
  states_request r = detail::states_of(form, o, n);
  r.states = const_cast<std::int64_t*>(static_cast<const std::int64_t*>(states));  // which are read alone
  r.sets = -1;
  r.out = out;
  machine().fail(kernels_->states(r, stream()), op_names[static_cast<int>(form.what)]);
}

}  // namespace wf
