// SPDX-License-Identifier: Apache-2.0
// The trials of launch choices.
#include <warpfold/detail/gpu/tuning.hpp>
#include <warpfold/error.hpp>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>

namespace wf {

namespace {

/// Reductions that one kernel's choices are judged by.
struct workload {
  op what;
  dtype element;
  wf::accuracy accuracy;
};

class trials {
 public:
  trials(const device_library& kernels, std::uint64_t bytes)
      : kernels_(kernels), bytes_(bytes), scratch_(kernels.make_scratch(), free_scratch{&kernels}) {
    // Normal numbers as f32: never time on zeros, nor on what the kernels find special.
    std::mt19937_64 g(1);
    std::normal_distribution<float> normal;
    std::vector<float> pattern((std::uint64_t{32} << 20) / sizeof(float));
    for (auto& x : pattern) x = normal(g);
    data_ = {kernels.trials->allocate(bytes, pattern.data(), pattern.size() * sizeof(float)), kernels.trials->release};
    const char zeros[64] = {};
    out_ = {kernels.trials->allocate(64, zeros, 64), kernels.trials->release};
  }

  /// The times of all workloads at three sizes.
  std::vector<double> run(const std::vector<workload>& work, const launch_choices& c) {
    kernels_.trials->choose(scratch_.get(), c);
    std::vector<double> us;
    for (const workload& w : work) {
      for (const int shrink : {4, 2, 0}) {
        const std::uint64_t bytes = bytes_ >> shrink;
        const bool two = inputs_of(w.what) == 2;
        const auto size = static_cast<std::uint64_t>(info(w.element).size);
        const std::uint64_t n = bytes / size / (two ? 2 : 1);
        const auto* first = static_cast<const unsigned char*>(data_.get());
        const device_request r{w.what, w.element, w.accuracy, {}, {first, first + (two ? n * size : 0)}, {1, 1},
                               static_cast<std::int64_t>(n), out_.get()};
        us.push_back(microseconds(r));
      }
    }
    return us;
  }

 private:
  /// The median of seven runs.
  double microseconds(const device_request& r) const {
    struct asked {
      const device_library* library;
      const device_request* request;
      void* scratch;
    } const a{&kernels_, &r, scratch_.get()};
    return kernels_.trials->microseconds_of(&a, [](const void* self) {
      const auto& q = *static_cast<const asked*>(self);
      q.library->run(*q.request, q.scratch, nullptr);
    }, 7);
  }

  struct free_scratch {
    const device_library* kernels;
    void operator()(void* p) const { kernels->free_scratch(p, nullptr); }
  };
  const device_library& kernels_;
  std::uint64_t bytes_;
  std::unique_ptr<void, free_scratch> scratch_;
  std::unique_ptr<void, void (*)(void*)> data_{nullptr, nullptr}, out_{nullptr, nullptr};
};

double mean_ratio(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::log(a[i] / b[i]);
  return std::exp(sum / static_cast<double>(a.size()));
}

}  // namespace

tuning_result tune(const device_library& kernels, std::uint64_t bytes, const std::function<void(const tuning_trial&)>& told) {
  if (std::strcmp(kernels.name, "simt") == 0)
    throw error(errc::no_device, "tune: simt is not a GPU, so its times say nothing about one");
  tuning_result result{kernels.trials->name(), kernels.trials->table_choices(), kernels.trials->table_choices(), {}};
  trials t(kernels, bytes);
  const auto compare = [&](const char* name, const std::vector<workload>& work, const std::vector<launch_choices>& tried) {
    double best = 0.99;
    launch_choices chosen = result.after;
    for (const launch_choices& c : tried) {
      // The usual choice is timed anew beside each: a GPU's clocks move by more than launches differ.
      const std::vector<double> usual = t.run(work, result.after);
      const tuning_trial one{name, c, mean_ratio(t.run(work, c), usual)};
      result.trials.push_back(one);
      if (told) told(one);
      if (one.ratio < best) {
        best = one.ratio;
        chosen = c;
      }
    }
    result.after = chosen;
  };
  std::vector<launch_choices> tried;
  for (const std::uint32_t threads : {128u, 256u, 512u}) {
    for (const std::uint32_t blocks : {1u, 2u, 3u, 4u, 8u, 16u}) {
      if (threads * blocks < 256 || threads * blocks > 4096) continue;
      tried.push_back(result.after);
      tried.back().reduce_threads = threads;
      tried.back().reduce_blocks = blocks;
    }
  }
  compare("reduce", {{op::max, dtype::f32, accuracy::exact}, {op::sum, dtype::i8, accuracy::exact}, {op::argmin, dtype::f32, accuracy::exact}}, tried);
  tried.clear();
  for (const std::uint32_t blocks : {1u, 2u, 3u, 4u, 6u, 8u}) {
    tried.push_back(result.after);
    tried.back().sum_blocks = blocks;
  }
  compare("sum", {{op::sum, dtype::f32, accuracy::fast}, {op::sum, dtype::f64, accuracy::fast}}, tried);
  tried.clear();
  for (const std::uint32_t blocks : {1u, 2u, 3u, 4u, 6u}) {
    tried.push_back(result.after);
    tried.back().exact_blocks = blocks;
  }
  compare("exact", {{op::sum_of_squares, dtype::f32, accuracy::exact}, {op::dot, dtype::f32, accuracy::exact}, {op::mean, dtype::f32, accuracy::exact}}, tried);
  return result;
}

}  // namespace wf
