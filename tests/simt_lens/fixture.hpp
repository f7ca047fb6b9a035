// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels.hpp"

#include <simt/machine.hpp>
#include <simt/race.hpp>

#include <cuda_runtime.h>

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace lens_test {

inline int line_in(const std::string& file, const std::string& mark) {
  std::ifstream text(std::string(LENS_TEST_SOURCE_DIR) + "/" + file);
  std::string line;
  for (int number = 1; std::getline(text, line); ++number)
    if (line.size() >= mark.size() + 4 && line.substr(line.size() - mark.size() - 4) == "// @" + mark) return number;
  return 0;
}

inline int line_of(const std::string& mark) {
  for (const char* file : {"kernels.cpp", "groups.cpp"})
    if (const int line = line_in(file, mark)) return line;
  ADD_FAILURE() << "no line is marked @" << mark;
  return -1;
}

/// Device arrays of ones and zeros, and the options as they were when a test ends.
class lens : public ::testing::Test {
 protected:
  static constexpr unsigned size = 65536;
  float* in = nullptr;
  float* out = nullptr;
  simt::options before = simt::current_options();

  void SetUp() override {
    ASSERT_EQ(cudaMalloc(&in, size * sizeof(float)), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&out, size * sizeof(float)), cudaSuccess);
    fill(1);
    ASSERT_EQ(cudaMemset(out, 0, size * sizeof(float)), cudaSuccess);
  }
  void TearDown() override {
    simt::current_options() = before;
    simt::clear_fault();
    cudaFree(in);
    cudaFree(out);
  }
  void fill(float value) {
    const std::vector<float> values(size, value);
    ASSERT_EQ(cudaMemcpy(in, values.data(), size * sizeof(float), cudaMemcpyHostToDevice), cudaSuccess);
  }
  std::vector<float> result(unsigned n) {
    std::vector<float> values(n);
    EXPECT_EQ(cudaMemcpy(values.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  }
  /// With no fault; says which if there is one.
  void runs(const std::string& name, const launch& how, unsigned n = 0) {
    EXPECT_EQ(run(name, how, in, out, n), 0) << simt::last_fault().text;
  }
};

inline constexpr simt::block_order orders[] = {simt::block_order::forward, simt::block_order::reversed,
                                               simt::block_order::shuffled};
inline constexpr simt::lane_schedule schedules[] = {simt::lane_schedule::to_barrier,
                                                    simt::lane_schedule::lock_step};

}  // namespace lens_test
