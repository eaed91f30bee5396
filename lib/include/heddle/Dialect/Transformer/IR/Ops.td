//===- Ops.td - All ops of the transformer dialect ---------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of models, and the ops of the backward pass.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_OPS_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_OPS_TD

include "heddle/Dialect/Transformer/IR/GradientOps.td"
include "heddle/Dialect/Transformer/IR/TransformerOps.td"
include "heddle/Dialect/Transformer/IR/WeightGradientOps.td"

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_OPS_TD
