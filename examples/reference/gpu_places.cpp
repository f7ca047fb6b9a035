// SPDX-License-Identifier: Apache-2.0
// gpu.hpp, gpus.hpp: places on simt. With wf::gpu and wf::gpus in their place the same runs on a GPU, and needs CUDA's headers, but no nvcc.
#include <cstdint>
#include <span>
#include <vector>

#include <cuda_runtime.h>  // here simt's

#include <warpfold/gpu.hpp>
#include <warpfold/gpus.hpp>

#include "expect.hpp"

namespace {

using place_type = wf::simulated_gpu;   // wf::gpu, of a cudaStream_t
using places_type = wf::simulated_gpus;  // wf::gpus

/// A container of yours whose memory is the device's.
class device_buffer {
 public:
  explicit device_buffer(const std::vector<float>& values) : size_(values.size()) {
    expect(cudaMalloc(reinterpret_cast<void**>(&memory_), size_ * sizeof(float)) == cudaSuccess);
    expect(cudaMemcpy(memory_, values.data(), size_ * sizeof(float), cudaMemcpyHostToDevice) == cudaSuccess);
  }
  ~device_buffer() { cudaFree(memory_); }
  device_buffer(const device_buffer&) = delete;
  device_buffer& operator=(const device_buffer&) = delete;
  float* data() { return memory_; }
  const float* data() const { return memory_; }
  std::size_t size() const { return size_; }
  float* begin() { return memory_; }
  float* end() { return memory_ + size_; }
  const float* begin() const { return memory_; }
  const float* end() const { return memory_ + size_; }

 private:
  float* memory_ = nullptr;
  std::size_t size_;
};

float value_at(const float* on_device) {
  float x = 0;
  expect(cudaMemcpy(&x, on_device, sizeof x, cudaMemcpyDeviceToHost) == cudaSuccess);  // waits
  return x;
}

}  // namespace

template <>
inline constexpr bool wf::may_lie_on_device<device_buffer> = true;

int main() {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const device_buffer buffer(values);
  device_buffer out({0});
  const std::span<const float> on_device(buffer.data(), buffer.size());
  place_type place;                              // keep it: it owns scratch memory
  expect(place.name() == "simt" && place.stream() == nullptr && place.scratch() != nullptr && place_type::is_place);
  place.check_pointers(true);                    // each call looks on which side its pointers are
  wf::sum(place, on_device, out.data());         // enqueued; the answer is there when the stream has come to it
  expect(value_at(out.data()) == 21);
  expect(wf::sum(place, on_device) == 21);       // waits, and gives it
  expect(wf::mean(place, values) == 3.5F);       // an array of the host: copied
  expect(wf::max(place, buffer) == 6);
  expect(place.machine().name == place.name());

  // Requests that are made at run time: a place is a wf::backend. It links all kernels.
  const wf::device_place& any = place;
  wf::request r;
  r.what = wf::op::mean;
  r.element = wf::dtype::f32;
  r.inputs.data[0] = buffer.data();
  r.inputs.shape = {6};
  r.inputs.strides[0] = {sizeof(float)};
  r.out = out.data();
  expect(any.name() == "simt" && any.takes(r.what, r.element, wf::accuracy::exact, wf::partition::kinds::whole, wf::output::answers));
  any.run(r);
  expect(value_at(out.data()) == 3.5F);
  const wf::device_place by_library(wf::simt_library(), nullptr);  // or wf::cuda_library(), and a stream
  expect(&by_library.kernels() == &wf::simt_library());

  // Groups of a sorted table.
  const std::vector<int> keys{7, 7, 7, 9, 2, 2};
  const wf::runs<int> groups = wf::find_runs(place, keys);
  expect(groups.keys == std::vector<int>{7, 9, 2});

  // Several devices as one place.
  const places_type all(std::vector<int>{0, 0});
  expect(all.size() == 2 && wf::sum(all, values) == 21);
  const std::vector<std::span<const float>> spans{on_device.first(2), on_device.subspan(2)};
  const wf::device_pieces<float> pieces = wf::pieces(spans);
  expect(pieces.spans.size() == 2 && wf::argmax(all, pieces) == 5);
}
