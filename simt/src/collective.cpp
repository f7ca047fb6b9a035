// SPDX-License-Identifier: Apache-2.0
// Shuffles, votes, matches, reductions and __syncwarp: the last lane to come computes for all.
#include "schedule.hpp"

#include <string>

namespace simt::detail {

namespace {

using lanes = std::uint32_t;

template <class Function>
void each_lane(lanes mask, Function function) {
  for (; mask != 0; mask &= mask - 1) function(static_cast<std::size_t>(std::countr_zero(mask)));
}

template <class T, class Combine>
void reduce(warp& w, lanes mask, Combine combine) {
  T total = static_cast<T>(w.value[static_cast<std::size_t>(std::countr_zero(mask))]);
  each_lane(mask & (mask - 1), [&](std::size_t i) { total = combine(total, static_cast<T>(w.value[i])); });
  each_lane(mask, [&](std::size_t i) { w.result[i] = static_cast<std::uint32_t>(total); });
}

void compute(warp& w, collective what, lanes mask) {
  using s32 = std::int32_t;
  using u32 = std::uint32_t;
  const auto least = [](auto a, auto b) { return b < a ? b : a; };
  const auto most = [](auto a, auto b) { return a < b ? b : a; };
  switch (what) {
    case collective::sync: return;
    case collective::gather:
      // A lane that does not take part has nothing to give: the reader keeps its own.
      each_lane(mask, [&](std::size_t i) {
        const std::size_t from = w.source[i];
        w.result[i] = w.value[mask >> from & 1u ? from : i];
      });
      return;
    case collective::ballot: {
      lanes held = 0;
      each_lane(mask, [&](std::size_t i) { held |= lanes{w.value[i] != 0} << i; });
      each_lane(mask, [&](std::size_t i) { w.result[i] = held; });
      return;
    }
    case collective::match_any:
      for (lanes rest = mask; rest != 0;) {
        const std::uint64_t value = w.value[static_cast<std::size_t>(std::countr_zero(rest))];
        lanes equal = 0;
        each_lane(rest, [&](std::size_t i) { equal |= lanes{w.value[i] == value} << i; });
        each_lane(equal, [&](std::size_t i) { w.result[i] = equal; });
        rest &= ~equal;
      }
      return;
    case collective::match_all: {
      const std::uint64_t value = w.value[static_cast<std::size_t>(std::countr_zero(mask))];
      bool all = true;
      each_lane(mask, [&](std::size_t i) { all = all && w.value[i] == value; });
      each_lane(mask, [&](std::size_t i) { w.result[i] = all ? mask : 0; });
      return;
    }
    case collective::add_s32:
    case collective::add_u32: return reduce<u32>(w, mask, [](u32 a, u32 b) { return a + b; });
    case collective::min_s32: return reduce<s32>(w, mask, least);
    case collective::min_u32: return reduce<u32>(w, mask, least);
    case collective::max_s32: return reduce<s32>(w, mask, most);
    case collective::max_u32: return reduce<u32>(w, mask, most);
    case collective::and_u32: return reduce<u32>(w, mask, [](u32 a, u32 b) { return a & b; });
    case collective::or_u32: return reduce<u32>(w, mask, [](u32 a, u32 b) { return a | b; });
    case collective::xor_u32: return reduce<u32>(w, mask, [](u32 a, u32 b) { return a ^ b; });
  }
}

simt::meeting kind_of(collective what) {
  switch (what) {
    case collective::sync: return simt::meeting::warp_sync;
    case collective::gather: return simt::meeting::shuffle;
    case collective::ballot: return simt::meeting::vote;
    case collective::match_any:
    case collective::match_all: return simt::meeting::match;
    default: return simt::meeting::warp_reduction;
  }
}

/// The operation of a reduction.
simt::update_kind operation_of(collective what) {
  using kind = simt::update_kind;
  switch (what) {
    case collective::add_s32:
    case collective::add_u32: return kind::add;
    case collective::min_s32:
    case collective::min_u32: return kind::min;
    case collective::max_s32:
    case collective::max_u32: return kind::max;
    case collective::and_u32: return kind::bit_and;
    case collective::or_u32: return kind::bit_or;
    case collective::xor_u32: return kind::bit_xor;
    default: return kind::unknown;
  }
}

std::string hex(lanes mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

}  // namespace

std::uint64_t warp_collective(collective what, std::uint32_t mask, std::uint64_t value, std::uint32_t source) {
  cuda_thread& t = *this_thread;
  block& b = *t.in;
  const std::uint32_t index = t.linear / 32, lane = t.lane();
  warp& w = b.warps[index];
  const std::uintptr_t site = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1;
  if ((mask >> lane & 1u) == 0)
    fail_with(fault::bad_collective, 0, site, "the mask " + hex(mask) + " lacks its caller, lane " + std::to_string(lane));
  if ((mask & w.ended) != 0)
    fail_with(fault::bad_collective, 0, site,
              "the mask " + hex(mask) + " names lanes that have ended, " + hex(mask & w.ended));
  mask &= w.exists;  // a last warp that is not full: its missing lanes never take part
  to_observer(t, [&](observer& o) { o.arrive(b.linear, t.linear, {kind_of(what), mask, source, site, value}); });
  w.value[lane] = value;
  w.source[lane] = source;
  std::uint32_t at = 0;
  while (at < w.meetings && w.meeting_of[at].mask != mask) ++at;
  if (at == w.meetings) w.meeting_of[w.meetings++] = {mask, 0, what};
  meeting& here = w.meeting_of[at];
  if (here.what != what)
    fail_with(fault::bad_collective, 0, site,
              "lanes of the mask " + hex(mask) + " are in different collectives");
  here.arrived |= 1u << lane;
  if (here.arrived != mask) {
    t.mask = mask;
    leave_in(t, waits::collective, site);
    return w.result[lane];
  }
  here = w.meeting_of[--w.meetings];
  compute(w, what, mask);
  auto& count = what == collective::sync     ? b.counted.warp_syncs
                : what == collective::gather ? b.counted.shuffles
                                             : b.counted.collectives;
  ++count;
  make_ready(b, index, mask & ~(1u << lane));
  bump(b.events);  // but no progress: lanes that wait for another block may vote at each look
  to_observer(t, [&](observer& o) {
    o.warp_sync(b.linear, index, mask);
    if (kind_of(what) == simt::meeting::warp_reduction) o.reduced(b.linear, index, mask, operation_of(what), w.result[lane]);
  });
  return w.result[lane];
}

}  // namespace simt::detail
