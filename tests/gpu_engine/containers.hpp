// SPDX-License-Identifier: Apache-2.0
/// \file containers.hpp
/// What CUDA's own libraries hold arrays and streams in, given to the front door.
#pragma once

#include <string>

/// Empty, or the first thing that is wrong. By nvcc; it needs a GPU.
std::string containers_on_gpu();
