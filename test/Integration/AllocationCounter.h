//===- AllocationCounter.h - How often memory was asked for ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts every way to the heap in the whole process, all threads and libraries
// included: operator new ends in malloc, too.
#pragma once

#include <cstdint>

namespace heddle::test {

/// Allocations since the process began.
int64_t allocations();

} // namespace heddle::test
