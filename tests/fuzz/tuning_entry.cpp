// SPDX-License-Identifier: Apache-2.0
#include "entries.hpp"
#include "promises.hpp"

#include <warpfold/detail/gpu/tuning.hpp>
#include <warpfold/error.hpp>

#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using fuzz::require;

/// A file of this process, gone at its end.
struct file {
  fs::path folder = fs::temp_directory_path() / ("warpfold_fuzz_" + std::to_string(::getpid()));
  std::string path = (folder / "tuning.json").string();

  file() { fs::create_directories(folder); }
  ~file() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
};

void require_refusal(const wf::error& e, const std::string& path) {
  require(e.code() == wf::errc::bad_input, "an error that is not bad_input");
  const std::string text = e.what();
  require(text.starts_with(path + ": "), "an error that does not name the file");
  fuzz::require_one_line(text.substr(path.size()));
}

bool in_range(const wf::launch_choices& c) {
  return c.reduce_threads >= 32 && c.reduce_threads <= 512 && c.reduce_threads % 32 == 0 && c.reduce_blocks >= 1 &&
         c.reduce_blocks <= 32 && c.sum_blocks >= 1 && c.sum_blocks <= 8 && c.exact_blocks >= 1 &&
         c.exact_blocks <= 32 && c.overlap <= 1;
}

}  // namespace

void check_tuning(std::span<const std::byte> content) {
  static const file to;
  const std::string_view text = fuzz::text_of(content);
  const auto line = std::min(text.find('\n'), text.size());
  const std::string gpu(text.substr(0, line));
  std::ofstream(to.path, std::ios::binary) << text.substr(std::min(line + 1, text.size()));
  bool readable = true;
  for (const std::string& who : {gpu, std::string("g"), std::string("NVIDIA H100 80GB HBM3")}) {
    try {
      if (const auto c = wf::read_tuning(to.path, who)) require(in_range(*c), "a choice that no kernel takes");
    } catch (const wf::error& e) {
      require_refusal(e, to.path);
      readable = false;
    }
  }
  const wf::launch_choices mine{64, 3, 2, 5};
  try {
    wf::write_tuning(to.path, "mine", mine);
    require(wf::read_tuning(to.path, "mine") == mine, "what was written is not read");
  } catch (const wf::error& e) {
    require_refusal(e, to.path);
    require(!readable, "a file that can be read is not written");
  }
}
