//===- KernelAttrs.td - Plans and enumerations -*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans, which define how a target runs a body; layouts; enumerations of the
// ops.

#ifndef HEDDLE_DIALECT_KERNEL_IR_KERNELATTRS_TD
#define HEDDLE_DIALECT_KERNEL_IR_KERNELATTRS_TD

include "heddle/Dialect/Kernel/IR/KernelDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Kernel_ReduceKind : I32EnumAttr<"ReduceKind", "reduction of a row", [
    I32EnumAttrCase<"Add", 0, "add">,
    I32EnumAttrCase<"Max", 1, "max">]> {
  let cppNamespace = "::heddle::kernel";
}

def Kernel_Root : I32EnumAttr<"Root", "the op around which a kernel is made", [
    I32EnumAttrCase<"Linear", 0, "linear">, I32EnumAttrCase<"Attention", 1, "attention">, I32EnumAttrCase<"Weights", 2, "weights">,
    I32EnumAttrCase<"Norm", 3, "norm">, I32EnumAttrCase<"Patches", 4, "patches">, I32EnumAttrCase<"Pool", 5, "pool">,
    I32EnumAttrCase<"Quantize", 6, "quantize">, I32EnumAttrCase<"Softmax", 7, "softmax">, I32EnumAttrCase<"Loss", 8, "loss">,
    I32EnumAttrCase<"LossMean", 9, "loss_mean">, I32EnumAttrCase<"Shift", 10, "shift">, I32EnumAttrCase<"Embedding", 11, "embedding">,
    I32EnumAttrCase<"Elementwise", 12, "elementwise">, I32EnumAttrCase<"Relayout", 13, "relayout">,
    I32EnumAttrCase<"HeadProducts", 14, "head_products">, I32EnumAttrCase<"Transpose", 15, "transpose">,
    I32EnumAttrCase<"GradientProduct", 16, "gradient_product">, I32EnumAttrCase<"GradientColumns", 17, "gradient_columns">,
    I32EnumAttrCase<"GradientRows", 18, "gradient_rows">, I32EnumAttrCase<"NormGradient", 19, "norm_gradient">,
    I32EnumAttrCase<"PoolGradient", 20, "pool_gradient">, I32EnumAttrCase<"LossGradient", 21, "loss_gradient">,
    I32EnumAttrCase<"LossSum", 22, "loss_sum">, I32EnumAttrCase<"RowNumbers", 23, "row_numbers">,
    I32EnumAttrCase<"QueryGradient", 24, "query_gradient">, I32EnumAttrCase<"KeyGradient", 25, "key_gradient">,
    I32EnumAttrCase<"Update", 26, "update">, I32EnumAttrCase<"GradientJoin", 27, "gradient_join">,
    I32EnumAttrCase<"GradientNorm", 28, "gradient_norm">, I32EnumAttrCase<"Route", 29, "route">,
    I32EnumAttrCase<"ExpertCounts", 30, "expert_counts">, I32EnumAttrCase<"ExpertStarts", 31, "expert_starts">,
    I32EnumAttrCase<"ExpertPlaces", 32, "expert_places">, I32EnumAttrCase<"ExpertRows", 33, "expert_rows">]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::heddle::kernel";
}

def Kernel_RootAttr : EnumAttr<Kernel_Dialect, Kernel_Root, "root"> {
  let summary = "the op around which a kernel is made";
  let assemblyFormat = "`<` $value `>`";
}

def Kernel_Mapping : I32EnumAttr<"Mapping", "how a body maps onto a device", [
    I32EnumAttrCase<"CpuTiles", 0, "cpu_tiles">, I32EnumAttrCase<"CpuStrips", 1, "cpu_strips">,
    I32EnumAttrCase<"Strided", 2, "strided">, I32EnumAttrCase<"Blocked", 3, "blocked">,
    I32EnumAttrCase<"OwnRows", 4, "own_rows">, I32EnumAttrCase<"SplitKeys", 5, "split_keys">,
    I32EnumAttrCase<"Staged", 6, "staged">, I32EnumAttrCase<"FewRows", 7, "few_rows">,
    I32EnumAttrCase<"Matrix", 8, "matrix">, I32EnumAttrCase<"MatrixFewRows", 9, "matrix_few_rows">,
    I32EnumAttrCase<"MatrixAttention", 10, "matrix_attention">,
    I32EnumAttrCase<"WideRows", 11, "wide_rows">]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::heddle::kernel";
}

def Kernel_PlanAttr : AttrDef<Kernel_Dialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "how a target runs a body";
  let description = [{
    `mapping` assigns the parts of a tile to threads or invocations:

    | mapping | device | a body with | assignment |
    |---|---|---|---|
    | `cpu_tiles` | CPU | any ops | A thread processes a tile in fragments of rows and runs all ops on a fragment before the next one. Carried tiles are in registers. |
    | `cpu_strips` | CPU | a product over rows | The loops of the body enclose the loop over fragments of rows. Carried tiles are in memory. |
    | `strided` | GPU | no product | The invocations of a row take every n-th group of four columns. |
    | `wide_rows` | GPU | no product | As `strided`, with a row in the registers of many invocations. |
    | `blocked` | GPU | products | An invocation takes a block of rows and columns and loads its own operands. |
    | `own_rows` | GPU | products over features and rows | An invocation takes whole rows. Invocations exchange no data. |
    | `split_keys` | GPU | products over features and rows | A tile is one row. Groups of invocations take chunks of its keys, and their results are merged in order. |
    | `staged` | GPU | a product over features | As `blocked`, with blocks of both operands in workgroup memory. |
    | `few_rows` | GPU | a product over features | As `staged`, with one row for each invocation. |
    | `matrix` | GPU | a product over features | As `staged`, computed by a matrix unit. |
    | `matrix_few_rows` | GPU | a product over features | As `few_rows`, computed by a matrix unit. |
    | `matrix_attention` | GPU | products over features and rows | A matrix unit computes both products. Two invocations share a row. |

    Every other field has one meaning on all devices:

    - `tile`: rows of the body's tiles, followed by columns. A linear layer has one number of columns
      for each loop over columns (Planning/LinearColumns.h); attention has the keys of one chunk. A
      body that holds whole rows has the columns of a row, and a body that takes a row in steps has
      the columns of a step.
    - `heads`: number of query heads that share keys and are the rows of an attention's tile; 0 if
      the rows are queries.
    - `threads`: numbers of invocations of a workgroup along the rows and along the columns of a
      tile; for `split_keys`, along the chunks and along the keys of a chunk.
    - `block`: number of reduction steps that a product processes at once, 0 for all; on GPUs, in
      words of a row.
    - `ahead`: number of blocks that a product loads before it multiplies them. On CPUs, 1 enables
      prefetching of the next panels and of the lines of the result; the kernel then takes one more
      address after its arguments (Program.h).
    - `buffers`: number of blocks that workgroup memory holds. With one, invocations wait before they
      overwrite a block and before they read the next one. With two, they write a block while others
      still read the one before, so a block takes one barrier.
    - `rowBlock`: of `matrix_few_rows`, the words of a block's rows that workgroup memory holds if the
      launch has several rows; they are stored one part after the other. A lone row is stored once for
      each block. 0: a block has all its words of all rows.
    - `rounded`: whether another launch has rounded the rows of a product to f16. The kernel then
      reads these rows and their scales from two arguments of its own. Its definition has a second
      plan, without a product, for the kernel that rounds.

    C1: a GPU mapping has two positive `threads`, a CPU mapping has none. C2: a mapping that stages
    a product over features has a positive `block`; other GPU mappings have none. C3: `tile`, if
    present, has a positive number of rows and at least one positive number of columns. C4: `buffers` is 1 or 2, and
    1 if nothing is staged. C5: a mapping that stages a product loads at least one block ahead.
    C6: only plans of `matrix` are `rounded`. C7: only plans of `matrix_few_rows` have a `rowBlock`, which
    divides `block`.

    ```mlir
    #kernel.plan<mapping = cpu_tiles, tile = [128, 48], block = 512, ahead = 1>
    #kernel.plan<mapping = staged, tile = [128, 128], threads = [16, 16], block = 16, ahead = 1>
    #kernel.plan<mapping = matrix, tile = [128, 128], threads = [16, 16], block = 8, ahead = 1, buffers = 2>
    ```
  }];
  let parameters = (ins
    EnumParameter<Kernel_Mapping>:$mapping,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$tile,
    DefaultValuedParameter<"int64_t", "0">:$heads,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$threads,
    DefaultValuedParameter<"int64_t", "0">:$block,
    DefaultValuedParameter<"int64_t", "0">:$ahead,
    DefaultValuedParameter<"int64_t", "1">:$buffers,
    DefaultValuedParameter<"bool", "false">:$rounded,
    DefaultValuedParameter<"int64_t", "0">:$rowBlock);
  let builders = [AttrBuilder<(ins "Mapping":$mapping, CArg<"::llvm::ArrayRef<int64_t>", "{}">:$tile,
                                   CArg<"::llvm::ArrayRef<int64_t>", "{}">:$threads, CArg<"int64_t", "0">:$block,
                                   CArg<"int64_t", "0">:$ahead, CArg<"int64_t", "0">:$heads,
                                   CArg<"int64_t", "1">:$buffers, CArg<"bool", "false">:$rounded,
                                   CArg<"int64_t", "0">:$rowBlock)>];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Numbers of invocations along rows and along columns.
    int64_t getDown() const { return getThreads()[0]; }
    int64_t getAcross() const { return getThreads()[1]; }
    /// Rows of the body's tiles, and their columns in each of its loops over columns.
    int64_t getRows() const { return getTile()[0]; }
    ::llvm::ArrayRef<int64_t> getColumns() const { return getTile().asArrayRef().drop_front(); }
  }];
}

//===- Layouts -----------------------------------------------------------===//

def Kernel_Storage : I32EnumAttr<"Storage", "the memory of an argument", [
    I32EnumAttrCase<"Memory", 0, "memory">,
    I32EnumAttrCase<"Weight", 1, "weight">,
    I32EnumAttrCase<"Table", 2, "table">]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::heddle::kernel";
}

def Kernel_StorageAttr : EnumAttr<Kernel_Dialect, Kernel_Storage, "storage"> {
  let summary = "the memory of an argument";
  let assemblyFormat = "`<` $value `>`";
}

class Kernel_SizeParameter<string description> :
    DefaultValuedParameter<"::heddle::kernel::Size", "::heddle::kernel::Size()", description>;

def Kernel_LayoutAttr : AttrDef<Kernel_Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "how an argument or result of a kernel.def is stored";
  let description = [{
    Attribute `kernel.layout` of the arguments and results of a `kernel.def`. `view` is the memory
    as the tiled body accesses it. An argument without a view is a number that the launch passes,
    `scalar`. `storage` is `memory`, `weight` or `table`; a table is memory that the kernel reads
    although no operand of the group represents it.

    Rows of a result are stored from row `at` on, or from one position for each sequence. `places`
    is the number of the argument with one position for each sequence. `counts` is the number of the
    argument that limits how many rows of each sequence are stored. If the argument holds the starts
    of documents, `slots` is the number of rows of a grid with one tile for each part of each
    document. With `ring`, row r of a matrix is stored in row r mod ring; tiles of keys that start
    at multiples of 512 are in contiguous rows.

    ```mlir
    #kernel.layout<view = !kernel.view<[64, 5], f32, panel = 16>, storage = weight>
    #kernel.layout<view = !kernel.view<[d0, d1|d2, 16], f32>, at = d3>
    #kernel.layout<view = !kernel.view<[d0, d1|d2, 16], f32>, places = 2, counts = 3>
    #kernel.layout<scalar = d0>
    ```
  }];
  let parameters = (ins
    OptionalParameter<"::heddle::kernel::ViewType">:$view,
    DefaultValuedParameter<"::heddle::kernel::Storage", "::heddle::kernel::Storage::Memory">:$storage,
    Kernel_SizeParameter<"">:$scalar, Kernel_SizeParameter<"">:$at, Kernel_SizeParameter<"">:$slots,
    DefaultValuedParameter<"int64_t", "-1">:$places, DefaultValuedParameter<"int64_t", "-1">:$counts,
    DefaultValuedParameter<"int64_t", "0">:$ring);
  let assemblyFormat = "`<` struct(params) `>`";
}

//===- Values of Support/Program.h ---------------------------------------===//

/// A structure of a program, or a size, as an attribute. Its text follows from the fields of the
/// structure: `#kernel.port<"x" f32 ["B", "16"] {dense}>`. Ops print it without name and brackets.
class Kernel_ProgramAttr<string name, string text, string type> : AttrDef<Kernel_Dialect, name> {
  let mnemonic = text;
  let parameters = (ins AttrParameter<type, "", "const " # type # " &">:$value);
  let assemblyFormat = "`<` custom<Value>($value) `>`";
}
def Kernel_SizeAttr : Kernel_ProgramAttr<"Size", "size", "::heddle::SizeExpr">;
def Kernel_SizesAttr : Kernel_ProgramAttr<"Sizes", "sizes", "::std::vector<::heddle::SizeExpr>">;
def Kernel_FunctionAttr : Kernel_ProgramAttr<"Function", "function", "::heddle::Function">;
def Kernel_BufferAttr : Kernel_ProgramAttr<"Buffer", "buffer", "::heddle::Buffer">;
def Kernel_PackAttr : Kernel_ProgramAttr<"Pack", "pack", "::heddle::PackEntry">;
def Kernel_PortAttr : Kernel_ProgramAttr<"Port", "port", "::heddle::Port">;
def Kernel_CheckAttr : Kernel_ProgramAttr<"Check", "check", "::heddle::Check">;

#endif // HEDDLE_DIALECT_KERNEL_IR_KERNELATTRS_TD
