// SPDX-License-Identifier: Apache-2.0
// The GPU library on a GPU, against the CPU. Skipped where there is no GPU.
#include <thread>

#include "own_table.hpp"
#include "table.hpp"

namespace {

void skip_without_gpu() {
  const auto why = gpu_machine().why_not();
  if (!why.empty()) GTEST_SKIP() << "no GPU: " << why;
}

class types : public ::testing::TestWithParam<wf::dtype> {
 protected:
  void SetUp() override { skip_without_gpu(); }
  void row(const wf::device_place& place, const std::string& family, const layout& s) {
    check_row(gpu_machine(), place, GetParam(), family, s, 20 + static_cast<std::uint64_t>(s.n));
  }
};

TEST_P(types, lengths_addresses_strides_and_families) {
  const wf::gpu place;
  for (const std::int64_t n : {0, 1, 2, 7, 16, 33, 1000}) row(place, families_of(GetParam())[0], {n, 0, 1});
  for (const auto& family : families_of(GetParam())) row(place, family, {70001, 1, 1});
  const auto items = static_cast<std::int64_t>(16 / wf::info(GetParam()).size);
  for (std::int64_t skipped = 0; skipped < items; ++skipped) row(place, families_of(GetParam())[1], {2001, skipped, 1});
  for (const std::int64_t stride : {2, -3}) row(place, families_of(GetParam())[1], {7777, 1, stride});
  row(place, families_of(GetParam())[0], {3000001, 1, 1});
}

INSTANTIATE_TEST_SUITE_P(gpu, types, ::testing::ValuesIn(all_dtypes),
                         [](const auto& given) { return std::string(wf::info(given.param).name); });

class own_on_gpu : public ::testing::TestWithParam<own> {};

TEST_P(own_on_gpu, over_lengths_addresses_and_grids) {
  skip_without_gpu();
  if (!IsSkipped()) check_own(gpu_machine(), GetParam(), {0, 1, 5, 64, 1000, 5003, 300007});
}

INSTANTIATE_TEST_SUITE_P(gpu, own_on_gpu, ::testing::ValuesIn(all_own), own_name);

TEST(large, more_than_two_to_the_32_bytes) {
  skip_without_gpu();
  if (::testing::Test::IsSkipped()) return;
  const machine& m = gpu_machine();
  const std::int64_t n = (std::int64_t{1} << 32) + 70003;
  auto* x = static_cast<unsigned char*>(m.allocate(static_cast<std::size_t>(n)));
  if (x == nullptr) GTEST_SKIP() << "no room for " << n << " bytes";
  std::vector<unsigned char> part(std::size_t{1} << 24, 1);
  for (std::int64_t at = 0; at < n; at += static_cast<std::int64_t>(part.size()))
    ASSERT_EQ(m.upload(x + at, part.data(), static_cast<std::size_t>(std::min<std::int64_t>(n - at, static_cast<std::int64_t>(part.size())))), "");
  const unsigned char low = 0x80;
  ASSERT_EQ(m.upload(x + n - 2, &low, 1), "");
  auto* out = static_cast<std::int64_t*>(m.allocate(8));
  const wf::gpu place;
  const auto ask = [&](wf::op o) {
    std::int64_t got = -7;
    m.library->run({o, wf::dtype::i8, wf::accuracy::exact, {}, {x, nullptr}, {1, 1}, n, out}, place.scratch(), nullptr);
    EXPECT_EQ(m.download(&got, out, 8), "");
    return got;
  };
  EXPECT_EQ(ask(wf::op::sum), n - 1 - 128);
  EXPECT_EQ(ask(wf::op::argmin), n - 2);
  EXPECT_EQ(ask(wf::op::argmax), 0);
  EXPECT_EQ(ask(wf::op::count_nonzero), n);
  EXPECT_EQ(ask(wf::op::sum_of_squares), n - 1 + 16384);
  m.free(x);
  m.free(out);
}

/// Host threads × streams, mixed reductions; each answer is copied out by the next one's wait.
TEST(soak, threads_and_streams_without_interference_or_leaks) {
  skip_without_gpu();
  if (::testing::Test::IsSkipped()) return;
  const machine& m = gpu_machine();
  constexpr std::int64_t n = 50021;
  const auto x = make_bytes(wf::dtype::f32, "finite_bits", n, 3);
  const device_inputs in(m, x, x);
  const strided host{x.data(), n, 1};
  const wf::op ops[] = {wf::op::sum, wf::op::min, wf::op::argmax, wf::op::var, wf::op::norm2, wf::op::count_nonzero, wf::op::minmax, wf::op::mean};
  std::vector<std::vector<unsigned char>> want;
  for (const wf::op o : ops) want.push_back(cpu_answer(o, wf::dtype::f32, wf::accuracy::exact, {}, host, host));
  const auto round = [&](int rounds) {
    std::vector<std::string> wrong(8);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        std::vector<void*> streams;
        std::vector<std::unique_ptr<wf::gpu>> places;
        auto* out = static_cast<unsigned char*>(m.allocate(8 * 16));
        for (int s = 0; s < 8; ++s) {
          streams.push_back(m.make_stream());
          places.push_back(std::make_unique<wf::gpu>(streams.back()));
        }
        for (int i = 0; i < rounds && wrong[t].empty(); ++i) {
          for (std::size_t s = 0; s < 8; ++s)
            m.library->run({ops[(s + static_cast<std::size_t>(i)) % 8], wf::dtype::f32, wf::accuracy::exact, {}, {in.x(), nullptr}, {1, 1}, n, out + 16 * s},
                           places[s]->scratch(), streams[s]);
          if (i % 10 != 9) continue;
          unsigned char got[8 * 16];
          for (std::size_t s = 0; s < 8; ++s) wrong[t] += m.wait(streams[s]);
          wrong[t] += m.download(got, out, sizeof got);
          for (std::size_t s = 0; s < 8; ++s) {
            const auto& w = want[(s + static_cast<std::size_t>(i)) % 8];
            if (std::memcmp(got + 16 * s, w.data(), w.size()) != 0) wrong[t] += std::string(wf::properties_of(ops[(s + static_cast<std::size_t>(i)) % 8]).name) + " wrong; ";
          }
        }
        places.clear();
        for (void* s : streams) m.wait(s);
        for (void* s : streams) m.free_stream(s);
        m.free(out);
      });
    }
    for (auto& t : threads) t.join();
    for (const auto& w : wrong) EXPECT_EQ(w, "");
  };
  round(20);  // the pools fill
  const std::int64_t before = m.free_memory();
  round(1250);  // 8 · 8 · 1250 = 80,000 launches
  const std::int64_t after = m.free_memory();
  EXPECT_GE(after, before - (4 << 20)) << "device memory is gone";
}

TEST(graphs, replays_give_the_same) {
  skip_without_gpu();
  if (::testing::Test::IsSkipped()) return;
  const machine& m = gpu_machine();
  constexpr std::int64_t n = 300001;
  const auto x = make_bytes(wf::dtype::f32, "finite_bits", n, 3);
  const device_inputs in(m, x, x);
  void* stream = m.make_stream();
  {
    const wf::gpu place(stream);
    for (const wf::op o : {wf::op::var, wf::op::argmin, wf::op::dot}) {
      wf::device_request r{o, wf::dtype::f32, wf::accuracy::exact, {}, {in.x(), in.y()}, {1, 1}, n, in.out()};
      m.library->run(r, place.scratch(), stream);
      struct work { const wf::device_place* place; const wf::device_request* request; } w{&place, &r};
      EXPECT_EQ(m.replay(stream, [](void* p) {
        const auto* k = static_cast<const work*>(p);
        k->place->kernels().run(*k->request, k->place->scratch(), k->place->stream());
      }, &w, 50), "");
      const auto want = cpu_answer(o, wf::dtype::f32, wf::accuracy::exact, {}, {x.data(), n, 1}, {x.data(), n, 1});
      std::vector<unsigned char> got(want.size());
      EXPECT_EQ(m.download(got.data(), in.out(), got.size()), "");
      EXPECT_EQ(hex(got), hex(want));
    }
  }
  m.wait(stream);
  m.free_stream(stream);
}

}  // namespace
