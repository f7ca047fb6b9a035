// SPDX-License-Identifier: Apache-2.0
#include "prove.hpp"

#include <atomic>
#include <vector>

#include "traversal.hpp"

namespace wf::cpu {

namespace {

evidence gather_all(const erased& r, const void* const* x, std::int64_t n, const context& c, bool again, int scale) {
  std::size_t bytes = 0;
  for (int k = 0; k < r.inputs; ++k) bytes += r.element_sizes[k];
  // What is proved does not depend on chunks, so they are as large as leaves enough of them: each begins by looking for memory in four places.
  constexpr std::int64_t enough = 128;
  std::int64_t chunk = chunk_size(n, bytes);
  while (chunk * static_cast<std::int64_t>(bytes) < 8 * good_chunk && n / chunk >= 2 * enough) chunk *= 2;
  const std::int64_t chunks = (n + chunk - 1) / chunk;
  evidence all;
  all.scale = scale;
  all.first = true;
  if (chunks <= 1) {
    r.proves->gather(x, n, again, all);
    return all;
  }
  std::vector<evidence> found(static_cast<std::size_t>(chunks));
  std::atomic<bool> stop{false};
  parallel(c, chunks, [&](std::int64_t k) {
    if (stop.load(std::memory_order_relaxed)) return;
    const void* at[max_inputs] = {};
    for (int i = 0; i < r.inputs; ++i) at[i] = static_cast<const std::byte*>(x[i]) + k * chunk * static_cast<std::int64_t>(r.element_sizes[i]);
    evidence& mine = found[static_cast<std::size_t>(k)];
    mine.scale = scale;
    mine.first = k == 0;
    r.proves->gather(at, std::min(chunk, n - k * chunk), again, mine);
    if (mine.verdict != evidence::sums) stop = true;
  });
  for (std::int64_t step = 1; step < chunks; step *= 2)
    for (std::int64_t k = 0; k + step < chunks; k += 2 * step)
      join(found[static_cast<std::size_t>(k)], found[static_cast<std::size_t>(k + step)]);
  return found[0];
}

}  // namespace

bool prove(const erased& r, const void* self, const void* const* x, std::int64_t n, const context& c, void* out) {
  const ieee_environment environment;
  evidence all;
  bool again = false;
  do {
    all = gather_all(r, x, n, c, again, all.scale);
    if (r.proves->conclude(self, all, n, out, again)) return true;
  } while (again);
  return false;
}

}  // namespace wf::cpu
