// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "counts.hpp"
#include "option_text.hpp"
#include "output.hpp"

#include <warpfold/error.hpp>

#if WARPFOLD_HAS_CUDA
#include <lens/profile/profile.hpp>
#include <lens/profile/reduction.hpp>
#endif

#include <CLI/CLI.hpp>

#include <map>
#include <memory>
#include <string>

namespace cli {
namespace {

struct profile_command {
  std::string subject, n = "16M", dtype = "f32", data = "uniform", device = "gpu", accuracy = "exact", html;
  unsigned block = 256, runs = 50;
  std::uint64_t seed = 1;
  bool json = false, hot = false, no_counters = false;
};

#if WARPFOLD_HAS_CUDA

const std::map<std::string, ladder::distribution> distributions{
    {"ones", ladder::distribution::ones},
    {"uniform", ladder::distribution::uniform},
    {"normal", ladder::distribution::normal},
    {"hard", ladder::distribution::hard}};

std::string command_of(const profile_command& q, std::uint64_t n) {
  const bool reduction = lens::profile::reduction_named(q.subject).has_value();
  return "warpfold profile " + q.subject + (reduction ? " --accuracy " + q.accuracy : "") + " --n " +
         std::to_string(n) + " --dtype " + q.dtype + " --block " + std::to_string(q.block) + " --data " + q.data +
         " --seed " + std::to_string(q.seed) + " --runs " + std::to_string(q.runs) + (q.hot ? " --hot" : "") +
         (q.no_counters ? " --no-counters" : "");
}

int run_profile(const profile_command& q) {
  if (q.block < 32 || q.block > 1024 || q.block % 32 != 0)
    throw wf::error(wf::errc::bad_argument,
                    "--block " + std::to_string(q.block) + ": not a multiple of 32 from 32 to 1024");
  lens::profile::profile_request asked;
  asked.reduction = lens::profile::reduction_named(q.subject);
  if (!asked.reduction) asked.rung = q.subject;
  asked.accuracy = q.accuracy == "fast" ? wf::accuracy::fast : wf::accuracy::exact;
  asked.type = *wf::dtype_named(q.dtype);
  asked.n = count_option("--n", q.n);
  asked.data = distributions.at(q.data);
  asked.seed = q.seed;
  asked.block = q.block;
  asked.runs = q.runs;
  asked.hot = q.hot;
  asked.counters = !q.no_counters;
  // simt has the same rungs as the GPU, so a wrong name is reported without a GPU, too.
  if (!asked.reduction) lens::profile::rung_to_profile(ladder::open_simt()->rungs(asked.type), asked);
  const auto gpu = ladder::open_cuda();
  const std::uint64_t bytes = asked.n * wf::info(asked.type).size * (asked.reduction ? static_cast<std::uint64_t>(wf::inputs_of(*asked.reduction)) : 1);
  if (bytes > gpu->facts().free_bytes)
    throw wf::error(wf::errc::bad_argument, "--n " + q.n + ": takes " + std::to_string(bytes >> 20) +
                                                " MiB, and the GPU has " +
                                                std::to_string(gpu->facts().free_bytes >> 20));
  const lens::profile::profile told = asked.reduction ? profile_reduction(*gpu, wf::cuda_library(), asked) : profile_rung(*gpu, asked);
  const std::string command = command_of(q, asked.n);
  if (!q.html.empty()) write_page(q.html, to_html(told, command));
  print(q.json ? to_json(told, command) : to_text(told));
  return told.right || told.expected_wrong ? done : wrong_result;
}

#else

int run_profile(const profile_command&) {
  throw wf::error(wf::errc::no_device, "profile: this program was not built with CUDA; warpfold explain counts on simt");
}

#endif

}  // namespace

void add_profile(CLI::App& app, run_state& state) {
  auto q = std::make_shared<profile_command>();
  CLI::App* command = app.add_subcommand(
      "profile", "Times, CUDA calls, hardware counters and roofline of a rung or a reduction on a GPU");
  command->add_option("NAME", q->subject, "A rung, as tree_modulo or warp_leader/flat; or a reduction, as sum, argmax or mean_var")->required();
  command->add_option("--n", q->n, "Elements: 1000, 16M (2^24), 2^24, 1e6")->capture_default_str();
  command->add_option("--dtype", q->dtype, "Element type")
      ->check(CLI::IsMember({"f32", "f64", "i32", "f16"}))
      ->capture_default_str();
  command->add_option("--accuracy", q->accuracy, "Accuracy of a reduction")
      ->check(CLI::IsMember({"exact", "fast"}))
      ->capture_default_str();
  command->add_option("--block", q->block, "Threads per block, a multiple of 32")->capture_default_str();
  command->add_option("--data", q->data, "The data to reduce")
      ->check(CLI::IsMember({"ones", "uniform", "normal", "hard"}))
      ->capture_default_str();
  command->add_option("--seed", q->seed, "Seed of the data")->capture_default_str();
  command->add_option("--runs", q->runs, "Timed runs")->check(CLI::Range(1, 10000))->capture_default_str();
  command->add_option("--device", q->device, "Where to run")->check(CLI::IsMember({"gpu"}))->capture_default_str();
  command->add_flag("--hot", q->hot, "Do not flush the L2 before each timed run");
  command->add_flag("--no-counters", q->no_counters, "Times and roofline alone");
  command->add_option("--html", q->html, "Also write a page of its own, with the roofline drawn")->check(CLI::Validator(check_file_name, ""))->option_text("FILE");
  command->add_flag("--json", q->json, "Print JSON");
  command->callback([q, &state] { state.exit_status = run_profile(*q); });
}

}  // namespace cli
