//===- MlirTestHeaders.h - What the compiler's tests have in common C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MlirHeaders.h and GoogleTest, compiled once (heddle_precompile).

#include "MlirHeaders.h"
#include "TestHeaders.h"
