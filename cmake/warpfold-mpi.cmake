# SPDX-License-Identifier: Apache-2.0
# warpfold::mpi: the library and the MPI that CMake finds, for warpfold/mpi.hpp, which is a header alone. Included by
# find_package(warpfold COMPONENTS mpi).
if(NOT TARGET warpfold::mpi)
  set(wf_skip_mpicxx "${MPI_CXX_SKIP_MPICXX}")
  set(MPI_CXX_SKIP_MPICXX ON)  # MPI's own C++ interface, which no longer is one, is not wanted
  find_package(MPI 3.0 QUIET COMPONENTS CXX)
  set(MPI_CXX_SKIP_MPICXX "${wf_skip_mpicxx}")
  if(TARGET MPI::MPI_CXX)
    add_library(warpfold::mpi INTERFACE IMPORTED)
    set_target_properties(warpfold::mpi PROPERTIES INTERFACE_LINK_LIBRARIES "warpfold::warpfold;MPI::MPI_CXX")
  endif()
endif()
