// SPDX-License-Identifier: Apache-2.0
// Every reduction at the front door, of every element type: layouts, axes, segments, labels and data are drawn, and
// each answer is judged by itself (judgement.hpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include <warpfold/executor.hpp>

#include "../support/effort.hpp"
#include "front_door.hpp"
#include "judgement.hpp"
#include "targets.hpp"

namespace wf::test {
namespace {

bool one_in(std::uint64_t k, generator& random) { return random() % k == 0; }

/// An array in memory of its own, with not a byte to spare. What lies between the elements is NaN, or -1.
struct array_in_memory {
  std::vector<std::byte> memory;
  elements at;

  array_in_memory(dtype type, const extents& shape, bool plain, generator& random);
  std::byte* element(std::int64_t index) const;
};

array_in_memory::array_in_memory(dtype type, const extents& shape, bool plain, generator& random)
    : at{type, nullptr, shape, row_major(shape)} {
  const std::size_t size = info(type).size;
  std::vector<std::size_t> order(shape.size());  // the last varies fastest in memory
  std::iota(order.begin(), order.end(), 0);
  if (!plain && one_in(3, random)) std::ranges::reverse(order);
  if (!plain && one_in(4, random)) std::ranges::shuffle(order, random);
  std::int64_t first = 0, last = 0, stride = plain || one_in(2, random) ? 1 : 1 + static_cast<std::int64_t>(random() % 3);
  for (std::size_t k = order.size(); k-- > 0;) {
    const std::int64_t n = std::max<std::int64_t>(1, shape[order[k]]), far = stride * (n - 1);
    const bool repeated = !plain && one_in(10, random), reversed = !plain && one_in(4, random);
    at.strides[order[k]] = repeated ? 0 : reversed ? -stride : stride;
    if (repeated) continue;
    (reversed ? first : last) += far;
    stride = stride * n + (!plain && one_in(3, random) ? static_cast<std::int64_t>(random() % 5) : 0);
  }
  const std::size_t misaligned = !plain && one_in(3, random) ? 1 + random() % size : 0;
  memory.assign(static_cast<std::size_t>(first + last + 1) * size + misaligned, std::byte{0xff});
  if (type == dtype::boolean) std::ranges::fill(memory, std::byte{1});
  at.first = memory.data() + misaligned + static_cast<std::size_t>(first) * size;
}

/// The element of that index in element order.
std::byte* array_in_memory::element(std::int64_t index) const {
  std::int64_t offset = 0;
  for (std::size_t d = at.shape.size(); d-- > 0; index /= at.shape[d]) offset += index % at.shape[d] * at.strides[d];
  return const_cast<std::byte*>(at.first) + offset * static_cast<std::int64_t>(info(at.type).size);
}

using indexes = std::vector<std::int64_t>;

numbers gathered(const array_in_memory& a, const indexes& group) {
  numbers out{a.at.type, {}};
  const std::size_t size = info(out.type).size;
  for (const std::int64_t i : group) out.bytes.insert(out.bytes.end(), a.element(i), a.element(i) + size);
  return out;
}
void scatter(const numbers& from, const array_in_memory& a, const indexes& group) {
  for (std::size_t k = 0; k < group.size(); ++k)
    std::memcpy(a.element(group[k]), from.at(static_cast<std::int64_t>(k)), info(from.type).size);
}

/// Integers: random bits, few values, numbers near the limits, pairs that cancel.
numbers integers(dtype type, int kind, std::int64_t n, generator& random) {
  numbers x = random_elements(type, n, random, kind == 1);
  if (kind < 2 || type == dtype::boolean) return x;
  const std::size_t size = info(type).size;
  const std::uint64_t middle = type <= dtype::i64 ? std::uint64_t{1} << (8 * size - 1) : 0;
  std::uint64_t last = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    last = kind == 2 ? middle + random() % 7 - 3 : i % 2 == 1 ? ~last + 1 : random();
    std::memcpy(x.bytes.data() + static_cast<std::size_t>(i) * size, &last, size);
  }
  return x;
}

constexpr int kinds = 13;
static_assert(std::size(all_families) == kinds);
numbers data(dtype type, int kind, std::int64_t n, generator& random) {
  return is_integer(type) ? integers(type, kind % 4, n, random) : make(type, all_families[kind], n, random);
}

/// Every element's group: the answer that it belongs to, and in which order.
struct grouping {
  where w;
  extents shape;  // the answers'
  std::vector<indexes> groups;
};

grouping all_in_one(place kind, std::int64_t n) {
  grouping g{{kind, {}, {}, 0}, {}, {indexes(static_cast<std::size_t>(n))}};
  std::iota(g.groups[0].begin(), g.groups[0].end(), 0);
  return g;
}

grouping over_axes(const extents& shape, std::int64_t n, generator& random) {
  const int rank = static_cast<int>(shape.size());
  std::vector<bool> is_reduced(shape.size());
  std::vector<int> named;
  const std::uint64_t often = 1 + random() % 3;
  for (int d = 0; d < rank; ++d) {
    if (random() % 4 > often) continue;
    is_reduced[static_cast<std::size_t>(d)] = true;
    named.push_back(one_in(3, random) ? d - rank : d);
  }
  std::ranges::shuffle(named, random);
  grouping g{{place::axes, axis(named, one_in(2, random)), {}, 0}, {}, {}};
  std::int64_t answers = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!is_reduced[d]) answers *= shape[d];
    if (!is_reduced[d] || g.w.axes.keepdims) g.shape.push_back(is_reduced[d] ? 1 : shape[d]);
  }
  g.groups.resize(static_cast<std::size_t>(answers));
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t rest = i, answer = 0, scale = 1;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
      if (is_reduced[d]) continue;
      answer += rest % shape[d] * scale;
      scale *= shape[d];
    }
    g.groups[static_cast<std::size_t>(answer)].push_back(i);
  }
  return g;
}

grouping of_segments(std::int64_t n, generator& random) {
  const auto count = static_cast<std::size_t>(random() % 40);
  grouping g{{place::segments, {}, {}, 0}, {static_cast<std::int64_t>(count)}, std::vector<indexes>(count)};
  indexes& offsets = g.w.numbers;
  for (std::size_t k = 0; k <= count; ++k)
    offsets.push_back(k > 0 && one_in(4, random) ? offsets.back() : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n + 1)));
  std::ranges::sort(offsets);
  for (std::size_t k = 0; k < count; ++k)
    for (std::int64_t i = offsets[k]; i < offsets[k + 1]; ++i) g.groups[k].push_back(i);
  return g;
}

grouping of_equal_segments(std::int64_t n, generator& random) {
  const std::int64_t length = n / 60 + 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(one_in(2, random) ? 9 : n + 2));
  const std::int64_t count = (n + length - 1) / length;
  grouping g{{place::segments_of, {}, {}, length}, {count}, std::vector<indexes>(static_cast<std::size_t>(count))};
  for (std::int64_t i = 0; i < n; ++i) g.groups[static_cast<std::size_t>(i / length)].push_back(i);
  return g;
}

grouping of_labels(std::int64_t n, generator& random) {
  const std::uint64_t count = 1 + random() % 90, some = 1 + random() % count;
  grouping g{{place::labels, {}, {}, static_cast<std::int64_t>(count)}, {static_cast<std::int64_t>(count)}, std::vector<indexes>(count)};
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t label = random() % some * (count / some);
    g.w.numbers.push_back(static_cast<std::int64_t>(label));
    g.groups[label].push_back(i);
  }
  return g;
}

std::int64_t random_length(generator& random) {
  constexpr std::int64_t odd[] = {1, 1, 2, 3, 5, 7, 9, 17, 31, 33};
  if (one_in(30, random)) return 0;
  if (one_in(10, random)) return 1 + static_cast<std::int64_t>(random() % 5000);
  return one_in(3, random) ? 1 + static_cast<std::int64_t>(random() % 700) : odd[random() % std::size(odd)];
}

extents random_shape(std::size_t rank, std::int64_t most, generator& random) {
  extents shape;
  std::int64_t size = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    std::int64_t n = random_length(random);
    if (size * n > most) n = 1;
    size *= std::max<std::int64_t>(n, 1);
    shape.push_back(n);
  }
  return shape;
}

/// Judging takes longest where there are many answers.
constexpr std::size_t most_answers = 300;

struct problem {
  extents shape;
  grouping g;
  bool plain;  // contiguous and aligned
};

problem random_problem(std::int64_t most, generator& random) {
  for (;;) {
    const std::uint64_t kind = random() % 10;
    const bool one_dimension = kind == 0 || kind > 6;
    problem p{random_shape(one_dimension ? 1 : random() % 9 == 0 ? 0 : 1 + random() % 4, most, random), {}, kind == 0};
    const std::int64_t n = std::accumulate(p.shape.begin(), p.shape.end(), std::int64_t{1}, std::multiplies<>());
    if (kind <= 1) p.g = all_in_one(kind == 0 ? place::range : place::whole, n);
    else if (kind <= 6) p.g = over_axes(p.shape, n, random);
    else p.g = kind == 7 ? of_segments(n, random) : kind == 8 ? of_equal_segments(n, random) : of_labels(n, random);
    if (p.g.groups.size() <= most_answers) return p;
  }
}

/// More elements than a chunk has, of few answers.
problem long_problem(generator& random) {
  const std::int64_t n = 131'072 + static_cast<std::int64_t>(random() % 3000);
  if (one_in(3, random)) return {{n}, all_in_one(place::whole, n), false};
  if (one_in(2, random)) return {{n}, of_segments(n, random), false};
  problem p{{n / 3, 3}, {}, false};
  do p.g = over_axes(p.shape, n / 3 * 3, random);
  while (p.g.groups.size() > most_answers);
  return p;
}

template <class Numbers>
std::string listed(const Numbers& all) {
  std::ostringstream text;
  for (const auto& v : all) text << ' ' << v;
  return text.str();
}

std::string described(const problem& p, const array_in_memory& x, const how& h, int kind) {
  constexpr const char* names[] = {"a range", "all", "axes", "segments", "segments of", "labels"};
  std::ostringstream text;
  text << "shape" << listed(p.shape) << ", strides" << listed(x.at.strides) << ", of " << x.memory.size() << " bytes, "
       << names[static_cast<int>(p.g.w.kind)] << listed(p.g.w.axes.which) << (p.g.w.axes.keepdims ? " kept" : "") << ", count "
       << p.g.w.count << ", data " << kind << ", rounding " << static_cast<int>(h.c.rounding) << ", correction " << h.correction
       << ", threads " << h.c.threads;
  return text.str();
}

void expect_right(op o, const answers& got, const grouping& g, const std::vector<judgement>& judged) {
  ASSERT_EQ(got.shape, g.shape) << properties_of(o).name;
  ASSERT_EQ(got.size(), static_cast<std::int64_t>(judged.size())) << properties_of(o).name;
  for (std::size_t k = 0; k < judged.size(); ++k) {
    const answer one = got[static_cast<std::int64_t>(k)];
    ASSERT_TRUE(judged[k].accepts(o, one)) << properties_of(o).name << ", answer " << k << " of " << judged.size() << ", of "
                                           << g.groups[k].size() << " elements: " << judged[k].difference(o, one);
  }
}

class shapes : public testing::TestWithParam<dtype> {
 protected:
  void check(const problem& p, generator& random);

  dtype type = GetParam();
  cpu::thread_pool pool{3};
};

void shapes::check(const problem& p, generator& random) {
  const array_in_memory x(type, p.shape, p.plain, random), y(type, p.shape, p.plain, random);
  how h;
  h.c.rounding = static_cast<rounding>(one_in(2, random) ? 0 : random() % 5);
  h.c.threads = static_cast<int>(random() % 4);
  h.c.executor = &pool;
  h.correction = static_cast<std::int64_t>(random() % 3);
  const int drawn = static_cast<int>(random() % (kinds + 1));  // the last: of every group another
  SCOPED_TRACE(described(p, x, h, drawn));
  const auto of_group = [&](const indexes& group) {
    const int kind = drawn < kinds ? drawn : static_cast<int>(random() % kinds);
    return data(type, kind, static_cast<std::int64_t>(group.size()), random);
  };
  for (const indexes& group : p.g.groups) {
    scatter(of_group(group), x, group);
    scatter(of_group(group), y, group);
  }
  std::vector<judgement> judged;
  for (const indexes& group : p.g.groups) judged.emplace_back(gathered(x, group), gathered(y, group), h);
  for_each_target([&] {
    for (int k = 0; k < op_count; ++k) {
      const op o = static_cast<op>(k);
      if (find_builtin(o, type, accuracy::exact) == nullptr) continue;
      expect_right(o, at_front_door(o, x.at, y.at, p.g.w, h), p.g, judged);
    }
  });
}

TEST_P(shapes, every_answer_is_right) {
  generator random(seed() + static_cast<std::uint64_t>(type));
  for (int k = 0; k < trials(150) && !HasFailure(); ++k) {
    SCOPED_TRACE("WARPFOLD_TEST_SEED=" + std::to_string(seed()) + ", draw " + std::to_string(k));
    const bool is_long = k == 0 && !is_complex(type);
    check(is_long ? long_problem(random) : random_problem(is_complex(type) ? 2000 : 6000, random), random);
  }
}

std::vector<dtype> all_types() {
  std::vector<dtype> all(std::begin(real_types), std::end(real_types));
  all.insert(all.end(), {dtype::c64, dtype::c128});
  return all;
}
INSTANTIATE_TEST_SUITE_P(of, shapes, testing::ValuesIn(all_types()), [](const auto& p) { return name(p.param); });

}  // namespace
}  // namespace wf::test
