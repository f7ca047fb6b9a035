// SPDX-License-Identifier: Apache-2.0
// What the fuzzer and the plain test over the corpus both run.
#pragma once

#include <cstddef>
#include <span>

/// Reads `content` as a .npy file, mapped and through a pipe, and as raw binary of every type.
/// Aborts, saying why, if the two ways disagree, if a layout contradicts itself or the file, or if
/// an error is not one printable line.
void check_npy(std::span<const std::byte> content);
