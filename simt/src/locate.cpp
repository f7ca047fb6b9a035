// SPDX-License-Identifier: Apache-2.0
// From an instruction to its source line, by the debug information of the running program (libdw).
#include <simt/machine.hpp>

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace simt {

namespace {

struct session_end {
  void operator()(Dwfl* d) const { dwfl_end(d); }
};
using session = std::unique_ptr<Dwfl, session_end>;

session open_program() {
  static char* no_path = nullptr;
  static const Dwfl_Callbacks callbacks = {dwfl_linux_proc_find_elf, dwfl_standard_find_debuginfo, nullptr,
                                           &no_path};
  session s(dwfl_begin(&callbacks));
  if (!s) return s;
  dwfl_report_begin(s.get());
  if (dwfl_linux_proc_report(s.get(), getpid()) != 0) return nullptr;
  dwfl_report_end(s.get(), nullptr, nullptr);
  return s;
}

std::string demangled(const char* name) {
  if (!std::string_view(name).starts_with("_Z")) return name;  // `h` by itself would be an unsigned char
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : name;
}

// A kernel's author did not write the runtime's headers: blame the line that called into them.
bool is_runtime(std::string_view file) {
  return file.starts_with("/usr/") || file.starts_with("simt/include/") || file.find("/simt/include/") != std::string_view::npos;
}

std::string shortened(std::string_view file) {
#ifdef SIMT_SOURCE_ROOT
  constexpr std::string_view root = SIMT_SOURCE_ROOT "/";
  if (file.starts_with(root)) file.remove_prefix(root.size());
#endif
  return std::string(file);
}

/// clang writes no table from addresses to units, which dwfl_module_addrdie wants: it finds nothing, or among
/// objects of g++ the unit whose code ends before the address.
Dwarf_Die* unit_of(Dwfl_Module* module, Dwarf_Addr pc, Dwarf_Addr* bias) {
  if (Dwarf_Die* unit = dwfl_module_addrdie(module, pc, bias); unit != nullptr && dwarf_haspc(unit, pc - *bias) > 0)
    return unit;
  Dwarf_Die* unit = nullptr;
  while ((unit = dwfl_module_nextcu(module, unit, bias)) != nullptr)
    if (dwarf_haspc(unit, pc - *bias) > 0) return unit;
  return nullptr;
}

const char* call_file(Dwarf_Die* unit, Dwarf_Die* inlined) {
  Dwarf_Attribute attribute;
  Dwarf_Word index = 0;
  Dwarf_Files* files = nullptr;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &index) != 0) return nullptr;
  if (dwarf_getsrcfiles(unit, &files, nullptr) != 0) return nullptr;
  return dwarf_filesrc(files, index, nullptr, nullptr);
}

int call_line(Dwarf_Die* inlined) {
  Dwarf_Attribute attribute;
  Dwarf_Word line = 0;
  return dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) == 0 ? static_cast<int>(line)
                                                                                       : 0;
}

// The name with template arguments and without parameters, as far as the compiler tells: `tree_sum<float>`.
std::string function_name(Dwarf_Die* function) {
  if (const char* text = dwarf_diename(function)) return text;
  Dwarf_Attribute attribute;
  const char* text = dwarf_formstring(dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute));
  return text ? demangled(text) : "";
}

/// The function that holds the address, then what was inlined into it there, from outside in. (libdw's own
/// dwarf_getscopes leaves the chain of calls at an inlined function, and finds nothing in clang's units.)
bool enclosing(Dwarf_Die* parent, Dwarf_Addr pc, std::vector<Dwarf_Die>& chain) {
  Dwarf_Die child;
  if (dwarf_child(parent, &child) != 0) return false;
  do {
    switch (dwarf_tag(&child)) {
      case DW_TAG_namespace:
      case DW_TAG_structure_type:
      case DW_TAG_class_type:
        if (enclosing(&child, pc, chain)) return true;
        break;
      case DW_TAG_subprogram:
      case DW_TAG_inlined_subroutine:
      case DW_TAG_lexical_block:
        if (dwarf_haspc(&child, pc) <= 0) break;
        chain.push_back(child);
        enclosing(&child, pc, chain);
        return true;
      default: break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

/// The place by the line table, and out of what was inlined from the runtime. It lacks the function.
source_line blamed(Dwarf_Die* unit, Dwarf_Addr pc, std::vector<Dwarf_Die>& chain) {
  source_line found;
  if (Dwarf_Line* line = dwarf_getsrc_die(unit, pc)) {
    if (const char* file = dwarf_linesrc(line, nullptr, nullptr)) found.file = file;
    dwarf_lineno(line, &found.line);
    dwarf_linecol(line, &found.column);
  }
  chain.clear();
  enclosing(unit, pc, chain);
  for (auto scope = chain.rbegin(); scope != chain.rend() && dwarf_tag(&*scope) != DW_TAG_subprogram; ++scope) {
    if (dwarf_tag(&*scope) != DW_TAG_inlined_subroutine || !is_runtime(found.file)) continue;
    const char* file = call_file(unit, &*scope);
    if (file == nullptr) break;
    found.file = file;
    found.line = call_line(&*scope);
    found.column = 0;
  }
  return found;
}

source_line look_up(Dwfl* program, Dwarf_Addr pc) {
  source_line found;
  Dwfl_Module* module = dwfl_addrmodule(program, pc);
  if (module == nullptr) return found;
  Dwarf_Addr bias = 0;
  std::string symbol;
  if (const char* name = dwfl_module_addrname(module, pc)) symbol = demangled(name);
  if (Dwarf_Die* unit = unit_of(module, pc, &bias)) {
    std::vector<Dwarf_Die> chain, before;
    found = blamed(unit, pc - bias, chain);
    const auto function = std::find_if(chain.rbegin(), chain.rend(), [](Dwarf_Die& scope) {
      return dwarf_tag(&scope) == DW_TAG_subprogram;
    });
    if (function != chain.rend()) {
      if (std::string name = function_name(&*function); !name.empty()) symbol = std::move(name);
      // The mark of the basic block behind a call has the call's line, but not its scope: blame what
      // stands before.
      constexpr Dwarf_Addr near = 64;
      for (Dwarf_Addr back = 1; back <= near && is_runtime(found.file) && dwarf_haspc(&*function, pc - bias - back) > 0; ++back)
        if (source_line earlier = blamed(unit, pc - bias - back, before); !is_runtime(earlier.file)) found = std::move(earlier);
    }
    found.file = shortened(found.file);
  }
  found.function = std::move(symbol);
  return found;
}

}  // namespace

source_line locate(std::uintptr_t instruction) {
  static std::mutex guard;
  static std::unordered_map<std::uintptr_t, source_line> cache;
  static session program;
  const std::lock_guard lock(guard);
  if (auto it = cache.find(instruction); it != cache.end()) return it->second;
  // An address of no module that is known is perhaps in a library loaded since.
  if (!program || dwfl_addrmodule(program.get(), instruction) == nullptr) program = open_program();
  return cache[instruction] = program ? look_up(program.get(), instruction) : source_line{};
}

source_line locate_next(std::uintptr_t instruction) {
  constexpr std::uintptr_t far = 256;
  const source_line here = locate(instruction);
  for (std::uintptr_t ahead = 1; ahead < far && here.line == 0 && !here.file.empty(); ++ahead)
    if (source_line next = locate(instruction + ahead); next.line != 0 && next.function == here.function) return next;
  return here;
}

}  // namespace simt
