// SPDX-License-Identifier: Apache-2.0
// The named causes of differences between simt and hardware. Each was found in the GPU's machine code, and
// a rule is as narrow as what was seen, so that a difference which nobody has looked at stays without one.
#include "causes.hpp"

namespace lens::profile {
namespace {

constexpr cause predication{
    "predication",
    "nvcc turns short branches into predicated instructions: lanes do not part, and no branch is counted."};
constexpr cause compare_and_swap{
    "compare-and-swap",
    "shared memory has no atomic addition of floats: nvcc writes a loop of a load and a compare-and-swap, "
    "which runs until every lane had its turn. simt counts one atomic."};
constexpr cause grid_barrier{
    "grid barrier",
    "grid.sync() is an atomic of each block and loads that look whether all have come, on a word of global "
    "memory. simt's barrier is no access."};
constexpr cause polling{
    "polling",
    "the last block looks into the others' messages until all are there, and erases them: how often, and "
    "how many at once, is a matter of timing."};
constexpr cause fused_accesses{
    "fused accesses",
    "neighbouring words that a thread loads or stores one after the other become one access of 8 or 16 "
    "bytes (LDS.128, STS.128)."};
constexpr cause fused_atomics{
    "fused atomics",
    "both sides of a branch do the same atomic at different addresses: nvcc makes one of the two, for all "
    "lanes at once."};

enum class direction : unsigned char { fewer, more, either };  // on the GPU

struct rule {
  std::string_view rung;     ///< its name without its variant; empty: any
  std::string_view dtype;    ///< empty: any
  std::string_view counter;  ///< its beginning
  direction which;
  const cause* why;
};

constexpr rule rules[] = {
    {"", "", "divergent", direction::fewer, &predication},
    {"shared_atomic", "f32", "divergent", direction::more, &compare_and_swap},
    {"shared_atomic", "f64", "divergent", direction::more, &compare_and_swap},
    {"shared_atomic", "f16", "divergent", direction::more, &compare_and_swap},  // adds in f32
    {"shared_atomic", "f32", "shared_", direction::more, &compare_and_swap},
    {"shared_atomic", "f64", "shared_", direction::more, &compare_and_swap},
    {"shared_atomic", "f16", "shared_", direction::more, &compare_and_swap},
    {"grid_sync", "", "global_load", direction::more, &grid_barrier},
    {"grid_sync", "", "global_atomic", direction::more, &grid_barrier},
    {"record", "", "global_", direction::either, &polling},
    {"record", "", "shared_load", direction::fewer, &fused_accesses},
    {"exact", "", "global_load", direction::either, &polling},
    {"exact", "", "shared_atomic.requests", direction::more, &polling},  // between two looks: whether another warp was first
    {"exact", "", "global_atomic", direction::fewer, &fused_atomics},
};

}  // namespace

const cause* cause_of(const std::string& rung, const std::string& dtype, std::string_view counter,
                      double simt, double gpu) {
  const std::string_view name = std::string_view(rung).substr(0, rung.find('/'));
  const direction seen = gpu < simt ? direction::fewer : direction::more;
  for (const rule& r : rules)
    if ((r.rung.empty() || r.rung == name) && (r.dtype.empty() || r.dtype == dtype) &&
        counter.starts_with(r.counter) && (r.which == direction::either || r.which == seen))
      return r.why;
  return nullptr;
}

}  // namespace lens::profile
