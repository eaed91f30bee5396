//===- AllocationCounter.h - Counter of heap allocations --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts all heap allocations in the whole process, including all threads and libraries: operator
// new calls malloc, too.
#pragma once

#include <cstdint>

namespace heddle::test {

/// Number of allocations since the process began.
int64_t allocations();

} // namespace heddle::test
