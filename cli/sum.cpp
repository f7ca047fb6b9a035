// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "progress.hpp"

#include <warpfold/error.hpp>
#include <warpfold/io/array_file.hpp>
#include <warpfold/io/sum.hpp>
#include <warpfold/io/text.hpp>

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace cli {
namespace {

struct sum_request {
  std::vector<std::string> files;
  std::string dtype, byte_order = "little", device = "auto", round = "nearest";
  std::uint64_t offset = 0;
  unsigned threads = 0;
  bool json = false, check_overflow = false;
};

/// CLI11 2.1 would take -1 for 2^64 - 1, and so all that is too large.
std::string check_offset(const std::string& text) {
  std::int64_t offset = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), offset);
  const bool whole = code == std::errc{} && end == text.data() + text.size();
  return whole && offset >= 0 ? ""
                              : wf::io::quoted(text) + " is no number of bytes; 0 to 2^63 - 1 are";
}

const std::map<std::string, wf::rounding> rounding_names{{"nearest", wf::rounding::nearest},
                                                         {"zero", wf::rounding::zero},
                                                         {"away", wf::rounding::away},
                                                         {"up", wf::rounding::up},
                                                         {"down", wf::rounding::down}};

std::string hex(std::uint64_t bits, std::size_t bytes) {
  char text[17];
  std::snprintf(text, sizeof text, "%0*llx", static_cast<int>(2 * bytes),
                static_cast<unsigned long long>(bits));
  return text;
}

/// As Python reads it: 1.5, (of complex) 1.5-2j.
std::string value_text(const wf::io::sum_result& r) {
  const std::string first = part_text(r, 0);
  if (r.parts() == 1) return first;
  const std::string second = part_text(r, 1);
  return first + (second.front() == '-' ? "" : "+") + second + "j";
}

/// JSON has no NaN and no infinities: they are strings. -0 gets a fraction, without which readers
/// that keep integers apart would lose its sign.
std::string json_number(const std::string& text) {
  if (text == "nan") return "\"NaN\"";
  if (text == "inf") return "\"Infinity\"";
  if (text == "-inf") return "\"-Infinity\"";
  return text == "-0" ? "-0.0" : text;
}

std::string json_line(const std::string& file, const wf::io::sum_result& r) {
  std::string value, bits;
  for (int part = 0; part < r.parts(); ++part) {
    const char* comma = part ? ", " : "";
    value += comma + json_number(part_text(r, part));
    bits += comma + ("\"" + hex(r.bits[static_cast<std::size_t>(part)], r.part_bytes()) + "\"");
  }
  if (r.parts() > 1) {
    value = "[" + value + "]";
    bits = "[" + bits + "]";
  }
  std::string line = "{\"file\": " + json_string(file) + ", \"value\": " + value +
                     ", \"bits\": " + bits + ", \"dtype\": \"" +
                     std::string(wf::info(r.elements).name) + "\", \"sum_dtype\": \"" +
                     std::string(wf::info(r.type).name) +
                     "\", \"count\": " + std::to_string(r.count) + ", \"place\": \"cpu\"";
  if (wf::is_integer(r.type))
    line += std::string(", \"overflow\": ") + (r.overflow() ? "true" : "false");
  if (r.overflow()) line += ", \"true_value\": \"" + true_integer_text(r) + "\"";
  return line + "}";
}

class sum_command {
 public:
  sum_command(const sum_request& request, run_state& state) : request_(request), state_(state) {
    if (request.dtype.empty()) return;
    raw_ = {*wf::dtype_named(request.dtype),
            request.byte_order == "big" ? wf::byte_order::big : wf::byte_order::little,
            request.offset};
  }

  void run() {
    for (const std::string& file : request_.files) {
      try {
        show(file, sum_of(file));
      } catch (const wf::error& e) {
        if (request_.json)
          print("{\"file\": " + json_string(file) + ", \"error\": " + json_string(e.what()) + "}");
        complain(e.what());
        state_.exit_status = bad_input;
      }
    }
  }

 private:
  wf::io::sum_result sum_of(const std::string& path) const {
    auto file = wf::io::array_file::open(path, raw_);
    progress_bar bar(file.name(), file.size_known() ? file.layout().data_bytes() : 0);
    return sum(file, {request_.threads, rounding_names.at(request_.round), &bar.done()});
  }

  void show(const std::string& file, const wf::io::sum_result& r) {
    if (request_.json)
      print(json_line(file, r));
    else
      print((request_.files.size() > 1 ? wf::io::printable_name(file) + ": " : "") + value_text(r));
    if (!r.overflow()) return;
    complain(wf::io::printable_name(file) + ": the true sum " + true_integer_text(r) +
             " does not fit " + std::string(wf::info(r.type).name) +
             "; what is printed is it modulo 2^64");
    if (request_.check_overflow && state_.exit_status == done) state_.exit_status = wrong_result;
  }

  /// A result is seen when it is there, also through a pipe.
  static void print(std::string line) {
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
  }

  const sum_request& request_;
  run_state& state_;
  std::optional<wf::io::raw_format> raw_;
};

}  // namespace

void add_sum(CLI::App& app, run_state& state) {
  auto request = std::make_shared<sum_request>();
  CLI::App* sum = app.add_subcommand("sum", "The exact sum of arrays in files, rounded once");
  std::vector<std::string> names;
  for (const auto& type : wf::dtypes) names.emplace_back(type.name);

  sum->add_option("FILE", request->files,
                  ".npy files, or raw binary with --dtype; - is standard input")
      ->required();
  auto* dtype =
      sum->add_option("--dtype", request->dtype, "The files are raw binary of this element type")
          ->check(CLI::IsMember(names))
          ->option_text("TYPE");
  sum->add_option("--offset", request->offset, "Bytes to skip at the start of raw files")
      ->check(CLI::Validator(check_offset, ""))
      ->needs(dtype)
      ->option_text("BYTES");
  sum->add_option("--byte-order", request->byte_order,
                  "Of raw files: little (as if not given) or big")
      ->check(CLI::IsMember({"little", "big"}))
      ->needs(dtype)
      ->option_text("ORDER");
  sum->add_option("--round", request->round,
                  "To which neighbour the sum of floats is rounded: nearest (ties to even), zero, "
                  "away, up, down")
      ->check(CLI::IsMember(&rounding_names))
      ->option_text("MODE");
  sum->add_option("--device", request->device, "Where to sum: cpu or auto")
      ->check(CLI::IsMember({"cpu", "gpu", "simt", "auto"}))
      ->option_text("PLACE");
  sum->add_option("--threads", request->threads,
                  "Threads (one a core); the sum does not depend on them")
      ->check(CLI::Range(1u, 4096u))
      ->option_text("N");
  sum->add_flag("--check-overflow", request->check_overflow,
                "Exit with 1 if a sum of integers does not fit 64 bits");
  sum->add_flag("--json", request->json, "One JSON object a file");
  sum->footer(
      "Types: f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool c64 c128 (complex of two f32, "
      "two f64).\n"
      "Floats keep their type; i8 to i64 and bool sum in i64, u8 to u64 in u64.");
  sum->callback([request, &state] {
    if (request->device == "gpu" || request->device == "simt")
      throw CLI::ValidationError(
          "--device", request->device + " does not run sum in this version; cpu and auto do");
    sum_command(*request, state).run();
  });
}

}  // namespace cli
