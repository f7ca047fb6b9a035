// SPDX-License-Identifier: Apache-2.0
// The program that a user's kernel is linked to: arguments, runs, report.
#include "own_kernel.hpp"

#include <fmt/format.h>
#include <simt/race.hpp>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include <lens/explanation.hpp>
#include <lens/names.hpp>
#include <lens/sources.hpp>
#include <warpfold/error.hpp>

#include "arguments.hpp"

namespace lens {
namespace {

source_file& users_file() {
  static source_file one;
  return one;
}

}  // namespace

/// Of this program there is one file to show.
std::span<const source_file> sources() { return {&users_file(), 1}; }

namespace own {
namespace {

using nlohmann::json;

/// More threads would make a drawing's trace too large to keep.
constexpr std::uint64_t most_drawn = 1 << 16;
constexpr std::size_t most_rows = 30;

/// The command, as the JSON that `warpfold explain` passes on.
struct request {
  std::string file, text, kernel, html, command;
  std::uint32_t grid[3], block[3];
  std::uint64_t shared = 0, seed = 1;
  unsigned cluster = 1;
  bool cooperative = false, as_json = false;
  std::vector<std::string> arguments;
};

request read_request(const char* path) {
  std::ifstream in(path);
  const json j = json::parse(in);
  request q;
  q.file = j["file"];
  q.kernel = j["kernel"];
  q.html = j["html"];
  q.command = j["command"];
  q.shared = j["shared"];
  q.seed = j["seed"];
  q.cluster = j["cluster"];
  q.cooperative = j["cooperative"];
  q.as_json = j["json"];
  q.arguments = j["arguments"].get<std::vector<std::string>>();
  for (std::size_t k = 0; k < 3; ++k) {
    q.grid[k] = j["grid"][k];
    q.block[k] = j["block"][k];
  }
  std::ifstream source(j["path"].get<std::string>(), std::ios::binary);
  q.text.assign(std::istreambuf_iterator<char>(source), {});
  return q;
}

void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw wf::error(wf::errc::device, fmt::format("{}: {}", what, cudaGetErrorString(e)));
}

/// The arrays on simt's device; each run begins with the same contents.
class prepared {
 public:
  prepared(const kernel& k, const request& q, std::vector<argument> arguments)
      : kernel_(k), request_(q), arguments_(std::move(arguments)), arrays_(arguments_.size()) {
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      if (arguments_[i].is_array) check(cudaMalloc(&arrays_[i], arguments_[i].bytes.size()), "device memory");
  }
  ~prepared() {
    for (void* a : arrays_) cudaFree(a);
  }
  prepared(const prepared&) = delete;
  prepared& operator=(const prepared&) = delete;

  /// Empty, or what the launch was refused or failed for.
  std::string run() {
    std::vector<void*> values(arguments_.size());
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      argument& a = arguments_[i];
      if (a.is_array && !a.bytes.empty())
        check(cudaMemcpy(arrays_[i], a.bytes.data(), a.bytes.size(), cudaMemcpyHostToDevice), "copy");
      values[i] = a.is_array ? static_cast<void*>(&arrays_[i]) : a.bytes.data();
    }
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(request_.grid[0], request_.grid[1], request_.grid[2]);
    config.blockDim = dim3(request_.block[0], request_.block[1], request_.block[2]);
    config.dynamicSmemBytes = request_.shared;
    config.attrs = attributes;
    if (request_.cooperative) {
      attributes[config.numAttrs].id = cudaLaunchAttributeCooperative;
      attributes[config.numAttrs++].val.cooperative = 1;
    }
    if (request_.cluster > 1) {
      attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
      attributes[config.numAttrs++].val.clusterDim = {request_.cluster, 1, 1};
    }
    simt::clear_fault();
    const cudaError_t e = kernel_.launch(config, values.data());
    if (e == cudaSuccess) return {};
    const simt::fault_report fault = simt::last_fault();
    return fault.what == simt::fault::none ? fmt::format("the launch was refused: {}", cudaGetErrorString(e)) : fault.text;
  }

  std::vector<std::string> outputs() const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const argument& a = arguments_[i];
      if (!a.is_output) continue;
      std::vector<unsigned char> now(a.bytes.size());
      if (!now.empty()) check(cudaMemcpy(now.data(), arrays_[i], now.size(), cudaMemcpyDeviceToHost), "copy");
      all.push_back(fmt::format("{}[{}] after the run: {}", a.element, a.count, elements_text(a, now.data())));
    }
    return all;
  }

 private:
  const kernel& kernel_;
  const request& request_;
  std::vector<argument> arguments_;
  std::vector<void*> arrays_;
};

ladder::race_line line_of(const simt::race_side& side) {
  const source_file* known = find_source(plain_path(side.where.file));
  return {known != nullptr ? std::string(known->path) : side.where.file, side.where.line, access_of(side)};
}

std::string extent(const std::uint32_t (&d)[3]) {
  std::string text = std::to_string(d[0]);
  if (d[1] * d[2] != 1) text += fmt::format("x{}", d[1]);
  if (d[2] != 1) text += fmt::format("x{}", d[2]);
  return text;
}

explanation told(prepared& p, const request& q) {
  explanation e;
  e.name = q.kernel;
  e.file = q.file;
  e.is_stair = true;  // nothing is known of what is right
  e.lesson = head_of(q.text).text;
  e.setting = fmt::format("grid {}, blocks of {}", extent(q.grid), extent(q.block));
  for (const std::string& a : q.arguments) e.setting += " · " + a;

  e.kernels = count([&] {
    const std::string fault = p.run();
    if (!fault.empty()) throw wf::error(wf::errc::unsupported, fault);
  });
  for (const kernel_counts& k : e.kernels) {
    e.total += k.total;
    e.longest_queue = std::max(e.longest_queue, k.longest_queue);
  }
  e.outputs = p.outputs();

  simt::race_detector races;
  simt::current_options().watch = &races;
  p.run();
  for (const simt::race& r : races.races())
    e.races.push_back({r.kernel, r.where == simt::space::shared ? "shared" : "global", line_of(r.a), line_of(r.b), r.count});

  const std::uint64_t threads = std::uint64_t{q.block[0]} * q.block[1] * q.block[2];
  if (threads * q.grid[0] * q.grid[1] * q.grid[2] <= most_drawn) {
    tracing trace;
    simt::current_options().watch = &trace;
    p.run();
    e.traces = trace.launches();
    for (block_trace& t : e.traces)
      if (t.rows.size() > most_rows) {
        t.rows_left_out = t.rows.size() - most_rows;
        t.rows.resize(most_rows);
      }
  }
  simt::current_options().watch = nullptr;
  return e;
}

int run_request(const kernel& k, const request& q) {
  users_file() = {q.file, q.text};
  prepared p(k, q, arguments_for(k, q.arguments, q.seed));
  const explanation e = told(p, q);
  if (!q.html.empty()) {
    std::ofstream page(q.html, std::ios::binary);
    page << to_html(e, nullptr, q.command);
    page.close();
    if (!page) throw wf::error(wf::errc::bad_input, "--html " + q.html + ": cannot be written");
  }
  const std::string text = q.as_json ? to_json(e, nullptr, q.command) : to_text(e);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return e.races.empty() ? 0 : 1;
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

}  // namespace own
}  // namespace lens
