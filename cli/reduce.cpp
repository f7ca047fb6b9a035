// SPDX-License-Identifier: Apache-2.0
// The commands that reduce files: one for each row of the table of operations, and norm.
#include "commands.hpp"
#include "option_text.hpp"
#include "progress.hpp"

#include <warpfold/error.hpp>
#include <warpfold/io/array_file.hpp>
#include <warpfold/io/reduce.hpp>
#include <warpfold/io/text.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cli {
namespace {

enum feature : unsigned {
  rounds = 1,
  overflows = 2,
  corrects = 4,
  has_order = 8,
  takes_pairs = 16,
  divides = 32,           // by the number of elements, less a correction
  needs_an_element = 64,  // has no answer of nothing
};

struct command {
  std::string name;
  wf::op operation;
  unsigned features;
  std::string help;
};

/// What a command offers follows from the table, and from what the reduction of f64 declares.
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
const std::vector<command>& all_commands() {
  static const std::vector<command> commands = [] {
    std::vector<command> made;
    for (const wf::operation& o : wf::operations) {
      if (o.what == wf::op::norm1)
        made.push_back({"norm", wf::op::norm2, rounds | overflows | has_order, "A norm (--ord 1, 2 or inf), exact and rounded once"});
      made.push_back({std::string(o.name), o.what, features_of(o), std::string(o.summary)});
    }
    return made;
  }();
  return commands;
}

struct request {
  std::vector<std::string> files;
  std::string dtype, byte_order = "little", device = "auto", round = "nearest", accuracy = "exact";
  std::string axis, ord = "2", out;
  std::uint64_t offset = 0;
  std::int64_t correction = 0;
  int threads = 0;
  bool json = false, keepdims = false, check_overflow = false;
};

const std::map<std::string, wf::rounding> rounding_names{{"nearest", wf::rounding::nearest},
                                                         {"zero", wf::rounding::zero},
                                                         {"away", wf::rounding::away},
                                                         {"up", wf::rounding::up},
                                                         {"down", wf::rounding::down}};

/// As a shell reads it: two of minmax with a space between.
std::string line_of(const wf::io::reduced& r, std::size_t k) {
  std::string text;
  for (int part = 0; part < r.kind.values; ++part)
    text += (part ? " " : "") + wf::io::value_text(r.kind.type, r.value(k, part));
  return text;
}

std::string list_of(const std::vector<std::string>& parts) {
  if (parts.size() == 1) return parts[0];
  std::string text = "[";
  for (const std::string& p : parts) text += (text.size() > 1 ? ", " : "") + p;
  return text + "]";
}

/// `text` of each part of a value: itself, or re and im of a complex number.
template <class F>
std::string for_parts(const wf::io::reduced& r, std::size_t k, F text) {
  std::vector<std::string> values;
  for (int v = 0; v < r.kind.values; ++v) {
    std::vector<std::string> parts;
    const std::size_t size = wf::info(r.kind.type).part;
    for (std::size_t at = 0; at < wf::info(r.kind.type).size; at += size) parts.push_back(text(r.value(k, v) + at, size));
    values.push_back(list_of(parts));
  }
  return list_of(values);
}

/// JSON has no NaN and no infinities: they are strings. -0 gets a fraction, without which readers
/// that keep integers apart would lose its sign.
std::string json_number(const std::string& text) {
  if (text == "nan") return "\"NaN\"";
  if (text == "inf") return "\"Infinity\"";
  if (text == "-inf") return "\"-Infinity\"";
  return text == "-0" ? "-0.0" : text;
}

std::string json_value(const wf::io::reduced& r, std::size_t k) {
  wf::dtype part = r.kind.type;
  if (wf::is_complex(part)) part = part == wf::dtype::c64 ? wf::dtype::f32 : wf::dtype::f64;
  return for_parts(r, k, [part](const std::byte* p, std::size_t) { return json_number(wf::io::value_text(part, p)); });
}

/// Most significant byte first.
std::string json_bits(const wf::io::reduced& r, std::size_t k) {
  return for_parts(r, k, [](const std::byte* p, std::size_t size) {
    std::string text = "\"";
    for (std::size_t i = 0; i < size; ++i) {
      const auto b = std::to_integer<unsigned>(p[wf::native_order == wf::byte_order::little ? size - 1 - i : i]);
      text += "0123456789abcdef"[b >> 4];
      text += "0123456789abcdef"[b & 15];
    }
    return text + "\"";
  });
}

/// Answers [first, …) nested as their shape from dimension d on says.
std::string nested(const wf::io::reduced& r, std::size_t d, std::size_t& next) {
  if (d == r.shape.size()) return json_value(r, next++);
  std::string text = "[";
  for (std::int64_t i = 0; i < r.shape[d]; ++i) text += (i ? ", " : "") + nested(r, d + 1, next);
  return text + "]";
}

class reduce_command {
 public:
  reduce_command(const command& what, const request& given, run_state& state)
      : what_(what), given_(given), state_(state), operation_(what.operation) {
    options_.context.rounding = rounding_names.at(given.round);
    options_.context.accuracy = given.accuracy == "fast" ? wf::accuracy::fast : wf::accuracy::exact;
    options_.context.threads = given.threads;
    if (given.threads > 0) {
      pool_.emplace(given.threads);
      options_.context.executor = &*pool_;
    }
    options_.correction = given.correction;
    options_.check_overflow = what.operation == wf::op::sum || given.check_overflow;
    if (!given.axis.empty()) options_.axes = wf::axis(*axes_of(given.axis), given.keepdims);
    if (what.features & has_order && given.ord != "2")
      operation_ = given.ord == "1" ? wf::op::norm1 : wf::op::norm_inf;
    if (!given.dtype.empty())
      raw_ = {*wf::dtype_named(given.dtype),
              given.byte_order == "big" ? wf::byte_order::big : wf::byte_order::little, given.offset};
  }

  void run() {
    const std::size_t each = what_.features & takes_pairs ? 2 : 1;
    for (std::size_t k = 0; k < given_.files.size(); k += each) {
      const std::span<const std::string> files(&given_.files[k], each);
      try {
        const wf::io::reduced r = reduce(files);
        check_elements(files, r);
        show(files, r);
      } catch (const wf::error& e) {
        if (given_.json) print("{" + json_files(files) + ", \"error\": " + json_string(e.what()) + "}");
        complain(e.what());
        state_.exit_status = bad_input;
      }
    }
  }

 private:
  wf::io::reduced reduce(std::span<const std::string> paths) {
    std::vector<wf::io::array_file> files;
    std::uint64_t bytes = 0;
    bool known = true;
    for (const std::string& path : paths) {
      files.push_back(wf::io::array_file::open(path, raw_));
      known = known && files.back().size_known();
      bytes += files.back().layout().data_bytes();
    }
    wf::io::reduce_options options = options_;
    if (given_.keepdims && !options.axes) {
      std::vector<int> all(files[0].layout().shape.size());
      for (std::size_t d = 0; d < all.size(); ++d) all[d] = static_cast<int>(d);
      options.axes = wf::axis(all, true);
    }
    progress_bar bar(files[0].name(), known ? bytes : 0);
    options.progress = &bar.done();
    return files.size() == 1 ? wf::io::reduce(operation_, files[0], options)
                             : wf::io::reduce(operation_, files[0], files[1], options);
  }

  /// Elements of each answer; there is one at least.
  static std::int64_t elements_each(const wf::io::reduced& r) {
    return static_cast<std::int64_t>(r.count / r.answers());
  }

  /// No element is the least of none.
  void check_elements(std::span<const std::string> files, const wf::io::reduced& r) const {
    if (what_.features & needs_an_element && r.answers() > 0 && elements_each(r) == 0)
      throw wf::error(wf::errc::bad_input, named(files) + ": " + what_.name +
                                               " of no elements; it takes 1 or more for each answer");
  }

  /// A division by nothing or less is no error, but nobody should wonder whence the NaN.
  void tell_nan(std::span<const std::string> files, const wf::io::reduced& r) const {
    if (r.answers() == 0) return;
    const std::int64_t n = elements_each(r);
    if (!(what_.features & divides) || (n > 0 && n > given_.correction)) return;
    std::string text = named(files) + ": " + what_.name + " of " + std::to_string(n) + (n == 1 ? " element" : " elements");
    if (n > 0) text += " with the correction " + std::to_string(given_.correction) + ", which must be less";
    complain(text + (r.answers() == 1 ? "; the answer is nan" : "; the answers are nan"));
  }

  void show(std::span<const std::string> files, const wf::io::reduced& r) {
    if (!given_.out.empty()) write(r);
    if (given_.json) {
      print(json_line(files, r));
    } else if (given_.out.empty()) {
      const std::string name = given_.files.size() > files.size() ? printable(files) + ": " : "";
      std::string text;
      for (std::size_t k = 0; k < r.answers(); ++k) {
        text += (k ? "\n" : "") + name + line_of(r, k);
        if (text.size() < std::size_t{1} << 20) continue;
        print(text);
        text.clear();
      }
      if (r.answers() > 0) print(text);
    }
    tell_overflow(files, r);
    tell_nan(files, r);
  }

  void tell_overflow(std::span<const std::string> files, const wf::io::reduced& r) {
    const std::size_t n = r.overflows();
    if (n == 0) return;
    const std::string type(wf::info(r.kind.type).name);
    if (r.answers() > 1)
      complain(named(files) + ": of " + std::to_string(r.answers()) + " true answers " + std::to_string(n) +
               (n == 1 ? " does" : " do") + " not fit " + type + "; what is given is they modulo 2^64");
    else if (operation_ == wf::op::prod)
      complain(named(files) + ": the true product does not fit " + type + "; what is given is it modulo 2^64");
    else
      complain(named(files) + ": the true " + what_.name + " " + wf::io::true_integer_text(r.kind.type, r.checks[0]) +
               " does not fit " + type + "; what is printed is it modulo 2^64");
    if (given_.check_overflow && state_.exit_status == done) state_.exit_status = wrong_result;
  }

  std::string json_line(std::span<const std::string> files, const wf::io::reduced& r) const {
    std::string line = "{" + json_files(files);
    const bool one = r.shape.empty();
    line += ", \"reduction\": \"" + what_.name + "\"";
    if (one) {
      line += ", \"value\": " + json_value(r, 0) + ", \"bits\": " + json_bits(r, 0);
    } else {
      std::string shape;
      for (const std::int64_t n : r.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(n);
      std::size_t next = 0;
      line += ", \"shape\": [" + shape + "], \"values\": " + nested(r, 0, next);
    }
    const auto typed = [](const char* key, wf::dtype type) {
      return std::string(", \"") + key + "\": \"" + std::string(wf::info(type).name) + "\"";
    };
    line += typed("dtype", r.elements) + typed("result_dtype", r.kind.type);
    if (operation_ == wf::op::sum) line += typed("sum_dtype", r.kind.type);  // its name of old
    line += ", \"count\": " + std::to_string(r.count) + ", \"place\": \"cpu\"";
    if (!r.checks.empty()) line += std::string(", \"overflow\": ") + (r.overflows() ? "true" : "false");
    if (r.overflows() && one && operation_ != wf::op::prod)
      line += ", \"true_value\": \"" + wf::io::true_integer_text(r.kind.type, r.checks[0]) + "\"";
    return line + "}";
  }

  void write(const wf::io::reduced& r) const {
    wf::extents shape = r.shape;
    if (r.kind.values > 1) shape.push_back(r.kind.values);
    wf::io::write_npy(given_.out, r.kind.type, shape, r.values);
  }

  static std::string json_files(std::span<const std::string> files) {
    if (files.size() == 1) return "\"file\": " + json_string(files[0]);
    return "\"files\": [" + json_string(files[0]) + ", " + json_string(files[1]) + "]";
  }
  static std::string printable(std::span<const std::string> files) {
    std::string names = wf::io::printable_name(files[0]);
    return files.size() == 1 ? names : names + " " + wf::io::printable_name(files[1]);
  }
  /// As errors of reading name them.
  static std::string named(std::span<const std::string> files) {
    return files.size() == 1 && files[0] == "-" ? "standard input" : printable(files);
  }

  /// A result is seen when it is there, also through a pipe.
  static void print(std::string line) {
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
  }

  const command& what_;
  const request& given_;
  run_state& state_;
  wf::op operation_;
  wf::io::reduce_options options_;
  std::optional<wf::cpu::thread_pool> pool_;
  std::optional<wf::io::raw_format> raw_;
};

void check_usage(const command& what, const request& r) {
  const auto refuse = [](const char* option, const std::string& why) { throw CLI::ValidationError(option, why); };
  if (r.device == "gpu" || r.device == "simt")
    refuse("--device", r.device + " does not run " + what.name + " in this version; cpu and auto do");
  if (r.accuracy == "fast" && r.round != "nearest")
    refuse("--round", r.round + " goes with exact answers; leave out --accuracy fast");
  const std::size_t each = what.features & takes_pairs ? 2 : 1;
  if (r.files.size() % each != 0)
    refuse("FILE", std::to_string(r.files.size()) + " files; dot takes two, or each two of an even number");
  if (!r.out.empty() && r.files.size() != each)
    refuse("--out", std::to_string(r.files.size() / each) + " answers for one file; reduce one at a time");
  for (const std::string& file : r.files) {
    std::error_code not_there;
    if (!r.out.empty() && std::filesystem::equivalent(file, r.out, not_there))
      refuse("--out", wf::io::quoted(r.out) + " is what is read, and would be overwritten; name another file");
  }
}

void add_command(CLI::App& app, const command& what, run_state& state) {
  auto r = std::make_shared<request>();
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
  c->add_option("--out", r->out, "Write the answers to a .npy file")->option_text("FILE");
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
        ->check(CLI::IsMember(&rounding_names))
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
      "Floats keep their type; sums and products of i8 to i64 and bool are i64, of u8 to u64 u64.");
  c->callback([r, &what, &state] {
    check_usage(what, *r);
    reduce_command(what, *r, state).run();
  });
}

}  // namespace

void add_reductions(CLI::App& app, run_state& state) {
  for (const command& c : all_commands()) add_command(app, c, state);
}

}  // namespace cli
