// SPDX-License-Identifier: Apache-2.0
#include "cupti.hpp"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include <dlfcn.h>

#include "unavailable.hpp"

namespace lens::profile {
namespace {

constexpr std::uint32_t major_of(std::uint32_t version) { return version / 10000; }

/// Where toolkits keep CUPTI. The empty name is the loader's own search.
std::vector<std::string> folders() {
  std::vector<std::string> all;
  const auto add_root = [&](const std::string& root) {
    all.push_back(root + "/extras/CUPTI/lib64");
    all.push_back(root + "/lib64");
    all.push_back(root + "/targets/x86_64-linux/lib");
  };
  if (const char* own = std::getenv("WARPFOLD_CUPTI")) all.emplace_back(own);
  all.emplace_back();
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(name)) add_root(root);
  add_root("/usr/local/cuda");
  add_root("/usr/local/cuda-" + std::to_string(CUDA_VERSION / 1000) + "." +
           std::to_string(CUDA_VERSION % 1000 / 10));
  return all;
}

void* open_in(const std::string& folder, const std::string& name, int scope, std::string& why) {
  void* library = dlopen((folder.empty() ? name : folder + "/" + name).c_str(), RTLD_NOW | scope);
  if (library == nullptr)
    if (const char* text = dlerror()) why = text;
  return library;
}

std::string folder_of(void* symbol) {
  Dl_info info{};
  if (dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return {};
  return std::filesystem::path(info.dli_fname).parent_path().string();
}

cupti load() {
  const std::string major = std::to_string(major_of(CUPTI_API_VERSION));
  std::string why, first_why;
  void* library = nullptr;
  for (const std::string& folder : folders()) {
    for (const std::string& name : {"libcupti.so." + major, std::string("libcupti.so")}) {
      library = open_in(folder, name, RTLD_LOCAL, why);
      if (first_why.empty()) first_why = why;
      if (library != nullptr) break;
    }
    if (library != nullptr) break;
  }
  if (library == nullptr)
    throw unavailable("no CUPTI (" + first_why + "); it comes with the CUDA toolkit " + major +
                      ": set CUDA_HOME, or WARPFOLD_CUPTI to the folder of libcupti.so." + major);
  cupti c;
  std::string missing;
#define LENS_CUPTI_LOAD(name)                                          \
  c.name = reinterpret_cast<decltype(c.name)>(dlsym(library, #name)); \
  if (c.name == nullptr && missing.empty()) missing = #name;
  LENS_CUPTI_FUNCTIONS(LENS_CUPTI_LOAD)
#undef LENS_CUPTI_LOAD
  const std::string folder = folder_of(dlsym(library, "cuptiGetVersion"));
  c.path = folder + "/libcupti";
  if (!missing.empty())
    throw unavailable(c.path + " has no " + missing + "; CUPTI of CUDA " + major +
                      " is what this program was built for");
  c.cuptiGetVersion(&c.version);
  // Records of an older one are shorter than what this program reads.
  if (c.version < CUPTI_API_VERSION)
    throw unavailable(c.path + " is version " + std::to_string(c.version) +
                      "; this program was built for " + std::to_string(CUPTI_API_VERSION));
  // CUPTI opens it by its bare name: loaded before, it need not be on the loader's path.
  std::string host_why;
  if (open_in(folder, "libnvperf_host.so", RTLD_GLOBAL, host_why) == nullptr &&
      open_in("", "libnvperf_host.so", RTLD_GLOBAL, why) == nullptr)
    c.no_host = "no libnvperf_host.so beside CUPTI (" + host_why + ")";
  return c;
}

}  // namespace

void cupti::check(CUptiResult result, std::string_view what) const {
  if (result == CUPTI_SUCCESS) return;
  const char* text = nullptr;
  cuptiGetErrorMessage(result, &text);
  std::string line = std::string(what) + ": " + (text != nullptr ? text : "error") + " (CUPTI " +
                     std::to_string(static_cast<int>(result)) + ")";
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
      result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
    line += "; counters need root, or the driver's option NVreg_RestrictProfilingToAdminUsers=0";
  if (result == CUPTI_ERROR_HARDWARE_BUSY || result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    line += "; another profiler uses the GPU";
  throw unavailable(line);
}

const cupti& load_cupti() {
  static std::optional<cupti> loaded;
  if (!loaded) loaded = load();
  return *loaded;
}

}  // namespace lens::profile
