//===- WideClones.h - Function multiversioning ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hot loops outside of kernels are compiled for several vector widths; the dynamic
// loader selects a clone (ifunc). Sanitisers are not initialised that early, so they
// get the default only.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 &&           \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HEDDLE_WIDE_CLONES                                                                         \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HEDDLE_WIDE_CLONES
#endif
