// SPDX-License-Identifier: Apache-2.0
// The file of launch choices: see tuning.hpp.
#include <warpfold/detail/gpu/tuning.hpp>
#include <warpfold/error.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>

namespace wf {

namespace {

using nlohmann::json;

struct field {
  const char* name;
  std::uint32_t launch_choices::*value;
  std::uint32_t least, step, most;  ///< multiples of step from least to most
};
constexpr std::array<field, 5> fields{{{"reduce_threads", &launch_choices::reduce_threads, 32, 32, 512},
                                       {"reduce_blocks", &launch_choices::reduce_blocks, 1, 1, 32},
                                       {"sum_blocks", &launch_choices::sum_blocks, 1, 1, 8},
                                       {"exact_blocks", &launch_choices::exact_blocks, 1, 1, 32},
                                       {"overlap", &launch_choices::overlap, 0, 1, 1}}};

[[noreturn]] void bad(const std::string& path, const std::string& what) {
  throw error(errc::bad_input, path + ": " + what + "; `warpfold tune` writes a right one (docs/gpu.md)");
}

constexpr std::size_t most_bytes = std::size_t{1} << 20;
constexpr int most_levels = 8;  // what is written has 3; writing the others' back recurses

/// A value as messages show it: in ASCII, and not long.
std::string shown(const json& value) {
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 60) + "...";
}

json parsed(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(most_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (in.bad() || !in.is_open()) throw error(errc::io, path + ": the tuning file cannot be read: " + std::strerror(errno));
  if (text.size() > most_bytes) bad(path, "larger than 1 MiB");
  bool deep = false;
  const json j = json::parse(text, [&](int depth, json::parse_event_t, const json&) {
    deep = deep || depth > most_levels;
    return !deep;
  }, false);
  if (deep) bad(path, "nested deeper than " + std::to_string(most_levels) + " levels");
  if (j.is_discarded()) bad(path, "not JSON");
  if (!j.is_object() || !j.contains("warpfold_tuning")) bad(path, "no object with \"warpfold_tuning\"");
  if (j["warpfold_tuning"] != 1) bad(path, "\"warpfold_tuning\" is " + shown(j["warpfold_tuning"]) + ", this version reads 1");
  if (!j.contains("gpus") || !j["gpus"].is_object()) bad(path, "no object \"gpus\"");
  return j;
}

launch_choices checked(const std::string& path, std::string_view gpu, const json& j) {
  launch_choices c;
  const std::string who = shown(gpu);
  if (!j.is_object()) bad(path, who + " is no object");
  for (const auto& [key, value] : j.items()) {
    const field* f = nullptr;
    for (const field& one : fields) {
      if (key == one.name) f = &one;
    }
    if (f == nullptr) bad(path, who + ": unknown " + shown(key));
    const bool whole = value.is_number_unsigned();
    const std::uint64_t v = whole ? value.get<std::uint64_t>() : 0;
    if (!whole || v < f->least || v > f->most || v % f->step != 0) {
      bad(path, who + ": \"" + f->name + "\" is " + shown(value) + ", right are " +
                    (f->step == 1 ? std::to_string(f->least) : "multiples of " + std::to_string(f->step)) + " to " + std::to_string(f->most));
    }
    c.*(f->value) = static_cast<std::uint32_t>(v);
  }
  return c;
}

}  // namespace

std::string tuning_path() {
  const char* named = std::getenv("WARPFOLD_TUNE");
  return named == nullptr ? "" : named;
}

std::string usual_tuning_path() {
  std::filesystem::path folder;
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config != nullptr && *config != '\0') folder = config;
  else if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') folder = std::filesystem::path(home) / ".config";
  else return {};
  return (folder / "warpfold" / "tuning.json").string();
}

std::optional<launch_choices> read_tuning(const std::string& path, std::string_view gpu) {
  const json j = parsed(path);
  const auto& gpus = j["gpus"];
  const auto found = gpus.find(std::string(gpu));
  if (found == gpus.end()) return std::nullopt;
  return checked(path, gpu, *found);
}

bool has_tuning() { return !tuning_path().empty(); }

std::optional<launch_choices> read_tuning(std::string_view gpu) {
  return has_tuning() ? read_tuning(tuning_path(), gpu) : std::nullopt;
}

namespace {

/// The choices that places found last, and in which file.
struct found {
  std::mutex mutex;
  std::string path, gpu, problem;
  std::filesystem::file_time_type written;
  std::optional<launch_choices> choices;
};
/// Never destroyed: destructors of static objects may reduce.
found& last_found() {
  static found& f = *new found;
  return f;
}

}  // namespace

std::optional<launch_choices> usable_tuning(std::string_view gpu) noexcept try {
  found& f = last_found();
  const std::lock_guard lock(f.mutex);
  const std::string path = tuning_path();
  std::error_code none;
  const auto written = std::filesystem::last_write_time(path, none);
  if (!none && f.path == path && f.gpu == gpu && f.written == written) return f.choices;
  f.path.clear();
  f.problem.clear();
  f.choices.reset();
  try {
    f.choices = read_tuning(gpu);
  } catch (const error& e) {
    f.problem = e.what();
  }
  f.gpu = gpu;
  f.written = written;
  if (!none) f.path = path;
  return f.choices;
} catch (...) {  // no memory for it
  return std::nullopt;
}

std::string tuning_problem() {
  found& f = last_found();
  const std::lock_guard lock(f.mutex);
  return f.problem;
}

void write_tuning(const std::string& path, std::string_view gpu, const launch_choices& choices) {
  namespace fs = std::filesystem;
  json j = {{"warpfold_tuning", 1}, {"gpus", json::object()}};
  std::error_code e;
  if (fs::exists(path, e)) j = parsed(path);
  json& to = j["gpus"][std::string(gpu)];
  to = json::object();
  for (const field& f : fields) to[f.name] = choices.*(f.value);
  const fs::path target(path), folder = target.parent_path();
  if (!folder.empty()) fs::create_directories(folder, e);
  const fs::path fresh = path + ".new";
  std::ofstream out(fresh, std::ios::binary | std::ios::trunc);
  out << j.dump(2, ' ', true, json::error_handler_t::replace) << '\n';
  out.close();
  if (!out) throw error(errc::io, path + ": cannot be written: " + std::strerror(errno));
  fs::rename(fresh, target, e);
  if (e) throw error(errc::io, path + ": cannot be written: " + e.message());
}

}  // namespace wf
