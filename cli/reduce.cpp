// SPDX-License-Identifier: Apache-2.0
// The commands that reduce files: one for each row of the table of operations, and norm. Here arguments become requests.
#include "reduce.hpp"

#include "option_text.hpp"

#include <warpfold/error.hpp>
#include <warpfold/io/text.hpp>

#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace cli {
namespace {

/// They follow from the table, and from what the reduction of f64 declares.
unsigned features_of(const wf::operation& o) {
  const wf::declaration& told = *wf::builtin(o.what, wf::dtype::f64, wf::accuracy::exact).declares;
  unsigned f = 0;
  if (told.rounding == wf::declaration::rounds::once) f |= rounds;
  if (told.empty == wf::declaration::nothing::nan) f |= divides;
  if (o.wraps) f |= overflows;
  if (o.state == wf::state_kind::moments) f |= corrects;
  if (o.inputs == 2) f |= takes_pairs;
  const bool finds = o.state == wf::state_kind::extremes || o.state == wf::state_kind::places;
  if (finds && told.empty != wf::declaration::nothing::zero) f |= needs_an_element;
  return f;
}

/// One for each operation, by its name; norm asks for one of three.
const std::vector<reduction_command>& reduction_commands() {
  static const std::vector<reduction_command> commands = [] {
    std::vector<reduction_command> made;
    for (const wf::operation& o : wf::operations) {
      if (o.what == wf::op::norm1)
        made.push_back({"norm", wf::op::norm2, rounds | overflows | has_order, "A norm (--ord 1, 2 or inf), exact and rounded once"});
      made.push_back({std::string(o.name), o.what, features_of(o), std::string(o.summary)});
    }
    return made;
  }();
  return commands;
}

void check_usage(const reduction_command& what, const reduction_request& r) {
  const auto refuse = [](const char* option, const std::string& why) { throw CLI::ValidationError(option, why); };
  if (r.device == "gpu" || r.device == "simt")
    refuse("--device", r.device + " does not run " + what.name + " in this version; cpu and auto do");
  if (r.accuracy == "fast" && r.round != "nearest")
    refuse("--round", r.round + " goes with exact answers; leave out --accuracy fast");
  const std::size_t each = what.inputs();
  if (r.files.size() % each != 0)
    refuse("FILE", std::to_string(r.files.size()) + " files; dot takes two, or several pairs");
  if (!r.out.empty() && r.files.size() != each)
    refuse("--out", std::to_string(r.files.size() / each) + " answers for one file; reduce one at a time");
  for (const std::string& file : r.files) {
    std::error_code not_there;
    if (!r.out.empty() && std::filesystem::equivalent(file, r.out, not_there))
      refuse("--out", wf::io::quoted(r.out) + " is what is read, and would be overwritten; name another file");
  }
}

void run(const reduction_command& what, const reduction_request& given, run_state& state) {
  const file_reducer reducer(what, given);
  const answer_printer printer(what, given, reducer.operation(), state);
  for (std::size_t k = 0; k < given.files.size(); k += what.inputs()) {
    const std::span<const std::string> files(&given.files[k], what.inputs());
    try {
      printer.show(files, reducer.reduce(files));
    } catch (const wf::error& e) {
      printer.show_error(files, e.what());
      state.exit_status = bad_input;
    }
  }
}

void add_reduction(CLI::App& app, const reduction_command& what, run_state& state) {
  auto r = std::make_shared<reduction_request>();
  CLI::App* c = app.add_subcommand(what.name, what.help);
  std::vector<std::string> names;
  for (const auto& type : wf::dtypes) names.emplace_back(type.name);

  c->add_option("FILE", r->files, ".npy files, or raw binary with --dtype; - is standard input")->required();
  auto* dtype = c->add_option("--dtype", r->dtype, "The files are raw binary of this element type")
                    ->check(CLI::IsMember(names))
                    ->option_text("TYPE");
  c->add_option("--offset", r->offset, "Bytes to skip at the start of raw files")
      ->check(CLI::Validator(check_offset, ""))
      ->needs(dtype)
      ->option_text("BYTES");
  c->add_option("--byte-order", r->byte_order, "Byte order of raw files: little (default) or big")
      ->check(CLI::IsMember({"little", "big"}))
      ->needs(dtype)
      ->option_text("ORDER");
  c->add_option("--axis", r->axis, "An answer for each position along the other axes: 0 or 0,2 or -1")
      ->check(CLI::Validator(check_axes, ""))
      ->option_text("AXES");
  c->add_flag("--keepdims", r->keepdims, "Reduced axes stay in the shape, with length 1");
  c->add_option("--out", r->out, "Write the answers to a .npy file")->check(CLI::Validator(check_file_name, ""))->option_text("FILE");
  if (what.features & has_order)
    c->add_option("--ord", r->ord, "Σ|x| (1), the root of Σx² (2, the default) or the greatest |x| (inf)")
        ->check(CLI::IsMember({"1", "2", "inf"}))
        ->option_text("ORDER");
  if (what.features & corrects)
    c->add_option("--correction", r->correction, "Divide by the count less this: 0 (default), or 1 for a sample")
        ->check(CLI::Validator(check_correction, ""))
        ->option_text("N");
  if (what.features & rounds) {
    c->add_option("--accuracy", r->accuracy,
                  "exact (default: the true answer, rounded once) or fast (native arithmetic in a fixed order)")
        ->check(CLI::IsMember({"exact", "fast"}))
        ->option_text("KIND");
    c->add_option("--round", r->round,
                  "How an exact answer in floats is rounded: nearest (default; ties to even), zero, away, up, down")
        ->check(CLI::IsMember({"away", "down", "nearest", "up", "zero"}))
        ->option_text("MODE");
  }
  c->add_option("--device", r->device, "Where to reduce: cpu or auto")
      ->check(CLI::IsMember({"cpu", "gpu", "simt", "auto"}))
      ->option_text("PLACE");
  c->add_option("--threads", r->threads, "Threads (default: one per core); no answer depends on them")
      ->check(CLI::Range(1, 4096))
      ->option_text("N");
  if (what.features & overflows)
    c->add_flag("--check-overflow", r->check_overflow, "Exit with 1 if an answer of integers does not fit 64 bits");
  c->add_flag("--json", r->json, "Print one JSON object per file");
  c->footer(
      "Types: f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool c64 c128 (complex of two f32, "
      "two f64).\n"
      "Answers of floats keep their type; those of integers are i64 or u64 (sums, products, dots), or f64 (means, variances, roots, logarithms).");
  c->callback([r, &what, &state] {
    check_usage(what, *r);
    run(what, *r, state);
  });
}

}  // namespace

void add_reductions(CLI::App& app, run_state& state) {
  for (const reduction_command& c : reduction_commands()) add_reduction(app, c, state);
}

}  // namespace cli
