//===- RegisterAll.cpp - Registration of dialects and passes --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration. Only dialects and passes that occur at some stage are registered, so that tools
// start fast and reject everything else.

#include "heddle/Compiler/RegisterAll.h"

#include "heddle/Conversion/KernelToCpu/KernelToCpu.h"
#include "heddle/Conversion/KernelToGpu/KernelToGpu.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TransformerDialect.h"
#include "heddle/Dialect/Transformer/Transforms/Passes.h"
#include "heddle/Pipelines/Passes.h"
#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Planning/Passes.h"
#include "heddle/Support/Parallel.h"
#include "heddle/Transforms/Passes.h"
#include "heddle/Transforms/TileableOpInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

namespace heddle {

void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<transformer::TransformerDialect, kernel::KernelDialect>();
  // Stages transformer to tiled.
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::math::MathDialect,
                  mlir::scf::SCFDialect, mlir::tensor::TensorDialect>();
  // Stages after tiled; canonicalization creates ops of ub for undefined values.
  registry.insert<mlir::cf::ControlFlowDialect, mlir::LLVM::LLVMDialect, mlir::spirv::SPIRVDialect,
                  mlir::ub::UBDialect, mlir::vector::VectorDialect>();
  registerTilers(registry);
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
}

void limitThreads(mlir::MLIRContext &context) {
  if (!context.isMultithreadingEnabled())
    return;
  const int wanted = static_cast<int>(context.getNumThreads());
  if (startableThreads(wanted) < wanted)
    context.disableMultithreading();
}

void registerAllPasses() {
  registerHeddlePlanningPasses();
  registerHeddleTransformsPasses();
  registerHeddlePipelinesPasses();
  transformer::registerTransformerPasses();
  registerHeddleKernelToCpuPasses();
  registerKernelToGpuPasses();
  registerPipelines();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
}

} // namespace heddle
