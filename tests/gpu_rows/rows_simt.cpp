// SPDX-License-Identifier: Apache-2.0
#include "rows_machine.cuh"

#include <array>
#include <atomic>

#include <warpfold/detail/gpu/accumulate/rows_certified.cuh>
#include <warpfold/detail/gpu/accumulate/rows_words.cuh>
#include <warpfold/detail/gpu/kernels/rows_plan.cuh>

const rows_machine& simt_rows() {
  static const rows_machine m = machines::rows_machine_here();
  return m;
}

namespace machines::inline WF_BUILD {

namespace {

std::atomic<int> added_again = 0, added_by_many = 0;

/// An accumulator that tells how many rows no certificate accepted.
template <class Base>
struct counted : Base {
  template <wf::device::wanted Wanted = wf::device::wanted::states>
  __device__ void exactly(typename Base::room& shared, const wf::device::row_view<1>& v, std::uint64_t row, bool by_block, unsigned char* out) const {
    if ((by_block ? unsigned{threadIdx.x} : static_cast<unsigned>(wf::device::lane_index())) == 0) ++added_again;
    Base::template exactly<Wanted>(shared, v, row, by_block, out);
  }
};
/// Sums of f32.
struct counted_rows : counted<wf::device::certified_rows<float, wf::device::terms::sum>> {
  using base = wf::device::certified_rows<float, wf::device::terms::sum>;
  __device__ void answer_exactly(typename base::exact_room& shared, const wf::device::row_view<1>& v, std::uint64_t row, bool by_block,
                                 unsigned char* out) const {
    if (threadIdx.x == 0) ++added_by_many;
    base::answer_exactly(shared, v, row, by_block, out);
  }
};

/// Norms and moments of f32.
using counted_long_moments = counted<wf::device::quick_long_moments<float>>;
struct counted_moments : counted<wf::device::quick_moments<float>> {
  using longer = counted_long_moments;
  using streamed = counted_long_moments;
};
struct full_moments : wf::device::certified_rows<float, wf::device::terms::moments> {};

std::array<std::atomic<std::uint64_t>, wf::device::workspace::row_tickets * wf::device::ragged_warps> of_warp = {};

/// Sums of i32 that tell how many elements each warp added.
struct watched_rows : wf::device::whole_sum_rows<4> {
  using base = wf::device::whole_sum_rows<4>;
  __device__ void add(running& r, const wf::device::pack (&p)[1], std::uint64_t i) const {
    count(items);
    base::add(r, p, i);
  }
  __device__ void add_item(running& r, const wf::device::pack (&p)[1], std::uint64_t i) const {
    count(1);
    base::add_item(r, p, i);
  }

 private:
  static void count(std::uint64_t elements) {
    of_warp[blockIdx.x * std::size_t{wf::device::ragged_warps} + static_cast<std::size_t>(wf::device::warp_index())] += elements;
  }
};

}  // namespace

}  // namespace machines::inline WF_BUILD

namespace wf::device::inline WF_BUILD {

template <>
struct quick_of<machines::full_moments> {
  static constexpr bool there = true, sums = false;
  using type = machines::counted_moments;
  using by_items = type;
  static type of(const machines::full_moments& a) { return {{{a.q.what, a.q.correction}}}; }
  static type items_of(const machines::full_moments& a) { return of(a); }
  static machines::counted_long_moments longer_of(const machines::full_moments& a) { return {{{a.q.what, a.q.correction}}}; }
  static bool fits(const machines::full_moments&) { return true; }
};

}  // namespace wf::device::inline WF_BUILD

int simt_uncertain_moments(const wf::rows_request& r) {
  machines::added_again = 0;
  wf::device::workspace w;
  const machines::full_moments moments{{{r.what, r.options.rounding, r.options.correction}}};
  if (enqueue_rows(moments, r, w, nullptr) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) return -1;
  return machines::added_again;
}

int simt_uncertain_rows(const wf::rows_request& r) {
  machines::added_again = 0;
  machines::added_by_many = 0;
  wf::device::workspace w;
  const machines::counted_rows sums{{{{r.what, r.options.rounding, r.options.correction}}}};
  if (enqueue_rows(sums, r, w, nullptr) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) return -1;
  return machines::added_again + machines::added_by_many;
}

int simt_shared_uncertain_rows(const wf::rows_request& r) { return simt_uncertain_rows(r) < 0 ? -1 : machines::added_by_many.load(); }

std::vector<std::uint64_t> simt_elements_of_warps(const wf::rows_request& r) {
  for (auto& w : machines::of_warp) w = 0;
  wf::device::workspace w;
  const machines::watched_rows sums{wf::device::whole_sum_rows<4>::of(r)};
  if (enqueue_rows(sums, r, w, nullptr) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) return {};
  return {machines::of_warp.begin(), machines::of_warp.end()};
}
