# SPDX-License-Identifier: Apache-2.0
# wf_add_test(NAME SOURCES file.cpp… [LINK target…] [LABELS label…] [ARGS arg…] [COST seconds])
# A GoogleTest program that is one CTest test. Labels select: simt, lens, gpu, cli, slow …
# COST: that of a long test, about, under the sanitizers; what is begun first does not end long after the others.
# Under the sanitizers a test does a part of its drawings and sweeps (tests/effort.hpp).
# By tests/main.cpp it is told as skipped if all that it ran was skipped, as on a machine without a GPU.
function(wf_add_test name)
  cmake_parse_arguments(arg "" "COST" "SOURCES;LINK;LABELS;ARGS" ${ARGN})
  find_package(GTest REQUIRED)
  if(NOT TARGET wf_test_main)
    add_library(wf_test_main STATIC ${PROJECT_SOURCE_DIR}/tests/main.cpp)
    target_link_libraries(wf_test_main PUBLIC GTest::gtest PRIVATE wf_warnings wf_sanitize)
    target_compile_features(wf_test_main PRIVATE cxx_std_20)
    target_precompile_headers(wf_test_main PRIVATE <gtest/gtest.h>)
    wf_precompile_standard_library(wf_test_main)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} wf_test_main wf_warnings wf_sanitize)
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_precompile_headers(${name} REUSE_FROM wf_test_main)
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 600 SKIP_RETURN_CODE 77)
  if(WARPFOLD_SANITIZE)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT WARPFOLD_TEST_EFFORT=0.15)
  endif()
  if(arg_COST)
    set_tests_properties(${name} PROPERTIES COST ${arg_COST})
  endif()
endfunction()

# wf_in_third(K TEST…): long tests of what seldom changes. `./check` of all presets runs those of one third, K = 0, 1 or 2, another
# one for each revision; `./check PRESET` and ctest run all.
function(wf_in_third third)
  foreach(test IN LISTS ARGN)
    if(TEST ${test})
      set_property(TEST ${test} APPEND PROPERTY LABELS third_${third})
    endif()
  endforeach()
endfunction()
