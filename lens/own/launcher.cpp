// SPDX-License-Identifier: Apache-2.0
#include "launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <simt/machine.hpp>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include <warpfold/error.hpp>

namespace lens::own {
namespace {

void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw wf::error(wf::errc::device, fmt::format("{}: {}", what, cudaGetErrorString(e)));
}

/// What a kernel prints is no part of the report: standard output is another while it runs.
class printing_elsewhere {
 public:
  explicit printing_elsewhere(bool is_shown) : kept_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    int to = is_shown ? dup(STDERR_FILENO) : -1;
    if (to < 0) to = open("/dev/null", O_WRONLY);
    dup2(to, STDOUT_FILENO);
    close(to);
  }
  ~printing_elsewhere() {
    std::fflush(stdout);
    dup2(kept_, STDOUT_FILENO);
    close(kept_);
  }
  printing_elsewhere(const printing_elsewhere&) = delete;
  printing_elsewhere& operator=(const printing_elsewhere&) = delete;

 private:
  int kept_;
};

}  // namespace

launcher::launcher(const kernel& k, const request& q, std::vector<argument> arguments)
    : kernel_(k), request_(q), arguments_(std::move(arguments)), arrays_(arguments_.size()) {
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (arguments_[i].is_array) check(cudaMalloc(&arrays_[i], arguments_[i].bytes.size()), "device memory");
}

launcher::~launcher() {
  for (void* a : arrays_) cudaFree(a);
}

/// Where each argument's value is.
std::vector<void*> launcher::fill_arrays() {
  std::vector<void*> values(arguments_.size());
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    argument& a = arguments_[i];
    if (a.is_array && !a.bytes.empty())
      check(cudaMemcpy(arrays_[i], a.bytes.data(), a.bytes.size(), cudaMemcpyHostToDevice), "copy");
    values[i] = a.is_array ? static_cast<void*>(&arrays_[i]) : a.bytes.data();
  }
  return values;
}

std::string launcher::run() {
  simt::clear_fault();  // after which the device takes copies again
  std::vector<void*> values = fill_arrays();
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(request_.grid[0], request_.grid[1], request_.grid[2]);
  config.blockDim = dim3(request_.block[0], request_.block[1], request_.block[2]);
  config.dynamicSmemBytes = request_.shared;
  config.attrs = attributes;
  if (request_.cooperative) {
    attributes[config.numAttrs].id = cudaLaunchAttributeCooperative;
    attributes[config.numAttrs++].val.cooperative = 1;
  }
  if (request_.cluster > 1) {
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs++].val.clusterDim = {request_.cluster, 1, 1};
  }
  const printing_elsewhere printing(!std::exchange(has_run_, true));
  const cudaError_t e = kernel_.launch(config, values.data());
  if (e == cudaSuccess) return {};
  const simt::fault_report fault = simt::last_fault();
  return fault.what == simt::fault::none ? fmt::format("the launch was refused: {}", cudaGetErrorString(e)) : fault.text;
}

std::vector<std::string> launcher::outputs() const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const argument& a = arguments_[i];
    if (!a.is_output) continue;
    std::vector<unsigned char> now(a.bytes.size());
    if (!now.empty()) check(cudaMemcpy(now.data(), arrays_[i], now.size(), cudaMemcpyDeviceToHost), "copy");
    all.push_back(fmt::format("{}[{}] after the run: {}", a.element, a.count, elements_text(a, now.data())));
  }
  return all;
}

std::string launcher::difference() const {
  std::size_t i = 0;
  while (i < arguments_.size() && !arguments_[i].is_output) ++i;
  if (i == arguments_.size()) throw wf::error(wf::errc::bad_argument, "--expect " + request_.expect_file + ": no --arg is marked out:");
  const argument& a = arguments_[i];
  if (const std::string own = fmt::format("{}[{}]", a.element, a.count); own != request_.expect_array)
    throw wf::error(wf::errc::bad_argument, fmt::format("--expect {}: it holds {}, and the kernel's array is {}", request_.expect_file, request_.expect_array, own));
  std::vector<unsigned char> now(a.bytes.size());
  if (!now.empty()) check(cudaMemcpy(now.data(), arrays_[i], now.size(), cudaMemcpyDeviceToHost), "copy");
  std::ifstream in(request_.expect_bytes, std::ios::binary);
  const std::vector<unsigned char> expected(std::istreambuf_iterator<char>(in), {});
  const std::string text = first_difference(a, now.data(), expected.data(), request_.tolerance);
  return text.empty() ? text : fmt::format("not as in {}: {}", request_.expect_file, text);
}

}  // namespace lens::own
