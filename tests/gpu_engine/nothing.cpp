// SPDX-License-Identifier: Apache-2.0
// A program whose main() is in a library.
