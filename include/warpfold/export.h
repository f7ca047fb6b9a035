/* SPDX-License-Identifier: Apache-2.0 */
/** \file export.h
 * WF_API marks what the shared library exports: the C interface, and the C++ functions that are compiled. All else
 * in it is hidden. */
#ifndef WARPFOLD_EXPORT_H
#define WARPFOLD_EXPORT_H

#if defined(__GNUC__)
/** What the shared library shows. */
#define WF_API __attribute__((visibility("default")))
#else
#define WF_API
#endif

#endif
