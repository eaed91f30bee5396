//===- WideClones.h - Function multiversioning ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Function multiversioning: hot loops outside kernels are compiled for several vector widths, and
// the dynamic loader selects a clone (ifunc). Sanitizers are not initialized that early, so they
// get only the default. A callee of a clone is compiled for its width only if it is inlined, which
// HEDDLE_IN_CLONE ensures. Clones take pointers: clang 22 omits small library functions (iterators
// of a span) that only clones call.
#pragma once

#if defined(__x86_64__) && (defined(__clang__) ? __clang_major__ >= 22 : __GNUC__ >= 12) &&        \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HEDDLE_WIDE_CLONES                                                                         \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HEDDLE_WIDE_CLONES
#endif

#define HEDDLE_IN_CLONE inline __attribute__((always_inline))
