// SPDX-License-Identifier: Apache-2.0
/// The kernels of twenty.cuh, instrumented: all of them, once each.
#pragma once

void launch_twenty();
