//===- KernelAttrs.td - Plans and enumerations -*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans, which say how a target runs a body, layouts, and enumerations of the ops.

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
    I32EnumAttrCase<"HeadProducts", 14, "head_products">]> {
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
    I32EnumAttrCase<"MatrixAttention", 10, "matrix_attention">]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::heddle::kernel";
}

def Kernel_PlanAttr : AttrDef<Kernel_Dialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "how a target runs a body";
  let description = [{
    `mapping` says who computes which part of a tile:

    | mapping | device | a body with | who computes what |
    |---|---|---|---|
    | `cpu_tiles` | CPU | any ops | A thread takes the tile by fragments of rows, each from the first op to the last; carried tiles are in registers. |
    | `cpu_strips` | CPU | a product over rows | Loops of the body are outside of the fragments of rows; carried tiles are in memory. |
    | `strided` | GPU | no product | Invocations of a row take every n-th group of four columns. |
    | `blocked` | GPU | products | An invocation takes a block of rows and columns and loads its operands. |
    | `own_rows` | GPU | products over features and rows | An invocation takes whole rows; nothing is exchanged. |
    | `split_keys` | GPU | products over features and rows | A tile is one row. Groups of invocations take chunks of its keys, whose results are merged in order. |
    | `staged` | GPU | a product over features | As `blocked`, with blocks of both operands in workgroup memory. |
    | `few_rows` | GPU | a product over features | As `staged`, with a row an invocation. |
    | `matrix` | GPU | a product over features | As `staged`, multiplied by a matrix unit. |
    | `matrix_few_rows` | GPU | a product over features | As `few_rows`, multiplied by a matrix unit. |
    | `matrix_attention` | GPU | products over features and rows | A matrix unit multiplies both products; two invocations share a row. |

    Every other field has one meaning on all devices:

    - `tile`: rows of the body's tiles, then columns: of a linear layer one number for each loop over columns (Planning/LinearColumns.h), of attention
      the keys of one chunk. A body that holds whole rows has the columns of a row, one that goes over them in steps has the columns of a step.
    - `heads`: query heads that share keys and are the rows of an attention's tile, 0 where the rows are queries.
    - `threads`: invocations of a workgroup over the rows and over the columns of a tile; of `split_keys` over chunks and over the keys of one.
    - `block`: steps of the reduction that a product takes at once, 0 for all; on a GPU, words of a row.
    - `ahead`: blocks of a product that are loaded before it multiplies them. On a CPU 1 prefetches the next panels and the lines of the result, and
      the kernel reads one more address after its arguments (Program.h).

    C1: a mapping of GPUs has two positive `threads`, one of CPUs none. C2: mappings that stage a product over features have a positive `block`, other
    mappings of GPUs none. C3: `tile`, where it is given, has a positive number of rows and at least one positive number of columns.

    ```mlir
    #kernel.plan<mapping = cpu_tiles, tile = [128, 48], block = 512, ahead = 1>
    #kernel.plan<mapping = staged, tile = [128, 128], threads = [16, 16], block = 16, ahead = 1>
    ```
  }];
  let parameters = (ins
    EnumParameter<Kernel_Mapping>:$mapping,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$tile,
    DefaultValuedParameter<"int64_t", "0">:$heads,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$threads,
    DefaultValuedParameter<"int64_t", "0">:$block,
    DefaultValuedParameter<"int64_t", "0">:$ahead);
  let builders = [AttrBuilder<(ins "Mapping":$mapping, CArg<"::llvm::ArrayRef<int64_t>", "{}">:$tile,
                                   CArg<"::llvm::ArrayRef<int64_t>", "{}">:$threads, CArg<"int64_t", "0">:$block,
                                   CArg<"int64_t", "0">:$ahead, CArg<"int64_t", "0">:$heads)>];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Invocations over rows and over columns.
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
    Attribute `kernel.layout` of the arguments and results of a `kernel.def`. `view` is the memory as the tiled body sees it; an argument without a
    view is a number that the launch passes, `scalar`. `storage` is `memory`, `weight`, or `table`: memory that the kernel reads although no operand
    of the group stands for it. Rows of a result are stored from `at` on, or from a place of each sequence: `places` is the number of the argument that
    holds one number a sequence, and of that with number `counts` only so many rows are stored. `slots` are the rows of a grid with one tile for each part of each document,
    if the argument holds the documents' starts. With `ring`, row r of a matrix lies in row r mod ring; tiles of keys that start at multiples of 512 lie in
    neighbouring rows.

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

/// A structure of a program, or a size, as an attribute. Its text follows from the structure's fields: `#kernel.port<"x" f32 ["B", "16"] {dense}>`.
/// Ops print it without name and brackets.
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
