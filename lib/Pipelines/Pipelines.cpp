//===- Pipelines.cpp - Pass pipelines of the stages -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Order of all passes: transformer ▶ fused ▶ program ▶ tiled, and then cpu ▶ llvm or gpu ▶ spirv.
// Passes cse and canonicalize run between stages if they help readers and later passes. They do not
// run between the CPU lowering and LLVM, where canonicalization of vectors can explode.

#include "heddle/Pipelines/Pipelines.h"

#include "heddle/Conversion/KernelToCpu/KernelToCpu.h"
#include "heddle/Conversion/KernelToGpu/KernelToGpu.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/Transforms/Passes.h"
#include "heddle/Pipelines/Passes.h"
#include "heddle/Planning/Passes.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace heddle {

void buildTransformerPipeline(OpPassManager &pm, const StageOptions &options) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(transformer::createLowerConvolutions());
  if (options.training) {
    pm.addPass(transformer::createDifferentiate());
    pm.addPass(createRecompute());
  }
  pm.addPass(createCSEPass());
  pm.addPass(createCheckSupported());
  pm.addPass(transformer::createBoundCaches());
  pm.addPass(transformer::createSetPrecision({options.dtype, options.cacheDtype}));
}

void buildFusedPipeline(OpPassManager &pm) {
  OpPassManager &function = pm.nest<func::FuncOp>();
  function.addPass(transformer::createDecomposeFfn());
  function.addPass(createSplitAttentionWeights());
  function.addPass(createSplitCrossEntropy());
  function.addPass(createSplitLinearTransposed());
  function.addPass(createSimplifyDropout());
  function.addPass(createCSEPass());
  function.addPass(transformer::createSinkFormulaConstants());
  pm.addPass(createGroupKernels());
}

void buildProgramPipeline(OpPassManager &pm) { pm.addPass(createOutlineKernels()); }

void buildTiledPipeline(OpPassManager &pm, const StageOptions &options) {
  pm.addPass(createPlanKernels({toString(options.target), options.level}));
  pm.addPass(createTileKernels());
  OpPassManager &body = pm.nest<kernel::FuncOp>();
  body.addPass(createCanonicalizerPass());
  body.addPass(createCSEPass());
}

void buildCpuPipeline(OpPassManager &pm, const std::string &isa) {
  pm.addPass(createConvertKernelToCpu({isa}));
}

// Loop invariants are hoisted while loops are still structured. Conversions are nested as deeply as
// possible, because nested pipelines lower kernels in parallel.
void buildLlvmPipeline(OpPassManager &pm) {
  OpPassManager &function = pm.nest<func::FuncOp>();
  function.addPass(createCSEPass());
  function.addPass(createLoopInvariantCodeMotionPass());
  function.addPass(arith::createArithExpandOpsPass());
  function.addPass(createSCFToControlFlowPass());
  function.addPass(createConvertVectorToLLVMPass());
  function.addPass(createConvertMathToLLVMPass());
  function.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void buildGpuPipeline(OpPassManager &pm, const std::string &level) {
  pm.addPass(createConvertKernelToGpu({level}));
  OpPassManager &kernel = pm.nest<ModuleOp>();
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
}

void buildSpirvPipeline(OpPassManager &pm, const std::string &level) {
  pm.addPass(createFinishSpirv({level}));
}

} // namespace heddle
