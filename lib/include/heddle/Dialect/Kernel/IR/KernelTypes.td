//===- KernelTypes.td - Types of the kernel dialect --------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types of the kernel dialect: views, which describe memory by extents, pitches
// and layout and which tiled bodies use next to tiles, and buffers of stage
// `program`. Also constrains the types of tiles.

#ifndef HEDDLE_DIALECT_KERNEL_IR_KERNELTYPES_TD
#define HEDDLE_DIALECT_KERNEL_IR_KERNELTYPES_TD

include "heddle/Dialect/Kernel/IR/KernelDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Kernel_ViewType : TypeDef<Kernel_Dialect, "View"> {
  let mnemonic = "view";
  let summary = "a window of memory with extents, pitches and layout";
  let description = [{
    A dimension is an integer or the name of a scalar of the kernel. `d1|d2` is an extent of `d1`
    elements that occupies `d2` elements (the pitch). A static last dimension is padded to a
    multiple of 16 elements; vectors (rank 1) are dense. With `panel = 16`, the last two dimensions
    `[r, c]` are stored as `[r/16][padded c][16]`. Narrower elements are stored as
    `[r/16][padded c / w][16][w]`, so that w columns of a row share one word of 4 bytes. i8 elements
    are codes, never ids or flags. Elements with scales (i4) occur only in panels of rank 2, in the
    blocks that `Support/Formats.h` defines.

    With `strip = 16`, the last two dimensions `[r, c]` are stored as `[c/16][padded r][16]`: 16
    columns of all rows are adjacent. A matrix in panels is its transposed matrix in strips.

    ```mlir
    !kernel.view<[d0, 8, d1|d2, 64], f32>
    !kernel.view<[2048, 512], f32, panel = 16>
    !kernel.view<[2048, 512], bf16, panel = 16>
    !kernel.view<[2048, 512], i8, panel = 16>
    !kernel.view<[512, 2048], f32, strip = 16>
    !kernel.view<[d0], i32>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"ViewDim">:$dims, "::mlir::Type":$elementType, DefaultValuedParameter<"int64_t", "0">:$panel,
                        DefaultValuedParameter<"int64_t", "0">:$strip);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getDims().size(); }
    const ViewDim &getDim(int64_t i) const { return getDims()[i]; }
    /// Whether elements are ids, lengths or flags, whose rows are dense as in callers' tensors.
    bool holdsIndices() const { return getElementType().isInteger(32); }
    /// The view without its first `count` dimensions, which is the result of kernel.slice.
    ViewType dropLeading(int64_t count) const;
    /// The transposed matrix of a matrix of f32 in panels, which is in strips.
    ViewType transposed() const;
    /// Number of elements from one row to the next in a row-major view, if static.
    std::optional<int64_t> getRowPitch() const;
  }];
}

def Kernel_BufferType : TypeDef<Kernel_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "planned memory, a table, a state or a packed weight";
}

// Operands with these constraints print the whole type, also in variadic lists.
def Kernel_View : Type<CPred<"::llvm::isa<::heddle::kernel::ViewType>($_self)">, "view", "::heddle::kernel::ViewType">;

// A tile: a static tensor of rank 2.
def Kernel_Tile : Type<And<[IsRankedTensorTypePred, HasStaticShapePred, HasAnyRankOfPred<[2]>]>, "tile (static tensor of rank 2)", "::mlir::RankedTensorType">;
def Kernel_TileOrScalar : AnyTypeOf<[Kernel_Tile, F32, I32, I1]>;

#endif // HEDDLE_DIALECT_KERNEL_IR_KERNELTYPES_TD
