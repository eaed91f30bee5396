//===- ProgramOps.td - Launch lists and buffers ------------*- tablegen -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The `program` stage: each function of the model as a list of launches over
// buffers whose sizes are expressions of named dimensions. One op a structure
// of Support/Program.h; sizes are strings in the grammar of Support/SizeExpr.h.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_KERNEL_IR_PROGRAMOPS_TD
#define HEDDLE_DIALECT_KERNEL_IR_PROGRAMOPS_TD

include "heddle/Dialect/Kernel/IR/KernelDialect.td"
include "heddle/Dialect/Kernel/IR/KernelTypes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Kernel_ProgramOp : Kernel_Op<"program", [IsolatedFromAbove, Symbol, SingleBlock, NoTerminator]> {
  let summary = "a function of the model as a list of launches";
  let description = [{
    `dims` are the dynamic dimensions that inputs bind, `state_dims` those that the session keeps between calls;
    `updates` says what the session's dimensions become after the call, as name and expression in turn.

    Example:
    ```mlir
    kernel.program @double attributes {dims = ["n"], state_dims = [], updates = []} {
      %x = kernel.buffer "x" argument "n*16"
      %y = kernel.buffer "y" argument "n*16"
      kernel.input "x" in %x : f32 ["n", "16"]
      kernel.output "y" in %y : f32 ["n", "16"]
      kernel.launch @add(%x, %x, %y) at ["0", "0", "0"] scalars ["n"] : !kernel.buffer, !kernel.buffer, !kernel.buffer
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$dims, StrArrayAttr:$state_dims, StrArrayAttr:$updates,
                       UnitAttr:$starts_states, UnitAttr:$needs_session, OptionalAttr<StrAttr>:$reorder_by);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

def Kernel_BufferOp : Kernel_Op<"buffer", [Pure]> {
  let summary = "memory of a program";
  let description = [{
    `kind` is `temporary` (alive from launch `first` to launch `last`), `argument`, `state` (the session's, by name) or `table`
    (filled by the host as `generator` says). `elements` counts 4-byte elements, padding included.

    Example:
    ```mlir
    %x = kernel.buffer "hidden" temporary "B*S*512" {first = 0 : i64, last = 3 : i64}
    ```
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$kind, StrAttr:$elements, DefaultValuedAttr<I64Attr, "0">:$first,
                       DefaultValuedAttr<I64Attr, "0">:$last, OptionalAttr<StrAttr>:$generator);
  let results = (outs Kernel_BufferType:$result);
  let assemblyFormat = "$name custom<Word>($kind) $elements attr-dict";
  let hasVerifier = 1;
}

def Kernel_WeightOp : Kernel_Op<"weight", [Pure]> {
  let summary = "a packed weight of a program";
  let description = [{
    The tensor `name` of the checkpoint, of `shape`, stored as `layout`: `vector`, `rows`, `panels`, or `scales` of panels of i8; rows and columns may be cut in
    groups (heads) that are padded one by one, 0 means not cut. `element` is the type of its elements where that is not f32,
    `rows` their number where that is not the first dimension.

    Example:
    ```mlir
    %w = kernel.weight "encoder.0.ffn.in.weight" panels [2048, 512] groups(0, 0)
    ```
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$layout, DenseI64ArrayAttr:$shape, I64Attr:$row_group, I64Attr:$column_group,
                       OptionalAttr<StrAttr>:$element, OptionalAttr<I64Attr>:$rows);
  let results = (outs Kernel_BufferType:$result);
  let assemblyFormat = "$name custom<Word>($layout) $shape `groups` `(` $row_group `,` $column_group `)` attr-dict";
  let hasVerifier = 1;
}

class Kernel_PortOp<string mnemonic> : Kernel_Op<mnemonic> {
  let arguments = (ins StrAttr:$name, Kernel_BufferType:$buffer, StrAttr:$element, StrArrayAttr:$shape,
                       DefaultValuedAttr<I64Attr, "0">:$group, UnitAttr:$dense, OptionalAttr<StrArrayAttr>:$range,
                       OptionalAttr<DictionaryAttr>:$fallback, UnitAttr:$starts, OptionalAttr<StrArrayAttr>:$within,
                       OptionalAttr<StrArrayAttr>:$spread, UnitAttr:$exchanged, OptionalAttr<I64Attr>:$longest);
  let assemblyFormat = "$name `in` $buffer `:` custom<Word>($element) $shape attr-dict";
}

def Kernel_InputOp : Kernel_PortOp<"input"> {
  let summary = "a named input of a program";
  let description = [{
    `shape` holds expressions; a lone name binds a dimension. `range` is [low, high) of integers; with `starts` they ascend
    from low to high - 1, with `longest` in steps of at most that; `within` names the inputs of starts whose documents are at
    least as long as these lengths. `fallback` says how a missing input is made: `{lengths_of = "source", padding = 0}`.
    `spread` holds the full sizes of an input that callers may give with 1 in place of each; `exchanged` says that the buffer
    holds the first two dimensions the other way round.

    Example:
    ```mlir
    kernel.input "source" in %ids : i32 ["B", "S"] {dense, range = ["0", "1000"]}
    ```
  }];
}

def Kernel_OutputOp : Kernel_PortOp<"output"> {
  let summary = "a named result of a program";
  let description = [{
    Example:
    ```mlir
    kernel.output "memory" in %y : f32 ["B", "S", "512"]
    ```
  }];
}

def Kernel_CheckOp : Kernel_Op<"check"> {
  let summary = "a condition on dimensions, checked before the launches";
  let description = [{
    `relation` is `equal` or `at_most`; `{left}` and `{right}` in the message stand for the values.

    Example:
    ```mlir
    kernel.check at_most "P", "255", "decode_step: expected at most 256 steps, found {left} before this one"
    ```
  }];
  let arguments = (ins StrAttr:$relation, StrAttr:$left, StrAttr:$right, StrAttr:$message);
  let assemblyFormat = "custom<Word>($relation) $left `,` $right `,` $message attr-dict";
  let hasVerifier = 1;
}

def Kernel_LaunchOp : Kernel_Op<"launch"> {
  let summary = "one kernel over its grid";
  let description = [{
    Arguments start `at` an offset in 4-byte elements; `scalars` are the kernel's, in order. `flops` and `bytes` are its cost.

    Example:
    ```mlir
    kernel.launch @linear(%x, %w, %y) at ["0", "0", "P*512"] scalars ["B*S"] {flops = "B*S*524288", bytes = "B*S*4096"}
      : !kernel.buffer, !kernel.buffer, !kernel.buffer
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Kernel_BufferType>:$arguments, StrArrayAttr:$offsets,
                       StrArrayAttr:$scalars, DefaultValuedAttr<StrAttr, "\"0\"">:$flops,
                       DefaultValuedAttr<StrAttr, "\"0\"">:$bytes);
  let assemblyFormat = "$kernel `(` $arguments `)` `at` $offsets `scalars` $scalars attr-dict `:` type($arguments)";
  let hasVerifier = 1;
}

#endif // HEDDLE_DIALECT_KERNEL_IR_PROGRAMOPS_TD
