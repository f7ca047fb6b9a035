// SPDX-License-Identifier: Apache-2.0
#include "races.hpp"

#include <simt/machine.hpp>
#include <simt/race.hpp>

namespace ladder {
namespace {

race_line line_of(const simt::race_side& side) {
  const auto slash = side.where.file.rfind('/');
  // A rung's lines are shown with their path in the repository, others with the file's name alone.
  const std::string name =
      slash == std::string::npos ? side.where.file : side.where.file.substr(slash + 1);
  const bool ours = side.where.file.find("ladder/") != std::string::npos;
  return {ours ? "ladder/" + name : name, side.where.line, access_of(side)};
}

/// The options of this host thread, put back at the end.
class options_guard {
 public:
  options_guard() : before_(simt::current_options()) {}
  ~options_guard() { simt::current_options() = before_; }
  options_guard(const options_guard&) = delete;
  options_guard& operator=(const options_guard&) = delete;

 private:
  simt::options before_;
};

}  // namespace

simt::lane_schedule schedule_of(const rung_info& rung) {
  return rung.name == "race" ? simt::lane_schedule::lock_step : simt::lane_schedule::to_barrier;
}

watched_run run_watched(place& lens, wf::dtype type, std::size_t rung, const request& asked,
                        simt::block_order order) {
  simt::race_detector detector;
  const options_guard guard;
  simt::options& options = simt::current_options();
  options.order = order;
  options.schedule = schedule_of(lens.rungs(type)[rung]);
  options.watch = &detector;
  watched_run w;
  w.ran = lens.run(rung, asked);
  for (const simt::race& r : detector.races())
    w.races.push_back({r.kernel, r.where == simt::space::shared ? "shared" : "global", line_of(r.a),
                       line_of(r.b), r.count});
  return w;
}

}  // namespace ladder
