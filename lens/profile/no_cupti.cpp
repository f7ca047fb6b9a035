// SPDX-License-Identifier: Apache-2.0
// Where the toolkit has no headers of CUPTI.
#include "activity.hpp"
#include "hardware.hpp"
#include "unavailable.hpp"

namespace lens::profile {
namespace {

[[noreturn]] void refuse() {
  throw unavailable("this program was built where CUPTI's headers were not; install the CUDA toolkit's CUPTI and build again");
}

}  // namespace

struct recording::state {};
recording::recording() { refuse(); }
recording::~recording() = default;
void recording::open() {}
void recording::close() {}
trace recording::finish() { refuse(); }

metric_check check_metrics(const std::string&, std::span<const std::string_view>) { refuse(); }
counted count_kernels(const std::function<void()>&, bool, std::size_t) { refuse(); }

}  // namespace lens::profile
