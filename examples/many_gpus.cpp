// SPDX-License-Identifier: Apache-2.0
// Several GPUs: those of one process as one place, and ranks with a GPU each, whose states NCCL adds. The bits are those of one GPU
// and of the CPU. Here one process is the only rank.
//
//     g++ -std=c++20 many_gpus.cpp $(pkg-config --cflags --libs warpfold-gpu) $(pkg-config --variable=cuda_runtime warpfold-gpu) -lnccl
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <cuda_runtime.h>

#include <warpfold/gpus.hpp>
// [ranks]
#include <warpfold/nccl.hpp>

// [/ranks]

namespace {

/// A copy in the memory of the current device.
template <class T>
T* on_device(const std::vector<T>& x) {
  void* p = nullptr;
  if (cudaMalloc(&p, x.size() * sizeof(T)) != cudaSuccess) throw wf::error(wf::errc::device, "cudaMalloc failed");
  if (cudaMemcpy(p, x.data(), x.size() * sizeof(T), cudaMemcpyHostToDevice) != cudaSuccess) throw wf::error(wf::errc::device, "cudaMemcpy failed");
  return static_cast<T*>(p);
}

void devices_of_a_process() {
  std::vector<double> host_vector(1000, 0.1);
  wf::gpus all;                                    // every device
  double s = wf::sum(all, host_vector);            // cut, copied, reduced on all of them at the same time

  const std::vector<float> part(1000, 0.25F);
  std::vector<std::span<const float>> spans;
  for (std::size_t k = 0; k < all.size(); ++k) {
    cudaSetDevice(all.device(k));
    spans.emplace_back(on_device(part), part.size());
  }
  float t = wf::sum(all, wf::pieces(spans));       // spans[k] in the memory of device k
  std::printf("over %zu GPUs: %.17g and %g\n", all.size(), s, static_cast<double>(t));
  for (const auto& span : spans) cudaFree(const_cast<float*>(span.data()));
  cudaSetDevice(0);
}

void a_rank() {
  ncclComm_t comm = nullptr;
  const int device = 0;
  wf::nccl::detail::checked(ncclCommInitAll(&comm, 1, &device), "ncclCommInitAll");
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  const std::size_t n = 1000;
  const std::int64_t count = 2;
  float* const device_values = on_device(std::vector<float>(n, 0.1F));
  float* const device_out = on_device(std::vector<float>(n));
  const wf::view<const float> matrix(device_values, {10, 100});
  const wf::state_form form = wf::form_of_states(wf::op::sum, wf::dtype::f32, wf::accuracy::exact);
  void* const device_states = on_device(std::vector<std::byte>(form.bytes * count));
  cudaMemset(device_states, 0, form.bytes * count);  // sums of nothing
  wf::request request;
  request.what = wf::op::max;
  request.element = wf::dtype::f32;
  request.inputs.data[0] = device_values;
  request.inputs.shape = {static_cast<std::int64_t>(n)};
  request.inputs.strides[0] = {sizeof(float)};
  request.out = device_out + 1;

  float answers[3];
  {  // places end before their streams do
    // [ranks]
    wf::gpu place{stream};
    wf::nccl::sum(place, comm, std::span(device_values, n), device_out);   // all ranks' values; on each rank
    wf::nccl::all_reduce(place, comm, request);                            // anything else that can be asked
    wf::nccl::all_reduce(place, comm, form, device_states, count);         // states of your own, in place
    wf::nccl::mean(place, comm, matrix, device_out + 2, wf::axis{0});      // a matrix whose rows are spread
    wf::nccl::sum_elements(place, comm, std::span(device_values, n), device_values);   // a tensor that each rank has
    wf::nccl::wait(place, comm, std::chrono::seconds(30));                 // a rank that is lost is an error, and no hang
    // [/ranks]
    const wf::device_place any(wf::cuda_library(), stream);                // requests that are made at run time, by all kernels
    any.run(request);
    wf::nccl::norm(place, comm, std::span(device_values, n), device_out + 200);

    cudaMemcpyAsync(answers, device_out, sizeof answers, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    wf::nccl::check(comm);
  }
  std::printf("over ranks: sum %.9g, greatest %.9g, mean of a column %.9g\n", static_cast<double>(answers[0]), static_cast<double>(answers[1]),
              static_cast<double>(answers[2]));
  cudaFree(device_states);
  cudaFree(device_out);
  cudaFree(device_values);
  cudaStreamDestroy(stream);
  ncclCommDestroy(comm);
}

}  // namespace

int main() {
  try {
    devices_of_a_process();
    a_rank();
  } catch (const wf::nccl::failure& e) {  // the communicator was aborted, or lost a rank
    std::printf("%s (%d)\n", e.what(), static_cast<int>(e.nccl_code()));
    return 1;
  } catch (const wf::error& e) {
    std::printf("%s\n", e.what());
    return e.code() == wf::errc::no_device ? 0 : 1;
  }
}
