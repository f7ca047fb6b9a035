// SPDX-License-Identifier: Apache-2.0
// The named causes of differences between simt and hardware. A rule is as narrow as what was seen, so
// that a difference which nobody has looked at stays without a cause.
#include "causes.hpp"

namespace lens::profile {
namespace {

constexpr cause predication{
    "predication",
    "nvcc turns short branches into predicated instructions: lanes do not part, and no branch is "
    "counted."};

enum class direction : unsigned char { fewer, more, either };  // on the GPU

struct rule {
  std::string_view rung;     ///< its name without its variant; empty: any
  std::string_view dtype;    ///< empty: any
  std::string_view counter;  ///< its beginning
  direction which;
  const cause* why;
};

constexpr rule rules[] = {
    {"", "", "divergent", direction::fewer, &predication},
};

}  // namespace

const cause* cause_of(const std::string& rung, const std::string& dtype, std::string_view counter,
                      double simt, double gpu) {
  const std::string_view name = std::string_view(rung).substr(0, rung.find('/'));
  const direction seen = gpu < simt ? direction::fewer : direction::more;
  for (const rule& r : rules)
    if ((r.rung.empty() || r.rung == name) && (r.dtype.empty() || r.dtype == dtype) &&
        counter.starts_with(r.counter) && (r.which == direction::either || r.which == seen))
      return r.why;
  return nullptr;
}

}  // namespace lens::profile
