// SPDX-License-Identifier: Apache-2.0
#include "own_program.hpp"

#include <warpfold/error.hpp>
#include <warpfold/io/text.hpp>

#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>

#include "interrupt.hpp"
#include "own_build.hpp"
#include "own_kernel.hpp"
#include "own_source.hpp"

namespace cli {
namespace {

namespace fs = std::filesystem;

/// clang++, whose parser reads what it has preprocessed itself.
std::string find_clang(const fs::path& log) {
  strings names;
  if (const char* wanted = std::getenv("CXX"); wanted != nullptr && *wanted != '\0') names.push_back(wanted);
  names.insert(names.end(), {the_toolchain.clang, "clang++"});
  for (const std::string& name : names)
    if (!name.empty() && run_program(words_of(name) + strings{"--version"}, log) == 0 && text_of(log).find("clang") != std::string::npos)
      return name;
  throw wf::error(wf::errc::unsupported, "a whole program is compiled by clang++, which does not run here: install clang, or name one by CXX");
}

[[noreturn]] void does_not_compile(const own_program_request& q, const std::string& log) {
  const std::string said = first_error(log);
  refuse_known_mistake(q.file, said, log);
  throw wf::error(wf::errc::bad_input, said.empty() ? q.file + ": " + log.substr(0, log.find('\n'))
                                                    : said + "; simt compiles CUDA C++ as far as docs/simt.md says");
}

/// Libraries that are installed among the compiler's headers are found, and then not understood: `# 1 "FILE" 1 3` enters one.
void refuse_libraries(const own_program_request& q, const std::string& preprocessed) {
  static const std::regex marker(R"re(# (\d+) "([^"]*)"((?: \d)*))re");
  std::string file;
  std::size_t line = 0;
  bool is_systems = false;
  std::istringstream in(preprocessed);
  for (std::string text; std::getline(in, text); ++line) {
    std::smatch found;
    if (text.empty() || text[0] != '#' || !std::regex_match(text, found, marker)) continue;
    const std::string entered = found[2].str(), flags = found[3].str();
    if (!is_systems && flags.starts_with(" 1") && flags.ends_with("3"))
      refuse_library(file.empty() ? q.file : file + ":" + std::to_string(line), entered);
    file = entered;
    line = std::stoul(found[1].str()) - 1;  // the next line, less what the loop adds
    is_systems = flags.ends_with("3");
  }
}

[[noreturn]] void does_not_link(const own_program_request& q, const std::string& log) {
  static const std::regex pattern("undefined reference to `([^']*)'");
  std::smatch found;
  if (std::regex_search(log, found, pattern))
    throw wf::error(wf::errc::bad_input, q.file + ": nothing defines " + found[1].str() + (found[1] == "main" ? "; a program has a main(); to explain one kernel, "
                                                  "write warpfold explain " + q.file + ":KERNEL" : "; the program must be one file, with all that it includes"));
  throw wf::error(wf::errc::bad_input, q.file + " cannot be linked: " + log.substr(0, log.find('\n')));
}

/// One line a name, as `ns::cells`.
std::string shared_text(const std::string& names) {
  std::string text = "#include <simt/dynamic_shared.hpp>\n";
  std::istringstream in(names);
  for (std::string name; std::getline(in, name);) {
    const auto scope = name.rfind("::");
    if (scope == name.npos) text += "SIMT_DEFINE_DYNAMIC_SHARED(" + name + ")\n";
    else text += "namespace " + name.substr(0, scope) + " {\nSIMT_DEFINE_DYNAMIC_SHARED(" + name.substr(scope + 2) + ")\n}\n";
  }
  return text;
}

std::string command_of(const own_program_request& q) {
  std::string text = "warpfold explain " + quoted_for_shell(q.file);
  for (const std::string& a : q.arguments) text += " " + quoted_for_shell(a);
  return text;
}

}  // namespace

bool has_main(const std::string& file) {
  return main_line(text_of(file)) != 0;
}

int run_own_program(const own_program_request& q) {
  std::error_code none;
  if (!fs::is_regular_file(q.file, none)) throw wf::error(wf::errc::bad_argument, "no file " + wf::io::quoted(q.file));
  const surroundings around = find_surroundings();
  if (around.translator.empty() || !fs::exists(around.translator, none))
    throw wf::error(wf::errc::unsupported, "whole programs need clang's library, which this warpfold was built without: install libclang-dev and build again");
  const unwinding_signals to_the_end;
  const work_folder folder;
  const auto in_folder = [&](const char* name) { return (folder.path / name).string(); };
  const fs::path log = folder.path / "log";
  const strings clang = words_of(find_clang(log));
  // simt's headers are the system's, so that their own kernels and warnings are none of the program's.
  strings includes;
  for (const std::string& word : words_of(around.includes)) includes = includes + strings{"-isystem", word.substr(2)};
  const strings language = words_of("-std=c++20 -w -D__CUDACC__ -DSIMT_TRANSLATED=1") + (q.explained ? strings{"-DSIMT_LENS=1"} : strings{});

  if (run_program(clang + strings{"-x", "c++", "-E"} + language + includes +
                      strings{"-I", fs::absolute(q.file).parent_path().string(), "-include", "simt/program.hpp", q.file, "-o", in_folder("program.cui")},
                  log) != 0)
    does_not_compile(q, text_of(log));
  refuse_libraries(q, text_of(folder.path / "program.cui"));
  if (run_program({around.translator, in_folder("program.cui"), in_folder("program.ii")}, log, folder.path / "shared") != 0)
    does_not_compile(q, text_of(log));
  const std::string shared = text_of(folder.path / "shared");

  strings objects;
  const strings compile = clang + language + words_of(q.explained ? the_toolchain.clang_options : the_toolchain.program_options);
  const auto make = [&](const strings& what, const std::string& object) {
    if (run_program(compile + what + strings{"-c", "-o", object}, log) != 0) does_not_compile(q, text_of(log));
    if (q.explained) run_program(words_of(the_toolchain.objcopy) + words_of(the_toolchain.objcopy_options) + strings{object}, log);
    objects.push_back(object);
  };
  make({"-x", "c++-cpp-output", in_folder("program.ii")}, in_folder("program.o"));
  if (!shared.empty()) {
    write_text(folder.path / "shared.cpp", shared_text(shared));
    make(includes + strings{"-x", "c++", in_folder("shared.cpp")}, in_folder("shared.o"));
  }
  if (q.explained) {
    const nlohmann::json request{{"file", q.file}, {"path", fs::absolute(q.file).string()}, {"name", fs::path(q.file).stem().string()},
                                 {"html", absolute_or_none(q.html)}, {"svg", absolute_or_none(q.svg)}, {"kinds", q.kinds}, {"command", command_of(q)}, {"json", q.json}};
    write_text(folder.path / "request.json", request.dump());
    write_text(folder.path / "explained.cpp", "#include <lens/own/program.hpp>\nstatic const bool begun = lens::own::explain_launches(\"" +
                                                  in_folder("request.json") + "\");\n");
    const std::string object = in_folder("explained.o");
    if (run_program(clang + strings{"-std=c++20", "-w"} + includes + strings{in_folder("explained.cpp"), "-c", "-o", object}, log) != 0)
      does_not_compile(q, text_of(log));
    objects.push_back(object);
  }
  if (run_program(clang + objects + words_of("-Wl,-z,norelro " + around.archives + " " + the_toolchain.libraries) +
                      strings{"-o", in_folder("program")},
                  log) != 0)
    does_not_link(q, text_of(log));
  const int status = run_program(strings{in_folder("program")} + q.arguments);
  if (status > 128 && status != 128 + SIGPIPE)
    throw wf::error(wf::errc::unsupported, "the program made of " + q.file + " was ended by signal " + std::to_string(status - 128) +
                                               (status - 128 == SIGSEGV ? ": it reads or writes what is no memory, on the host's side" : ""));
  return status;
}

}  // namespace cli
