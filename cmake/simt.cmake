# SPDX-License-Identifier: Apache-2.0
# The instrumentation alone: its callbacks are defined by simt, and libtsan is never linked. Fences are
# simt's own functions, hence -Wno-tsan.
set(WF_LENS_OPTIONS_GNU -O1 -g -fno-math-errno -fsanitize=thread -Wno-tsan -fsanitize-coverage=trace-pc
  --param=tsan-distinguish-volatile=1 -fno-extern-tls-init)
# clang++ computes fmin and fmax in place, and either zero may come; simt's give a GPU's.
set(WF_SIMT_OPTIONS_Clang -fno-builtin-fmax -fno-builtin-fmaxf -fno-builtin-fmin -fno-builtin-fminf)
set(WF_LENS_OPTIONS_Clang -O1 -g -fno-math-errno -Wno-pass-failed ${WF_SIMT_OPTIONS_Clang} -fsanitize=thread -fsanitize-coverage=trace-pc-guard,no-prune
  "SHELL:-mllvm -tsan-instrument-read-before-write=1" "SHELL:-mllvm -tsan-distinguish-volatile=1")
# Whole objects are copied by calls that newer compilers name for the sanitizer, and older ones do not. A fused
# multiply-add is a call that the lens can tell from others.
set(WF_LENS_OBJCOPY --redefine-sym memcpy=__tsan_memcpy --redefine-sym memmove=__tsan_memmove
  --redefine-sym memset=__tsan_memset --redefine-sym fma=simt_fma --redefine-sym fmaf=simt_fmaf)

# wf_add_simt_library(NAME [LENS] [LINES] SOURCES file.cpp… [LINK target…])
#
# A static library whose sources are CUDA C++ compiled by the host compiler against simt's own
# <cuda_runtime.h>. Plain: optimised, to run kernels. LENS: instrumented, so that every memory access
# and basic block is seen (docs/simt.md); it defines SIMT_LENS and links the same runtime. LINES: its faults
# are told by the line alone, not through what was inlined, which a dev build compiles in two thirds of the time; and, but in a release
# and instrumented, __forceinline__ is not heeded (called_kernels.hpp), which takes half of that. What is marked by it must lie in a
# namespace of its build (WF_BUILD). Instrumented it stays: of calls rows_races reported reads of what nobody had written.
function(wf_add_simt_library name)
  cmake_parse_arguments(arg "LENS;LINES" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PRIVATE wf_warnings PUBLIC simt ${arg_LINK})
  # `#pragma unroll` is meant for GPUs; clang++ would warn of each loop that it leaves as it is.
  target_compile_options(${name} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-fno-extern-tls-init>
    # g++ 12 -O3 does not see what bounds a lane's index, nor that an answer which is not sure is not read.
    "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-array-bounds;-Wno-maybe-uninitialized>"
    "$<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed;${WF_SIMT_OPTIONS_Clang}>")
  if(arg_LINES AND NOT arg_LENS)
    target_compile_options(${name} PRIVATE "$<$<CONFIG:RelWithDebInfo>:SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/called_kernels.hpp>")
  endif()
  set(in_dev $<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:RelWithDebInfo>>)
  if(NOT arg_LENS)
    # Faults are blamed through what was inlined, of which g++ -g1 says nothing.
    target_compile_options(${name} PRIVATE $<${in_dev}:-O$<IF:$<BOOL:${arg_LINES}>,g,1>$<SEMICOLON>-g$<$<BOOL:${arg_LINES}>:1>>)
    target_link_libraries(${name} PRIVATE wf_sanitize_kernels)
    if(WARPFOLD_SANITIZE)
      # Kernels are unrolled and inlined whole: with the sanitizers' checks in them, optimising takes
      # ten times as long as all that these tests then run.
      # Lines are a quarter of it: LINES' faults name functions alone.
      target_compile_options(${name} PRIVATE -O0 $<$<BOOL:${arg_LINES}>:-g0>)
    endif()
    return()
  endif()
  target_compile_definitions(${name} PRIVATE SIMT_LENS=1)
  # Shared variables are aligned to 32 KiB; GNU ld then leaves a hole in the segment that the loader
  # should make read-only, and the program would not start.
  target_link_options(${name} INTERFACE -Wl,-z,norelro)
  target_compile_options(${name} PRIVATE ${WF_LENS_OPTIONS_${CMAKE_CXX_COMPILER_ID}}
    $<$<AND:${in_dev},$<BOOL:${arg_LINES}>>:-g1>)
  add_custom_command(TARGET ${name} POST_BUILD VERBATIM
    COMMAND ${CMAKE_OBJCOPY} ${WF_LENS_OBJCOPY} $<TARGET_FILE:${name}>)
endfunction()
