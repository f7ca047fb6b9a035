// SPDX-License-Identifier: Apache-2.0
// A rung that is wrong must be told: by the runner, by both reports and by the program's exit status. The places
// are made up here, and the command of the program is linked to them in place of the real ones.
#include <cli/commands.hpp>
#include <ladder/report.hpp>
#include <ladder/runner.hpp>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace {

using ladder::verdict;

/// Sums i32 as it should, and then spoils what a rung's name says. "A GPU", so that times are taken.
class liar final : public ladder::place {
 public:
  liar() {
    facts_.place = "gpu";
    facts_.free_bytes = 1 << 20;
  }
  const ladder::place_facts& facts() const override { return facts_; }
  std::span<const ladder::rung_info> rungs(wf::dtype) const override { return table; }

  void load(wf::dtype, const void* host, std::uint64_t n) override {
    const auto* x = static_cast<const std::uint32_t*>(host);
    sum_ = 0;
    for (std::uint64_t i = 0; i < n; ++i) sum_ += x[i];
    ++loads_;
  }
  ladder::outcome run(std::size_t rung, const ladder::request&) override {
    ladder::outcome o;
    o.result = sum_;
    if (is(rung, "off_by_one") || is(rung, "wrong_on_purpose")) ++o.result;
    if (is(rung, "wrong_of_data") && loads_ > 1) ++o.result;
    if (is(rung, "damages")) o.damage = "wrote beside its output";
    return o;
  }
  ladder::timing time(std::size_t rung, const ladder::request& asked, bool) override {
    ladder::timing t{.median = 1e-3, .least = 1e-3, .most = 1e-3, .samples = 7, .method = "graph"};
    t.result = run(rung, asked).result + (is(rung, "wrong_when_timed") ? 1 : 0);
    return t;
  }
  ladder::outcome repeat(std::size_t rung, const ladder::request& asked, unsigned, bool,
                         const std::function<void(bool)>&) override {
    return run(rung, asked);
  }
  const void* loaded() const override { return nullptr; }
  void finish(const work&) override {}
  void repeat(const work&, unsigned, bool, const std::function<void(bool)>&) override {}
  ladder::timing time(const work&, bool) override { return {}; }
  double read_seconds(std::uint64_t, bool) override { return 1e-3; }
  double empty_seconds(bool) override { return 1e-6; }

  std::vector<ladder::transpose_row> transposes(unsigned, bool) override { return {{.name = "lost", .right = false}}; }
  std::vector<ladder::overlap_row> overlaps(std::uint64_t) override { return {}; }
  std::vector<ladder::precision_row> precisions(std::uint64_t) override { return {}; }

  static constexpr std::array table{
      ladder::rung_info{.name = "right"},
      ladder::rung_info{.name = "off_by_one"},
      ladder::rung_info{.name = "wrong_of_data"},
      ladder::rung_info{.name = "wrong_when_timed"},
      ladder::rung_info{.name = "damages"},
      ladder::rung_info{.name = "wrong_on_purpose", .expected_wrong = true},
  };

 private:
  static bool is(std::size_t rung, std::string_view name) { return table[rung].name == name; }

  ladder::place_facts facts_;
  std::uint32_t sum_ = 0;
  int loads_ = 0;
};

ladder::report report_of(const std::string& rung) {
  liar place;
  ladder::options o;
  o.type = wf::dtype::i32;
  o.n = 1000;
  o.only = {rung};
  return run_ladder(o, place, nullptr, [](auto, auto, auto) {});
}

/// `warpfold ladder` with these arguments: its exit status and what it prints.
struct finished {
  int status = -1;
  std::string text;
};
finished command(std::vector<std::string> arguments) {
  CLI::App app;
  cli::run_state state;
  cli::add_ladder(app, state);
  arguments.insert(arguments.begin(), {"ladder", "--device", "gpu"});
  testing::internal::CaptureStdout();
  app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  return {state.exit_status, testing::internal::GetCapturedStdout()};
}
finished sums(const std::string& rung) {
  return command({"--dtype", "i32", "--n", "1000", "--json", "--only", rung});
}

TEST(a_right_rung, is_timed) {
  const ladder::report r = report_of("right");
  EXPECT_EQ(r.rows[0].said, verdict::right) << r.rows[0].why;
  EXPECT_TRUE(r.rows[0].time);
  EXPECT_FALSE(r.any_wrong());
  EXPECT_EQ(sums("right").status, cli::done);
}

class a_wrong_rung : public testing::TestWithParam<const char*> {};

TEST_P(a_wrong_rung, is_told_and_not_timed) {
  const ladder::report r = report_of(GetParam());
  EXPECT_EQ(r.rows[0].said, verdict::wrong);
  EXPECT_FALSE(r.rows[0].why.empty());
  EXPECT_FALSE(r.rows[0].time);
  EXPECT_TRUE(r.any_wrong());
  const std::string table = to_table(r);
  EXPECT_NE(table.find("  WRONG\n"), table.npos) << table;
  EXPECT_NE(table.find(std::string(GetParam()) + ": WRONG: " + r.rows[0].why + "\n"), table.npos) << table;
}

TEST_P(a_wrong_rung, ends_the_program_with_1) {
  const finished run = sums(GetParam());
  EXPECT_EQ(run.status, cli::wrong_result);
  const auto row = nlohmann::json::parse(run.text)["rungs"][0];
  EXPECT_EQ(row["verdict"], "WRONG");
  EXPECT_FALSE(row.contains("seconds"));
}

INSTANTIATE_TEST_SUITE_P(ladder, a_wrong_rung,
                         testing::Values("off_by_one", "wrong_of_data", "wrong_when_timed", "damages"),
                         [](const auto& p) { return std::string(p.param); });

TEST(wrong_among_right, is_enough) {
  EXPECT_EQ(sums("right,damages").status, cli::wrong_result);
}

TEST(wrong_on_purpose, is_timed_and_no_failure) {
  const ladder::report r = report_of("wrong_on_purpose");
  EXPECT_EQ(r.rows[0].said, verdict::wrong_as_expected);
  EXPECT_TRUE(r.rows[0].time);
  EXPECT_FALSE(r.any_wrong());
  EXPECT_EQ(sums("wrong_on_purpose").status, cli::done);
}

TEST(a_wrong_stair, ends_the_program_with_1) {
  const finished run = command({"--stairs", "--n", "100"});
  EXPECT_EQ(run.status, cli::wrong_result);
  EXPECT_NE(run.text.find("WRONG"), run.text.npos) << run.text;
}

}  // namespace

std::unique_ptr<ladder::place> ladder::open_cuda() { return std::make_unique<liar>(); }
std::unique_ptr<ladder::place> ladder::open_simt() { return std::make_unique<liar>(); }
std::unique_ptr<ladder::place> ladder::open_lens() { return nullptr; }
