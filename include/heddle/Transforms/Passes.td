//===- Passes.td - From the model to kernels ---------------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the mid-end, in the order in which they run.

#ifndef HEDDLE_TRANSFORMS_PASSES_TD
#define HEDDLE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def CheckSupported : Pass<"check-supported", "mlir::ModuleOp"> {
  let summary = "say at the op what no kernel can do yet";
  let description = [{
    Matches functions, their arguments and results, and all ops. Changes nothing: what the dialect can say and kernels
    cannot do is an error with its place, its reason and, where there is one, the remedy. After: tensors have ranks, sizes and
    elements that kernels take, names are printable, matrices of contractions are weights, and weights stand nowhere else than
    as matrices, vectors and tables.

    ```mlir
    %y = transformer.linear %x, %argument : …
    // error: operand 1: expected a transformer.weight, found an argument
    ```
  }];
}

def SplitAttentionWeights : Pass<"split-attention-weights", "mlir::func::FuncOp"> {
  let summary = "compute returned attention weights from row statistics";
  let description = [{
    Matches `transformer.attention` with a `weights` result. Leaves alone: attention without one. Before: the transformer
    stage. After: attention returns its output only; `transformer.attention.statistics` gives each row's base-2 maximum and sum,
    `transformer.attention.weights` repeats the scores and uses them, so that no T×T buffer but the result itself exists.

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
  let summary = "compute a loss row by row, then its mean";
  let description = [{
    Matches `transformer.cross_entropy` and replaces it by `transformer.cross_entropy.rows`, which rows share among workgroups, and
    `transformer.cross_entropy.mean`, which one workgroup adds up in a fixed order. Leaves all else alone. Nothing must hold before.

    ```mlir
    %l = transformer.cross_entropy %logits, %ids {padding_id = 0 : i64} : (…) -> tensor<1xf32>
    // becomes
    %r = transformer.cross_entropy.rows %logits, %ids {padding_id = 0 : i64} : (…) -> tensor<?x?x2xf32>
    %l = transformer.cross_entropy.mean %r : (…) -> tensor<1xf32>
    ```
  }];
  let dependentDialects = ["heddle::transformer::TransformerDialect"];
}

def GroupKernels : Pass<"group-kernels", "mlir::ModuleOp"> {
  let summary = "put every op of the model into the group that becomes its kernel";
  let description = [{
    Matches the ops of the transformer stage, after `decompose-ffn`, `split-attention-weights` and `split-cross-entropy`. Leaves alone weights, constants, the reading of
    states and cache lengths: they are operands. After: nothing is computed outside `kernel.group`. A group has one root
    (linear, attention, weights, norm, pool, softmax, loss, loss_mean, shift, embedding, elementwise, relayout), its epilogue, and for linears over the same rows up to three parts. Every
    fusion that was not made stands in the group's `missed_fusions`, with a reason of `MissedFusion`.

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
  let summary = "turn functions of groups into programs that launch shared kernels";
  let description = [{
    Matches functions whose ops all stand in groups. After: one `kernel.program` a function, with buffers, ports, checks
    and one launch a group; one `kernel.def` for each distinct group (equal bodies, shapes and storage share one).

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
  let summary = "write each kernel's tiled body for a kind of device";
  let description = [{
    Matches `kernel.def`. Replaces each definition by a `kernel.func` of the same name, which programs go on to launch: a grid, and a body on
    static tiles. Both targets get the same ops; tile sizes, chunk and schedule come from the target's description.

    ```mlir
    kernel.def @linear(%x, %w) -> … { transformer.linear … }
    // becomes
    kernel.func @linear(%x: !kernel.view<…>, …) grid(…) { kernel.contract … ; kernel.store … }
    ```
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "`cpu` or `vulkan`">,
                 Option<"level", "level", "int", "0", "level of Vulkan devices: GpuTarget.h">,
                 Option<"countTiles", "count-tiles", "bool", "false", "store how many tiles attention visits instead of its output, for tests">];
  let dependentDialects = ["heddle::kernel::KernelDialect", "mlir::arith::ArithDialect", "mlir::math::MathDialect",
                           "mlir::scf::SCFDialect", "heddle::transformer::TransformerDialect"];
}

#endif // HEDDLE_TRANSFORMS_PASSES_TD
