/* SPDX-License-Identifier: Apache-2.0 */
/* The version of these headers. That of the compiled library is wf_version(), in C++ wf::version(). */
#ifndef WARPFOLD_VERSION_H
#define WARPFOLD_VERSION_H

#define WARPFOLD_VERSION_MAJOR 0
#define WARPFOLD_VERSION_MINOR 1
#define WARPFOLD_VERSION_PATCH 0

/* As one number, to compare: 10000 * major + 100 * minor + patch. */
#define WARPFOLD_VERSION (10000 * WARPFOLD_VERSION_MAJOR + 100 * WARPFOLD_VERSION_MINOR + WARPFOLD_VERSION_PATCH)

#define WARPFOLD_VERSION_TEXT_OF(x) #x
#define WARPFOLD_VERSION_TEXT(major, minor, patch) \
  WARPFOLD_VERSION_TEXT_OF(major) "." WARPFOLD_VERSION_TEXT_OF(minor) "." WARPFOLD_VERSION_TEXT_OF(patch)
/* As text: "0.1.0". */
#define WARPFOLD_VERSION_STRING \
  WARPFOLD_VERSION_TEXT(WARPFOLD_VERSION_MAJOR, WARPFOLD_VERSION_MINOR, WARPFOLD_VERSION_PATCH)

#endif
