// SPDX-License-Identifier: Apache-2.0
#include "beside_runs.hpp"

#include <ladder/races.hpp>

namespace lens::profile {
namespace {

constexpr unsigned grid_multiprocessors = 4;

struct options_guard {
  simt::options before = simt::current_options();
  ~options_guard() { simt::current_options() = before; }
};

}  // namespace

std::vector<beside_case> beside_cases(const ladder::place& place, wf::dtype type, const std::string& name) {
  std::vector<beside_case> all;
  const auto rungs = place.rungs(type);
  for (std::size_t k = 0; k < rungs.size(); ++k)
    if (!rungs[k].on_host && (name.empty() || name == full_name(rungs[k]) || name == rungs[k].name))
      all.push_back({full_name(rungs[k]), k});
  if (name.empty() || name == "transpose") all.push_back({"transpose", {}});
  return all;
}

std::string run_case(ladder::place& place, const beside_case& c, wf::dtype, unsigned block) {
  if (c.rung) return place.run(*c.rung, {block, 0, grid_multiprocessors}).refused;
  place.transposes(transpose_side, false);
  return {};
}

simt_counted count_case(ladder::place& lens, const beside_case& c, wf::dtype type, unsigned block) {
  const options_guard guard;
  if (c.rung) simt::current_options().schedule = schedule_of(lens.rungs(type)[*c.rung]);
  simt_counted result;
  result.kernels = count([&] { result.refused = run_case(lens, c, type, block); });
  return result;
}

}  // namespace lens::profile
