// SPDX-License-Identifier: Apache-2.0
#include "runner.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

#include <simt/machine.hpp>
#include <warpfold/error.hpp>

namespace ladder {
namespace {

/// Elements of the instrumented runs: enough for every rung's every line, and quick.
constexpr std::uint64_t watched_elements = std::uint64_t{1} << 14;

bool named(const rung_info& rung, const std::string& name) {
  return name == rung.name || name == full_name(rung);
}

/// Why a rung cannot use the block asked for; empty if it can.
std::string block_refusal(const rung_info& rung, const request& asked) {
  if (rung.on_host || rung.fixed_block) return {};
  const std::string block = "block " + std::to_string(asked.block);
  if (asked.block < rung.min_block)
    return block + ": needs at least " + std::to_string(rung.min_block);
  if (rung.power_of_two && !std::has_single_bit(asked.block)) {
    const unsigned below = std::bit_floor(asked.block);
    return block + ": its tree needs a power of two, as " + std::to_string(below) +
           (below < 1024 ? " or " + std::to_string(2 * below) : "");
  }
  return {};
}

class ladder_run {
 public:
  ladder_run(const options& o, place& p, place* lens, const progress& tell)
      : asked_(o), place_(p), lens_(lens), tell_(tell) {
    report_.facts = p.facts();
    report_.asked = o;
  }

  report all() {
    select();
    check_patterns();
    check_data();
    if (place_.facts().place == "gpu") time_all();
    if (lens_ != nullptr && asked_.watch) watch_all();
    for (std::size_t k = 0; k < report_.rows.size(); ++k)
      conclude(report_.rows[k], pattern_failure_[k]);
    return std::move(report_);
  }

 private:
  /// The rungs to run, as rows; those that cannot are refused here.
  void select() {
    const auto rungs = place_.rungs(asked_.type);
    for (const std::string& name : asked_.only)
      if (std::none_of(rungs.begin(), rungs.end(),
                       [&](const rung_info& r) { return named(r, name); }))
        throw wf::error(wf::errc::bad_argument, "--only: no rung " + name + " for " +
                                                    std::string(wf::info(asked_.type).name) +
                                                    "; --list names them");
    for (std::size_t k = 0; k < rungs.size(); ++k) {
      const auto wanted = [&](const std::string& name) { return named(rungs[k], name); };
      if (!asked_.only.empty() && std::none_of(asked_.only.begin(), asked_.only.end(), wanted))
        continue;
      row r;
      r.rung = rungs[k];
      r.n = on_lens(rungs[k]) ? std::min(asked_.n, watched_elements) : asked_.n;
      r.why = block_refusal(rungs[k], asked_.asked);
      if (!r.why.empty() && !asked_.only.empty())
        throw wf::error(wf::errc::bad_argument, std::string(rungs[k].name) + ": " + r.why);
      report_.rows.push_back(r);
      index_.push_back(k);
    }
    pattern_failure_.resize(report_.rows.size());
  }

  bool on_lens(const rung_info& rung) const {
    return lens_ != nullptr && schedule_of(rung) != simt::lane_schedule::to_barrier;
  }

  outcome run_once(std::size_t k) {
    const row& r = report_.rows[k];
    return on_lens(r.rung) ? run_watched(*lens_, asked_.type, index_[k], asked_.asked,
                                         simt::block_order::forward)
                                 .ran
                           : place_.run(index_[k], asked_.asked);
  }

  /// Calls body(k) for every row that can run.
  template <class Body>
  void each_row(const Body& body) {
    for (std::size_t k = 0; k < report_.rows.size(); ++k) {
      if (!report_.rows[k].why.empty()) continue;
      tell_(full_name(report_.rows[k].rung), steps_done_++, 3 * report_.rows.size());
      body(k);
    }
  }

  void check_patterns() {
    for (std::uint64_t round = 0; round < 2; ++round) {
      const pattern p = make_pattern(asked_.type, asked_.n, asked_.seed + 1000003 * (round + 1));
      if (round == 1 && !p.sparse) return;
      const pattern small =
          make_pattern(asked_.type, std::min(asked_.n, watched_elements), asked_.seed);
      place_.load(asked_.type, p.elements.data(), asked_.n);
      if (lens_ != nullptr) lens_->load(asked_.type, small.elements.data(), small.elements.n);
      each_row([&](std::size_t k) {
        row& r = report_.rows[k];
        const outcome o = run_once(k);
        if (!o.refused.empty()) {
          r.why = o.refused;
          return;
        }
        const pattern& used = on_lens(r.rung) ? small : p;
        if (!matches(used, r.rung, o.result)) {
          const wf::dtype type = result_type(asked_.type, r.rung);
          pattern_failure_[k] = "of small integers it made " + result_text(type, o.result) +
                                ", not " + std::to_string(used.sum);
        }
        if (!o.damage.empty()) pattern_failure_[k] = o.damage;
      });
    }
  }

  void check_data() {
    array made(asked_.type, 0);
    if (asked_.input == nullptr) made = make_data(asked_.type, asked_.data, asked_.n, asked_.seed);
    data_ = std::make_unique<array>(std::move(made));
    const array& data = asked_.input != nullptr ? *asked_.input : *data_;
    const std::uint64_t small_n = std::min(asked_.n, watched_elements);
    reference_ = std::make_unique<reference>(data);
    array small(asked_.type, small_n);
    std::copy_n(data.data(), small_n * wf::info(asked_.type).size, small.data());
    small_ = std::make_unique<array>(std::move(small));
    const reference of_small(*small_);
    report_.exact = reference_->text(asked_.type == wf::dtype::f16 ? wf::dtype::f32 : asked_.type);
    report_.condition = reference_->condition();
    place_.load(asked_.type, data.data(), asked_.n);
    if (lens_ != nullptr) lens_->load(asked_.type, small_->data(), small_n);
    each_row([&](std::size_t k) {
      const auto start = std::chrono::steady_clock::now();
      row& r = report_.rows[k];
      const reference& truth = on_lens(r.rung) ? of_small : *reference_;
      for (int again = 0; again < 3; ++again) {
        outcome o = run_once(k);
        take(r, truth, o.result, o.depth);
        if (!o.damage.empty()) pattern_failure_[k] = o.damage;
        if (again == 0) r.ran = std::move(o);
        if (std::chrono::steady_clock::now() - start > std::chrono::milliseconds(300)) break;
      }
    });
  }

  /// Judges one more run; the row keeps the worst.
  static void take(row& r, const reference& truth, std::uint64_t result, double depth) {
    const judgement j = truth.judge(r.rung, result, depth);
    if (r.runs > 0 && result != r.ran.result) r.runs_differ = true;
    const bool worse = r.runs == 0 || (r.judged.right && !j.right) ||
                       (r.judged.right == j.right && std::abs(j.error) > std::abs(r.judged.error));
    if (worse) r.judged = j;
    ++r.runs;
  }

  void time_all() {
    const std::uint64_t bytes = asked_.n * wf::info(asked_.type).size;
    report_.empty_seconds = place_.empty_seconds(asked_.hot);
    if (bytes >= 16) report_.read_seconds = place_.read_seconds(bytes, asked_.hot);
    report_.ceiling_bytes =
        std::max(std::min(std::uint64_t{2} << 30, place_.facts().free_bytes / 4), bytes);
    report_.ceiling_seconds = place_.read_seconds(report_.ceiling_bytes, false);
    report_.clocks = read_clocks(place_.facts().pci);
    double before = 0, atomic = 0;
    each_row([&](std::size_t k) {
      row& r = report_.rows[k];
      if (!trustworthy(k)) return;
      r.time = place_.time(index_[k], asked_.asked, asked_.hot);
      // The timed runs are runs, too.
      take(r, *reference_, r.time->result, r.ran.depth);
      if (!trustworthy(k)) r.time.reset();
      if (!r.time) return;
      const double seconds = r.time->median;
      r.gb_per_s = static_cast<double>(bytes) / seconds * 1e-9;
      r.of_read = report_.read_seconds / seconds;
      r.of_ceiling = r.gb_per_s / ceiling_gb_per_s();
      if (before > 0) r.over_before = before / seconds;
      before = seconds;
      if (r.rung.name == "atomic") atomic = seconds;
    });
    if (atomic > 0)
      for (row& r : report_.rows)
        if (r.time) r.over_atomic = atomic / r.time->median;
  }

  double ceiling_gb_per_s() const {
    return static_cast<double>(report_.ceiling_bytes) / report_.ceiling_seconds * 1e-9;
  }

  /// No time is shown of a result that is wrong, but of those that are meant to be.
  bool trustworthy(std::size_t k) const {
    const row& r = report_.rows[k];
    return r.rung.expected_wrong || (r.judged.right && pattern_failure_[k].empty());
  }

  void watch_all() {
    report_.watched_n = small_->n;
    each_row([&](std::size_t k) {
      row& r = report_.rows[k];
      if (r.rung.on_host) return;
      r.races =
          run_watched(*lens_, asked_.type, index_[k], asked_.asked, simt::block_order::forward)
              .races;
    });
  }

  static void conclude(row& r, const std::string& pattern_failure) {
    if (!r.why.empty()) {
      r.said = verdict::skipped;
      return;
    }
    if (!pattern_failure.empty())
      r.why = pattern_failure;
    else if (!r.judged.right)
      r.why = r.judged.why;
    else if (r.runs_differ && !r.rung.any_order)
      r.why = "its runs differ, and their order is fixed";
    if (r.rung.expected_wrong)
      r.said = r.why.empty() ? verdict::right_by_luck : verdict::wrong_as_expected;
    else if (r.why.empty() && r.races && !r.races->empty())
      r.why = "a data race";
    if (!r.rung.expected_wrong)
      r.said = !r.why.empty() ? verdict::wrong : r.judged.digits < 1 ? verdict::no_digit : verdict::right;
  }

  const options& asked_;
  place& place_;
  place* lens_;
  const progress& tell_;
  report report_;
  std::vector<std::size_t> index_;            // for each row in the place's rungs
  std::vector<std::string> pattern_failure_;  // for each row
  std::unique_ptr<array> data_, small_;
  std::unique_ptr<reference> reference_;
  std::size_t steps_done_ = 0;
};

}  // namespace

std::string full_name(const rung_info& rung) {
  return rung.variant.empty() ? std::string(rung.name)
                              : std::string(rung.name) + "/" + std::string(rung.variant);
}

std::string_view to_string(verdict v) {
  switch (v) {
    case verdict::right: return "right";
    case verdict::no_digit: return "within its bound, no digit right";
    case verdict::right_by_luck: return "right by luck";
    case verdict::wrong_as_expected: return "wrong as expected";
    case verdict::wrong: return "WRONG";
    case verdict::skipped: return "skipped";
  }
  return "";
}

bool report::any_wrong() const {
  return std::any_of(rows.begin(), rows.end(),
                     [](const row& r) { return r.said == verdict::wrong; });
}

report run_ladder(const options& o, place& p, place* lens, const progress& tell) {
  return ladder_run(o, p, lens, tell).all();
}

}  // namespace ladder
