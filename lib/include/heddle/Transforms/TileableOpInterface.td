//===- TileableOpInterface.td - Grouping and tiling --------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interface that tells grouping, tiling and check-supported how an op becomes a kernel. External
// models (lib/Transforms/Tilers.cpp) implement it, so the ops' dialects do not depend on kernels.

#ifndef HEDDLE_TRANSFORMS_TILEABLEOPINTERFACE_TD
#define HEDDLE_TRANSFORMS_TILEABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def TileableOpInterface : OpInterface<"TileableOpInterface"> {
  let cppNamespace = "::heddle";
  let description = [{
    An op that becomes part of a kernel, or stays between kernels as their operand or as bookkeeping of the session.
  }];
  let methods = [
    InterfaceMethod<[{The root of a kernel made around the op; none if the op stays between kernels.}],
      "::std::optional<::heddle::kernel::Root>", "getRoot">,
    InterfaceMethod<[{
        Whether the op can be an epilogue of a kernel around `root`: computed on its tiles, after the chain `before`, whose last op it reads.
      }],
      "bool", "canFollow", (ins "::heddle::kernel::Root":$root, "::llvm::ArrayRef<::mlir::Operation *>":$before),
      /*methodBody=*/"", /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{Emits an error if the op's tiler, or the code that runs its kernel, does not support the op.}],
      "::llvm::LogicalResult", "checkSupported", (ins),
      /*methodBody=*/"", /*defaultImplementation=*/"return ::llvm::success();">,
    InterfaceMethod<[{Writes the body of a kernel around the op. Errors are at the definition.}],
      "::llvm::LogicalResult", "tile", (ins "::heddle::KernelBuilder &":$frame)>,
    InterfaceMethod<[{
        Computes the tile of the op's result at the position of `tiles` from tiles of its operands, in kernels around elementwise ops and linears.
        Errors are at the op.
      }],
      "::llvm::FailureOr<::mlir::Value>", "tileOf", (ins "::heddle::ValueTiles &":$tiles),
      /*methodBody=*/"", /*defaultImplementation=*/[{
        return $_op->emitOpError("expected an op that is computed tile by tile");
      }]>,
    InterfaceMethod<[{The word by which an epilogue extends the name of a kernel around a linear; empty by default.}],
      "::llvm::StringRef", "getNameWord", (ins), /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
  ];
}

#endif // HEDDLE_TRANSFORMS_TILEABLEOPINTERFACE_TD
