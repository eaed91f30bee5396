//===- Reference.cpp - Reference interpreter ------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interpreter's walk over a function. Masks and score rules have no values here: attention
// reads their ops. States and cache lengths outlive a call in Session; changes by a call take
// effect only if it succeeds.

#include "heddle/ExecutionEngine/Reference.h"

#include "ReferenceOps.h"
#include "ReferenceSession.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/raw_ostream.h"

#include "heddle/Support/Try.h"

using namespace mlir;

namespace heddle {

using namespace reference;

Error reference::errorAt(Operation *op, const std::string &message) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto place = dyn_cast<FileLineColLoc>(op->getLoc()))
    os << place.getFilename().getValue() << ":" << place.getLine() << ":" << place.getColumn()
       << ": ";
  os << "'" << op->getName() << "': " << message;
  return inputError(text);
}

struct Reference::Session : reference::SessionState {
  Session(ModuleOp module, ReferenceWeights weights)
      : module(module), weights(std::move(weights)) {}
  ModuleOp module;
  ReferenceWeights weights;
  std::map<std::string, Ref> loaded;

  Expected<Ref> weight(transformer::WeightOp op);
};

Expected<Ref> Reference::Session::weight(transformer::WeightOp op) {
  std::string name = op.getName().str();
  DType type = *elementType(op.getType());
  // A tensor may be needed in several types: an embedding table may also be a product's matrix.
  std::string key = name + " " + (op.getScales() ? "scales" : toString(type));
  if (auto found = loaded.find(key); found != loaded.end())
    return found->second;
  auto [values, areStored] = HEDDLE_TRY(weights(name, type));
  std::vector<int64_t> shape = cast<RankedTensorType>(op.getType()).getShape().vec();
  if (op.getScales()) // the tensor is the matrix from which the scales are computed
    shape = {shape[1], static_cast<int64_t>(values.size()) / shape[1]};
  RefTensor tensor{DType::F32, std::move(shape), {values.begin(), values.end()}};
  if (tensor.size() != elementCount(tensor.shape))
    return errorAt(op, name + ": expected " + std::to_string(elementCount(tensor.shape)) +
                           " elements, found " + std::to_string(tensor.size()));
  if (areStored)
    tensor.type = type;
  else
    tensor = op.getScales() ? scalesOfRows(tensor) : storedAs(type, std::move(tensor));
  return loaded[key] = std::make_shared<const RefTensor>(std::move(tensor));
}

std::vector<Value> storedValues(Operation *group) {
  Block &body = group->getRegion(0).front();
  std::vector<Value> values;
  for (Operation &op : body) {
    if (auto set = dyn_cast<transformer::StateSetOp>(op))
      values.push_back(set.getValue());
    else if (auto append = dyn_cast<transformer::CacheAppendOp>(op))
      if (append.getResult().use_empty())
        values.push_back(append.getRows());
  }
  for (Value result : body.getTerminator()->getOperands()) {
    auto append = result.getDefiningOp<transformer::CacheAppendOp>();
    values.push_back(append ? append.getRows() : result);
  }
  return values;
}

//===- One call ----------------------------------------------------------===//

namespace {
/// Values of one call of a function.
class FunctionRun {
public:
  using Weight = std::function<Expected<Ref>(transformer::WeightOp)>;
  FunctionRun(const SessionState &session, Weight weight, const ReferenceObserver &observer)
      : states(session), weight(std::move(weight)), observer(observer) {}

  void bind(Value value, Ref tensor) { values[value] = std::move(tensor); }
  Ref at(Value value) const { return values.lookup(value); }
  /// Runs the block's ops up to its terminator.
  Status runBlock(Block &block, bool outermost);
  /// Changes to the session, committed if the call succeeds.
  StateChanges states;

private:
  Status runOp(Operation *op);
  Status runGroup(Operation *op);
  Status runState(Operation *op);
  Status observe(Operation *op);
  Status bindResults(Operation *op, Expected<std::vector<RefTensor>> results);
  const RefTensor &get(Value value) const { return *values.find(value)->second; }

  llvm::DenseMap<Value, Ref> values;
  Weight weight;
  const ReferenceObserver &observer;
};
} // namespace

Status FunctionRun::bindResults(Operation *op, Expected<std::vector<RefTensor>> results) {
  if (!results)
    return results.takeError();
  for (auto [value, tensor] : llvm::zip_equal(op->getResults(), *results))
    bind(value, std::make_shared<const RefTensor>(std::move(tensor)));
  return {};
}

Status FunctionRun::runBlock(Block &block, bool outermost) {
  for (Operation &op : block.without_terminator()) {
    HEDDLE_TRY(runOp(&op));
    if (outermost)
      HEDDLE_TRY(observe(&op));
  }
  return {};
}

Status FunctionRun::observe(Operation *op) {
  std::vector<const RefTensor *> results;
  std::vector<Value> values(op->result_begin(), op->result_end());
  for (Value result : op->getNumRegions() ? storedValues(op) : values)
    if (isa<RankedTensorType>(result.getType()))
      results.push_back(at(result).get());
  // The sums of gradients are effects, which a kernel stores as results.
  op->walk([&](transformer::WeightGradientOpInterface gradient) {
    results.push_back(&states.gradientOf(gradient));
  });
  if (!observer || results.empty())
    return {};
  return observer(op, results);
}

/// Runs a group: its operands become the block's arguments, and the terminator's operands its
/// results.
Status FunctionRun::runGroup(Operation *op) {
  Block &body = op->getRegion(0).front();
  if (body.getNumArguments() != op->getNumOperands())
    return errorAt(op, "expected a region with an argument for each operand, found " +
                           std::to_string(body.getNumArguments()) + " arguments for " +
                           std::to_string(op->getNumOperands()) + " operands");
  for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), op->getOperands()))
    bind(argument, at(operand));
  HEDDLE_TRY(runBlock(body, false));
  for (auto [result, inner] :
       llvm::zip_equal(op->getResults(), body.getTerminator()->getOperands()))
    bind(result, at(inner));
  return {};
}

Status FunctionRun::runState(Operation *op) {
  if (auto get = dyn_cast<transformer::StateGetOp>(op)) {
    Ref value = HEDDLE_TRY(states.get(get));
    bind(get.getResult(), value);
    return {};
  }
  if (auto append = dyn_cast<transformer::CacheAppendOp>(op)) {
    const RefTensor &rows = get(append.getRows());
    Ref value = HEDDLE_TRY(
        append.getAt() ? states.appendEach(append, rows, get(append.getAt()),
                                           append.getCount() ? &get(append.getCount()) : nullptr)
                       : states.append(append, rows));
    bind(append.getResult(), value);
    return {};
  }
  if (auto set = dyn_cast<transformer::StateSetOp>(op))
    return states.set(set, at(set.getValue()));
  if (auto clear = dyn_cast<transformer::CacheClearOp>(op))
    return states.clear(clear, clear.getRows() ? &get(clear.getRows()) : nullptr);
  if (auto reorder = dyn_cast<transformer::CacheReorderOp>(op))
    return states.reorder(reorder, get(reorder.getParents()));
  auto length = cast<transformer::CacheLengthOp>(op);
  auto rows = static_cast<double>(states.lengthBefore(length.getDim().str()));
  return bindResults(op, std::vector{RefTensor{DType::I32, {}, {rows}}});
}

Status FunctionRun::runOp(Operation *op) {
  using namespace transformer;
  Lookup lookup = [this](Value value) -> const RefTensor & { return get(value); };
  if (isa<MaskOpInterface, BiasOpInterface, StateOp>(op))
    return {};
  if (op->getNumRegions())
    return runGroup(op);
  if (isa<StateGetOp, StateSetOp, CacheAppendOp, CacheClearOp, CacheReorderOp, CacheLengthOp>(op))
    return runState(op);
  if (auto gradient = dyn_cast<WeightGradientOpInterface>(op)) {
    states.add(gradient, lookup);
    return {};
  }
  if (auto named = dyn_cast<WeightOp>(op)) {
    Ref value = HEDDLE_TRY(weight(named));
    bind(named.getResult(), value);
    return {};
  }
  return bindResults(op, resultsOf(op, lookup));
}

//===- Interface ---------------------------------------------------------===//

Reference::Reference(ModuleOp module, ReferenceWeights weights)
    : session(std::make_unique<Session>(module, std::move(weights))) {}
Reference::Reference(Reference &&) noexcept = default;
Reference::~Reference() = default;

/// Name of a result: its `transformer.name`, or else out0, out1, ….
static std::string resultName(func::FuncOp function, unsigned i) {
  if (auto name =
          function.getResultAttrOfType<StringAttr>(i, transformer::TransformerDialect::nameAttr))
    return name.getValue().str();
  return "out" + std::to_string(i);
}

Expected<NamedRefTensors> Reference::run(std::string_view name, const NamedRefTensors &inputs,
                                         const ReferenceObserver &observer) {
  auto function = session->module.lookupSymbol<func::FuncOp>(StringRef(name.data(), name.size()));
  if (!function || function.isExternal())
    return inputError(std::string(name) +
                      ": expected a function of the module, found no such name");
  std::vector<Ref> arguments = HEDDLE_TRY(bindInputs(function, inputs, *session));
  FunctionRun call(
      *session, [this](transformer::WeightOp op) { return session->weight(op); }, observer);
  for (auto [argument, value] : llvm::zip_equal(function.getArguments(), arguments))
    call.bind(argument, value);
  HEDDLE_TRY(call.runBlock(function.front(), true));
  NamedRefTensors results;
  for (auto [i, value] : llvm::enumerate(function.front().getTerminator()->getOperands()))
    results.emplace_back(resultName(function, i), asCallersSee(function, i, *call.at(value)));
  call.states.commit(*session);
  return results;
}

NamedRefTensors Reference::gradients() const {
  NamedRefTensors sums;
  for (const auto &[name, uses] : session->gradients) {
    RefTensor sum;
    for (const auto &[use, accumulator] : uses) {
      if (sum.values.empty())
        sum = RefTensor{DType::F32, accumulator.shape,
                        std::vector<double>(accumulator.values.size(), 0.0)};
      for (auto [total, value] : llvm::zip_equal(sum.values, accumulator.values))
        total += value;
    }
    sums.emplace_back(name, std::move(sum));
  }
  return sums;
}

void Reference::clearGradients() { session->gradients.clear(); }

} // namespace heddle
