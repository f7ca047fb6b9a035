# SPDX-License-Identifier: Apache-2.0
# CMake 3.25 and 3.26 do not know that nvcc speaks C++20, and leave out -std=c++20 without a word: it is said here, to the .cu
# files of those who link the target.
function(wf_cuda_speaks_cxx20 target)
  if(CMAKE_VERSION VERSION_LESS 3.27 OR (CMAKE_CUDA_COMPILER_LOADED AND NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION))
    set_property(TARGET ${target} APPEND PROPERTY
      INTERFACE_COMPILE_OPTIONS "$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-std=c++20>")
  endif()
endfunction()
