// SPDX-License-Identifier: Apache-2.0
// Domains, merges and epilogues are what their concepts say, each of the library's; and what lacks a part is not. Compiling it is the test.
#include <warpfold/detail/gpu/accumulate/row_sets.cuh>
#include <warpfold/detail/gpu/domain/domain.cuh>
#include <warpfold/detail/gpu/domain/rows_view.cuh>
#include <warpfold/detail/gpu/epilogue/sum_state.cuh>
#include <warpfold/detail/gpu/merge/exact_message.cuh>
#include <warpfold/detail/gpu/merge/merge.cuh>
#include <warpfold/detail/gpu/merge/rows_message.cuh>
#include <warpfold/device/levels.cuh>

namespace wf::device::inline WF_BUILD {

namespace {

// ---- Domains.

template <class T>
constexpr bool are_domains = pack_domain<by_loads<128, walk<4>, true>, T> && pack_domain<by_loads<64, walk<2, true, cache::share>, false>, T> &&
                             pack_domain<side_by_side<256, 4>, T> && pack_domain<by_copies<512, 4, 3, true>, T> && pack_domain<by_copies<256, 2, 2, false>, T>;
static_assert(are_domains<float> && are_domains<double> && are_domains<__half> && are_domains<__nv_bfloat16> && are_domains<int>);
static_assert(is_built<by_loads<128, walk<4>, true>> && is_built<by_copies<512, 4, 3, true>> == has_bulk_copies);
static_assert(item_domain<in_turn<4, 4, true>, 1> && item_domain<in_turn<2, 8, false>, 2>);
static_assert(row_domain<row_view<1>, 1> && row_domain<row_view<2>, 2>);

struct another : by_loads<128, walk<4>, true> {};
static_assert(pack_domain<another, float>);
struct of_no_batch : another {  // tells nobody where a batch ends
  template <class T, class Start, class Add>
  static void walk(const array_part<T>&, unsigned char*, Start, Add);
};
struct of_elements : another {  // adds numbers, and no packs
  template <class T, class Start, class After>
  static void walk(const array_part<T>&, unsigned char*, Start, void (*)(T), After);
};
struct of_unknown_loads {
  static constexpr int threads = 128;
  static constexpr bool ahead = false;
  static constexpr std::size_t shared_bytes = 0;
  template <class T, class Start, class Add, class After>
  static void walk(const array_part<T>&, unsigned char*, Start, Add, After);
};
static_assert(!pack_domain<of_no_batch, float> && !pack_domain<of_elements, float> && !pack_domain<of_unknown_loads, float> && !pack_domain<int, float>);
static_assert(!pack_domain<in_turn<4, 4, true>, float> && !item_domain<another, 1>);
struct of_packs_alone {
  template <int Inputs, class Add>
  static void walk(const arrays<Inputs>&, Add);
};
static_assert(!item_domain<of_packs_alone, 1> && !item_domain<of_packs_alone, 2>);
struct rows_without_begin {
  std::uint64_t rows;
  std::int64_t element(std::uint64_t, int) const;
  std::uint64_t first_of(std::uint64_t) const;
};
struct rows_of_the_heap : row_view<1> {
  ~rows_of_the_heap() {}  // which a kernel cannot take by value
};
static_assert(!row_domain<rows_without_begin, 1> && !row_domain<rows_of_the_heap, 1> && !row_domain<row_view<2>, 1>);

// ---- Merges.

template <class T, terms Terms>
constexpr bool merges_rows = word_merge<typename rows_message<row_set<T, Terms, 256>>::tally_type>;
static_assert(word_merge<tally<4, 2>> && word_merge<digit_tally<float>> && word_merge<digit_tally<double>> && word_merge<digit_tally<__half>>);
static_assert(merges_rows<std::int64_t, terms::sum> && merges_rows<std::int32_t, terms::moments>);
static_assert(value_merge<mailbox<float>, float> && value_merge<mailbox<double>, double> && value_merge<mailbox<std::int64_t>, std::int64_t>);
struct three_words {
  std::int64_t word[3];
};
static_assert(state_merge_of<state_boxes<double>, double> && state_merge_of<state_boxes<three_words>, three_words>);

struct posted_alone {  // what nobody can collect
  static void post(std::uint64_t*, int, std::int64_t);
};
struct collected_one_by_one {
  static void post(std::uint64_t*, int, std::int64_t);
  static std::int64_t collect(std::uint64_t*, int, std::uint32_t);
};
static_assert(!word_merge<posted_alone> && !word_merge<collected_one_by_one> && !word_merge<mailbox<float>> && !word_merge<state_boxes<double>>);
static_assert(!value_merge<tally<4, 2>, double> && !value_merge<mailbox<double>, three_words> && !value_merge<posted_alone, std::int64_t>);
static_assert(!state_merge_of<mailbox<double>, double> && !state_merge_of<tally<4, 2>, double> && !state_merge_of<state_boxes<double>, three_words>);

// ---- Epilogues.

static_assert(sum_epilogue<float*> && sum_epilogue<double*> && sum_epilogue<__half*> && sum_epilogue<sum_to<float>> && sum_epilogue<sum_to<double>> &&
              sum_epilogue<sum_to<__nv_bfloat16>>);
struct goes_nowhere {
  using element = float;
  float* answer;
};
static_assert(!sum_epilogue<goes_nowhere> && !sum_epilogue<float> && !sum_epilogue<digit_tally<float>>);

}  // namespace

}  // namespace wf::device::inline WF_BUILD
