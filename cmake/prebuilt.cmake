# SPDX-License-Identifier: Apache-2.0
# warpfold from libraries that are built already, so that tests of the Python package and of scripts/cpu do not compile them again: WARPFOLD_PREBUILT is the
# CPU library, WARPFOLD_PREBUILT_SIMT and WARPFOLD_PREBUILT_GPU are lists of archives, that of the kernels first, WARPFOLD_PREBUILT_PROGRAM the
# program, for its folder bin.
find_package(Threads REQUIRED)
add_library(warpfold STATIC IMPORTED GLOBAL)
set_target_properties(warpfold PROPERTIES IMPORTED_LOCATION ${WARPFOLD_PREBUILT}
  INTERFACE_INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/include INTERFACE_LINK_LIBRARIES Threads::Threads)
target_compile_features(warpfold INTERFACE cxx_std_20)
foreach(name warpfold headers)
  add_library(warpfold::${name} ALIAS warpfold)
endforeach()

function(wf_prebuilt_kernels target archives)
  list(POP_FRONT archives kernels)
  add_library(${target} STATIC IMPORTED)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${kernels} INTERFACE_LINK_LIBRARIES "${archives};warpfold;${ARGN}")
endfunction()
if(WARPFOLD_PREBUILT_SIMT)
  wf_prebuilt_kernels(warpfold_simt "${WARPFOLD_PREBUILT_SIMT}" dw elf dl)
  target_include_directories(warpfold_simt INTERFACE ${PROJECT_SOURCE_DIR}/simt/include)
endif()
if(WARPFOLD_PREBUILT_GPU)
  find_package(CUDAToolkit REQUIRED)
  wf_prebuilt_kernels(warpfold_gpu "${WARPFOLD_PREBUILT_GPU}" CUDA::cudart_static)
endif()
