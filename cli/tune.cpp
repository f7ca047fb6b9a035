// SPDX-License-Identifier: Apache-2.0
// warpfold tune: finds launch choices for the GPU at hand, and writes the file that the library reads.
#include "commands.hpp"
#include "option_text.hpp"

#include <warpfold/error.hpp>
#if WARPFOLD_HAS_CUDA
#include <warpfold/detail/gpu/tuning.hpp>
#include <warpfold/gpu.hpp>
#endif

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>
#include <string>

namespace cli {
namespace {

struct tune_command {
  std::string out, device = "gpu";
  std::uint64_t mebibytes = 1024;
  bool json = false, dry = false;
};

#if WARPFOLD_HAS_CUDA
nlohmann::json as_json(const wf::launch_choices& c) {
  return {{"reduce_threads", c.reduce_threads}, {"reduce_blocks", c.reduce_blocks}, {"sum_blocks", c.sum_blocks},
          {"exact_blocks", c.exact_blocks}, {"overlap", c.overlap}};
}

void tune_gpu(const tune_command& q) {
  const std::string path = !q.out.empty() ? q.out : wf::has_tuning() ? wf::tuning_path() : wf::usual_tuning_path();
  if (path.empty() && !q.dry)
    throw wf::error(wf::errc::bad_argument, "tune: no place for the file: give --out FILE, or set WARPFOLD_TUNE or HOME");
  const auto told = [&](const wf::tuning_trial& t) {
    if (q.json) return;
    const bool reduce = t.kernel == "reduce";
    std::printf("%-7s %s%2u blocks per multiprocessor  %.3f of the table's time\n", t.kernel.c_str(),
                reduce ? (std::to_string(t.choices.reduce_threads) + " threads, ").c_str() : "",
                reduce ? t.choices.reduce_blocks : t.kernel == "sum" ? t.choices.sum_blocks : t.choices.exact_blocks, t.ratio);
  };
  const wf::tuning_result r = wf::tune(wf::cuda_library(), q.mebibytes << 20, told);
  if (!q.dry) wf::write_tuning(path, r.gpu, r.after);
  if (q.json) {
    nlohmann::json j = {{"gpu", r.gpu}, {"table", as_json(r.before)}, {"chosen", as_json(r.after)}, {"file", q.dry ? "" : path},
                        {"trials", nlohmann::json::array()}};
    for (const auto& t : r.trials) j["trials"].push_back({{"kernel", t.kernel}, {"choices", as_json(t.choices)}, {"ratio", t.ratio}});
    std::printf("%s\n", j.dump(2, ' ', true, nlohmann::json::error_handler_t::replace).c_str());
    return;
  }
  std::printf("%s: %s\n", r.gpu.c_str(), r.after == r.before ? "the table's choices are as good as any" : as_json(r.after).dump().c_str());
  if (!q.dry) std::printf("written to %s, which the library reads where WARPFOLD_TUNE names it\n", path.c_str());
}
#endif

void tune(const tune_command& q) {
  if (q.device == "simt")
    throw wf::error(wf::errc::no_device, "tune: simt is not a GPU, so its times say nothing about one");
#if WARPFOLD_HAS_CUDA
  tune_gpu(q);
#else
  throw wf::error(wf::errc::no_device, "tune: this warpfold was built without CUDA; build it where nvcc is");
#endif
}

}  // namespace

void add_tune(CLI::App& app, run_state&) {
  auto q = std::make_shared<tune_command>();
  CLI::App* c = app.add_subcommand("tune", "Find the fastest launches on this GPU, for the library to use");
  c->add_option("--out", q->out, "The file (default: $WARPFOLD_TUNE, else warpfold/tuning.json where settings are); the library reads the one that WARPFOLD_TUNE names")
      ->check(CLI::Validator(check_file_name, ""));
  c->add_option("--device", q->device, "gpu; simt has nothing to tune")->check(CLI::IsMember({"gpu", "simt"}));
  c->add_option("--memory", q->mebibytes, "MiB of the GPU's memory to reduce")->check(CLI::Range(std::uint64_t{64}, std::uint64_t{1} << 20));
  c->add_flag("--dry-run", q->dry, "Write no file");
  c->add_flag("--json", q->json, "Print JSON");
  c->callback([q] { tune(*q); });
}

}  // namespace cli
