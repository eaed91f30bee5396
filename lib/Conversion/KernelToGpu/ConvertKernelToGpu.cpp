//===- ConvertKernelToGpu.cpp - Lowering of kernels to SPIR-V -------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file implements the pass `convert-kernel-to-gpu`, which replaces each kernel.func
// with a module that holds the code of one invocation (GpuEmitter.h).
#include "heddle/Conversion/KernelToGpu/KernelToGpu.h"

#include "GpuEmitter.h"
#include "GpuMatrices.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace heddle {
#define GEN_PASS_DEF_CONVERTKERNELTOGPU
#include "heddle/Conversion/KernelToGpu/Passes.h.inc"
} // namespace heddle

using namespace mlir;

namespace {

struct ConvertKernelToGpu : heddle::impl::ConvertKernelToGpuBase<ConvertKernelToGpu> {
  using ConvertKernelToGpuBase::ConvertKernelToGpuBase;

  void runOnOperation() override {
    const heddle::GpuTarget *target =
        heddle::findGpuTarget(level, getOperation(), "convert-kernel-to-gpu");
    if (!target)
      return signalPassFailure();
    for (auto program :
         llvm::make_early_inc_range(getOperation().getOps<heddle::kernel::ProgramOp>()))
      program.erase(); // generated code holds no launches
    OpBuilder builder(&getContext());
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<heddle::kernel::FuncOp>())) {
      FailureOr<heddle::GpuPlacement> placement = heddle::placeInvocations(func, *target);
      if (failed(placement) || failed(heddle::GpuEmitter(builder, func, *target, *placement).run()))
        return signalPassFailure(); // the error was reported at the op
      func.erase();
    }
  }
};

} // namespace
