// SPDX-License-Identifier: Apache-2.0
#include "own_build.hpp"

#include <warpfold/error.hpp>
#include <warpfold/io/text.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interrupt.hpp"
#include "own_kernel.hpp"

extern char** environ;

namespace cli {

namespace fs = std::filesystem;

strings words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

strings operator+(strings a, const strings& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

work_folder::work_folder() {
  const char* wanted = std::getenv("TMPDIR");
  const std::string root = wanted != nullptr && *wanted != '\0' ? wanted : "/tmp";
  std::string name = root + "/warpfold-XXXXXX";
  if (mkdtemp(name.data()) == nullptr)
    throw wf::error(wf::errc::io, "no folder for compiling in " + wf::io::quoted(root) + ": " + std::strerror(errno) +
                                      "; the variable TMPDIR names another one");
  path = name;
}
work_folder::~work_folder() {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

int run_program(const strings& command, const fs::path& log, const fs::path& output) {
  std::vector<char*> words;
  for (const std::string& w : command) words.push_back(const_cast<char*>(w.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!log.empty()) {
    posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
  }
  if (!output.empty()) posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int error = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return 127;
  int status = 0;
  note_child(child);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  note_child(0);
  check_signals();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string absolute_or_none(const std::string& path) { return path.empty() ? path : fs::absolute(path).string(); }

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

compiler find_compiler(const fs::path& log) {
  strings names;
  if (const char* wanted = std::getenv("CXX"); wanted != nullptr && *wanted != '\0') names = {wanted};
  else names = {the_toolchain.compiler, "g++", "clang++"};
  for (const std::string& name : names)
    if (run_program(words_of(name) + strings{"--version"}, log) == 0)
      return {name, text_of(log).find("clang") != std::string::npos};
  throw wf::error(wf::errc::unsupported, "explain: a kernel of your own needs a C++ compiler, and " + names.front() +
                                             " does not run: install g++ or clang++, or set CXX");
}

surroundings find_surroundings() {
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/self/exe", none).parent_path();
  const fs::path folder = (program / the_toolchain.installed).lexically_normal();
  if (fs::exists(folder / "libwarpfold_own.a", none)) {
    surroundings s{"-I" + (folder / "simt/include").string() + " -I" + folder.string() + " -I" +
                       (program / "../include").lexically_normal().string(), "",
                   (folder / "warpfold-translate").string()};
    for (const std::string& path : words_of(the_toolchain.archives)) s.archives += " " + (folder / fs::path(path).filename()).string();
    return s;
  }
  for (const std::string& path : words_of(the_toolchain.archives))
    if (!fs::exists(path, none))
      throw wf::error(wf::errc::unsupported, "explain: a kernel of your own is linked to " + folder.string() +
                                                 ", which is not there: install warpfold, or build all of it");
  return {the_toolchain.includes, the_toolchain.archives, the_toolchain.translator};
}

std::string first_error(const std::string& log) {
  static const std::regex pattern(R"((^|\n)([^\n]*?:\d+):(?:\d+:)? (?:fatal )?error: ([^\n]*))");
  std::string first;
  std::set<std::string> all;  // g++ may say one thing twice
  for (std::sregex_iterator at(log.begin(), log.end(), pattern), end; at != end; ++at) {
    const std::string said = (*at)[2].str() + ": " + (*at)[3].str();
    if (first.empty()) first = said;
    all.insert(said);
  }
  const std::size_t more = all.empty() ? 0 : all.size() - 1;
  if (more > 0) first += " (and " + std::to_string(more) + " more error" + (more == 1 ? ")" : "s)");
  return first;
}

namespace {

/// Names that programs leave to their compilers, and others that CUDA's headers have.
bool is_cudas(const std::string& name) {
  for (const char* family : {"__", "texture", "surface", "tex1D", "tex2D", "tex3D", "texCubemap", "surf1D", "surf2D", "surf3D", "cuda"})
    if (name.starts_with(family)) return true;
  static const std::regex of_the_driver("cu[A-Z].*|CU[a-z].*");
  return std::regex_match(name, of_the_driver);
}

/// What CUDA itself has in place of a name that it had once.
std::string replacement_of(const std::string& name) {
  static const std::map<std::string, std::string> replacements{
      {"__shfl", "__shfl_sync"}, {"__shfl_up", "__shfl_up_sync"}, {"__shfl_down", "__shfl_down_sync"}, {"__shfl_xor", "__shfl_xor_sync"},
      {"__any", "__any_sync"}, {"__all", "__all_sync"}, {"__ballot", "__ballot_sync"},
      {"cudaThreadSynchronize", "cudaDeviceSynchronize"}, {"cudaThreadExit", "cudaDeviceReset"}};
  const auto found = replacements.find(name);
  return found == replacements.end() ? "" : found->second;
}

/// The same of a field of cudaDeviceProp, which CUDA 13 has as an attribute.
std::string attribute_of(const std::string& field) {
  static const std::map<std::string, std::string> attributes{
      {"clockRate", "ClockRate"}, {"memoryClockRate", "MemoryClockRate"}, {"computeMode", "ComputeMode"}, {"kernelExecTimeoutEnabled", "KernelExecTimeout"}};
  const auto found = attributes.find(field);
  return found == attributes.end() ? "" : found->second;
}

/// The library that a header is of; empty for any other.
std::string library_of(const std::string& header) {
  static const std::pair<const char*, const char*> libraries[] = {
      {"cub/", "CUB"}, {"thrust/", "Thrust"}, {"cublas", "cuBLAS"}, {"curand", "cuRAND"}, {"cufft", "cuFFT"}, {"cusparse", "cuSPARSE"},
      {"cusolver", "cuSOLVER"}, {"cudnn", "cuDNN"}, {"nccl", "NCCL"}, {"cutlass/", "CUTLASS"}, {"cute/", "CuTe"}, {"nvtx3/", "NVTX"},
      {"mma.h", "the tensor cores' nvcuda::wmma"}, {"cuda_pipeline", "asynchronous copies by cuda_pipeline"}, {"cuda/std/", "libcu++"},
      {"cuda/barrier", "libcu++'s cuda::barrier"}, {"cuda/pipeline", "libcu++'s cuda::pipeline"}, {"helper_", "the CUDA samples' helpers"},
      {"nvrtc", "NVRTC"}};
  for (const auto& [begin, name] : libraries)
    if (header.starts_with(begin)) return name;
  return {};
}

[[noreturn]] void refuse(const std::string& place, const std::string& header, const std::string& library) {
  throw wf::error(wf::errc::unsupported, place + ": <" + header + "> is of " + library + ", which simt does not have: it runs kernels that are "
                                             "CUDA C++ alone. Write that part as a kernel, or run the program by nvcc on a GPU");
}

}  // namespace

void refuse_library(const std::string& place, const std::string& path) {
  const auto root = path.rfind("include/");
  if (root == path.npos) return;
  std::string header = path.substr(root + 8);
  if (header.starts_with("cccl/")) header.erase(0, 5);
  if (const std::string library = library_of(header); !library.empty()) refuse(place, header, library);
}

void refuse_known_mistake(const std::string& file, const std::string& said, const std::string& log) {
  // The assembler's errors: of g++, which calls one, and of clang++, which blames the line.
  const bool assembly = log.find("instantiated into assembly") != log.npos || (said.empty() && log.find("Error: ") != log.npos) ||
                        said.find("in asm") != said.npos || said.find("invalid 'asm'") != said.npos || said.find("inline assembly") != said.npos;
  if (assembly)
    throw wf::error(wf::errc::unsupported, file + ": inline PTX, which simt does not run: give it a twin under #if defined(__SIMT__)");
  const std::string place = said.substr(0, said.find(": "));
  static const std::regex missing(R"((?:'([^']+)' file not found|error: ([^ :]+): No such file|: ([^ :]+): No such file))");
  if (std::smatch name; std::regex_search(said, name, missing)) {
    const std::string header = name[1].str() + name[2].str() + name[3].str(), library = library_of(header);
    if (!library.empty()) refuse(place, header, library);
    throw wf::error(wf::errc::bad_input, place + ": no file " + header + " beside the program, nor among the compiler's");
  }
  static const std::regex unknown(R"((?:(?:‘|')(\w+)(?:’|') was not declared|(?:undeclared identifier|unknown type name|no template named) '(\w+)'|(?:‘|')(\w+)(?:’|') (?:does not name a type|has not been declared)))");
  if (std::smatch found; std::regex_search(said, found, unknown)) {
    const std::string name = found[1].str() + found[2].str() + found[3].str();
    if (const std::string now = replacement_of(name); !now.empty())
      throw wf::error(wf::errc::unsupported, place + ": CUDA no longer has " + name + ": write " + now + (now.ends_with("_sync") ? ", whose first argument is the mask of lanes" : ""));
    if (is_cudas(name)) throw wf::error(wf::errc::unsupported, place + ": simt does not have CUDA's " + name + " (docs/simt.md says what it has)");
  }
  static const std::regex field(R"(no member named (?:‘|')(\w+)(?:’|') in (?:‘|')simt::cudaDeviceProp|cudaDeviceProp(?:’|') has no member named (?:‘|')(\w+))");
  if (std::smatch found; std::regex_search(said, found, field)) {
    const std::string name = found[1].str() + found[2].str(), attribute = attribute_of(name);
    if (name == "deviceOverlap") throw wf::error(wf::errc::unsupported, place + ": CUDA no longer has deviceOverlap: write asyncEngineCount");
    if (!attribute.empty())
      throw wf::error(wf::errc::unsupported, place + ": CUDA no longer has " + name + ": ask cudaDeviceGetAttribute() for cudaDevAttr" + attribute);
  }
  static const std::regex member(R"((?:‘|')(\w+)(?:’|') is not a member of (?:‘|')(?:cg|cooperative_groups)|no (?:member|type|template) named '(\w+)' in namespace 'cooperative_groups)");
  if (std::smatch name; std::regex_search(said, name, member))
    throw wf::error(wf::errc::unsupported, place + ": simt does not have cooperative_groups::" + name[1].str() + name[2].str() + " (docs/simt.md says what it has)");
}

std::string quoted_for_shell(const std::string& word) {
  std::string all = "'";
  for (const char c : word) {
    if (c == '\'') all += "'\\'";
    all += c;
  }
  return all + "'";
}

}  // namespace cli
