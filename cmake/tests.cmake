# SPDX-License-Identifier: Apache-2.0
# wf_add_test(NAME SOURCES file.cpp… [LINK target…] [LABELS label…] [ARGS arg…])
# A GoogleTest program that is one CTest test. Labels select: simt, lens, gpu, cli, slow …
function(wf_add_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;LABELS;ARGS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gtest_main wf_warnings wf_sanitize)
  target_compile_features(${name} PRIVATE cxx_std_20)
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 600)
  if(gpu IN_LIST arg_LABELS)
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "no GPU")  # skipped, never passed
  endif()
endfunction()
