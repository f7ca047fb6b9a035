// SPDX-License-Identifier: Apache-2.0
#include <warpfold/gpu.cuh>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "front.hpp"

namespace {

const wf::simulated_gpu& place() {
  static const wf::simulated_gpu p;
  return p;
}

/// Memory of the device with a copy of an array, as thrust::device_vector is.
template <class T>
class device_array {
 public:
  using value_type = T;
  struct pointer {
    T* p;
    T* get() const { return p; }
  };
  explicit device_array(const std::vector<T>& x) : size_(x.size()) {
    if (cudaMalloc(reinterpret_cast<void**>(&p_), (x.size() + 1) * sizeof(T)) != cudaSuccess) std::abort();
    if (cudaMemcpy(p_, x.data(), x.size() * sizeof(T), cudaMemcpyHostToDevice) != cudaSuccess) std::abort();
  }
  ~device_array() { cudaFree(p_); }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  pointer data() const { return {p_}; }
  std::size_t size() const { return size_; }
  std::span<const T> span() const { return {p_, size_}; }

 private:
  T* p_ = nullptr;
  std::size_t size_;
};

/// The allocator of a vector whose memory is pinned.
template <class T>
struct pinned {
  using value_type = T;
  T* allocate(std::size_t n) {
    T* p = nullptr;
    if (cudaMallocHost(reinterpret_cast<void**>(&p), n * sizeof(T)) != cudaSuccess) std::abort();
    return p;
  }
  void deallocate(T* p, std::size_t) { cudaFreeHost(p); }
  bool operator==(const pinned&) const { return true; }
};

template <class T>
std::vector<T> numbers(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> x(n);
  for (T& v : x) v = static_cast<T>(static_cast<int>(random() % 2001) - 1000) / 8;
  return x;
}

std::string same(const char* what, const auto& got, const auto& want) {
  if constexpr (requires { want.values; }) {
    return got.values == want.values && got.shape == want.shape ? "" : std::string(what) + ": answers differ";
  } else {
    return got == want ? "" : std::string(what) + ": " + std::to_string(got) + ", not " + std::to_string(want);
  }
}
#define CHECK_SAME(got, want) \
  if (const std::string wrong = same(#got, got, want); !wrong.empty()) return wrong

template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const wf::error& e) {
    return e.what();
  }
  return "nothing is refused";
}

struct square {
  WF_HD double operator()(float x) const { return double{x} * x; }
};
struct difference {
  WF_HD float operator()(float x, float y) const { return x - y; }
};
struct larger {
  WF_HD std::int32_t operator()(std::uint8_t x, float y) const { return y > x ? 1 : -3; }
};

/// Depends on the order, of two inputs.
struct polynomial {
  struct state { std::uint64_t value, power; };
  WF_HD state identity() const { return {0, 1}; }
  WF_HD state lift(std::int32_t x, std::int32_t y, std::int64_t i) const {
    return {static_cast<std::uint64_t>(x) + 3 * static_cast<std::uint64_t>(y) + static_cast<std::uint64_t>(i), 0x9e3779b97f4a7c15u};
  }
  WF_HD state combine(state a, state b) const { return {a.value * b.power + b.value, a.power * b.power}; }
  WF_HD std::uint64_t finish(state s, std::int64_t) const { return s.value; }
};
/// The same of one input, what a transform gives.
struct polynomial_of_one : polynomial {
  WF_HD state lift(std::int64_t x, std::int64_t i) const { return {static_cast<std::uint64_t>(x) + static_cast<std::uint64_t>(i), 0x9e3779b97f4a7c15u}; }
};
struct twice_float {
  WF_HD float operator()(float x) const { return 2 * x; }
};
struct twice {
  WF_HD std::int64_t operator()(std::int32_t x) const { return 2 * std::int64_t{x}; }
};

}  // namespace

std::string answers_that_are_waited_for() {
  const auto x = numbers<float>(5003, 1);
  const device_array<float> d(x);
  CHECK_SAME(wf::sum(place(), d.span()), wf::sum(x));
  CHECK_SAME(wf::sum(place(), d.span(), wf::rounding::up), wf::sum(x, wf::rounding::up));
  CHECK_SAME(wf::argmax(place(), d.span()), wf::argmax(x));
  CHECK_SAME(wf::std_dev(place(), d.span(), wf::correction{1}), wf::std_dev(x, wf::correction{1}));
  CHECK_SAME(wf::dot(place(), d.span(), d.span()), wf::dot(x, x));
  CHECK_SAME(wf::max(place(), wf::view<const float>(d.data().get(), {50, 100}), wf::axis{0}), wf::max(wf::view<float>(x.data(), {50, 100}), wf::axis{0}));
  CHECK_SAME(wf::sum(place(), d.span(), wf::segments_of{7}), wf::sum(x, wf::segments_of{7}));
  const auto of_host = refusal([&] { wf::sum(place(), std::span(x)); });
  if (of_host.find("input 0 is memory of the host") == of_host.npos) return of_host;
  return "";
}

std::string fused_answers_that_are_waited_for() {
  const auto fusion = wf::fuse(wf::sum, wf::argmax, wf::mean_var, wf::count);
  const auto differ = []<class... A>(const std::tuple<A...>& got, const std::tuple<A...>& want) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto other = [](const auto& a, const auto& b) {
        if constexpr (requires { a.values; }) return a.shape != b.shape || a.values.size() != b.values.size() || (!a.values.empty() && std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof a.values[0]) != 0);
        else return std::memcmp(&a, &b, sizeof a) != 0;
      };
      return (other(std::get<I>(got), std::get<I>(want)) || ...);
    }(std::index_sequence_for<A...>());
  };
  const auto x = numbers<float>(3000, 8);
  const device_array<float> d(x);
  const wf::view<float> matrix(d.data().get(), {30, 100}), of_host(x.data(), {30, 100}), none(d.data().get(), {0, 100});
  const std::vector<std::int64_t> offsets{0, 7, 7, 2000, 3000};
  std::vector<std::int64_t> labels(x.size());
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i * i % 9);
  const auto [sum, at, moments, n] = fusion(place(), d.span());
  if (sum != wf::sum(x) || at != wf::argmax(x) || n != 3000) return "each";
  if (differ(fusion(place(), d.span()), fusion(x)) || differ(fusion(place(), x), fusion(x)) || differ(fusion(place(), d), fusion(x))) return "whole arrays";
  if (differ(fusion(place(), x, wf::rounding::up, wf::correction{1}), fusion(x, wf::rounding::up, wf::correction{1}))) return "settings";
  if (differ(fusion(place(), matrix, wf::axis{1}), fusion(of_host, wf::axis{1})) || differ(fusion(place(), matrix, wf::axis{0}.keep()), fusion(of_host, wf::axis{0}.keep()))) return "axes";
  if (differ(fusion(place(), none, wf::axis{1}), fusion(none, wf::axis{1}))) return "axes of nothing";
  if (differ(fusion(place(), x, wf::segments{offsets}), fusion(x, wf::segments{offsets})) || differ(fusion(place(), x, wf::segments_of{7}), fusion(x, wf::segments_of{7}))) return "segments";
  if (differ(fusion(place(), x, wf::by_label{labels, 10}), fusion(x, wf::by_label{labels, 10}))) return "labels";
  const auto said = refusal([&] { static_cast<void>(fusion(place(), x, wf::by_label{labels, 3})); });
  if (said != refusal([&] { static_cast<void>(fusion(x, wf::by_label{labels, 3})); })) return said;
  return "";
}

std::string pointers_of_the_wrong_side() {
  const auto x = numbers<float>(100, 3);
  const device_array<float> d(x);
  float out = 0;
  wf::simulated_gpu strict;
  strict.check_pointers(true);
  for (const auto& [said, wanted] :
       {std::pair{refusal([&] { wf::sum(strict, std::span(x), d.data().p); }), "sum: input 0 is memory of the host"},
        {refusal([&] { wf::dot(strict, d.span(), std::span(x), d.data().p); }), "dot: input 1 is memory of the host"},
        {refusal([&] { wf::sum(strict, d.span(), &out); }), "sum: the answer goes to memory of the host"},
        {refusal([&] { wf::reduce(strict, d.span(), &out, wf::transform(twice_float{}), wf::max); }), "reduce on a GPU: the answer goes to memory"},
        {refusal([&] { wf::reduce(strict, std::span(x), d.data().p, wf::transform(twice_float{}), wf::max); }), "reduce on a GPU: input 0 is memory"},
        {refusal([&] { wf::fuse(wf::min, wf::max)(strict, d.span(), d.data().p, &out); }), "fuse on a GPU: the answer goes to memory"}})
    if (said.find(wanted) == said.npos) return std::string(wanted) + ", not: " + said;
  wf::sum(strict, d.span(), d.data().p);
  CHECK_SAME(wf::max(strict, x), wf::max(x));
  return "";
}

std::string requests_of_own_reductions() {
  const auto x = numbers<std::int32_t>(100, 3);
  const device_array<std::int32_t> d(x);
  static constexpr wf::cpu::erased functions = wf::cpu::erase<polynomial_of_one, std::int32_t>();
  const polynomial_of_one mine;
  wf::request r;
  r.own = {&functions, &mine, "mine"};
  r.inputs.data[0] = d.span().data();
  r.inputs.shape = {100};
  r.inputs.strides[0] = {4};
  r.out = d.data().p;
  const std::string said = refusal([&] { place().run(r); });
  if (!said.starts_with("mine: a request of a reduction that no operation names is for the CPU, where it has no kernels")) return "said: " + said;

  // One that has kernels: they are told what is in the request, once it has been checked.
  struct told {
    std::int64_t n = 0, stride = 0;
    int kept = 0, reduced = 0, calls = 0;
    const void* out = nullptr;
  } got;
  static constexpr wf::own_kernels kernels{1, {4}, {4}, [](const void* self, const wf::request& q, const wf::own_input& in, void*, void*) {
    told& to = *const_cast<told*>(static_cast<const told*>(self));
    to.n = in.n;
    to.stride = in.stride[0];
    if (in.rows != nullptr) to.kept = in.rows->kept, to.reduced = in.rows->reduced, to.stride = in.rows->stride[0][1];
    to.out = q.out;
    ++to.calls;
    return 0;
  }};
  r.own = {nullptr, &got, "mine", &kernels};
  const wf::backend& on = static_cast<const wf::device_place&>(place());
  on.run(r);
  if (got.calls != 1 || got.n != 100 || got.stride != 1 || got.out != r.out) return "a whole array";
  r.inputs.shape = {10, 5};
  r.inputs.strides[0] = {40, 8};
  const int last[] = {1};
  r.by.kind = wf::partition::kinds::axes;
  r.by.axes = last;
  on.run(r);
  if (got.calls != 2 || got.n != 50 || got.kept != 1 || got.reduced != 1 || got.stride != 8) return "rows";
  r.inputs.shape = {0, 5};
  on.run(r);  // no answers
  const auto refused = [&](auto change, const char* wanted) -> std::string {
    wf::request q = r;
    q.inputs.shape = {10, 5};
    change(q);
    const std::string text = refusal([&] { on.run(q); });
    return text == std::string("mine: ") + wanted ? "" : text + "; not: " + wanted + "\n";
  };
  const std::int32_t labels[50] = {};
  std::string wrong = refused([](wf::request& q) { q.out = nullptr; }, "nowhere to put the answer") +
                      refused([](wf::request& q) { q.inputs.data[0] = nullptr; }, "input 0 is null, but has 50 elements") +
                      refused([](wf::request& q) { q.inputs.strides[0] = {40, 6}; }, "elements that are 6 bytes apart; a multiple of their alignment, 4, is needed") +
                      refused([](wf::request& q) { q.wanted = wf::output::states; }, "a reduction that no operation names gives answers, no states and no wf::checked") +
                      refused([](wf::request& q) { q.swapped[0] = true; }, "a reduction that no operation names takes elements in the machine's order of bytes") +
                      refused([](wf::request& q) { q.first = 7; }, "elements from the index 7 on; a reduction that no operation names begins at 0 there") +
                      refused([&](wf::request& q) {
                        q.inputs.shape = {50};
                        q.inputs.strides[0] = {4};
                        q.by = {};
                        q.by.kind = wf::partition::kinds::labels;
                        q.by.index_bytes = 4;
                        q.by.indexes = labels;
                        q.by.count = 1;
                      }, "labels of 4 bytes on a GPU; 8 are right");
  const std::string by_cpu = refusal([&] { wf::cpu_backend().run(r); });
  if (by_cpu != "mine: it has kernels for a GPU alone; the CPU wants its functions") wrong += by_cpu;
  if (got.calls != 2) wrong += "calls of what was refused, or of no answers";
  return wrong;
}

std::string checked_answers() {
  const auto differ = [](const auto& got, const auto& want) {
    return got.value != want.value || got.high != want.high || got.overflow != want.overflow;
  };
  const std::vector<std::int64_t> x{INT64_MAX, INT64_MAX, -5};
  const std::vector<std::uint8_t> y{200, 200, 0};
  const device_array<std::int64_t> d(x);
  wf::checked<std::int64_t> out{};
  wf::checked_sum(place(), d.span(), &out);
  if (differ(out, wf::checked_sum(x)) || !out.overflow) return "checked_sum";
  if (differ(wf::checked_sum(place(), x), wf::checked_sum(x))) return "checked_sum that waits";
  if (differ(wf::checked_sum_of_squares(place(), x), wf::checked_sum_of_squares(x))) return "checked_sum_of_squares";
  if (differ(wf::checked_norm1(place(), x), wf::checked_norm1(x))) return "checked_norm1";
  if (differ(wf::checked_dot(place(), x, x), wf::checked_dot(x, x))) return "checked_dot";
  if (differ(wf::checked_prod(place(), x), wf::checked_prod(x)) || !wf::checked_prod(place(), x).overflow) return "checked_prod";
  if (differ(wf::checked_prod(place(), y), wf::checked_prod(y)) || wf::checked_prod(place(), y).overflow) return "checked_prod with a zero";
  wf::request r;
  r.what = wf::op::sum;
  r.element = wf::dtype::i64;
  r.inputs.data[0] = d.span().data();
  r.inputs.shape = {3, 1};
  r.inputs.strides[0] = {8, 8};
  r.wanted = wf::output::checked;
  r.out = &out;
  out = {};
  const wf::backend& any = place();
  any.run(r);
  if (differ(out, wf::checked_sum(x))) return "a request";
  if (!any.takes(wf::op::sum, wf::dtype::i64, wf::accuracy::exact, wf::partition::kinds::whole, wf::output::checked)) return "takes";
  if (any.takes(wf::op::max, wf::dtype::i64, wf::accuracy::exact, wf::partition::kinds::whole, wf::output::checked)) return "takes max";
  r.inputs.shape = {1, 3};
  const int last[] = {1};
  r.by.kind = wf::partition::kinds::axes;
  r.by.axes = last;
  out = {};
  any.run(r);
  if (differ(out, wf::checked_sum(x))) return "a request of a row";
  if (!any.takes(wf::op::sum, wf::dtype::i64, wf::accuracy::exact, wf::partition::kinds::labels, wf::output::checked)) return "takes labels";
  if (any.takes(wf::op::max, wf::dtype::i64, wf::accuracy::exact, wf::partition::kinds::axes, wf::output::checked)) return "takes max of axes";
  const auto all_same = [&](const auto& got, const auto& want) {
    if (got.shape != want.shape) return false;
    for (std::int64_t k = 0; k < want.size(); ++k)
      if (differ(got[k], want[k])) return false;
    return true;
  };
  std::vector<std::int32_t> many(1203);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = i % 5 == 0 ? INT32_MIN : static_cast<std::int32_t>(i * 2654435761u);
  const wf::view<std::int32_t> matrix(many.data(), {400, 3});  // memory of the host, which simt reads
  std::vector<std::int64_t> labels(many.size()), offsets{0, 0, 7, 900, 1203};
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i * i % 9);
  std::vector<wf::checked<std::int64_t>> answers(400);
  wf::checked_prod(place(), matrix, answers.data(), wf::axis{1});
  const auto products = wf::checked_prod(matrix, wf::axis{1});
  for (std::int64_t k = 0; k < 400; ++k)
    if (differ(answers[static_cast<std::size_t>(k)], products[k])) return "checked_prod of rows";
  if (!all_same(wf::checked_sum(place(), many, wf::segments_of{100}), wf::checked_sum(many, wf::segments_of{100}))) return "checked_sum, equal segments";
  if (!all_same(wf::checked_sum_of_squares(place(), many, wf::by_label{labels, 9}), wf::checked_sum_of_squares(many, wf::by_label{labels, 9}))) return "checked_sum_of_squares, labels";
  if (!all_same(wf::checked_dot(place(), many, many, wf::segments{offsets}), wf::checked_dot(many, many, wf::segments{offsets}))) return "checked_dot, segments";
  // Rows so long that each is reduced as a whole array.
  const std::vector<std::int64_t> long_rows(2 * 262144, INT64_MAX / 2);
  const wf::view<std::int64_t> two(long_rows.data(), {2, 262144});
  std::vector<wf::checked<std::int64_t>> of_long(2);
  wf::checked_sum(place(), two, of_long.data(), wf::axis{1});
  const auto want_long = wf::checked_sum(two, wf::axis{1});
  if (differ(of_long[0], want_long[0]) || differ(of_long[1], want_long[1])) return "checked_sum of long rows";
  return "";
}

std::string arrays_of_the_host() {
  const auto x = numbers<float>(3001, 2);
  const std::vector<float> none;
  const float few[] = {1, 2, 4};
  CHECK_SAME(wf::sum(place(), x), wf::sum(x));
  CHECK_SAME(wf::sum(place(), none), 0.0f);
  CHECK_SAME(wf::sum(place(), few), 7.0f);
  CHECK_SAME(wf::min(place(), std::array<double, 2>{3, -1}), -1.0);
  CHECK_SAME(wf::dot(place(), x, x), wf::dot(x, x));
  const device_array<float> d(x);
  CHECK_SAME(wf::dot(place(), x, d.span()), wf::dot(x, x));
  const std::vector<std::int64_t> offsets{0, 7, 7, 2000, 3001}, falls{0, 9, 8}, beyond{0, 3002};
  std::vector<std::int64_t> labels(x.size());
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i % 11);
  CHECK_SAME(wf::sum(place(), x, wf::segments{offsets}), wf::sum(x, wf::segments{offsets}));
  CHECK_SAME(wf::sum(place(), x, wf::by_label{labels, 12}), wf::sum(x, wf::by_label{labels, 12}));
  // In the same words as on the CPU.
  for (const auto& [text, said] : {std::pair{refusal([&] { wf::sum(place(), x, wf::segments{falls}); }), refusal([&] { wf::sum(x, wf::segments{falls}); })},
                                   {refusal([&] { wf::sum(place(), x, wf::segments{beyond}); }), refusal([&] { wf::sum(x, wf::segments{beyond}); })},
                                   {refusal([&] { wf::sum(place(), x, wf::by_label{labels, 10}); }), "labels: label 10 of element 10; labels are 0 to 9"},
                                   {refusal([&] { wf::sum(x, wf::by_label{labels, 10}); }), "labels: label 10 of element 10; labels are 0 to 9"}})
    if (text != said) return text + ", not: " + said;
  // So large that it goes by way of pinned memory, piece by piece; then pinned itself.
  std::vector<std::uint8_t> large((std::size_t{8} << 20) + 1003);
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);
  CHECK_SAME(wf::sum(place(), large), wf::sum(large));
  CHECK_SAME(wf::sum(place(), std::vector<std::uint8_t, pinned<std::uint8_t>>(large.begin(), large.end())), wf::sum(large));
  return "";
}

std::string places_for_answers() {
  const auto x = numbers<float>(100, 3);
  const std::span<const float> in(x);  // on simt the host's memory is the device's, where nobody looks
  float array[1] = {}, one = 0;
  wf::sum(place(), in, array);
  CHECK_SAME(array[0], wf::sum(x));
  float* const pointer = &one;
  wf::sum(place(), in, pointer, wf::rounding::down);
  CHECK_SAME(one, wf::sum(x, wf::rounding::down));
  device_array<float>::pointer as_thrust{&one};
  wf::max(place(), in, as_thrust);
  CHECK_SAME(one, wf::max(x));
  float both[2] = {};
  wf::fuse(wf::min)(place(), in, both);
  CHECK_SAME(both[0], wf::min(x));
  return "";
}

std::string inputs_of_any_kind() {
  const std::vector<float> x{1, 2, 3, 5};
  const device_array<float> container(x);
  CHECK_SAME(wf::sum(place(), container), 11.0f);
  std::vector<__half> halves;
  for (const float v : x) halves.push_back(__float2half(v));
  CHECK_SAME(static_cast<float>(wf::sum(place(), halves)), 11.0f);
  const device_array<__half> on_device(halves);
  __half half_out[1] = {};
  wf::max(place(), on_device.span(), half_out);
  CHECK_SAME(__half2float(half_out[0]), 5.0f);
  std::vector<__nv_bfloat16> brains;
  for (const float v : x) brains.push_back(__float2bfloat16(v));
  CHECK_SAME(static_cast<float>(wf::max(place(), brains)), 5.0f);
  const std::vector<float2> complex{{1, 2}, {3, -5}};
  const auto sum = wf::sum(place(), complex);
  CHECK_SAME(sum.real(), 4.0f);
  CHECK_SAME(sum.imag(), -3.0f);
  CHECK_SAME(wf::sum(place(), std::vector<std::complex<double>>{{1, 2}, {3, -5}}).imag(), -3.0);
  return "";
}

namespace {

struct shifted_square {
  WF_HD float operator()(float x) const { return x * x - 3; }
};
struct mixed {
  WF_HD std::int32_t operator()(float x, std::uint8_t y) const { return static_cast<std::int32_t>(x) * 3 - y; }
};
struct to_complex {
  WF_HD wf::c64 operator()(float x) const { return {x, -2 * x}; }
};

/// One operation after transforms of one input and of two; a product of complex numbers is rounded in the order that it is made.
template <wf::op O, class R>
std::string after_transforms(const R& operation) {
  const auto same_bytes = [](const auto& a, const auto& b) { return std::memcmp(&a, &b, sizeof a) == 0; };
  std::vector<float> x(1003);
  std::vector<std::uint8_t> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i * 37 % 113) / 8 - 3;
    y[i] = static_cast<std::uint8_t>(i * 7);
  }
  if constexpr (wf::takes<O, float>) {
    if (!same_bytes(wf::reduce(place(), x, wf::transform(shifted_square{}), operation), wf::reduce(x, wf::transform(shifted_square{}), operation))) return "f32";
  }
  if constexpr (wf::takes<O, std::int32_t>) {
    if (!same_bytes(wf::reduce(place(), x, y, wf::transform(mixed{}), operation), wf::reduce(x, y, wf::transform(mixed{}), operation))) return "i32";
  }
  if constexpr (wf::takes<O, wf::c64> && O != wf::op::prod) {
    if (!same_bytes(wf::reduce(place(), x, wf::transform(to_complex{}), operation), wf::reduce(x, wf::transform(to_complex{}), operation))) return "c64";
  }
  return "";
}

}  // namespace

std::string transforms_before_every_operation() {
  std::string wrong;
  const auto look_at = [&]<wf::op O>(const auto& operation, const char* name) {
    if constexpr (wf::inputs_of(O) == 1) {
      if (const std::string type = after_transforms<O>(operation); wrong.empty() && !type.empty()) wrong = std::string(name) + " of " + type;
    }
  };
#define WF_OPERATION(name, ...) look_at.template operator()<wf::op::name>(wf::name, #name);
#include <warpfold/operations.def>
#undef WF_OPERATION
  return wrong;
}

std::string transforms() {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{33}, std::size_t{4099}, std::size_t{40001}}) {
    const auto x = numbers<float>(n + 1, 4), y = numbers<float>(n + 1, 5);
    const device_array<float> dx(x), dy(y);
    for (const std::size_t skipped : {0, 1}) {  // any address
      const std::span<const float> hx(x.data() + skipped, n), hy(y.data() + skipped, n);
      const std::span<const float> gx(dx.data().get() + skipped, n), gy(dy.data().get() + skipped, n);
      CHECK_SAME(wf::reduce(place(), gx, wf::transform(square{}), wf::sum), wf::reduce(hx, wf::transform(square{}), wf::sum));
      CHECK_SAME(wf::reduce(place(), gx, gy, wf::transform(difference{}), wf::norm2), wf::reduce(hx, hy, wf::transform(difference{}), wf::norm2));
      CHECK_SAME(wf::reduce(place(), gx, gy, wf::transform(difference{}), wf::argmax), wf::reduce(hx, hy, wf::transform(difference{}), wf::argmax));
    }
    // Elements that lie apart, the last first, and two types of two sizes.
    const auto m = static_cast<std::int64_t>(n / 2);
    std::vector<std::uint8_t> bytes(n + 1);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 37 % 90);
    const device_array<std::uint8_t> db(bytes);
    const auto last_first = [&]<class T>(const T* p) { return wf::view<T>(p + (m > 0 ? 2 * (m - 1) : 0), {m}, {-2}); };
    CHECK_SAME(wf::reduce(place(), last_first(db.data().get()), last_first(dx.data().get()), wf::transform(larger{}), wf::sum),
               wf::reduce(last_first(bytes.data()), last_first(x.data()), wf::transform(larger{}), wf::sum));
    CHECK_SAME(wf::reduce(place(), db.span(), dx.span(), wf::transform(larger{}), wf::mean),
               wf::reduce(bytes, x, wf::transform(larger{}), wf::mean));
  }
  std::vector<std::int32_t> integers(20011);
  std::iota(integers.begin(), integers.end(), -10000);
  CHECK_SAME(wf::reduce(place(), integers, wf::transform(twice{}), polynomial_of_one{}),
             wf::reduce(integers, wf::transform(twice{}), polynomial_of_one{}));
  return "";
}

std::string own_rows() {
  std::vector<std::int32_t> x(3000), y(3000);
  std::iota(x.begin(), x.end(), -5);
  std::iota(y.begin(), y.end(), 77);
  std::vector<std::int64_t> labels(x.size()), offsets{0, 0, 7, 900, 3000};
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i * i % 9);
  // Arrays of the host are copied, with their offsets and labels.
  CHECK_SAME(wf::reduce(place(), x, y, polynomial{}, wf::segments_of{7}), wf::reduce(x, y, polynomial{}, wf::segments_of{7}));
  CHECK_SAME(wf::reduce(place(), x, y, polynomial{}, wf::segments{offsets}), wf::reduce(x, y, polynomial{}, wf::segments{offsets}));
  CHECK_SAME(wf::reduce(place(), x, y, polynomial{}, wf::by_label{labels, 10}), wf::reduce(x, y, polynomial{}, wf::by_label{labels, 10}));
  CHECK_SAME(wf::reduce(place(), x, wf::transform(twice{}), wf::max, wf::by_label{labels, 10}), wf::reduce(x, wf::transform(twice{}), wf::max, wf::by_label{labels, 10}));
  const device_array<std::int32_t> dx(x);
  const std::int32_t* const on_device = dx.data().get();
  const wf::view<std::int32_t> cube(on_device, {10, 100, 3}), of_host(x.data(), {10, 100, 3}), none(on_device, {0, 100});
  CHECK_SAME(wf::reduce(place(), cube, wf::transform(twice{}), polynomial_of_one{}, wf::axis{1}.keep()),
             wf::reduce(of_host, wf::transform(twice{}), polynomial_of_one{}, wf::axis{1}.keep()));
  CHECK_SAME(wf::reduce(place(), none, polynomial_of_one{}, wf::axis{0}), wf::reduce(none, polynomial_of_one{}, wf::axis{0}));
  CHECK_SAME(wf::reduce(place(), none, polynomial_of_one{}, wf::axis{1}), wf::reduce(none, polynomial_of_one{}, wf::axis{1}));
  // Runs of keys are segments, those beyond the last one too.
  std::vector<std::int32_t> keys(x.size());
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int32_t>(i / 7 % 3);
  const device_array<std::int32_t> on(keys), unique(keys);
  std::vector<std::int64_t> where(601), found(1), sums(600), counts(600);
  wf::find_runs(place(), on.span(), unique.data().get(), where.data(), 600, found.data());
  const wf::segments of_runs{std::span<const std::int64_t>(where)};
  wf::sum(place(), dx.span(), sums.data(), of_runs);
  wf::count(place(), dx.span(), counts.data(), of_runs);
  const auto groups = wf::find_runs(keys);
  const auto wanted_sums = wf::sum(x, wf::segments{groups.offsets});
  if (found[0] != groups.size() || groups.size() != 429) return "find_runs: " + std::to_string(found[0]) + " runs";
  for (std::int64_t k = 0; k < 600; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const bool there = k < groups.size();
    if (sums[at] != (there ? wanted_sums[k] : 0) || counts[at] != (there ? groups.count(k) : 0) || (there && unique.span()[at] != groups.keys[at]))
      return "find_runs: run " + std::to_string(k);
  }
  const std::vector<std::int64_t> beyond{0, 3001};
  std::uint64_t out[1] = {};
  std::int32_t least = 0;
  for (const auto& [said, wanted] :
       {std::pair{refusal([&] { wf::reduce(place(), x, polynomial_of_one{}, wf::segments{beyond}); }), "segments: offset 1 is 3001"},
        {refusal([&] { wf::find_runs(place(), cube); }), "find_runs on a GPU: keys in 3 dimensions"},
        {refusal([&] { wf::find_runs(place(), on.span(), unique.data().get(), where.data(), -1, found.data()); }), "room for -1 runs"},
        {refusal([&] { wf::reduce(place(), cube, polynomial_of_one{}, wf::axis{3}); }), "reduce on a GPU: axis 3"},
        {refusal([&] { wf::reduce(place(), x, polynomial_of_one{}, wf::by_label{std::span(labels).first(2), 10}); }), "reduce on a GPU: 2 labels"},
        {refusal([&] { wf::reduce(place(), cube, static_cast<std::uint64_t*>(nullptr), polynomial_of_one{}, wf::axis{1}); }), "reduce on a GPU: nowhere to put the answer"},
        {refusal([&] { wf::fuse(wf::min)(place(), cube, static_cast<std::int32_t*>(nullptr), wf::axis{1}); }), "fuse on a GPU: nowhere to put the answer"},
        {refusal([&] { wf::fuse(wf::min, wf::max)(place(), cube, &least, static_cast<std::int32_t*>(nullptr)); }), "fuse on a GPU: nowhere to put the answer"},
        {refusal([&] { wf::reduce(place(), wf::view<std::int32_t>(reinterpret_cast<const std::int32_t*>(reinterpret_cast<const char*>(x.data()) + 1), {2, 3}), out,
                                  polynomial_of_one{}, wf::axis{1}); }), "reduce on a GPU"}})
    if (said.find(wanted) == said.npos) return std::string(wanted) + ", not: " + said;
  return "";
}

std::string two_inputs() {
  std::vector<std::int32_t> x(30011), y(30011);
  std::iota(x.begin(), x.end(), -5);
  std::iota(y.begin(), y.end(), 77);
  const std::uint64_t want = wf::reduce(x, y, polynomial{});
  CHECK_SAME(wf::reduce(place(), x, y, polynomial{}), want);
  std::uint64_t out[1] = {};
  wf::reduce(place(), std::span<const std::int32_t>(x), std::span<const std::int32_t>(y), out, polynomial{});
  CHECK_SAME(out[0], want);
  y.pop_back();
  const auto text = refusal([&] { wf::reduce(place(), x, y, polynomial{}); });
  if (text.find("two inputs of the shapes (30011,) and (30010,)") == text.npos) return text;
  return "";
}
