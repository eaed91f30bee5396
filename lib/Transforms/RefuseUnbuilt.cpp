//===- RefuseUnbuilt.cpp - What the dialect says and no kernel does -------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect is wider than the kernels. Everything that later passes take for
// granted is asked here, once, so that the answer stands at the op that was
// written and not at what became of it.
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ConvertUTF.h"

namespace heddle {
#define GEN_PASS_DEF_REFUSEUNBUILT
#include "heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle::transformer;

/// Kernels count what one tensor holds, padding included, in 64 bits and its dimensions in 32.
static constexpr int64_t mostElements = int64_t(1) << 40, mostOfDimension = INT32_MAX;
/// Kernels hold whole rows of some tensors, on the CPU on a thread's stack (TileKernels.cpp).
static constexpr int64_t mostFeatures = 1 << 20, mostNormFeatures = 96 * 1024,
                         mostHeadFeatures = 6 * 1024;

//===----------------------------------------------------------------------===//
// Names and types
//===----------------------------------------------------------------------===//

/// Names are written into files and messages.
static LogicalResult checkText(Operation *op) {
  std::optional<StringRef> wrong;
  auto check = [&](StringRef text) {
    auto *at = reinterpret_cast<const llvm::UTF8 *>(text.begin());
    bool control = llvm::any_of(text, [](char c) { return llvm::isASCII(c) && !llvm::isPrint(c); });
    if (control || !llvm::isLegalUTF8String(&at, reinterpret_cast<const llvm::UTF8 *>(text.end())))
      wrong = text;
  };
  op->getAttrDictionary().walk([&](StringAttr text) { check(text.getValue()); });
  if (!wrong)
    return success();
  std::string shown;
  llvm::raw_string_ostream stream(shown);
  llvm::printEscapedString(*wrong, stream);
  return op->emitOpError("expected names of printable UTF-8, found \"") << shown << "\"";
}

/// Why no kernel takes a tensor of this type; empty: one does. Results of ops inside a function may be
/// rounded (bf16, f16) or codes (i8, weights also i4), callers give and get none that are.
static std::string problemOf(Type type, Operation *inside = nullptr) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor) {
    stream << "expected a tensor of known rank, found " << type;
    return text;
  }
  Type element = tensor.getElementType();
  if (!element.isF32() && !element.isSignlessInteger(32) && !element.isSignlessInteger(1) &&
      !(inside && (isa<BFloat16Type, Float16Type>(element) || element.isInteger(8))) &&
      !(element.isInteger(4) && isa_and_nonnull<WeightOp>(inside)))
    stream << "expected elements of f32, i32 or i1, found " << element
           << ", which is not built yet";
  else if (tensor.getRank() == 0)
    stream << "expected rank 1 or more, found " << type << ", which is not built yet";
  else if (element.isF32() && tensor.getShape().back() > mostFeatures && tensor.getRank() > 1)
    stream << "expected a last dimension of at most 2^20, found " << type;
  int64_t elements = 1;
  for (int64_t size : tensor.getShape())
    if (!ShapedType::isDynamic(size) && text.empty()) {
      if (size > mostOfDimension || (size > 0 && elements > mostElements / size))
        stream << "expected dimensions below 2^31 and at most 2^40 elements, found " << type;
      else
        elements *= std::max<int64_t>(size, 1);
    }
  return text;
}

/// Arguments and results without a name are called by their position.
template <typename NameOf>
static LogicalResult checkNames(func::FuncOp function, unsigned count, StringRef kind,
                                StringRef prefix, NameOf nameOf) {
  for (unsigned i = 0; i < count; ++i) {
    if (nameOf(i))
      continue;
    std::string name = (prefix + Twine(i)).str();
    for (unsigned j = 0; j < count; ++j)
      if (StringAttr other = nameOf(j); other && other.getValue() == name)
        return function.emitOpError()
               << kind << " " << i << ": expected a transformer.name, as " << kind << " " << j
               << " has the name " << other << " that it would get, found none";
  }
  return success();
}

static LogicalResult checkSignature(func::FuncOp function) {
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (std::string problem = problemOf(type); !problem.empty() && !type.isSignlessInteger(32))
      return function.emitOpError() << "argument " << i << ": " << problem;
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (std::string problem = problemOf(type); !problem.empty())
      return function.emitOpError() << "result " << i << ": " << problem;
  auto argument = [&](unsigned i) {
    return function.getArgAttrOfType<StringAttr>(i, TransformerDialect::nameAttr);
  };
  auto result = [&](unsigned i) {
    return function.getResultAttrOfType<StringAttr>(i, TransformerDialect::nameAttr);
  };
  if (failed(checkNames(function, function.getNumArguments(), "argument", "arg", argument)))
    return failure();
  return checkNames(function, function.getNumResults(), "result", "out", result);
}

//===----------------------------------------------------------------------===//
// Weights and constants
//===----------------------------------------------------------------------===//

/// A matrix that contractions read: it is packed when the model is.
static bool isPackedMatrix(OpOperand &use) {
  unsigned number = use.getOperandNumber();
  return llvm::TypeSwitch<Operation *, bool>(use.getOwner())
      .Case<LinearOp, Conv1x1Op, PatchEmbeddingOp>(
          [&](auto op) { return op.getWeightMutable().getOperandNumber() == number; })
      .Case<FfnOp>([&](FfnOp op) {
        return op.getInWeightMutable().getOperandNumber() == number ||
               op.getOutWeightMutable().getOperandNumber() == number;
      })
      .Default([](Operation *) { return false; });
}

/// Where a weight may stand: a matrix, a vector or a table, never the rows that are computed with.
static bool takesWeight(OpOperand &use) {
  unsigned number = use.getOperandNumber();
  auto type = cast<RankedTensorType>(use.get().getType());
  return llvm::TypeSwitch<Operation *, bool>(use.getOwner())
      .Case<LinearOp, FfnOp, Conv1x1Op, LayerNormOp, RmsNormOp, EmbeddingOp>(
          [&](auto) { return number > 0; })
      .Case<PositionLearnedOp, PatchEmbeddingOp>([&](auto) { return number > 0; })
      .Case<BiasRelativeOp, ConcatOp>([&](auto) { return number == 0; })
      .Case<AttentionOp>([&](AttentionOp op) {
        return llvm::any_of(op.getSinksMutable(),
                            [&](OpOperand &sinks) { return sinks.getOperandNumber() == number; });
      })
      .Case<MaskLoadOp>([&](auto) { return number == 0 && type.getRank() == 1; })
      .Default([](Operation *) { return false; });
}

static LogicalResult checkOperand(OpOperand &use) {
  Operation *op = use.getOwner(), *def = use.get().getDefiningOp();
  auto error = [&] { return op->emitOpError("operand ") << use.getOperandNumber(); };
  if (isPackedMatrix(use) && !isa_and_nonnull<WeightOp>(def))
    return error() << ": expected a transformer.weight, found "
                   << (def ? def->getName().getStringRef() : "an argument")
                   << "; matrices that are no weights are not built yet";
  if (isa_and_nonnull<WeightOp>(def) && !takesWeight(use))
    return error() << ": expected an argument or the result of an op, found a transformer.weight; "
                      "weights that are computed with are not built yet, make it an argument";
  if (isa_and_nonnull<arith::ConstantOp>(def) && isa<TensorType>(use.get().getType()))
    return error() << ": expected an argument or "
                   << (takesWeight(use) ? "a transformer.weight" : "the result of an op")
                   << ", found a constant tensor, which is not built yet";
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static LogicalResult checkWeight(WeightOp op) {
  int64_t rank = cast<RankedTensorType>(op.getType()).getRank();
  if (rank == 1 || rank == 2)
    return success();
  return op.emitOpError("expected a vector or a matrix, found rank ")
         << rank << ", which is not built yet";
}

static LogicalResult checkSum(arith::AddFOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (type && type.getElementType().isF32() && type.getRank() >= 2)
    return success();
  return op.emitOpError("expected tensors of f32 and rank 2 or more, found ")
         << op.getType() << ", which is not built yet";
}

static LogicalResult checkFeatures(Operation *op, Value value, StringRef what, int64_t most) {
  int64_t size = cast<RankedTensorType>(value.getType()).getShape().back();
  if (size <= most)
    return success();
  return op->emitOpError("expected ") << what << " of at most " << most << " features, found "
                                      << size << "; wider ones are not built yet";
}

/// The state that `value` is the content of; null for another value.
static StringAttr stateOf(Value value) {
  if (auto get = value.getDefiningOp<StateGetOp>())
    return get.getStateAttr().getAttr();
  if (auto append = value.getDefiningOp<CacheAppendOp>())
    return append.getStateAttr().getAttr();
  return {};
}

/// A state that any attention reads as keys is stored in panels, which nothing else can read.
static LogicalResult checkKeyState(AttentionOp op) {
  StringAttr state = stateOf(op.getKey());
  WalkResult result = op->getParentOfType<ModuleOp>().walk([&](Operation *reader) {
    for (OpOperand &use : reader->getOpOperands()) {
      bool isKey = isa<AttentionOp>(reader) && use.getOperandNumber() == 1;
      if (!state || isKey || stateOf(use.get()) != state)
        continue;
      reader->emitOpError("operand ")
          << use.getOperandNumber() << ": expected another value than the content of @"
          << state.getValue()
          << ", found the keys of an attention; reading them otherwise is not "
             "built yet, keep a second state";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult checkAttention(AttentionOp op) {
  if (failed(checkFeatures(op, op.getValue(), "heads of values", mostHeadFeatures)))
    return failure();
  return checkKeyState(op);
}

/// Dimensions of `function` that have names.
static llvm::StringSet<> namedDims(func::FuncOp function) {
  llvm::StringSet<> names;
  auto add = [&](ArrayAttr dims) {
    for (Attribute dim : dims ? dims : ArrayAttr::get(function.getContext(), {}))
      if (auto name = dyn_cast<StringAttr>(dim))
        names.insert(name.getValue());
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    add(function.getArgAttrOfType<ArrayAttr>(i, TransformerDialect::dimsAttr));
  function.walk([&](StateGetOp get) { add(get.lookupState().getDims()); });
  return names;
}

/// A state is as large as the inputs say: the names of its dimensions must be theirs.
static LogicalResult checkSet(StateSetOp op) {
  llvm::StringSet<> names = namedDims(op->getParentOfType<func::FuncOp>());
  for (auto [i, dim] : llvm::enumerate(op.lookupState().getDims()))
    if (auto name = dyn_cast<StringAttr>(dim); name && !names.contains(name.getValue()))
      return op.emitOpError("dimension ")
             << i << " of " << op.getStateAttr()
             << ": expected an argument of the function with a dimension " << name
             << " in its transformer.dims, found none";
  return success();
}

static LogicalResult checkReorder(CacheReorderOp op) {
  auto argument = dyn_cast<BlockArgument>(op.getParents());
  auto function = op->getParentOfType<func::FuncOp>();
  if (argument && function.getArgAttr(argument.getArgNumber(), TransformerDialect::nameAttr))
    return success();
  return op.emitOpError("expected parents to be an argument with a transformer.name, found ")
         << (argument ? "one without" : "another value");
}

static LogicalResult checkPosition(Operation *op, Value offset) {
  if (!offset || isa_and_nonnull<CacheLengthOp>(offset.getDefiningOp()))
    return success();
  return op->emitOpError("offset: expected a transformer.cache.length, found another number, which "
                         "is not built yet");
}

static LogicalResult checkOp(Operation *op) {
  if (failed(checkText(op)))
    return failure();
  if (!isa<FunctionOpInterface>(op))
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<TensorType>(type))
        if (std::string problem = problemOf(tensor, op); !problem.empty())
          return op->emitOpError(problem);
  for (OpOperand &use : op->getOpOperands())
    if (isa<TensorType>(use.get().getType()) && failed(checkOperand(use)))
      return failure();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<WeightOp>(checkWeight)
      .Case<arith::AddFOp>([](arith::AddFOp sum) {
        return sum->getParentOfType<MaskWhereOp>() || sum->getParentOfType<BiasWhereOp>()
                   ? success()
                   : checkSum(sum);
      })
      .Case<AttentionOp>(checkAttention)
      .Case<LayerNormOp, RmsNormOp>(
          [](auto norm) { return checkFeatures(norm, norm.getInput(), "rows", mostNormFeatures); })
      .Case<StateSetOp>(checkSet)
      .Case<CacheReorderOp>(checkReorder)
      .Case<PositionSinusoidalOp, PositionLearnedOp>(
          [](auto position) { return checkPosition(position, position.getOffset()); })
      .Default(success());
}

namespace {
struct RefuseUnbuilt : heddle::impl::RefuseUnbuiltBase<RefuseUnbuilt> {
  void runOnOperation() override {
    // Functions first: an op is often wrong because an argument is.
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(checkText(function)) || failed(checkSignature(function)))
        return signalPassFailure();
    WalkResult result = getOperation().walk([](Operation *op) {
      return failed(checkOp(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
