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
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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

/// arith.maxnumf %a, %b  ->  spirv.GL.FMax %a, %b, without upstream's two tests for NaN: bodies
/// tell NaN apart before they compare, and which operand a NaN leaves is not promised.
template <typename From, typename To>
struct ConvertExtremum : OpConversionPattern<From> {
  using OpConversionPattern<From>::OpConversionPattern;
  LogicalResult matchAndRewrite(From op, typename From::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type type = this->getTypeConverter()->convertType(op.getType());
    if (!type)
      return rewriter.notifyMatchFailure(op, "expected a type that SPIR-V has");
    rewriter.replaceOpWithNewOp<To>(op, type, adaptor.getLhs(), adaptor.getRhs());
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

bool mayBeEmpty(scf::ForOp loop) {
  std::optional<int64_t> from = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> to = getConstantIntValue(loop.getUpperBound());
  return !from || !to || *from >= *to;
}

/// %r = scf.for … iter_args(%i)  ->  %r = scf.if %from < %to { scf.for … } else { %i }
/// Upstream's conversion stores the results of a loop at the end of each step only, so that a loop
/// without a step would leave them undefined.
void guardEmptyLoops(ModuleOp kernel) {
  kernel.walk([](scf::ForOp loop) {
    if (!loop.getNumResults() || !mayBeEmpty(loop))
      return;
    OpBuilder builder(loop);
    Location loc = loop.getLoc();
    Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       loop.getLowerBound(), loop.getUpperBound());
    auto guard =
        scf::IfOp::create(builder, loc, loop.getResultTypes(), some, /*withElseRegion=*/true);
    loop.replaceAllUsesWith(guard);
    loop->moveBefore(guard.thenBlock(), guard.thenBlock()->end());
    builder.setInsertionPointToEnd(guard.thenBlock());
    scf::YieldOp::create(builder, loc, loop.getResults());
    builder.setInsertionPointToEnd(guard.elseBlock());
    scf::YieldOp::create(builder, loc, loop.getInitArgs());
  });
}

bool mayBeContracted(Operation *op) {
  return isa<spirv::FAddOp, spirv::FSubOp, spirv::FMulOp, spirv::FDivOp, spirv::FNegateOp>(op);
}

struct FinishSpirv : heddle::impl::FinishSpirvBase<FinishSpirv> {
  void runOnOperation() override {
    SmallVector<ModuleOp> kernels(getOperation().getOps<ModuleOp>());
    for (ModuleOp kernel : kernels) {
      guardEmptyLoops(kernel);
      if (failed(convert(kernel)))
        return signalPassFailure(); // the conversion has named the op
      decorate(kernel);
      enclose(kernel);
    }
  }

private:
  LogicalResult convert(ModuleOp kernel) {
    MLIRContext *context = &getContext();
    spirv::TargetEnvAttr environment = targetEnvironment(context);
    SPIRVTypeConverter types(environment);
    ScfToSPIRVContext loops;
    RewritePatternSet patterns(context);
    arith::populateArithToSPIRVPatterns(types, patterns);
    populateMathToSPIRVPatterns(types, patterns);
    populateVectorToSPIRVPatterns(types, patterns);
    populateSCFToSPIRVPatterns(types, loops, patterns);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    patterns.add<ConvertExp2>(types, context);
    patterns.add<ConvertExtremum<arith::MaxNumFOp, spirv::GLFMaxOp>,
                 ConvertExtremum<arith::MinNumFOp, spirv::GLFMinOp>>(types, context,
                                                                     /*benefit=*/2);
    std::unique_ptr<ConversionTarget> target = SPIRVConversionTarget::get(environment);
    target->addLegalOp<ModuleOp>();
    return applyFullConversion(kernel, *target, std::move(patterns));
  }

  static void decorate(ModuleOp kernel) {
    kernel.walk([](Operation *op) {
      if (mayBeContracted(op))
        op->setAttr("no_contraction", UnitAttr::get(op->getContext()));
    });
  }

  /// module @k {…}  ->  spirv.module @k {…}, which may hold nothing else.
  static void enclose(ModuleOp kernel) {
    OpBuilder builder(kernel);
    spirv::VerCapExtAttr triple = targetEnvironment(builder.getContext()).getTripleAttr();
    auto module = spirv::ModuleOp::create(builder, kernel.getLoc(), spirv::AddressingModel::Logical,
                                          spirv::MemoryModel::GLSL450, triple, kernel.getSymName());
    module.getBody()->getOperations().splice(module.getBody()->begin(),
                                             kernel.getBody()->getOperations());
    module->setAttr("workgroup", kernel->getAttr("kernel.workgroup"));
    kernel.erase();
  }
};

} // namespace
