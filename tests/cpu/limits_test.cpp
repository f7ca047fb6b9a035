// SPDX-License-Identifier: Apache-2.0
// C and C++ have the same limits: what one refuses the other refuses, in the same words.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <warpfold/warpfold.h>
#include <warpfold/warpfold.hpp>

namespace {

/// What C++ says of a call, or an empty text.
std::string in_cpp(const std::function<void()>& call) {
  try {
    call();
  } catch (const wf::error& e) {
    return (e.code() == wf::errc::bad_argument ? "bad argument: " : e.code() == wf::errc::unsupported ? "unsupported: " : "another: ") + std::string(e.what());
  }
  return "";
}

/// What C says of a request.
std::string in_c(const wf_request& q) {
  const int status = wf_run(&q);
  if (status == WF_OK) return "";
  return (status == WF_BAD_ARGUMENT ? "bad argument: " : status == WF_UNSUPPORTED ? "unsupported: " : "another: ") + std::string(wf_last_error());
}

const std::vector<double> values{1, 2, 3, 4, 5, 6};
double room[64];

/// A request of `shape`, whose elements all are the first value where there are more than six.
struct asked {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  wf_array x{};
  wf_request q{};
  explicit asked(std::vector<std::int64_t> lengths, int op = WF_SUM) : shape(std::move(lengths)), strides(shape.size(), 0) {
    if (shape.size() == 1) strides[0] = sizeof(double);
    x = {values.data(), WF_F64, static_cast<int>(shape.size()), shape.data(), strides.data()};
    q.size = sizeof q;
    q.version = WF_REQUEST_VERSION;
    q.op = op;
    q.x = &x;
    q.out = room;
  }
};

}  // namespace

#define EXPECT_SAME(c, cpp, words)                                             \
  do {                                                                         \
    const std::string said = c, of_cpp = in_cpp([&] { static_cast<void>(cpp); }); \
    EXPECT_EQ(said, of_cpp);                                                   \
    EXPECT_NE(said.find(words), said.npos) << said;                            \
  } while (false)

TEST(limits_of_c_and_cpp, threads) {
  asked a({6});
  a.q.options.threads = -1;
  wf::context c;
  c.threads = -1;
  // Where it stands has another name in C.
  const std::string said = in_c(a.q), of_cpp = in_cpp([&] { wf::sum(values, c); });
  EXPECT_EQ(said, "bad argument: options: threads is -1; it is 0 or more, and 0 means all");
  EXPECT_EQ(of_cpp, "bad argument: context: threads is -1; it is 0 or more, and 0 means all");
}

TEST(limits_of_c_and_cpp, axes) {
  asked a({2, 3});
  a.strides = {24, 8};
  a.q.partition = WF_AXES;
  const wf::view<double> matrix(values.data(), {2, 3});
  const int beyond[] = {2}, below[] = {-3}, twice[] = {1, -1};
  a.q.axis_count = 1;
  a.q.axes = beyond;
  EXPECT_SAME(in_c(a.q), wf::sum(matrix, wf::axis{2}), "axis 2");
  a.q.axes = below;
  EXPECT_SAME(in_c(a.q), wf::sum(matrix, wf::axis{-3}), "axis -3");
  a.q.axes = twice;
  a.q.axis_count = 2;
  EXPECT_SAME(in_c(a.q), wf::sum(matrix, wf::axis{1, -1}), "twice");
}

TEST(limits_of_c_and_cpp, dimensions) {
  asked fits(std::vector<std::int64_t>(wf::max_rank, 1)), more(std::vector<std::int64_t>(wf::max_rank + 1, 1));
  EXPECT_EQ(in_c(fits.q), "");
  const std::string said = in_c(more.q), of_cpp = in_cpp([] { wf::extents shape; for (int d = 0; d <= wf::max_rank; ++d) shape.push_back(1); });
  EXPECT_NE(said.find("32"), said.npos) << said;
  EXPECT_NE(of_cpp.find("32"), of_cpp.npos) << of_cpp;
  EXPECT_EQ(said.substr(0, 13), of_cpp.substr(0, 13));
}

TEST(limits_of_c_and_cpp, segments) {
  asked a({6});
  a.q.partition = WF_SEGMENTS;
  const std::vector<std::int64_t> falls{0, 4, 2}, beyond{0, 7}, below{-1, 3};
  for (const auto& offsets : {falls, beyond, below}) {
    a.q.indexes = offsets.data();
    a.q.count = static_cast<std::int64_t>(offsets.size()) - 1;
    EXPECT_SAME(in_c(a.q), wf::sum(values, wf::segments{offsets}), "segments: offset ");
  }
  a.q.partition = WF_EQUAL_SEGMENTS;
  for (const std::int64_t length : {std::int64_t{0}, std::int64_t{-5}}) {
    a.q.length = length;
    EXPECT_SAME(in_c(a.q), wf::sum(values, wf::segments_of{length}), std::to_string(length));
  }
}

TEST(limits_of_c_and_cpp, labels) {
  asked a({6});
  a.q.partition = WF_LABELS;
  const std::vector<std::int64_t> labels{0, 1, 2, 1, 0, 1}, below{0, 1, -1, 1, 0, 1};
  a.q.indexes = labels.data();
  for (const std::int64_t answers : {std::int64_t{2}, std::int64_t{0}, std::int64_t{-1}, INT64_MAX, std::int64_t{1} << 60}) {
    a.q.count = answers;
    EXPECT_SAME(in_c(a.q), wf::sum(values, wf::by_label{labels, answers}), "labels");
  }
  a.q.indexes = below.data();
  a.q.count = 3;
  EXPECT_SAME(in_c(a.q), wf::sum(values, wf::by_label{below, 3}), "labels: label -1 of element 2");
}

TEST(limits_of_c_and_cpp, corrections_and_inputs) {
  asked a({6}, WF_VAR);
  for (const std::int64_t correction : {std::int64_t{-1}, INT64_MIN, INT64_MAX}) {
    a.q.options.correction = correction;
    EXPECT_EQ(in_c(a.q), in_cpp([&] { static_cast<void>(wf::var(values, wf::correction{correction})); }));
  }
  asked d({6}, WF_DOT), other({5});
  d.q.y = &other.x;
  EXPECT_SAME(in_c(d.q), wf::dot(wf::view<double>(values.data(), {6}), wf::view<double>(values.data(), {5})), "(6,) and (5,)");
}
