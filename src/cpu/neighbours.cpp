// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "columns.hpp"
#include "neighbours.hpp"

namespace wf::cpu {

namespace {

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

}  // namespace

bool copies_columns(const erased& r, const problem& p) {
  if (r.columns == nullptr || r.columns->add == nullptr) return false;
  // Sums and means of few rows often come to a tie, which only what takes whole columns tells.
  const std::int64_t size = static_cast<std::int64_t>(r.element_sizes[0]), least_rows = r.columns->whole == nullptr ? 1 : size == 8 ? 512 : 64;
  constexpr std::int64_t least_columns = 32;
  return p.kept.back().strides[0] != size && size <= 8 && p.kept.back().length >= least_columns && p.elements >= least_rows;
}

answered_groups answer_by_columns(const erased& r, const void* self, const problem& p, const grouping& g, std::int64_t chunk,
                                  std::int64_t chunks, const context& c, std::byte* out) {
  const auto size = static_cast<std::int64_t>(r.element_sizes[0]);
  if (r.columns == nullptr || r.columns->add == nullptr) return {};
  const column_fold& f = *r.columns;
  // Columns with gaps are copied, some rows at a time: wide ones, since rows are read fastest from end to end, so to L2.
  const std::int64_t across = p.kept.back().strides[0];
  const bool gaps = across != size;
  constexpr std::int64_t copied_rows = 16, copied_bytes = 65536;
  if (gaps && !copies_columns(r, p)) return {};
  // As wide as can be, since whole rows are read fastest, but some blocks for each thread.
  const int threads = threads_of(c);
  const auto at_most = [&](std::int64_t width) { return p.answers / g.side_by_side * ((g.side_by_side + width - 1) / width); };
  std::int64_t most = gaps ? std::min(f.most, copied_bytes / copied_rows / size) : f.most;
  while (threads > 1 && most > 512 && chunks * at_most(most) < threads) most /= 2;
  // Streams of narrower rows, and of many planes, are begun so often that asking gains there too.
  const bool cached = g.side_by_side > 512 && p.answers == g.side_by_side && p.elements <= cached_bytes() / (size * p.answers);
  const std::int64_t block = std::min(most, g.side_by_side), a_row = (g.side_by_side + block - 1) / block,
                     blocks = p.answers / g.side_by_side * a_row;
  // Narrow rows without gaps are read some at a time, as one that is wide; its columns are merged at the end.
  const bool no_gaps = !gaps && p.reduced.size() == 1 && p.reduced[0].strides[0] == g.side_by_side * size;
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
    const auto copies = gaps ? std::make_unique_for_overwrite<std::byte[]>(copied_bytes) : nullptr;
    for (std::int64_t i = begin; i < end;) {
      std::int64_t n = std::min(row.length - i % row.length, end - i);
      const std::byte* const x = at_index(base, p.reduced, i, 1)[0];
      if (gaps) {
        n = std::min(n, copied_bytes / (width * size));
        for (std::int64_t k = 0; k < n; ++k) copy_strided(copies.get() + k * width * size, x + k * row.strides[0], across, width, r.element_sizes[0]);
        f.add(&to, copies.get(), width * size, n, width, i != begin, true);
      } else {
        f.add(&to, x, row.strides[0], n, width, i != begin, cached);
      }
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
  const bool has_whole = !gaps && f.whole != nullptr && beside == 1 && p.reduced.size() == 1;
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

bool has_gaps_to_read(const erased& r, const problem& p) {
  return r.columns != nullptr && r.columns->has_gaps && p.reduced.size() == 1 && p.reduced[0].strides[0] == 2 * static_cast<std::int64_t>(r.element_sizes[0]);
}

bool takes_rows(const erased& r, const problem& p) {
  if (r.columns == nullptr || r.columns->rows == nullptr || p.elements < r.columns->least_of_row || p.kept.empty() || p.reduced.size() != 1) return false;
  constexpr std::int64_t many = 64;  // a row is one thread's
  return p.elements <= most_of_row || (p.answers >= many && has_gaps_to_read(r, p));
}

answered_groups answer_rows(const erased& r, const void* self, const problem& p, const context& c, std::byte* out) {
  if (!takes_rows(r, p)) return {};
  const dimension& rows = p.kept.back();
  const auto size = static_cast<std::int64_t>(r.element_sizes[0]), row_size = size * p.elements;
  // Rows with gaps are copied, as many as L1 has room for, but as many as kernels take at once.
  const bool read_there = has_gaps_to_read(r, p), gaps = p.reduced[0].strides[0] != size && !read_there;
  const std::int64_t copied = std::max<std::int64_t>(8, 32768 / row_size / 8 * 8);
  answered_groups answered(p.answers);
  const std::int64_t together = std::max<std::int64_t>(1, least_chunk / p.elements);
  std::atomic<bool> known{true};
  parallel(c, (p.answers + together - 1) / together, [&](std::int64_t task) {
    const auto copies = gaps ? std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(copied * row_size)) : nullptr;
    for (std::int64_t a = task * together, end = std::min(p.answers, a + together), n = 0; a < end; a += n) {
      n = std::min(end - a, rows.length - a % rows.length);
      const std::byte* x = at_index(p.base, p.kept, a, 1)[0];
      if (gaps) {
        n = std::min(n, copied);
        for (std::int64_t k = 0; k < n; ++k) copy_strided(copies.get() + k * row_size, x + k * rows.strides[0], p.reduced[0].strides[0], p.elements, r.element_sizes[0]);
        x = copies.get();
      }
      if (!r.columns->rows(self, x, gaps ? row_size : rows.strides[0], read_there, n, p.elements, out + static_cast<std::size_t>(a) * r.result_size,
                           answered.data() + a)) known = false;
    }
  });
  if (!known) return {};
  answered.all = answered.have_all();
  return answered;
}

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

}  // namespace wf::cpu
