//===- OpInterfaces.td - What passes ask of an op ----------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes do not know ops by name: shapes in terms of dimensions, the cost, the
// storage of each operand and the limits of index values stand here. How an op is
// computed on tiles is an interface of its own (Transforms/TileableOpInterface.td),
// so that the dialect knows no kernels.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_OPINTERFACES_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_OPINTERFACES_TD

include "mlir/IR/OpBase.td"

def Transformer_OpInterface : OpInterface<"TransformerOpInterface"> {
  let cppNamespace = "::heddle::transformer";
  let description = [{
    What every op of the dialect answers. The defaults are those of an op that computes each row of its first operand from that row
    and from weights.
  }];
  let methods = [
    InterfaceMethod<[{
        Gives every result its shape in terms of the function's dimensions, and requires what the op relies on. By default results
        have the shape of the first operand, but for features that their types know.
      }],
      "void", "inferShapes", (ins "::heddle::transformer::SymbolicShapes &":$shapes),
      /*methodBody=*/"", /*defaultImplementation=*/"shapes.inferRows($_op);">,
    InterfaceMethod<[{Floating-point operations, by default 8 for each element of reduced rows.}],
      "::heddle::SizeExpr", "countFlops", (ins "const ::heddle::transformer::SymbolicShapes &":$shapes),
      /*methodBody=*/"", /*defaultImplementation=*/[{
        return ConcreteOp::template hasTrait<::heddle::transformer::ReducesRows>()
                   ? ::heddle::product(shapes.of($_op->getOperand(0))) * 8 : ::heddle::SizeExpr(0);
      }]>,
    InterfaceMethod<[{How kernels want an operand stored; by default vectors are dense and all else are rows.}],
      "::heddle::transformer::OperandStorage", "storageOf", (ins "::mlir::OpOperand &":$operand),
      /*methodBody=*/"", /*defaultImplementation=*/[{
        return ::heddle::transformer::storageByRank(operand);
      }]>,
    InterfaceMethod<[{Whether an operand may be a weight; by default any but the rows that are computed with.}],
      "bool", "takesWeight", (ins "::mlir::OpOperand &":$operand),
      /*methodBody=*/"", /*defaultImplementation=*/"return operand.getOperandNumber() > 0;">,
    InterfaceMethod<[{What the op asks of the values of an operand of integers.}],
      "void", "limitValues", (ins "::mlir::OpOperand &":$operand, "::heddle::transformer::ValueLimits &":$limits),
      /*methodBody=*/"", /*defaultImplementation=*/"return;">,
    InterfaceMethod<[{Where the packed documents start that the rows of the first operand belong to; null by default: rows are of sequences.}],
      "::mlir::Value", "documentStarts", (ins), /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<[{The table that the op reads and that is no operand: the runtime fills it. None by default.}],
      "::std::optional<::heddle::transformer::RowTable>", "rowTable", (ins),
      /*methodBody=*/"", /*defaultImplementation=*/"return ::std::nullopt;">,
  ];
}

def Transformer_ScoresOpInterface : OpInterface<"ScoresOpInterface"> {
  let cppNamespace = "::heddle::transformer";
  let description = [{
    An op that computes the scores of queries and keys: attention, its statistics, its weights. Keys are read in panels.
  }];
  let methods = [
    InterfaceMethod<"Queries, `[B, H, Tq, D]`.", "::mlir::Value", "getQuery">,
    InterfaceMethod<"Keys, `[B, Hkv, Tk, D]`.", "::mlir::Value", "getKey">,
    InterfaceMethod<"The operand that holds the keys.", "::mlir::OpOperand &", "getKeyMutable">,
    InterfaceMethod<"The mask, or null.", "::mlir::Value", "getMask">,
    InterfaceMethod<"What multiplies each product.", "::mlir::FloatAttr", "getScaleAttr">,
    InterfaceMethod<"What changes the scores, and what joins them.", "::heddle::transformer::ScoreRules", "getRules", (ins),
      /*methodBody=*/"return {$_op.getBias(), $_op.getSinks(), $_op.getSoftcapAttr(), $_op.getHiddenScoreAttr()};">,
  ];
  let extraSharedClassDeclaration = [{
    /// Whether `operand` are the keys.
    bool readsAsKeys(::mlir::OpOperand &operand) { return &operand == &$_op.getKeyMutable(); }
  }];
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_OPINTERFACES_TD
