// SPDX-License-Identifier: Apache-2.0
// Files that must be refused with one line that says why: one named test each, over the files of
// tests/fuzz/corpus/npy, which tests/fuzz/make_corpus.py writes.
#include "npy_writer.hpp"

#include <warpfold/error.hpp>
#include <warpfold/io/array_file.hpp>
#include <warpfold/io/reduce.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace io = wf::io;

namespace {

const std::filesystem::path corpus = WARPFOLD_NPY_CORPUS;

struct wrong_file {
  const char* name;
  const char* says;
};

const wrong_file wrong_files[] = {
    {"nothing", "byte 0: the file is empty"},
    {"half_a_magic", "byte 4: the file ends in the magic"},
    {"wrong_magic", "byte 0: found '\\x93NUMPZ'"},
    {"text_file", "text, and no .npy file"},
    {"escape_sequences", "found '\\x1b[2J\\x1b['"},
    {"zip_archive", "a zip archive"},
    {"no_version", "byte 6: the file ends before its format version"},
    {"version_0", "byte 6: format version 0.0 is not known"},
    {"version_1_1", "byte 6: format version 1.1 is not known"},
    {"version_4", "byte 6: format version 4.0 is not known"},
    {"no_length", "byte 8: the file ends in its header's length"},
    {"half_a_length", "byte 10: the file ends in its header's length"},
    {"header_cut_off", "byte 40: the file ends in its header, which takes 128 bytes"},
    {"header_past_the_end", "byte 152: the file ends in its header, which takes 65545 bytes"},
    {"header_of_4_gib", "byte 8: a header of 4294967295 bytes"},
    {"header_of_a_mib_and_one", "byte 8: a header of 1048577 bytes"},
    {"header_of_length_0", "byte 10: found the header's end; the header must be a dictionary"},
    {"header_ends_in_the_dictionary", "byte 27: a string is not closed"},
    {"no_dictionary", "byte 10: found '[]"},
    {"dictionary_not_closed", "found the header's end; after a value comes"},
    {"empty_dictionary", "the header lacks 'descr'"},
    {"only_a_comma", "byte 11: found ',}"},
    {"two_commas", "byte 26: found ', "},
    {"no_colon", "byte 19: found ''<f8'"},
    {"key_without_quotes", "byte 11: found 'descr"},
    {"key_not_closed", "byte 11: a string is not closed"},
    {"missing_descr", "the header lacks 'descr'"},
    {"missing_order", "the header lacks 'fortran_order'"},
    {"missing_shape", "the header lacks 'shape'"},
    {"duplicate_descr", "byte 27: key 'descr' is there twice"},
    {"duplicate_order", "byte 51: key 'fortran_order' is there twice"},
    {"duplicate_shape", "byte 66: key 'shape' is there twice"},
    {"unknown_key", "byte 66: unknown key 'x'"},
    {"garbage_after_dictionary", "something follows the header's dictionary: 'import os"},
    {"two_dictionaries", "something follows the header's dictionary: '{"},
    {"nul_in_padding", "found '\\x00'; the header of a numeric array is printable ASCII"},
    {"not_ascii", "found '\\xc3'; the header of a numeric array is printable ASCII"},
    {"order_is_a_number", "'fortran_order' must be True or False"},
    {"order_in_small_letters", "'fortran_order' must be True or False"},
    {"order_runs_on", "byte 49: found 'hood"},
    {"descr_is_a_number", "byte 20: found '8"},
    {"descr_is_none", "byte 20: found 'None"},
    {"descr_empty", "type '' is not one"},
    {"descr_one_letter", "type 'f' is not one"},
    {"descr_without_byte_order", "type 'f8' has no byte order"},
    {"descr_spelled_out", "type 'float64' has no byte order"},
    {"descr_runs_on", "type '<f8x' cannot be reduced"},
    {"descr_with_backslash", "a backslash in '\\x3cf8'"},
    {"descr_calls", "found '__import__('os')'"},
    {"structured", "the elements are records"},
    {"sub_array", "the elements are records"},
    {"objects", "type '|O' means Python objects"},
    {"bf16_as_void", "if they are bf16, save the bytes alone and give --dtype bf16"},
    {"void", "type '|V8' cannot be reduced"},
    {"strings", "type '<U2' cannot be reduced"},
    {"bytes", "type '|S8' cannot be reduced"},
    {"dates", "type '<M8[ns]' cannot be reduced"},
    {"long_double", "type '<f16' cannot be reduced"},
    {"c32", "type '<c32' cannot be reduced"},
    {"f0", "type '<f0' cannot be reduced"},
    {"i3", "type '<i3' cannot be reduced"},
    {"shape_is_a_number", "'shape' must be a tuple"},
    {"shape_is_a_list", "'shape' must be a tuple"},
    {"shape_without_comma", "(n) is no tuple"},
    {"shape_only_a_comma", "a size is a decimal number"},
    {"shape_two_commas", "a size is a decimal number"},
    {"shape_without_a_comma_between", "'shape' must be a tuple"},
    {"shape_not_closed", "a size is a decimal number"},
    {"shape_nested", "a size is a decimal number"},
    {"size_negative", "a size in the shape is negative: '-3"},
    {"size_with_a_plus", "a size is a decimal number"},
    {"size_with_a_fraction", "'shape' must be a tuple"},
    {"size_hexadecimal", "'shape' must be a tuple"},
    {"size_with_a_leading_zero", "starts with 0"},
    {"size_with_underscore", "'shape' must be a tuple"},
    {"size_is_a_product", "'shape' must be a tuple"},
    {"size_is_a_word", "a size is a decimal number"},
    {"size_of_2_63", "a size in the shape does not fit 63 bits"},
    {"size_of_2_64_and_3", "a size in the shape does not fit 63 bits"},
    {"size_of_many_digits", "a size in the shape does not fit 63 bits"},
    {"bytes_of_2_63", "multiplied do not fit 63 bits"},
    {"product_wraps_to_3", "multiplied do not fit 63 bits"},
    {"product_overflows_beside_a_zero", "multiplied do not fit 63 bits"},
    {"sixty_five_dimensions", "more than 64 dimensions"},
    {"long_suffix_in_version_3", "found 'L,)"},
    {"data_missing", "byte 128: the data ends after 0 bytes; the shape (3,) of f64 takes 24 bytes"},
    {"data_a_byte_short", "byte 151: the data ends after 23 bytes"},
    {"data_a_byte_long", "byte 152: 1 byte too many at the end"},
    {"data_twice", "byte 152: 152 bytes too many at the end"},
    {"data_after_an_empty_array", "byte 128: 1 byte too many at the end"},
    {"data_of_an_exabyte_promised", "takes 800000000000000000 bytes from byte 128"},
};

void expect_one_line(const std::string& text) {
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c >= 0x20 && c < 0x7f;
  })) << text;
}

class malformed : public testing::TestWithParam<wrong_file> {};

TEST_P(malformed, is_refused) {
  const auto path = corpus / ("wrong_" + std::string(GetParam().name) + ".npy");
  ASSERT_TRUE(std::filesystem::exists(path)) << "run tests/fuzz/make_corpus.py";
  try {
    io::array_file::open(path.string());
    FAIL() << "was read";
  } catch (const wf::error& e) {
    const std::string text = e.what();
    EXPECT_EQ(e.code(), wf::errc::bad_input);
    expect_one_line(text);
    EXPECT_LT(text.size(), path.string().size() + 250) << text;
    EXPECT_TRUE(text.starts_with(path.string() + ": byte ")) << text;
    EXPECT_NE(text.find(GetParam().says), std::string::npos) << text;
  }
}

/// Through a pipe what is wrong with the data shows at its end only, and there are no positions.
TEST_P(malformed, is_refused_in_a_pipe) {
  std::ifstream in(corpus / ("wrong_" + std::string(GetParam().name) + ".npy"), std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(in), {}};
  const npy_writer::pipe_of pipe(std::as_bytes(std::span(content)));
  ASSERT_TRUE(pipe.ok);
  try {
    auto file = io::array_file::open(pipe.path);
    io::reduce(wf::op::sum, file);
    FAIL() << "was read";
  } catch (const wf::error& e) {
    EXPECT_EQ(e.code(), wf::errc::bad_input);
    expect_one_line(e.what());
  }
}

INSTANTIATE_TEST_SUITE_P(npy, malformed, testing::ValuesIn(wrong_files),
                         [](const auto& p) { return p.param.name; });

/// --dtype is the cure of raw binary alone.
TEST(other_formats, are_named_and_not_taken_for_raw_binary) {
  const std::pair<std::string, std::string> starts[] = {
      {std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10), "gzip"}, {"\x89HDF\r\n\x1a\n\0\0\0", "HDF5"}, {"PAR1\x15\x04\x15\x10", "Parquet"},
      {"1.5,2.5\n3,4\n", "text"}, {"a b c\r\n", "text"}};
  for (const auto& [start, kind] : starts) {
    try {
      io::npy::header_size(std::as_bytes(std::span(start)));
      FAIL() << kind << " was read";
    } catch (const wf::error& e) {
      const std::string text = e.what();
      EXPECT_NE(text.find(kind), std::string::npos) << text;
      EXPECT_EQ(text.find("--dtype"), std::string::npos) << text;
    }
  }
  const std::string raw("\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40", 12);
  try {
    io::npy::header_size(std::as_bytes(std::span(raw)));
    FAIL() << "raw binary was read";
  } catch (const wf::error& e) {
    EXPECT_NE(std::string(e.what()).find("for raw binary give --dtype"), std::string::npos) << e.what();
  }
}

TEST(corpus, every_wrong_file_has_its_test_and_every_right_one_is_read) {
  std::set<std::string> tested;
  for (const wrong_file& w : wrong_files) tested.insert("wrong_" + std::string(w.name) + ".npy");
  std::size_t right = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    const std::string name = entry.path().filename();
    EXPECT_TRUE(tested.contains(name) || name.starts_with("right_")) << name;
    if (!name.starts_with("right_")) continue;
    ++right;
    EXPECT_NO_THROW({
      auto file = io::array_file::open(entry.path().string());
      EXPECT_EQ(io::reduce(wf::op::sum, file).count, file.layout().count);
    }) << name;
  }
  EXPECT_GE(right, 21u);
}

TEST(places, that_are_no_files) {
  const auto refused = [](const std::string& path, wf::errc code, const char* says) {
    try {
      io::array_file::open(path, io::raw_format{wf::dtype::u8});
      ADD_FAILURE() << path << " was read";
    } catch (const wf::error& e) {
      EXPECT_EQ(e.code(), code);
      expect_one_line(e.what());
      EXPECT_NE(std::string(e.what()).find(says), std::string::npos) << e.what();
    }
  };
  refused("/no/such/file", wf::errc::io, "No such file");
  refused("/", wf::errc::bad_input, "is a directory");
  refused("/dev/zero", wf::errc::bad_input, "is a character device");
  refused("", wf::errc::io, "No such file");
  refused("/no/such\n\x1b[31mfile", wf::errc::io, "/no/such\\x0a\\x1b[31mfile");
  refused(std::string(5000, 'x'), wf::errc::io, "File name too long");
}

}  // namespace
