# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` gives a user: headers, libraries, find_package(warpfold), files for pkg-config, and packages by cpack.
include(CMakePackageConfigHelpers)

# Components, which are the packages of cpack: runtime, library, gpu_runtime, gpu, tools. A runtime is a shared library.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME library)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/warpfold DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/warpfold)

# wf_install(FILE COMPONENT NAME=TARGET…): the targets, and warpfold-FILE-targets.cmake, which names them warpfold::NAME.
function(wf_install file component)
  set(runtime runtime)
  if(component STREQUAL "gpu")
    set(runtime gpu_runtime)
  endif()
  foreach(pair IN LISTS ARGN)
    string(REPLACE = ";" pair ${pair})
    list(POP_FRONT pair name target)
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
    install(TARGETS ${target} EXPORT warpfold-${file}-targets
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component}
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${runtime} NAMELINK_COMPONENT ${component})
  endforeach()
  install(EXPORT warpfold-${file}-targets NAMESPACE warpfold:: DESTINATION ${package_folder} COMPONENT ${component})
endfunction()
# The library's two kinds have the same names, in files of which a project takes one; what is of one kind alone goes with either.
wf_install(headers library headers=warpfold_headers)
wf_install(io library io=warpfold_io)
if(WARPFOLD_HAS_CUDA)  # the component `gpu`, which needs the CUDA runtime
  set(gpu_libraries gpu=warpfold_gpu tuning=warpfold_tuning)
endif()
set(kinds static)
if(wf_both)
  wf_install(shared library warpfold=warpfold_shared)
  set(kinds shared static)
  if(WARPFOLD_HAS_CUDA)
    wf_install(gpu-shared gpu gpu=warpfold_gpu_shared)
  endif()
elseif(BUILD_SHARED_LIBS)
  set(kinds shared)
endif()
list(GET kinds -1 kind)
wf_install(${kind} library warpfold=warpfold)
if(WARPFOLD_HAS_CUDA)
  wf_install(gpu-${kind} gpu ${gpu_libraries})
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/warpfold-config.cmake.in
  ${PROJECT_BINARY_DIR}/warpfold-config.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/warpfold-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/warpfold-config.cmake ${PROJECT_BINARY_DIR}/warpfold-config-version.cmake
  ${CMAKE_CURRENT_LIST_DIR}/warpfold-cuda.cmake ${CMAKE_CURRENT_LIST_DIR}/warpfold-mpi.cmake
  ${CMAKE_CURRENT_LIST_DIR}/warpfold-nccl.cmake DESTINATION ${package_folder})

# pkg-config: warpfold is for C and for C++, so it sets no standard. What an archive needs of the system, its users link.
# NAME gives what a linker takes of two, the shared library; NAME-static the archive.
file(RELATIVE_PATH up_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
list(TRANSFORM wf_cxx_runtime PREPEND -l OUTPUT_VARIABLE system_libraries)
list(JOIN system_libraries " " system_libraries)
string(APPEND system_libraries " -lm -lpthread")  # not -pthread, which nvcc does not know
set(packages warpfold warpfold-io)
if(WARPFOLD_HAS_CUDA)
  list(APPEND packages warpfold-gpu)
  get_filename_component(cuda_libraries ${CUDA_cudart_static_LIBRARY} DIRECTORY)
endif()
function(wf_install_pc package kind suffix)
  set(component library)
  if(package STREQUAL "warpfold-gpu")
    set(component gpu)
  endif()
  set(linked "-lwarpfold")
  set(linked_gpu "-lwarpfold_gpu")
  set(linked_privately "")
  if(kind STREQUAL "shared")
    set(linked_privately ${system_libraries})
  else()
    set(linked "-l:libwarpfold.a ${system_libraries}")
    set(linked_gpu "-l:libwarpfold_gpu.a -lwarpfold_tuning")
  endif()
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}${suffix}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}${suffix}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component})
endfunction()
list(GET kinds 0 kind)
foreach(package IN LISTS packages)
  wf_install_pc(${package} ${kind} "")
  if("static" IN_LIST kinds)
    wf_install_pc(${package} static -static)
  endif()
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/warpfold)
if(PROJECT_IS_TOP_LEVEL)
  include(package)
endif()
