# SPDX-License-Identifier: Apache-2.0
# What every target of ours is built with. Consumers get none of it but the language standard.
include(GNUInstallDirs)

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(WARPFOLD_CCACHE ccache)
mark_as_advanced(WARPFOLD_CCACHE)
if(WARPFOLD_CCACHE AND PROJECT_IS_TOP_LEVEL)
  # What a file includes is known from compiling it, without preprocessing it first. A precompiled header stands
  # for what it was made of.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${WARPFOLD_CCACHE})
  foreach(language C CUDA)
    set(CMAKE_${language}_COMPILER_LAUNCHER env CCACHE_DEPEND=1 ${WARPFOLD_CCACHE})
  endforeach()
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()

# What a linker that knows nothing of C++ must be told, as in a project in C alone. It comes with a shared library.
set(wf_cxx_runtime ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(FILTER wf_cxx_runtime INCLUDE REGEX "^(std)?c\\+\\+(abi)?$")

# wf_warnings: link privately to every target of ours. wf_sanitize: the same, but for kernels. Those for simt have
# wf_sanitize_kernels, and instrumented ones nothing: they cannot also carry the address sanitizer.
add_library(wf_warnings INTERFACE)
set(host_warnings -Wall -Wextra -Wpedantic -Wshadow -Wno-unknown-pragmas)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND host_warnings -Wno-restrict)  # g++ 12 sees overlaps in "text" + std::string (GCC bug 105651)
endif()
if(WARPFOLD_WARNINGS_AS_ERRORS)
  list(APPEND host_warnings -Werror)
endif()
target_compile_options(wf_warnings INTERFACE "$<$<COMPILE_LANGUAGE:CXX,C>:${host_warnings}>")

add_library(wf_sanitize INTERFACE)
add_library(wf_sanitize_kernels INTERFACE)
set(WF_SANITIZE_KERNELS "")
if(WARPFOLD_SANITIZE)
  set(which address,undefined)
  # Kernels are much code, unrolled and inlined whole: these checks are a third of what compiling them takes with the
  # sanitizers. Every access of theirs is still looked at by the address sanitizer, and for its alignment.
  set(WF_SANITIZE_KERNELS -fno-sanitize=null,object-size,vptr,pointer-overflow)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Every access of theirs is looked at by a call, not in place: half of what compiling src/cpu/target_*.cpp took.
    list(APPEND WF_SANITIZE_KERNELS "SHELL:-mllvm -asan-instrumentation-with-call-threshold=0")
  endif()
  if(WARPFOLD_SANITIZE STREQUAL "thread")
    set(which thread)
    set(WF_SANITIZE_KERNELS "")
  endif()
  set(sanitizers -fsanitize=${which} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 takes the address of a thread-local array for null, and simt's shared memory is such.
    list(APPEND sanitizers -fno-sanitize=null)
  endif()
  target_compile_options(wf_sanitize INTERFACE "$<$<COMPILE_LANGUAGE:CXX,C>:${sanitizers}>")
  target_compile_options(wf_sanitize_kernels INTERFACE "$<$<COMPILE_LANGUAGE:CXX,C>:${sanitizers};${WF_SANITIZE_KERNELS}>")
  foreach(target wf_sanitize wf_sanitize_kernels)
    target_link_options(${target} INTERFACE -fsanitize=${which})
    target_compile_definitions(${target} INTERFACE WARPFOLD_SANITIZED)
  endforeach()
endif()

# wf_compile_together(TARGET [ALWAYS] [APART file…]): by clang++ under the sanitizers a target's files are compiled together. Much
# of what compiling them takes is their headers, and dev compiles each file alone. APART: has names of the others'.
# ALWAYS: in every build, so that none is right only beside others; for what is barely optimised and full of templates of CLI11,
# fmt and nlohmann-json, where it saves half.
function(wf_compile_together target)
  cmake_parse_arguments(arg "ALWAYS" "" "APART" ${ARGN})
  if(arg_ALWAYS OR (WARPFOLD_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang"))
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    if(arg_APART)
      set_source_files_properties(${arg_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endif()
endfunction()

# wf_precompile_standard_library(TARGET [ALWAYS]): by clang++ what most files include is compiled once for the target. g++ sees
# each file without, unless ALWAYS is said; both use the same standard library.
function(wf_precompile_standard_library target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR ARGN STREQUAL "ALWAYS")
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <bit> <chrono> <cmath> <complex> <cstdint> <cstring>
      <functional> <map> <memory> <mutex> <optional> <ostream> <span> <sstream> <string> <string_view> <tuple> <type_traits>
      <unordered_map> <utility> <vector>)
  endif()
endfunction()
