# SPDX-License-Identifier: Apache-2.0
# Compiles flags_probe.cpp with one set of flags, and runs it. COMPILER FLAGS INCLUDE SOURCE WORK; DIGEST: what it
# must print; or REFUSED: what the compiler must say.
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
file(MAKE_DIRECTORY ${WORK})
file(WRITE ${WORK}/empty.cpp "int main() {}\n")
execute_process(COMMAND ${COMPILER} ${flags} ${WORK}/empty.cpp -o ${WORK}/empty
  RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE said)
if(NOT status EQUAL 0)
  message("skipped: ${COMPILER} does not take ${FLAGS}: ${said}")
  return()
endif()
execute_process(COMMAND ${COMPILER} -std=c++20 -O2 ${flags} -I${INCLUDE} ${SOURCE} -o ${WORK}/probe
  RESULT_VARIABLE status ERROR_VARIABLE said)
if(DEFINED REFUSED)
  if(status EQUAL 0 OR NOT said MATCHES "${REFUSED}")
    message(FATAL_ERROR "with ${FLAGS} the headers must be refused, with the words \"${REFUSED}\"; status ${status}: ${said}")
  endif()
  return()
endif()
if(NOT status EQUAL 0)
  message(FATAL_ERROR "does not compile with ${FLAGS}: ${said}")
endif()
execute_process(COMMAND ${WORK}/probe RESULT_VARIABLE status OUTPUT_VARIABLE said)
if(NOT status EQUAL 0 OR NOT said STREQUAL "digest ${DIGEST}\n")
  message(FATAL_ERROR "compiled with ${FLAGS}: expected digest ${DIGEST}, status ${status}:\n${said}")
endif()
