//===- OpInterfaces.td - Interfaces of ops -----------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interfaces through which passes query ops without naming them: symbolic
// shapes, cost, storage of operands and limits of index values. Tiling is a
// separate interface (Transforms/TileableOpInterface.td), so that the dialect
// is independent of kernels.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_OPINTERFACES_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_OPINTERFACES_TD

include "mlir/IR/OpBase.td"

def Transformer_OpInterface : OpInterface<"TransformerOpInterface"> {
  let cppNamespace = "::heddle::transformer";
  let description = [{
    Interface of every op of the dialect. The defaults are for an op that computes each row from the
    same row of its first operand and from weights.
  }];
  let methods = [
    InterfaceMethod<[{
        Sets the symbolic shape of every result, and requires the conditions of the op. By default,
        results have the shape of the first operand, except for features that are static in their
        types.
      }],
      "void", "inferShapes", (ins "::heddle::transformer::SymbolicShapes &":$shapes),
      /*methodBody=*/"", /*defaultImplementation=*/"shapes.inferRows($_op);">,
    InterfaceMethod<[{Floating-point operations, by default 8 for each element of reduced rows.}],
      "::heddle::SizeExpr", "countFlops", (ins "const ::heddle::transformer::SymbolicShapes &":$shapes),
      /*methodBody=*/"", /*defaultImplementation=*/[{
        return ConcreteOp::template hasTrait<::heddle::transformer::ReducesRows>()
                   ? ::heddle::product(shapes.of($_op->getOperand(0))) * 8 : ::heddle::SizeExpr(0);
      }]>,
    InterfaceMethod<[{The storage of an operand in kernels; by default vectors are dense and all else are rows.}],
      "::heddle::transformer::OperandStorage", "storageOf", (ins "::mlir::OpOperand &":$operand),
      /*methodBody=*/"", /*defaultImplementation=*/[{
        return ::heddle::transformer::storageByRank(operand);
      }]>,
    InterfaceMethod<[{Whether an operand may be a weight; by default any but the first.}],
      "bool", "takesWeight", (ins "::mlir::OpOperand &":$operand),
      /*methodBody=*/"", /*defaultImplementation=*/"return operand.getOperandNumber() > 0;">,
    InterfaceMethod<[{Adds the op's limits on the values of an integer operand.}],
      "void", "limitValues", (ins "::mlir::OpOperand &":$operand, "::heddle::transformer::ValueLimits &":$limits),
      /*methodBody=*/"", /*defaultImplementation=*/"return;">,
    InterfaceMethod<[{The starts of the packed documents that hold the rows of the first operand; null by default: rows belong to sequences.}],
      "::mlir::Value", "documentStarts", (ins), /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<[{The table that the op reads though it is no operand, filled by the runtime. None by default.}],
      "::std::optional<::heddle::transformer::RowTable>", "rowTable", (ins),
      /*methodBody=*/"", /*defaultImplementation=*/"return ::std::nullopt;">,
    InterfaceMethod<[{The groups of the rows of the first operand, each with a matrix of its own. None by default.}],
      "::std::optional<::heddle::transformer::RowGroups>", "rowGroups", (ins),
      /*methodBody=*/"", /*defaultImplementation=*/"return ::std::nullopt;">,
  ];
}

def Transformer_ScoresOpInterface : OpInterface<"ScoresOpInterface"> {
  let cppNamespace = "::heddle::transformer";
  let description = [{
    An op that computes the scores of queries and keys: attention, its statistics, its weights or its
    gradients. Rows of a tile are queries, and keys are read in panels, unless the op declares other
    roles.
  }];
  let methods = [
    InterfaceMethod<"Queries, `[B, H, Tq, D]`.", "::mlir::Value", "getQuery">,
    InterfaceMethod<"Keys, `[B, Hkv, Tk, D]`.", "::mlir::Value", "getKey">,
    InterfaceMethod<"The operand that holds the keys.", "::mlir::OpOperand &", "getKeyMutable">,
    InterfaceMethod<"The mask, or null.", "::mlir::Value", "getMask">,
    InterfaceMethod<"The factor of each product of a query and a key.", "::mlir::FloatAttr", "getScaleAttr">,
    InterfaceMethod<"Rules that change the scores, and sinks that join them.", "::heddle::transformer::ScoreRules", "getRules", (ins),
      /*methodBody=*/"return {$_op.getBias(), $_op.getSinks(), $_op.getKeyCounts(), $_op.getKeyScales(), $_op.getSoftcapAttr(), $_op.getHiddenScoreAttr()};">,
    InterfaceMethod<"Whether rows of a tile are keys and columns are queries.", "bool", "rowsAreKeys", (ins),
      /*methodBody=*/"", /*defaultImplementation=*/"return false;">,
    InterfaceMethod<"Whether the kernel reads `operand` in panels; by default the keys.", "bool", "readsInPanels",
      (ins "::mlir::OpOperand &":$operand), /*methodBody=*/"", /*defaultImplementation=*/"return &operand == &$_op.getKeyMutable();">,
    InterfaceMethod<"Adds an operand for each value that the kernel reads both in panels and as rows.", "void", "addRows", (ins),
      /*methodBody=*/"", /*defaultImplementation=*/"return;">,
  ];
}

def Transformer_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::heddle::transformer";
  let description = [{
    An op through which the pass `differentiate` propagates gradients.
  }];
  let methods = [
    InterfaceMethod<[{
        Creates the ops that compute the gradients of the operands from the gradients of the results,
        and adds them to `adjoints`. Emits an error if an operand that needs a gradient has none.
      }],
      "::llvm::LogicalResult", "differentiate", (ins "::heddle::transformer::Adjoints &":$adjoints)>,
  ];
}

def Transformer_WeightGradientOpInterface : OpInterface<"WeightGradientOpInterface"> {
  let cppNamespace = "::heddle::transformer";
  let description = [{
    An op that adds to the gradient of a weight.
  }];
  let methods = [
    InterfaceMethod<"The name of the weight.", "::llvm::StringRef", "getName">,
    InterfaceMethod<"The number of the accumulator.", "uint64_t", "getUse">,
  ];
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_OPINTERFACES_TD
