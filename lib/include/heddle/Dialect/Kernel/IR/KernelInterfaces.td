//===- KernelInterfaces.td - Products and stores ------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interfaces of the products (ContractOps.td) and of the stores (StoreOps.td) of
// tiled bodies. Code that serves all forms uses the interfaces; code that serves
// one form uses its op.

#ifndef HEDDLE_DIALECT_KERNEL_IR_KERNELINTERFACES_TD
#define HEDDLE_DIALECT_KERNEL_IR_KERNELINTERFACES_TD

include "mlir/IR/OpBase.td"

def ProductOpInterface : OpInterface<"ProductOpInterface"> {
  let cppNamespace = "::heddle::kernel";
  let description = [{A product of a left operand and the rows of a view, which yields a tile of sums.}];
  let methods = [
    InterfaceMethod<"The left operand: a view, or a tile in a product over rows.",
      "::mlir::Value", "getLhs">,
    InterfaceMethod<"The first row of the left operand; null if it is a tile.",
      "::mlir::Value", "getLhsIndex", (ins), /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<"The right operand.", "::mlir::TypedValue<::heddle::kernel::ViewType>", "getRhs">,
    InterfaceMethod<"The first row of the right operand.", "::mlir::Value", "getRhsIndex">,
    InterfaceMethod<"The first column of the right operand in a product over rows; null: column 0.",
      "::mlir::Value", "getRhsColumn", (ins), /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<"Whether the sum runs over rows of the right operand, not over features.",
      "bool", "isOverRows", (ins), /*methodBody=*/"", /*defaultImplementation=*/"return false;">,
    InterfaceMethod<"The rows of the right operand that are read, counted from its first row.",
      "::heddle::kernel::RowRange", "getRange", (ins), /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<"A number for each row of the right operand, by which its codes are multiplied; null: none.",
      "::mlir::Value", "getKeptScales", (ins), /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
  ];
  let extraSharedClassDeclaration = [{
    /// Whether the right operand is a packed weight, which the product streams and can prefetch.
    bool readsWeights() { return ::heddle::kernel::detail::isWeight($_op.getRhs()); }
    /// Format in which the operands are multiplied; null in an op that was not verified.
    const ::heddle::NumberFormat *findFormat() { return ::heddle::kernel::detail::findFormat($_op.getLhs(), $_op.getRhs()); }
    const ::heddle::NumberFormat &getFormat() { return *findFormat(); }
    /// Whether elements of the right operand are converted to the format's weight type when read.
    bool convertsRight() { return ::heddle::kernel::detail::convertsRight(getFormat(), $_op.getRhs()); }
  }];
  let extraClassDeclaration = [{
    /// The type of the sums.
    ::mlir::RankedTensorType getType() {
      return ::llvm::cast<::mlir::RankedTensorType>((*this)->getResult(0).getType());
    }
  }];
}

def StoreOpInterface : OpInterface<"StoreOpInterface"> {
  let cppNamespace = "::heddle::kernel";
  let description = [{A store of a tile to a view.}];
  let methods = [
    InterfaceMethod<"The tile.", "::mlir::TypedValue<::mlir::RankedTensorType>", "getTile">,
    InterfaceMethod<"The view.", "::mlir::TypedValue<::heddle::kernel::ViewType>", "getView">,
    InterfaceMethod<"One index for each dimension of the view.", "::mlir::OperandRange", "getIndices">,
    InterfaceMethod<"The number of rows to store; null: all.", "::mlir::Value", "getRows">,
    InterfaceMethod<"The row at which the rows continue at row 0.", "::std::optional<uint64_t>", "getRing",
      (ins), /*methodBody=*/"", /*defaultImplementation=*/"return ::std::nullopt;">,
    InterfaceMethod<[{
        Columns of the view that the tile may cover. A tile that continues from head to head covers
        the columns of all heads. None if no column of the tile is outside the view.
      }],
      "::std::optional<::heddle::kernel::Size>", "getViewColumns", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/"return $_op.getView().getType().getDims().back().extent;">,
    InterfaceMethod<[{
        Number of columns that are contiguous in memory from each of its multiples on; 0 if all
        columns of the tile are.
      }],
      "int64_t", "getPieceColumns", (ins), /*methodBody=*/"", /*defaultImplementation=*/"return 0;">,
  ];
}

#endif // HEDDLE_DIALECT_KERNEL_IR_KERNELINTERFACES_TD
