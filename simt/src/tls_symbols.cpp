// SPDX-License-Identifier: Apache-2.0
#include "tls_symbols.hpp"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>

namespace simt::detail {

namespace {

void read_table(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, std::vector<tls_symbol>& found) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, i, &symbol) == nullptr) break;
    if (GELF_ST_TYPE(symbol.st_info) != STT_TLS || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    found.push_back({symbol.st_value, symbol.st_size, name ? name : ""});
  }
}

}  // namespace

std::vector<tls_symbol> read_tls_symbols(const std::string& file) {
  std::vector<tls_symbol> full, dynamic;
  elf_version(EV_CURRENT);
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return full;
  if (Elf* elf = elf_begin(descriptor, ELF_C_READ_MMAP, nullptr)) {
    Elf_Scn* section = nullptr;
    while ((section = elf_nextscn(elf, section)) != nullptr) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) == nullptr) continue;
      if (header.sh_type == SHT_SYMTAB) read_table(elf, section, header, full);
      if (header.sh_type == SHT_DYNSYM) read_table(elf, section, header, dynamic);
    }
    elf_end(elf);
  }
  close(descriptor);
  if (full.empty()) full = std::move(dynamic);
  std::sort(full.begin(), full.end(),
            [](const tls_symbol& a, const tls_symbol& b) { return a.offset < b.offset; });
  return full;
}

}  // namespace simt::detail
