// SPDX-License-Identifier: Apache-2.0
// gpu.hpp, gpus.hpp: places on simt. With wf::gpu and wf::gpus in their place the same runs on a GPU, and needs CUDA's headers, but no nvcc.
#include <cstdint>
#include <span>
#include <vector>

#include <cuda_runtime.h>  // here simt's

// [gpu.hpp]
#include <warpfold/gpu.hpp>  // link warpfold::gpu; no nvcc needed
// [/gpu.hpp]
// [gpus]
#include <warpfold/gpus.hpp>

// [/gpus]

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

// The pages show wf::gpu and wf::gpus; here these are simt's.
namespace of_pages {

namespace wf {
using namespace ::wf;
using gpu = simulated_gpu;
using gpus = simulated_gpus;
}  // namespace wf

void answers(cudaStream_t stream, float* device_values, float* device_out) {  // the values 1, 2 … 48
  constexpr std::size_t n = 48;
  const std::span<const float> x(device_values, n);
  const wf::view<const float> matrix(device_values, {2, 24});
  const std::vector<double> host_vector{1, 2, 6};
  // [place]
  wf::gpu place{stream};  // keep it: it owns 2.2 MiB of scratch memory
  wf::sum(place, std::span(device_values, n), device_out);
  // [/place]
  // [answers]
  wf::var(place, wf::view<float>(device_values, {n / 3}, {3}), device_out + 1, wf::correction{1});
  wf::mean(place, matrix, device_out + 2, wf::axis{1});     // an answer for each row; any axes of any view
  wf::sum(place, x, device_out + 4, wf::segments_of{16});   // or wf::segments{…}, wf::by_label{…, answers}
  float s = wf::sum(place, x);                              // waits, and gives the answer
  double m = wf::mean(place, host_vector);                  // copies an array of the host, waits
  // [/answers]
  const float wanted[] = {1176, 204, 12.5F, 36.5F, 136, 392, 648};
  for (std::size_t i = 0; i < std::size(wanted); ++i) expect(value_at(device_out + i) == wanted[i]);
  expect(s == 1176 && m == 3);
}

void vector_of_the_host(cudaStream_t stream) {
  // [host]
  std::vector<float> x(1 << 20, 0.5F);
  wf::gpu place(stream);
  float s = wf::sum(place, x);  // waits
  // [/host]
  expect(s == 1 << 19);
}

void runs_of_keys(const float* values_at, float* sums) {  // the values 1, 2 … 6
  const wf::gpu place;
  constexpr std::int64_t room = 4;
  const std::vector<int> host_keys{7, 7, 7, 9, 2, 2};
  int* keys_at = nullptr;
  std::int64_t* offsets = nullptr;
  expect(cudaMalloc(reinterpret_cast<void**>(&keys_at), (6 + room) * sizeof(int)) == cudaSuccess);
  expect(cudaMalloc(reinterpret_cast<void**>(&offsets), (room + 2) * sizeof(std::int64_t)) == cudaSuccess);
  expect(cudaMemcpy(keys_at, host_keys.data(), 6 * sizeof(int), cudaMemcpyHostToDevice) == cudaSuccess);
  int* const unique = keys_at + 6;
  std::int64_t* const found = offsets + room + 1;
  const std::span<const int> keys(keys_at, 6);
  const std::span<const float> values(values_at, 6);
  // [runs]
  wf::find_runs(place, keys, unique, offsets, room, found);  // 7 7 7 9 2 2: 7 9 2, 0 3 4 6 6 …, 3
  wf::sum(place, values, sums, wf::segments{{offsets, room + 1}});
  // [/runs]
  expect(value_at(sums) == 6 && value_at(sums + 1) == 4 && value_at(sums + 2) == 11 && value_at(sums + 3) == 0);
  expect(cudaFree(keys_at) == cudaSuccess && cudaFree(offsets) == cudaSuccess);
}

void several(const std::vector<float>& host_vector, const std::vector<std::span<const float>>& spans) {
  // [gpus]
  wf::gpus all;                                    // every device, or wf::gpus all{{0, 2}}; keep it
  double s = wf::sum(all, host_vector);            // cut, copied, reduced on all of them at the same time
  float t = wf::sum(all, wf::pieces(spans));       // spans[k] in the memory of device k: nothing is copied but a state each
  // [/gpus]
  expect(s == 21 && t == 3);
}

}  // namespace of_pages

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

  std::vector<float> counted(48);
  for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<float>(i + 1);
  device_buffer many(counted), answers(std::vector<float>(8));
  of_pages::answers(nullptr, many.data(), answers.data());
  of_pages::vector_of_the_host(nullptr);
  of_pages::runs_of_keys(many.data(), answers.data());
  of_pages::several(values, {on_device.first(2)});
}
