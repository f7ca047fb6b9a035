// SPDX-License-Identifier: Apache-2.0
/// \file reduction.hpp
/// One of the library's reductions as a profile's subject: on the data and the stream of a place of the
/// ladder, and held against the CPU's answer. Host-safe; the same on a GPU and on simt.
#pragma once

#include <ladder/data.hpp>
#include <ladder/ladder.hpp>
#include <warpfold/gpu.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lens::profile {

/// `norm` is norm2; else as in docs/reductions.md.
std::optional<wf::op> reduction_named(std::string_view name);
/// Its name there.
std::string reduction_name(wf::op);

class reduction_subject {
 public:
  /// Loads the data to the place. Throws wf::error: unsupported if these kernels do not take the type.
  reduction_subject(ladder::place& where, const wf::device_library& kernels, wf::op what, wf::accuracy how,
                    const ladder::array& data, std::uint64_t seed, ladder::distribution kind);
  ~reduction_subject();
  reduction_subject(const reduction_subject&) = delete;
  reduction_subject& operator=(const reduction_subject&) = delete;

  /// Enqueues it once.
  void operator()(void* stream);
  std::uint64_t input_bytes() const;

  struct judgement {
    std::string result, exact;  ///< as text; `exact` is the CPU's exact answer
    bool right = false;
    std::string why;
  };
  /// The judgement of the answer that the last run left: byte for byte the CPU's where it is exact, and
  /// within the bound of its own additions where it is as the hardware adds.
  judgement judge() const;

 private:
  class memory;

  ladder::place& where_;
  const wf::device_library& kernels_;
  wf::op what_;
  wf::accuracy how_;
  const ladder::array& data_;
  std::optional<ladder::array> second_;  ///< for dot
  std::unique_ptr<memory> second_on_device_, out_;
  std::unique_ptr<wf::device_place> place_;
};

}  // namespace lens::profile
