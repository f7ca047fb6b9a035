// SPDX-License-Identifier: Apache-2.0
#include "reduction.hpp"

#include <warpfold/detail/cpu/engine.hpp>
#include <warpfold/detail/gpu/tuning.hpp>
#include <warpfold/error.hpp>
#include <warpfold/half.hpp>
#include <warpfold/io/reduce.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace lens::profile {

namespace {

constexpr std::size_t most_result_bytes = 64;

/// Calls f with a value of the C++ type of a dtype that the ladder has, or that an answer of it has.
template <class F>
void with_type(wf::dtype t, const F& f) {
  switch (t) {
    case wf::dtype::f16: return f(wf::f16{});
    case wf::dtype::f32: return f(float{});
    case wf::dtype::f64: return f(double{});
    case wf::dtype::i32: return f(std::int32_t{});
    case wf::dtype::u32: return f(std::uint32_t{});
    case wf::dtype::i64: return f(std::int64_t{});
    case wf::dtype::u64: return f(std::uint64_t{});
    case wf::dtype::boolean: return f(std::uint8_t{});
    default: throw wf::error(wf::errc::unsupported, "profile: an answer of type " + std::string(wf::info(t).name));
  }
}

std::vector<double> numbers(wf::dtype t, const std::byte* from, std::size_t count) {
  std::vector<double> all;
  with_type(t, [&]<class T>(T x) {
    for (std::size_t k = 0; k < count; ++k) {
      std::memcpy(static_cast<void*>(&x), from + k * sizeof x, sizeof x);
      all.push_back(static_cast<double>(x));
    }
  });
  return all;
}

std::string text_of(const wf::result_kind& kind, const std::byte* from) {
  std::string text;
  for (int k = 0; k < kind.values; ++k)
    text += (k ? " " : "") + wf::io::value_text(kind.type, from + static_cast<std::size_t>(k) * wf::info(kind.type).size);
  return text;
}

/// Σ|x| and Σx², of one array, in double.
struct sizes {
  double first = 0, second = 0;
};
sizes sizes_of(const ladder::array& a) {
  sizes s;
  with_type(a.type, [&]<class T>(T x) {
    for (std::uint64_t i = 0; i < a.n; ++i) {
      std::memcpy(static_cast<void*>(&x), a.data() + i * sizeof x, sizeof x);
      const auto v = static_cast<double>(x);
      s.first += std::fabs(v);
      s.second += v * v;
    }
  });
  return s;
}

/// What rounding may do to each of the answer's numbers, where a reduction is made of native additions: of an
/// element at most `depth` of them, each half a unit of what it adds to.
std::vector<double> bounds(wf::op what, const ladder::array& x, const ladder::array* y, wf::dtype result,
                           const std::vector<double>& exact) {
  const auto n = static_cast<double>(x.n);
  const double depth = 64 + n / 65536;
  const bool in_f64 = x.type == wf::dtype::f64 || what == wf::op::prod || what == wf::op::logsumexp;
  const double unit = in_f64 ? 0x1p-53 : 0x1p-24, place = result == wf::dtype::f16   ? 0x1p-11
                                                          : result == wf::dtype::f32 ? 0x1p-24
                                                                                     : 0x1p-53;
  const double smallest = result == wf::dtype::f16 ? 0x1p-24 : result == wf::dtype::f32 ? 0x1p-149 : 0x1p-1022;
  const sizes s = sizes_of(x);
  const double square = n == 0 ? 0 : s.second / n;
  std::vector<double> all;
  for (std::size_t k = 0; k < exact.size(); ++k) {
    const double size = std::fabs(exact[k]);
    double moved = size;  // what each rounding is relative to
    switch (what) {
      case wf::op::sum: moved = s.first; break;
      case wf::op::mean: moved = s.first / n; break;
      case wf::op::mean_var: moved = k == 0 ? s.first / n : square; break;
      case wf::op::var: moved = square; break;
      case wf::op::std_dev: moved = size > 0 ? square / size : std::sqrt(square); break;
      case wf::op::dot: moved = std::sqrt(s.second * sizes_of(*y).second); break;
      case wf::op::prod: moved = size * n / depth; break;
      default: break;
    }
    all.push_back(depth * unit * moved + 2 * place * size + 4 * smallest);
  }
  return all;
}

}  // namespace

class reduction_subject::memory {
 public:
  memory(const wf::device_library& kernels, std::size_t bytes, const void* pattern, std::size_t pattern_bytes)
      : kernels_(kernels), at_(kernels.trials->allocate(bytes, pattern, pattern_bytes)) {}
  ~memory() { kernels_.trials->release(at_); }
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;
  void* at() const { return at_; }

 private:
  const wf::device_library& kernels_;
  void* at_;
};

std::optional<wf::op> reduction_named(std::string_view name) {
  return wf::op_named(name);
}

std::string reduction_name(wf::op o) { return std::string(wf::properties_of(o).name); }

reduction_subject::reduction_subject(ladder::place& where, const wf::device_library& kernels, wf::op what,
                                     wf::accuracy how, const ladder::array& data, std::uint64_t seed,
                                     ladder::distribution kind)
    : where_(where), kernels_(kernels), what_(what), how_(how), data_(data) {
  if (!kernels.takes(what, data.type, how))
    throw wf::error(wf::errc::unsupported, reduction_name(what) + " does not take " +
                                               std::string(wf::info(data.type).name) + " on a GPU: see docs/gpu.md");
  where.load(data.type, data.data(), data.n);
  if (what == wf::op::dot) {
    second_.emplace(ladder::make_data(data.type, kind, data.n, seed + 1));
    const std::size_t bytes = data.n * wf::info(data.type).size;
    second_on_device_ = std::make_unique<memory>(kernels, bytes, second_->data(), std::max<std::size_t>(bytes, 1));
  }
  const unsigned char poison = 0xA5;
  out_ = std::make_unique<memory>(kernels, most_result_bytes, &poison, 1);
}

reduction_subject::~reduction_subject() = default;

void reduction_subject::operator()(void* stream) {
  if (!place_) {
    place_ = std::make_unique<wf::device_place>(kernels_, stream);
    wf::launch_choices c = kernels_.trials->table_choices();
    if (wf::has_tuning()) c = wf::read_tuning(kernels_.trials->name()).value_or(c);
    c.overlap = 0;  // else a kernel's time has what it waits for the one before
    kernels_.trials->choose(place_->scratch(), c);
  }
  wf::device_request r{what_, data_.type, how_, {}, {where_.loaded(), nullptr}, {1, 1}, static_cast<std::int64_t>(data_.n),
                       out_->at()};
  if (second_on_device_) r.x[1] = second_on_device_->at();
  kernels_.run(r, place_->scratch(), stream);
}

std::uint64_t reduction_subject::input_bytes() const {
  return data_.n * wf::info(data_.type).size * (second_ ? 2 : 1);
}

reduction_subject::judgement reduction_subject::judge() const {
  const wf::cpu::erased& cpu = wf::builtin(what_, data_.type, wf::accuracy::exact);
  const void* const inputs[] = {data_.data(), second_ ? second_->data() : nullptr};
  const wf::options plain;
  std::vector<std::byte> got(most_result_bytes), want(cpu.result_size);
  wf::cpu::reduce_run(cpu, &plain, inputs, static_cast<std::int64_t>(data_.n), wf::context{}, want.data());
  kernels_.trials->copy_out(got.data(), out_->at(), got.size());

  judgement j;
  const wf::result_kind kind = wf::result_of_builtin(what_, data_.type);
  j.result = text_of(kind, got.data());
  j.exact = text_of(kind, want.data());
  const auto beyond = std::find_if(got.begin() + static_cast<std::ptrdiff_t>(want.size()), got.end(),
                                   [](std::byte b) { return b != std::byte{0xA5}; });
  if (beyond != got.end()) {
    j.why = "it wrote beside its output";
    return j;
  }
  const wf::declaration* declares = wf::builtin(what_, data_.type, how_).declares;
  const bool native = declares != nullptr && declares->rounding == wf::declaration::rounds::natively;
  if (!native) {
    j.right = std::equal(want.begin(), want.end(), got.begin());
    if (!j.right) j.why = "not byte for byte the CPU's answer";
    return j;
  }
  const auto values = static_cast<std::size_t>(kind.values);
  const auto g = numbers(kind.type, got.data(), values), w = numbers(kind.type, want.data(), values);
  const auto most = bounds(what_, data_, second_ ? &*second_ : nullptr, kind.type, w);
  j.right = true;
  for (std::size_t k = 0; k < values; ++k) {
    const bool same = g[k] == w[k] || (std::isnan(g[k]) && std::isnan(w[k]));
    // Where a product leaves the range of f64, and where it comes back as 0 · inf, is for the order to decide.
    const auto left = [](double v) { return v == 0 || !std::isfinite(v); };
    if (what_ == wf::op::prod && left(g[k]) && left(w[k])) continue;
    if (!same && !(std::fabs(g[k] - w[k]) <= most[k])) {
      j.right = false;
      j.why = "further from the exact answer than its additions allow";
    }
  }
  return j;
}

}  // namespace lens::profile
