// SPDX-License-Identifier: Apache-2.0
// Loads a module that reduces, unloads it and loads it again. Nothing of it may stay: no thread, no mapping.
// (A program that is not of C++ keeps such a module: it brings libstdc++ along, which takes functions from it.)
// Arguments: the module, how many rounds.
#include <dirent.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

namespace {

int threads_here() {
  int n = 0;
  DIR* d = opendir("/proc/self/task");
  if (d == nullptr) return -1;
  for (dirent* e = nullptr; (e = readdir(d)) != nullptr;) n += e->d_name[0] != '.';
  closedir(d);
  return n;
}

[[noreturn]] void fail(const char* what, int got, int want) {
  std::cout << what << ": " << got << ", expected " << want << std::endl;
  std::exit(1);
}

}  // namespace

int main(int, char** argv) {
  const int rounds = std::atoi(argv[2]);
  std::thread([] {}).join();  // a sanitizer starts a thread of its own with the first
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the kernel lists one that is joined for a moment
  const int others = threads_here();
  int told = 0;
  for (int k = 0; k < rounds; ++k) {
    void* module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) {
      std::cout << dlerror() << std::endl;
      return 1;
    }
    const auto reduce = reinterpret_cast<int (*)(int*, int)>(dlsym(module, "reduce_in_a_module"));
    const bool first = k % 3 == 2;  // no call but that in the destructor
    told = 0;
    const int threads = reduce(&told, first);
    if (threads != (first ? 1 : 4)) fail("threads of the module's pool", threads, first ? 1 : 4);
    if (!first && threads_here() != others + 3)
      fail("threads of the process, the module loaded", threads_here(), others + 3);
    if (k == rounds - 1) {  // a child has the module, not its threads
      const pid_t child = fork();
      if (child == 0) {
        dlclose(module);
        _exit(told == (first ? 1 : 2) ? 0 : 1);
      }
      int status = 0;
      waitpid(child, &status, 0);
      if (status != 0) fail("status of a child that unloads", status, 0);
    }
    dlclose(module);
    if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) != nullptr) fail("modules loaded after dlclose()", 1, 0);
    if (told != (first ? 1 : 2)) fail("right sums while it was unloaded", told, first ? 1 : 2);
    int threads_left = threads_here();
    for (int wait = 0; wait < 1000 && threads_left != others; ++wait) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      threads_left = threads_here();
    }
    if (threads_left != others) fail("threads of the process, the module unloaded", threads_left, others);
  }
  const pid_t child = fork();  // no handler of the module may be called
  if (child == 0) _exit(0);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) fail("status of a child after all", status, 0);
  std::cout << "unloaded" << std::endl;
  return 0;
}
