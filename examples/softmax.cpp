// SPDX-License-Identifier: Apache-2.0
// The softmax of each row of a matrix, exp(x) / Σexp(x), without overflow: its logarithm is x - logsumexp(row). Then the
// cross-entropy of the rows' labels: a function before a reduction, so there is no array of terms.
//
//     c++ -std=c++20 softmax.cpp $(pkg-config --cflags --libs warpfold)
#include <cmath>
#include <cstdio>
#include <vector>

#include <warpfold/warpfold.hpp>

int main() {
  constexpr std::int64_t rows = 300, columns = 40;
  std::vector<double> logits(rows * columns);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<double>(i * 37 % 1000) + 500;  // exp would overflow
  const wf::view<double> matrix(logits.data(), {rows, columns});
  const wf::array<double> scale = wf::logsumexp(matrix, wf::axis{1});

  std::vector<double> softmax(logits.size());
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto i = static_cast<std::size_t>(r * columns + c);
      softmax[i] = std::exp(logits[i] - scale[r]);
    }
  const wf::array<double> sums = wf::sum(wf::view<double>(softmax.data(), {rows, columns}), wf::axis{1});

  // Row r is of class r mod columns.
  std::vector<double> likelihood(rows);
  for (std::int64_t r = 0; r < rows; ++r) likelihood[static_cast<std::size_t>(r)] = logits[static_cast<std::size_t>(r * columns + r % columns)];
  const double entropy = wf::reduce(likelihood, scale.values, wf::transform([](double x, double all) { return all - x; }), wf::mean);
  const double worst = wf::reduce(sums.values, wf::transform([](double s) { return std::abs(s - 1); }), wf::max);
  std::printf("cross-entropy %.6f; the rows sum to 1 within %.1e\n", entropy, worst);
  // An exponent of 1500 has an error of 1.2e-13 by its rounding, and so has its exp, relatively.
  return worst < 1e-12 && entropy > 0 ? 0 : 1;
}
