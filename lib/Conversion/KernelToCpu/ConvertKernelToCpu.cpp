//===- ConvertKernelToCpu.cpp - Lowering of kernels to CPU code -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass `convert-kernel-to-cpu`, which emits one function per kernel:
//
//   kernel.func @f(views) scalars(...) grid(%i = d0 by 96, %j = 512 by 64) { body }
//     ->  func.func @f(%args, %scalars, %g0, %g1, %g2)   one call per grid point
//
// Parts become a chain of branches on the last grid index.

#include "CpuProduct.h"

#include "heddle/Conversion/KernelToCpu/KernelToCpu.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace heddle {
#define GEN_PASS_DEF_CONVERTKERNELTOCPU
#include "heddle/Conversion/KernelToCpu/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

/// Limit of a kernel's stack; threads have a few megabytes.
static constexpr int64_t maxStackBytes = 512 << 10;

//===- Function around the body -------------------------------------------===//

Value CpuEmitter::sizeOf(const Size &size) {
  if (size.isStatic())
    return constant(size.value);
  return scalarArguments[kernel.getScalarIndex(size.name)];
}

/// Loads pointers and scalars from the two argument arrays. With prefetch, one more pointer,
/// `readNext`, follows the views.
void CpuEmitter::bindArguments() {
  Block &entry = function.getBody().front();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto argument = [&](int64_t i) {
    Value place = LLVM::GEPOp::create(builder, loc, pointer, pointer, entry.getArgument(0),
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    return LLVM::LoadOp::create(builder, loc, pointer, place, /*alignment=*/8).getResult();
  };
  for (int64_t i = 0; i < kernel.getNumViews(); ++i)
    pointers.push_back(argument(i));
  if (plan.getAhead())
    readNext = argument(kernel.getNumViews());
  for (size_t i = 0; i < kernel.getScalars().size(); ++i) {
    Value place = LLVM::GEPOp::create(builder, loc, pointer, indexType, entry.getArgument(1),
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    scalarArguments.push_back(
        LLVM::LoadOp::create(builder, loc, indexType, place, /*alignment=*/8));
  }
  for (int64_t i = 0; i < kernel.getNumViews(); ++i)
    bindView(kernel.getView(i), cast<ViewType>(kernel.getView(i).getType()), i,
             [&](const Size &size) { return sizeOf(size); });
  for (int64_t axis = 0; axis < kernel.getNumAxes(); ++axis)
    scalars[kernel.getGridIndex(axis)] =
        mul(entry.getArgument(2 + axis), kernel.getGridTiles()[axis]);
  kernel.walk([&](ScalarOp op) {
    scalars[op.getResult()] = scalarArguments[kernel.getScalarIndex(op.getName())];
  });
}

/// Emits a branch per part. The grid points of the last axis enumerate the tiles of all parts in
/// order.
LogicalResult CpuEmitter::emitParts() {
  Value tile = function.getBody().front().getArgument(2 + kernel.getNumAxes());
  for (PartOp part : kernel.getBody().getOps<PartOp>()) {
    Value rounded = add(sizeOf(part.getExtent()), constant(part.getTile() - 1));
    Value count = builder.createOrFold<arith::DivUIOp>(loc, rounded, constant(part.getTile()));
    // One unsigned comparison tests both bounds: `tile` is negative if it belongs to an earlier
    // part.
    Value mine = compare(arith::CmpIPredicate::ult, tile, count);
    {
      OpBuilder::InsertionGuard guard(builder);
      enterIf(mine);
      scalars[part.getIndex()] = mul(tile, part.getTile());
      if (failed(emitBody(part.getBody().front())))
        return failure();
    }
    tile = sub(tile, count);
  }
  return success();
}

LogicalResult CpuEmitter::emitBody(Block &body) {
  FailureOr<CpuPlan> planned = planBody(body, target);
  if (failed(planned))
    return failure();
  scratch.rows.clear();
  scratch.used.clear();
  for (Operation &op : body)
    if (!touchesTiles(op) && failed(emitOp(op)))
      return failure();
  loops.enter(*planned, body);
  return emitTileBlock(body, {});
}

/// Splits fused multiply-adds of the body, for instruction sets without them.
static void splitMultiplyAdds(FuncOp kernel) {
  kernel.walk([](math::FmaOp op) {
    OpBuilder builder(op);
    Value product = arith::MulFOp::create(builder, op.getLoc(), op.getA(), op.getB());
    op.replaceAllUsesWith(
        arith::AddFOp::create(builder, op.getLoc(), product, op.getC()).getResult());
    op.erase();
  });
}

/// Computes extended products of vectors as products of their even and of their odd elements, which
/// x86 multiplies to 64 bits by one instruction. LLVM would widen all elements and narrow both
/// halves of the results.
static void splitExtendedProducts(func::FuncOp function) {
  function.walk([](arith::MulUIExtendedOp op) {
    auto type = dyn_cast<VectorType>(op.getType(0));
    if (!type || type.getNumElements() % 2 != 0)
      return;
    OpBuilder b(op);
    Location loc = op.getLoc();
    auto wide = VectorType::get({type.getNumElements() / 2}, b.getI64Type());
    auto splat = [&](uint64_t value) -> Value {
      return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(wide, APInt(64, value)));
    };
    const Value low = splat(0xffffffff), high = splat(0xffffffff00000000), half = splat(32);
    Value x = vector::BitCastOp::create(b, loc, wide, op.getLhs()),
          y = vector::BitCastOp::create(b, loc, wide, op.getRhs());
    auto all = [&](Value a, Value mask) -> Value { return arith::AndIOp::create(b, loc, a, mask); };
    auto up = [&](Value a) -> Value { return arith::ShRUIOp::create(b, loc, a, half); };
    auto down = [&](Value a) -> Value { return arith::ShLIOp::create(b, loc, a, half); };
    auto narrow = [&](Value a, Value c) -> Value {
      return vector::BitCastOp::create(b, loc, type, arith::OrIOp::create(b, loc, a, c));
    };
    Value even = arith::MulIOp::create(b, loc, all(x, low), all(y, low)),
          odd = arith::MulIOp::create(b, loc, up(x), up(y));
    op.replaceAllUsesWith(
        ValueRange{narrow(all(even, low), down(odd)), narrow(up(even), all(odd, high))});
    op.erase();
  });
}

/// Rejects ops that LLVM would lower to library calls; kernels are linked against no library.
static LogicalResult checkMath(FuncOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
        isa<math::FmaOp, math::RoundEvenOp, math::SqrtOp, math::AbsFOp, math::FloorOp, math::CeilOp,
            math::TruncOp, math::CopySignOp>(op))
      return WalkResult::advance();
    op->emitOpError("expected an op that is an instruction of the CPU");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Returns the plan of a kernel; the default is `cpu_tiles`.
static PlanAttr planOf(FuncOp kernel) {
  PlanAttr plan = kernel.getPlanAttr();
  return plan ? plan : PlanAttr::get(kernel.getContext(), Mapping::CpuTiles);
}

CpuEmitter::CpuEmitter(OpBuilder &builder, FuncOp kernel, const CpuTarget &target)
    : BodyEmitter(builder, builder.getI64Type(), target.lanes), kernel(kernel),
      plan(planOf(kernel)), target(target) {}
CpuEmitter::~CpuEmitter() = default;

LogicalResult CpuEmitter::run() {
  if (!isOfCpu(plan.getMapping()))
    return kernel.emitOpError("expected a plan for CPUs, found mapping ")
           << stringifyMapping(plan.getMapping());
  if (failed(checkMath(kernel)))
    return failure();
  if (!target.fusedMultiplyAdd)
    splitMultiplyAdds(kernel);
  loc = kernel.getLoc();
  builder.setInsertionPoint(kernel);
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto type = builder.getFunctionType({pointer, pointer, indexType, indexType, indexType}, {});
  function = func::FuncOp::create(builder, loc, kernel.getSymName(), type);
  scratch.entry = function.addEntryBlock();
  builder.setInsertionPointToStart(scratch.entry);
  auto end = func::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(end);
  bindArguments();
  if (failed(kernel.hasParts() ? emitParts() : emitBody(kernel.getBody().front())))
    return failure();
  splitExtendedProducts(function);
  if (scratch.bytes > maxStackBytes)
    return kernel.emitOpError() << "expected at most " << maxStackBytes
                                << " bytes of scratch, found " << scratch.bytes;
  return success();
}

//===- The pass ----------------------------------------------------------===//

namespace {
struct ConvertKernelToCpu : heddle::impl::ConvertKernelToCpuBase<ConvertKernelToCpu> {
  using ConvertKernelToCpuBase::ConvertKernelToCpuBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Expected<CpuTarget> target = findCpuTarget(isa);
    if (!target) {
      module.emitError() << target.error().message;
      return signalPassFailure();
    }
    for (auto program : llvm::make_early_inc_range(module.getOps<ProgramOp>()))
      program.erase(); // generated code holds no launches
    OpBuilder builder(module.getContext());
    for (FuncOp kernel : llvm::make_early_inc_range(module.getOps<FuncOp>())) {
      if (failed(CpuEmitter(builder, kernel, *target).run()))
        return signalPassFailure();
      kernel.erase();
    }
  }
};
} // namespace
