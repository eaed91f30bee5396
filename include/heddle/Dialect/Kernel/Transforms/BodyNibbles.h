//===- BodyNibbles.h - Codes of four bits as floats ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoding of i4 to registers, for all targets.
#pragma once

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

namespace heddle::kernel {

/// Scale times code, exact: of eight codes of four bits in each word, the one of a number.
mlir::Value decodedNibbles(BodyEmitter &emitter, mlir::Value words, mlir::Value scales,
                           int64_t number);

} // namespace heddle::kernel
