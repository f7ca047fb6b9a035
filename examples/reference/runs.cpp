// SPDX-License-Identifier: Apache-2.0
// runs.hpp: groups of a sorted table.
#include <cstdint>
#include <vector>

#include <warpfold/runs.hpp>
#include <warpfold/warpfold.hpp>

#include "expect.hpp"

namespace {

enum class colour : std::uint8_t { red, green };
static_assert(wf::run_key<int> && wf::run_key<colour> && !wf::run_key<float>);  // floats: give their bits

}  // namespace

int main() {
  const std::vector<int> keys{7, 7, 7, 9, 2, 2};
  const std::vector<double> values{1, 2, 3, 4, 5, 6};
  const wf::runs<int> groups = wf::find_runs(keys);
  expect(groups.size() == 3 && groups.keys == std::vector<int>{7, 9, 2} && groups.offsets == std::vector<std::int64_t>{0, 3, 4, 6});
  expect(groups.count(0) == 3 && wf::sum(values, wf::segments{groups.offsets}).values == std::vector<double>{6, 4, 11});
}
