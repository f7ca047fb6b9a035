// SPDX-License-Identifier: Apache-2.0
// The program that a user's kernel is linked to: arguments, runs, report.
#include "own_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include <lens/explanation.hpp>
#include <lens/progress.hpp>
#include <lens/report.hpp>
#include <lens/sources.hpp>
#include <warpfold/error.hpp>

#include "explaining.hpp"
#include "launcher.hpp"
#include "users_file.hpp"

namespace lens::own {
namespace {

using nlohmann::json;

request read_request(const char* path) {
  std::ifstream in(path);
  const json j = json::parse(in);
  request q;
  q.file = j["file"];
  q.kernel = j["kernel"];
  q.html = j["html"];
  q.svg = j["svg"];
  q.kinds = j["kinds"].get<std::vector<std::string>>();
  q.command = j["command"];
  q.shared = j["shared"];
  q.seed = j["seed"];
  q.cluster = j["cluster"];
  q.cooperative = j["cooperative"];
  q.as_json = j["json"];
  q.arguments = j["arguments"].get<std::vector<std::string>>();
  q.given = j["given"].get<std::vector<std::string>>();
  q.json_file = j["json_file"];
  q.is_quiet = j["quiet"];
  q.versus_name = j["versus_name"];
  if (const std::string other = j["versus_file"]; !other.empty()) {
    std::ifstream counted(other, std::ios::binary);
    q.versus.assign(std::istreambuf_iterator<char>(counted), {});
  }
  q.tolerance = j["tolerance"];
  if (const json& expected = j["expect"]; !expected.is_null()) {
    q.expect_file = expected["file"];
    q.expect_array = expected["array"];
    q.expect_bytes = expected["bytes"];
  }
  for (std::size_t k = 0; k < 3; ++k) {
    q.grid[k] = j["grid"][k];
    q.block[k] = j["block"][k];
  }
  std::ifstream source(j["path"].get<std::string>(), std::ios::binary);
  q.text.assign(std::istreambuf_iterator<char>(source), {});
  return q;
}

std::string extent(const std::uint32_t (&d)[3]) {
  std::string text = std::to_string(d[0]);
  if (d[1] * d[2] != 1) text += fmt::format("x{}", d[1]);
  if (d[2] != 1) text += fmt::format("x{}", d[2]);
  return text;
}

explanation heading(const request& q) {
  explanation e;
  e.name = q.versus_name.ends_with(":" + q.kernel) ? std::filesystem::path(q.file).filename().string() + ":" + q.kernel : q.kernel;
  e.file = q.file;
  e.is_stair = true;  // nothing is known of what is right
  e.lesson = head_of(q.text).text;
  e.setting = fmt::format("grid {}, blocks of {}", extent(q.grid), extent(q.block));
  for (const std::string& a : q.given) e.setting += " · " + a;
  return e;
}

/// A kernel that uses dynamic shared memory, and gets none.
std::string with_hint(const std::string& fault, const request& q) {
  const bool wants_some = q.text.find("extern __shared__") != std::string::npos || q.text.find("extern __align__") != std::string::npos;
  const bool is_about_shared = simt::last_fault().what == simt::fault::out_of_bounds;
  return q.shared == 0 && wants_some && is_about_shared ? fault + "; the file has extern __shared__ memory, of which --shared BYTES gives some" : fault;
}

int run_request(const kernel& k, const request& q) {
  show_file(q.file, q.text);
  launcher l(k, q, arguments_for(k, q.arguments, q.seed));
  explanation e = heading(q);
  const auto run = [&l] { return l.run(); };
  std::string different;
  std::optional<progress> bar(std::in_place, "explain " + q.kernel);
  const std::string fault = add_counts_and_races(e, run, q.blocks(), [&] {
    e.outputs = l.outputs();
    if (q.expect_file.empty()) return;
    different = l.difference();
    e.outputs.push_back(different.empty() ? "as in " + q.expect_file : different);
  });
  if (fault.empty() && q.threads() <= most_drawn) add_traces(e, run);
  bar.reset();
  if (!fault.empty()) throw wf::error(wf::errc::unsupported, with_hint(fault, q));
  std::optional<explanation> versus;
  if (!q.versus.empty()) versus = counted_from_json(q.versus, q.versus_name);
  write_wanted("--html", q.html, [&] { return to_html(e, versus ? &*versus : nullptr, q.command); });
  write_wanted("--svg", q.svg, [&] { return drawings_file(e, q.kinds); });
  if (!q.json_file.empty()) std::ofstream(q.json_file, std::ios::binary) << to_json(e, nullptr, q.command);
  if (q.is_quiet) return e.races.empty() && different.empty() ? 0 : 1;
  const std::string text = q.as_json ? to_json(e, nullptr, q.command) : versus ? to_text(e, *versus) : to_text(e);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return e.races.empty() && different.empty() ? 0 : 1;
}

}  // namespace

int run(int argc, char** argv, const kernel& k) {
  if (argc != 2) return 2;
  try {
    return run_request(k, read_request(argv[1]));
  } catch (const wf::error& e) {
    std::fprintf(stderr, "warpfold: %s\n", e.what());
    return e.code() == wf::errc::unsupported ? 1 : 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "warpfold: %s\n", e.what());
    return 2;
  }
}

}  // namespace lens::own
