// SPDX-License-Identifier: Apache-2.0
#include "clocks.hpp"

#include <dlfcn.h>

namespace ladder {

std::optional<gpu_clocks> read_clocks(const std::string& pci) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  const auto find = [&]<class F>(F*& f, const char* name) {
    f = reinterpret_cast<F*>(dlsym(library, name));
    return f != nullptr;
  };
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*by_pci)(const char*, void**) = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*most)(void*, int, unsigned*) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
  std::optional<gpu_clocks> result;
  const bool all =
      find(init, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") &&
      find(by_pci, "nvmlDeviceGetHandleByPciBusId_v2") && find(clock, "nvmlDeviceGetClockInfo") &&
      find(most, "nvmlDeviceGetMaxClockInfo") && find(driver, "nvmlSystemGetDriverVersion");
  if (all && init() == 0) {
    void* device = nullptr;
    if (by_pci(pci.c_str(), &device) == 0) {
      constexpr int sm = 1, memory = 2;  // NVML_CLOCK_SM, NVML_CLOCK_MEM
      gpu_clocks c;
      char text[81] = "";
      clock(device, sm, &c.sm_mhz);
      clock(device, memory, &c.memory_mhz);
      most(device, sm, &c.most_sm_mhz);
      most(device, memory, &c.most_memory_mhz);
      if (driver(text, sizeof text - 1) == 0) c.driver = text;
      result = c;
    }
    shutdown();
  }
  dlclose(library);
  return result;
}

}  // namespace ladder
