//===- KernelAttrs.td - Schedules and enumerations -*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules, the choices of a target below a body, and enumerations of the ops.

#ifndef HEDDLE_DIALECT_KERNEL_IR_KERNELATTRS_TD
#define HEDDLE_DIALECT_KERNEL_IR_KERNELATTRS_TD

include "heddle/Dialect/Kernel/IR/KernelDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Kernel_LoopOrder : I32EnumAttr<"LoopOrder", "order of the loops over rows and in the body", [
    I32EnumAttrCase<"RowsOutside", 0, "rows_outside">,
    I32EnumAttrCase<"RowsInside", 1, "rows_inside">]> {
  let cppNamespace = "::heddle::kernel";
}

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

def Kernel_ScheduleAttr : AttrDef<Kernel_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "a target's choices for a body";
  let description = [{
    `order`: whether the row fragments of a tile run outside the loops of the body (`rows_outside`, the default, carried tiles in registers) or inside
    (`rows_inside`, carried tiles in memory). `prefetch`: 1 prefetches the next panels and the lines of the result during a product; a CPU kernel then
    reads one more address behind its arguments (Program.h); on a GPU how many blocks of `kblock` steps are loaded ahead of the one that is multiplied (0 is 1; codes load the next behind the products of one). `kblock`: features in a block of the reduction, 0 for all at once; on a GPU steps of a block
    that all invocations load into workgroup memory, 0 where each loads what it multiplies. `threads`: a
    workgroup's invocations on a GPU, over rows and over columns of a tile; on a CPU, fragments follow from the instruction set.

    ```mlir
    #kernel.schedule<order = rows_inside, prefetch = 1>
    #kernel.schedule<threads = [8, 8]>
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"LoopOrder", "LoopOrder::RowsOutside">:$order,
    DefaultValuedParameter<"int64_t", "0">:$prefetch,
    DefaultValuedParameter<"int64_t", "0">:$kblock,
    OptionalArrayRefParameter<"int64_t">:$threads);
  let hasCustomAssemblyFormat = 1;
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
