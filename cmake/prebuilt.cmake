# SPDX-License-Identifier: Apache-2.0
# warpfold from a library that is built already, so that trying the Python package does not compile it again.
find_package(Threads REQUIRED)
add_library(warpfold STATIC IMPORTED)
set_target_properties(warpfold PROPERTIES IMPORTED_LOCATION ${WARPFOLD_PREBUILT}
  INTERFACE_INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/include INTERFACE_LINK_LIBRARIES Threads::Threads)
