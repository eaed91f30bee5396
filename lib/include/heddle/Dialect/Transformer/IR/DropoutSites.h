//===- DropoutSites.h - Sites of dropouts -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "mlir/IR/Operation.h"

namespace heddle::transformer {

/// The number that tells the dropout of an op from others; null if the op drops nothing.
mlir::Value siteOf(mlir::Operation *op);

} // namespace heddle::transformer
