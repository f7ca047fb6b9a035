// SPDX-License-Identifier: Apache-2.0
/// \file groups.hpp
/// The groups of cooperative_groups.h.
#pragma once

#include <simt/warp.hpp>

namespace cooperative_groups {
inline namespace SIMT_BUILD {

using ::simt::dim3;
namespace machine = ::simt::detail;
namespace lanes = ::simt::SIMT_BUILD::lanes;

namespace shape {
SIMT_INLINE unsigned threads_of_block() { return simt_block_extent(0) * simt_block_extent(1) * simt_block_extent(2); }
SIMT_INLINE unsigned rank_in_block() {
  return simt_thread_index(0) + simt_block_extent(0) * (simt_thread_index(1) + simt_block_extent(1) * simt_thread_index(2));
}
SIMT_INLINE unsigned long long blocks_of_grid() {
  return static_cast<unsigned long long>(simt_grid_extent(0)) * simt_grid_extent(1) * simt_grid_extent(2);
}
SIMT_INLINE unsigned long long block_in_grid() {
  return simt_block_index(0) +
         simt_grid_extent(0) * (simt_block_index(1) + static_cast<unsigned long long>(simt_grid_extent(1)) * simt_block_index(2));
}
}  // namespace shape

class thread_block {
 public:
  SIMT_INLINE static void sync() {
    machine::block_barrier(machine::vote::none, 0);
    SIMT_NOT_LAST();
  }
  SIMT_INLINE static unsigned thread_rank() { return shape::rank_in_block(); }
  SIMT_INLINE static unsigned size() { return shape::threads_of_block(); }
  SIMT_INLINE static unsigned num_threads() { return size(); }
  SIMT_INLINE static dim3 group_index() { return {simt_block_index(0), simt_block_index(1), simt_block_index(2)}; }
  SIMT_INLINE static dim3 thread_index() { return {simt_thread_index(0), simt_thread_index(1), simt_thread_index(2)}; }
  SIMT_INLINE static dim3 group_dim() { return {simt_block_extent(0), simt_block_extent(1), simt_block_extent(2)}; }
  SIMT_INLINE static dim3 dim_threads() { return group_dim(); }
};
SIMT_INLINE thread_block this_thread_block() { return {}; }

/// What tiles and coalesced threads share: lanes of one warp, by a mask. Derived: rank_of_lane, lane_of_rank.
template <class Derived>
class lane_group {
  friend class thread_group;
  SIMT_INLINE const Derived& self() const { return static_cast<const Derived&>(*this); }
  SIMT_INLINE unsigned mask_of_group() const { return self().mask(); }

 public:
  SIMT_INLINE void sync() const { lanes::meet(machine::collective::sync, self().mask(), 0); }
  template <lanes::portable T>
  SIMT_INLINE lanes::value_t<T> shfl(T value, int rank) const {
    return lanes::read(self().mask(), value, self().lane_of(static_cast<unsigned>(rank) % self().num_threads()));
  }
  template <lanes::portable T>
  SIMT_INLINE lanes::value_t<T> shfl_up(T value, unsigned delta) const {
    const unsigned rank = self().thread_rank();
    return lanes::read(self().mask(), value, self().lane_of(delta <= rank ? rank - delta : rank));
  }
  template <lanes::portable T>
  SIMT_INLINE lanes::value_t<T> shfl_down(T value, unsigned delta) const {
    const unsigned rank = self().thread_rank();
    return lanes::read(self().mask(), value, self().lane_of(delta < self().num_threads() - rank ? rank + delta : rank));
  }
  /// For tiles; the coalesced threads have none.
  template <lanes::portable T>
  SIMT_INLINE lanes::value_t<T> shfl_xor(T value, unsigned rank_mask) const {
    const unsigned rank = self().thread_rank(), other = rank ^ rank_mask;
    return lanes::read(self().mask(), value, self().lane_of(other < self().num_threads() ? other : rank));
  }
  SIMT_INLINE unsigned ballot(int predicate) const {
    return self().to_ranks(static_cast<unsigned>(lanes::meet(machine::collective::ballot, self().mask(), predicate != 0)));
  }
  SIMT_INLINE int any(int predicate) const { return ballot(predicate) != 0; }
  SIMT_INLINE int all(int predicate) const { return ballot(!predicate) == 0; }
  template <lanes::portable T>
  SIMT_INLINE unsigned match_any(T value) const {
    return self().to_ranks(::simt::__match_any_sync(self().mask(), value));
  }
  template <lanes::portable T>
  SIMT_INLINE unsigned match_all(T value, int& all_equal) const {
    return self().to_ranks(::simt::__match_all_sync(self().mask(), value, &all_equal));
  }
  SIMT_INLINE unsigned size() const { return self().num_threads(); }
};

/// Which of its parent's tiles a tile is.
template <unsigned Size, class Parent>
class place_in {
 public:
  SIMT_INLINE static unsigned meta_group_rank() { return Parent::thread_rank() / Size; }
  SIMT_INLINE static constexpr unsigned meta_group_size() { return (Parent::num_threads() + Size - 1) / Size; }
};
/// The place in a parent that the type does not name: as it was told.
template <unsigned Size>
class place_in<Size, void> {
  unsigned rank_, count_;

 public:
  SIMT_INLINE place_in(unsigned rank, unsigned count) : rank_(rank), count_(count) {}
  SIMT_INLINE unsigned meta_group_rank() const { return rank_; }
  SIMT_INLINE unsigned meta_group_size() const { return count_; }
};

template <unsigned Size, class Parent = void>
class thread_block_tile : public lane_group<thread_block_tile<Size, Parent>>, public place_in<Size, Parent> {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0, "tiles of 1, 2, 4, 8, 16 or 32 threads");
  friend class lane_group<thread_block_tile<Size, Parent>>;
  SIMT_INLINE static unsigned first() { return lanes::own() / Size * Size; }
  SIMT_INLINE static unsigned mask() {
    // The last tile of a block may lack threads.
    const unsigned left = shape::threads_of_block() - shape::rank_in_block() / Size * Size;
    const unsigned present = left < Size ? left : Size;
    return (present == 32 ? ~0u : (1u << present) - 1) << first();
  }
  SIMT_INLINE static unsigned lane_of(unsigned rank) { return first() + rank; }
  SIMT_INLINE static unsigned to_ranks(unsigned mask) { return mask >> first(); }

 public:
  thread_block_tile() = default;
  /// A tile of any parent is one whose type names none.
  template <class Other>
    requires(std::is_void_v<Parent> && !std::is_void_v<Other>)
  SIMT_INLINE thread_block_tile(const thread_block_tile<Size, Other>& tile)
      : place_in<Size, Parent>(tile.meta_group_rank(), tile.meta_group_size()) {}
  SIMT_INLINE static unsigned thread_rank() { return lanes::own() % Size; }
  SIMT_INLINE static constexpr unsigned num_threads() { return Size; }
  SIMT_INLINE static constexpr unsigned size() { return Size; }
};

template <unsigned Size>
SIMT_INLINE thread_block_tile<Size, thread_block> tiled_partition(const thread_block&) {
  return {};
}
template <unsigned Size, unsigned Outer, class Parent>
SIMT_INLINE thread_block_tile<Size, thread_block_tile<Outer, Parent>> tiled_partition(
    const thread_block_tile<Outer, Parent>&) {
  static_assert(Size <= Outer);
  return {};
}

/// The threads of a warp that run this line together.
class coalesced_group : public lane_group<coalesced_group> {
  friend class lane_group<coalesced_group>;
  friend coalesced_group tiled_partition(const coalesced_group&, unsigned);
  friend coalesced_group tiled_partition(const thread_block&, unsigned);
  unsigned mask_, meta_rank_, meta_size_;
  SIMT_INLINE unsigned mask() const { return mask_; }
  SIMT_INLINE unsigned lane_of(unsigned rank) const {
    unsigned rest = mask_;
    for (; rank > 0; --rank) rest &= rest - 1;
    return static_cast<unsigned>(__builtin_ctz(rest));
  }
  SIMT_INLINE unsigned to_ranks(unsigned lane_mask) const {
    unsigned ranks = 0, rank = 0;
    for (unsigned rest = mask_; rest != 0; rest &= rest - 1, ++rank)
      ranks |= (lane_mask >> __builtin_ctz(rest) & 1u) << rank;
    return ranks;
  }

 public:
  SIMT_INLINE explicit coalesced_group(unsigned mask, unsigned meta_rank = 0, unsigned meta_size = 1)
      : mask_(mask), meta_rank_(meta_rank), meta_size_(meta_size) {}
  SIMT_INLINE unsigned num_threads() const { return static_cast<unsigned>(__builtin_popcount(mask_)); }
  SIMT_INLINE unsigned size() const { return num_threads(); }
  SIMT_INLINE unsigned thread_rank() const {
    return static_cast<unsigned>(__builtin_popcount(mask_ & ((1u << lanes::own()) - 1)));
  }
  SIMT_INLINE unsigned meta_group_rank() const { return meta_rank_; }
  SIMT_INLINE unsigned meta_group_size() const { return meta_size_; }
};
SIMT_INLINE coalesced_group coalesced_threads() { return coalesced_group(::simt::__activemask()); }

/// Tiles are by rank. A `size` that is no power of two up to 32 is a fault, a trap.
SIMT_INLINE coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) {
  if (size == 0 || size > 32 || (size & (size - 1)) != 0) ::simt::__trap();
  const unsigned tile = parent.thread_rank() / size;
  unsigned mask = 0, rank = 0;
  for (unsigned rest = parent.mask_; rest != 0; rest &= rest - 1, ++rank)
    if (rank / size == tile) mask |= rest & -rest;
  return coalesced_group(mask, tile, (parent.num_threads() + size - 1) / size);
}
SIMT_INLINE coalesced_group tiled_partition(const thread_block&, unsigned size) {
  const unsigned rank = shape::rank_in_block(), threads = shape::threads_of_block(), left = threads - rank / 32 * 32;
  const coalesced_group warp(left < 32 ? (1u << left) - 1 : ~0u);
  return coalesced_group(tiled_partition(warp, size).mask_, rank / size, (threads + size - 1) / size);
}

/// A block, a tile or the coalesced threads, for functions that take whichever they are given.
class thread_group {
  unsigned mask_ = 0;  // a group within a warp; 0: the block

  friend coalesced_group tiled_partition(const thread_group&, unsigned);

 public:
  SIMT_INLINE thread_group(const thread_block&) {}
  template <class Derived>
  SIMT_INLINE thread_group(const lane_group<Derived>& group) : mask_(group.mask_of_group()) {}
  SIMT_INLINE void sync() const { mask_ == 0 ? thread_block::sync() : coalesced_group(mask_).sync(); }
  SIMT_INLINE unsigned thread_rank() const { return mask_ == 0 ? thread_block::thread_rank() : coalesced_group(mask_).thread_rank(); }
  SIMT_INLINE unsigned num_threads() const { return mask_ == 0 ? thread_block::num_threads() : coalesced_group(mask_).num_threads(); }
  SIMT_INLINE unsigned size() const { return num_threads(); }
};
SIMT_INLINE coalesced_group tiled_partition(const thread_group& parent, unsigned size) {
  return parent.mask_ == 0 ? tiled_partition(thread_block(), size) : tiled_partition(coalesced_group(parent.mask_), size);
}
SIMT_INLINE thread_block_tile<1, thread_block> this_thread() { return {}; }

class grid_group {
 public:
  SIMT_INLINE static bool is_valid() { return machine::is_cooperative(); }
  /// In a launch that is not cooperative it is a fault, a trap.
  SIMT_INLINE static void sync() {
    machine::grid_barrier();
    SIMT_NOT_LAST();
  }
  SIMT_INLINE static unsigned long long block_rank() { return shape::block_in_grid(); }
  SIMT_INLINE static unsigned long long num_blocks() { return shape::blocks_of_grid(); }
  SIMT_INLINE static unsigned long long thread_rank() {
    return shape::block_in_grid() * shape::threads_of_block() + shape::rank_in_block();
  }
  SIMT_INLINE static unsigned long long num_threads() { return shape::blocks_of_grid() * shape::threads_of_block(); }
  SIMT_INLINE static unsigned long long size() { return num_threads(); }
  SIMT_INLINE static dim3 dim_blocks() { return {simt_grid_extent(0), simt_grid_extent(1), simt_grid_extent(2)}; }
  SIMT_INLINE static dim3 group_dim() { return dim_blocks(); }
  SIMT_INLINE static dim3 block_index() { return {simt_block_index(0), simt_block_index(1), simt_block_index(2)}; }
};
SIMT_INLINE grid_group this_grid() { return {}; }

class cluster_group {
  SIMT_INLINE static unsigned index(unsigned axis) { return simt_block_index(axis) % machine::cluster_extent(axis); }

 public:
  /// barrier_wait() takes it.
  struct arrival_token {
    unsigned long long phase;
  };
  SIMT_INLINE static void sync() { barrier_wait(barrier_arrive()); }
  SIMT_INLINE static arrival_token barrier_arrive() { return {machine::cluster_arrive()}; }
  SIMT_INLINE static void barrier_wait(arrival_token token) {
    machine::cluster_wait(token.phase);
    SIMT_NOT_LAST();
  }
  SIMT_INLINE static dim3 dim_blocks() {
    return {machine::cluster_extent(0), machine::cluster_extent(1), machine::cluster_extent(2)};
  }
  SIMT_INLINE static unsigned num_blocks() {
    return machine::cluster_extent(0) * machine::cluster_extent(1) * machine::cluster_extent(2);
  }
  SIMT_INLINE static dim3 block_index() { return {index(0), index(1), index(2)}; }
  SIMT_INLINE static unsigned block_rank() {
    return index(0) + machine::cluster_extent(0) * (index(1) + machine::cluster_extent(1) * index(2));
  }
  SIMT_INLINE static unsigned thread_rank() { return block_rank() * shape::threads_of_block() + shape::rank_in_block(); }
  SIMT_INLINE static unsigned num_threads() { return num_blocks() * shape::threads_of_block(); }
  SIMT_INLINE static unsigned size() { return num_threads(); }
  /// The same variable in the shared memory of block `rank`.
  template <class T>
  SIMT_INLINE static T* map_shared_rank(T* address, unsigned rank) {
    void* there = machine::cluster_map(address, rank);
    SIMT_NOT_LAST();
    return static_cast<T*>(there);
  }
  /// The rank of the block whose shared memory this is in.
  SIMT_INLINE static unsigned query_shared_rank(const void* address) {
    const unsigned rank = machine::cluster_rank_of(address);
    SIMT_NOT_LAST();
    return rank;
  }
};
SIMT_INLINE cluster_group this_cluster() { return {}; }

template <class Group>
SIMT_INLINE void sync(const Group& group) {
  group.sync();
}
template <class Group>
SIMT_INLINE auto thread_rank(const Group& group) {
  return group.thread_rank();
}
template <class Group>
SIMT_INLINE auto group_size(const Group& group) {
  return group.size();
}

}  // inline namespace SIMT_BUILD
}  // namespace cooperative_groups
