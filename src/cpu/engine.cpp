// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <warpfold/detail/cpu/indexes.hpp>

#include "columns.hpp"
#include "prove.hpp"
#include "short_sum.hpp"
#include "traversal.hpp"

namespace wf::cpu {

namespace {

/// The order in which elements are walked may be that of memory: strides falling, none negative.
void to_memory_order(dimensions& dims, pointers& base) {
  for (dimension& d : dims) {
    if (d.strides[0] >= 0) continue;
    base[0] += d.strides[0] * (d.length - 1);
    d.strides[0] = -d.strides[0];
  }
  // std::stable_sort takes memory, even for two.
  for (std::size_t k = 1; k < dims.size(); ++k)
    for (std::size_t i = k; i > 0 && dims[i - 1].strides[0] < dims[i].strides[0]; --i) std::swap(dims[i - 1], dims[i]);
}

struct problem {
  dimensions kept, reduced;
  pointers base{};
  std::int64_t answers = 1, elements = 1;  // elements: of each answer
  dimensions answer_places;                // not empty: `kept` is in the order of memory, and answers go to these places, with strides in bytes
};

/// Answers that are neighbours in memory are made together, so the kept dimension with the least stride comes last. Where another one does, all are put in the order of
/// memory, and answers go to their places at the end.
void kept_in_memory_order(problem& p, const erased& r) {
  if (p.kept.size() < 2) return;
  const auto distance = [&](const dimension& d) {  // of neighbours; where all elements are the same one they are no neighbours
    std::int64_t most = 0;
    for (int k = 0; k < r.inputs; ++k) most = std::max(most, std::abs(d.strides[k]));
    return most == 0 ? std::numeric_limits<std::int64_t>::max() : most;
  };
  const auto longer = [&](const dimension& a, const dimension& b) { return distance(a) > distance(b); };
  const dimension& nearest = *std::min_element(p.kept.begin(), p.kept.end(), [&](const dimension& a, const dimension& b) { return longer(b, a); });
  if (distance(nearest) == distance(p.kept.back())) return;
  per_dimension<std::int64_t> places(p.kept.size(), static_cast<std::int64_t>(r.result_size));
  for (std::size_t d = p.kept.size(); d-- > 1;) places[d - 1] = places[d] * p.kept[d].length;
  per_dimension<int> order(p.kept.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return longer(p.kept[a], p.kept[b]); });
  dimensions sorted;
  for (const int d : order) {
    sorted.push_back(p.kept[d]);
    p.answer_places.push_back({p.kept[d].length, {places[d]}});
  }
  p.kept = sorted;
}

problem arrange(const erased& r, const operands& x, std::span<const int> axes) {
  problem p;
  for (int k = 0; k < r.inputs; ++k) p.base[k] = static_cast<const std::byte*>(x.data[k]);
  for (int d = 0; d < static_cast<int>(x.shape.size()); ++d) {
    dimension dim{x.shape[d], {}};
    for (int k = 0; k < r.inputs; ++k) dim.strides[k] = x.strides[k][d];
    const bool is_reduced = std::find(axes.begin(), axes.end(), d) != axes.end();
    (is_reduced ? p.reduced : p.kept).push_back(dim);
  }
  const auto length_of = [](const dimension& d) { return d.length; };
  const auto answers = wf::detail::product(p.kept, length_of);
  const auto elements = wf::detail::product(p.reduced, length_of);
  if (!answers) throw error(errc::bad_argument, "more than 2^63 answers");
  p.answers = *answers;
  p.elements = elements.value_or(1);  // of no answers
  if (p.answers == 0 || p.elements == 0) return p;
  if (r.commutes && r.inputs == 1) to_memory_order(p.reduced, p.base);
  p.reduced = joined(p.reduced, r.inputs);
  p.kept = joined(p.kept, r.inputs);
  kept_in_memory_order(p, r);
  p.kept = joined(p.kept, r.inputs);
  return p;
}

/// Answers by groups: a panel of those that lie side by side in memory while the elements of each lie farther apart; else one by one.
struct grouping {
  bool panels;
  std::int64_t side_by_side, width, a_row, count;  // answers of a row, of a group; groups of a row, of all

  struct place {
    std::int64_t answer, width;  // the first of the group, and how many there are
    pointers base;
  };
  /// Group number `group`, where groups are `w` wide and a row has `in_row` of them.
  place at(const problem& p, std::int64_t group, std::int64_t w, std::int64_t in_row, int inputs) const {
    const std::int64_t column = group % in_row * w, answer = group / in_row * side_by_side + column;
    return {answer, std::min(w, side_by_side - column), at_index(p.base, p.kept, answer, inputs)};
  }
  place at(const problem& p, std::int64_t group, int inputs) const { return at(p, group, width, a_row, inputs); }
};

/// Which groups have their answers: a byte each, of a few without an allocation. None at first.
class answered_groups {
 public:
  answered_groups() = default;
  explicit answered_groups(std::int64_t groups) : count_(static_cast<std::size_t>(groups)) {
    if (count_ > sizeof few_) many_ = std::make_unique<unsigned char[]>(count_);
    else std::memset(few_, 0, count_);
  }
  answered_groups(answered_groups&& o) noexcept { *this = std::move(o); }
  answered_groups& operator=(answered_groups&& o) noexcept {
    all = o.all;
    count_ = o.count_;
    many_ = std::move(o.many_);
    if (many_ == nullptr) std::memcpy(few_, o.few_, count_);
    return *this;
  }

  bool all = false;
  bool empty() const { return count_ == 0; }
  unsigned char* data() { return many_ != nullptr ? many_.get() : few_; }
  const unsigned char* data() const { return many_ != nullptr ? many_.get() : few_; }
  bool has(std::int64_t group) const { return count_ != 0 && data()[group] != 0; }
  bool have_all() const { return std::memchr(data(), 0, count_) == nullptr; }

 private:
  std::size_t count_ = 0;
  std::unique_ptr<unsigned char[]> many_;
  unsigned char few_[512];
};

/// What the last cache has room for beside other things. A processor that does not tell has 8 MiB, as many do for what runs on it.
std::int64_t cached_bytes() {
  static const std::int64_t bytes = [] {
    constexpr std::int64_t some = std::int64_t{4} << 20, most = 8 * some;
#if defined(_SC_LEVEL3_CACHE_SIZE)
    if (const long all = ::sysconf(_SC_LEVEL3_CACHE_SIZE); all > 0) return std::min<std::int64_t>(all / 2, most);
#endif
    return some;
  }();
  return bytes;
}

/// Answers side by side whose elements are added a row at a time, to blocks of columns whose sums fit into L1 (columns.hpp), where that is done.
answered_groups answer_by_columns(const erased& r, const void* self, const problem& p, const grouping& g, std::int64_t chunk,
                                  std::int64_t chunks, const context& c, std::byte* out) {
  const auto size = static_cast<std::int64_t>(r.element_sizes[0]);
  if (r.columns == nullptr || r.columns->add == nullptr || p.kept.back().strides[0] != size) return {};
  const column_fold& f = *r.columns;
  // As wide as can be, since whole rows are read fastest, but some blocks for each thread.
  const int threads = threads_of(c);
  const auto at_most = [&](std::int64_t width) { return p.answers / g.side_by_side * ((g.side_by_side + width - 1) / width); };
  std::int64_t most = f.most;
  while (threads > 1 && most > 512 && chunks * at_most(most) < threads) most /= 2;
  // Streams of narrower rows, and of many planes, are begun so often that asking gains there too.
  const bool cached = g.side_by_side > 512 && p.answers == g.side_by_side && p.elements <= cached_bytes() / (size * p.answers);
  const std::int64_t block = std::min(most, g.side_by_side), a_row = (g.side_by_side + block - 1) / block,
                     blocks = p.answers / g.side_by_side * a_row;
  // Narrow rows without gaps are read some at a time, as one that is wide; its columns are merged at the end.
  const bool no_gaps = p.reduced.size() == 1 && p.reduced[0].strides[0] == g.side_by_side * size;
  const std::int64_t beside = no_gaps ? std::max<std::int64_t>(1, std::min(most / g.side_by_side, p.elements / 64)) : 1;
  struct alignas(64) memory {
    std::byte bytes[column_bytes];
  };
  const auto fold = [&](memory& to, std::int64_t b, std::int64_t begin, std::int64_t end) {
    const auto [answer, width, base] = g.at(p, b, block, a_row, 1);
    const dimension& row = p.reduced.back();
    f.begin(&to, std::min(most, beside * width));
    if (beside > 1) {
      const std::int64_t wide = std::min(beside, end - begin), rows = (end - begin) / wide, rest = (end - begin) % wide;
      const std::byte* const x = base[0] + begin * row.strides[0];
      f.add(&to, x, wide * row.strides[0], rows, wide * width, false, cached);
      for (std::int64_t k = 1; k < wide; ++k) f.merge(&to, &to, k * width, width);
      if (rest == 0) return;
      memory more;
      f.begin(&more, rest * width);
      f.add(&more, x + rows * wide * row.strides[0], 0, 1, rest * width, false, cached);
      for (std::int64_t k = 0; k < rest; ++k) f.merge(&to, &more, k * width, width);
      return;
    }
    for (std::int64_t i = begin; i < end;) {
      const std::int64_t n = std::min(row.length - i % row.length, end - i);
      f.add(&to, at_index(base, p.reduced, i, 1)[0], row.strides[0], n, width, i != begin, cached);
      i += n;
    }
  };
  answered_groups answered(g.count);
  std::atomic<bool> all{true};
  const auto groups_of = [&](std::int64_t b) { return answered.data() + b / a_row * g.a_row + b % a_row * block / g.width; };
  const auto finish = [&](memory& from, std::int64_t b) {
    const auto [answer, width, base] = g.at(p, b, block, a_row, 1);
    unsigned char certain[4096];
    f.finish(self, &from, p.elements, width, out + static_cast<std::size_t>(answer) * r.result_size, certain);
    unsigned char* const first = groups_of(b);
    const std::int64_t groups = (width + g.width - 1) / g.width;
    if (std::memchr(certain, 0, static_cast<std::size_t>(width)) == nullptr) {
      std::memset(first, 1, static_cast<std::size_t>(groups));
      return;
    }
    all = false;
    for (std::int64_t k = 0, at = 0; k < groups; ++k, at += g.width)
      first[k] = std::memchr(certain + at, 0, static_cast<std::size_t>(std::min(g.width, width - at))) == nullptr;
  };
  const bool has_whole = f.whole != nullptr && beside == 1 && p.reduced.size() == 1;
  const auto at_once = [&](std::int64_t b, std::int64_t some) {
    if (!has_whole) return false;
    const auto [answer, first, base] = g.at(p, b, block, a_row, 1);
    const std::int64_t width = std::min(some * block, g.side_by_side - b % a_row * block);
    if (!f.whole(self, base[0], p.reduced[0].strides[0], p.elements, width, cached, out + static_cast<std::size_t>(answer) * r.result_size)) return false;
    std::memset(groups_of(b), 1, static_cast<std::size_t>((width + g.width - 1) / g.width));
    return true;
  };
  if (chunks == 1) {
    // Threads share out blocks, at least a chunk's worth of elements at a time, and of whole columns as many blocks as are taken at once.
    const std::int64_t tried = has_whole && a_row > 1 && (threads == 1 || at_most(f.most_whole) >= threads) ? std::max<std::int64_t>(1, f.most_whole / block) : 1;
    const std::int64_t least = std::max<std::int64_t>(1, least_chunk / (p.elements * block)), together = (least + tried - 1) / tried * tried;
    parallel(c, (blocks + together - 1) / together, [&](std::int64_t task) {
      memory m;
      const std::int64_t end = std::min(blocks, (task + 1) * together);
      for (std::int64_t b = task * together, some = 0; b < end; b += some) {
        some = std::min({tried, a_row - b % a_row, end - b});
        if (at_once(b, some)) continue;
        for (std::int64_t k = b; k < b + some; ++k) {
          if (some > 1 && at_once(k, 1)) continue;
          fold(m, k, 0, p.elements);
          finish(m, k);
        }
      }
    });
  } else {
    std::vector<memory> parts(static_cast<std::size_t>(blocks * chunks));
    parallel(c, blocks * chunks, [&](std::int64_t task) {
      const std::int64_t k = task % chunks;
      fold(parts[static_cast<std::size_t>(task)], task / chunks, k * chunk, std::min(p.elements, (k + 1) * chunk));
    });
    for (std::int64_t b = 0; b < blocks; ++b) {
      memory* const mine = parts.data() + b * chunks;
      for (std::int64_t k = 1; k < chunks; ++k) f.merge(mine, mine + k, 0, g.at(p, b, block, a_row, 1).width);
      finish(*mine, b);
    }
  }
  answered.all = all;
  return answered;
}

/// The elements of `width` answers, n of each, so that those with the same number are side by side.
void side_by_side(std::byte* to, const std::byte* from, std::int64_t across, std::int64_t along, std::int64_t width, std::int64_t n, std::size_t size) {
  constexpr std::int64_t line = 8;  // elements that are read together
  const auto turn = [&]<std::size_t Size>(std::integral_constant<std::size_t, Size>) {
    const auto row = static_cast<std::size_t>(width) * Size;
    std::int64_t i = 0;
    for (; along == static_cast<std::int64_t>(Size) && i + line <= n; i += line)
      for (std::int64_t w = 0; w < width; ++w) {
        const std::byte* const x = from + w * across + i * along;
        __builtin_prefetch(x + width * across);  // those of the next answers
        std::byte* at = to + static_cast<std::size_t>(i) * row + static_cast<std::size_t>(w) * Size;
#pragma GCC unroll 8
        for (std::size_t k = 0; k < line; ++k, at += row) std::memcpy(at, x + k * Size, Size);
      }
    for (; i < n; ++i)
      for (std::int64_t w = 0; w < width; ++w) std::memcpy(to + static_cast<std::size_t>(i) * row + static_cast<std::size_t>(w) * Size, from + w * across + i * along, Size);
  };
  switch (size) {
    case 1: return turn(std::integral_constant<std::size_t, 1>());
    case 2: return turn(std::integral_constant<std::size_t, 2>());
    case 4: return turn(std::integral_constant<std::size_t, 4>());
    default: return turn(std::integral_constant<std::size_t, 8>());
  }
}

/// Answers of rows without gaps, some at a time.
answered_groups answer_rows(const erased& r, const void* self, const problem& p, const context& c, std::byte* out) {
  if (r.columns == nullptr || r.columns->rows == nullptr || p.elements < r.columns->least_of_row || p.elements > most_of_row || p.kept.empty()) return {};
  const dimension& rows = p.kept.back();
  answered_groups answered(p.answers);
  const std::int64_t together = std::max<std::int64_t>(1, least_chunk / p.elements);
  std::atomic<bool> known{true};
  parallel(c, (p.answers + together - 1) / together, [&](std::int64_t task) {
    for (std::int64_t a = task * together, end = std::min(p.answers, a + together), n = 0; a < end; a += n) {
      n = std::min(end - a, rows.length - a % rows.length);
      if (!r.columns->rows(self, at_index(p.base, p.kept, a, 1)[0], rows.strides[0], n, p.elements, out + static_cast<std::size_t>(a) * r.result_size,
                           answered.data() + a)) known = false;
    }
  });
  if (!known) return {};
  answered.all = answered.have_all();
  return answered;
}

/// Many answers of few elements each, which lie near each other: they are turned into columns, where that is done.
answered_groups answer_turned(const erased& r, const void* self, const problem& p, const grouping& g, const context& c, std::byte* out) {
  if (g.panels || r.columns == nullptr || p.elements > r.columns->turned || p.reduced.size() > 1 || p.kept.empty() || p.kept.back().length < 16) return {};
  const column_fold& f = *r.columns;
  const auto size = static_cast<std::int64_t>(r.element_sizes[0]);
  constexpr std::int64_t good = 16384;  // bytes: in L1 beside what is read
  if (16 * size * p.elements > good) return {};
  const std::int64_t a_row = p.kept.back().length, most = std::min(f.most, std::max<std::int64_t>(16, good / (size * p.elements) / 16 * 16)),
                     block = std::min(most, a_row), blocks_a_row = (a_row + block - 1) / block, blocks = p.answers / a_row * blocks_a_row;
  answered_groups answered(p.answers);
  const std::int64_t together = std::max<std::int64_t>(1, least_chunk / (p.elements * block));
  parallel(c, (blocks + together - 1) / together, [&](std::int64_t task) {
    alignas(64) std::byte sums[column_bytes];
    alignas(64) std::byte turned[good];
    for (std::int64_t b = task * together; b < std::min(blocks, (task + 1) * together); ++b) {
      const std::int64_t at = b % blocks_a_row * block, answer = b / blocks_a_row * a_row + at, width = std::min(block, a_row - at);
      side_by_side(turned, at_index(p.base, p.kept, answer, 1)[0], p.kept.back().strides[0], p.reduced.empty() ? size : p.reduced[0].strides[0], width, p.elements,
                   r.element_sizes[0]);
      f.begin(sums, width);
      f.add(sums, turned, width * size, p.elements, width, false, true);
      f.finish(self, sums, p.elements, width, out + static_cast<std::size_t>(answer) * r.result_size, answered.data() + answer);
    }
  });
  answered.all = answered.have_all();
  return answered;
}

/// Every answer of a problem; answer k goes to out + k·result_size.
void solve(const erased& r, const void* self, const problem& p, const context& c, std::byte* out) {
  const auto finish = [&](const void* state, std::int64_t answer) {
    r.finish(self, state, p.elements, out + static_cast<std::size_t>(answer) * r.result_size);
  };
  if (p.answers == 0) return;
  const ieee_environment environment;
  if (p.elements == 0) {
    const states s(r, 1);
    r.identity(self, s[0]);
    for (std::int64_t a = 0; a < p.answers; ++a) finish(s[0], a);
    return;
  }

  bool runs = p.reduced.size() == 1 || p.reduced.empty();  // each answer's elements without gaps
  for (int k = 0; k < r.inputs && runs && !p.reduced.empty(); ++k)
    runs = p.reduced[0].strides[k] == static_cast<std::int64_t>(r.element_sizes[k]);
  const bool shortcut = runs && r.short_run != nullptr && p.elements <= gather_size;

  // Answers side by side in memory, elements of an answer farther apart: walk rows of answers.
  const auto distance = [](const dimension& d) { return std::abs(d.strides[0]); };
  const bool panels = !p.kept.empty() && !p.reduced.empty() && !shortcut &&
                      distance(p.kept.back()) < distance(p.reduced.back());
  const std::int64_t side_by_side = panels ? p.kept.back().length : 1, width = panels ? std::min(panel, side_by_side) : 1,
                     panels_a_row = (side_by_side + width - 1) / width, groups = p.answers / side_by_side * panels_a_row;
  const grouping by{panels, side_by_side, width, panels_a_row, groups};

  std::size_t bytes = 0;
  for (int k = 0; k < r.inputs; ++k) bytes += r.element_sizes[k];
  // Where there are many long answers each thread has some of its own. Of what depends on the order of elements, as fast sums do, answers do not depend on that.
  constexpr int enough = 8;
  const bool apart = !panels && p.elements > least_chunk && (r.proves != nullptr || r.columns != nullptr) && groups / enough >= threads_of(c);
  const std::int64_t chunk = apart ? p.elements : chunk_size(p.elements, bytes);
  const std::int64_t chunks = (p.elements + chunk - 1) / chunk;
  context for_one = c;
  if (chunks == 1) for_one.threads = 1;

  // Answers of elements without gaps may have a proof, and then need no state.
  const auto proved = [&](std::int64_t answer) {
    if (!runs || panels || r.proves == nullptr) return false;
    const pointers q = at_index(p.base, p.kept, answer, r.inputs);
    const void* x[max_inputs] = {q[0], q[1]};
    return prove(r, self, x, p.elements, for_one, out + static_cast<std::size_t>(answer) * r.result_size);
  };

  answered_groups answered;
  if (!p.kept.empty()) {
    if (panels) answered = answer_by_columns(r, self, p, by, chunk, chunks, c, out);
    else if (runs) answered = answer_rows(r, self, p, c, out);
    if (answered.empty()) answered = answer_turned(r, self, p, by, c, out);
    if (answered.all) return;
  }

  // Answers side by side, each without a state: short ones at once, others by their proofs. All of a group, or none.
  const auto short_panel = [&](folder& f, std::int64_t group) {
    const bool is_short = r.short_run != nullptr && p.elements <= panel_rows;
    if (!panels || (!is_short && r.proves == nullptr)) return false;
    const auto [answer, here, base] = by.at(p, group, r.inputs);
    std::byte* const to = out + static_cast<std::size_t>(answer) * r.result_size;
    evidence found[panel];
    f.panels(here, base, p.reduced, p.kept.back(), 0, p.elements, [&](std::int64_t w, const pointers& q, std::int64_t n, std::int64_t first) {
      const void* x[max_inputs] = {q[0], q[1]};
      if (is_short) return r.short_run(self, x, n, to + static_cast<std::size_t>(w) * r.result_size);
      evidence piece;
      piece.first = first == 0;
      r.proves->gather(x, n, false, piece);
      if (first == 0) found[w] = piece;
      else join(found[w], piece);
    });
    if (is_short) return true;
    for (std::int64_t w = 0; w < here; ++w) {
      bool again = false;
      if (!r.proves->conclude(self, found[w], p.elements, to + static_cast<std::size_t>(w) * r.result_size, again)) return false;
    }
    return true;
  };

  const auto fold_group = [&](folder& f, const states& s, std::int64_t first_state,
                              std::int64_t group, std::int64_t begin, std::int64_t end) {
    const auto [answer, here, base] = by.at(p, group, r.inputs);
    for (std::int64_t w = 0; w < here; ++w) r.identity(self, s[first_state + w]);
    if (panels)
      f.fold_panel(s, first_state, here, base, p.reduced, p.kept.back(), begin, end);
    else
      f.fold(s[first_state], base, p.reduced, begin, end);
    return std::pair{answer, here};
  };

  if (chunks == 1) {
    // Threads share out answers, at least a chunk's worth of elements at a time.
    const std::int64_t together =
        std::max<std::int64_t>(1, least_chunk / std::max<std::int64_t>(1, p.elements * width));
    parallel(c, (groups + together - 1) / together, [&](std::int64_t task) {
      const std::int64_t end = std::min(groups, (task + 1) * together);
      if (shortcut) {
        for (std::int64_t a = task * together; a < end; ++a) {
          if (answered.has(a)) continue;
          const pointers q = at_index(p.base, p.kept, a, r.inputs);
          const void* x[max_inputs] = {q[0], q[1]};
          std::byte* const to = out + static_cast<std::size_t>(a) * r.result_size;
          if (r.few_run == nullptr || !r.few_run(self, x, p.elements, to)) r.short_run(self, x, p.elements, to);
        }
        return;
      }
      folder f(r, self);
      const states s(r, width);
      for (std::int64_t g = task * together; g < end; ++g) {
        if (answered.has(g) || proved(g) || short_panel(f, g)) continue;
        const auto [answer, count] = fold_group(f, s, 0, g, 0, p.elements);
        for (std::int64_t w = 0; w < count; ++w) finish(s[w], answer + w);
      }
    });
    return;
  }

  // Few answers of many elements: groups one after the other, chunks in parallel.
  const states s(r, chunks * width);
  for (std::int64_t g = 0; g < groups; ++g) {
    if (answered.has(g) || proved(g)) continue;
    std::int64_t answer = 0, count = 0;
    std::mutex mutex;
    parallel(c, chunks, [&](std::int64_t k) {
      folder f(r, self);
      const states mine(r, width);
      const auto found = fold_group(f, mine, 0, g, k * chunk, std::min(p.elements, (k + 1) * chunk));
      for (std::int64_t w = 0; w < found.second; ++w)
        std::memcpy(s[w * chunks + k], mine[w], r.state_size);
      const std::lock_guard lock(mutex);
      std::tie(answer, count) = found;
    });
    for (std::int64_t w = 0; w < count; ++w) {
      combine_all(r, self, s, w * chunks, chunks);
      finish(s[w * chunks], answer + w);
    }
  }
}

/// Answers that are side by side to where they belong: the last dimension of `from` is that of neighbours there, `to` says the places.
void put_in_place(const std::byte* from, const dimensions& places, std::size_t size, const context& c, std::byte* to) {
  // The dimension in which places are neighbours: a square of that and the last one fits into L1.
  const auto nearest = static_cast<std::size_t>(std::min_element(places.begin(), places.end(), [](const dimension& a, const dimension& b) { return a.strides[0] < b.strides[0]; }) - places.begin());
  constexpr std::int64_t side = 32;
  const dimension &along = places.back(), &across = places[nearest];
  const auto bytes = static_cast<std::int64_t>(size);
  std::int64_t step = bytes * along.length;  // from one to the next in `across`
  for (std::size_t d = nearest + 1; d + 1 < places.size(); ++d) step *= places[d].length;
  dimensions others;
  std::array<std::int64_t, max_rank> other_steps{};
  for (std::size_t d = 0; d + 1 < places.size(); ++d) {
    if (d == nearest) continue;
    std::int64_t there = bytes;
    for (std::size_t e = d + 1; e < places.size(); ++e) there *= places[e].length;
    other_steps[others.size()] = there;
    others.push_back(places[d]);
  }
  const std::int64_t blocks = (across.length + side - 1) / side;
  std::int64_t planes = 1;
  for (const dimension& d : others) planes *= d.length;
  const auto copy = [&]<std::size_t Size>(std::integral_constant<std::size_t, Size>, std::int64_t task) {
    std::int64_t plane = task / blocks;
    const std::byte* x = from;
    std::byte* out = to;
    for (std::size_t d = others.size(); d-- > 0; plane /= others[d].length) {
      x += plane % others[d].length * other_steps[d];
      out += plane % others[d].length * others[d].strides[0];
    }
    const std::int64_t begin = task % blocks * side, end = std::min(across.length, begin + side);
    for (std::int64_t j = 0; j < along.length; j += side)
      for (std::int64_t k = j; k < std::min(along.length, j + side); ++k)
        for (std::int64_t i = begin; i < end; ++i)
          std::memcpy(out + i * across.strides[0] + k * along.strides[0], x + i * step + k * bytes, Size != 0 ? Size : size);
  };
  const std::int64_t together = std::max<std::int64_t>(1, least_chunk / (side * along.length)), tasks = planes * blocks;
  parallel(c, (tasks + together - 1) / together, [&](std::int64_t k) {
    for (std::int64_t task = k * together; task < std::min(tasks, (k + 1) * together); ++task) switch (size) {
        case 1: copy(std::integral_constant<std::size_t, 1>(), task); break;
        case 2: copy(std::integral_constant<std::size_t, 2>(), task); break;
        case 4: copy(std::integral_constant<std::size_t, 4>(), task); break;
        case 8: copy(std::integral_constant<std::size_t, 8>(), task); break;
        case 16: copy(std::integral_constant<std::size_t, 16>(), task); break;
        default: copy(std::integral_constant<std::size_t, 0>(), task);
      }
  });
}

/// The same as solve(), with every answer where it belongs.
void solve_in_place(const erased& r, const void* self, const problem& p, const context& c, std::byte* out) {
  if (p.answer_places.empty()) return solve(r, self, p, c, out);
  const auto room = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(p.answers) * r.result_size);
  solve(r, self, p, c, room.get());
  put_in_place(room.get(), p.answer_places, r.result_size, c, out);
}

[[noreturn]] void refuse(const std::string& what) { throw error(errc::bad_argument, what); }

void check_one_dimension(const operands& x, const char* who) {
  if (x.shape.size() != 1)
    refuse(std::string(who) + ": the input has " + std::to_string(x.shape.size()) +
           " dimensions; it must have 1");
}

[[gnu::noinline]] void reduce_long_run(const erased& r, const void* self, const void* const* x, std::int64_t n,
                                       const context& c, void* out) {
  const ieee_environment environment;
  if (r.proves != nullptr && n > 0 && prove(r, self, x, n, c, out)) return;
  constexpr std::size_t on_stack = 2048;
  if (n <= least_chunk && r.state_size <= on_stack && r.state_align <= 64) {
    alignas(64) std::byte state[on_stack];
    r.identity(self, state);
    if (n > 0) r.accumulate(self, state, x, n, 0);
    r.finish(self, state, n, out);
    return;
  }
  problem p;
  p.elements = n;
  dimension d{n, {}};
  for (int k = 0; k < r.inputs; ++k) {
    d.strides[k] = static_cast<std::int64_t>(r.element_sizes[k]);
    p.base[k] = static_cast<const std::byte*>(x[k]);
  }
  if (n != 1) p.reduced.push_back(d);
  solve(r, self, p, c, static_cast<std::byte*>(out));
}

}  // namespace

void reduce_run(const erased& r, const void* self, const void* const* x, std::int64_t n,
                const context& c, void* out) {
  if (n > gather_size || r.short_run == nullptr) {
    reduce_long_run(r, self, x, n, c, out);
  } else if (r.few_run == nullptr || !r.few_run(self, x, n, out)) {
    const ieee_environment environment;
    r.short_run(self, x, n, out);
  }
}

bool sum_at_once(const float* x, std::int64_t n, float* out) { return few_exact_sum<float>(x, n, rounding::nearest, out); }
bool sum_at_once(const double* x, std::int64_t n, double* out) { return few_exact_sum<double>(x, n, rounding::nearest, out); }

void reduce_all(const erased& r, const void* self, const operands& x, const context& c, void* out) {
  per_dimension<int> axes(x.shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  solve(r, self, arrange(r, x, axes), c, static_cast<std::byte*>(out));
}

void reduce_axes(const erased& r, const void* self, const operands& x, std::span<const int> axes,
                 const context& c, void* out) {
  solve_in_place(r, self, arrange(r, x, axes), c, static_cast<std::byte*>(out));
}

void reduce_segments(const erased& r, const void* self, const operands& x,
                     std::span<const std::int64_t> offsets, const context& c, void* out) {
  check_one_dimension(x, "segments");
  if (offsets.empty()) refuse("segments: no offsets; n segments have n + 1 offsets");
  const std::int64_t n = x.shape[0];
  for (std::size_t k = 0; k < offsets.size(); ++k) {
    const std::int64_t before = k == 0 ? 0 : offsets[k - 1];
    if (offsets[k] < before || offsets[k] > n) refuse_offset(static_cast<std::int64_t>(k), offsets[k], n);
  }
  const auto segments = static_cast<std::int64_t>(offsets.size()) - 1;
  auto* to = static_cast<std::byte*>(out);
  const auto of_segment = [&](std::int64_t k) {
    problem p;
    p.elements = offsets[k + 1] - offsets[k];
    dimension d{n, {}};
    for (int i = 0; i < r.inputs; ++i) {
      d.strides[i] = x.strides[i][0];
      p.base[i] = static_cast<const std::byte*>(x.data[i]) + d.strides[i] * offsets[k];
    }
    d.length = p.elements;
    if (p.elements != 1) p.reduced.push_back(d);
    return p;
  };
  bool without_gaps = true;
  for (int i = 0; i < r.inputs; ++i) without_gaps = without_gaps && x.strides[i][0] == static_cast<std::int64_t>(r.element_sizes[i]);
  // Short segments share tasks of about a chunk; a long one is spread over the threads by itself.
  std::vector<std::int64_t> ends;  // of the tasks but the last, so that a few short segments need no memory
  std::vector<std::int64_t> long_ones;
  std::int64_t load = 0;
  constexpr std::int64_t overhead = 64;  // of a segment, in elements
  for (std::int64_t k = 0; k < segments; ++k) {
    const std::int64_t length = offsets[k + 1] - offsets[k];
    if (length > least_chunk) long_ones.push_back(k);
    else load += length;
    load += overhead;
    if (load >= least_chunk && k + 1 < segments) {
      ends.push_back(k + 1);
      load = 0;
    }
  }
  const auto tasks = static_cast<std::int64_t>(ends.size()) + 1;
  context alone = c;
  alone.threads = 1;
  parallel(c, tasks, [&](std::int64_t task) {
    const std::int64_t begin = task == 0 ? 0 : ends[task - 1], end = task + 1 == tasks ? segments : ends[task];
    const ieee_environment environment;
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t length = offsets[k + 1] - offsets[k];
      std::byte* const answer = to + static_cast<std::size_t>(k) * r.result_size;
      if (without_gaps && r.short_run != nullptr && length > 0 && length <= gather_size) {
        const void* elements[max_inputs] = {};
        for (int i = 0; i < r.inputs; ++i) elements[i] = static_cast<const std::byte*>(x.data[i]) + x.strides[i][0] * offsets[k];
        if (r.few_run == nullptr || !r.few_run(self, elements, length, answer)) r.short_run(self, elements, length, answer);
      } else if (length <= least_chunk) {
        solve(r, self, of_segment(k), alone, answer);
      }
    }
  });
  for (const std::int64_t k : long_ones)
    solve(r, self, of_segment(k), c, to + static_cast<std::size_t>(k) * r.result_size);
}

namespace {

/// Elements of one input, of Size bytes or, where that is 0, of `size`, each to the next place of its label.
template <std::size_t Size>
void gather_by_label(const std::byte* x, std::int64_t stride, std::span<const std::int64_t> labels, std::int64_t* places, std::byte* to, std::size_t size) {
  if constexpr (Size != 0) size = Size;
  for (const std::int64_t label : labels) {
    std::memcpy(to + static_cast<std::size_t>(places[label]++) * size, x, size);
    x += stride;
  }
}
void gather_by_label(const std::byte* x, std::int64_t stride, std::span<const std::int64_t> labels, std::int64_t* places, std::byte* to, std::size_t size) {
  switch (size) {
    case 1: return gather_by_label<1>(x, stride, labels, places, to, size);
    case 2: return gather_by_label<2>(x, stride, labels, places, to, size);
    case 4: return gather_by_label<4>(x, stride, labels, places, to, size);
    case 8: return gather_by_label<8>(x, stride, labels, places, to, size);
    case 16: return gather_by_label<16>(x, stride, labels, places, to, size);
    default: return gather_by_label<0>(x, stride, labels, places, to, size);
  }
}

/// For few elements: all of them are brought together by label at once, and no answer needs a state but that of nothing.
void reduce_few_by_label(const erased& r, const void* self, const operands& x, std::span<const std::int64_t> labels, std::int64_t answers, void* out) {
  const std::int64_t n = x.shape[0];
  std::vector<std::int64_t> ends(static_cast<std::size_t>(answers) + 1, 0);  // of the answers before; then of each
  for (std::int64_t i = 0; i < n; ++i) {
    if (labels[i] < 0 || labels[i] >= answers) refuse_label(labels[i], i, answers);
    ++ends[static_cast<std::size_t>(labels[i]) + 1];
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::array<std::vector<std::byte>, max_inputs> gathered;
  for (int k = r.inputs; k-- > 0;) {
    gathered[k].resize(static_cast<std::size_t>(n) * r.element_sizes[k]);
    std::vector<std::int64_t> places;  // of all inputs but the first, which moves the ends themselves
    if (k > 0) places = ends;
    gather_by_label(static_cast<const std::byte*>(x.data[k]), x.strides[k][0], labels, k > 0 ? places.data() : ends.data(), gathered[k].data(), r.element_sizes[k]);
  }
  std::optional<states> nothing;
  for (std::int64_t a = 0, begin = 0; a < answers; begin = ends[static_cast<std::size_t>(a++)]) {
    const std::int64_t count = ends[static_cast<std::size_t>(a)] - begin;
    void* const to = static_cast<std::byte*>(out) + static_cast<std::size_t>(a) * r.result_size;
    if (count == 0) {
      if (!nothing) r.identity(self, nothing.emplace(r, 1)[0]);
      r.finish(self, (*nothing)[0], 0, to);
      continue;
    }
    const void* p[max_inputs] = {};
    for (int k = 0; k < r.inputs; ++k) p[k] = gathered[k].data() + static_cast<std::size_t>(begin) * r.element_sizes[k];
    if (r.few_run == nullptr || !r.few_run(self, p, count, to)) r.short_run(self, p, count, to);
  }
}

}  // namespace

void reduce_labels(const erased& r, const void* self, const operands& x,
                   std::span<const std::int64_t> labels, std::int64_t answers, const context& c,
                   void* out) {
  check_one_dimension(x, "labels");
  const std::int64_t n = x.shape[0];
  if (static_cast<std::int64_t>(labels.size()) != n)
    refuse("labels: " + std::to_string(labels.size()) + " labels for " + std::to_string(n) +
           " elements; there must be one for each");
  if (answers < 0) refuse("labels: " + std::to_string(answers) + " answers; there must be 0 or more");
  // Each answer has a state, aligned, and some whole numbers.
  const auto each = static_cast<std::int64_t>(r.state_size + r.state_align + 64);
  if (answers > std::numeric_limits<std::int64_t>::max() / each)
    refuse("labels: " + std::to_string(answers) + " answers; no memory holds so many");
  const ieee_environment environment;
  if (n <= gather_size && r.short_run != nullptr) {
    reduce_few_by_label(r, self, x, labels, answers, out);
    return;
  }
  // A stable counting sort of a block at a time brings an answer's elements together; answers are
  // then shared out among the threads.
  const states s(r, answers);
  std::vector<std::int64_t> seen(static_cast<std::size_t>(answers), 0);
  for (std::int64_t a = 0; a < answers; ++a) r.identity(self, s[a]);
  const std::int64_t block = std::max<std::int64_t>(std::int64_t{1} << 20, answers);
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> order;
  for (std::int64_t begin = 0; begin < n; begin += block) {
    const std::int64_t count = std::min(block, n - begin);
    starts.assign(static_cast<std::size_t>(answers) + 2, 0);
    for (std::int64_t i = begin; i < begin + count; ++i) {
      if (labels[i] < 0 || labels[i] >= answers) refuse_label(labels[i], i, answers);
      ++starts[static_cast<std::size_t>(labels[i]) + 2];
    }
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    order.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = begin; i < begin + count; ++i)
      order[starts[static_cast<std::size_t>(labels[i]) + 1]++] = i;
    const std::int64_t together = (answers + 63) / 64;
    parallel(c, (answers + together - 1) / std::max<std::int64_t>(together, 1), [&](std::int64_t task) {
      std::array<std::vector<std::byte>, max_inputs> buffers;
      for (int k = 0; k < r.inputs; ++k)
        buffers[k].resize(static_cast<std::size_t>(gather_size) * r.element_sizes[k]);
      const std::int64_t last = std::min(answers, (task + 1) * together);
      for (std::int64_t a = task * together; a < last; ++a) {
        for (std::int64_t i = starts[a]; i < starts[a + 1];) {
          const std::int64_t m = std::min(gather_size, starts[a + 1] - i);
          for (int k = 0; k < r.inputs; ++k) {
            const std::size_t size = r.element_sizes[k];
            for (std::int64_t j = 0; j < m; ++j)
              std::memcpy(buffers[k].data() + static_cast<std::size_t>(j) * size,
                          static_cast<const std::byte*>(x.data[k]) + x.strides[k][0] * order[i + j], size);
          }
          const void* p[max_inputs] = {buffers[0].data(), buffers[1].data()};
          r.accumulate(self, s[a], p, m, seen[a]);
          seen[a] += m;
          i += m;
        }
      }
    });
  }
  for (std::int64_t a = 0; a < answers; ++a)
    r.finish(self, s[a], seen[a], static_cast<std::byte*>(out) + static_cast<std::size_t>(a) * r.result_size);
}

}  // namespace wf::cpu
