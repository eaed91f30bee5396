//===- MaskInterface.td - What masks and score rules know --*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mask op knows two things: how to emit its truth for the elements of a tile,
// and how to bound that truth over a tile without looking at its elements. A
// score rule knows how to emit its number. Kernels, reports and pictures all ask
// through these interfaces.

#ifndef HEDDLE_DIALECT_TRANSFORMER_IR_MASKINTERFACE_TD
#define HEDDLE_DIALECT_TRANSFORMER_IR_MASKINTERFACE_TD

include "mlir/IR/OpBase.td"

def MaskOpInterface : OpInterface<"MaskOpInterface"> {
  let cppNamespace = "::heddle::transformer";
  let description = [{
    A boolean function of (batch, head, query i, key j); true: i may attend to j. `site` stands for
    the place where code is emitted: it supplies the coordinates and reads operands. An op that is a
    band of keys says which; the defaults of the other methods follow from it.
  }];
  let methods = [
    InterfaceMethod<[{The truth of every element of the site's tile, `tensor<RxCxi1>`.}],
      "::mlir::Value", "emitPredicate",
      (ins "::mlir::OpBuilder &":$builder, "::heddle::transformer::MaskSite &":$site),
      /*methodBody=*/"", /*defaultImplementation=*/"return emitBand(builder, site, *$_op.keyRange(builder, site));">,
    InterfaceMethod<[{
        Bounds of the truth over rows [i0, i1) and keys [j0, j1): `may` false means no pair is allowed,
        `must` true means every pair is. Sound always; both are i1 values.
      }],
      "::heddle::transformer::TileTruth", "bound",
      (ins "::mlir::OpBuilder &":$builder, "::heddle::transformer::MaskSite &":$site,
           "const ::heddle::transformer::TileCorners &":$tile),
      /*methodBody=*/"", /*defaultImplementation=*/"return boundOf(builder, site.loc(), *$_op.keyRange(builder, site), tile);">,
    InterfaceMethod<[{
        The mask as a band of keys, where it is exactly that; nothing where it is not.
      }],
      "::std::optional<::heddle::transformer::KeyBand>", "keyRange",
      (ins "::mlir::OpBuilder &":$builder, "::heddle::transformer::MaskSite &":$site),
      /*methodBody=*/"", /*defaultImplementation=*/"return ::std::nullopt;">,
  ];
}

def BiasOpInterface : OpInterface<"BiasOpInterface"> {
  let cppNamespace = "::heddle::transformer";
  let description = [{
    A number for each (batch, head, query i, key j) that is added to the score, in natural units, after the soft-cap and
    before the mask. Minus infinity excludes the pair.
  }];
  let methods = [
    InterfaceMethod<[{The number of every element of the site's tile, `tensor<RxCxf32>`.}],
      "::mlir::Value", "emitScore",
      (ins "::mlir::OpBuilder &":$builder, "::heddle::transformer::MaskSite &":$site)>,
  ];
}

#endif // HEDDLE_DIALECT_TRANSFORMER_IR_MASKINTERFACE_TD
