//===- ProgramOps.td - Launch lists and buffers ------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stage `program`: each function of the model as a list of launches over
// buffers, whose sizes are expressions of named dimensions. Each op holds one
// structure of Support/Program.h in `info`. Operands and symbols replace the
// indices of the structure.

#ifndef HEDDLE_DIALECT_KERNEL_IR_PROGRAMOPS_TD
#define HEDDLE_DIALECT_KERNEL_IR_PROGRAMOPS_TD

include "heddle/Dialect/Kernel/IR/KernelDialect.td"
include "heddle/Dialect/Kernel/IR/KernelAttrs.td"
include "heddle/Dialect/Kernel/IR/KernelTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Kernel_ProgramOp : Kernel_Op<"program", [IsolatedFromAbove, Symbol, SingleBlock, NoTerminator]> {
  let summary = "a function of the model as a list of launches";
  let description = [{
    `info` holds the fields of `Function` except its lists, which the ops of the body represent.

    Example:
    ```mlir
    kernel.program @double {dims = ["n"]} {
      %x = kernel.buffer "x" argument "n*16"
      %y = kernel.buffer "y" argument "n*16"
      kernel.input "x" f32 ["n", "16"] in %x
      kernel.output "y" f32 ["n", "16"] in %y
      kernel.launch @add(%x, %x, %y) at ["0", "0", "0"] scalars ["n"] flops "n*16" bytes "n*192"
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Kernel_FunctionAttr:$info);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name custom<Bare>($info) attr-dict-with-keyword $body";
}

def Kernel_BufferOp : Kernel_Op<"buffer", [Pure]> {
  let summary = "memory of a program";
  let description = [{
    Example:
    ```mlir
    %x = kernel.buffer "hidden" temporary "B*S*512" {last = 3}
    ```
  }];
  let arguments = (ins Kernel_BufferAttr:$info);
  let results = (outs Kernel_BufferType:$result);
  let assemblyFormat = "custom<Bare>($info) attr-dict-with-keyword";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    void change(::llvm::function_ref<void(::heddle::Buffer &)> change);
  }];
}

def Kernel_WeightOp : Kernel_Op<"weight", [Pure]> {
  let summary = "a packed weight of a program";
  let description = [{
    The index `weight` is not set, because weights are numbered when the program is built.

    Example:
    ```mlir
    %w = kernel.weight "encoder.0.ffn.in.weight" [2048, 512] panels {type = bf16}
    ```
  }];
  let arguments = (ins Kernel_PackAttr:$info);
  let results = (outs Kernel_BufferType:$result);
  let assemblyFormat = "custom<Bare>($info) attr-dict-with-keyword";
}

def Kernel_GradientOp : Kernel_Op<"gradient", [Pure]> {
  let summary = "an accumulator of the gradient of a packed weight";
  let description = [{
    Accumulator 0 has the place of the weight in the state `gradients`. Accumulators of further uses
    follow the last weight.

    Example:
    ```mlir
    %g = kernel.gradient "encoder.0.ffn.in.weight" [2048, 512] panels use 0
    ```
  }];
  let arguments = (ins Kernel_PackAttr:$info, I64Attr:$use);
  let results = (outs Kernel_BufferType:$result);
  let assemblyFormat = "custom<Bare>($info) `use` $use attr-dict-with-keyword";
}

class Kernel_PortOp<string mnemonic> : Kernel_Op<mnemonic> {
  let arguments = (ins Kernel_PortAttr:$info, Kernel_BufferType:$buffer);
  let assemblyFormat = "custom<Bare>($info) `in` $buffer attr-dict-with-keyword";
}

def Kernel_InputOp : Kernel_PortOp<"input"> {
  let summary = "a named input of a program";
  let description = [{
    Example:
    ```mlir
    kernel.input "source" i32 ["B", "S"] {dense, range = ["0", "1000"]} in %ids
    ```
  }];
}

def Kernel_OutputOp : Kernel_PortOp<"output"> {
  let summary = "a named result of a program";
  let description = [{
    Example:
    ```mlir
    kernel.output "memory" f32 ["B", "S", "512"] in %y
    ```
  }];
}

def Kernel_CheckOp : Kernel_Op<"check"> {
  let summary = "a condition on dimensions, checked before the launches";
  let description = [{
    Example:
    ```mlir
    kernel.check at_most "P" "256" "decode_step: expected at most {right} steps, found step {left}"
    ```
  }];
  let arguments = (ins Kernel_CheckAttr:$info);
  let assemblyFormat = "custom<Bare>($info) attr-dict-with-keyword";
}

def Kernel_LaunchOp : Kernel_Op<"launch"> {
  let summary = "one kernel over its grid";
  let description = [{
    Each argument starts at an offset (`at`), in 4-byte elements. `scalars` are the kernel's
    numbers, in order. `flops` and `bytes` are the cost. With `rounded`, the last two arguments are
    memory for rows that matrix units multiply, rounded, and for their scales. Only kernels with a
    plan that is `rounded` take them.

    Example:
    ```mlir
    kernel.launch @linear(%x, %w, %y) at ["0", "0", "P*512"] scalars ["B*S"] flops "B*S*524288" bytes "B*S*4096"
    kernel.launch @linear(%x, %w, %y, %r, %r) at ["0", "0", "0", "0", "B*S*128"] scalars ["B*S"] flops "B*S*524288" bytes "B*S*4096" attributes {rounded}
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Kernel_BufferType>:$arguments, Kernel_SizesAttr:$offsets,
                       Kernel_SizesAttr:$scalars, Kernel_SizeAttr:$flops, Kernel_SizeAttr:$bytes,
                       UnitAttr:$rounded);
  let assemblyFormat = [{
    $kernel `(` $arguments `)` `at` custom<Bare>($offsets) `scalars` custom<Bare>($scalars)
    `flops` custom<Bare>($flops) `bytes` custom<Bare>($bytes) attr-dict-with-keyword
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Arguments that are memory of rounded rows, the last ones.
    static constexpr unsigned roundedArguments = 2;
    /// The arguments of all variants of the kernel.
    ::mlir::ValueRange getOwnArguments() {
      return getArguments().drop_back(getRounded() ? roundedArguments : 0);
    }
  }];
}

#endif // HEDDLE_DIALECT_KERNEL_IR_PROGRAMOPS_TD
