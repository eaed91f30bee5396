//===- CheckSupported.cpp - Limits of kernels -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the assumptions of later passes. The dialect allows more than kernels support; every
// assumption is checked here once, so errors are reported at the original op instead of its
// lowering. The tiler of an op checks its limits (TileableOpInterface).

#include "ProgramPlanner.h"

#include "heddle/Dialect/ElementFormats.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Transforms/Passes.h"
#include "heddle/Transforms/TileableOpInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ConvertUTF.h"

namespace heddle {
#define GEN_PASS_DEF_CHECKSUPPORTED
#include "heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

/// Limits of a tensor: kernels count elements with padding in 64 bits, and dimensions in 32 bits.
static constexpr int64_t mostElements = int64_t(1) << 40, mostOfDimension = INT32_MAX;
/// Limit on the features of a row.
static constexpr int64_t mostFeatures = 1 << 20;

//===- Names and types ---------------------------------------------------===//

/// Names must be printable, because they are written to files and messages.
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

/// Returns why kernels do not support a tensor of this type, or an empty string. Results of ops
/// `inside` functions may be narrow (with scales only weights); results of functions may not.
static std::string problemOf(Type given, Operation *inside = nullptr) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto tensor = dyn_cast<RankedTensorType>(given);
  if (!tensor) {
    stream << "expected a tensor of known rank, found " << given;
    return text;
  }
  Type element = tensor.getElementType();
  std::optional<DType> type = findDType(element);
  bool isAnyones = type == DType::F32 || type == DType::I32 || type == DType::Bool,
       isNarrow = type && formatOf(*type).isNarrow(),
       takesIt = type && (!formatOf(*type).holdsScales() || isa_and_nonnull<WeightOp>(inside));
  if (!isAnyones && !(inside && isNarrow && takesIt))
    stream << "expected elements of f32, i32 or i1, found " << element
           << ", which is not supported yet";
  else if (tensor.getRank() == 0)
    stream << "expected rank 1 or more, found " << given << ", which is not supported yet";
  else if (element.isF32() && tensor.getShape().back() > mostFeatures && tensor.getRank() > 1)
    stream << "expected a last dimension of at most 2^20, found " << given;
  int64_t elements = 1;
  for (int64_t size : tensor.getShape())
    if (!ShapedType::isDynamic(size) && text.empty()) {
      if (size > mostOfDimension || (size > 0 && elements > mostElements / size))
        stream << "expected dimensions below 2^31 and at most 2^40 elements, found " << given;
      else
        elements *= std::max<int64_t>(size, 1);
    }
  return text;
}

/// Rejects a name that is also the positional name of another argument or result.
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

LogicalResult heddle::checkSignature(func::FuncOp function) {
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

//===- Weights and constants ---------------------------------------------===//

/// Matrices in panels must be weights, only operands that take weights may read them, and no
/// operand takes constant tensors.
static LogicalResult checkOperand(OpOperand &use) {
  Operation *op = use.getOwner(), *def = use.get().getDefiningOp();
  auto error = [&] { return op->emitOpError("operand ") << use.getOperandNumber(); };
  bool takesWeight = heddle::transformer::takesWeight(use);
  bool isPacked = takesWeight && storageOf(use) == OperandStorage::Panels; // stored with the model
  if (isPacked && !isa_and_nonnull<WeightOp>(def))
    return error() << ": expected a transformer.weight, found "
                   << (def ? def->getName().getStringRef() : "an argument")
                   << "; matrices that are no weights are not supported yet";
  if (isa_and_nonnull<WeightOp>(def) && !takesWeight)
    return error() << ": expected an argument or the result of an op, found a transformer.weight; "
                      "weights that are computed with are not supported yet, make it an argument";
  if (isa_and_nonnull<arith::ConstantOp>(def) && isa<TensorType>(use.get().getType()))
    return error() << ": expected an argument or "
                   << (takesWeight ? "a transformer.weight" : "the result of an op")
                   << ", found a constant tensor, which is not supported yet";
  return success();
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
  auto tileable = dyn_cast<TileableOpInterface>(op);
  return tileable ? tileable.checkSupported() : success();
}

//===- States ------------------------------------------------------------===//

/// Rejects other readers of a state that attention reads as keys, because only keys are in panels.
static LogicalResult checkReadersOfKeys(ModuleOp module) {
  llvm::DenseSet<StringAttr> keys;
  module.walk([&](ScoresOpInterface op) {
    if (StringAttr state = stateOf(op.getKey()))
      keys.insert(state);
  });
  WalkResult result = module.walk([&](Operation *reader) {
    for (OpOperand &use : reader->getOpOperands()) {
      StringAttr state = stateOf(use.get());
      if (!state || !keys.contains(state) || readInPanels(use))
        continue;
      reader->emitOpError("operand ")
          << use.getOperandNumber() << ": expected another value than the content of @"
          << state.getValue()
          << ", found the keys of an attention; reading them otherwise is not "
             "supported yet, keep a second state";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

using States = llvm::DenseMap<StringAttr, StateOp>;

/// Names of the dimensions of a function's arguments, and of the states that it reads.
static llvm::StringSet<> namedDims(func::FuncOp function, const States &states) {
  llvm::StringSet<> names;
  auto add = [&](ArrayAttr dims) {
    for (Attribute dim : dims ? dims : ArrayAttr::get(function.getContext(), {}))
      if (auto name = dyn_cast<StringAttr>(dim))
        names.insert(name.getValue());
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    add(function.getArgAttrOfType<ArrayAttr>(i, TransformerDialect::dimsAttr));
  function.walk([&](StateGetOp get) {
    StateOp state = states.lookup(get.getStateAttr().getAttr());
    add(state.getDims());
  });
  return names;
}

/// Inputs determine the size of a state that is set, so they must name its dimensions.
static LogicalResult checkSetStates(func::FuncOp function, const States &states) {
  const llvm::StringSet<> names = namedDims(function, states);
  WalkResult result = function.walk([&](StateSetOp op) {
    StateOp state = states.lookup(op.getStateAttr().getAttr());
    for (auto [i, dim] : llvm::enumerate(state.getDims()))
      if (auto name = dyn_cast<StringAttr>(dim); name && !names.contains(name.getValue())) {
        op.emitOpError("dimension ") << i << " of " << op.getStateAttr()
                                     << ": expected an argument of the function with a dimension "
                                     << name << " in its transformer.dims, found none";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Checks the states that ops read and set, in walks over the module. One walk per op would take
/// time quadratic in the number of layers.
static LogicalResult checkStates(ModuleOp module) {
  const States states = statesOf(module);
  if (failed(checkReadersOfKeys(module)))
    return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(checkSetStates(function, states)))
      return failure();
  return success();
}

namespace {
struct CheckSupported : heddle::impl::CheckSupportedBase<CheckSupported> {
  void runOnOperation() override {
    // Functions are checked first, because a wrong argument often causes a wrong op.
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(checkText(function)) || failed(checkSignature(function)) ||
          failed(checkCounts(function)))
        return signalPassFailure();
    WalkResult result = getOperation().walk([](Operation *op) {
      return failed(checkOp(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted() || failed(checkStates(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
