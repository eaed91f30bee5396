//===- Passes.td - Passes of the mid-end -------------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the mid-end, in the order in which they run.

#ifndef HEDDLE_TRANSFORMS_PASSES_TD
#define HEDDLE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def Recompute : Pass<"recompute", "mlir::ModuleOp"> {
  let summary = "compute values of layers again where the backward pass reads them";
  let description = [{
    Matches the functions `gradients` and `gradients_packed`. A norm, an activation, a dropout, a merge of heads or a product of elements that the backward pass
    reads is cloned in front of it, if the backward pass also reads what it is computed from. In a module with `transformer.kept_layers = N`, the first N layers
    of the forward pass are left alone otherwise. Of each other layer, values that no other part of the forward pass reads are cloned in front of the layer's
    backward pass, which reads the clones. They have the same bits, because a dropout of the same site and step drops the same numbers. Before: the function of
    `differentiate`, with locations that name layers. After: clones have the attribute `transformer.again`, so that `cse` keeps both.

    ```mlir
    %h = transformer.linear %x, %w : …
    transformer.gradient.product "v", %dy, %h : …
    // becomes
    %h = transformer.linear %x, %w : …
    %g = transformer.linear %x, %w {transformer.again} : …
    transformer.gradient.product "v", %dy, %g : …
    ```
  }];
}

def CheckSupported : Pass<"check-supported", "mlir::ModuleOp"> {
  let summary = "reject what kernels do not support";
  let description = [{
    Checks functions, their arguments and results, and all ops; changes nothing. A construct that the dialect allows and kernels do not support is an
    error with its place, its reason and, where there is one, the remedy. After: tensors have ranks, sizes and elements that kernels take, names are
    printable, matrices of contractions are weights, and weights are used only as matrices, vectors and tables.

    ```mlir
    %y = transformer.linear %x, %argument : …
    // error: operand 1: expected a transformer.weight, found an argument
    ```
  }];
}

def SplitAttentionWeights : Pass<"split-attention-weights", "mlir::func::FuncOp"> {
  let summary = "recompute returned attention weights from row statistics";
  let description = [{
    Matches `transformer.attention` with a `weights` result; attention without one is left alone. Before: the transformer stage. After: attention
    returns its output only; `transformer.attention.statistics` gives each row's base-2 maximum and sum, and `transformer.attention.weights`
    recomputes the scores with them, so that no Tq×Tk buffer but the result itself exists.

    ```mlir
    %o, %w = transformer.attention %q, %k, %v {scale = 0.125 : f32} : (…) -> … weights …
    // becomes
    %o = transformer.attention %q, %k, %v {…}
    %m, %s = transformer.attention.statistics %q, %k {…}
    %w = transformer.attention.weights %q, %k, %m, %s {…}
    ```
  }];
  let dependentDialects = ["heddle::transformer::TransformerDialect"];
}

def SplitCrossEntropy : Pass<"split-cross-entropy", "mlir::func::FuncOp"> {
  let summary = "split a loss into its rows and their mean";
  let description = [{
    Replaces `transformer.cross_entropy` by `transformer.cross_entropy.rows`, which is parallel over rows, and `transformer.cross_entropy.mean`, which
    one workgroup sums in a fixed order. Other ops are left alone. No precondition.

    ```mlir
    %l = transformer.cross_entropy %logits, %ids {padding_id = 0 : i64} : (…) -> tensor<1xf32>
    // becomes
    %r = transformer.cross_entropy.rows %logits, %ids {padding_id = 0 : i64} : (…) -> tensor<?x?x2xf32>
    %l = transformer.cross_entropy.mean %r : (…) -> tensor<1xf32>
    ```
  }];
  let dependentDialects = ["heddle::transformer::TransformerDialect"];
}

def SimplifyDropout : Pass<"simplify-dropout", "mlir::func::FuncOp"> {
  let summary = "remove dropout without a key, and compute the numbers of rows once";
  let description = [{
    Replaces a `transformer.dropout` without `key` by its input. Replaces each `transformer.row_numbers` by the first one with the same examples, documents and shape. Other ops are left alone. No precondition.

    ```mlir
    %r = transformer.row_numbers %examples, %x : …
    %d = transformer.dropout %x key(%key) rows(%r) site(%a) {probability = 0.1 : f32} : …
    %s = transformer.row_numbers %examples, %y : …
    %e = transformer.dropout %y key(%key) rows(%s) site(%b) {probability = 0.1 : f32} : …
    // becomes
    %r = transformer.row_numbers %examples, %x : …
    %d = transformer.dropout %x key(%key) rows(%r) site(%a) {probability = 0.1 : f32} : …
    %e = transformer.dropout %y key(%key) rows(%r) site(%b) {probability = 0.1 : f32} : …
    ```
  }];
}

def SplitLinearTransposed : Pass<"split-linear-transposed", "mlir::func::FuncOp"> {
  let summary = "compute products over the rows of a weight with its transposed matrix";
  let description = [{
    Replaces `transformer.linear.transposed` by `transformer.transpose` and `transformer.linear`. Other ops are left alone. No precondition.

    ```mlir
    %dx = transformer.linear.transposed %dy, %w : …
    // becomes
    %t = transformer.transpose %w : …
    %dx = transformer.linear %dy, %t : …
    ```
  }];
  let dependentDialects = ["heddle::transformer::TransformerDialect"];
}

def GroupKernels : Pass<"group-kernels", "mlir::ModuleOp"> {
  let summary = "group ops into kernels";
  let description = [{
    Matches the ops of the transformer stage, after `decompose-ffn`, `split-attention-weights` and `split-cross-entropy`. Weights, constants, reads of
    states and cache lengths stay outside: they are operands. After: nothing is computed outside `kernel.group`. A group has one root (linear,
    attention, weights, norm, patches, pool, quantize, softmax, loss, loss_mean, shift, embedding, elementwise, relayout), its epilogue, and up to
    three parts for linears over the same rows. Its `missed_fusions` list every fusion that was not made, with a reason of `MissedFusion`.

    ```mlir
    %h = transformer.linear %x, %w : …
    %y = arith.addf %h, %x : …
    // becomes
    %y = kernel.group(%x, %w) … { %h = transformer.linear … ; %y = arith.addf … ; kernel.yield %y }
    ```
  }];
  let dependentDialects = ["heddle::kernel::KernelDialect"];
}

def OutlineKernels : Pass<"outline-kernels", "mlir::ModuleOp"> {
  let summary = "outline groups into kernels and functions into launch lists";
  let description = [{
    Matches functions whose ops all stand in groups. After: one `kernel.program` a function, with buffers, ports, checks and one launch a group; one
    `kernel.def` for each distinct group. Groups with equal bodies, shapes and storage share one.

    ```mlir
    func.func @f(%x: …) { %y = kernel.group(%x, %w) {…} ; return %y }
    // becomes
    kernel.def @linear(…) {…}
    kernel.program @f {…} { kernel.launch @linear(%x, %w, %y) … }
    ```
  }];
  let dependentDialects = ["heddle::kernel::KernelDialect"];
}

def TileKernels : Pass<"tile-kernels", "mlir::ModuleOp"> {
  let summary = "tile kernels by their plans";
  let description = [{
    Replaces each `kernel.def` by a `kernel.func` of the same name, so that launches keep their callee: a grid, and a body on static tiles. Sizes of
    tiles are those of the definition's plan, which `plan-kernels` has chosen for a target; a second plan makes a second form, for few rows.

    ```mlir
    kernel.def @linear(%x, %w) -> … attributes {plans = […]} { transformer.linear … }
    // becomes
    kernel.func @linear(%x: !kernel.view<…>, …) grid(…) attributes {plan = …} { kernel.contract … ; kernel.store … }
    ```
  }];
  let dependentDialects = ["heddle::kernel::KernelDialect", "mlir::arith::ArithDialect", "mlir::math::MathDialect",
                           "mlir::scf::SCFDialect", "heddle::transformer::TransformerDialect"];
}

#endif // HEDDLE_TRANSFORMS_PASSES_TD
