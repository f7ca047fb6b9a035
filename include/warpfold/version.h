/* SPDX-License-Identifier: Apache-2.0 */
/** \file version.h
 * The version of these headers. That of the compiled library is wf_version(), in C++ wf::version(). */
#ifndef WARPFOLD_VERSION_H
#define WARPFOLD_VERSION_H

/** It rises where programs must be changed. */
#define WARPFOLD_VERSION_MAJOR 0
/** It rises with what is new; before 1.0 also where programs must be changed. */
#define WARPFOLD_VERSION_MINOR 1
/** It rises with what is mended. */
#define WARPFOLD_VERSION_PATCH 0

/** The version as one number, to compare: 10000 * major + 100 * minor + patch. */
#define WARPFOLD_VERSION (10000 * WARPFOLD_VERSION_MAJOR + 100 * WARPFOLD_VERSION_MINOR + WARPFOLD_VERSION_PATCH)

/** \cond */
#define WARPFOLD_VERSION_TEXT_OF(x) #x
#define WARPFOLD_VERSION_TEXT(major, minor, patch) \
  WARPFOLD_VERSION_TEXT_OF(major) "." WARPFOLD_VERSION_TEXT_OF(minor) "." WARPFOLD_VERSION_TEXT_OF(patch)
/** \endcond */
/** The version as text: "0.1.0". */
#define WARPFOLD_VERSION_STRING \
  WARPFOLD_VERSION_TEXT(WARPFOLD_VERSION_MAJOR, WARPFOLD_VERSION_MINOR, WARPFOLD_VERSION_PATCH)

#endif
