// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <simt/machine.hpp>
#include <warpfold/detail/gpu/tuning.hpp>
#include <warpfold/gpu.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include <unistd.h>

namespace {

namespace fs = std::filesystem;

class tuning : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("warpfold_tuning_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    path_ = (folder_ / "tuning.json").string();
  }
  void TearDown() override {
    unsetenv("WARPFOLD_TUNE");
    fs::remove_all(folder_);
  }
  void put(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
  std::string message_of(const std::string& gpu) {
    try {
      wf::read_tuning(path_, gpu);
    } catch (const wf::error& e) {
      code_ = e.code();
      return e.what();
    }
    return "no error";
  }
  fs::path folder_;
  std::string path_;
  wf::errc code_{};
};

TEST_F(tuning, what_is_written_is_read_and_other_gpus_stay) {
  const wf::launch_choices a{256, 4, 1, 3}, b{512, 8, 2, 32};
  wf::write_tuning(path_, "one \"quoted\"", a);
  wf::write_tuning(path_, "two", b);
  wf::write_tuning(path_, "two", a);
  wf::write_tuning(path_, "two", b);
  EXPECT_EQ(wf::read_tuning(path_, "one \"quoted\""), a);
  EXPECT_EQ(wf::read_tuning(path_, "two"), b);
  EXPECT_EQ(wf::read_tuning(path_, "three"), std::nullopt);
  EXPECT_FALSE(fs::exists(path_ + ".new"));
}

TEST_F(tuning, what_is_not_said_is_the_default) {
  put(R"({"warpfold_tuning": 1, "gpus": {"g": {"reduce_blocks": 3}}})");
  EXPECT_EQ(wf::read_tuning(path_, "g"), (wf::launch_choices{512, 3, 2, 32}));
}

TEST_F(tuning, the_file_that_the_page_shows_is_read) {
  std::ifstream file(WARPFOLD_GPU_PAGE);
  const std::string page{std::istreambuf_iterator<char>(file), {}}, fence = "```json\n";
  const std::size_t begin = page.find(fence + "{\"warpfold_tuning\"") + fence.size(), end = page.find("```", begin);
  ASSERT_LT(end, page.size());
  put(page.substr(begin, end - begin));
  const auto read = wf::read_tuning(path_, "NVIDIA H100 80GB HBM3");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, (wf::launch_choices{512, 2, 2, 32, 1}));
}

TEST_F(tuning, bad_files_are_told_in_one_line) {
  const struct { const char *text, *said; } bad[] = {
      {"", "not JSON"},
      {"{\"warpfold_tuning\": 1,", "not JSON"},
      {"[]", "no object with \"warpfold_tuning\""},
      {"{\"gpus\": {}}", "no object with \"warpfold_tuning\""},
      {"{\"warpfold_tuning\": 2, \"gpus\": {}}", "is 2, this version reads 1"},
      {"{\"warpfold_tuning\": 1}", "no object \"gpus\""},
      {"{\"warpfold_tuning\": 1, \"gpus\": []}", "no object \"gpus\""},
      {"{\"warpfold_tuning\": 1, \"gpus\": {\"g\": 7}}", "\"g\" is no object"},
      {"{\"warpfold_tuning\": 1, \"gpus\": {\"g\": {\"threads\\n\": 7}}}", "unknown \"threads\\n\""},
      {"{\"warpfold_tuning\": 1, \"gpus\": {\"g\": {\"reduce_threads\": 100}}}", "is 100, right are multiples of 32 to 512"},
      {"{\"warpfold_tuning\": 1, \"gpus\": {\"g\": {\"reduce_threads\": 1024}}}", "is 1024, right are multiples of 32 to 512"},
      {"{\"warpfold_tuning\": 1, \"gpus\": {\"g\": {\"sum_blocks\": 0}}}", "is 0, right are 1 to 8"},
      {"{\"warpfold_tuning\": 1, \"gpus\": {\"g\": {\"overlap\": 2}}}", "is 2, right are 0 to 1"},
      {"{\"warpfold_tuning\": 1, \"gpus\": {\"g\": {\"overlap\": false}}}", "is false, right are 0 to 1"},
      {"{\"warpfold_tuning\": 1, \"gpus\": {\"g\": {\"sum_blocks\": -1}}}", "is -1, right are 1 to 8"},
      {"{\"warpfold_tuning\": 1, \"gpus\": {\"g\": {\"sum_blocks\": 1.5}}}", "is 1.5, right are 1 to 8"},
      {"{\"warpfold_tuning\": 1, \"gpus\": {\"g\": {\"sum_blocks\": 4294967297}}}", "is 4294967297, right are 1 to 8"},
      {"{\"warpfold_tuning\": 1, \"gpus\": {\"g\": {\"sum_blocks\": \"2\\n\"}}}", "is \"2\\n\", right are 1 to 8"},
  };
  for (const auto& b : bad) {
    put(b.text);
    const std::string m = message_of("g");
    EXPECT_NE(m.find(b.said), std::string::npos) << b.text << " gives: " << m;
    EXPECT_NE(m.find(path_), std::string::npos) << m;
    EXPECT_EQ(m.find('\n'), std::string::npos) << m;
    EXPECT_EQ(code_, wf::errc::bad_input) << m;
    // A bad file is not overwritten either.
    if (std::string(b.said) == "not JSON") {
      EXPECT_THROW(wf::write_tuning(path_, "g", {}), wf::error);
    }
  }
}

TEST_F(tuning, a_named_file_must_be_there_and_no_other_is_read) {
  EXPECT_NE(message_of("g").find("cannot be read"), std::string::npos);
  EXPECT_EQ(code_, wf::errc::io);
  setenv("WARPFOLD_TUNE", path_.c_str(), 1);
  EXPECT_EQ(wf::tuning_path(), path_);
  EXPECT_THROW(wf::read_tuning("g"), wf::error);
  EXPECT_NO_THROW(wf::simulated_gpu().scratch());
  EXPECT_NE(wf::tuning_problem().find(path_ + ": the tuning file cannot be read"), std::string::npos) << wf::tuning_problem();
  setenv("WARPFOLD_TUNE", "", 1);
  EXPECT_EQ(wf::read_tuning("g"), std::nullopt);
  unsetenv("WARPFOLD_TUNE");
  setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
  const std::string usual = wf::usual_tuning_path();
  EXPECT_EQ(usual, (folder_ / "warpfold" / "tuning.json").string());
  wf::write_tuning(usual, "g", {64, 1, 1, 1});
  EXPECT_EQ(wf::tuning_path(), "");
  EXPECT_FALSE(wf::has_tuning());
  EXPECT_EQ(wf::read_tuning("g"), std::nullopt);  // a file that nobody named
  setenv("WARPFOLD_TUNE", usual.c_str(), 1);
  EXPECT_EQ(wf::read_tuning("g"), (wf::launch_choices{64, 1, 1, 1}));
  unsetenv("WARPFOLD_TUNE");
  unsetenv("XDG_CONFIG_HOME");
}

TEST_F(tuning, launches_follow_the_file) {
  const auto launched = [] {  // threads a block, of a large array of which the greatest element is asked
    std::vector<float> x(1 << 20, 1.0f);
    x[77777] = 2;
    float out = 0;
    const wf::simulated_gpu place;
    simt::reset_stats();
    wf::max(place, std::span<const float>(x), &out);
    EXPECT_EQ(out, 2.0f);
    const auto s = simt::stats();
    return s.blocks == 0 ? 0 : s.threads / s.blocks;
  };
  const auto usual = launched();
  EXPECT_EQ(usual, 512u);
  wf::write_tuning(path_, wf::simt_library().trials->name(), {96, 2, 2, 32});
  setenv("WARPFOLD_TUNE", path_.c_str(), 1);
  EXPECT_EQ(launched(), 96u);
  wf::write_tuning(path_, wf::simt_library().trials->name(), {128, 2, 2, 32});
  EXPECT_EQ(launched(), 128u);
}

TEST_F(tuning, a_bad_file_is_told_of_and_fails_no_reduction) {
  const auto sum = [] {
    const std::vector<double> x{1e308, 1e308, -1e308};
    double out = 0;
    const wf::simulated_gpu place;
    wf::sum(place, std::span<const double>(x), &out);
    return out;
  };
  setenv("WARPFOLD_TUNE", path_.c_str(), 1);
  for (const char* bad : {"{", "[]", R"({"warpfold_tuning": 2, "gpus": {}})"}) {
    put(bad);
    EXPECT_EQ(sum(), 1e308) << bad;
    const std::string problem = wf::tuning_problem();
    EXPECT_EQ(problem.find(path_), 0u) << problem;
    EXPECT_EQ(problem.find('\n'), std::string::npos) << problem;
    EXPECT_EQ(sum(), 1e308) << bad;
    EXPECT_EQ(wf::tuning_problem(), problem);  // read once, and still known
  }
  put(R"({"warpfold_tuning": 1, "gpus": {}})");
  EXPECT_EQ(sum(), 1e308);
  EXPECT_EQ(wf::tuning_problem(), "");
  put("{");
  EXPECT_EQ(sum(), 1e308);
  EXPECT_NE(wf::tuning_problem(), "");
  setenv("WARPFOLD_TUNE", "", 1);
  EXPECT_EQ(sum(), 1e308);
}

TEST(tune, simt_is_no_gpu) {
  try {
    wf::tune(wf::simt_library());
    FAIL();
  } catch (const wf::error& e) {
    EXPECT_EQ(e.code(), wf::errc::no_device);
  }
}

}  // namespace
