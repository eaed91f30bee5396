//===- Differentiate.cpp - The backward pass ------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass `differentiate`. The function `loss` is cloned to `gradients`, and
// `loss_packed`, if there is one, becomes `gradients_packed`. There, the
// backward pass follows the forward pass:
//
//   feed-forward blocks become products, and activations whose derivative
//   needs their input become separate ops
//   dropouts receive their keys and sites
//   cross_entropy becomes cross_entropy.gradient and cross_entropy.sum
//   ops are visited from the last to the first, and extend the adjoints

#include "heddle/Dialect/Transformer/IR/Differentiation.h"
#include "heddle/Dialect/Transformer/IR/MergedHeads.h"
#include "heddle/Dialect/Transformer/IR/TrainingAttributes.h"
#include "heddle/Dialect/Transformer/Transforms/Passes.h"
#include "heddle/Support/Program.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace heddle::transformer {

#define GEN_PASS_DEF_DIFFERENTIATE
#include "heddle/Dialect/Transformer/Transforms/Passes.h.inc"

/// Whether the derivative of an activation is a function of its result.
static bool derivesFromResult(Activation activation) {
  using enum Activation;
  return llvm::is_contained({None, Relu, Relu6, Tanh, Sigmoid}, activation);
}

/// Separates the activation of a product if its derivative needs the activation's input.
static void separateActivation(LinearOp op) {
  Activation activation = op.getActivation();
  if (derivesFromResult(activation))
    return;
  OpBuilder b(op);
  b.setInsertionPointAfter(op);
  op.setActivation(Activation::None);
  auto made = ActivationOp::create(b, op.getLoc(), op.getResult(), activation);
  op.getResult().replaceAllUsesExcept(made.getResult(), made);
}

/// The loss that a function returns; null if it returns none.
static CrossEntropyOp lossOf(func::FuncOp function) {
  for (Value value : function.getBody().front().getTerminator()->getOperands())
    if (auto loss = value.getDefiningOp<CrossEntropyOp>())
      return loss;
  return {};
}

/// Propagates the adjoint of the results of an op to its operands.
static LogicalResult visit(Operation *op, Adjoints &adjoints) {
  bool reached = llvm::any_of(op->getResults(),
                              [&](Value result) { return static_cast<bool>(adjoints.of(result)); });
  bool needed = llvm::any_of(op->getOperands(), [&](Value v) { return adjoints.needs(v); });
  if (!reached || !needed)
    return success();
  if (auto differentiable = dyn_cast<DifferentiableOpInterface>(op))
    return differentiable.differentiate(adjoints);
  auto contribute = [&](unsigned operand, Value contribution) {
    if (adjoints.needs(op->getOperand(operand)))
      adjoints.add(op->getOperand(operand), contribution);
  };
  Value gradient = adjoints.of(op->getResult(0));
  if (isa<arith::AddFOp>(op)) {
    contribute(0, gradient);
    contribute(1, gradient);
    return success();
  }
  if (isa<arith::MulFOp>(op)) {
    auto times = [&](unsigned other) -> Value {
      return arith::MulFOp::create(adjoints.b, op->getLoc(), gradient, op->getOperand(other));
    };
    for (unsigned i : {0, 1})
      if (adjoints.needs(op->getOperand(i)))
        adjoints.add(op->getOperand(i), times(1 - i));
    return success();
  }
  return Adjoints::refuse(op, "yet");
}

/// Visits all ops, also those before an op without a derivative, so that each of these is an error.
/// The errors are in program order.
static LogicalResult visitAll(ArrayRef<Operation *> forward, Adjoints &adjoints) {
  std::vector<Diagnostic> errors;
  {
    ScopedDiagnosticHandler handler(adjoints.b.getContext(), [&](Diagnostic &error) {
      errors.push_back(std::move(error));
      return success();
    });
    for (Operation *op : llvm::reverse(forward)) {
      if (succeeded(visit(op, adjoints)))
        continue;
      // The function is not used further, so any value of the type stands for the adjoint.
      for (Value operand : op->getOperands())
        if (adjoints.needs(operand) && !adjoints.of(operand) &&
            isa<RankedTensorType>(operand.getType()))
          adjoints.add(operand, operand);
    }
  }
  for (Diagnostic &error : llvm::reverse(errors))
    adjoints.b.getContext()->getDiagEngine().emit(std::move(error));
  return success(errors.empty());
}

/// Gives a function the results `loss.sum` and `tokens`.
static void setResults(func::FuncOp function, CrossEntropySumOp sums) {
  Operation *end = function.getBody().front().getTerminator();
  end->setOperands(sums->getResults());
  Builder b(function.getContext());
  function.setFunctionType(
      b.getFunctionType(function.getArgumentTypes(), TypeRange(sums->getResultTypes())));
  SmallVector<Attribute> attributes;
  for (StringRef name : {"loss.sum", "tokens"})
    attributes.push_back(b.getDictionaryAttr(
        {b.getNamedAttr(TransformerDialect::nameAttr, b.getStringAttr(name)),
         b.getNamedAttr(TransformerDialect::dimsAttr, b.getArrayAttr(b.getI64IntegerAttr(1)))}));
  function.setResAttrsAttr(b.getArrayAttr(attributes));
}

//===- Dropout -----------------------------------------------------------===//

namespace {
/// Gives the dropouts of a function the arguments `dropout.key` and `dropout.examples`, and each its
/// site, in program order.
class DropoutSites {
public:
  explicit DropoutSites(func::FuncOp function) : function(function), b(function.getContext()) {}
  void number();

private:
  Value argument(StringRef name, int64_t size, Attribute dim);
  Value rowsOf(DropoutOp op);
  Value nextSite() {
    return arith::ConstantOp::create(b, function.getLoc(), b.getI32IntegerAttr(sites++));
  }

  func::FuncOp function;
  OpBuilder b;
  Value key, examples;
  int32_t sites = 0;
};
} // namespace

Value DropoutSites::argument(StringRef name, int64_t size, Attribute dim) {
  unsigned index = function.getNumArguments();
  auto attributes =
      b.getDictionaryAttr({b.getNamedAttr(TransformerDialect::nameAttr, b.getStringAttr(name)),
                           b.getNamedAttr(TransformerDialect::dimsAttr, b.getArrayAttr(dim))});
  (void)function.insertArgument(index, RankedTensorType::get(size, b.getI32Type()), attributes,
                                function.getLoc());
  return function.getArgument(index);
}

/// The numbers of an op's rows. Its documents count there.
Value DropoutSites::rowsOf(DropoutOp op) {
  Value rows = op.getInput();
  SmallVector<int64_t> shape(cast<RankedTensorType>(rows.getType()).getShape());
  shape.back() = 2;
  auto numbers =
      RowNumbersOp::create(b, rows.getLoc(), RankedTensorType::get(shape, b.getI32Type()), examples,
                           rows, op.getDocuments());
  op.getDocumentsMutable().clear();
  return numbers;
}

/// Whether an op that drops numbers has rows of packed texts.
static bool isPacked(Operation *op) {
  auto attention = dyn_cast<AttentionOp>(op);
  return attention ? static_cast<bool>(packedDocumentsOf(attention.getMask()))
                   : static_cast<bool>(cast<DropoutOp>(op).getDocuments());
}

void DropoutSites::number() {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    auto attention = dyn_cast<AttentionOp>(op);
    if (isa<DropoutOp>(op) || (attention && attention.getDropout()))
      ops.push_back(op);
  });
  if (ops.empty())
    return;
  key = argument("dropout.key", 3, b.getI64IntegerAttr(3));
  examples = argument("dropout.examples", ShapedType::kDynamic,
                      b.getStringAttr(llvm::any_of(ops, isPacked) ? "N" : "B"));
  for (Operation *op : ops) {
    b.setInsertionPoint(op);
    if (auto dropout = dyn_cast<DropoutOp>(op)) {
      Value rows = rowsOf(dropout); // changes the operands
      dropout.getKeyMutable().assign(key);
      dropout.getRowsMutable().assign(rows);
      dropout.getSiteMutable().assign(nextSite());
      continue;
    }
    auto attention = cast<AttentionOp>(op);
    attention.getDropoutKeyMutable().assign(key);
    attention.getExamplesMutable().assign(examples);
    attention.getSiteMutable().assign(nextSite());
  }
}

/// Removes what only training has.
static void evaluate(func::FuncOp loss) {
  loss.walk([](Operation *op) {
    if (auto entropy = dyn_cast<CrossEntropyOp>(op)) {
      entropy.setSmoothing(llvm::APFloat(0.0F));
      entropy.setOver(SmoothingOver::All);
    } else if (auto attention = dyn_cast<AttentionOp>(op)) {
      attention.removeDropoutAttr();
    } else if (auto dropout = dyn_cast<DropoutOp>(op)) {
      dropout.getResult().replaceAllUsesWith(dropout.getInput());
      dropout.erase();
    }
  });
}

//===- The update --------------------------------------------------------===//

/// Creates an empty function after `previous`, with the given argument and result.
static func::FuncOp functionAfter(Operation *previous, StringRef name, Type argument, Type result) {
  OpBuilder b(previous->getContext());
  b.setInsertionPointAfter(previous);
  SmallVector<Type> arguments, results;
  if (argument)
    arguments.push_back(argument);
  if (result)
    results.push_back(result);
  auto function =
      func::FuncOp::create(b, previous->getLoc(), name, b.getFunctionType(arguments, results));
  function.addEntryBlock();
  return function;
}

/// Emits the sum of the accumulators of each weight that the function of gradients uses twice.
static void joinAccumulators(OpBuilder &b, func::FuncOp gradients) {
  gradients.walk([&](WeightGradientOpInterface op) {
    if (op.getUse() > 0)
      GradientJoinOp::create(b, op->getLoc(), op.getName(), op.getUse());
  });
}

static DictionaryAttr named(Builder b, StringRef name, int64_t size) {
  return b.getDictionaryAttr(
      {b.getNamedAttr(TransformerDialect::nameAttr, b.getStringAttr(name)),
       b.getNamedAttr(TransformerDialect::dimsAttr, b.getArrayAttr(b.getI64IntegerAttr(size)))});
}

/// Adds the functions `gradient_norm` and `update`, which read the gradients of all weights.
static void addUpdate(func::FuncOp gradients) {
  Builder types(gradients.getContext());
  auto one = RankedTensorType::get({1}, types.getF32Type()),
       scalars = RankedTensorType::get({16}, types.getF32Type());
  func::FuncOp norm = functionAfter(gradients, "gradient_norm", {}, one);
  auto b = OpBuilder::atBlockEnd(&norm.getBody().front());
  joinAccumulators(b, gradients);
  Value sum = GradientNormOp::create(b, norm.getLoc(), one);
  func::ReturnOp::create(b, norm.getLoc(), sum);
  norm.setResAttrsAttr(types.getArrayAttr(named(types, "squares", 1)));
  func::FuncOp update = functionAfter(norm, "update", scalars, {});
  b = OpBuilder::atBlockEnd(&update.getBody().front());
  joinAccumulators(b, gradients);
  for (WeightRange range : {WeightRange::Matrices, WeightRange::Vectors})
    OptimizerOp::create(b, update.getLoc(), update.getArgument(0), range);
  func::ReturnOp::create(b, update.getLoc());
  update.setArgAttrsAttr(types.getArrayAttr(named(types, "scalars", 16)));
}

static void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

static LogicalResult differentiate(func::FuncOp function) {
  function.walk([](FfnOp op) { op.decompose(); });
  function.walk(separateActivation);
  DropoutSites(function).number();
  CrossEntropyOp loss = lossOf(function);
  if (!loss)
    return function.emitOpError("expected the result of a transformer.cross_entropy, whose "
                                "gradients can be computed, found none");
  Block &block = function.getBody().front();
  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator())
    forward.push_back(&op);
  OpBuilder b(block.getTerminator());
  Adjoints adjoints(b, block);
  Value logits = loss.getLogits();
  auto root = CrossEntropyGradientOp::create(
      b, loss.getLoc(), logits.getType(), cast<RankedTensorType>(logits.getType()).clone([&] {
        SmallVector<int64_t> shape(cast<RankedTensorType>(logits.getType()).getShape());
        shape.back() = 2;
        return shape;
      }()),
      logits, loss.getIds(), loss.getPaddingIdAttr(), loss.getSmoothingAttr(), loss.getOverAttr());
  auto one = RankedTensorType::get({1}, b.getF32Type());
  setResults(function, CrossEntropySumOp::create(b, loss.getLoc(), one, one, root.getRows()));
  adjoints.add(logits, root.getGradient());
  if (failed(visitAll(forward, adjoints)))
    return failure();
  eraseDeadOps(block);
  return success();
}

namespace {
struct Differentiate : impl::DifferentiateBase<Differentiate> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto loss = module.lookupSymbol<func::FuncOp>("loss");
    if (!loss) {
      emitError(UnknownLoc::get(&getContext()),
                "expected a function loss, whose gradients can be computed, found none");
      return signalPassFailure();
    }
    for (StringRef name : {gradientsFunction, packedGradientsFunction})
      if (Operation *other = module.lookupSymbol(name)) {
        other->emitError("expected no function ")
            << name << ", which is made from a loss, found one";
        return signalPassFailure();
      }
    func::FuncOp gradients = loss.clone();
    gradients.setName(gradientsFunction);
    module.insert(std::next(loss->getIterator()), gradients);
    if (failed(differentiate(gradients)))
      return signalPassFailure();
    if (auto packed = module.lookupSymbol<func::FuncOp>(packedLoss)) {
      packed.setName(packedGradientsFunction);
      if (failed(differentiate(packed)))
        return signalPassFailure();
    }
    evaluate(loss);
    module->setAttr(unpaddedHeads, UnitAttr::get(&getContext()));
    addUpdate(gradients);
  }
};
} // namespace

} // namespace heddle::transformer
