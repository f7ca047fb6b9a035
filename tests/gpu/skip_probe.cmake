# SPDX-License-Identifier: Apache-2.0
# cmake -DPROBE=program -P skip_probe.cmake: how CTest takes tests that skip, pass, fail and crash, in all company.
foreach(row "skips:skipped" "passes:passed" "fails:failed" "crashes:failed" "skips passes:passed" "skips fails:failed"
    "skips crashes:failed" "skips passes fails:failed")
  string(REGEX MATCH "^(.*):(.*)$" _ ${row})
  set(tests ${CMAKE_MATCH_1})
  set(expected ${CMAKE_MATCH_2})
  string(REPLACE " " ":probe." filter "probe.${tests}")
  execute_process(COMMAND ${PROBE} --gtest_filter=${filter} RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  set(taken failed)
  if(status STREQUAL "0")
    set(taken passed)
  elseif(status STREQUAL "77")
    set(taken skipped)
  endif()
  if(NOT taken STREQUAL expected)
    message(SEND_ERROR "${tests}: ${taken} (${status}), not ${expected}")
  endif()
endforeach()
