# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` gives a user: headers, libraries, find_package(warpfold), files for pkg-config, and packages by cpack.
include(CMakePackageConfigHelpers)

# Components, which are the packages of cpack: library, gpu, tools.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME library)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/warpfold DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS warpfold_headers warpfold warpfold_io EXPORT warpfold-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
set_target_properties(warpfold_headers PROPERTIES EXPORT_NAME headers)
set_target_properties(warpfold_io PROPERTIES EXPORT_NAME io)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/warpfold)
install(EXPORT warpfold-targets NAMESPACE warpfold:: DESTINATION ${package_folder})
if(WARPFOLD_HAS_CUDA)  # the component `gpu`, which needs the CUDA runtime
  install(TARGETS warpfold_gpu warpfold_tuning EXPORT warpfold-gpu-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT gpu
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT gpu NAMELINK_COMPONENT gpu)
  install(EXPORT warpfold-gpu-targets NAMESPACE warpfold:: DESTINATION ${package_folder} COMPONENT gpu)
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/warpfold-config.cmake.in
  ${PROJECT_BINARY_DIR}/warpfold-config.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/warpfold-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/warpfold-config.cmake ${PROJECT_BINARY_DIR}/warpfold-config-version.cmake
  ${CMAKE_CURRENT_LIST_DIR}/warpfold-cuda.cmake ${CMAKE_CURRENT_LIST_DIR}/warpfold-mpi.cmake
  ${CMAKE_CURRENT_LIST_DIR}/warpfold-nccl.cmake DESTINATION ${package_folder})

# pkg-config: warpfold is for C and for C++, so it sets no standard. What an archive needs of the system, its users link.
file(RELATIVE_PATH up_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
list(TRANSFORM wf_cxx_runtime PREPEND -l OUTPUT_VARIABLE system_libraries)
list(JOIN system_libraries " " system_libraries)
string(APPEND system_libraries " -lm -lpthread")  # not -pthread, which nvcc does not know
set(linked_with_archive "")
set(linked_privately "")
if(BUILD_SHARED_LIBS)
  set(linked_privately ${system_libraries})
else()
  set(linked_with_archive " ${system_libraries}")
endif()
set(packages warpfold warpfold-io)
if(WARPFOLD_HAS_CUDA)
  list(APPEND packages warpfold-gpu)
  set(tuning_library "")
  if(NOT BUILD_SHARED_LIBS)
    set(tuning_library " -lwarpfold_tuning")
  endif()
  get_filename_component(cuda_libraries ${CUDA_cudart_static_LIBRARY} DIRECTORY)
endif()
foreach(package IN LISTS packages)
  set(component library)
  if(package STREQUAL "warpfold-gpu")
    set(component gpu)
  endif()
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/warpfold)
if(PROJECT_IS_TOP_LEVEL)
  include(package)
endif()
