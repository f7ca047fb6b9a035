// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "neighbours.hpp"
#include "problem.hpp"
#include "prove.hpp"
#include "short_sum.hpp"

namespace wf::cpu {

namespace {

/// Whether each answer's elements lie without gaps.
bool is_gapless(const erased& r, const problem& p) {
  bool gapless = p.reduced.size() == 1 || p.reduced.empty();
  for (int k = 0; k < r.inputs && gapless && !p.reduced.empty(); ++k)
    gapless = p.reduced[0].strides[k] == static_cast<std::int64_t>(r.element_sizes[k]);
  return gapless;
}

/// Whether answers lie side by side in memory and the elements of each farther apart, so that rows of answers are walked.
bool has_panels(const problem& p, bool shortcut) {
  const auto distance = [](const dimension& d) { return std::abs(d.strides[0]); };
  return !p.kept.empty() && !p.reduced.empty() && !shortcut && distance(p.kept.back()) < distance(p.reduced.back());
}

}  // namespace

bool copies_rows(const erased& r, const operands& x, std::span<const int> axes) {
  const problem p = arrange(r, x, axes);
  if (has_panels(p, false)) return copies_columns(r, p);
  return takes_rows(r, p) && !is_gapless(r, p);
}

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

  const bool gapless = is_gapless(r, p);
  const bool shortcut = gapless && r.short_run != nullptr && p.elements <= gather_size;
  const bool panels = has_panels(p, shortcut);
  const std::int64_t side_by_side = panels ? p.kept.back().length : 1, width = panels ? std::min(panel, side_by_side) : 1,
                     panels_a_row = (side_by_side + width - 1) / width, groups = p.answers / side_by_side * panels_a_row;
  const grouping by{panels, side_by_side, width, panels_a_row, groups};

  std::size_t bytes = 0;
  for (int k = 0; k < r.inputs; ++k) bytes += r.element_sizes[k];
  // Where there are many long answers each thread has some of its own. Even answers that depend on the order of elements, as fast sums do, do not
  // depend on that.
  constexpr int enough = 8;
  const bool apart = !panels && p.elements > least_chunk && (r.proves != nullptr || r.columns != nullptr) && groups / enough >= threads_of(c);
  const std::int64_t chunk = apart ? p.elements : chunk_size(p.elements, bytes);
  const std::int64_t chunks = (p.elements + chunk - 1) / chunk;
  context for_one = c;
  if (chunks == 1) for_one.threads = 1;

  // Answers of elements without gaps may have a proof, and then need no state.
  const auto proved = [&](std::int64_t answer) {
    if (!gapless || panels || r.proves == nullptr) return false;
    const pointers q = at_index(p.base, p.kept, answer, r.inputs);
    const void* x[max_inputs] = {q[0], q[1]};
    std::byte* const to = out + static_cast<std::size_t>(answer) * r.result_size;
    return (r.few_run != nullptr && r.few_run(self, x, p.elements, to)) || prove(r, self, x, p.elements, for_one, to);
  };

  answered_groups answered;
  if (!p.kept.empty()) {
    if (panels) answered = answer_by_columns(r, self, p, by, chunk, chunks, c, out);
    else if (gapless || has_gaps_to_read(r, p)) answered = answer_rows(r, self, p, c, out);
    if (answered.empty()) answered = answer_turned(r, self, p, by, c, out);
    if (answered.empty() && !panels && !gapless) answered = answer_rows(r, self, p, c, out);
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

namespace {

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
  if (n <= gather_size && r.few_run != nullptr && r.few_run(self, x, n, out)) return;
  if (n > gather_size || r.short_run == nullptr) {
    reduce_long_run(r, self, x, n, c, out);
  } else {
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

}  // namespace wf::cpu
