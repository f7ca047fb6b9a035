// SPDX-License-Identifier: Apache-2.0
// Answers as text, as JSON and as files.
#include "reduce.hpp"

#include <nlohmann/json.hpp>

#include <warpfold/io/text.hpp>

#include <charconv>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace cli {
namespace {

/// As a shell reads it: two of minmax with a space between.
std::string line_of(const wf::io::reduced& r, std::size_t k) {
  std::string text;
  for (int part = 0; part < r.kind.values; ++part)
    text += (part ? " " : "") + wf::io::value_text(r.kind.type, r.value(k, part));
  return text;
}

using json = nlohmann::ordered_json;

/// What `take` makes of each part of a value: of one number that, of a complex number or several numbers a list.
template <class F>
json for_parts(const wf::io::reduced& r, std::size_t k, F take) {
  const auto alone_or_all = [](json parts) { return parts.size() == 1 ? std::move(parts[0]) : std::move(parts); };
  json values = json::array();
  for (int v = 0; v < r.kind.values; ++v) {
    json parts = json::array();
    const std::size_t size = wf::info(r.kind.type).part;
    for (std::size_t at = 0; at < wf::info(r.kind.type).size; at += size) parts.push_back(take(r.value(k, v) + at, size));
    values.push_back(alone_or_all(std::move(parts)));
  }
  return alone_or_all(std::move(values));
}

/// JSON has no NaN and no infinities: they are strings. A float shorter than a double is the double that its fewest digits name, whose fewest digits
/// are the same.
json json_number(wf::dtype type, const std::byte* p) {
  const std::string text = wf::io::value_text(type, p);
  if (!wf::is_floating(type)) return json::parse(text);
  if (text == "nan") return "NaN";
  if (text == "inf") return "Infinity";
  if (text == "-inf") return "-Infinity";
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

json json_value(const wf::io::reduced& r, std::size_t k) {
  wf::dtype part = r.kind.type;
  if (wf::is_complex(part)) part = part == wf::dtype::c64 ? wf::dtype::f32 : wf::dtype::f64;
  return for_parts(r, k, [part](const std::byte* p, std::size_t) { return json_number(part, p); });
}

/// Most significant byte first.
json json_bits(const wf::io::reduced& r, std::size_t k) {
  return for_parts(r, k, [](const std::byte* p, std::size_t size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) {
      const auto b = std::to_integer<unsigned>(p[wf::native_order == wf::byte_order::little ? size - 1 - i : i]);
      text += "0123456789abcdef"[b >> 4];
      text += "0123456789abcdef"[b & 15];
    }
    return text;
  });
}

/// Answers [first, …) nested as their shape from dimension d on says.
json nested(const wf::io::reduced& r, std::size_t d, std::size_t& next) {
  if (d == r.shape.size()) return json_value(r, next++);
  json list = json::array();
  for (std::int64_t i = 0; i < r.shape[d]; ++i) list.push_back(nested(r, d + 1, next));
  return list;
}

json json_of_files(std::span<const std::string> files) {
  if (files.size() == 1) return {{"file", files[0]}};
  return {{"files", {files[0], files[1]}}};
}
/// On a line; what is no UTF-8 in a file's name is replaced.
std::string line_of(const json& j) { return j.dump(-1, ' ', true, json::error_handler_t::replace); }

std::string printable(std::span<const std::string> files) {
  std::string names = wf::io::printable_name(files[0]);
  return files.size() == 1 ? names : names + " " + wf::io::printable_name(files[1]);
}

/// A result is seen when it is there, also through a pipe.
void print_line(std::string line) {
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

std::string names_of(std::span<const std::string> files) {
  return files.size() == 1 && files[0] == "-" ? "standard input" : printable(files);
}

answer_printer::answer_printer(const reduction_command& what, const reduction_request& given, wf::op operation, run_state& state)
    : what_(what), given_(given), operation_(operation), state_(state) {}

void answer_printer::show(std::span<const std::string> files, const wf::io::reduced& r) const {
  if (!given_.out.empty()) write(r);
  if (given_.json) {
    print_line(json_line(files, r));
  } else if (given_.out.empty()) {
    const std::string name = given_.files.size() > files.size() ? printable(files) + ": " : "";
    std::string text;
    for (std::size_t k = 0; k < r.answers(); ++k) {
      text += (k ? "\n" : "") + name + line_of(r, k);
      if (text.size() < std::size_t{1} << 20) continue;
      print_line(text);
      text.clear();
    }
    if (r.answers() > 0) print_line(text);
  }
  tell_overflow(files, r);
  tell_nan(files, r);
}

void answer_printer::show_error(std::span<const std::string> files, const char* why) const {
  if (given_.json) {
    json line = json_of_files(files);
    line["error"] = why;
    print_line(line_of(line));
  }
  complain(why);
}

/// Dividing by zero or less is no error, but a line says where the NaN comes from.
void answer_printer::tell_nan(std::span<const std::string> files, const wf::io::reduced& r) const {
  if (r.answers() == 0) return;
  const std::int64_t n = elements_of_each(r);
  if (!(what_.features & divides) || (n > 0 && n > given_.correction)) return;
  std::string text = names_of(files) + ": " + what_.name + " of " + std::to_string(n) + (n == 1 ? " element" : " elements");
  if (n > 0) text += " with the correction " + std::to_string(given_.correction) + ", which must be less";
  complain(text + (r.answers() == 1 ? "; the answer is nan" : "; the answers are nan"));
}

void answer_printer::tell_overflow(std::span<const std::string> files, const wf::io::reduced& r) const {
  const std::size_t n = r.overflows();
  if (n == 0) return;
  const std::string type(wf::info(r.kind.type).name);
  if (r.answers() > 1)
    complain(names_of(files) + ": of " + std::to_string(r.answers()) + " true answers " + std::to_string(n) +
             (n == 1 ? " does" : " do") + " not fit " + type + "; the answers given are taken modulo 2^64");
  else if (operation_ == wf::op::prod)
    complain(names_of(files) + ": the true product does not fit " + type + "; the answer given is taken modulo 2^64");
  else
    complain(names_of(files) + ": the true " + what_.name + " " + wf::io::true_integer_text(r.kind.type, r.checks[0]) +
             " does not fit " + type + "; the answer given is taken modulo 2^64");
  if (given_.check_overflow && state_.exit_status == done) state_.exit_status = wrong_result;
}

std::string answer_printer::json_line(std::span<const std::string> files, const wf::io::reduced& r) const {
  json line = json_of_files(files);
  const bool one = r.shape.empty();
  line["reduction"] = what_.name;
  if (one) {
    line["value"] = json_value(r, 0);
    line["bits"] = json_bits(r, 0);
  } else {
    std::size_t next = 0;
    line["shape"] = r.shape;
    line["values"] = nested(r, 0, next);
  }
  line["dtype"] = wf::info(r.elements).name;
  line["result_dtype"] = wf::info(r.kind.type).name;
  if (operation_ == wf::op::sum) line["sum_dtype"] = wf::info(r.kind.type).name;  // its name of old
  line["count"] = r.count;
  line["place"] = "cpu";
  if (!r.checks.empty()) line["overflow"] = r.overflows() != 0;
  if (r.overflows() && one && operation_ != wf::op::prod) line["true_value"] = wf::io::true_integer_text(r.kind.type, r.checks[0]);
  return line_of(line);
}

void answer_printer::write(const wf::io::reduced& r) const {
  wf::extents shape = r.shape;
  if (r.kind.values > 1) shape.push_back(r.kind.values);
  wf::io::write_npy(given_.out, r.kind.type, shape, r.values);
}

}  // namespace cli
