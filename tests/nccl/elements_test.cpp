// SPDX-License-Identifier: Apache-2.0
// Tensors added element by element over ranks: each element is the true sum, rounded once, whatever the number of elements and ranks.
#include <cmath>
#include <complex>
#include <limits>
#include <random>

#include "expect_refused.hpp"
#include "ranks.hpp"

namespace {

template <class T>
bytes raw(const std::vector<T>& v) {
  const auto b = std::as_bytes(std::span(v));
  return {b.begin(), b.end()};
}

/// Numbers of which each cancels most of another rank's, so that sums one after the other are wrong.
template <class T>
std::vector<T> tensor_of(int rank, std::size_t n) {
  std::mt19937_64 random(77);
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double large = std::ldexp(static_cast<double>(random() >> 40), static_cast<int>(random() % 5) + 3), small = static_cast<double>(random() % 1000) / 1024;
    const double mine = rank % 3 == 0 ? large : rank % 3 == 1 ? small + rank : -large;
    if constexpr (std::is_same_v<T, std::complex<double>>) x[i] = {mine, -mine + rank};
    else x[i] = static_cast<T>(mine);
  }
  if constexpr (std::is_same_v<T, float>) {
    if (n > 3) {
      x[0] = -0.0F;
      x[1] = rank == 1 ? std::numeric_limits<float>::infinity() : 1;
      x[2] = rank == 0 ? std::numeric_limits<float>::quiet_NaN() : 1;
      x[3] = std::numeric_limits<float>::max();
    }
  }
  return x;
}

template <class T>
void sums_of_elements(const rank_type& me, std::size_t n) {
  std::vector<T> all, own;
  for (int k = 0; k < me.ranks; ++k) {
    const std::vector<T> x = tensor_of<T>(k, n);
    all.insert(all.end(), x.begin(), x.end());
    if (k == me.index) own = x;
  }
  const wf::view<T> rows(all.data(), {me.ranks, static_cast<std::int64_t>(n)});
  const std::vector<T> want = wf::sum(rows, wf::axis{0}).values;
  const on_device x(raw(own)), out(bytes(n * sizeof(T), std::byte{0x6d}));
  const std::span<const T> px(static_cast<const T*>(x.get()), n);
  wf::nccl::sum_elements(me.place, me.comm, px, static_cast<T*>(out.get()));
  EXPECT_TRUE(out.back() == raw(want)) << wf::info(wf::dtype_of<T>).name << ", " << n << " elements, " << me.ranks << " ranks";
  EXPECT_TRUE(x.back() == raw(own));
  if constexpr (std::is_floating_point_v<T>) {
    const std::vector<T> means = wf::mean(rows, wf::axis{0}, wf::rounding::up).values;
    wf::nccl::mean_elements(me.place, me.comm, px, static_cast<T*>(out.get()), wf::rounding::up);
    EXPECT_TRUE(out.back() == raw(means)) << "means, " << n << " elements, " << me.ranks << " ranks";
  }
  // By shares, however few there are: apart and in place.
  const wf::nccl::detail::elements_over_ranks<wf::op::sum, place_type, T> over(me.place, me.comm);
  const on_device shares(bytes(n * sizeof(T), std::byte{0x6d})), copy(raw(own));
  over.run(px.data(), n, static_cast<T*>(shares.get()), 0);
  EXPECT_TRUE(shares.back() == raw(want)) << "by shares, " << n << " elements, " << me.ranks << " ranks";
  EXPECT_TRUE(x.back() == raw(own));
  over.run(static_cast<const T*>(copy.get()), n, static_cast<T*>(copy.get()), 0);
  EXPECT_TRUE(copy.back() == raw(want)) << "by shares, in place, " << n << " elements, " << me.ranks << " ranks";
  wf::nccl::sum_elements(me.place, me.comm, px, static_cast<T*>(x.get()));  // in place
  EXPECT_TRUE(x.back() == raw(want)) << "in place, " << n << " elements, " << me.ranks << " ranks";
}

TEST(nccl, tensors_element_by_element) {
  if (rank_counts().empty()) GTEST_SKIP() << "no GPU here";
  for (const int ranks : rank_counts())
    with_ranks(ranks, [](const rank_type& me) {
      // Gathered; cut into shares with a rest and without one.
      for (const std::size_t n : {1u, 17u, 1000u, 16384u, 16385u, 30720u, 40003u}) sums_of_elements<float>(me, n);
      for (const std::size_t n : {3u, 9000u}) {
        sums_of_elements<double>(me, n);
        sums_of_elements<std::int64_t>(me, n);
        sums_of_elements<std::complex<double>>(me, n);
      }
      sums_of_elements<wf::f16>(me, 33001);
      wf::nccl::sum_elements(me.place, me.comm, std::span<const float>(), static_cast<float*>(nullptr));  // nothing, and nothing is sent
    });
}

TEST(nccl, elements_refused) {
  if (rank_counts().empty()) GTEST_SKIP() << "no GPU here";
  with_ranks(1, [](const rank_type& me) {
    const on_device x(bytes(400));
    const std::span<const float> px(static_cast<const float*>(x.get()), 100);
    expect_refused([&] { wf::nccl::sum_elements(me.place, me.comm, px, static_cast<float*>(nullptr)); }, wf::errc::bad_argument, "no memory");
    expect_refused([&] { wf::nccl::sum_elements(me.place, nullptr, px, static_cast<float*>(x.get())); }, wf::errc::bad_argument, "no communicator");
  });
}

#ifndef WF_REAL_NCCL
/// A rank that never comes, as the stand-in tells of it; faults_test.cpp has the same with NCCL.
TEST(nccl, waiting_ends) {
  with_ranks(1, [](const rank_type& me) {
    ncclComm_t comm = me.comm;
    wf::nccl::wait(me.place, comm, std::chrono::seconds(5));
    EXPECT_EQ(comm, me.comm);
    stand_in_stream_hangs = true;
    expect_refused([&] { wf::nccl::wait(me.place, comm, std::chrono::milliseconds(20)); }, wf::errc::device, "nothing came for 20 ms");
    EXPECT_EQ(comm, nullptr);
    EXPECT_TRUE(me.comm->is_aborted);
    comm = me.comm;  // one whose ranks are lost
    expect_refused([&] { wf::nccl::wait(me.place, comm, std::chrono::seconds(5)); }, wf::errc::device, "remote process");
    EXPECT_EQ(comm, nullptr);
    EXPECT_EQ(wf::sum(me.place, std::vector<float>{1e30f, 1, -1e30f}), 1);
  });
}
#endif

}  // namespace
