# SPDX-License-Identifier: Apache-2.0
# Finds nvcc and sets WARPFOLD_HAS_CUDA. Without a toolkit everything but the place `gpu` is built.
set(WARPFOLD_HAS_CUDA OFF)
if(WARPFOLD_CUDA STREQUAL "OFF")
  return()
endif()

include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(WARPFOLD_CUDA STREQUAL "ON")
    message(FATAL_ERROR "WARPFOLD_CUDA is ON, but no nvcc was found: put it on PATH or set CMAKE_CUDA_COMPILER")
  endif()
  message(STATUS "No CUDA toolkit: building the places cpu and simt")
  return()
endif()

# Where the project around this one names none, CMake has put down what nvcc would take by itself, the oldest that it knows.
set(named ${CMAKE_CUDA_ARCHITECTURES} $ENV{CUDAARCHS})  # the environment's CMake reads
get_property(whose CACHE CMAKE_CUDA_ARCHITECTURES PROPERTY HELPSTRING)
if(whose STREQUAL "CUDA architectures" AND named MATCHES "^(52|75)$")
  set(named "")
endif()
set(later "")
set(WF_DEFAULT_ARCHITECTURES OFF)
if("${named}" STREQUAL "")
  # One of each major version, whose later GPUs run its code too: 8.6 and 8.9 that of 8.0, at three quarters of the time that
  # the set would take with code of their own (docs/log/2026-11-25-default-architectures.md). 9.0 also as PTX, for what comes after all of them.
  set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90)
  # Code for these is made of that PTX, since kernels have nothing that 9.0 lacks: nvcc reads the files and optimizes three times, not five.
  set(later sm_100,sm_120)
  set(WF_DEFAULT_ARCHITECTURES ON)
endif()
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CUDA)
# CMake 3.25 does not know that nvcc speaks C++20.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA_STANDARD 20)
find_package(CUDAToolkit REQUIRED)
set(WARPFOLD_HAS_CUDA ON)

# A hidden option of ptxas, which other versions may not have (cmake/kernels.cmake).
include(CheckCompilerFlag)
check_compiler_flag(CUDA -Xptxas=-cloning=no WARPFOLD_PTXAS_CALLS)

add_library(wf_cuda_options INTERFACE)
target_compile_options(wf_cuda_options INTERFACE
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wno-unknown-pragmas;--Wno-deprecated-gpu-targets>")
if(later AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
  target_compile_options(wf_cuda_options INTERFACE
    "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<NOT:$<BOOL:$<TARGET_PROPERTY:CUDA_PTX_COMPILATION>>>>:--generate-code=arch=compute_90,code=[${later}]>")
endif()
if(WARPFOLD_WARNINGS_AS_ERRORS)
  target_compile_options(wf_cuda_options INTERFACE
    "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Werror>")
endif()
if(WARPFOLD_QUICK_DEVICE_CODE)
  set(quick -Xcicc=-O1 -Xptxas=-O0)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.9)
    set(quick -Ofc=max)  # a quarter of the time
  endif()
  target_compile_options(wf_cuda_options INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:${quick}>")
endif()
if(WARPFOLD_LINEINFO)
  target_compile_options(wf_cuda_options INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-lineinfo>)
endif()
