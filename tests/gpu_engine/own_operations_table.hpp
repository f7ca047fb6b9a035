// SPDX-License-Identifier: Apache-2.0
/// \file own_operations_table.hpp
/// Operations by the way of state_kind::own, on any machine, against the CPU: answers and states of whole arrays, rows, segments and
/// labels, byte for byte, and states of pieces merged by the host and by the device. Products of floats are of data of which every
/// order gives the same bits.
#pragma once

#include <warpfold/detail/gpu/states.hpp>

#include "own_operations.hpp"
#include "states_table.hpp"

class own_operation_check {
 public:
  own_operation_check(const machine& m, const wf::device_library& library, run_own_states states, own_operation o)
      : m_(m), place_(library, nullptr), states_(states), o_(o),
        form_(wf::form_of_states(o.what, o.type)), in_any_order_(!form_.canonical),
        most_(in_any_order_ ? (wf::is_complex(o.type) ? 40 : 5000) : std::int64_t{1} << 40) {}

  /// Pieces on the CPU and here, merged in random trees.
  void pieces(const std::vector<std::int64_t>& lengths) {
    for (const auto& family : families()) {
      for (const std::int64_t n : lengths) {
        if (n > most_) continue;
        SCOPED_TRACE(family + ", n = " + std::to_string(n));
        states_of_type s(m_, place_, o_.type, family, n, 70 + static_cast<std::uint64_t>(n));
        s.check(o_.what, wf::accuracy::exact);
      }
    }
  }

  /// Whole arrays with gaps, and every partition. `many` rows are few enough elements each for a thread to take one.
  void partitions(std::int64_t many) {
    for (const auto& family : families()) {
      SCOPED_TRACE(family);
      const std::int64_t wide = std::min<std::int64_t>(most_, 701), few = std::min<std::int64_t>(most_, 37);
      check(family, {777 < most_ ? 777 : most_}, {-2}, {});
      const int last[] = {1}, first[] = {0};
      check(family, {5, wide}, {wide + 3, 1}, axes(last));
      check(family, {few, 65}, {65, 1}, axes(first));
      check(family, {many, 3}, {3, 1}, axes(last));
      wf::partition by;
      by.kind = wf::partition::kinds::equal_segments;
      by.length = few;
      check(family, {few * 9 + 2}, {1}, by);
      std::vector<std::int64_t> offsets{0, 0};
      std::mt19937_64 g(5);
      while (offsets.size() < 40) offsets.push_back(offsets.back() + static_cast<std::int64_t>(g() % static_cast<std::uint64_t>(few + 1)));
      std::vector<std::int64_t> labels(static_cast<std::size_t>(few) * 11);
      for (auto& l : labels) l = static_cast<std::int64_t>(g() % 17);
      const in_device_memory device_offsets(m_, offsets), device_labels(m_, labels);
      by = {};
      by.kind = wf::partition::kinds::segments;
      by.count = static_cast<std::int64_t>(offsets.size()) - 1;
      by.index_bytes = 8;
      check(family, {offsets.back()}, {1}, by, offsets.data(), device_offsets.at);
      by.kind = wf::partition::kinds::labels;
      by.count = 19;  // two have no elements
      if (!in_any_order_ || !wf::is_complex(o_.type)) check(family, {static_cast<std::int64_t>(labels.size())}, {1}, by, labels.data(), device_labels.at);
    }
  }

  /// States of three sets, merged by the device and answered there.
  void merged_on_the_device() {
    if (!form_.canonical) return;
    const std::int64_t sets = 3, count = 130, each = 7, words = static_cast<std::int64_t>(form_.bytes / 8);
    const auto x = data(families()[0], sets * count * each, 1), y = data(families()[0], sets * count * each, 2);
    std::vector<unsigned char> states(static_cast<std::size_t>(sets * count) * form_.bytes);
    wf::request r = request(x.data(), y.data(), {sets * count, each}, {each, 1});
    const int last[] = {1};
    r.by = axes(last);
    r.first = 0;
    r.wanted = wf::output::states;
    r.out = states.data();
    wf::cpu_backend().run(r);
    std::vector<unsigned char> want(states.begin(), states.begin() + static_cast<std::ptrdiff_t>(count * 8 * words));
    for (std::int64_t s = 1; s < sets; ++s) wf::merge_states(form_, want.data(), states.data() + s * count * 8 * words, count);
    const auto size = static_cast<std::size_t>(wf::builtin(o_.what, o_.type, wf::accuracy::exact).result_size);
    std::vector<unsigned char> answers(static_cast<std::size_t>(count) * size), got(want.size()), got_answers(answers.size());
    wf::finish_states(form_, {}, want.data(), count, answers.data());
    const in_device_memory from(m_, states), to(m_, got), out(m_, got_answers);
    wf::states_request q = wf::detail::states_of(form_, {}, count);
    q.states = static_cast<std::int64_t*>(to.at);
    q.from = static_cast<const std::int64_t*>(from.at);
    q.sets = sets;
    q.out = out.at;
    ASSERT_EQ(states_(q, nullptr), 0);
    ASSERT_EQ(m_.download(got.data(), to.at, got.size()), "");
    ASSERT_EQ(m_.download(got_answers.data(), out.at, got_answers.size()), "");
    EXPECT_EQ(hex(got), hex(want)) << "states of three sets, merged";
    EXPECT_EQ(hex(got_answers), hex(answers)) << "their answers";
  }

 private:
  struct in_device_memory {
    const machine& m;
    void* at;
    template <class T>
    in_device_memory(const machine& on, const std::vector<T>& x) : m(on), at(on.allocate(x.size() * sizeof(T) + 1)) {
      EXPECT_EQ(m.upload(at, x.data(), x.size() * sizeof(T)), "");
    }
    ~in_device_memory() { m.free(at); }
    in_device_memory(const in_device_memory&) = delete;
    in_device_memory& operator=(const in_device_memory&) = delete;
  };

  std::vector<std::string> families() const {
    if (in_any_order_) return {in_any_order};
    return families_of(o_.type);
  }
  std::vector<unsigned char> data(const std::string& family, std::int64_t n, std::uint64_t seed) const {
    const auto count = static_cast<std::uint64_t>(n);
    return family == in_any_order ? make_in_any_order(o_.type, count, seed) : make_bytes(o_.type, family, count, seed);
  }
  static wf::partition axes(const int (&which)[1]) {
    wf::partition by;
    by.kind = wf::partition::kinds::axes;
    by.axes = which;
    return by;
  }
  wf::request request(const unsigned char* x, const unsigned char* y, const wf::extents& shape, const std::vector<std::int64_t>& strides) const {
    wf::request r;
    r.what = o_.what;
    r.element = o_.type;
    r.inputs.shape = shape;
    wf::extents bytes;
    for (std::size_t d = 0; d < strides.size(); ++d) bytes.push_back(strides[d] * static_cast<std::int64_t>(wf::info(o_.type).size));
    r.inputs.strides = {bytes, bytes};
    r.inputs.data = {x, y};
    r.first = 11;
    return r;
  }

  void check(const std::string& family, const wf::extents& shape, const std::vector<std::int64_t>& strides, wf::partition by,
             const void* host_indexes = nullptr, const void* device_indexes = nullptr) {
    std::int64_t reach = 1, skipped = 0;
    for (std::size_t d = 0; d < strides.size(); ++d) {
      reach += std::max<std::int64_t>(shape[d], 1) * std::abs(strides[d]);
      if (strides[d] < 0) skipped += -strides[d] * (shape[d] - 1);
    }
    const auto x = data(family, reach, 1), y = data(family, reach, 2);
    const in_device_memory dx(m_, x), dy(m_, y);
    const std::int64_t at = skipped * static_cast<std::int64_t>(wf::info(o_.type).size);
    const auto on_device = [at](const in_device_memory& p) { return static_cast<const unsigned char*>(p.at) + at; };
    wf::request here = request(x.data() + at, y.data() + at, shape, strides), there = request(on_device(dx), on_device(dy), shape, strides);
    here.by = there.by = by;
    here.by.indexes = host_indexes;
    there.by.indexes = device_indexes;
    here.out = &here;  // not written before it is known how much is
    const std::int64_t answers = *wf::detail::product(wf::check(here));
    for (const wf::output wanted : {wf::output::answers, wf::output::states}) {
      here.wanted = there.wanted = wanted;
      const std::size_t size = wanted == wf::output::states ? form_.bytes : wf::builtin(o_.what, o_.type, wf::accuracy::exact).result_size;
      std::vector<unsigned char> want(static_cast<std::size_t>(answers) * size + 8, 0xa5), got = want;
      here.out = want.data();
      wf::cpu_backend().run(here);
      const in_device_memory out(m_, got);
      there.out = out.at;
      place_.run(there);
      ASSERT_EQ(m_.download(got.data(), out.at, got.size()), "");
      for (std::size_t k = 0; k < got.size(); ++k) {
        if (got[k] == want[k]) continue;
        FAIL() << (wanted == wf::output::states ? "states" : "answers") << " of partition " << static_cast<int>(by.kind) << ": byte " << k << " of "
               << got.size() << " (" << size << " each) is " << int{got[k]} << ", not " << int{want[k]};
      }
    }
  }

  const machine& m_;
  wf::device_place place_;
  run_own_states states_;
  own_operation o_;
  wf::state_form form_;
  bool in_any_order_;
  std::int64_t most_;  ///< elements of an answer, if every order is to give the same bits
};
