// SPDX-License-Identifier: Apache-2.0
// gpu.hpp, gpus.hpp: places on simt, where memory of the host is the device's. With wf::gpu, wf::gpus and wf_open_gpu in their place the
// same runs on a GPU, and needs no nvcc.
#include <cstdint>
#include <span>
#include <vector>

#include <warpfold/gpu.hpp>
#include <warpfold/gpus.hpp>

#include "expect.hpp"

namespace {

using place_type = wf::simulated_gpu;   // wf::gpu, of a cudaStream_t
using places_type = wf::simulated_gpus;  // wf::gpus

/// A container of yours whose memory is the device's.
struct device_buffer {
  std::vector<float> memory;
  const float* data() const { return memory.data(); }
  std::size_t size() const { return memory.size(); }
  const float* begin() const { return data(); }
  const float* end() const { return data() + size(); }
};

}  // namespace

template <>
inline constexpr bool wf::may_lie_on_device<device_buffer> = true;

int main() {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const std::span<const float> on_device(values);
  place_type place;                              // keep it: it owns scratch memory
  expect(place.name() == "simt" && place.stream() == nullptr && place.scratch() != nullptr && place_type::is_place);
  place.check_pointers(true);                    // each call looks on which side its pointers are
  float out = 0;
  wf::sum(place, on_device, &out);               // enqueued; the answer is there when the stream has come to it
  expect(wf::sum(place, on_device) == 21);       // waits, and gives it
  expect(wf::max(place, device_buffer{values}) == 6);
  expect(place.machine().name == place.name());

  // Requests that are made at run time: a place is a wf::backend. It links all kernels.
  const wf::device_place& any = place;
  wf::request r;
  r.what = wf::op::mean;
  r.element = wf::dtype::f32;
  r.inputs.data[0] = values.data();
  r.inputs.shape = {6};
  r.inputs.strides[0] = {sizeof(float)};
  r.out = &out;
  expect(any.name() == "simt" && any.takes(r.what, r.element, wf::accuracy::exact, wf::partition::kinds::whole, wf::output::answers));
  any.run(r);
  expect(out == 3.5F);
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
