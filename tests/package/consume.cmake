# SPDX-License-Identifier: Apache-2.0
# Builds and runs consumer/ in one of three ways, from an empty folder.
cmake_minimum_required(VERSION 3.25)
set(here ${CMAKE_CURRENT_LIST_DIR})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${scratch})
file(MAKE_DIRECTORY ${scratch})
if(NOT way STREQUAL "add_subdirectory")
  run(${CMAKE_COMMAND} --install ${binary} --prefix ${scratch}/prefix)
endif()
set(ENV{PKG_CONFIG_PATH} ${scratch}/prefix/lib/pkgconfig:${scratch}/prefix/lib/x86_64-linux-gnu/pkgconfig)
set(flags -DCMAKE_BUILD_TYPE=Release)
if(way STREQUAL "add_subdirectory")
  # It compiles the library once more, to see that it is built so and found: optimised it is by the build under test.
  list(APPEND flags "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG")
endif()
run(${CMAKE_COMMAND} -S ${here}/consumer -B ${scratch}/build -G Ninja -DWAY=${way}
  -DCMAKE_CXX_COMPILER=${compiler} ${flags} -DCMAKE_PREFIX_PATH=${scratch}/prefix
  -DWARPFOLD_SOURCE=${source})
run(${CMAKE_COMMAND} --build ${scratch}/build)
run(${scratch}/build/consumer)
if(NOT output MATCHES "the exact sum is 1e\\+?308")
  message(FATAL_ERROR "the consumer printed: ${output}")
endif()
if(way STREQUAL "find_package" AND gpu)
  # A program in C++ alone, with no CUDA compiler: it links, and sums where there is a GPU.
  run(${scratch}/build/gpu_consumer)
  if(NOT output MATCHES "the GPU's sum is 1e\\+?308|linked; no GPU here")
    message(FATAL_ERROR "the consumer of warpfold::gpu printed: ${output}")
  endif()
  message(STATUS "${output}")
elseif(way STREQUAL "find_package")
  message(STATUS "built without CUDA: the component gpu is skipped")
endif()
if(way STREQUAL "find_package" AND EXISTS ${scratch}/prefix/bin/warpfold)
  # A kernel of the user's own, by the headers and archives that were installed.
  run(${scratch}/prefix/bin/warpfold explain "${source}/examples/own_kernel.cu:column_sums<1>" --grid 1 --block 32x8
    --arg f32[1K]:ones --arg out:f32[32] --arg 32)
  if(NOT output MATCHES "after the run: 32, 32, 32")
    message(FATAL_ERROR "warpfold explain printed: ${output}")
  endif()
endif()
