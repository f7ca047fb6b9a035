// SPDX-License-Identifier: Apache-2.0
// What a call that succeeds takes of the heap: nothing on its way, by any door and to any place, and nothing in the CPU engine either but
// what docs/cpu.md tells. malloc() is this program's own, and counts; what is taken once, as the threads are, has been taken before.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <warpfold/backend.hpp>
#include <warpfold/detail/gpu/states.hpp>
#include <warpfold/gpu.hpp>
#include <warpfold/results.hpp>
#include <warpfold/warpfold.h>
#include <warpfold/warpfold.hpp>

#include "../../src/place.hpp"

namespace {

std::atomic<bool> counts{false};
std::atomic<std::int64_t> blocks{0}, bytes{0};

void note(std::size_t n) {
  if (!counts.load(std::memory_order_relaxed)) return;
  ++blocks;
  bytes += static_cast<std::int64_t>(n);
}

}  // namespace

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* malloc(std::size_t n) noexcept { note(n); return __libc_malloc(n); }
void* calloc(std::size_t n, std::size_t each) noexcept { note(n * each); return __libc_calloc(n, each); }
void* realloc(void* p, std::size_t n) noexcept { note(n); return __libc_realloc(p, n); }
void* memalign(std::size_t align, std::size_t n) noexcept { note(n); return __libc_memalign(align, n); }
void* aligned_alloc(std::size_t align, std::size_t n) noexcept { note(n); return __libc_memalign(align, n); }
int posix_memalign(void** p, std::size_t align, std::size_t n) noexcept {
  note(n);
  *p = __libc_memalign(align, n);
  return *p == nullptr ? 12 : 0;
}
}

namespace {

using wf::dtype;
using wf::op;
using kinds = wf::partition::kinds;

struct taken {
  std::int64_t blocks, bytes;
  bool operator==(const taken&) const = default;
};
std::ostream& operator<<(std::ostream& to, const taken& t) { return to << t.blocks << " allocations of " << t.bytes << " bytes"; }
constexpr taken nothing{0, 0};

/// What a second call takes.
template <class F>
taken taken_by(const F& call) {
  call();
  blocks = bytes = 0;
  counts = true;
  call();
  counts = false;
  return {blocks, bytes};
}

TEST(allocations, are_counted) {
  void* volatile kept = nullptr;
  EXPECT_EQ(taken_by([&] { kept = ::operator new(100); ::operator delete(kept); }), (taken{1, 100}));
  EXPECT_EQ(taken_by([&] { const std::vector<int> x(10); kept = const_cast<int*>(x.data()); }), (taken{1, 40}));
  EXPECT_EQ(taken_by([&] { const std::string text = std::string(wf::op_names[0]) + " of elements of the heap"; kept = const_cast<char*>(text.data()); }).blocks, 1);
}

/// Few different values, so that no answer is NaN alone; and special ones, if asked for.
std::vector<std::byte> elements(dtype t, std::int64_t n, bool ordinary) {
  const wf::dtype_info& of = wf::info(t);
  std::vector<std::byte> made(static_cast<std::size_t>(n) * of.size);
  std::uint32_t r = 1;
  for (std::byte& b : made) b = static_cast<std::byte>((r = r * 1664525u + 1013904223u) >> 24);
  const std::size_t parts = made.size() / of.part;
  const auto exponents = [&](unsigned top) {  // near 1
    for (std::size_t k = 0; k < parts; ++k) made[(k + 1) * of.part - 1] = static_cast<std::byte>(top | (static_cast<unsigned>(made[(k + 1) * of.part - 1]) & 0x80));
  };
  if (t == dtype::boolean)
    for (std::byte& b : made) b &= std::byte{1};
  else if (wf::is_floating(t) || wf::is_complex(t))
    if (ordinary) exponents(0x3f);
  return made;
}

/// One question, asked of a backend and by C.
struct question {
  op what = op::sum;
  dtype element = dtype::f64;
  wf::accuracy accuracy = wf::accuracy::exact;
  wf::output wanted = wf::output::answers;
  kinds kind = kinds::whole;
  std::vector<std::int64_t> shape{0};
  int axis = 0, threads = 1;
  std::vector<std::int64_t> indexes{};
  std::int64_t count = 0, length = 0;

  std::string name() const {
    std::string text = std::string(wf::op_names[static_cast<int>(what)]) + " of " + std::string(wf::info(element).name) + ", accuracy " +
                       std::to_string(static_cast<int>(accuracy)) + ", output " + std::to_string(static_cast<int>(wanted)) + ", partition " +
                       std::to_string(static_cast<int>(kind)) + ", axis " + std::to_string(axis) + ", shape";
    for (const std::int64_t n : shape) text += " " + std::to_string(n);
    return text;
  }
};

/// Room for its inputs and answers.
class asked {
 public:
  asked(const question& q, bool ordinary) : q_(q) {
    std::int64_t n = 1;
    for (const std::int64_t d : q.shape) n *= d;
    x_ = elements(q.element, n, ordinary);
    const wf::result_kind k = wf::result_of_kind(wf::operation_of(q.what).answer, q.element);
    const std::size_t each = q.wanted == wf::output::states ? wf::form_of_states(q.what, q.element, q.accuracy).bytes : 64 + wf::info(k.type).size * static_cast<std::size_t>(k.values);
    out_.resize(each * (q.kind == kinds::whole ? 1 : most_answers));
  }
  taken by_backend(const wf::backend& on) {
    wf::request r;
    r.what = q_.what;
    r.element = q_.element;
    r.context.accuracy = q_.accuracy;
    r.context.threads = q_.threads;
    r.wanted = q_.wanted;
    r.inputs.shape = wf::extents(q_.shape);
    for (std::size_t k = 0; k < static_cast<std::size_t>(wf::inputs_of(q_.what)); ++k) {
      r.inputs.data[k] = x_.data();
      r.inputs.strides[k] = wf::detail::byte_strides(r.inputs.shape, wf::row_major(r.inputs.shape), static_cast<std::int64_t>(wf::info(q_.element).size));
    }
    const int axes[] = {q_.axis};
    r.by.kind = q_.kind;
    r.by.axes = axes;
    r.by.indexes = q_.indexes.data();
    r.by.count = q_.count;
    r.by.length = q_.length;
    r.out = out_.data();
    return taken_by([&] { on.run(r); });
  }
  taken by_c(const wf_place* place) {
    const wf_array x{x_.data(), static_cast<int>(q_.element), static_cast<int>(q_.shape.size()), q_.shape.data(), nullptr};
    wf_request r{};
    r.size = sizeof r;
    r.version = WF_REQUEST_VERSION;
    r.op = static_cast<int>(q_.what);
    r.x = &x;
    r.y = wf::inputs_of(q_.what) == 2 ? &x : nullptr;
    r.partition = static_cast<int>(q_.kind);
    r.axes = &q_.axis;
    r.axis_count = 1;
    r.indexes = q_.indexes.data();
    r.count = q_.count;
    r.length = q_.length;
    r.output = static_cast<int>(q_.wanted);
    r.out = out_.data();
    r.options.accuracy = static_cast<int>(q_.accuracy);
    r.options.threads = q_.threads;
    r.place = place;
    int status = WF_OK;
    const taken t = taken_by([&] { status = wf_run(&r); });
    EXPECT_EQ(status, WF_OK) << q_.name() << ": " << wf_last_error();
    return t;
  }

 private:
  static constexpr std::size_t most_answers = 3000;
  const question& q_;
  std::vector<std::byte> x_, out_;
};

/// f(q) for each operation, type, accuracy and output that there is.
template <class F>
void for_all(const F& f) {
  for (const wf::operation& o : wf::operations)
    for (const wf::dtype_info& t : wf::dtypes)
      for (const wf::accuracy a : {wf::accuracy::exact, wf::accuracy::fast})
        for (const wf::output wanted : {wf::output::answers, wf::output::checked, wf::output::states}) {
          question q;
          q.what = o.what;
          q.element = *wf::dtype_named(t.name);
          q.accuracy = a;
          q.wanted = wanted;
          if (!wf::cpu_backend().takes(q.what, q.element, a, kinds::whole, wanted)) continue;
          f(q);
        }
}

TEST(allocations, of_whole_arrays_on_the_cpu_are_none) {
  int done = 0;
  for_all([&](question q) {
    for (const std::int64_t n : {0, 1, 30, 5000, 100000}) {
      q.shape = {n};
      for (const bool ordinary : {true, false}) {
        if (!ordinary && n > 5000) continue;
        asked a(q, ordinary);
        EXPECT_EQ(a.by_backend(wf::cpu_backend()), nothing) << q.name();
        if (q.wanted != wf::output::checked) {
          EXPECT_EQ(a.by_c(nullptr), nothing) << q.name();
        }
        ++done;
      }
    }
  });
  EXPECT_GT(done, 2000);
}

/// Answers whose elements lie far apart, by panels of 16 answers: elements for each of them, and a state.
taken most_of_panels(const question& q) {
  const auto elements = static_cast<std::int64_t>(wf::info(q.element).size) * 16 * 1024 * wf::inputs_of(q.what);
  return {wf::inputs_of(q.what) + 1, elements + 16 * 4096};
}

/// Adds to `all` the question by offsets and by equal segments; q is the last of them.
void add_segments(question& q, std::vector<question>& all) {
  q.kind = kinds::segments;
  q.shape = {3000};
  q.indexes = {0, 5, 5, 1000, 3000};
  q.count = 4;
  all.push_back(q);
  q.kind = kinds::equal_segments;
  q.length = 64;
  all.push_back(q);
}

TEST(allocations, of_a_few_answers_on_the_cpu_are_none) {
  int done = 0;
  for_all([&](question q) {
    std::vector<question> all;
    q.kind = kinds::axes;
    for (const std::int64_t rows : {4, 64, 400})
      for (const int axis : {0, 1}) {
        q.shape = {rows, 60};
        q.axis = axis;
        all.push_back(q);
      }
    add_segments(q, all);
    for (const question& each : all) {
      asked a(each, true);
      const bool panels = each.kind == kinds::axes && each.axis == 0;
      const taken most = panels ? most_of_panels(each) : nothing, got = a.by_backend(wf::cpu_backend());
      EXPECT_TRUE(got.blocks <= most.blocks && got.bytes <= most.bytes) << each.name() << ": " << got << "; " << most << " at most";
      if (q.wanted != wf::output::checked) {
        EXPECT_EQ(a.by_c(nullptr), got) << each.name();
      }
      ++done;
    }
  });
  EXPECT_GT(done, 2000);
}

TEST(allocations, of_work_with_states_on_the_cpu_are_none) {
  int done = 0;
  for_all([&](question q) {
    if (q.wanted != wf::output::states) return;
    const wf::state_form f = wf::form_of_states(q.what, q.element, q.accuracy);
    constexpr std::int64_t count = 3;
    std::vector<std::byte> to(f.bytes * count), later(f.bytes * count), out(64 * count);
    wf_states by_c{};
    by_c.size = sizeof by_c;
    by_c.version = WF_STATES_VERSION;
    by_c.op = static_cast<int>(q.what);
    by_c.dtype = static_cast<int>(q.element);
    by_c.states = to.data();
    by_c.count = count;
    by_c.options.accuracy = static_cast<int>(q.accuracy);
    const wf::backend& cpu = wf::cpu_backend();
    int failures = 0;
    EXPECT_EQ(taken_by([&] {
                cpu.clear(f, to.data(), count), cpu.clear(f, later.data(), count);
                failures += wf_clear(&by_c) != WF_OK;
              }), nothing) << q.name();
    EXPECT_EQ(taken_by([&] { cpu.merge(f, to.data(), later.data(), count), failures += wf_merge(&by_c, later.data()) != WF_OK; }), nothing) << q.name();
    if (f.adds) {
      EXPECT_EQ(taken_by([&] { cpu.unmerge(f, to.data(), later.data(), count), failures += wf_unmerge(&by_c, later.data()) != WF_OK; }), nothing) << q.name();
    }
    EXPECT_EQ(taken_by([&] { cpu.finish(f, {}, to.data(), count, out.data()), failures += wf_finish(&by_c, out.data()) != WF_OK; }), nothing) << q.name();
    EXPECT_EQ(failures, 0) << q.name();
    ++done;
  });
  EXPECT_GT(done, 400);
}

TEST(allocations, of_long_arrays_and_many_answers_are_bounded) {
  for (const op o : {op::sum, op::var, op::argmin, op::dot, op::prod})
    for (const dtype t : {dtype::f32, dtype::f64, dtype::i32})
      for (const int threads : {1, 3}) {
        question q;
        q.what = o;
        q.element = t;
        q.threads = threads;
        // A state, and what a proof gathers, for each 128 Ki elements.
        q.shape = {3000000};
        taken got = asked(q, true).by_backend(wf::cpu_backend());
        EXPECT_LE(got.blocks, 2) << q.name();
        EXPECT_LE(got.bytes, 23 * 4096) << q.name();
        // A byte for each answer.
        q.kind = kinds::axes;
        q.axis = 1;
        q.shape = {3000, 60};
        got = asked(q, true).by_backend(wf::cpu_backend());
        EXPECT_LE(got.blocks, 2) << q.name();
        EXPECT_LE(got.bytes, 2 * 3000) << q.name();
        // Two numbers for each 128 Ki elements.
        q.kind = kinds::segments;
        q.shape = {3000000};
        for (std::int64_t k = 0; k <= 2000; ++k) q.indexes.push_back(1500 * k);
        q.count = 2000;
        got = asked(q, true).by_backend(wf::cpu_backend());
        EXPECT_LE(got.blocks, 6) << q.name();  // as a vector grows
        EXPECT_LE(got.bytes, 2 * 8 * 2 * 23) << q.name();
        // A number for each element, a state and two numbers for each answer, and a buffer for each task.
        q.kind = kinds::labels;
        q.shape = {30000};
        q.indexes.clear();
        for (std::int64_t i = 0; i < 30000; ++i) q.indexes.push_back(i * i % 100);
        q.count = 100;
        got = asked(q, true).by_backend(wf::cpu_backend());
        EXPECT_LE(got.bytes, 8 * 30000 + 100 * (4096 + 24) + 64 * 2 * 4096 * static_cast<std::int64_t>(wf::info(t).size)) << q.name();
      }
}

TEST(allocations, of_the_functions_are_the_answers) {
  const std::vector<double> x(1000, 0.1);
  const std::vector<std::int32_t> whole(1000, 3);
  const wf::view<double> rows(x.data(), {10, 100});
  double one = 0;
  EXPECT_EQ(taken_by([&] { one += wf::sum(x); }), nothing);
  EXPECT_EQ(taken_by([&] { one += wf::dot(x, x, wf::fast); }), nothing);
  EXPECT_EQ(taken_by([&] { one += wf::var(x, wf::correction{1}, wf::rounding::up); }), nothing);
  EXPECT_EQ(taken_by([&] { one += static_cast<double>(wf::argmax(rows)); }), nothing);
  EXPECT_EQ(taken_by([&] { one += wf::minmax(x).min; }), nothing);
  EXPECT_EQ(taken_by([&] { one += static_cast<double>(wf::checked_sum(whole).value); }), nothing);
  EXPECT_EQ(taken_by([&] { one += std::get<2>(wf::fuse(wf::sum, wf::min, wf::mean, wf::std_dev)(x)); }), nothing);
  EXPECT_EQ(taken_by([&] { one += static_cast<double>(std::get<1>(wf::fuse(wf::minmax, wf::argmax)(rows))); }), nothing);
  EXPECT_EQ(taken_by([&] { one += std::get<0>(wf::fuse(wf::sum, wf::min)(rows, wf::axis{1})).values[0]; }).blocks, 3);  // two arrays, and both at once
  EXPECT_EQ(taken_by([&] { one += wf::sum(rows, wf::axis{1}).values[0]; }), (taken{1, 10 * 8}));
  EXPECT_EQ(taken_by([&] { one += wf::max(x, wf::segments_of{100}).values[0]; }), (taken{1, 10 * 8}));
  EXPECT_GT(one, 0);
}

TEST(allocations, of_c_are_on_the_stack_for_a_few_answers) {
  const std::vector<double> x(1000, 0.1);
  const std::vector<std::int32_t> whole(1000, 3);
  const std::int64_t lengths[] = {1000}, two[] = {100, 10};
  wf_array in{};
  in.data = x.data(), in.dtype = WF_F64, in.rank = 1, in.shape = lengths;
  const std::array<int, 4> ops{WF_SUM, WF_MIN, WF_MEAN, WF_SUM};
  std::array<double, 40> out{};
  std::array<void*, 40> to;
  for (std::size_t k = 0; k < to.size(); ++k) to[k] = &out[k];
  EXPECT_EQ(taken_by([&] { ASSERT_EQ(wf_reduce_many(ops.data(), 4, &in, nullptr, to.data()), WF_OK); }), nothing);
  EXPECT_EQ(out[0], out[3]);
  std::array<int, 40> many;
  many.fill(WF_SUM);
  EXPECT_GT(taken_by([&] { ASSERT_EQ(wf_reduce_many(many.data(), 40, &in, nullptr, to.data()), WF_OK); }).blocks, 0);
  EXPECT_EQ(out[0], out[39]);

  in.data = whole.data(), in.dtype = WF_I32;
  std::int64_t sums[100];
  unsigned char overflow[100];
  EXPECT_EQ(taken_by([&] { ASSERT_EQ(wf_reduce_checked(WF_SUM, &in, nullptr, nullptr, 0, nullptr, sums, overflow), WF_OK); }), nothing);
  EXPECT_EQ(sums[0], 3000);
  in.rank = 2, in.shape = two;
  const int axis = 1;
  EXPECT_EQ(taken_by([&] { ASSERT_EQ(wf_reduce_checked(WF_SUM, &in, nullptr, &axis, 1, nullptr, sums, overflow), WF_OK); }).blocks, 1);
  EXPECT_EQ(sums[99], 30);
}

// ---- Places. Kernels of simt take memory of its own for each launch, so a device that has nothing but counters shows what the way there takes.

int enqueued = 0;

const wf::device_library& device_of_counters() {
  static const wf::device_library counters = [] {
    wf::device_library made{};
    made.name = "simt";
    made.make_scratch = []() -> void* { return &enqueued; };
    made.free_scratch = [](void*, void*) noexcept {};
    made.fail = [](int code, const char*) {
      if (code != 0) std::abort();
    };
    made.reads = [](const void*) { return true; };
    const wf::run_kernel run = [](const wf::device_request&, void*, void*) { return ++enqueued, 0; };
    made.copy_in = [](void* to, const void* from, std::size_t n, void*) { std::memcpy(to, from, n); };
    made.copy_back = made.copy_in;
    made.states = [](const wf::states_request&, void*) { return ++enqueued, 0; };
    made.kernels = {{run, run}, run, [](const wf::rows_request&, void*, void*) { return ++enqueued, 0; }};
    return made;
  }();
  return counters;
}

TEST(allocations, on_the_way_to_kernels_are_none) {
  const wf::device_place place(device_of_counters(), nullptr);
  wf_place* by_c = nullptr;
  const auto make = [](void*) -> std::unique_ptr<wf::backend> { return std::make_unique<wf::device_place>(device_of_counters(), nullptr); };
  ASSERT_EQ(wf::open_place(&by_c, make, nullptr), WF_OK);
  int done = 0;
  for_all([&](question q) {
    std::vector<question> all;
    for (const std::int64_t n : {0, 1, 3000}) {
      q.shape = {n};
      all.push_back(q);
    }
    q.kind = kinds::axes;
    q.shape = {40, 60};
    for (const int axis : {0, 1}) {
      q.axis = axis;
      all.push_back(q);
    }
    add_segments(q, all);
    q.kind = kinds::labels;
    q.indexes.assign(3000, 1);
    all.push_back(q);
    for (const question& each : all) {
      if (!place.takes(each.what, each.element, each.accuracy, each.kind, each.wanted)) continue;
      asked a(each, true);
      const int before = enqueued;
      EXPECT_EQ(a.by_backend(place), nothing) << each.name();
      EXPECT_EQ(a.by_c(by_c), nothing) << each.name();
      EXPECT_GE(enqueued - before, 4) << each.name();  // each is called twice
      ++done;
    }
  });
  EXPECT_GT(done, 2000);
  wf_close(by_c);
}

// What no kernel merges comes to the host, to the stack while it is no more than 4096 bytes.
TEST(allocations, of_work_with_states_on_a_place_are_none_for_a_few) {
  const wf::device_place place(device_of_counters(), nullptr);
  int on_device = 0, on_the_stack = 0, on_the_heap = 0;
  for_all([&](question q) {
    if (q.wanted != wf::output::states) return;
    const wf::state_form f = wf::form_of_states(q.what, q.element, q.accuracy);
    ASSERT_LE(f.bytes, wf::detail::most_state_bytes) << q.name();
    for (const std::int64_t count : {1, 3, 2000}) {
      const auto size = static_cast<std::size_t>(count) * f.bytes;
      std::vector<std::byte> to(size, std::byte{0x5a}), later(size), want(size), out(64 * static_cast<std::size_t>(count));
      wf::clear_states(f, want.data(), count);
      const int before = enqueued;
      EXPECT_EQ(taken_by([&] { place.clear(f, to.data(), count), place.clear(f, later.data(), count); }), nothing) << q.name() << ", " << count;
      EXPECT_EQ(to, want) << q.name() << ", " << count;
      const taken by_merge = taken_by([&] { place.merge(f, to.data(), later.data(), count); });
      const taken by_finish = taken_by([&] { place.finish(f, {}, to.data(), count, out.data()); });
      const taken by_unmerge = f.adds ? taken_by([&] { place.unmerge(f, to.data(), later.data(), count); }) : nothing;
      EXPECT_EQ(to, want) << q.name() << ", " << count;
      const bool kernels = enqueued != before, few = size <= 4096;
      EXPECT_EQ(by_merge, kernels || few ? nothing : (taken{2, 2 * static_cast<std::int64_t>(size)})) << q.name() << ", " << count;
      if (kernels || few) {
        EXPECT_EQ(by_finish, nothing) << q.name() << ", " << count;
        EXPECT_EQ(by_unmerge, nothing) << q.name() << ", " << count;
      }
      EXPECT_EQ(kernels, f.canonical) << q.name();
      ++(kernels ? on_device : few ? on_the_stack : on_the_heap);
    }
  });
  EXPECT_GT(on_device, 500);
  EXPECT_GT(on_the_stack, 50);
  EXPECT_GT(on_the_heap, 20);
}

/// The front door to simt takes what the family that it calls does, and no more.
TEST(allocations, of_the_functions_of_a_place_are_the_launches) {
  const wf::simulated_gpu place;
  std::vector<float> x(3000, 0.5f);
  std::vector<float> out(4);
  const void* const data[] = {x.data(), nullptr};
  wf::device_request r{op::sum, dtype::f32, wf::accuracy::exact, {}, {data[0], data[1]}, {1, 1}, 3000, out.data()};
  const std::span<const float> on_device(x);
  wf::sum(place, on_device, out.data());
  const taken by_family = taken_by([&] { wf::simt_kernels::sums(r, place.scratch(), nullptr); });
  EXPECT_EQ(taken_by([&] { wf::sum(place, on_device, out.data()); }), by_family);
  r.what = op::max;
  const taken by_order = taken_by([&] { wf::simt_kernels::order(r, place.scratch(), nullptr); });
  EXPECT_EQ(taken_by([&] { wf::max(place, on_device, out.data()); }), by_order);
}

}  // namespace
