// SPDX-License-Identifier: Apache-2.0
#include "beside.hpp"

#include "commands.hpp"
#include "output.hpp"

#include <warpfold/error.hpp>

#if WARPFOLD_HAS_CUDA

#include <ladder/data.hpp>
#include <lens/profile/beside.hpp>
#include <lens/profile/beside_runs.hpp>
#include <lens/profile/profile.hpp>
#include <lens/profile/unavailable.hpp>

#include <algorithm>

namespace cli {
namespace {

using lens::profile::beside;
using lens::profile::beside_case;
using lens::profile::count_case;
using lens::profile::run_case;

std::vector<lens::profile::counted_launch> launches_of(
    const std::vector<lens::profile::profile::named_counts>& counts) {
  std::vector<lens::profile::counted_launch> all;
  for (const auto& c : counts) all.push_back({c.name, c.counted});
  return all;
}

/// Needs no GPU.
void check_name(const beside_request& q) {
  if (lens::profile::beside_cases(*ladder::open_lens(), q.type, q.rung).empty())
    throw wf::error(wf::errc::bad_argument, "explain --device gpu: no kernel " + q.rung +
                                                "; warpfold ladder --list names the rungs, and transpose is a stair");
}

std::vector<beside> all_asked(ladder::place& lens_place, ladder::place& gpu, const beside_request& q) {
  const auto cases = lens::profile::beside_cases(lens_place, q.type, q.rung);
  const ladder::array data = ladder::make_data(q.type, ladder::distribution::uniform, q.n, 1);
  lens_place.load(q.type, data.data(), q.n);
  gpu.load(q.type, data.data(), q.n);
  std::vector<beside> all;
  std::vector<std::vector<lens::kernel_counts>> on_simt;
  std::vector<std::function<void()>> on_gpu;
  for (const beside_case& c : cases) {
    beside b{c.name, std::string(wf::info(q.type).name), q.n, q.block, {}, {}};
    auto counted = count_case(lens_place, c, q.type, q.block);
    // Also loads the kernels, before anything is counted.
    b.refused = !counted.refused.empty() ? counted.refused : run_case(gpu, c, q.type, q.block);
    if (b.refused.empty()) {
      on_simt.push_back(std::move(counted.kernels));
      on_gpu.emplace_back([&gpu, c, &q] { run_case(gpu, c, q.type, q.block); });
    }
    all.push_back(std::move(b));
  }
  const auto counts = lens::profile::count_runs(on_gpu);
  std::size_t next = 0;
  for (beside& b : all) {
    if (!b.refused.empty()) continue;
    set_beside(b, on_simt[next], launches_of(counts[next]));
    ++next;
  }
  return all;
}

}  // namespace

int explain_on_gpu(const beside_request& q) {
  check_name(q);
  const auto gpu = ladder::open_cuda();
  const simt::options before = simt::current_options();
  simt::current_options().multiprocessors = gpu->facts().sms;
  const auto lens_place = ladder::open_lens();
  std::vector<beside> all;
  try {
    all = all_asked(*lens_place, *gpu, q);
  } catch (const lens::profile::unavailable& e) {
    throw wf::error(wf::errc::no_device, std::string("no hardware counters: ") + e.what() +
                                             "; without --device gpu, explain counts on simt");
  }
  simt::current_options() = before;
  const ladder::place_facts& facts = gpu->facts();
  const std::string command = "warpfold explain " + q.rung + (q.rung.empty() ? "" : " ") + "--device gpu --n " +
                              std::to_string(q.n) + " --block " + std::to_string(q.block) + " --dtype " +
                              std::string(wf::info(q.type).name);
  if (!q.html.empty()) write_page(q.html, to_html(all, facts.device, command));
  if (q.json) {
    print(to_json(all, {facts.device, facts.driver, facts.sms, command}));
  } else {
    for (const beside& b : all) print(to_text(b) + "\n");
  }
  return std::all_of(all.begin(), all.end(), [](const beside& b) { return b.explained(); }) ? done : wrong_result;
}

}  // namespace cli

#else

int cli::explain_on_gpu(const beside_request&) {
  throw wf::error(wf::errc::no_device, "--device gpu: this program was not built with CUDA; simt is there");
}

#endif
