// SPDX-License-Identifier: Apache-2.0
// `warpfold ladder`, driven as a user would.
#include <gtest/gtest.h>

#include "../support/program.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

namespace {

using wf::test::finished;

/// `errors`: standard error instead of standard output. `before`: a command of the shell up to the program's name.
finished warpfold(const std::string& arguments, bool errors = false, const std::string& before = "") {
  return wf::test::run_program(before + WARPFOLD + " ladder " + arguments, errors);
}

/// Bytes of a .npy file up to its data.
std::string npy_header(const std::string& descr, const std::string& shape) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + '\n';
}

TEST(ladder, json_lists_every_rung_with_its_verdict) {
  const finished run = warpfold("--device simt --n 10000 --json");
  ASSERT_EQ(run.status, 0) << run.text;
  const auto j = nlohmann::json::parse(run.text);
  EXPECT_EQ(j["place"], "simt");
  EXPECT_EQ(j["n"], 10000);
  EXPECT_EQ(j["dtype"], "f32");
  std::map<std::string, std::string> verdicts;
  for (const auto& rung : j["rungs"]) {
    verdicts[rung["name"]] = rung["verdict"];
    const bool wrong = rung["name"] == "race" || rung["name"] == "unroll_warp";
    EXPECT_EQ(rung["verdict"], wrong ? "wrong as expected" : "right")
        << rung["name"] << ": " << rung["reason"];
    EXPECT_EQ(rung.value("races", 0) > 0, wrong) << rung["name"];
  }
  EXPECT_EQ(verdicts.size(), 36u);
  for (const auto& race : j["races"]) {
    const std::string file = race["a"]["file"];
    EXPECT_TRUE(file == "ladder/02_race.cuh" || file == "ladder/11_unroll_warp.cuh") << file;
  }
}

TEST(ladder, tells_results_without_a_right_digit) {
  const auto j = nlohmann::json::parse(warpfold("--device simt --n 10000 --data hard --only record,atomic,exact --json").text);
  EXPECT_GT(j["condition"], 1e12);
  ASSERT_EQ(j["rungs"].size(), 3u);
  for (const auto& rung : j["rungs"]) {
    const bool is_exact = rung["name"] == "exact";
    EXPECT_EQ(rung["verdict"], is_exact ? "right" : "within its bound, no digit right") << rung["name"];
    EXPECT_EQ(rung["digits_right"], is_exact ? nlohmann::json("all") : nlohmann::json(0.0)) << rung["name"];
  }
  EXPECT_NE(warpfold("--device simt --n 10000 --data hard --only record").text.find("condition number"), std::string::npos);
  EXPECT_NEAR(nlohmann::json::parse(warpfold("--device simt --n 10000 --only record --json").text)["condition"].get<double>(), 1, 1e-6);
}

TEST(ladder, stairs_have_no_infinite_percentage) {
  const std::string text = warpfold("--stairs --n 256K").text;
  EXPECT_NE(text.find("overflow"), text.npos) << text;
  EXPECT_EQ(text.find("inf%"), text.npos) << text;
}

TEST(ladder, prints_a_table_for_every_type) {
  for (const std::string type : {"f32", "f64", "i32", "f16"})
    for (const std::string data : {"ones", "uniform", "normal", "hard"}) {
      const finished run = warpfold("--device simt --n 3000 --dtype " + type + " --data " + data);
      EXPECT_EQ(run.status, 0) << run.text;
      EXPECT_NE(run.text.find("tree_sequential"), run.text.npos);
      EXPECT_NE(run.text.find("race in race: ladder/02_race.cuh:"), run.text.npos);
      EXPECT_EQ(run.text.find("WRONG"), run.text.npos);
    }
}

TEST(ladder, runs_what_is_asked_for_only) {
  const finished run = warpfold("--device simt --n 2^12 --only atomic,cpu/kahan --json");
  ASSERT_EQ(run.status, 0);
  const auto j = nlohmann::json::parse(run.text);
  ASSERT_EQ(j["rungs"].size(), 2u);
  EXPECT_EQ(j["rungs"][0]["name"], "cpu/kahan");
  EXPECT_EQ(j["rungs"][1]["counters"]["atomics"], 4096);
  EXPECT_EQ(j["rungs"][1]["counters"]["threads"], 4096);
}

TEST(ladder, counts_are_what_the_source_says) {
  const auto j = nlohmann::json::parse(
      warpfold("--device simt --n 1M --only tree_sequential,shuffle --json").text);
  ASSERT_EQ(j["rungs"].size(), 2u);
  // 4096 blocks of 256: a barrier after the load and after each of 8 steps; an atomic a block.
  EXPECT_EQ(j["rungs"][0]["counters"]["barriers"], 4096 * 9);
  EXPECT_EQ(j["rungs"][0]["counters"]["atomics"], 4096);
  const std::uint64_t threads = j["rungs"][1]["counters"]["threads"];
  EXPECT_EQ(j["rungs"][1]["counters"]["shuffles"], threads / 32 * 5);
  EXPECT_EQ(j["rungs"][1]["counters"]["atomics"], threads / 32);
}

TEST(ladder, sums_a_file) {
  const std::string path = testing::TempDir() + "ladder_input.npy";
  std::ofstream(path, std::ios::binary) << npy_header(">f4", "(3,)")
                                        << std::string("\x3f\x80\0\0\x40\0\0\0\x40\x40\0\0", 12);
  const finished run = warpfold("--device simt --json --only record,exact --input " + path);
  ASSERT_EQ(run.status, 0) << run.text;
  const auto j = nlohmann::json::parse(run.text);
  EXPECT_EQ(j["n"], 3);
  for (const auto& rung : j["rungs"]) EXPECT_EQ(rung["result"], "6");
  const finished mismatch = warpfold("--device simt --dtype f64 --input " + path, true);
  EXPECT_EQ(mismatch.status, 2);
  EXPECT_NE(mismatch.text.find("f32"), mismatch.text.npos);
}

TEST(ladder, refuses_bad_input_in_one_line) {
  for (const std::string arguments :
       {"--n 1.5", "--n -1", "--n 2^41", "--n 1e13", "--n ''", "--block 48", "--block 0",
        "--block 2048", "--dtype f80", "--only nothing", "--data bad", "--device tpu", "--seed x",
        "--blocks-per-sm 1000", "--input /nonexistent.npy", "--block 96 --only tree_modulo",
        "--block 32 --only unroll_all", "--n 2^40", "--seed -1", "--seed 18446744073709551616", "--seed ''",
        "--input ''", "--input="}) {
    const finished run = warpfold("--device simt " + arguments, true);
    EXPECT_EQ(run.status, 2) << arguments;
    EXPECT_EQ(std::count(run.text.begin(), run.text.end(), '\n'), 1)
        << arguments << ": " << run.text;
  }
}

TEST(ladder, refuses_what_it_would_not_heed) {
  const std::string path = testing::TempDir() + "ladder_three.npy";
  std::ofstream(path, std::ios::binary) << npy_header("<i4", "(3,)") << std::string(12, '\1');
  const std::string with_file = "--device simt --only record --input " + path;
  EXPECT_EQ(warpfold(with_file).status, 0);
  const auto refused = [](const std::string& arguments, const std::string& option) {
    const finished run = warpfold(arguments + " " + option, true);
    EXPECT_EQ(run.status, 2) << arguments << " " << option;
    EXPECT_EQ(std::count(run.text.begin(), run.text.end(), '\n'), 1) << run.text;
    EXPECT_NE(run.text.find(option.substr(0, option.find(' '))), run.text.npos) << run.text;
  };
  for (const std::string option : {"--n 5", "--data ones", "--seed 2"}) refused(with_file, option);
  for (const std::string option : {"--only atomic", "--only nonsense", "--block 64", "--blocks-per-sm 2", "--data ones",
                                   "--seed 2", "--hot"}) {
    refused("--device simt --n 1000 --stairs", option);
    refused("--device simt --list", option);
  }
  refused("--device simt --stairs", "--dtype f16");
  refused("--device simt --stairs", "--input " + path);
  refused("--device simt --list", "--input " + path);
  refused("--device simt --list", "--n 5");
  refused("--device simt --list", "--stairs");
}

TEST(ladder, believes_no_header_before_it_allocates) {
  const std::string path = testing::TempDir() + "ladder_header.npy";
  // The last one: its bytes fit in 64 bits, and three copies of it do not.
  for (const std::string shape : {"(1099511627776,)", "(1537228672809129302,)"}) {
    std::ofstream(path, std::ios::binary) << npy_header("<f4", shape);
    const finished run = warpfold("--device simt --input -", true, "cat " + path + " | ");
    EXPECT_EQ(run.status, 2) << shape;
    EXPECT_EQ(std::count(run.text.begin(), run.text.end(), '\n'), 1) << run.text;
    EXPECT_EQ(run.text.find("bad_alloc"), run.text.npos) << run.text;
    EXPECT_NE(run.text.find("MiB"), run.text.npos) << run.text;
  }
}

TEST(ladder, prints_the_command_that_runs_the_same_again) {
  for (const std::string arguments : {"--device simt --n 3000 --stairs --json", "--device simt --n 3000 --only record --json"}) {
    const std::string command = nlohmann::json::parse(warpfold(arguments).text)["command"];
    const std::string name = "warpfold ladder ";
    ASSERT_TRUE(command.starts_with(name)) << command;
    const finished again = warpfold(command.substr(name.size()));
    EXPECT_EQ(again.status, 0) << command;
    EXPECT_EQ(nlohmann::json::parse(again.text)["command"], command);
  }
}

TEST(ladder, skips_what_the_block_does_not_suit_if_all_are_asked_for) {
  const finished run = warpfold("--device simt --n 1000 --block 96 --json");
  ASSERT_EQ(run.status, 0);
  const nlohmann::json all = nlohmann::json::parse(run.text);
  for (const auto& rung : all["rungs"])
    if (rung["name"] == "tree_modulo") {
      EXPECT_EQ(rung["verdict"], "skipped");
      EXPECT_NE(std::string(rung["reason"]).find("power of two"), std::string::npos);
    }
}

TEST(ladder, lists_and_climbs_the_side_stairs) {
  EXPECT_NE(warpfold("--device simt --list").text.find("02_race.cuh"), std::string::npos);
  const auto list = nlohmann::json::parse(warpfold("--device simt --list --json").text);
  EXPECT_EQ(list["rungs"].size(), 36u);
  EXPECT_EQ(list["rungs"][0]["name"], "cpu/serial");
  const finished run = warpfold("--device simt --stairs --n 20000 --json");
  ASSERT_EQ(run.status, 0);
  const auto j = nlohmann::json::parse(run.text);
  EXPECT_EQ(j["transpose"]["rows"].size(), 4u);
  EXPECT_EQ(j["overlap"]["rows"].size(), 8u);
  for (const char* stair : {"transpose", "overlap"})
    for (const auto& row : j[stair]["rows"]) EXPECT_FALSE(row.contains("seconds")) << row;
  EXPECT_EQ(warpfold("--device simt --stairs --n 20000").status, 0);
}

}  // namespace
