//===- MaskInterface.td - Interfaces of masks and rules ----*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interfaces of masks and score rules. A mask op emits its truth for the
// elements of a tile, and bounds this truth over a tile without evaluating
// elements. A score rule emits its number. Kernels, reports and pictures use
// these interfaces.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_MASKINTERFACE_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_MASKINTERFACE_TD

include "mlir/IR/OpBase.td"

def MaskOpInterface : OpInterface<"MaskOpInterface"> {
  let cppNamespace = "::heddle::transformer";
  let description = [{
    A boolean function of (batch, head, query i, key j), true if i may attend to j. `site` is the
    context in which code is emitted: it provides the coordinates and reads operands. An op that is
    a band of keys implements `keyRange`; the defaults of the other methods are derived from it.
  }];
  let methods = [
    InterfaceMethod<[{The truth of every element of the site's tile, `tensor<RxCxi1>`.}],
      "::mlir::Value", "emitPredicate",
      (ins "::mlir::OpBuilder &":$builder, "::heddle::transformer::MaskSite &":$site),
      /*methodBody=*/"", /*defaultImplementation=*/"return emitBand(builder, site, *$_op.keyRange(builder, site));">,
    InterfaceMethod<[{
        Bounds of the truth over rows [i0, i1) and keys [j0, j1), as i1 values. If `may` is false,
        no pair is allowed; if `must` is true, every pair is. Always sound.
      }],
      "::heddle::transformer::TileTruth", "bound",
      (ins "::mlir::OpBuilder &":$builder, "::heddle::transformer::MaskSite &":$site,
           "const ::heddle::transformer::TileCorners &":$tile),
      /*methodBody=*/"", /*defaultImplementation=*/"return boundOf(builder, site.loc(), *$_op.keyRange(builder, site), tile);">,
    InterfaceMethod<[{
        The band of keys that the mask equals; none if the mask is not a band.
      }],
      "::std::optional<::heddle::transformer::KeyBand>", "keyRange",
      (ins "::mlir::OpBuilder &":$builder, "::heddle::transformer::MaskSite &":$site),
      /*methodBody=*/"", /*defaultImplementation=*/"return ::std::nullopt;">,
  ];
}

def BiasOpInterface : OpInterface<"BiasOpInterface"> {
  let cppNamespace = "::heddle::transformer";
  let description = [{
    A number for each (batch, head, query i, key j) that is added to the score, in natural units,
    after the soft-cap and before the mask. Minus infinity excludes the pair.
  }];
  let methods = [
    InterfaceMethod<[{The number of every element of the site's tile, `tensor<RxCxf32>`.}],
      "::mlir::Value", "emitScore",
      (ins "::mlir::OpBuilder &":$builder, "::heddle::transformer::MaskSite &":$site)>,
  ];
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_MASKINTERFACE_TD
