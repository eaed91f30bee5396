//===- FinishSpirv.cpp - One conversion to SPIR-V -------------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All pattern sets of upstream in one full conversion, because partial ones leave
// casts between them, and then the decoration that keeps a driver from fusing
// what the language says is rounded twice.
//
//===----------------------------------------------------------------------===//
#include "heddle/Conversion/KernelToGpu/KernelToGpu.h"

#include "mlir/Conversion/ArithToSPIRV/ArithToSPIRV.h"
#include "mlir/Conversion/MathToSPIRV/MathToSPIRV.h"
#include "mlir/Conversion/SCFToSPIRV/SCFToSPIRV.h"
#include "mlir/Conversion/VectorToSPIRV/VectorToSPIRV.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/SPIRV/IR/TargetAndABI.h"
#include "mlir/Dialect/SPIRV/Transforms/SPIRVConversion.h"
#include "mlir/Transforms/DialectConversion.h"

namespace heddle {
#define GEN_PASS_DEF_FINISHSPIRV
#include "heddle/Conversion/KernelToGpu/Passes.h.inc"
} // namespace heddle

using namespace mlir;

namespace {

/// math.exp2 %x  ->  spirv.GL.Exp2 %x, which upstream has no pattern for.
struct ConvertExp2 : OpConversionPattern<math::Exp2Op> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(math::Exp2Op op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type type = getTypeConverter()->convertType(op.getType());
    if (!type)
      return rewriter.notifyMatchFailure(op, "expected a type that SPIR-V has");
    rewriter.replaceOpWithNewOp<spirv::GLExp2Op>(op, type, adaptor.getOperand());
    return success();
  }
};

/// Vulkan 1.1 without anything optional.
spirv::TargetEnvAttr targetEnvironment(MLIRContext *context) {
  auto triple = spirv::VerCapExtAttr::get(spirv::Version::V_1_3, {spirv::Capability::Shader},
                                          ArrayRef<spirv::Extension>{}, context);
  return spirv::TargetEnvAttr::get(
      triple, spirv::getDefaultResourceLimits(context), spirv::ClientAPI::Vulkan,
      spirv::Vendor::Unknown, spirv::DeviceType::Unknown, spirv::TargetEnvAttr::kUnknownDeviceID);
}

bool mayBeContracted(Operation *op) {
  return isa<spirv::FAddOp, spirv::FSubOp, spirv::FMulOp, spirv::FDivOp, spirv::FNegateOp>(op);
}

struct FinishSpirv : heddle::impl::FinishSpirvBase<FinishSpirv> {
  void runOnOperation() override {
    for (spirv::ModuleOp module : getOperation().getOps<spirv::ModuleOp>())
      if (failed(finish(module)))
        return signalPassFailure();
  }

private:
  LogicalResult finish(spirv::ModuleOp module) {
    MLIRContext *context = &getContext();
    spirv::TargetEnvAttr environment = targetEnvironment(context);
    SPIRVTypeConverter types(environment);
    ScfToSPIRVContext loops;
    RewritePatternSet patterns(context);
    arith::populateArithToSPIRVPatterns(types, patterns);
    populateMathToSPIRVPatterns(types, patterns);
    populateVectorToSPIRVPatterns(types, patterns);
    populateSCFToSPIRVPatterns(types, loops, patterns);
    patterns.add<ConvertExp2>(types, context);
    std::unique_ptr<ConversionTarget> target = SPIRVConversionTarget::get(environment);
    if (failed(applyFullConversion(module, *target, std::move(patterns))))
      return failure(); // the conversion has named the op
    module.walk([](Operation *op) {
      if (mayBeContracted(op))
        op->setAttr("no_contraction", UnitAttr::get(op->getContext()));
    });
    return success();
  }
};

} // namespace
