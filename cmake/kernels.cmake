# SPDX-License-Identifier: Apache-2.0
# wf_kernel_sources(OUT FAMILY…): the files of src/gpu with the kernels of these families (order for src/gpu/order.cu). Some are
# compiled together, since nvcc reads the headers three times a file, which takes 2 to 3 of the seconds of processors that a family takes.
# In a release a program of a static library still links no rows where it sums whole arrays, and no products where it takes a minimum. Where
# WARPFOLD_KERNELS_TOGETHER says so, as in every other preset, more are together.

# None takes a minute, in development by `nvcc -Ofc=max`. The longest come first, so that two cores end at one time. sums and machine stay alone, for tests/package
# looks at what a program that sums on a GPU links; own does in development, for tests/docs/adding_test.py links another one in its place.
set(WF_KERNEL_GROUPS
  "rows_sums rows_products"
  "products moments"
  "rows_moments"
  "order native integers integer_moments checked"
  "rows_integers"
  "rows_words"
  "rows_half_sums"
  "rows_complex rows_any"
  "sums"
  "own rows_labels runs states conversions selections selections_across"
  "machine")
# Files, by their first family, of which ptxas does not copy what a kernel calls into each kernel, and takes half the time. Moments of rows would be slower so by a fifth, sums of rows by up to 6% (docs/log/2026-11-29-nvcc-one-call.md), rows of complex numbers and of any
# operation are by 1 to 8% (docs/log/2026-11-28-nvcc-copies.md); sums of arrays are as fast (docs/log/2026-11-29-nvcc-default-set.md).
set(WF_KERNELS_WITHOUT_COPIES products rows_complex sums)
set(WF_KERNEL_GROUPS_TOGETHER
  "order native products moments"
  "integers integer_moments checked"
  "rows_sums rows_half_sums rows_moments"
  "rows_products rows_complex rows_any"
  "rows_words rows_integers"
  "rows_labels runs states conversions selections selections_across")

function(wf_kernel_sources out)
  set(sources "")
  set(with_own "")
  set(groups ${WF_KERNEL_GROUPS})
  if(WARPFOLD_KERNELS_TOGETHER)
    set(groups ${WF_KERNEL_GROUPS_TOGETHER})
  endif()
  foreach(group IN LISTS groups)
    string(REPLACE " " ";" families "${group}")
    set(chosen "")
    foreach(family IN LISTS families)
      if(family IN_LIST ARGN)
        list(APPEND chosen ${PROJECT_SOURCE_DIR}/src/gpu/${family}.cu)
        list(REMOVE_ITEM ARGN ${family})
      endif()
    endforeach()
    list(LENGTH chosen many)
    list(GET families 0 first)
    if(many GREATER 1)
      list(TRANSFORM chosen REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE text)
      string(JOIN "" text ${text})
      set(chosen ${CMAKE_CURRENT_BINARY_DIR}/${first}_and_others.cu)
      file(CONFIGURE OUTPUT ${chosen} CONTENT "${text}" @ONLY)
    endif()
    if("own" IN_LIST families)
      set(with_own ${chosen})
    endif()
    if(many AND first IN_LIST WF_KERNELS_WITHOUT_COPIES AND WARPFOLD_PTXAS_CALLS AND NOT WARPFOLD_KERNELS_TOGETHER)
      set_source_files_properties(${chosen} PROPERTIES COMPILE_OPTIONS "$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-Xptxas=-cloning=no>")
    endif()
    list(APPEND sources ${chosen})
  endforeach()
  if("own" IN_LIST ARGN)
    set(with_own ${PROJECT_SOURCE_DIR}/src/gpu/own.cu)
  endif()
  if(with_own)
    set_source_files_properties(${with_own} PROPERTIES COMPILE_OPTIONS "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>")  # for std::complex's members
  endif()
  list(TRANSFORM ARGN REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/gpu/\\1.cu")
  set(${out} ${sources} ${ARGN} PARENT_SCOPE)
endfunction()

# wf_kernel_architectures(TARGET): where TARGET is compiled for the default set of architectures, its code for 8.0 is made of the PTX for 7.5, so that nvcc reads the files and optimizes twice, not
# three times. The two PTX are the same but for what 7.5 has not: five shuffles do the work of `redux.sync`, once per row that is added exactly or per tile; what bf16 is converted or compared by takes a
# few instructions more; and what L2 keeps is said by each load, not by a policy (docs/log/2026-11-28-nvcc-default-set.md, docs/log/2026-11-29-nvcc-default-set.md, docs/log/2026-11-29-nvcc-cold-code.md).
function(wf_kernel_architectures target)
  get_target_property(architectures ${target} CUDA_ARCHITECTURES)
  if(NOT WF_DEFAULT_ARCHITECTURES OR NOT "80-real" IN_LIST architectures OR WARPFOLD_KERNELS_TOGETHER)
    return()
  endif()
  list(REMOVE_ITEM architectures 80-real)
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${architectures}")
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:--generate-code=arch=compute_75,code=[sm_80]>")
endfunction()
