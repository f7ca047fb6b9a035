// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <simt/machine.hpp>
#include <simt/recorder.hpp>

namespace lens {

/// An observer that records what a replay needs: accesses, arrivals and paths, and not the barriers and
/// fences, which a replay finds in the arrivals.
class recorded : public simt::observer {
 public:
  void launch_begin(const simt::launch_info& info) override { recorder_->launch_begin(info); }
  void launch_end() override { recorder_->launch_end(); }
  void block_begin(std::uint64_t b) override { recorder_->block_begin(b); }
  void block_end(std::uint64_t b) override { recorder_->block_end(b); }
  void thread_end(std::uint64_t b, std::uint32_t t) override { recorder_->thread_end(b, t); }
  void arrive(std::uint64_t b, std::uint32_t t, const simt::arrival& a) override { recorder_->arrive(b, t, a); }
  void access(std::uint64_t b, std::uint32_t t, const simt::memory_access& a) override { recorder_->access(b, t, a); }
  void call(std::uint64_t b, std::uint32_t t, std::uintptr_t site) override { recorder_->call(b, t, site); }
  void leave(std::uint64_t b, std::uint32_t t) override { recorder_->leave(b, t); }
  void basic_block(std::uint64_t b, std::uint32_t t, std::uintptr_t site) override { recorder_->basic_block(b, t, site); }

 protected:
  /// Once, before the first launch; it must live as long.
  void record_with(simt::recorder& r) { recorder_ = &r; }

 private:
  simt::recorder* recorder_ = nullptr;
};

}  // namespace lens
