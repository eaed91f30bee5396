//===- Pipelines.cpp - One function a stage -------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of all passes, transformer ▶ fused ▶ program ▶ tiled, and from there
// cpu ▶ llvm or gpu ▶ spirv. Cleaning up between stages is cse and canonicalise
// where they help readers and later passes; never between the CPU lowering and
// LLVM, where canonicalisation of vectors can explode.

#include "heddle/Pipelines/Pipelines.h"

#include "heddle/Conversion/KernelToCpu/KernelToCpu.h"
#include "heddle/Conversion/KernelToGpu/KernelToGpu.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/Transforms/Passes.h"
#include "heddle/Pipelines/Passes.h"
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

// Alive: transformer, arith, tensor, func.
void buildTransformerPipeline(OpPassManager &pm, const std::string &dtype) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(transformer::createLowerConvolutions());
  pm.addPass(createCSEPass());
  pm.addPass(createCheckSupported());
  pm.addPass(transformer::createSetPrecision({dtype}));
}

// Alive: kernel (group, yield) around transformer, arith, tensor; func, and operands of groups
// outside them.
void buildFusedPipeline(OpPassManager &pm) {
  OpPassManager &function = pm.nest<func::FuncOp>();
  function.addPass(transformer::createDecomposeFfn());
  function.addPass(createSplitAttentionWeights());
  function.addPass(createSplitCrossEntropy());
  function.addPass(createCSEPass());
  function.addPass(transformer::createSinkFormulaConstants());
  pm.addPass(createGroupKernels());
}

// Alive: kernel (program and def); in definitions also transformer, arith, tensor.
void buildProgramPipeline(OpPassManager &pm) { pm.addPass(createOutlineKernels()); }

// Alive: kernel (program; func and what it holds), arith, math, scf.
void buildTiledPipeline(OpPassManager &pm, const StageOptions &options) {
  pm.addPass(createTileKernels({toString(options.target), options.level, options.countTiles}));
  OpPassManager &body = pm.nest<kernel::FuncOp>();
  body.addPass(createCanonicalizerPass());
  body.addPass(createCSEPass());
}

// Alive: func, llvm, scf, arith, math, vector.
void buildCpuPipeline(OpPassManager &pm, const std::string &isa) {
  pm.addPass(createConvertKernelToCpu({isa}));
}

// Alive: llvm. What does not change in a loop leaves it while loops are still structured; kernels
// are lowered in parallel up to the conversions that need the module.
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

// Alive: spirv (module, globals, functions) holding scf, arith, vector.
void buildGpuPipeline(OpPassManager &pm, int level) {
  pm.addPass(createConvertKernelToGpu({level}));
  OpPassManager &kernel = pm.nest<ModuleOp>();
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
}

// Alive: spirv.
void buildSpirvPipeline(OpPassManager &pm, int level) { pm.addPass(createFinishSpirv({level})); }

} // namespace heddle
