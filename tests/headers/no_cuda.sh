#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# no_cuda.sh NINJA BUILD SOURCE: fails if an object of BUILD was compiled with a header of the CUDA toolkit. simt's, in
# SOURCE, have the same names.
"$1" -C "$2" -t deps | awk -v own="$3/" '
  /^[^ ]/ {object = $1; ++objects}
  /^    \// {
    path = substr($0, 5)
    if (index(path, own) != 1 && path ~ /\/(cuda|cupti|cub|thrust|nvrtc|nvml|nvtx|cooperative_groups|driver_types|vector_types|host_defines)[^\/]*$/) {
      print object " " path
      bad = 1
    }
  }
  END {
    if (!objects) print "ninja tells of no object that was compiled"
    exit bad || !objects
  }'
