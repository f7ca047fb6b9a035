// SPDX-License-Identifier: Apache-2.0
/// For each rule of the lens's advice a kernel that it speaks of, and one that it is silent on.
#pragma once

enum class subject {
  column_of_tile, padded_tile, swizzled_tile, strided_tree,
  every_eighth, neighbours, gathered,
  odd_lanes_work, whole_warps_work, modulo_tree, sequential_tree,
  all_to_one, warp_adds_first, shared_to_one,
  one_warp_blocks, full_blocks, ragged_blocks, much_shared,
  one_flop_a_word, many_flops_a_word,
  no_barrier, with_barrier, in_place_shift, between_blocks,
};
void launch_subject(subject);
