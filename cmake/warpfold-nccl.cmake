# SPDX-License-Identifier: Apache-2.0
# warpfold::nccl: warpfold::gpu and NCCL, for warpfold/nccl.hpp, which is a header alone. Included by
# find_package(warpfold COMPONENTS nccl). NCCL_HOME may say where NCCL is; else it is looked for beside CUDA and in the system.
if(NOT TARGET warpfold::nccl)
  find_path(WARPFOLD_NCCL_INCLUDE nccl.h HINTS ${NCCL_HOME}/include $ENV{NCCL_HOME}/include ${CUDAToolkit_INCLUDE_DIRS})
  find_library(WARPFOLD_NCCL_LIBRARY nccl HINTS ${NCCL_HOME}/lib $ENV{NCCL_HOME}/lib ${CUDAToolkit_LIBRARY_DIR})
  mark_as_advanced(WARPFOLD_NCCL_INCLUDE WARPFOLD_NCCL_LIBRARY)
  if(WARPFOLD_NCCL_INCLUDE AND WARPFOLD_NCCL_LIBRARY)
    add_library(warpfold::nccl INTERFACE IMPORTED)
    set_target_properties(warpfold::nccl PROPERTIES INTERFACE_LINK_LIBRARIES "warpfold::gpu;${WARPFOLD_NCCL_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${WARPFOLD_NCCL_INCLUDE}")
  endif()
endif()
