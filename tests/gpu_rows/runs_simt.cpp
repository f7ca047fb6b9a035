// SPDX-License-Identifier: Apache-2.0
// Compiled for simt, plain and instrumented.
#include <warpfold/gpu.hpp>

#include <array>
#include <random>

#include "own_rows.hpp"
#include "shared_vector.hpp"

namespace {

struct city {
  std::int32_t x, y;
  bool operator==(const city&) const = default;
};

/// Keys that lie `stride` elements apart, from an address on that is aligned to a part of a key, with room for fewer runs than there are,
/// as many and more.
template <class K>
std::string runs_of(const wf::simulated_gpu& place, std::mt19937_64& g, std::int64_t n, std::int64_t stride) {
  const std::int64_t begin = stride < 0 ? -stride * std::max<std::int64_t>(n - 1, 0) : 0;
  const auto lead = static_cast<std::int64_t>(alignof(K) * (g() % 2 == 0 ? 0 : g() % 17)), lead_of_unique = static_cast<std::int64_t>(alignof(K) * (g() % 3));
  shared_vector<unsigned char> memory(static_cast<std::size_t>((n + 1) * std::abs(stride)) * sizeof(K) + static_cast<std::size_t>(lead), 0x5c);
  K* const x = reinterpret_cast<K*>(memory.data() + lead);
  const std::uint64_t change = 1 + g() % (g() % 3 == 0 ? 5000 : 40);  // how long runs are
  std::vector<K> plain;
  for (std::int64_t i = 0; i < n; ++i) {
    K k{};
    if (i != 0 && g() % change != 0) k = plain.back();
    else if (i != 0 || n % 2 == 0) reinterpret_cast<unsigned char*>(&k)[g() % sizeof(K)] = static_cast<unsigned char>(g());
    plain.push_back(k);
    x[begin + i * stride] = k;
  }
  std::vector<K> keys;
  std::vector<std::int64_t> offsets;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i != 0 && plain[static_cast<std::size_t>(i)] == plain[static_cast<std::size_t>(i - 1)]) continue;
    keys.push_back(plain[static_cast<std::size_t>(i)]);
    offsets.push_back(i);
  }
  const auto runs = static_cast<std::int64_t>(keys.size());
  offsets.push_back(n);
  const std::string name = std::to_string(n) + " keys of " + std::to_string(sizeof(K)) + " bytes, stride " + std::to_string(stride) + ", " + std::to_string(lead) +
                           " bytes behind an aligned address";
  if (const auto on_cpu = wf::find_runs(plain); on_cpu.keys != keys || on_cpu.offsets != offsets) return "the CPU's runs of " + name;
  const wf::view<K> in(x + begin, {n}, {stride});
  if (const auto waited = wf::find_runs(place, in); waited.keys != keys || waited.offsets != offsets || waited.size() != runs) return "runs of " + name;
  if (const auto copied = wf::find_runs(place, plain); copied.keys != keys || copied.offsets != offsets) return "runs of the host's " + name;
  for (const std::int64_t room : {std::int64_t{0}, runs / 2, runs, runs + 3, n}) {
    shared_vector<unsigned char> unique_memory((static_cast<std::size_t>(room) + 1) * sizeof(K) + static_cast<std::size_t>(lead_of_unique), 0x5c);
    K* const unique = reinterpret_cast<K*>(unique_memory.data() + lead_of_unique);
    shared_vector<std::int64_t> to(static_cast<std::size_t>(room) + 2, -7);
    shared_vector<std::int64_t> found(1, -7);
    const K untouched = unique[room];
    wf::find_runs(place, in, unique, to.data(), room, found.data());
    if (found[0] != runs || to.back() != -7 || !(unique[room] == untouched)) return "how many runs, or what is behind them: " + name + ", room " + std::to_string(room);
    for (std::int64_t k = 0; k <= room; ++k) {
      const auto at = static_cast<std::size_t>(k);
      if (to[at] != (k <= runs ? offsets[at] : n) || (k < room && k < runs && !(unique[k] == keys[at])))
        return "run " + std::to_string(k) + " of " + name + ", room " + std::to_string(room);
    }
  }
  return "";
}

}  // namespace

std::string runs_difference(std::uint64_t seed, std::int64_t keys) {
  const wf::simulated_gpu place;
  std::mt19937_64 g(seed);
  const auto n = static_cast<std::int64_t>(g() % static_cast<std::uint64_t>(keys + 1));
  static constexpr std::int64_t strides[] = {1, 1, 3, -2};
  const std::int64_t stride = strides[g() % std::size(strides)];
  switch (seed % 6) {
    case 0: return runs_of<std::uint8_t>(place, g, n, stride);
    case 1: return runs_of<std::int16_t>(place, g, n, stride);
    case 2: return runs_of<std::uint32_t>(place, g, n, stride);
    case 3: return runs_of<std::int64_t>(place, g, n, stride);
    case 4: return runs_of<city>(place, g, n, stride);
    default: return runs_of<std::array<std::uint32_t, 4>>(place, g, n, stride);
  }
}
