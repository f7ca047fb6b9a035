// SPDX-License-Identifier: Apache-2.0
// What an H100 counted stays in bench/results; here simt counts the same again, and each number must still be
// the one that stands beside the hardware's there, equal to it or different for the cause that is named.
#include <ladder/data.hpp>
#include <lens/profile/beside.hpp>
#include <lens/profile/beside_runs.hpp>
#include <lens/profile/causes.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

namespace {

using nlohmann::json;
using lens::profile::shared_counter;

const json& measured() {
  static const json all = [] {
    std::ifstream file(COUNTERS_FILE);
    return file ? json::parse(file) : json();
  }();
  return all;
}

const shared_counter* counter_named(const std::string& name) {
  for (const shared_counter& c : lens::profile::shared_counters())
    if (c.name == name) return &c;
  return nullptr;
}

/// In the library's own kernels a compiler decides which shared accesses it joins and which branches it merges; those that
/// stand beside the hardware's are g++ 12's.
bool a_compiler_decides([[maybe_unused]] const std::string& rung, [[maybe_unused]] std::string_view counter) {
#if __GNUC__ == 12
  return false;
#else
  return (rung == "record" || rung == "exact") && (counter.starts_with("shared_") || counter == "divergent");
#endif
}

/// One kernel of one rung: simt's numbers, the sums of the GPU's metrics, the causes.
void check_kernel(const json& one, const lens::kernel_counts& simt, const std::string& rung,
                  const std::string& dtype) {
  std::size_t rows = 0;
  for (const shared_counter& c : lens::profile::shared_counters()) {
    double gpu = 0;
    for (const std::string_view m : c.metrics) gpu += one["gpu_metrics"].value(std::string(m), 0.0);
    const double ours = c.simt(simt.total);
    if (ours == 0 && gpu == 0) continue;
    ++rows;
    const auto at = std::find_if(one["counters"].begin(), one["counters"].end(),
                                 [&](const json& r) { return r["counter"].get<std::string>() == c.name; });
    ASSERT_NE(at, one["counters"].end()) << c.name;
    EXPECT_EQ((*at)["gpu"], gpu) << c.name;
    if (a_compiler_decides(rung, c.name)) continue;
    EXPECT_EQ((*at)["simt"], ours) << c.name;
    if (ours == gpu) continue;
    const auto* why = lens::profile::cause_of(rung, dtype, c.name, ours, gpu);
    ASSERT_NE(why, nullptr) << c.name << ": simt " << ours << ", GPU " << gpu;
    EXPECT_EQ((*at)["cause"], why->name) << c.name;
  }
  EXPECT_EQ(rows, one["counters"].size());
}

/// Whether simt counts what it counted then.
bool counts_as_then(const json& one, const lens::kernel_counts& simt) {
  for (const json& row : one["counters"]) {
    const auto* c = counter_named(row["counter"]);
    if (c != nullptr && row["simt"] != c->simt(simt.total)) return false;
  }
  return true;
}

TEST(beside_an_h100, simt_counts_what_it_counted_then) {
  ASSERT_FALSE(measured().is_null()) << COUNTERS_FILE;
  const simt::options before = simt::current_options();
  simt::current_options().multiprocessors = measured()["multiprocessors"];
  const auto place = ladder::open_lens();
  std::size_t kernels = 0;
  for (const json& run : measured()["runs"]) {
    const std::string dtype = run["dtype"];
    const std::uint64_t n = run["n"];
    if (n > MOST_ELEMENTS) continue;
    const wf::dtype type = *wf::dtype_named(dtype);
    const ladder::array data = ladder::make_data(type, ladder::distribution::uniform, n, 1);
    place->load(type, data.data(), n);
    const auto cases = lens::profile::beside_cases(*place, type);
    EXPECT_EQ(cases.size(), run["rungs"].size()) << "rungs came or went since: measure again";
    for (const json& one : run["rungs"]) {
      const std::string rung = one["rung"];
      SCOPED_TRACE(rung + ", " + dtype + ", n = " + std::to_string(n));
      const auto at = std::find_if(cases.begin(), cases.end(), [&](const auto& c) { return c.name == rung; });
      ASSERT_NE(at, cases.end());
      const auto counted = lens::profile::count_case(*place, *at, type, run["block"]);
      EXPECT_EQ(counted.refused, one.value("refused", std::string()));
      if (!counted.refused.empty()) continue;
      ASSERT_EQ(counted.kernels.size(), one["kernels"].size());
      if (one.contains("changed")) {  // the rung's kernel, and no H100 has counted since
        std::printf("not compared: %s of %s, n = %llu: %s\n", rung.c_str(), dtype.c_str(), static_cast<unsigned long long>(n), one["changed"].get<std::string>().c_str());
        EXPECT_FALSE(counts_as_then(one["kernels"][0], counted.kernels[0])) << "it is what it was: `changed` is not true";
        continue;
      }
      for (std::size_t k = 0; k < counted.kernels.size(); ++k) {
        const json& theirs = one["kernels"][k];
        const std::string kernel = theirs["kernel"];
        const auto same = std::find_if(counted.kernels.begin(), counted.kernels.end(),
                                       [&](const auto& c) { return c.name == kernel; });
        check_kernel(theirs, same != counted.kernels.end() ? *same : counted.kernels[k], rung, dtype);
        ++kernels;
      }
    }
  }
  simt::current_options() = before;
  std::printf("%zu kernels\n", kernels);
  EXPECT_GE(kernels, 200u);
}

// The strongest of it, in words: without the rungs that wait for each other, whose memory operations are
// those of the source, nothing differs that can be counted to the unit.
TEST(beside_an_h100, plain_rungs_and_transposes_are_equal_to_the_unit) {
  ASSERT_FALSE(measured().is_null());
  std::size_t equal = 0;
  for (const json& run : measured()["runs"])
    for (const json& one : run["rungs"]) {
      const std::string rung = one["rung"];
      if (rung == "shared_atomic" || rung == "grid_sync" || rung == "record" || rung == "exact") continue;
      for (const json& kernel : one["kernels"])
        for (const json& row : kernel["counters"]) {
          if (!counter_named(row["counter"])->to_the_unit) continue;
          EXPECT_EQ(row["simt"], row["gpu"]) << rung << ' ' << row["counter"];
          ++equal;
        }
    }
  EXPECT_GE(equal, 1000u);
}

TEST(beside_an_h100, a_difference_without_a_known_cause_has_none) {
  EXPECT_EQ(lens::profile::cause_of("tree_strided", "f32", "shared_load.wavefronts", 10, 11), nullptr);
  EXPECT_EQ(lens::profile::cause_of("tree_strided", "f32", "divergent", 10, 11), nullptr);
  EXPECT_EQ(lens::profile::cause_of("record", "f32", "shared_load.requests", 10, 11), nullptr);
  ASSERT_NE(lens::profile::cause_of("occupancy/256x4", "f32", "divergent", 11, 10), nullptr);
  EXPECT_EQ(lens::profile::cause_of("occupancy/256x4", "f32", "divergent", 11, 10)->name, "predication");
}

}  // namespace
