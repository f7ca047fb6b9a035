# SPDX-License-Identifier: Apache-2.0
# The target `reference`: the pages of the API, by Doxygen, in the style of doxygen-awesome-css where that is installed; with Python each
# ends with a table of examples.
find_program(WARPFOLD_DOXYGEN doxygen)
find_file(WARPFOLD_DOXYGEN_STYLE doxygen-awesome.css PATH_SUFFIXES share/doxygen-awesome-css)
mark_as_advanced(WARPFOLD_DOXYGEN WARPFOLD_DOXYGEN_STYLE)
if(WARPFOLD_DOXYGEN)
  set(style "")
  if(WARPFOLD_DOXYGEN_STYLE)
    set(style ${WARPFOLD_DOXYGEN_STYLE})
  endif()
  set(tables "")
  find_package(Python3 QUIET COMPONENTS Interpreter)
  if(Python3_Interpreter_FOUND)
    set(tables COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/docs/reference/examples.py ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/reference)
  endif()
  add_custom_target(reference VERBATIM
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/reference
    COMMAND ${CMAKE_COMMAND} -E env WARPFOLD_SOURCE=${PROJECT_SOURCE_DIR} WARPFOLD_REFERENCE=${PROJECT_BINARY_DIR}/reference
      WARPFOLD_VERSION=${PROJECT_VERSION} WARPFOLD_REFERENCE_STYLE=${style}
      ${WARPFOLD_DOXYGEN} ${PROJECT_SOURCE_DIR}/docs/reference/Doxyfile
    ${tables}
    COMMENT "The API reference: ${PROJECT_BINARY_DIR}/reference/html/index.html")
endif()
