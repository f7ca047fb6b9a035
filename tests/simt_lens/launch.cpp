// SPDX-License-Identifier: Apache-2.0
// Instrumented like the kernels: a launch tells the runtime how its kernel was built.
#include "kernels.hpp"

#include <cuda_runtime.h>
#include <simt/machine.hpp>

#include <stdexcept>
#include <vector>

#include "registry.hpp"

// Here, where no declaration of the kernels says how it is aligned.
SIMT_DEFINE_DYNAMIC_SHARED(lens_dynamic)
static_assert(__alignof__(lens_dynamic) == 32768, "as static shared variables are, which tells them from others");

namespace lens_test {

namespace {

kernel find(const std::string& name) {
  for (const auto& kernels : {plain_kernels(), group_kernels()})
    for (const registered& r : kernels)
      if (name == r.name) return r.entry;
  throw std::invalid_argument("no kernel " + name);
}

}  // namespace

int run(const std::string& name, const launch& how, const float* in, float* out, unsigned n) {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(how.blocks);
  config.blockDim = dim3(how.threads);
  config.dynamicSmemBytes = how.shared_bytes;
  config.attrs = attributes;
  if (how.cluster > 1) {
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs++].val.clusterDim = {how.cluster, 1, 1};
  }
  if (how.cooperative) {
    attributes[config.numAttrs].id = cudaLaunchAttributeCooperative;
    attributes[config.numAttrs++].val.cooperative = 1;
  }
  const cudaError_t launched = cudaLaunchKernelEx(&config, find(name), in, out, n);
  return launched != cudaSuccess ? launched : cudaDeviceSynchronize();
}

namespace {

/// Its accesses, calls and basic blocks are those of instrumented code.
class instrumented_observer : public simt::observer {
 public:
  void access(std::uint64_t, std::uint32_t, const simt::memory_access& a) override { all_.push_back(a.address); }
  void basic_block(std::uint64_t, std::uint32_t, std::uintptr_t site) override { last_block_ = site; }
  std::size_t accesses() const { return all_.size(); }
  std::uintptr_t last_block() const { return last_block_; }

 private:
  std::vector<std::uintptr_t> all_;
  std::uintptr_t last_block_ = 0;
};

}  // namespace

int run_watched_from_within(const std::string& name, const launch& how, const float* in, float* out, unsigned n,
                            std::size_t& seen) {
  instrumented_observer watch;
  simt::current_options().watch = &watch;
  const int error = run(name, how, in, out, n);
  simt::current_options().watch = nullptr;
  seen = watch.accesses();
  return error;
}

}  // namespace lens_test
