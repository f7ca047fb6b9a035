// SPDX-License-Identifier: Apache-2.0
// io/*.hpp: arrays in files, read without trust, reduced where they lie, and written. Links warpfold::io.
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <warpfold/io/array_file.hpp>
#include <warpfold/io/input.hpp>
#include <warpfold/io/npy.hpp>
#include <warpfold/io/reduce.hpp>
#include <warpfold/io/text.hpp>

#include "expect.hpp"

namespace {

void write_and_reduce(const std::string& path) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const std::int64_t shape[] = {2, 3};
  wf::io::write_npy(path, wf::dtype::f32, shape, std::as_bytes(std::span(values)));

  wf::io::array_file file = wf::io::array_file::open(path);
  const wf::io::array_layout layout = file.layout();
  expect(layout.type == wf::dtype::f32 && layout.order == wf::native_order && !layout.fortran && layout.count == 6 && layout.data_bytes() == 24);
  expect(wf::io::shape_text(layout.shape) == "(2, 3)" && layout.offset % 64 == 0 && file.size_known() && file.mapped() && file.name() == path);

  wf::io::reduce_options options;
  options.axes = wf::axis{1};
  options.context.threads = 1;
  options.correction = 0;
  std::atomic<std::uint64_t> read = 0;
  options.progress = &read;
  const wf::io::reduced r = wf::io::reduce(wf::op::sum, file, options);
  expect(r.operation == wf::op::sum && r.elements == wf::dtype::f32 && r.count == 6 && r.shape == wf::extents{2} && r.answers() == 2 && read == 24);
  expect(r.kind.type == wf::dtype::f32 && r.values.size() == 8 && wf::io::value_text(r.kind.type, r.value(1)) == "15");

  // All elements as bytes of any alignment; a pipe gives pieces.
  wf::io::array_file again = wf::io::array_file::open(path);
  const std::span<const std::byte> bytes = again.next();
  expect(bytes.size() == 24 && again.next().empty() && wf::io::array_file::piece == std::size_t{8} << 20);
}

void raw_and_in_memory() {
  const std::vector<std::int64_t> numbers(3, INT64_MAX);
  wf::io::raw_format raw{.type = wf::dtype::i64};        // what the bytes cannot tell of themselves
  raw.order = wf::native_order;
  raw.offset = 0;
  wf::io::array_file file = wf::io::array_file::from(wf::io::input::in_memory(std::as_bytes(std::span(numbers)), "numbers"), raw);
  wf::io::reduce_options options;
  options.check_overflow = true;
  const wf::io::reduced r = wf::io::reduce(wf::op::sum, file, options);
  expect(r.overflows() == 1 && wf::io::true_integer_text(r.kind.type, r.checks[0]) == "27670116110564327421");
}

void bytes(const std::string& path) {
  const wf::io::input in = wf::io::input::open(path);
  expect(in.name() == path && in.bytes().has_value());
  const std::span<const std::byte> content = *in.bytes(), start = content.first(wf::io::npy::prefix_size);
  expect(wf::io::npy::has_magic(start));
  const std::size_t header = wf::io::npy::header_size(start);
  expect(header <= wf::io::npy::max_header && wf::io::npy::parse_header(content.first(header)).shape.size() <= wf::io::npy::max_dimensions);

  // A pipe has no bytes(): it is read piece by piece.
  int ends[2];
  expect(pipe(ends) == 0 && write(ends[1], "three", 5) == 5 && close(ends[1]) == 0);
  wf::io::input from_pipe = wf::io::input::open("/dev/fd/" + std::to_string(ends[0]));
  std::byte room[8];
  expect(!from_pipe.bytes() && from_pipe.read(room) == 5 && from_pipe.read(room) == 0);
  expect(thrown_by<wf::error>([] { wf::io::input::open("/no/such/file"); }).code() == wf::errc::io);
}

void text() {
  expect(wf::io::shortest(0.1) == "0.1" && wf::io::shortest(0.1F) == "0.1" && wf::io::shortest(wf::f16(0.1F)) == "0.1");
  expect(wf::io::shortest(wf::bf16(1e30F)) == "1e+30");
  expect(wf::io::quoted("a\nb") == "'a\\x0ab'" && wf::io::printable_name("a\tb.npy") == "a\\x09b.npy");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "example_of_files.npy";
  write_and_reduce(path);
  raw_and_in_memory();
  bytes(path);
  text();
  std::remove(path.c_str());
}
