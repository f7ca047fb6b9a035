// SPDX-License-Identifier: Apache-2.0
// The GPU library under load on a GPU: host threads and streams, graphs, addresses. Skipped where there
// is no GPU.
#include <memory>
#include <thread>

#include <warpfold/warpfold.h>

#include "captures_table.hpp"
#include "table.hpp"

namespace {

/// A machine's stream as CUDA calls it.
CUstream_st* cuda_stream(void* stream) { return static_cast<CUstream_st*>(stream); }

class under_load : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto why = gpu_machine().why_not();
    if (!why.empty()) GTEST_SKIP() << "no GPU: " << why;
  }
};

/// A reduction to ask for, and the answer's bytes.
struct job {
  wf::device_request request;
  std::vector<unsigned char> want;
};

/// Operations, types and lengths mixed: every kernel of the library's is among them, and launches of one
/// block and of hundreds.
class job_list {
 public:
  explicit job_list(const machine& m) {
    for (const wf::dtype t : all_dtypes) {
      const std::string family = wf::is_integer(t) ? "bits" : "finite_bits";
      data_.push_back(make_bytes(t, family, longest, 3));
      inputs_.push_back(std::make_unique<device_inputs>(m, data_.back(), data_.back()));
    }
    std::size_t length = 0;
    for (int k = 0; k < wf::op_count; ++k) {
      for (std::size_t d = 0; d < std::size(all_dtypes); ++d) {
        const auto o = static_cast<wf::op>(k);
        const wf::dtype t = all_dtypes[d];
        if (!m.library->takes(o, t, wf::accuracy::exact) || is_native(o, t, wf::accuracy::exact)) continue;
        constexpr std::int64_t lengths[] = {1000, longest, 17, 20011};
        const std::int64_t n = lengths[length++ % 4];
        const strided host{data_[d].data(), n, 1};
        jobs.push_back({{o, t, wf::accuracy::exact, {}, {inputs_[d]->x(), inputs_[d]->y()}, {1, 1}, n, nullptr},
                        cpu_answer(o, t, wf::accuracy::exact, {}, host, host)});
      }
    }
  }
  std::vector<job> jobs;

 private:
  static constexpr std::int64_t longest = 90001;
  std::vector<std::vector<unsigned char>> data_;
  std::vector<std::unique_ptr<device_inputs>> inputs_;
};

/// `rounds` jobs on each of eight streams, every answer checked; what went wrong.
std::string work(const machine& m, const std::vector<job>& jobs, std::size_t thread, int rounds) {
  constexpr std::size_t streams = 8, batch = 25, room = 64;
  std::vector<void*> stream;
  std::vector<std::unique_ptr<wf::gpu>> place(streams);
  for (std::size_t s = 0; s < streams; ++s) stream.push_back(m.make_stream());
  auto* out = static_cast<unsigned char*>(m.allocate(streams * batch * room));
  std::vector<unsigned char> got(streams * batch * room);
  std::string wrong;
  const auto job_of = [&](std::size_t s, std::size_t round) -> const job& {
    return jobs[(97 * thread + 31 * s + 7 * round) % jobs.size()];
  };
  for (std::size_t round = 0; round < static_cast<std::size_t>(rounds) && wrong.empty(); ++round) {
    for (std::size_t s = 0; s < streams; ++s) {
      if (round % 1000 == 0) place[s] = std::make_unique<wf::gpu>(cuda_stream(stream[s]));
      auto r = job_of(s, round).request;
      r.out = out + (s * batch + round % batch) * room;
      m.library->run(r, place[s]->scratch(), stream[s]);
    }
    if (round % batch != batch - 1) continue;
    for (void* s : stream) wrong += m.wait(s);
    wrong += m.download(got.data(), out, got.size());
    for (std::size_t s = 0; s < streams; ++s) {
      for (std::size_t b = 0; b < batch; ++b) {
        const job& j = job_of(s, round - (batch - 1) + b);
        if (std::memcmp(&got[(s * batch + b) * room], j.want.data(), j.want.size()) != 0) {
          wrong += name_of(j.request.what, j.request.element, j.request.accuracy, "", {j.request.n, 0, 1}) + "; ";
        }
      }
    }
  }
  place.clear();
  for (void* s : stream) wrong += m.wait(s);
  for (void* s : stream) m.free_stream(s);
  m.free(out);
  return wrong;
}

/// 8 host threads, 8 streams each, 10,000 reductions a stream.
TEST_F(under_load, soak_without_interference_or_leaks) {
  const machine& m = gpu_machine();
  const job_list list(m);
  const auto all = [&](int rounds) {
    std::vector<std::string> wrong(8);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] { wrong[t] = work(m, list.jobs, t, rounds); });
    }
    for (auto& t : threads) t.join();
    for (const auto& w : wrong) EXPECT_EQ(w, "");
  };
  all(100);  // kernels are loaded, pools fill
  const std::int64_t before = m.free_memory();
  all(10000);
  const std::int64_t after = m.free_memory();
  EXPECT_GE(after, before) << before - after << " bytes of device memory are gone";
  std::printf("%zu jobs, free before %lld, after %lld\n", list.jobs.size(), static_cast<long long>(before),
              static_cast<long long>(after));
}

/// Every operation and type captured once and replayed.
TEST_F(under_load, graph_replays_give_the_same) {
  const machine& m = gpu_machine();
  const job_list list(m);
  auto* out = static_cast<unsigned char*>(m.allocate(64));
  void* stream = m.make_stream();
  {
    const wf::gpu place(cuda_stream(stream));
    for (const job& j : list.jobs) {
      auto r = j.request;
      r.out = out;
      m.library->run(r, place.scratch(), stream);
      struct captured { const wf::gpu* place; const wf::device_request* request; } c{&place, &r};
      EXPECT_EQ(m.replay(stream, [](void* p) {
        const auto* k = static_cast<const captured*>(p);
        k->place->kernels().run(*k->request, k->place->scratch(), k->place->stream());
      }, &c, 20), "");
      std::vector<unsigned char> got(j.want.size());
      EXPECT_EQ(m.download(got.data(), out, got.size()), "");
      ASSERT_EQ(hex(got), hex(j.want)) << name_of(r.what, r.element, r.accuracy, "replayed", {r.n, 0, 1});
    }
  }
  EXPECT_EQ(m.wait(stream), "");
  m.free_stream(stream);
  m.free(out);
}

/// A place's first call, captured: by C++, and by C.
TEST_F(under_load, first_calls_in_captures) {
  const auto open = [](void* stream) {
    return [place = std::make_shared<wf::gpu>(cuda_stream(stream))](const wf::request& r) { place->run(r); };
  };
  check_first_calls_in_captures(gpu_machine(), open);
  check_first_calls_beside_captures(gpu_machine(), open);
}

TEST_F(under_load, first_calls_of_c_in_captures) {
  const auto open = [](void* stream) {
    wf_place* made = nullptr;
    EXPECT_EQ(wf_open_gpu(stream, &made), WF_OK) << wf_last_error();
    return [place = std::shared_ptr<wf_place>(made, wf_close)](const wf::request& r) {
      const wf_array x{r.inputs.data[0], WF_F32, static_cast<int>(r.inputs.shape.size()), r.inputs.shape.begin(), nullptr};
      wf_request q{};
      q.size = sizeof q;
      q.version = WF_REQUEST_VERSION;
      q.op = WF_SUM;
      q.x = &x;
      using kinds = wf::partition::kinds;
      q.partition = r.by.kind == kinds::axes ? WF_AXES : r.by.kind == kinds::labels ? WF_LABELS : WF_WHOLE;
      q.axes = r.by.axes.data();
      q.axis_count = static_cast<int>(r.by.axes.size());
      q.indexes = r.by.indexes;
      q.count = r.by.count;
      q.out = r.out;
      q.place = place.get();
      if (wf_run(&q) != WF_OK) throw wf::error(wf::errc::device, wf_last_error());
    };
  };
  check_first_calls_in_captures(gpu_machine(), open);
}

/// Launches that follow each other at once, each into the array that the next one reads, through a stream and a
/// graph: they may come to the GPU before the one before is done, but must not read before that.
class chains : public under_load, public ::testing::WithParamInterface<wf::dtype> {};

TEST_P(chains, read_what_the_launch_before_wrote) {
  const machine& m = gpu_machine();
  const wf::dtype t = GetParam();
  const std::size_t size = wf::info(t).size;
  static constexpr wf::op ops[] = {wf::op::sum, wf::op::max, wf::op::mean, wf::op::norm2, wf::op::std_dev, wf::op::min, wf::op::norm1};
  constexpr std::size_t links = 63;
  void* stream = m.make_stream();
  for (const std::int64_t n : {100, 3001, 20011, 70001, 400009}) {
    const auto data = make_bytes(t, "normal", static_cast<std::uint64_t>(n), 5);
    auto want = data;
    for (std::size_t i = 0; i < links; ++i) {
      const strided x{want.data(), n, 1};
      const auto answer = cpu_answer(ops[i % std::size(ops)], t, wf::accuracy::exact, {}, x, x);
      ASSERT_EQ(answer.size(), size);
      std::memcpy(want.data() + i * size, answer.data(), size);
    }
    struct chain {
      const machine* m;
      wf::dtype t;
      std::size_t size;
      std::int64_t n;
      unsigned char* x;
      wf::gpu place;
    } c{&m, t, size, n, static_cast<unsigned char*>(m.allocate(data.size())), wf::gpu(cuda_stream(stream))};
    const auto launch_all = [](void* given) {
      const auto* k = static_cast<const chain*>(given);
      for (std::size_t i = 0; i < links; ++i) {
        const wf::device_request r{ops[i % std::size(ops)], k->t, wf::accuracy::exact, {}, {k->x, k->x}, {1, 1}, k->n,
                                   k->x + i * k->size};
        k->m->library->run(r, k->place.scratch(), k->place.stream());
      }
    };
    std::vector<unsigned char> got(data.size());
    for (int round = 0; round < 40; ++round) {
      ASSERT_EQ(m.upload(c.x, data.data(), data.size()), "");
      ASSERT_EQ(m.wait(nullptr), "");  // small uploads return before they are done
      if (round % 2 == 0) launch_all(&c);
      else ASSERT_EQ(m.replay(stream, launch_all, &c, 1), "");
      ASSERT_EQ(m.wait(stream), "");
      ASSERT_EQ(m.download(got.data(), c.x, got.size()), "");
      ASSERT_TRUE(got == want) << "n = " << n << ", round " << round;
    }
    m.free(c.x);
  }
  m.free_stream(stream);
}

INSTANTIATE_TEST_SUITE_P(gpu, chains, ::testing::Values(wf::dtype::f32, wf::dtype::f64, wf::dtype::bf16),
                         [](const auto& given) { return std::string(wf::info(given.param).name); });

/// The same of fused reductions, whose answers lie 32 bytes apart.
void check_fused_chain(const machine& m, fused_kind kind, wf::dtype t, std::int64_t n) {
  const auto ops = m.fused_ops(kind, t);
  if (ops.empty()) return;
  constexpr std::size_t links = 21;
  const auto data = make_bytes(t, "normal", static_cast<std::uint64_t>(n), 6);
  auto want = data;
  const std::size_t each = 32 * (ops.size() + 1);
  for (std::size_t i = 0; i < links; ++i) {
    const auto before = want;
    const strided x{before.data(), n, 1};
    for (std::size_t k = 0; k < ops.size(); ++k) {
      const auto answer = cpu_answer(ops[k], t, wf::accuracy::exact, {}, x, x);
      std::memcpy(want.data() + i * each + 32 * k, answer.data(), answer.size());
    }
    const std::int64_t in_order = 1;
    if (kind == fused_kind::own) std::memcpy(want.data() + i * each + 32 * ops.size(), &in_order, sizeof in_order);
  }
  const std::unique_ptr<void, void (*)(void*)> owned(m.make_stream(), m.free_stream);
  void* stream = owned.get();
  struct chain {
    const machine* m;
    fused_request request;
    unsigned char* x;
    std::size_t each;
    std::string wrong;
    wf::gpu place;
  } c{&m, {kind, t, nullptr, n, 1, {}, nullptr}, static_cast<unsigned char*>(m.allocate(data.size())), each, "", wf::gpu(cuda_stream(stream))};
  const auto launch_all = [](void* given) {
    auto* k = static_cast<chain*>(given);
    for (std::size_t i = 0; i < links; ++i) {
      k->request.x = k->x;
      k->request.out = k->x + i * k->each;
      k->wrong += k->m->fuse(k->place, k->request);
    }
  };
  std::vector<unsigned char> got(data.size());
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(m.upload(c.x, data.data(), data.size()), "");
    ASSERT_EQ(m.wait(nullptr), "");
    if (round % 2 == 0) launch_all(&c);
    else ASSERT_EQ(m.replay(stream, launch_all, &c, 1), "");
    ASSERT_EQ(m.wait(stream), "");
    ASSERT_EQ(c.wrong, "");
    ASSERT_EQ(m.download(got.data(), c.x, got.size()), "");
    ASSERT_TRUE(got == want) << "n = " << n << ", round " << round;
  }
  m.free(c.x);
}

TEST_F(under_load, chains_of_fused_reductions) {
  for (const std::int64_t n : {2000, 20011, 400009}) {
    check_fused_chain(gpu_machine(), fused_kind::own, wf::dtype::bf16, n);
    check_fused_chain(gpu_machine(), fused_kind::headline, wf::dtype::f32, n);
  }
}

/// Answers written to pinned host memory: read there after a wait for the stream, with no copy.
TEST_F(under_load, answers_in_pinned_host_memory) {
  const machine& m = gpu_machine();
  const job_list list(m);
  auto* out = static_cast<unsigned char*>(m.allocate_pinned(64));
  ASSERT_NE(out, nullptr);
  void* stream = m.make_stream();
  {
    const wf::gpu place(cuda_stream(stream));
    for (const job& j : list.jobs) {
      auto r = j.request;
      r.out = out;
      std::memset(out, 0xa5, 64);
      m.library->run(r, place.scratch(), stream);
      ASSERT_EQ(m.wait(stream), "");
      const std::vector<unsigned char> got(out, out + j.want.size());
      ASSERT_EQ(hex(got), hex(j.want)) << name_of(r.what, r.element, r.accuracy, "pinned", {r.n, 0, 1});
    }
  }
  EXPECT_EQ(m.wait(stream), "");
  m.free_stream(stream);
  m.free_pinned(out);
}

/// accuracy::fast: the same bits on every run, wherever the array lies.
class fast_bits : public under_load, public ::testing::WithParamInterface<wf::dtype> {};

TEST_P(fast_bits, are_the_same_at_every_address_and_on_every_run) {
  const machine& m = gpu_machine();
  const wf::dtype t = GetParam();
  const std::size_t size = wf::info(t).size, items = 16 / size;
  const wf::gpu place;
  for (const std::int64_t n : {100, 5003, 70001, 3000001}) {
    const auto data = make_bytes(t, wf::is_integer(t) ? "ties" : "normal", static_cast<std::uint64_t>(n), 8);
    auto* x = static_cast<unsigned char*>(m.allocate(data.size() + 16));
    auto* out = static_cast<unsigned char*>(m.allocate(64));
    std::vector<std::string> first(wf::op_count);
    for (std::size_t skipped = 0; skipped <= items; ++skipped) {
      const std::size_t at = skipped % items * size;
      ASSERT_EQ(m.upload(x + at, data.data(), data.size()), "");
      for (int k = 0; k < wf::op_count; ++k) {
        const auto o = static_cast<wf::op>(k);
        if (!m.library->takes(o, t, wf::accuracy::fast)) continue;
        m.library->run({o, t, wf::accuracy::fast, {}, {x + at, x + at}, {1, 1}, n, out}, place.scratch(), nullptr);
        std::vector<unsigned char> got(wf::builtin(o, t, wf::accuracy::fast).result_size);
        ASSERT_EQ(m.download(got.data(), out, got.size()), "");
        auto& f = first[static_cast<std::size_t>(k)];
        if (f.empty()) f = hex(got);
        EXPECT_EQ(hex(got), f) << name_of(o, t, wf::accuracy::fast, "normal", {n, static_cast<std::int64_t>(skipped), 1});
      }
    }
    m.free(x);
    m.free(out);
  }
}

INSTANTIATE_TEST_SUITE_P(gpu, fast_bits, ::testing::ValuesIn(all_dtypes),
                         [](const auto& given) { return std::string(wf::info(given.param).name); });

}  // namespace
