//===- FinishSpirv.cpp - Conversion of bodies to SPIR-V -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file implements the pass `finish-spirv`, which converts the bodies of kernels to
// SPIR-V. One full conversion runs all upstream pattern sets, because partial conversions
// leave casts between them. Float ops are then decorated, so that no driver fuses two
// operations that the language rounds separately.
#include "heddle/Conversion/KernelToGpu/KernelToGpu.h"
#include "heddle/Target/GpuTarget.h"

#include "GpuLoops.h"

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

/// math.exp2 %x  ->  spirv.GL.Exp2 %x; upstream has no pattern for it.
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

/// arith.maxnumf %a, %b  ->  spirv.GL.FMax %a, %b
///
/// Upstream's pattern adds two checks for NaN. They are not needed: bodies check for NaN before
/// they compare, and the result is unspecified if an operand is NaN.
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

/// %r = scf.for %i = %from to %to step %step iter_args(%x = %a) { …; yield %y }  ->
/// %r = spirv.mlir.loop {
///     Branch ^header(%from, %a)
///   ^header(%i, %x):   BranchConditional %i < %to, ^body, ^merge
///   ^body:             …
///                      Branch ^header(%i + %step, %y)
///   ^merge:            merge %x
/// }
///
/// Upstream's pattern stores the results to variables in each iteration. Drivers then carry every
/// value twice, which makes products 10 % slower. The results of a loop with zero iterations are
/// undefined.
struct ConvertFor : OpConversionPattern<scf::ForOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(scf::ForOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    // Converted types would need casts of values that the terminator does not have yet.
    for (Type type : op.getBody()->getArgumentTypes())
      if (getTypeConverter()->convertType(type) != type)
        return rewriter.notifyMatchFailure(op, "expected values whose types need no conversion");
    auto control = op->hasAttr(heddle::kRolled)     ? spirv::LoopControl::DontUnroll
                   : op->hasAttr(heddle::kUnrolled) ? spirv::LoopControl::Unroll
                                                    : spirv::LoopControl::None;
    auto loop = spirv::LoopOp::create(rewriter, op.getLoc(), op.getResultTypes(), control);
    loop.addEntryAndMergeBlock(rewriter);
    Block *header = buildHeader(op, adaptor, loop, rewriter);
    moveBody(op, adaptor, loop, header, rewriter);
    rewriter.replaceOp(op, loop.getResults());
    return success();
  }

private:
  /// Builds the entry and header blocks. The terminator of the header is added by moveBody.
  static Block *buildHeader(scf::ForOp op, OpAdaptor adaptor, spirv::LoopOp loop,
                            ConversionPatternRewriter &rewriter) {
    SmallVector<Value> start = {adaptor.getLowerBound()};
    llvm::append_range(start, adaptor.getInitArgs());
    SmallVector<Location> locations(start.size(), op.getLoc());
    Block *merge = loop.getMergeBlock();
    Block *header = rewriter.createBlock(merge, op.getBody()->getArgumentTypes(), locations);
    rewriter.setInsertionPointToEnd(loop.getEntryBlock());
    spirv::BranchOp::create(rewriter, op.getLoc(), header, start);
    rewriter.setInsertionPoint(merge->getTerminator());
    rewriter.replaceOpWithNewOp<spirv::MergeOp>(merge->getTerminator(),
                                                header->getArguments().drop_front());
    return header;
  }

  /// Moves the body between the header and merge blocks, and branches from it to the header.
  static void moveBody(scf::ForOp op, OpAdaptor adaptor, spirv::LoopOp loop, Block *header,
                       ConversionPatternRewriter &rewriter) {
    Location loc = op.getLoc();
    Block *body = op.getBody();
    auto yield = cast<scf::YieldOp>(body->getTerminator());
    Value index = header->getArgument(0);
    rewriter.setInsertionPoint(yield);
    SmallVector<Value> next = {
        spirv::IAddOp::create(rewriter, loc, index.getType(), index, adaptor.getStep())};
    llvm::append_range(next, yield.getOperands());
    rewriter.replaceOpWithNewOp<spirv::BranchOp>(yield, header, next);
    TypeConverter::SignatureConversion arguments(body->getNumArguments());
    for (auto [i, argument] : llvm::enumerate(header->getArguments()))
      arguments.remapInput(i, argument);
    body = rewriter.applySignatureConversion(body, arguments);
    rewriter.inlineRegionBefore(op.getRegion(), loop.getMergeBlock());
    rewriter.setInsertionPointToEnd(header);
    Value more = spirv::SLessThanOp::create(rewriter, loc, rewriter.getI1Type(), index,
                                            adaptor.getUpperBound());
    spirv::BranchConditionalOp::create(rewriter, loc, more, body, ValueRange(),
                                       loop.getMergeBlock(), ValueRange());
  }
};

/// Returns the target environment: SPIR-V 1.3 with the target's capabilities and extensions.
spirv::TargetEnvAttr targetEnvironment(const heddle::GpuTarget &target, MLIRContext *context) {
  SmallVector<spirv::Capability> capabilities;
  for (const std::string &name : target.capabilities)
    capabilities.push_back(*spirv::symbolizeCapability(name));
  SmallVector<spirv::Extension> extensions;
  for (const std::string &name : target.extensions)
    extensions.push_back(*spirv::symbolizeExtension(name));
  // MLIR requires version 1.6 for cooperative matrices; the extension itself does not.
  auto version = target.matrices.empty() ? spirv::Version::V_1_3 : spirv::Version::V_1_6;
  auto triple = spirv::VerCapExtAttr::get(version, capabilities, extensions, context);
  return spirv::TargetEnvAttr::get(
      triple, spirv::getDefaultResourceLimits(context), spirv::ClientAPI::Vulkan,
      spirv::Vendor::Unknown, spirv::DeviceType::Unknown, spirv::TargetEnvAttr::kUnknownDeviceID);
}

/// %r = spirv.mlir.loop …              %r = spirv.mlir.loop …
///                                     Store %variable, %r ;  %c = Load %variable
/// Branch ^header of a loop around(%r) ->  Branch ^header(%c)
///
/// Copies results of an inner loop through variables if the outer loop carries them. The serializer
/// of LLVM 22 writes a header's phi before it has numbered the results of inner loops. It patches
/// forward references to other values, but not to these.
void copyCarriedResults(ModuleOp kernel) {
  kernel.walk([](spirv::LoopOp loop) {
    OpBuilder builder(loop);
    for (Value result : loop.getResults())
      for (OpOperand &use : llvm::make_early_inc_range(result.getUses())) {
        auto around = dyn_cast<spirv::LoopOp>(use.getOwner()->getParentOp());
        if (!around || !isa<spirv::BranchOp>(use.getOwner()) ||
            use.getOwner()->getBlock() != around.getContinueBlock())
          continue;
        Location loc = loop.getLoc();
        builder.setInsertionPoint(loop);
        auto type = spirv::PointerType::get(result.getType(), spirv::StorageClass::Function);
        Value variable =
            spirv::VariableOp::create(builder, loc, type, spirv::StorageClass::Function, nullptr);
        builder.setInsertionPointAfter(loop);
        spirv::StoreOp::create(builder, loc, variable, result);
        use.set(spirv::LoadOp::create(builder, loc, variable));
      }
  });
}

bool mayBeContracted(Operation *op) {
  return isa<spirv::FAddOp, spirv::FSubOp, spirv::FMulOp, spirv::FDivOp, spirv::FNegateOp>(op);
}

bool hasCooperativeMatrices(ModuleOp kernel) {
  return kernel.walk([](spirv::KHRCooperativeMatrixMulAddOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Marks accesses to workgroup memory as non-private, and lets barriers make writes available and
/// visible. The Vulkan memory model, which cooperative matrices require, does neither by default.
void shareInVulkansModel(ModuleOp kernel) {
  auto shared =
      spirv::MemoryAccessAttr::get(kernel.getContext(), spirv::MemoryAccess::NonPrivatePointer);
  auto isShared = [](Value pointer) {
    return cast<spirv::PointerType>(pointer.getType()).getStorageClass() ==
           spirv::StorageClass::Workgroup;
  };
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<spirv::LoadOp>(op); load && isShared(load.getPtr()))
      load.setMemoryAccessAttr(shared);
    else if (auto store = dyn_cast<spirv::StoreOp>(op); store && isShared(store.getPtr()))
      store.setMemoryAccessAttr(shared);
    else if (auto load = dyn_cast<spirv::KHRCooperativeMatrixLoadOp>(op);
             load && isShared(load.getPointer()))
      load.setMemoryOperandAttr(shared);
    else if (auto store = dyn_cast<spirv::KHRCooperativeMatrixStoreOp>(op);
             store && isShared(store.getPointer()))
      store.setMemoryOperandAttr(shared);
    else if (auto barrier = dyn_cast<spirv::ControlBarrierOp>(op))
      barrier.setMemorySemantics(barrier.getMemorySemantics() |
                                 spirv::MemorySemantics::MakeAvailable |
                                 spirv::MemorySemantics::MakeVisible);
  });
}

struct FinishSpirv : heddle::impl::FinishSpirvBase<FinishSpirv> {
  using FinishSpirvBase::FinishSpirvBase;

  void runOnOperation() override {
    const heddle::GpuTarget *target = heddle::findGpuTarget(level, getOperation(), "finish-spirv");
    if (!target)
      return signalPassFailure();
    spirv::TargetEnvAttr environment = targetEnvironment(*target, &getContext());
    SmallVector<ModuleOp> kernels(getOperation().getOps<ModuleOp>());
    for (ModuleOp kernel : kernels) {
      if (failed(convert(kernel, environment)))
        return signalPassFailure(); // the conversion has reported the op
      copyCarriedResults(kernel);
      decorate(kernel);
      enclose(kernel, environment.getTripleAttr());
    }
  }

private:
  /// Runs the full conversion. A benefit of 2 prefers the patterns above to upstream's.
  LogicalResult convert(ModuleOp kernel, spirv::TargetEnvAttr environment) {
    MLIRContext *context = &getContext();
    SPIRVTypeConverter types(environment);
    ScfToSPIRVContext loops;
    RewritePatternSet patterns(context);
    arith::populateArithToSPIRVPatterns(types, patterns);
    populateMathToSPIRVPatterns(types, patterns);
    populateVectorToSPIRVPatterns(types, patterns);
    populateSCFToSPIRVPatterns(types, loops, patterns);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    patterns.add<ConvertExp2>(types, context);
    patterns.add<ConvertFor>(types, context, /*benefit=*/2);
    patterns.add<ConvertExtremum<arith::MaxNumFOp, spirv::GLFMaxOp>,
                 ConvertExtremum<arith::MinNumFOp, spirv::GLFMinOp>>(types, context,
                                                                     /*benefit=*/2);
    std::unique_ptr<ConversionTarget> target = SPIRVConversionTarget::get(environment);
    target->addLegalOp<ModuleOp>();
    return applyFullConversion(kernel, *target, std::move(patterns));
  }

  /// Forbids drivers to contract float ops, because a product and a sum are rounded separately.
  static void decorate(ModuleOp kernel) {
    kernel.walk([](Operation *op) {
      if (mayBeContracted(op))
        op->setAttr("no_contraction", UnitAttr::get(op->getContext()));
    });
  }

  /// module @k {…}  ->  spirv.module @k {…}, whose body may contain only SPIR-V ops.
  static void enclose(ModuleOp kernel, spirv::VerCapExtAttr triple) {
    OpBuilder builder(kernel);
    triple = spirv::VerCapExtAttr::get(
        spirv::Version::V_1_3, SmallVector<spirv::Capability>(triple.getCapabilities()),
        SmallVector<spirv::Extension>(triple.getExtensions()), kernel.getContext());
    auto model = spirv::MemoryModel::GLSL450;
    if (hasCooperativeMatrices(kernel)) {
      shareInVulkansModel(kernel);
      model = spirv::MemoryModel::Vulkan;
    }
    auto module = spirv::ModuleOp::create(builder, kernel.getLoc(), spirv::AddressingModel::Logical,
                                          model, triple, kernel.getSymName());
    module.getBody()->getOperations().splice(module.getBody()->begin(),
                                             kernel.getBody()->getOperations());
    module->setAttr("workgroup", kernel->getAttr("kernel.workgroup"));
    kernel.erase();
  }
};

} // namespace
