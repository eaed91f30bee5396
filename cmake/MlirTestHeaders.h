//===- MlirTestHeaders.h - Common headers of compiler tests --- -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MlirHeaders.h and GoogleTest, precompiled once (heddle_precompile).

#include "MlirHeaders.h"
#include "TestHeaders.h"
