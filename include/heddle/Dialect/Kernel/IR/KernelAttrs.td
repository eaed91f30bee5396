//===- KernelAttrs.td - Schedules and enumerations -*- tablegen -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a target may choose below a body, and the words of the ops.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_KERNEL_IR_KERNELATTRS_TD
#define HEDDLE_DIALECT_KERNEL_IR_KERNELATTRS_TD

include "heddle/Dialect/Kernel/IR/KernelDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Kernel_LoopOrder : I32EnumAttr<"LoopOrder", "where the rows of a tile run", [
    I32EnumAttrCase<"RowsOutside", 0, "rows_outside">,
    I32EnumAttrCase<"RowsInside", 1, "rows_inside">]> {
  let cppNamespace = "::heddle::kernel";
}

def Kernel_ReduceKind : I32EnumAttr<"ReduceKind", "how a row becomes one number", [
    I32EnumAttrCase<"Add", 0, "add">,
    I32EnumAttrCase<"Max", 1, "max">]> {
  let cppNamespace = "::heddle::kernel";
}

def Kernel_ScheduleAttr : AttrDef<Kernel_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "all that a target chooses below a body";
  let description = [{
    `order`: whether the row fragments of a tile run outside the loops of the body (`rows_outside`, the default, carried tiles in
    registers) or inside (`rows_inside`, carried tiles in memory). `prefetch`: 1 asks for the next panels and the lines of the result to
    be fetched while this product is computed; a CPU kernel then reads one address more behind its arguments (Program.h). `kblock`:
    features of a block of the reduction, 0 for all at once. `threads` and `fragment` (rows, columns) place a workgroup's
    invocations on a GPU; on a CPU fragments follow from the instruction set.

    ```mlir
    #kernel.schedule<order = rows_inside, prefetch = 1>
    #kernel.schedule<threads = [8, 8], fragment = [8, 16]>
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"LoopOrder", "LoopOrder::RowsOutside">:$order,
    DefaultValuedParameter<"int64_t", "0">:$prefetch,
    DefaultValuedParameter<"int64_t", "0">:$kblock,
    OptionalArrayRefParameter<"int64_t">:$threads,
    OptionalArrayRefParameter<"int64_t">:$fragment);
  let hasCustomAssemblyFormat = 1;
}

#endif // HEDDLE_DIALECT_KERNEL_IR_KERNELATTRS_TD
