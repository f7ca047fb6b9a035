// SPDX-License-Identifier: Apache-2.0
// Files, read and reduced as a request says.
#include "reduce.hpp"

#include "option_text.hpp"
#include "progress.hpp"

#include <warpfold/error.hpp>
#include <warpfold/io/array_file.hpp>

#include <map>
#include <string>
#include <vector>

namespace cli {
namespace {

const std::map<std::string, wf::rounding> rounding_names{{"nearest", wf::rounding::nearest},
                                                         {"zero", wf::rounding::zero},
                                                         {"away", wf::rounding::away},
                                                         {"up", wf::rounding::up},
                                                         {"down", wf::rounding::down}};

}  // namespace

file_reducer::file_reducer(const reduction_command& what, const reduction_request& given) : what_(what), given_(given), operation_(what.operation) {
  options_.context.rounding = rounding_names.at(given.round);
  options_.context.accuracy = given.accuracy == "fast" ? wf::accuracy::fast : wf::accuracy::exact;
  options_.context.threads = given.threads;
  if (given.threads > 0) {
    pool_.emplace(given.threads);
    options_.context.executor = &*pool_;
  }
  options_.correction = given.correction;
  options_.check_overflow = what.operation == wf::op::sum || given.check_overflow;
  if (!given.axis.empty()) options_.axes = wf::axis(*axes_of(given.axis), given.keepdims);
  if (what.features & has_order && given.ord != "2")
    operation_ = given.ord == "1" ? wf::op::norm1 : wf::op::norm_inf;
  if (!given.dtype.empty())
    raw_ = {*wf::dtype_named(given.dtype),
            given.byte_order == "big" ? wf::byte_order::big : wf::byte_order::little, given.offset};
}

wf::io::reduced file_reducer::reduce(std::span<const std::string> paths) const {
  std::vector<wf::io::array_file> files;
  std::uint64_t bytes = 0;
  bool known = true;
  for (const std::string& path : paths) {
    files.push_back(wf::io::array_file::open(path, raw_));
    known = known && files.back().size_known();
    bytes += files.back().layout().data_bytes();
  }
  wf::io::reduce_options options = options_;
  if (given_.keepdims && !options.axes) {
    std::vector<int> all(files[0].layout().shape.size());
    for (std::size_t d = 0; d < all.size(); ++d) all[d] = static_cast<int>(d);
    options.axes = wf::axis(all, true);
  }
  progress_bar bar(files[0].name(), known ? bytes : 0);
  options.progress = &bar.done();
  wf::io::reduced r = files.size() == 1 ? wf::io::reduce(operation_, files[0], options)
                                        : wf::io::reduce(operation_, files[0], files[1], options);
  if (what_.features & needs_an_element && r.answers() > 0 && elements_of_each(r) == 0)  // no element is the least of none
    throw wf::error(wf::errc::bad_input, names_of(paths) + ": " + what_.name + " of no elements; it takes 1 or more for each answer");
  return r;
}

}  // namespace cli
