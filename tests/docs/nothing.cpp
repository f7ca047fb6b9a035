// SPDX-License-Identifier: Apache-2.0
// main() is in the lesson.
