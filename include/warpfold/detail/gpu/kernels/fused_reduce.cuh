// SPDX-License-Identifier: Apache-2.0
/// \file fused_reduce.cuh
/// Several reductions of the same elements in one pass: exact sums, which answer all that is asked of Σx, Σ|x| and Σx² (mean, var, norm2 …),
/// and beside them one fold of everything else. Sums of floats have certificates (fused_certified.cuh), those of integers are digits of a row set.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <tuple>
#include <type_traits>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/fused_folds.cuh>
#include <warpfold/detail/gpu/accumulate/row_sets.cuh>
#include <warpfold/detail/gpu/epilogue/fused_answer.cuh>
#include <warpfold/detail/gpu/kernels/exact_reduce.cuh>
#include <warpfold/detail/gpu/kernels/fused_certified.cuh>
#include <warpfold/detail/gpu/kernels/reduce.cuh>

namespace wf::device::inline WF_BUILD {

/// The operation of a part of a fused reduction; of a user's reduction op::count, which is not asked of row sets.
template <class F>
inline constexpr op operation_of_part = [] {
  if constexpr (wf::detail::names_operation<F>) {
    static_assert(!F::is_checked, "reductions that are checked for overflow run on the CPU alone");
    static_assert(inputs_of(F::operation) == 1, "dot has two inputs: it cannot be fused");
    return F::operation;
  } else {
    return op::count;
  }
}();

/// Which exact sums answer all that is asked. norm1: Σ|x| too, beside other sums.
struct row_plan {
  bool any, norm1;
  terms what;
};
template <class T>
constexpr row_plan plan_rows(std::initializer_list<op> all) {
  constexpr bool whole = integer<T>;
  bool sums = false, squares = false, spread = false, norm1 = false;
  for (const op o : all) {
    sums = sums || o == op::mean || (o == op::sum && !whole);
    squares = squares || o == op::norm2 || (o == op::sum_of_squares && !whole);
    spread = spread || is_spread(o);
    norm1 = norm1 || (o == op::norm1 && floating<T>);
  }
  if (!sums && !squares && !spread) return {norm1, false, terms::sum};
  if (spread || (squares && (sums || whole))) return {true, norm1, terms::moments};
  return {true, norm1, squares ? terms::squares : terms::sum};
}
/// Whether the plan's sums answer an operation. They also answer sums of integers modulo 2^64 where they are there anyway.
template <class T>
constexpr bool from_rows(op o, const row_plan& p) {
  if (!p.any) return false;
  if (o == op::norm1) return floating<T>;
  if (o == op::sum_of_squares && integer<T>) return p.what == terms::moments;
  return o == op::sum || o == op::mean || o == op::sum_of_squares || o == op::norm2 || is_spread(o);
}

/// Gives a fold the elements that a row set gets. T is the element type as the fold knows it.
template <class Fold, class T>
struct fold_beside {
  const Fold& fold;
  typename Fold::running& s;
  __device__ __forceinline__ void add(const pack (&p)[1], std::uint64_t v) const { fold.add(s, p, v); }
  template <class X>
  __device__ __forceinline__ void add_item(std::uint64_t i, const X& x) const {
    fold.add_item(s, i, __builtin_bit_cast(T, x));
  }
};

/// As feed(), for a fold that must be given the elements in their order: see reduce_in_order_kernel.
template <plain_row_set Rows, class Fold, class T>
__device__ __forceinline__ typename Fold::state feed_in_order(Rows& rows, const arrays<1>& a, const exact_question& q,
                                                              const Fold& fold,
                                                              const unsigned char* table) {
  using E = kernel_element<T>;
  constexpr int packs_a_lane = 4, items = 16 / Rows::item_size, each = packs_a_lane * items;
  static_assert(Rows::loads == packs_a_lane);
  const std::uint64_t warps = std::uint64_t{gridDim.x} * blockDim.x / 32;
  const std::uint64_t warp = (blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x) / 32;
  const std::uint64_t tiles = (a.n + 32 * each - 1) / (32 * each);
  const std::uint64_t end = tiles * (warp + 1) / warps;
  const loader<cache::keep> load(1);
  auto s = fold.identity();
  rows.start(q.what);
  std::uint64_t tile = tiles * warp / warps;
  do {  // once at least: all threads of the block start together
    const bool there = tile < end;
    const std::uint64_t first = (tile * 32 + lane_index()) * each, v = first / items;
    pack p[packs_a_lane][1];
    int count = 0;
    if (there && v + packs_a_lane <= a.packs) {
#pragma unroll
      for (int u = 0; u < packs_a_lane; ++u) p[u][0] = load_pack_of<Rows::item_size>(a, 0, v + u, load);
      count = packs_a_lane;
    }
    auto running = start_fold(fold, table);
    if (count != 0) {
#pragma unroll
      for (int u = 0; u < packs_a_lane; ++u) fold.add(running, p[u], v + u);
    }
    if (count != 0) {
#pragma unroll
      for (int u = 0; u < packs_a_lane; ++u) rows.add(p[u]);
      rows.after_batch();
    }
    const bool alone = there && count == 0;
    if (__any_sync(all_lanes, alone)) {
#pragma unroll 1
      for (int k = 0; k < each; ++k) {
        const std::uint64_t i = first + k;
        const bool mine = alone && i < a.n;
        const E x = mine ? load_item<E>(a.x[0] + static_cast<std::int64_t>(i) * a.stride[0]) : E{};
        if (mine) fold.add_item(running, i, __builtin_bit_cast(T, x));
        if (mine) {
          rows.add_item(x);
          rows.after_batch();
        }
      }
    }
    if (there) s = fold.combine(s, warp_reduce(fold, fold.total(running, a)));
  } while (++tile < end);
  rows.finish();
  return lane_index() == 0 ? s : fold.identity();
}

/// Dynamic shared memory of a block: that of the row set, whose place one state per warp takes later; and behind it what the
/// fold keeps there.
template <plain_row_set Rows, class Fold, int Threads>
inline constexpr std::size_t fused_room = [] {
  std::size_t states = 0;
  if constexpr (!std::is_same_v<Fold, no_fold>) states = Threads / 32 * sizeof(typename Fold::state);
  return ((states > Rows::shared_bytes ? states : Rows::shared_bytes) + 15) / 16 * 16;
}();
template <plain_row_set Rows, class Fold, int Threads>
inline constexpr std::size_t fused_dynamic_bytes = fused_room<Rows, Fold, Threads> + fold_bytes<Fold>;
template <plain_row_set Rows, class Fold, int Threads>
inline constexpr std::size_t fused_shared_bytes = fused_dynamic_bytes<Rows, Fold, Threads> + sizeof(rows_block<Rows, Threads>);

/// T is the element type; Out the type of one number of an exact answer.
template <plain_row_set Rows, class Fold, class T, class Out, int Threads, int MinBlocks, int Count>
__global__ void __launch_bounds__(Threads, resident_blocks(Threads, MinBlocks))
    fused_kernel(Fold fold, arrays<1> a, fused_question<Count> q, std::uint64_t* tallies, std::uint64_t* boxes) {
  unsigned char* const table = wf_dynamic_shared + fused_room<Rows, Fold, Threads>;
  fill_shared(fold, table);
  if constexpr (keeps_shared<Fold>) __syncthreads();
  await_stream();
  __shared__ rows_block<Rows, Threads> block;
  Rows rows{};
  if constexpr (std::is_same_v<Fold, no_fold>) {
    feed<Rows, nothing_beside, kernel_element<T>>(rows, a, q.of_rows, {});
    sum_rows_of_block(rows, block);
    if (!gather_rows(block, tallies)) return;
  } else {
    typename Fold::state s = fold.identity();
    if constexpr (keeps_order<Fold>) {
      s = feed_in_order<Rows, Fold, T>(rows, a, q.of_rows, fold, table);
    } else {
      auto running = start_fold(fold, table);
      feed<Rows, fold_beside<Fold, T>, kernel_element<T>>(rows, a, q.of_rows, {fold, running});
      s = fold.total(running, a);
    }
    sum_rows_of_block(rows, block);
    s = device::block_reduce(fold, s, wf_dynamic_shared);  // the row set's shared memory is no longer needed
    const bool last = gather_rows(block, tallies);
    if (grid_reduce(fold, s, wf_dynamic_shared, boxes)) fold.write(s, a.n, nullptr);
    if (!last) return;
  }
  if (warp_index() == 0) answers_of_rows<Rows, T, Out>(block.digits, block.kinds, a.n, q);
}

/// Threads of a block that adds integers.
inline constexpr int fused_integer_threads = 256;

/// The parts of a fused reduction, and where the answer of each goes.
template <class T, class... F>
struct fusion {
  static constexpr row_plan plan = plan_rows<T>({operation_of_part<F>...});
  /// Σ|x| has a question of its own where it is beside other sums.
  static constexpr bool apart(op o) { return o == op::norm1 && plan.norm1; }
  static constexpr int numbers_of_op(op o) {
    constexpr int parts = complex_number<T> ? 2 : 1;
    if (!from_rows<T>(o, plan)) return 0;
    return o == op::mean_var ? parts + 1 : o == op::sum || o == op::mean ? parts : 1;
  }
  static constexpr int norms = (0 + ... + (apart(operation_of_part<F>) ? 1 : 0)), numbers = (0 + ... + numbers_of_op(operation_of_part<F>)) - norms;
  using number = std::conditional_t<integer<T>, double, typename kernel_element_of<T>::number>;

  const std::tuple<F...>& parts;
  const std::array<void*, sizeof...(F)>& out;

  auto fold() const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::apply(
          [](const auto&... each) {
            if constexpr (sizeof...(each) == 0) return no_fold{};
            else return pairs_of<T>(each...);
          },
          std::tuple_cat(fold_of<I>()...));
    }(std::index_sequence_for<F...>());
  }

  /// The questions about the digits of the sums, or about those of Σ|x| where they are apart.
  template <bool Apart = false>
  fused_question<(Apart ? norms : numbers)> question(const options& told) const {
    fused_question<(Apart ? norms : numbers)> q{};
    // |x| in the place of x where nothing else is asked for.
    const bool norm1 = Apart || (plan.what == terms::sum && !plan.norm1 && ((operation_of_part<F> == op::norm1 && floating<T>) || ...));
    q.of_rows = {norm1 ? op::norm1 : op::sum, told.rounding, told.correction};
    int at = 0;
    const auto ask = [&](op o, int count, void* to) {
      if (apart(o) != Apart) return;
      for (int k = 0; k < count; ++k, ++at) {
        q.what[at] = o == op::mean_var ? k + 1 < count ? op::mean : op::var : o;
        q.part[at] = static_cast<std::int8_t>(o == op::mean_var && k + 1 == count ? 0 : k);
        q.to[at] = static_cast<number*>(to) + k;
        q.spread = q.spread || is_spread(o);
        q.divides = q.divides || is_spread(o) || o == op::mean;
      }
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (ask(operation_of_part<F>, numbers_of_op(operation_of_part<F>), out[I]), ...);
    }(std::index_sequence_for<F...>());
    return q;
  }
  /// The same of certificates: whole operations.
  template <bool Apart = false>
  certified_asked<(Apart ? norms : numbers)> certificate(const options& told) const {
    if constexpr (Apart && norms == 0) {
      return {};
    } else {
      certified_asked<(Apart ? norms : numbers)> q{};
      q.of_rows = question<Apart>(told);
      for (op& o : q.ops) o = op::count;
      int at = 0;
      const auto ask = [&](op o, int count, void* to) {
        if (count == 0 || apart(o) != Apart) return;
        q.ops[at] = o;
        q.to[at++] = to;
      };
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (ask(operation_of_part<F>, numbers_of_op(operation_of_part<F>), out[I]), ...);
      }(std::index_sequence_for<F...>());
      return q;
    }
  }

 private:
  template <std::size_t I>
  using part = std::tuple_element_t<I, std::tuple<F...>>;
  template <std::size_t I>
  static constexpr bool is_fold = !wf::detail::names_operation<part<I>> || !from_rows<T>(operation_of_part<part<I>>, plan);

  /// What part I gives the fold: nothing, if the sums or an earlier part's fold answer it.
  template <std::size_t I>
  auto fold_of() const {
    if constexpr (!is_fold<I>) {
      return std::tuple<>();
    } else if constexpr (!wf::detail::names_operation<part<I>>) {
      return std::tuple(placed_fold<plain_fold<part<I>, T>>{{std::get<I>(parts)}, {out[I]}, {}});
    } else {
      constexpr op what = operation_of_part<part<I>>;
      static_assert(takes<what, T>, "a fused reduction does not take this element type: see docs/reductions.md");
      using fold = decltype(fold_of_operation<what, T>());
      if constexpr (!has_many_answers<fold>) {
        return std::tuple(placed_fold<fold>{fold_of_operation<what, T>(), {out[I]}, {what}});
      } else if constexpr (count_same<fold, I>() != 0) {
        return std::tuple<>();
      } else {
        placed_fold<fold, count_same<fold, sizeof...(F)>()> all{fold_of_operation<what, T>(), {}, {}};
        [&]<std::size_t... K>(std::index_sequence<K...>) {
          const auto place = [&](bool same, int at, void* to, op o) {
            if (!same) return;
            all.out[at] = to;
            all.what[at] = o;
          };
          (place(is_same_fold<fold, K>(), count_same<fold, K>(), out[K], operation_of_part<part<K>>), ...);
        }(std::index_sequence_for<F...>());
        return std::tuple(all);
      }
    }
  }
  template <class Fold, std::size_t K>
  static constexpr bool is_same_fold() {
    if constexpr (!is_fold<K> || !wf::detail::names_operation<part<K>>) return false;
    else return std::is_same_v<Fold, decltype(fold_of_operation<operation_of_part<part<K>>, T>())>;
  }
  /// The same among the first `End` parts.
  template <class Fold, std::size_t End>
  static constexpr int count_same() {
    return []<std::size_t... K>(std::index_sequence<K...>) {
      return (0 + ... + (is_same_fold<Fold, K>() ? 1 : 0));
    }(std::make_index_sequence<End>());
  }
};

/// Enqueues the kernels that answer all parts; for reductions of the user alone, that of reduce.cuh.
template <class T, class... F>
cudaError_t fused_reduce(const std::tuple<F...>& parts, const std::array<void*, sizeof...(F)>& out, const options& told,
                         const void* x, std::int64_t stride, std::uint64_t n, workspace& scratch, cudaStream_t stream) {
  using all = fusion<T, F...>;
  const all asked{parts, out};
  const auto fold = asked.fold();
  using fold_type = std::remove_cv_t<decltype(fold)>;
  if constexpr (!all::plan.any) {
    return reduce_with<fold_type, T>(fold, &x, &stride, n, nullptr, scratch, stream);
  } else if constexpr (!integer<T>) {
    return fused_by_certificate<all::plan.what, T, typename all::number, kernel_element<T>>(
        fold, as_they_are(), asked.certificate(told), asked.template certificate<true>(told), &x, &stride, n, scratch, stream);
  } else {
    constexpr int threads = fused_integer_threads;
    cudaError_t e = scratch.prepare(stream);
    if (e != cudaSuccess) return e;
    arrays<1> a;
    if (!make_arrays<T>(a, &x, &stride, n, scratch.l2_bytes())) return cudaErrorMisalignedAddress;
    using rows = row_set<T, all::plan.what, threads>;
    constexpr int resident = exact_resident<rows, threads>;
    if (scratch.block_shared_bytes() < fused_shared_bytes<rows, fold_type, threads>) return cudaErrorInvalidValue;
    std::uint32_t blocks = at_most(exact_workers<threads>(a, resident, scratch), 4095);
    if constexpr (!std::is_same_v<fold_type, no_fold>) {
      const auto boxes = static_cast<std::uint32_t>(workspace::mailbox_words / state_boxes<typename fold_type::state>::words);
      blocks = boxes == 0 ? 1 : at_most(blocks, boxes);
    }
    return launch(fused_kernel<rows, fold_type, T, typename all::number, threads, resident, all::numbers>,
                  {blocks, threads, fused_dynamic_bytes<rows, fold_type, threads>, stream, scratch.overlaps()}, fold, a, asked.question(told), scratch.tally(),
                  scratch.mailbox());
  }
}

}  // namespace wf::device::inline WF_BUILD
