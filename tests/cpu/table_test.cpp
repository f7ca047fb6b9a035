// SPDX-License-Identifier: Apache-2.0
// The run-time table agrees with the compile-time types, and docs/reductions.md with the table.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include <warpfold/warpfold.hpp>

#include "reductions_page.hpp"

namespace wf::test {
namespace {

template <op O, class T>
void check() {
  const dtype type = dtype_of<T>;
  const cpu::erased* found = find_builtin(O, type, accuracy::exact);
  EXPECT_EQ(found != nullptr, (takes<O, T>)) << properties_of(O).name << " of " << info(type).name;
  EXPECT_EQ(find_builtin(O, type, accuracy::fast) != nullptr, found != nullptr);
  if constexpr (takes<O, T>) {
    if (found == nullptr) return;
    const result_kind kind = result_of_builtin(O, type);
    EXPECT_EQ(found->result_size, sizeof(result<O, T>)) << properties_of(O).name << " of " << info(type).name;
    EXPECT_EQ(info(kind.type).size * static_cast<std::size_t>(kind.values), sizeof(result<O, T>));
    if constexpr (element<result<O, T>>) {
      EXPECT_EQ(kind.type, (dtype_of<result<O, T>>));
    }
    EXPECT_EQ(found->inputs, O == op::dot ? 2 : 1);
  }
}

template <std::size_t... K>
void check_all(std::index_sequence<K...>) {
  const auto one = []<op O>() {
    check<O, f16>(), check<O, bf16>(), check<O, float>(), check<O, double>();
    check<O, std::int8_t>(), check<O, std::int16_t>(), check<O, std::int32_t>(), check<O, std::int64_t>();
    check<O, std::uint8_t>(), check<O, std::uint16_t>(), check<O, std::uint32_t>(), check<O, std::uint64_t>();
    check<O, bool>(), check<O, c64>(), check<O, c128>();
  };
  (one.template operator()<static_cast<op>(K)>(), ...);
}

TEST(table, agrees_with_the_types) { check_all(std::make_index_sequence<op_count>()); }

TEST(table, names_are_found) {
  for (int k = 0; k < op_count; ++k)
    EXPECT_EQ(op_named(properties_of(static_cast<op>(k)).name), static_cast<op>(k));
  EXPECT_EQ(op_named("median"), std::nullopt);
}

TEST(table, docs_are_current) {
  std::ifstream file(WARPFOLD_REDUCTIONS_PAGE);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), reductions_page()) << "write it anew: reductions_page > docs/reductions.md";
}

}  // namespace
}  // namespace wf::test
