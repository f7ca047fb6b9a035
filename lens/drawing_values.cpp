// SPDX-License-Identifier: Apache-2.0
// Who adds what to what: a row a step of the block, a column a thread and a place of shared memory.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "drawing.hpp"
#include "drawing_parts.hpp"

namespace lens {
namespace {

constexpr int top = 28, step = 13, node = 11;

/// A warp's colours: those of its nodes and lines, in turns.
unsigned colour_of(unsigned thread) { return thread / 32 % 2; }

std::string shape(const holder& h, int x, int y, std::string_view title = {}) {
  const std::string_view name = h.in_shared ? "rect" : "circle";
  const std::string end = title.empty() ? "/>\n" : fmt::format("><title>{}</title></{}>\n", escaped(title), name);
  if (!h.in_shared) return fmt::format("<{} cx=\"{}\" cy=\"{}\" r=\"{}\"{}", name, x + 0.5, y + 0.5, node / 2.0, end);
  return fmt::format("<{} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}", name, x - node / 2, y - node / 2, node, node, end);
}

/// The numbers of a row in one element, each digit at a place of its own.
struct numbers {
  std::string places, digits;
  std::string narrow_places, narrow_digits;  ///< for numbers of three digits and more, which are smaller to fit the circle

  void put(int x, std::string_view number) {
    const bool is_narrow = number.size() > 2;
    const double wide = is_narrow ? 9.6 / static_cast<double>(number.size()) : 4.6;
    std::string& to = is_narrow ? narrow_places : places;
    double at = x + 0.5 - wide / 2 * static_cast<double>(number.size());
    for (const char digit : number) {
      to += fmt::format("{}{:.1f}", to.empty() ? "" : " ", at);
      (is_narrow ? narrow_digits : digits) += digit;
      at += wide;
    }
  }
  std::string text(int y, const std::string& style) const {
    std::string all;
    if (!digits.empty()) all += fmt::format("<text y=\"{}\" class=\"{}\" x=\"{}\">{}</text>\n", y + 3, style, places, digits);
    if (!narrow_digits.empty())
      all += fmt::format("<text y=\"{}\" class=\"{} narrow\" x=\"{}\">{}</text>\n", y + 2, style, narrow_places, narrow_digits);
    return all;
  }
};

/// Every step that makes the same value in one row: atomics, or threads that race.
struct made_value {
  std::vector<const value_step*> by;
  bool reaches_result = false;
};

class values_drawing {
 public:
  values_drawing(const block_trace& t, std::string_view main_file)
      : trace_(t), main_file_(main_file), columns_(columns_of(t)) {
    for (const value_row& row : t.rows)
      for (const std::string& words : words_of(row)) left_ = std::max(left_, 12 + 6 * static_cast<int>(words.size()));
    if (std::any_of(t.rows.begin(), t.rows.end(), [&](const value_row& r) { return words_of(r).size() > 2; })) height_ = 46;
  }

  drawing made() {
    drawing d;
    if (columns_ == 0 || trace_.rows.empty()) return d;
    d.width = left_ + static_cast<int>(columns_) * step + 8;
    d.body = text(0, 12, "soft", "thread, or place");
    for (unsigned k = 0; k < columns_; k += 8) d.body += text(x_of(k) - 3, 12, "soft", std::to_string(k));
    for (const value_row& row : trace_.rows) {
      add(row);
      y_ += height_;
    }
    d.body += lines_ + nodes_ + legend(d.width);
    d.height = y_ + 4;
    return d;
  }

 private:
  int x_of(unsigned index) const { return left_ + static_cast<int>(index) * step + step / 2; }

  void add(const value_row& row) {
    std::map<holder, made_value> made;
    std::string lines[3], nodes[4];  // the warps' two colours, pale, and what races
    numbers strong, pale;
    const bool has_elements = loads_apart(row), is_racing = racing_steps(row) != 0;
    std::map<std::uint64_t, holder> written;  // that several threads write: drawn where the first of them is
    for (const value_step& s : row.steps) {
      if (!is_drawn(s, columns_)) continue;
      const holder to = is_racing ? written.try_emplace(s.address, s.to).first->second : s.to;
      made_value& m = made[to];
      m.by.push_back(&s);
      m.reaches_result |= s.reaches_result;
      std::string& line = lines[s.reaches_result ? colour_of(s.thread) : 2];
      for (const holder& f : s.from)
        if (f.index < columns_) line += fmt::format("M{} {}L{} {}", x_of(f.index), y_from(f), x_of(to.index), y_);
      for (unsigned k = 0; has_elements && k < s.neighbours && s.thread + k < columns_; ++k) {  // above the row, at their own columns
        const int x = x_of(s.thread + k), y = y_ - 15;
        line += fmt::format("M{} {}L{} {}M{} {}h4v4h-4z", x, y, x_of(to.index), y_, x - 2, y - 4);
      }
    }
    for (const auto& [to, m] : made) {
      const value_step& first = *m.by.front();
      const int x = x_of(to.index);
      const bool alone = m.by.size() == 1;
      nodes[is_racing && !alone ? 3 : m.reaches_result ? colour_of(first.thread) : 2] += shape(
          to, x, y_, step_in_words(row, first) + (alone ? "" : fmt::format(" and {} more", m.by.size() - 1)));
      (m.reaches_result ? strong : pale).put(x, alone ? std::to_string(first.thread) : "*");
      last_[to] = y_;
    }
    constexpr std::string_view line_styles[] = {"line0", "line1", "pale"}, fills[] = {"warp0", "warp1", "palefill", "badfill"};
    for (const int k : {2, 0, 1, 3}) {
      if (k < 3) lines_ += path(line_styles[k], lines[k]);
      if (!nodes[k].empty()) nodes_ += fmt::format("<g class=\"{}\">\n{}</g>\n", fills[k], nodes[k]);
    }
    nodes_ += pale.text(y_, "by") + strong.text(y_, "by on");
    int y = y_ - 4;
    for (const std::string& words : words_of(row)) {
      nodes_ += text(0, y, y < y_ ? "ink" : "soft", words);
      y += 12;
    }
  }

  /// What stands at the left of a row, line by line.
  std::vector<std::string> words_of(const value_row& row) const {
    std::vector<std::string> all{row_title(row, main_file_), threads_of(row)};
    if (const std::string notes = notes_of(row, columns_); !notes.empty()) all.push_back(notes);
    return all;
  }

  /// Where a value was made; of one that was there before, a little above.
  int y_from(const holder& h) const {
    const auto at = last_.find(h);
    return at != last_.end() ? at->second : std::max(y_ - height_ / 2, top - 8);
  }

  std::string legend(int& width) {
    std::string all;
    int x = 0;
    const auto add = [&](std::string_view fill, const std::string& what, std::string_view words) {
      all += fmt::format("<g class=\"{}\">{}</g>\n", fill, what) + text(x + node + 4, y_ + 4, "soft", words);
      x += node + 18 + 6 * static_cast<int>(words.size());
    };
    const auto dot = [&](bool in_shared) { return shape({in_shared, 0}, x + node / 2, y_); };
    const bool shared = std::any_of(trace_.rows.begin(), trace_.rows.end(), [](const value_row& r) {
      return std::any_of(r.steps.begin(), r.steps.end(), [](const value_step& s) { return s.to.in_shared; });
    });
    add("warp0", dot(false), "registers of a thread");
    if (shared) add("warp0", dot(true), "place of shared memory; the number in it: the thread that writes");
    if (columns_ > 32) {
      add("warp0", dot(shared), "warp 0");
      add("warp1", dot(shared), "warp 1");
    }
    add("palefill", dot(shared), "not in the result");
    width = std::max(width, x);
    y_ += node;
    return all;
  }

  const block_trace& trace_;
  std::string_view main_file_;
  unsigned columns_;
  int left_ = 150, height_ = 36, y_ = top + 8;
  std::string lines_, nodes_;  // nodes lie over all lines
  std::map<holder, int> last_;  // where a value was made: y
};

}  // namespace

drawing draw_values(const block_trace& t, std::string_view main_file) { return values_drawing(t, main_file).made(); }

}  // namespace lens
