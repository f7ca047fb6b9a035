// SPDX-License-Identifier: Apache-2.0
#include "operations.hpp"

#include <simt/machine.hpp>

#if defined(__x86_64__)
#include <capstone/capstone.h>

#include <cstring>
#include <memory>
#include <set>
#include <string_view>

extern "C" {
void __sanitizer_cov_trace_pc();
void __sanitizer_cov_trace_pc_guard(std::uint32_t*);
}
#endif

namespace lens {

#if defined(__x86_64__)
namespace {

/// Enough for any basic block, and an end to what is none.
constexpr std::size_t most_instructions = 1 << 16;

class decoder {
 public:
  decoder() {
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) return;
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    instruction_.reset(cs_malloc(handle_));
  }
  ~decoder() {
    instruction_.reset();
    if (handle_ != 0) cs_close(&handle_);
  }
  decoder(const decoder&) = delete;
  decoder& operator=(const decoder&) = delete;

  /// The instruction at an address of this process; null if the bytes are none.
  const cs_insn* at(std::uintptr_t address) {
    constexpr std::size_t longest = 15;
    if (!instruction_) return nullptr;
    const auto* code = reinterpret_cast<const std::uint8_t*>(address);
    std::size_t size = longest;
    std::uint64_t place = address;
    return cs_disasm_iter(handle_, &code, &size, &place, instruction_.get()) ? instruction_.get() : nullptr;
  }

 private:
  struct release {
    void operator()(cs_insn* i) const { cs_free(i, 1); }
  };
  csh handle_ = 0;
  std::unique_ptr<cs_insn, release> instruction_;
};

bool has_group(const cs_insn& i, unsigned group) {
  for (unsigned k = 0; k < i.detail->groups_count; ++k)
    if (i.detail->groups[k] == group) return true;
  return false;
}

const cs_x86_op* operand(const cs_insn& i, unsigned k) {
  return k < i.detail->x86.op_count ? &i.detail->x86.operands[k] : nullptr;
}

x86_reg written_by(const cs_insn& i) {
  const cs_x86_op* to = operand(i, 0);
  return to != nullptr && to->type == X86_OP_REG ? to->reg : X86_REG_INVALID;
}

/// The target of a direct jump or call; 0 of others. A stub that jumps through a table, as the linker makes
/// for functions of shared libraries, is followed.
std::uintptr_t target_of(const cs_insn& i, decoder& other) {
  const cs_x86_op* to = operand(i, 0);
  if (to == nullptr || to->type != X86_OP_IMM) return 0;
  std::uintptr_t target = static_cast<std::uintptr_t>(to->imm);
  std::uintptr_t at = target;
  const cs_insn* first = other.at(at);
  if (first != nullptr && first->id == X86_INS_ENDBR64) first = other.at(at += first->size);
  if (first != nullptr && first->id == X86_INS_JMP) {
    const cs_x86_op* slot = operand(*first, 0);
    if (slot->type == X86_OP_MEM && slot->mem.base == X86_REG_RIP && slot->mem.index == X86_REG_INVALID)
      std::memcpy(&target, reinterpret_cast<const void*>(at + first->size + static_cast<std::uintptr_t>(slot->mem.disp)),
                  sizeof target);
  }
  return target;
}

bool is_mark(std::uintptr_t function) {
  return function == reinterpret_cast<std::uintptr_t>(&__sanitizer_cov_trace_pc) ||
         function == reinterpret_cast<std::uintptr_t>(&__sanitizer_cov_trace_pc_guard);
}

/// The operations by one instruction of the processor; FMA's forms are three for each of the orders of their operands.
unsigned arithmetic(const cs_insn& i) {
  std::string_view rest = i.mnemonic;
  if (rest.starts_with('v')) rest.remove_prefix(1);
  const auto is = [&](std::string_view word) { return rest.size() == word.size() + 2 && rest.starts_with(word); };
  unsigned each = 0;
  if (is("add") || is("sub") || is("mul") || is("div") || is("sqrt")) each = 1;
  else if (rest.starts_with("fmadd") || rest.starts_with("fmsub") || rest.starts_with("fnmadd") || rest.starts_with("fnmsub")) each = 2;
  else return 0;
  const std::string_view kind = rest.substr(rest.size() - 2);
  if (kind == "ss" || kind == "sd") return each;
  if (kind != "ps" && kind != "pd") return 0;
  const cs_x86_op* to = operand(i, 0);
  return to == nullptr ? 0 : each * to->size / (kind == "ps" ? 4u : 8u);
}

/// Integers of 64 bits without a sign: processors before AVX-512 convert signed ones, and compilers mend
/// the result by arithmetic that the source does not have.
class conversions {
 public:
  /// Whether the instruction behind `before` (null at a block's begin) is such arithmetic, with those that follow it.
  bool made(const cs_insn* before, const cs_insn& i, decoder& following) {
    const unsigned id = i.id;
    const bool doubles = (id == X86_INS_ADDSS || id == X86_INS_ADDSD) && operand(i, 1)->type == X86_OP_REG &&
                         operand(i, 1)->reg == written_by(i);
    if (doubles) return before != nullptr && (before->id == X86_INS_CVTSI2SS || before->id == X86_INS_CVTSI2SD) &&
                        written_by(*before) == written_by(i);
    if (id == X86_INS_SUBPD)  // both halves at once, added afterwards
      return halves_ = before != nullptr && (before->id == X86_INS_PUNPCKLDQ || before->id == X86_INS_UNPCKLPS);
    if (id == X86_INS_ADDSD && halves_) {
      halves_ = false;
      return true;
    }
    return (id == X86_INS_SUBSS || id == X86_INS_SUBSD) && to_unsigned(i, following);
  }

 private:
  /// x − 2^63, converted as signed, and the highest bit put back or chosen.
  static bool to_unsigned(const cs_insn& i, decoder& following) {
    const x86_reg value = written_by(i);
    const cs_x86_op& subtracted = *operand(i, 1);
    bool by_limit = false;
    if (subtracted.type == X86_OP_MEM && subtracted.mem.base == X86_REG_RIP && subtracted.mem.index == X86_REG_INVALID) {
      const auto* constant = reinterpret_cast<const void*>(i.address + i.size + static_cast<std::uintptr_t>(subtracted.mem.disp));
      float f = 0;
      double d = 0;
      if (i.id == X86_INS_SUBSS) std::memcpy(&f, constant, sizeof f);
      else std::memcpy(&d, constant, sizeof d);
      by_limit = f == 0x1p63f || d == 0x1p63;
    }
    std::uintptr_t at = i.address + i.size;
    const cs_insn* next = following.at(at);
    if (next == nullptr || (next->id != X86_INS_CVTTSS2SI && next->id != X86_INS_CVTTSD2SI) ||
        operand(*next, 1)->type != X86_OP_REG || operand(*next, 1)->reg != value || operand(*next, 0)->size != 8)
      return false;
    if (by_limit) return true;
    const x86_reg result = written_by(*next);
    for (int k = 0; k < 3; ++k) {
      next = following.at(at += next->size);
      if (next == nullptr) return false;
      if ((next->id == X86_INS_BTC || next->id == X86_INS_XOR) && written_by(*next) == result) return true;
    }
    return false;
  }

  bool halves_ = false;
};

}  // namespace

bool reads_operations() { return true; }

std::vector<operation> operations_of_block(std::uintptr_t site) {
  static thread_local decoder here, there, ahead;
  std::vector<operation> found;
  std::vector<std::uintptr_t> paths{site + 1};  // a site is its call's return address, less one
  std::set<std::uintptr_t> seen;
  while (!paths.empty()) {
    std::uintptr_t at = paths.back();
    paths.pop_back();
    conversions mended;
    std::uintptr_t before = 0;
    while (seen.size() < most_instructions && seen.insert(at).second) {
      const cs_insn* i = here.at(at);
      if (i == nullptr || has_group(*i, CS_GRP_RET) || has_group(*i, CS_GRP_INT)) break;
      const std::uintptr_t next = at + i->size;
      if (has_group(*i, CS_GRP_CALL)) {
        const std::uintptr_t function = target_of(*i, there);
        if (is_mark(function)) break;
        if (const unsigned n = simt::operations_of_call(function); n != 0) found.push_back({at, n});
      } else if (has_group(*i, CS_GRP_JUMP)) {
        const cs_x86_op* to = operand(*i, 0);
        const bool always = i->id == X86_INS_JMP;
        if (to != nullptr && to->type == X86_OP_IMM) paths.push_back(static_cast<std::uintptr_t>(to->imm));
        if (always) break;
      } else if (const unsigned n = arithmetic(*i); n != 0) {
        if (!mended.made(before == 0 ? nullptr : there.at(before), *i, ahead)) found.push_back({at, n});
      }
      before = at;
      at = next;
    }
  }
  return found;
}

#else

bool reads_operations() { return false; }
std::vector<operation> operations_of_block(std::uintptr_t) { return {}; }

#endif

}  // namespace lens
