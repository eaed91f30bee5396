//===- TileableOpInterface.td - How an op becomes tiles ----*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Grouping, tiling and the check for what is not supported ask an op through this
// interface. Its implementations are external models (lib/Transforms/Tilers.cpp):
// the ops' dialects know no kernels.

#ifndef HEDDLE_TRANSFORMS_TILEABLEOPINTERFACE_TD
#define HEDDLE_TRANSFORMS_TILEABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def TileableOpInterface : OpInterface<"TileableOpInterface"> {
  let cppNamespace = "::heddle";
  let description = [{
    An op that kernels can be made of, or that stays between them: operands of kernels and the session's bookkeeping.
  }];
  let methods = [
    InterfaceMethod<[{The kernel that the op begins; none where it stays between kernels.}],
      "::std::optional<::heddle::kernel::Root>", "getRoot">,
    InterfaceMethod<[{
        Whether the op can be computed on the tiles of a kernel around `root`, of which `before` is the chain of ops whose
        last one it reads.
      }],
      "bool", "canFollow", (ins "::heddle::kernel::Root":$root, "::llvm::ArrayRef<::mlir::Operation *>":$before),
      /*methodBody=*/"", /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{Fails with an error at an op that its tiler, or what runs it, does not take.}],
      "::llvm::LogicalResult", "checkSupported", (ins),
      /*methodBody=*/"", /*defaultImplementation=*/"return ::llvm::success();">,
    InterfaceMethod<[{Writes the body of a kernel around the op; fails with an error at the definition.}],
      "::llvm::LogicalResult", "tile", (ins "::heddle::KernelBuilder &":$frame)>,
    InterfaceMethod<[{
        The tile of the op's value at the place of `tiles`, made of tiles of its operands: what kernels around sums and around
        linears are made of. Fails with an error at the op.
      }],
      "::llvm::FailureOr<::mlir::Value>", "tileOf", (ins "::heddle::ValueTiles &":$tiles),
      /*methodBody=*/"", /*defaultImplementation=*/[{
        return $_op->emitOpError("expected an op that is computed tile by tile");
      }]>,
    InterfaceMethod<[{What the op adds to the name of a kernel around a linear; empty by default.}],
      "::llvm::StringRef", "getNameWord", (ins), /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
  ];
}

#endif // HEDDLE_TRANSFORMS_TILEABLEOPINTERFACE_TD
