// SPDX-License-Identifier: Apache-2.0
#include "own_kernel.hpp"

#include <warpfold/error.hpp>
#include <warpfold/io/array_file.hpp>
#include <warpfold/io/text.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>

#include "interrupt.hpp"
#include "own_build.hpp"
#include "own_source.hpp"

namespace cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void does_not_compile(const own_kernel_request& q, const std::string& text, const fs::path& program, const std::string& log) {
  std::string said = first_error(log);
  refuse_known_mistake(q.file, said, log);
  if (said.starts_with(q.file) && said.find("the_kernel") == said.npos)
    throw wf::error(wf::errc::bad_input, said + "; simt compiles CUDA C++ as far as docs/simt.md says");
  const auto kernels = kernels_in(text);
  if (said.starts_with(program.string() + ":")) said = naming_mistake(q.kernel, kernels);
  if (said.empty()) said = log.substr(0, log.find('\n'));
  if (!kernels.empty()) said += "; kernels in the file: " + list_of(kernels);
  throw wf::error(wf::errc::bad_input, q.file + ", kernel " + q.kernel + ": " + said);
}

[[noreturn]] void does_not_link(const own_kernel_request& q, const std::string& log) {
  static const std::regex pattern("undefined reference to `([^']*)'");
  std::smatch found;
  if (std::regex_search(log, found, pattern))
    throw wf::error(wf::errc::bad_input, q.file + ": nothing defines " + found[1].str() +
                                             "; the file must hold, or include, all that its kernel calls");
  throw wf::error(wf::errc::bad_input, q.file + " cannot be linked: " + log.substr(0, log.find('\n')));
}

/// A build tree has simt's header precompiled, by the compiler of this program. g++ finds it beside the header that it
/// was made from; clang++ needs an option for that.
struct beginning {
  std::string include = "#include <cuda_runtime.h>\n";
  strings options;
};
beginning begin_with(const compiler& c, const surroundings& around) {
  const std::string header = the_toolchain.begin;
  std::error_code none;
  if (c.name != the_toolchain.compiler || around.includes != the_toolchain.includes || !fs::exists(header + (c.is_clang ? ".pch" : ".gch"), none)) return {};
  if (c.is_clang) return {"", {"-include-pch", header + ".pch"}};
  return {"#include \"" + header + "\"\n", {}};
}

/// main() in the user's file keeps its name from the program's.
std::string program_text(const own_kernel_request& q, const fs::path& prepared, const std::string& begin) {
  return begin + "#define main users_main\n#include \"" + prepared.string() +
         "\"\n#undef main\n#include <lens/own/own_kernel.hpp>\n"
         "int main(int argc, char** argv) {\n  constexpr auto the_kernel = &" + q.kernel +
         ";\n  return lens::own::run(argc, argv, lens::own::kernel_of(the_kernel));\n}\n";
}

std::string shared_text(const std::vector<shared_name>& names) {
  std::string text = "#include <simt/dynamic_shared.hpp>\n";
  for (const shared_name& n : names) {
    const std::string definition = "SIMT_DEFINE_DYNAMIC_SHARED(" + n.name + ")";
    const bool is_scoped = !n.scope.empty();
    text += is_scoped ? "namespace " + n.scope.substr(0, n.scope.size() - 2) + " {\n" + definition + "\n}\n" : definition + "\n";
  }
  return text;
}

std::string command_of(const own_kernel_request& q) {
  const auto extent = [](const auto& d) {
    return std::to_string(d[0]) + "x" + std::to_string(d[1]) + "x" + std::to_string(d[2]);
  };
  std::string text = "warpfold explain " + quoted_for_shell(q.file + ":" + q.kernel) + " --grid " + extent(q.grid) + " --block " + extent(q.block);
  if (!q.versus.empty()) text += " --vs " + quoted_for_shell(q.versus);
  if (q.shared != 0) text += " --shared " + std::to_string(q.shared);
  if (q.cooperative) text += " --cooperative";
  if (q.cluster != 1) text += " --cluster " + std::to_string(q.cluster);
  for (const std::string& a : q.arguments) text += " --arg " + quoted_for_shell(a);
  if (q.seed != 1) text += " --seed " + std::to_string(q.seed);
  if (!q.expect.empty()) text += " --expect " + quoted_for_shell(q.expect);
  return text;
}

nlohmann::json passed_on(const own_kernel_request& q) {
  return {{"file", q.file}, {"path", fs::absolute(q.file).string()}, {"kernel", q.kernel},
          {"html", absolute_or_none(q.html)}, {"svg", absolute_or_none(q.svg)}, {"kinds", q.kinds}, {"command", command_of(q)},
          {"grid", q.grid}, {"block", q.block}, {"shared", q.shared}, {"seed", q.seed},
          {"cluster", q.cluster}, {"cooperative", q.cooperative}, {"json", q.json}, {"arguments", q.arguments}, {"given", q.arguments},
          {"json_file", q.json_file}, {"versus_file", q.versus_file}, {"versus_name", q.versus_name}, {"quiet", q.is_quiet}, {"tolerance", q.tolerance}};
}

/// `out:x.npy` is the file's array, spelled f32[1000], and where its bytes lie in the folder.
struct array_in_file {
  std::string text;
  fs::path bytes;
};
std::string spelled(const wf::io::array_file& file, const std::string& path) {
  const wf::io::array_layout& layout = file.layout();
  if (layout.order != wf::native_order || wf::is_complex(layout.type))
    throw wf::error(wf::errc::bad_input, path + ": an array for a kernel is of real numbers, in this machine's order of bytes");
  return std::string(wf::info(layout.type).name) + "[" + std::to_string(layout.count) + "]";
}
array_in_file bring(const std::string& path, const fs::path& folder, const std::string& name) {
  wf::io::array_file file = wf::io::array_file::open(path);
  array_in_file a{spelled(file, path), folder / name};
  std::ofstream out(a.bytes, std::ios::binary);
  for (auto bytes = file.next(); !bytes.empty(); bytes = file.next())
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw wf::error(wf::errc::io, path + ": no room for its copy in " + folder.string());
  return a;
}

nlohmann::json with_files(nlohmann::json request, const own_kernel_request& q, const fs::path& folder) {
  for (std::size_t k = 0; k < q.arguments.size(); ++k) {
    std::string path = q.arguments[k];
    if (!path.ends_with(".npy")) continue;
    const bool is_output = path.starts_with("out:");
    const array_in_file a = bring(is_output ? path.substr(4) : path, folder, "argument" + std::to_string(k));
    request["arguments"][k] = (is_output ? "out:" : "") + a.text + ":@" + a.bytes.string();
  }
  request["expect"] = nullptr;
  if (!q.expect.empty()) {
    const array_in_file a = bring(q.expect, folder, "expected");
    request["expect"] = {{"file", q.expect}, {"array", a.text}, {"bytes", a.bytes.string()}};
  }
  return request;
}

/// As the program would, once it is compiled, and in its words. `shown` is what the user wrote.
void check_type(const std::string& given, const std::string& shown, std::size_t at, const parameter_text& p) {
  const auto refuse = [&](const std::string& why) {
    throw wf::error(wf::errc::bad_argument, "--arg " + shown + " (parameter " + std::to_string(at + 1) + "): " + why);
  };
  const bool is_output = given.starts_with("out:");
  const std::string rest = is_output ? given.substr(4) : given;
  const auto open = rest.find('[');
  if (p.is_pointer) {
    if (!p.element.empty() && rest.substr(0, open) != p.element) refuse("the kernel's pointer is to " + p.element);
    if (is_output && p.is_constant) refuse("the kernel cannot write through this pointer, which is to const");
    return;
  }
  if (p.element.empty()) return;
  if (open != rest.npos) refuse("the kernel wants one " + p.element + ", no array");
  const auto equal = rest.find('=');
  if (equal != rest.npos && rest.substr(0, equal) != p.element) refuse("the kernel's parameter is " + p.element);
  static const std::regex whole(R"(-?(\d+[KMG]?|2\^\d+|\d+e\d+))");
  const bool is_real = p.element.find('f') != p.element.npos;
  if (!is_real && p.element != "bool" && !std::regex_match(rest.substr(equal == rest.npos ? 0 : equal + 1), whole))
    refuse("no " + p.element + ", as 1000, 64K or 2^20");
}

/// As many as the kernel has, arrays for its pointers.
void check_arguments(const own_kernel_request& q, const std::string& text) {
  const auto parameters = parameters_of(text, q.kernel);
  if (!parameters) return;
  if (parameters->size() != q.arguments.size()) {
    std::string all;
    for (const parameter_text& p : *parameters) all += (all.empty() ? ": " : ", ") + p.text;
    throw wf::error(wf::errc::bad_argument, q.file + ", kernel " + q.kernel + ": takes " + std::to_string(parameters->size()) + " argument" +
                                                (parameters->size() == 1 ? "" : "s") + all + ", and --arg was given " +
                                                std::to_string(q.arguments.size()) + " times");
  }
  for (std::size_t k = 0; k < q.arguments.size(); ++k) {
    const std::string& a = q.arguments[k];
    if ((*parameters)[k].is_pointer && !a.ends_with(".npy") && a.find('[') == a.npos)
      throw wf::error(wf::errc::bad_argument, "--arg " + a + " (parameter " + std::to_string(k + 1) + ", " + (*parameters)[k].text + ", of " + q.kernel + " in " +
                                                  q.file + "): the kernel wants an array, written TYPE[COUNT][:FILL], as f32[1M]:uniform, or a .npy file");
    if (!a.ends_with(".npy")) {
      check_type(a, a, k, (*parameters)[k]);
      continue;
    }
    const std::string out = a.starts_with("out:") ? "out:" : "", path = a.substr(out.size());
    const std::string array = spelled(wf::io::array_file::open(path), path);
    check_type(out + array, a + ", " + array, k, (*parameters)[k]);
  }
}

/// Finds mistakes that need no compiler.
void check_kernel(const own_kernel_request& q, const std::string& text) {
  for (const shared_name& s : dynamic_shared_in(text))
    if (s.is_unnamed)
      throw wf::error(wf::errc::unsupported, q.file + ":" + std::to_string(s.line) + ": extern __shared__ " + s.name +
                                                 " in a namespace without a name, where it cannot be defined for you: name the namespace");
  const auto kernels = kernels_in(text);
  const std::string base = base_of(q.kernel);
  const auto is_asked = [&](const kernel_name& k) { return k.name == base; };
  // Without any, it is perhaps made by a macro, or included.
  if (!kernels.empty() && std::none_of(kernels.begin(), kernels.end(), is_asked))
    throw wf::error(wf::errc::bad_argument, q.file + " has no kernel " + base + "; it has " + list_of(kernels));
  if (const int line = launch_within(text, q.kernel))
    throw wf::error(wf::errc::unsupported, q.file + ":" + std::to_string(line) +
                                               ": a launch from within a kernel (<<<…>>>), which simt does not run");
}

[[noreturn]] void which_kernel(const std::string& file) {
  const auto kernels = kernels_in(text_of(file));
  throw wf::error(wf::errc::bad_argument, "explain: which kernel? " + file + ":NAME" + (kernels.empty() ? "" : "; it has " + list_of(kernels)));
}

bool is_source(const std::string& file) { return file.ends_with(".cu") || file.ends_with(".cuh") || file.ends_with(".cpp"); }

/// Throws wf::error if what is named like a source is none.
bool is_file(const std::string& file) {
  std::error_code none;
  const bool is_there = fs::is_regular_file(file, none);
  if (!is_there && is_source(file)) throw wf::error(wf::errc::bad_argument, "explain: no file " + wf::io::quoted(file));
  return is_there;
}

}  // namespace

bool names_own_kernel(const std::string& text, own_kernel_request& q) {
  for (auto at = text.find(':'); at != text.npos; at = text.find(':', at + 1)) {
    const std::string file = text.substr(0, at);
    if (!is_file(file)) continue;
    q.file = file;
    q.kernel = text.substr(at + 1);
    if (q.kernel.empty()) which_kernel(file);
    return true;
  }
  if (is_source(text) && is_file(text)) which_kernel(text);
  return false;
}

/// What is wrong in an argument whatever the kernel's parameters are.
void check_argument(const std::string& text, std::size_t at) {
  static const std::regex number(R"((?:[a-z0-9]+=)?[-+]?[0-9a-zA-Z.^+-]+)");
  static const std::regex array(R"((?:out:)?([a-z0-9]+)\[([^\]]*)\](?::([a-z]+))?)");
  static const std::regex count(R"(\d+[KMG]?|2\^\d+|\d+e\d+)");
  const std::string types = " f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool ", fills = " zeros ones iota uniform normal ";
  const auto refuse = [&](const std::string& why) {
    throw wf::error(wf::errc::bad_argument, "--arg " + text + " (parameter " + std::to_string(at + 1) + "): " + why);
  };
  const auto is_one_of = [](const std::string& word, const std::string& words) { return words.find(" " + word + " ") != words.npos; };
  std::smatch part;
  if (text.size() > 200) refuse("more than 200 characters; an array is written TYPE[COUNT][:FILL], a number 1000 or i32=1000");
  if (text.ends_with(".npy")) {
    std::error_code none;
    const std::string path = text.starts_with("out:") ? text.substr(4) : text;
    if (!fs::is_regular_file(path, none)) refuse("no file " + wf::io::quoted(path));
    return;
  }
  if (!std::regex_match(text, part, array)) {
    if (!std::regex_match(text, number)) refuse("an array is written TYPE[COUNT][:FILL], as f32[1M]:uniform, and a number 1000 or i32=1000");
    return;
  }
  if (!is_one_of(part[1], types)) refuse("no type " + part[1].str() + "; there are" + types.substr(0, types.size() - 1));
  if (!std::regex_match(part[2].str(), count)) refuse("the count is no number such as 1000, 64K, 1M (2^20), 2^20 or 1e6");
  if (part[3].matched && !is_one_of(part[3], fills))
    refuse("no filling " + part[3].str() + " of " + part[1].str() + "; there are zeros, ones, iota, uniform (0 to 1, of integers 0 to 99) and, not of integers, normal");
}

void check_block(const std::array<std::uint32_t, 3>& block) {
  const std::uint64_t threads = std::uint64_t{block[0]} * block[1] * block[2];
  if (threads <= 1024 && block[2] <= 64) return;
  throw wf::error(wf::errc::bad_argument, "--block " + std::to_string(block[0]) + "x" + std::to_string(block[1]) + "x" + std::to_string(block[2]) +
                                              ": a block has up to 1024 threads, 64 of them in its third direction");
}

int explain_own_kernel(const own_kernel_request& q) {
  const std::string text = text_of(q.file);
  check_block(q.block);
  for (std::size_t k = 0; k < q.arguments.size(); ++k) check_argument(q.arguments[k], k);
  check_kernel(q, text);
  check_arguments(q, text);
  const unwinding_signals to_the_end;
  const work_folder folder;
  const fs::path log = folder.path / "log";
  const surroundings around = find_surroundings();
  const compiler c = find_compiler(log);
  write_text(folder.path / "users.cu", prepared_source(text, q.file, q.kernel));
  const beginning begin = begin_with(c, around);
  write_text(folder.path / "program.cpp", program_text(q, folder.path / "users.cu", begin.include));
  const auto shared = dynamic_shared_in(text);
  if (!shared.empty()) write_text(folder.path / "shared.cpp", shared_text(shared));
  write_text(folder.path / "request.json", with_files(passed_on(q), q, folder.path).dump());

  const std::string options = c.is_clang ? the_toolchain.clang_options : the_toolchain.gnu_options;
  const strings compile = words_of(c.name) + words_of("-std=c++20 -w -DSIMT_LENS=1 " + options + " " + around.includes) +
                          strings{"-I", fs::absolute(q.file).parent_path().string(), "-c"};
  strings objects;
  for (const std::string part : {"program", "shared"}) {
    if (part == "shared" && shared.empty()) continue;
    objects.push_back((folder.path / (part + ".o")).string());
    const strings extra = part == "program" ? begin.options : strings{};
    const strings rest{(folder.path / (part + ".cpp")).string(), "-o", objects.back()};
    int compiled = run_program(compile + extra + rest, log);
    // An error of no line of any file is of the precompiled header: of another clang++, as after an update, or of other headers.
    if (compiled != 0 && !extra.empty() && first_error(text_of(log)).empty())
      compiled = run_program(compile + strings{"-include", "cuda_runtime.h"} + rest, log);
    if (compiled != 0)
      does_not_compile(q, text, folder.path / "program.cpp", text_of(log));
    run_program(words_of(the_toolchain.objcopy) + words_of(the_toolchain.objcopy_options) + strings{objects.back()}, log);
  }
  const std::string program = (folder.path / "program").string();
  if (run_program(words_of(c.name) + objects + words_of("-Wl,-z,norelro " + around.archives + " " + the_toolchain.libraries) + strings{"-o", program},
                  log) != 0)
    does_not_link(q, text_of(log));
  const int status = run_program({program, (folder.path / "request.json").string()});
  if (status == 128 + SIGPIPE) return status;  // the reader has seen enough
  if (status >= 127)
    throw wf::error(wf::errc::unsupported, "explain: the program made of " + q.file + " ended with status " + std::to_string(status));
  return status;
}

int compare_own_kernels(own_kernel_request q, own_kernel_request versus) {
  const work_folder folder;
  versus.json_file = (folder.path / "other.json").string();
  versus.json = false;
  versus.html.clear();
  versus.svg.clear();
  versus.is_quiet = true;
  // Kernels of one name are distinguished by the names of their files.
  q.versus_name = q.kernel == versus.kernel ? fs::path(versus.file).filename().string() + ":" + versus.kernel : versus.kernel;
  q.versus = versus.file + ":" + versus.kernel;
  const int other = explain_own_kernel(versus);
  std::error_code none;
  if (fs::exists(versus.json_file, none)) q.versus_file = versus.json_file;
  return std::max(explain_own_kernel(q), other);
}

}  // namespace cli
