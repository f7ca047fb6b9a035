// SPDX-License-Identifier: Apache-2.0
// What each fuzzer and the plain test over its corpus both run. Each aborts, saying why, where a promise is broken:
// any bytes give an answer or a wf::error of one printable line.
#pragma once

#include <cstddef>
#include <span>

/// Reads `content` as a .npy file, mapped and through a pipe, and as raw binary of every type. The two ways
/// must agree, and a layout must contradict neither itself nor the file.
void check_npy(std::span<const std::byte> content);

/// Reads `content` as stored sums, moments and dot products, as it is and with its head and checksum made right.
/// What is accepted is written back as it was, and can be merged and asked for values.
void check_state(std::span<const std::byte> content);

/// States of any operation, as words and compact. What is accepted is written back as it was, and can be merged, taken out and
/// asked for its answer.
void check_words(std::span<const std::byte> content);

/// Calls of the C interface with fields that the bytes choose, over memory of just the size that they reach.
/// Answers are those of the same elements without gaps.
void check_c_api(std::span<const std::byte> content);

/// wf_run of a request with any fields, and the functions of states. Answers are those of the shorter functions.
void check_request(std::span<const std::byte> content);

/// Numbers to text and back, names and quotations in messages.
void check_text(std::span<const std::byte> content);

/// The first line names a GPU, the rest is a file of tuned launches.
void check_tuning(std::span<const std::byte> content);

/// Lines of options as users write them: --arg, --axis, --grid and their like.
void check_options(std::span<const std::byte> content);

/// A user's .cu file, its first line the kernel that is asked for.
void check_source(std::span<const std::byte> content);
