// SPDX-License-Identifier: Apache-2.0
#include "info.hpp"

#include "commands.hpp"

#include <warpfold/detail/gpu/tuning.hpp>
#include <warpfold/version.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include <sched.h>

namespace cli {
namespace {

using json = nlohmann::ordered_json;

#if defined(__clang__)
constexpr const char* compiler = "clang++ " __clang_version__;
#else
constexpr const char* compiler = "g++ " __VERSION__;
#endif

std::string cpu_name() {
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

/// What the processor can do, beyond the base instruction set; not all of it need be used.
std::vector<std::string> simd() {
  std::vector<std::string> found;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("sse4.2")) found.push_back("SSE4.2");
  if (__builtin_cpu_supports("avx")) found.push_back("AVX");
  if (__builtin_cpu_supports("avx2")) found.push_back("AVX2");
  if (__builtin_cpu_supports("fma")) found.push_back("FMA");
  if (__builtin_cpu_supports("avx512f")) found.push_back("AVX-512F");
  if (__builtin_cpu_supports("avx512bw")) found.push_back("AVX-512BW");
  if (__builtin_cpu_supports("avx512dq")) found.push_back("AVX-512DQ");
#elif defined(__aarch64__)
  found.push_back("NEON");
#endif
  return found;
}

[[maybe_unused]] std::string cuda_version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

json gpu_place() {
  json place{{"place", "gpu"}, {"available", false}};
#if WARPFOLD_HAS_CUDA
  const cuda_facts facts = query_cuda();
  place["available"] = !facts.devices.empty();
  place["cuda_runtime"] = cuda_version(facts.runtime_version);
  if (facts.driver_version) place["cuda_driver"] = cuda_version(facts.driver_version);
  if (!facts.failure.empty())
    place["why"] = facts.failure + (facts.driver_version ? "" : " (no NVIDIA driver is loaded)");
  for (const cuda_device& d : facts.devices)
    place["devices"].push_back(
        {{"name", d.name},
         {"compute_capability", std::to_string(d.major) + "." + std::to_string(d.minor)},
         {"multiprocessors", d.processors},
         {"memory_bytes", d.memory_bytes}});
#else
  place["why"] = "built without CUDA: no nvcc was found, or WARPFOLD_CUDA was OFF";
#endif
  return place;
}

json simt_place() {
  json place{{"place", "simt"}, {"available", bool{WARPFOLD_HAS_SIMT}}};
  if (!WARPFOLD_HAS_SIMT) place["why"] = "built without simt";
  return place;
}

json gather() {
  json facts{
      {"version", wf::version()}, {"compiler", compiler}, {"build_type", WARPFOLD_BUILD_TYPE}};
  facts["cpu"] = {{"name", cpu_name()},
                  {"cores", std::max(1u, std::thread::hardware_concurrency())},
                  {"simd", simd()}};
  if (wf::has_tuning()) {
    static_cast<void>(wf::usable_tuning(""));
    facts["tuning"] = {{"file", wf::tuning_path()}};
    if (const std::string why = wf::tuning_problem(); !why.empty()) facts["tuning"]["why"] = why;
  }
  facts["places"] = {json{{"place", "cpu"}, {"available", true}}, simt_place(), gpu_place()};
  return facts;
}

std::string in_words(const json& place) {
  if (!place["available"]) return "no: " + place["why"].get<std::string>();
  std::string text = "yes";
  if (place.contains("devices"))
    for (const json& d : place["devices"])
      text += ", " + d["name"].get<std::string>() + " (compute capability " +
              d["compute_capability"].get<std::string>() + ")";
  if (place.contains("why")) text += "; " + place["why"].get<std::string>();
  return text;
}

void print_in_words(const json& facts) {
  const auto line = [](const std::string& what, const std::string& text) {
    std::printf("%-9s %s\n", what.c_str(), text.c_str());
  };
  const auto text = [&](const char* key) { return facts[key].get<std::string>(); };
  line("warpfold", text("version"));
  line("compiler", text("compiler") + ", " + text("build_type"));
  std::string instructions;
  for (const json& name : facts["cpu"]["simd"]) instructions += " " + name.get<std::string>();
  line("processor", facts["cpu"]["name"].get<std::string>() + ", " + facts["cpu"]["cores"].dump() +
                        " cores," + instructions);
  for (const json& place : facts["places"])
    line(place["place"].get<std::string>(), in_words(place));
  if (facts.contains("tuning")) {
    const json& tuning = facts["tuning"];
    line("tuning", tuning.contains("why") ? "not used: " + tuning["why"].get<std::string>() : tuning["file"].get<std::string>());
  }
}

}  // namespace

void add_info(CLI::App& app, run_state&) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* info =
      app.add_subcommand("info", "What this build and this machine have, and why not more");
  info->add_flag("--json", *as_json, "Print one JSON object");
  info->callback([as_json] {
    const json facts = gather();
    if (*as_json)
      std::printf("%s\n", facts.dump(-1, ' ', true, json::error_handler_t::replace).c_str());
    else
      print_in_words(facts);
  });
}

}  // namespace cli
