// SPDX-License-Identifier: Apache-2.0
// The run-time table agrees with the compile-time types, and docs/reductions.md with the table.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <sstream>

#include <warpfold/warpfold.hpp>

#include "reductions_page.hpp"

namespace wf::test {
namespace {

// What the types say of an operation and an element type.
struct typed {
  bool takes;
  std::size_t size;  // the answer's
  int type;          // the dtype of an answer of one value, else -1
  bool checked_too;
};
using typed_row = std::array<typed, dtypes.size()>;

template <op O, class T>
constexpr typed said() {
  if constexpr (takes<O, T>) {
    using answer = result<O, T>;
    int type = -1;
    if constexpr (element<answer>) type = static_cast<int>(dtype_of<answer>);
    return {true, sizeof(answer), type, can_overflow<O> && integer<T>};
  } else {
    return {false, 0, -1, false};
  }
}
template <op O, class... T>
constexpr typed_row row_of() { return {said<O, T>()...}; }
template <std::size_t... K>
constexpr auto rows(std::index_sequence<K...>) {
  return std::array{row_of<static_cast<op>(K), f16, bf16, float, double, std::int8_t, std::int16_t, std::int32_t,
                           std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool, c64, c128>()...};
}

TEST(table, agrees_with_the_types) {
  static constexpr auto all = rows(std::make_index_sequence<op_count>());
  for (int k = 0; k < op_count; ++k) {
    for (std::size_t d = 0; d < dtypes.size(); ++d) {
      const op o = static_cast<op>(k);
      const dtype type = static_cast<dtype>(d);
      const typed& t = all[static_cast<std::size_t>(k)][d];
      SCOPED_TRACE(std::string(properties_of(o).name) + " of " + std::string(info(type).name));
      const cpu::erased* found = find_builtin(o, type, accuracy::exact);
      EXPECT_EQ(found != nullptr, t.takes);
      EXPECT_EQ(find_builtin(o, type, accuracy::fast) != nullptr, t.takes);
      EXPECT_EQ(find_checked(o, type) != nullptr, t.checked_too);
      if (found == nullptr || !t.takes) continue;
      const result_kind kind = result_of_builtin(o, type);
      EXPECT_EQ(found->result_size, t.size);
      EXPECT_EQ(info(kind.type).size * static_cast<std::size_t>(kind.values), t.size);
      if (t.type >= 0) {
        EXPECT_EQ(static_cast<int>(kind.type), t.type);
      }
      EXPECT_EQ(found->inputs, inputs_of(o));
      if (t.checked_too) {
        EXPECT_EQ(find_checked(o, type)->result_size, sizeof(checked<std::uint64_t>));
      }
    }
  }
}

// What programs were compiled with, and what states on their way say: new operations come after these.
TEST(table, numbers_stay) {
  const char* const first[] = {"sum", "mean", "prod", "var", "std", "mean_var", "sum_of_squares", "norm1", "norm2", "norm_inf", "dot",
                               "min", "max", "minmax", "argmin", "argmax", "any", "all", "count", "count_nonzero", "logsumexp"};
  ASSERT_GE(op_count, static_cast<int>(std::size(first)));
  for (std::size_t k = 0; k < std::size(first); ++k) {
    EXPECT_STREQ(op_names[k], first[k]);
    EXPECT_EQ(operations[k].what, static_cast<op>(k));
  }
}

TEST(table, names_are_found) {
  for (int k = 0; k < op_count; ++k)
    EXPECT_EQ(op_named(properties_of(static_cast<op>(k)).name), static_cast<op>(k));
  EXPECT_EQ(op_named("norm"), op::norm2);
  EXPECT_EQ(op_named("median"), std::nullopt);
}

TEST(table, has_nothing_beyond_its_ends) {
  const auto op_beyond = static_cast<op>(op_count);
  const auto type_beyond = static_cast<dtype>(dtypes.size());
  EXPECT_EQ(find_builtin(op_beyond, dtype::f32, accuracy::exact), nullptr);
  EXPECT_EQ(find_builtin(op::sum, type_beyond, accuracy::fast), nullptr);
  EXPECT_THROW(builtin(op_beyond, dtype::f32, accuracy::exact), error);
  EXPECT_THROW(builtin(static_cast<op>(255), static_cast<dtype>(255), accuracy::exact), error);
  EXPECT_THROW(builtin(op::sum, type_beyond, accuracy::exact), error);
  EXPECT_EQ(find_checked(op_beyond, dtype::i32), nullptr);
  EXPECT_EQ(find_checked(op::sum, type_beyond), nullptr);
  EXPECT_EQ(inputs_of(op_beyond), 1);
}

TEST(table, docs_are_current) {
  std::ifstream file(WARPFOLD_REDUCTIONS_PAGE);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), reductions_page()) << "write it anew: reductions_page > docs/reductions.md";
}

}  // namespace
}  // namespace wf::test
