// SPDX-License-Identifier: Apache-2.0
// What stands in a rung's page of the documents: nothing that depends on the compiler, so no basic blocks.
#include <fmt/format.h>

#include "report.hpp"
#include "words.hpp"

namespace lens {

std::string page_block(const explanation& e, const std::string& drawing_name) {
  if (e.on_host) return said("It runs on the host, so there is no kernel to count.") + "\n";
  std::string all = fmt::format("`warpfold explain {} --n {}{}`", e.name, e.asked.n,
                                e.is_stair ? "" : fmt::format(" --block {}", e.asked.block)) +
                    said(" on simt ([what the words mean](../lens.md#counters)):") + "\n\n| |";
  for (const std::string_view name : {"requests", "lanes", "sectors", "wavefronts", "conflicts"}) all += " " + said(name) + " |";
  all += "\n| --- | ---: | ---: | ---: | ---: | ---: |\n";
  for (const memory_row& row : memory_rows)
    for (const kernel_counts& k : e.kernels) {
      const memory_counts& m = k.total.*row.counts;
      if (m.requests == 0) continue;
      all += fmt::format("| {}{} | {} | {} |", said(row.name), e.kernels.size() > 1 ? ", `" + k.name + "`" : "", m.requests,
                         per(m.lanes, m.requests, 1));
      all += row.in_shared ? fmt::format(" | {} | {} |\n", m.wavefronts, m.conflicts())
                           : fmt::format(" {} | | |\n", m.sectors);
    }
  std::string rest;
  for (const kernel_counts& k : e.kernels)
    for (const named_count& n : other_counts_of(k)) {
      if (n.name == "lanes a basic block") continue;
      rest += (rest.empty() ? "" : ", ") + said(n.name) + " " + n.text;
    }
  if (e.kernels.size() <= 1) all += "\n" + rest + ".\n";
  if (!e.races.empty()) all += "\n" + said(fmt::format("It races: {} pair{} of lines.", e.races.size(), e.races.size() == 1 ? "" : "s")) + "\n";
  if (!drawing_name.empty()) all += fmt::format("\n![{}]({}drawings/{})\n", said("Drawn from the run"),
                                             page_language() == language::chinese ? "../../ladder/" : "", drawing_name);
  return all;
}

}  // namespace lens
