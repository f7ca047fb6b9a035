# SPDX-License-Identifier: Apache-2.0
# wf_kernel_sources(OUT FAMILY…): the files of src/gpu with the kernels of these families (order for src/gpu/order.cu). Some are
# compiled together where WARPFOLD_KERNELS_TOGETHER says so, as in every preset but release: nvcc reads the headers three times a
# file, which takes 5 to 6 of the 6 to 20 seconds of processors that a family takes. A release compiles each alone, so that a
# program links what it uses.

# None takes a minute by `nvcc -Ofc=max`. sums and machine stay alone, for tests/package looks at what a program that sums on a GPU
# links; own has options of its own.
set(WF_KERNEL_GROUPS
  "order integers integer_moments native checked products moments"
  "rows_sums rows_half_sums rows_moments"
  "rows_products rows_complex rows_any"
  "rows_words rows_integers"
  "rows_labels runs states conversions")

function(wf_kernel_sources out)
  set(sources "")
  foreach(group IN LISTS WF_KERNEL_GROUPS)
    string(REPLACE " " ";" families "${group}")
    set(chosen "")
    foreach(family IN LISTS families)
      if(family IN_LIST ARGN)
        list(APPEND chosen ${PROJECT_SOURCE_DIR}/src/gpu/${family}.cu)
        list(REMOVE_ITEM ARGN ${family})
      endif()
    endforeach()
    list(LENGTH chosen many)
    if(WARPFOLD_KERNELS_TOGETHER AND many GREATER 1)
      list(GET families 0 first)
      list(TRANSFORM chosen REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE text)
      string(JOIN "" text ${text})
      set(chosen ${CMAKE_CURRENT_BINARY_DIR}/${first}_and_others.cu)
      file(CONFIGURE OUTPUT ${chosen} CONTENT "${text}" @ONLY)
    endif()
    list(APPEND sources ${chosen})
  endforeach()
  list(TRANSFORM ARGN REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/gpu/\\1.cu")
  set(${out} ${sources} ${ARGN} PARENT_SCOPE)
endfunction()
