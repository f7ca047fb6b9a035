# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` gives a user: headers, libraries, find_package(warpfold), warpfold.pc.
include(CMakePackageConfigHelpers)

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
  install(TARGETS warpfold_gpu warpfold_tuning EXPORT warpfold-gpu-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT warpfold-gpu-targets NAMESPACE warpfold:: DESTINATION ${package_folder})
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/warpfold-config.cmake.in
  ${PROJECT_BINARY_DIR}/warpfold-config.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/warpfold-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/warpfold-config.cmake
  ${PROJECT_BINARY_DIR}/warpfold-config-version.cmake DESTINATION ${package_folder})

file(RELATIVE_PATH up_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/warpfold.pc.in ${PROJECT_BINARY_DIR}/warpfold.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/warpfold.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/warpfold)
