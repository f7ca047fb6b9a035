// SPDX-License-Identifier: Apache-2.0
// What a page can say of a kernel has its words in Chinese: every form of every rule's advice, of the occupancy, the
// comparison and a program's launches.
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <lens/advice.hpp>
#include <lens/words.hpp>

namespace {

struct in_chinese {
  in_chinese() { setenv("WARPFOLD_LANG", "zh", 1); }
  ~in_chinese() { unsetenv("WARPFOLD_LANG"); }
  in_chinese(const in_chinese&) = delete;
  in_chinese& operator=(const in_chinese&) = delete;
};

/// As tests/docs/zh_test.py looks: names of files and of CUDA's functions stay.
bool is_english(const std::string& text) {
  static const std::regex names(R"([\w/.]+\.(cuh?|npy)\b|__\w+)"), words("[a-z]{3,} [a-z]{2,}|^[a-z]{4,}$");
  return std::regex_search(std::regex_replace(text, names, ""), words);
}

/// What stands in a page's list of advice, in Chinese.
void expect_chinese(const std::string& english) {
  const in_chinese language;
  const std::string page = lens::in_page_language("<li>" + english + "</li>");
  EXPECT_FALSE(is_english(page.substr(4, page.size() - 9))) << english << "\n" << page;
}

template <class Place>
lens::request request_of(unsigned size, const Place& place) {
  lens::request r;
  r.mask = ~0u;
  r.size = size;
  for (unsigned lane = 0; lane < 32; ++lane) r.address[lane] = 4096 + place(lane);
  return r;
}

lens::kernel_counts kernel_of(unsigned threads) {
  lens::kernel_counts k;
  k.name = "k";
  k.block[0] = threads;
  k.block[1] = k.block[2] = 1;
  return k;
}

/// The texts of a rule; all that is said of the kernel must be there in Chinese.
std::vector<std::string> texts(lens::rule r, const lens::kernel_counts& k, const lens::explanation& e = {}) {
  std::vector<std::string> found;
  for (const lens::advice& a : lens::advice_for(e, k)) {
    expect_chinese(std::string(lens::name_of(a.what)));
    expect_chinese(": " + a.text);
    if (a.what == r) found.push_back(a.text);
  }
  return found;
}

template <class Place>
std::string conflicts(unsigned size, const Place& place) {
  lens::kernel_counts k = kernel_of(256);
  k.worst_shared.what = request_of(size, place);
  k.worst_shared.where.line = 12;
  k.total.shared_load.requests = k.total.shared_load.ideal = 10;
  k.total.shared_load.wavefronts = 320;
  const auto all = texts(lens::rule::bank_conflicts, k);
  return all.empty() ? "nothing" : all.front().substr(all.front().find(": ") + 2);
}

TEST(lens_words, bank_conflicts) {
  EXPECT_EQ(conflicts(4, [](unsigned i) { return i * 128; }),
            "its lanes are 32 elements apart. Rows of 33 elements instead of 32 have no conflicts, nor has column c of row r at c ^ (r % 32), "
            "which needs no more memory, nor has element i at i + i / 32");
  EXPECT_EQ(conflicts(4, [](unsigned i) { return i * 256; }),
            "its lanes are 64 elements apart. Rows of 65 elements instead of 64 have no conflicts, nor has column c of row r at c ^ (r % 32), "
            "which needs no more memory");
  EXPECT_EQ(conflicts(8, [](unsigned i) { return i * 256; }),
            "its lanes are 32 elements apart. Rows of 33 elements instead of 32 have no conflicts, nor has element i at i + i / 32");
  EXPECT_EQ(conflicts(4, [](unsigned i) { return i * 160; }),
            "its lanes are 40 elements apart. Rows of 41 elements instead of 40 have no conflicts");
  EXPECT_EQ(conflicts(4, [](unsigned i) { return i * 8; }), "its lanes are 2 elements apart. Without conflicts is element i at i + i / 32");
  EXPECT_EQ(conflicts(8, [](unsigned i) { return i * 12; }),
            "its lanes are 12 bytes apart, which neither padding nor skewing cures: let neighbouring lanes take neighbouring elements");
  EXPECT_TRUE(conflicts(4, [](unsigned i) { return i * 37 * i % 61 * 128; }).starts_with("its lanes' places follow no one distance"));
}

TEST(lens_words, uncoalesced_accesses_and_the_roofline) {
  for (const bool load : {true, false})
    for (const bool even : {true, false}) {
      lens::kernel_counts k = kernel_of(256);
      k.worst_global.what = request_of(4, [&](unsigned i) { return even ? i * 32 : i * i * 64; });
      k.worst_global.is_load = load;
      k.worst_global.where.line = 7;
      k.total.global_load = {.requests = 10, .sectors = 320, .useful_bytes = 1280};
      k.total.flops = 320;
      EXPECT_EQ(texts(lens::rule::uncoalesced, k).size(), 1u);
      EXPECT_EQ(texts(lens::rule::memory_bound, k).size(), 1u);
    }
}

TEST(lens_words, divergence_and_atomics) {
  lens::line_counts line;
  line.where.line = 9;
  line.counted.divergent = 4;
  lens::kernel_counts k = kernel_of(256);
  k.lines.push_back(line);
  k.total.divergent = 4;
  k.total.blocks = 10;
  k.total.block_lanes = 40;
  EXPECT_EQ(texts(lens::rule::divergence, k).size(), 1u);
  k.total.block_lanes = 320;
  k.total.global_load = {.requests = 10, .lanes = 20};
  EXPECT_EQ(texts(lens::rule::divergence, k).size(), 1u);

  for (const std::uint64_t queue : {0u, 5u})
    for (const bool known : {true, false}) {
      lens::kernel_counts a = kernel_of(256);
      a.total.global_atomic = a.total.shared_atomic = {.requests = 10, .turns = 320};
      a.longest_queue = queue;
      line.counted = a.total;
      if (known) a.lines.push_back(line);
      EXPECT_EQ(texts(lens::rule::one_address, a).size(), 2u);
    }
}

TEST(lens_words, occupancy) {
  EXPECT_EQ(texts(lens::rule::occupancy, kernel_of(48)).size(), 1u);
  lens::kernel_counts few = kernel_of(32);
  few.shared_bytes = 200000;
  EXPECT_EQ(texts(lens::rule::occupancy, few).size(), 1u);
  few.shared_bytes = 60000;
  EXPECT_EQ(texts(lens::rule::occupancy, few).size(), 1u);
  std::set<std::string> limits;
  for (const auto& [threads, registers] : {std::pair{1024u, 32u}, {1024u, 64u}, {32u, 32u}})
    limits.emplace(lens::occupancy_of(threads, 0, registers).limit);
  limits.emplace(lens::occupancy_of(128, 48 * 1024).limit);
  EXPECT_EQ(limits.size(), 4u);
  for (const std::string& limit : limits) expect_chinese(": 2 blocks of 96 threads fit on a multiprocessor, 6 warps of 64: " + limit + " run out first; smaller blocks fill it better");
  expect_chinese(": 2 blocks of 96 threads fit on a multiprocessor, 6 warps of 64: blocks run out first; blocks of 64 threads and more fill it");
}

TEST(lens_words, missing_barriers_and_every_kind_of_access) {
  for (const char* space : {"shared", "global"})
    for (const char* access : {"read", "write", "volatile read", "volatile write", "atomic load", "atomic store", "atomic update",
                               "block-scope atomic load", "block-scope atomic store", "block-scope atomic update"})
      for (const int other : {5, 7, 9}) {
        lens::explanation e;
        ladder::race_pair r;
        r.kernel = "k";
        r.space = space;
        r.a.file = r.b.file = "x.cu";
        r.a.access = access;
        r.a.line = 7;
        r.b.access = "write";
        r.b.line = other;
        e.races.push_back(r);
        EXPECT_EQ(texts(lens::rule::missing_barrier, kernel_of(256), e).size(), 1u);
      }
}

TEST(lens_words, what_else_a_page_can_say) {
  for (const char* text :
       {"a multiprocessor of an H100 SXM holds 8 blocks at once, 64 warps of 64, with up to 32 registers a thread",
        "a multiprocessor of an H100 SXM holds 1 block at once, 4 warps of 64, with up to 255 registers a thread",
        "P · x.cu · 12 launches · 3 not explained, of more than 32 kinds · the program ended with status 1",
        "P · x.cu · 1 launch", "as in want.npy", "not as in want.npy: 3 of 1000 elements differ; element 5 is 1.5, expected 2",
        "Sectors of one load of 4 bytes, line 18: 15 touched, 4 would hold its bytes", "k: Sectors of one store of 8 bytes, line 3: 32 touched, 8 would hold its bytes",
        "sector 13, byte 416", "no counter is different", "gone: 2 launches", "1.5 times fewer pairs of lines that race", "1.3e+03 times more bank conflicts"})
    expect_chinese(text);
}

TEST(lens_words, are_those_of_the_glossary) {
  const in_chinese language;
  EXPECT_EQ(lens::in_page_language("<li><b>bank conflicts</b>: 310 of 320 passes over shared memory are bank conflicts, up to 2-way in line 12: its "
                                   "lanes are 2 elements apart. Without conflicts is element i at i + i / 32</li>"),
            "<li><b>存储体冲突</b>：共享内存的 320 轮里有 310 轮是存储体冲突，第 12 行最多 2 路：它的各通道相距 2 个元素。把元素 i 放在 i + i / "
            "32，就没有冲突</li>");
}

}  // namespace
