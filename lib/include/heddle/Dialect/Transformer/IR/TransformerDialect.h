//===- TransformerDialect.h - The transformer dialect ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transformer dialect with its types and attributes, without its ops.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"

#include "heddle/Dialect/Transformer/IR/TransformerDialect.h.inc"
#include "heddle/Dialect/Transformer/IR/TransformerEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "heddle/Dialect/Transformer/IR/TransformerTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "heddle/Dialect/Transformer/IR/TransformerAttrs.h.inc"
