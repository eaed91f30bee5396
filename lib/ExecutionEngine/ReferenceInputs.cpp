//===- ReferenceInputs.cpp - Inputs of the reference ----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binding of inputs. They are checked as in the runtime, so that the reference never computes on
// inputs that the device rejects.

#include "ReferenceSession.h"

#include "heddle/Analysis/ShapeExpressions.h"
#include "heddle/Support/Broadcast.h"
#include "heddle/Support/SizeExpr.h"
#include "heddle/Support/Try.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <set>

using namespace mlir;
using heddle::transformer::TransformerDialect;

namespace heddle::reference {

//===- Defaults of inputs ------------------------------------------------===//

/// Length of each row of ids [B, T], without the padding after the last id.
static RefTensor lengthsOf(const RefTensor &ids, int64_t padding) {
  int64_t B = ids.shape[0], T = ids.shape[1];
  RefTensor lengths = make({B}, DType::I32);
  for (int64_t n = 0; n < B * T; ++n)
    if (ids.values[n] != static_cast<double>(padding))
      lengths.values[n / T] = static_cast<double>(n % T + 1);
  return lengths;
}

/// `transformer.default` of an argument; kind None without one.
static DefaultInput defaultOf(func::FuncOp function, unsigned i) {
  return defaultFromAttr(function.getArgAttr(i, TransformerDialect::defaultAttr))
      .value_or(DefaultInput());
}

static std::string argumentName(func::FuncOp function, unsigned i) {
  if (auto name = function.getArgAttrOfType<StringAttr>(i, TransformerDialect::nameAttr))
    return name.getValue().str();
  return "arg" + std::to_string(i);
}

static std::optional<unsigned> argumentNamed(func::FuncOp function, const std::string &name) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (argumentName(function, i) == name)
      return i;
  return std::nullopt;
}

/// Number of the function's argument that an op, possibly inside a group, reads as `value`.
static unsigned argumentBehind(Value value) {
  auto argument = cast<BlockArgument>(value);
  Operation *parent = argument.getOwner()->getParentOp();
  return isa<func::FuncOp>(parent) ? argument.getArgNumber()
                                   : argumentBehind(parent->getOperand(argument.getArgNumber()));
}

/// Number of rows that each of `count` sequences has in the caches before or after the call.
static Expected<RefTensor> cachedRows(func::FuncOp function, const DefaultInput &fallback,
                                      int64_t count, const std::vector<Ref> &given,
                                      const SessionState &session) {
  std::vector<double> rows(count);
  if (auto kept = session.rows.find(fallback.source); kept != session.rows.end())
    rows.assign(kept->second.begin(), kept->second.end());
  Ref counts;
  double each = 0;
  function.walk([&](transformer::CacheAppendOp append) {
    if (append.getCount())
      counts = given[argumentBehind(append.getCount())];
    else if (append.getAt())
      each = static_cast<double>(cast<ShapedType>(append.getRows().getType()).getDimSize(2));
  });
  const bool after = fallback.kind == DefaultInput::Kind::RowsAfter;
  if (after && (each < 0 || (counts && counts->values.size() != rows.size())))
    return inputError("expected rows of a known number, or a number for each sequence");
  for (size_t b = 0; after && b < rows.size(); ++b)
    rows[b] += counts ? counts->values[b] : each;
  return RefTensor{DType::I32, {static_cast<int64_t>(rows.size())}, std::move(rows)};
}

static Expected<RefTensor> completed(func::FuncOp function, unsigned i,
                                     const std::vector<Ref> &given, const Dimensions &sizes,
                                     const SessionState &session) {
  using Kind = DefaultInput::Kind;
  DefaultInput fallback = defaultOf(function, i);
  std::string name = argumentName(function, i);
  if (fallback.kind == Kind::None)
    return inputError(name + ": expected an input, found none");
  if (fallback.isKept()) {
    auto dims = function.getArgAttrOfType<ArrayAttr>(i, TransformerDialect::dimsAttr);
    auto found = sizes.find(cast<StringAttr>(dims[0]).str());
    if (found == sizes.end())
      return inputError(name +
                        ": expected an input that tells the number of sequences, found none");
    return cachedRows(function, fallback, found->second, given, session);
  }
  const Ref &source = given[*argumentNamed(function, fallback.source)];
  if (source && !source->shape.empty() && fallback.kind == Kind::NoRowsOf)
    return RefTensor{DType::I32, {source->shape[0]}, std::vector<double>(source->shape[0], -1)};
  if (!source || source->shape.size() != 2)
    return inputError(name + ": expected ids of rank 2 in " + fallback.source +
                      " to take lengths from");
  if (fallback.kind == Kind::ZerosOf)
    return RefTensor{DType::I32, source->shape, std::vector<double>(source->size())};
  return lengthsOf(*source, fallback.padding);
}

//===- Checks of inputs --------------------------------------------------===//

static bool hasElement(DType type, Type element) {
  if (element.isF32())
    return formatOf(type).isFloat();
  return element.isInteger(1) ? type == DType::Bool : type == DType::I32 || type == DType::I64;
}

static Status checkShape(const std::string &name, const RefTensor &tensor, Type type) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  std::vector<int64_t> expected = ranked ? ranked.getShape().vec() : std::vector<int64_t>();
  bool fits = expected.size() == tensor.shape.size();
  for (size_t d = 0; fits && d < expected.size(); ++d)
    fits = ShapedType::isDynamic(expected[d]) || expected[d] == tensor.shape[d];
  std::string wanted;
  llvm::raw_string_ostream(wanted) << type;
  if (!fits || !hasElement(tensor.type, ranked ? ranked.getElementType() : type))
    return inputError(name + ": expected " + wanted + ", found " + toString(tensor.type) + " " +
                      shapeText(tensor.shape));
  return {};
}

static Status checkRange(const std::string &name, const RefTensor &tensor, ArrayAttr range) {
  auto low = range ? dyn_cast<IntegerAttr>(range[0]) : IntegerAttr(),
       high = range ? dyn_cast<IntegerAttr>(range[1]) : IntegerAttr();
  if (!low || !high) // only the runtime checks bounds with dimensions
    return {};
  for (double value : tensor.values)
    if (value < static_cast<double>(low.getInt()) || value >= static_cast<double>(high.getInt()))
      return inputError(name + ": expected values in [" + std::to_string(low.getInt()) + ", " +
                        std::to_string(high.getInt()) + "), found " +
                        std::to_string(static_cast<int64_t>(value)));
  return {};
}

/// Checks that a named dimension has one size in all inputs.
static Status checkDims(const std::string &name, const RefTensor &tensor, ArrayAttr dims,
                        std::map<std::string, int64_t> &sizes) {
  for (size_t d = 0; dims && d < dims.size(); ++d)
    if (auto dim = dyn_cast<StringAttr>(dims[d])) {
      auto [entry, isNew] = sizes.try_emplace(dim.getValue().str(), tensor.shape[d]);
      if (!isNew && entry->second != tensor.shape[d])
        return inputError(name + ": expected " + entry->first + " = " +
                          std::to_string(entry->second) + " in dimension " + std::to_string(d) +
                          ", found " + std::to_string(tensor.shape[d]));
    }
  return {};
}

//===- Callers' shapes ---------------------------------------------------===//

/// Transposes the first two dimensions.
static RefTensor transposeFirstTwo(const RefTensor &value) {
  std::vector<int64_t> shape = value.shape;
  std::swap(shape[0], shape[1]);
  RefTensor result = make(shape, value.type);
  int64_t inner = elementCount({shape.begin() + 2, shape.end()});
  for (int64_t a = 0; a < shape[0]; ++a)
    for (int64_t b = 0; b < shape[1]; ++b)
      std::copy_n(value.values.begin() + (b * shape[0] + a) * inner, inner,
                  result.values.begin() + (a * shape[1] + b) * inner);
  return result;
}

static bool isOne(Attribute dim) {
  auto number = dyn_cast<IntegerAttr>(dim);
  return number && number.getInt() == 1;
}

/// Converts a caller's tensor to the function's shape (`transformer.port`): adds or drops
/// dimensions of 1, or transposes the first two.
static Expected<RefTensor> fromCaller(const std::string &name, const RefTensor &tensor,
                                      ArrayAttr dims, ArrayAttr port) {
  if (!dims || !port)
    return tensor;
  if (tensor.shape.size() != port.size())
    return inputError(name + ": expected rank " + std::to_string(port.size()) + ", found " +
                      shapeText(tensor.shape));
  if (TransformerDialect::isTransposed(dims, port))
    return transposeFirstTwo(tensor);
  std::vector<int64_t> given;
  for (auto [dim, size] : llvm::zip_equal(port, tensor.shape)) {
    if (!isOne(dim))
      given.push_back(size);
    else if (size != 1)
      return inputError(name + ": expected a dimension of 1, found " + shapeText(tensor.shape));
  }
  RefTensor result{tensor.type, {}, tensor.values};
  auto next = given.begin();
  for (Attribute dim : dims)
    result.shape.push_back(isOne(dim) ? 1 : *next++);
  return result;
}

/// Inverse of fromCaller for a result.
RefTensor asCallersSee(func::FuncOp function, unsigned result, const RefTensor &value) {
  auto dims = function.getResultAttrOfType<ArrayAttr>(result, TransformerDialect::dimsAttr);
  auto port = function.getResultAttrOfType<ArrayAttr>(result, TransformerDialect::portAttr);
  if (!dims || !port)
    return value;
  if (TransformerDialect::isTransposed(dims, port))
    return transposeFirstTwo(value);
  std::vector<int64_t> sizes;
  for (auto [dim, size] : llvm::zip_equal(dims, value.shape))
    if (!isOne(dim))
      sizes.push_back(size);
  RefTensor seen{value.type, {}, value.values};
  auto next = sizes.begin();
  for (Attribute dim : port)
    seen.shape.push_back(isOne(dim) ? 1 : *next++);
  return seen;
}

/// Broadcasts an input to its full sizes (`transformer.broadcast`). `sizes` are the dimensions of
/// the other inputs.
static Expected<RefTensor> inFull(const std::string &name, const RefTensor &tensor,
                                  ArrayAttr broadcast, const Dimensions &sizes) {
  std::vector<int64_t> full;
  for (const SizeExpr &size : sizesFromAttr(broadcast)) {
    Expected<int64_t> value = size.evaluate(sizes);
    full.push_back(value ? *value : -1);
  }
  std::vector<int64_t> given;
  HEDDLE_TRY(broadcastSizes(name, tensor.shape, full, given));
  RefTensor result{tensor.type, given, {}};
  for (auto [size, all] : llvm::zip_equal(result.shape, full))
    size = all >= 0 ? all : size;
  result.values.resize(static_cast<size_t>(elementCount(result.shape)));
  broadcastCopy(given, result.shape, sizeof(double),
                reinterpret_cast<const std::byte *>(tensor.values.data()),
                reinterpret_cast<std::byte *>(result.values.data()));
  return result;
}

/// Broadcasts `argument` in place if it is a broadcast input.
static Status broadcastArgument(func::FuncOp function, unsigned i, Ref &argument,
                                const Dimensions &sizes) {
  auto broadcast = function.getArgAttrOfType<ArrayAttr>(i, TransformerDialect::broadcastAttr);
  if (!broadcast || !argument)
    return {};
  RefTensor whole = HEDDLE_TRY(inFull(argumentName(function, i), *argument, broadcast, sizes));
  argument = std::make_shared<const RefTensor>(std::move(whole));
  return {};
}

/// Sizes of named dimensions from the inputs that are not broadcast; conflicts are checked later.
static Dimensions sizesOf(func::FuncOp function, const std::vector<Ref> &arguments) {
  Dimensions sizes;
  for (unsigned i = 0; i < arguments.size(); ++i) {
    auto dims = function.getArgAttrOfType<ArrayAttr>(i, TransformerDialect::dimsAttr);
    bool broadcasts = function.getArgAttr(i, TransformerDialect::broadcastAttr) != nullptr;
    if (!dims || broadcasts || !arguments[i] || arguments[i]->shape.size() != dims.size())
      continue;
    for (auto [dim, size] : llvm::zip_equal(dims, arguments[i]->shape))
      if (auto name = dyn_cast<StringAttr>(dim))
        sizes.try_emplace(name.str(), size);
  }
  return sizes;
}

/// Zeroes the ids after those that a sequence appends, as the runtime does. Their results are
/// unused.
static void clearUnread(func::FuncOp function, std::vector<Ref> &arguments) {
  Ref counts;
  SizeExpr rows = 0;
  function.walk([&](transformer::CacheAppendOp append) {
    if (!append.getCount())
      return;
    counts = arguments[argumentBehind(append.getCount())];
    rows = ShapeExpressions(function).of(append.getRows())[2];
  });
  for (unsigned i = 0; counts && i < arguments.size(); ++i) {
    auto dims = function.getArgAttrOfType<ArrayAttr>(i, TransformerDialect::dimsAttr);
    const Ref &ids = arguments[i];
    if (!ids || !dims || dims.size() != 2 || !(dimsFromAttr(dims)[1] == rows) ||
        formatOf(ids->type).isFloat() || ids->shape[0] != std::ssize(counts->values))
      continue;
    RefTensor cleared = *ids;
    for (int64_t n = 0; n < cleared.size(); ++n)
      if (static_cast<double>(n % ids->shape[1]) >= counts->values[n / ids->shape[1]])
        cleared.values[n] = 0;
    arguments[i] = std::make_shared<const RefTensor>(std::move(cleared));
  }
}

Expected<std::vector<Ref>> bindInputs(func::FuncOp function, const NamedRefTensors &inputs,
                                      const SessionState &session) {
  std::vector<Ref> arguments(function.getNumArguments());
  for (const auto &[name, tensor] : inputs) {
    std::optional<unsigned> i = argumentNamed(function, name);
    if (!i)
      return inputError(name + ": expected an input of " + function.getName().str() +
                        ", found another name");
    if (tensor.size() != elementCount(tensor.shape))
      return inputError(name + ": expected the elements of " + shapeText(tensor.shape) +
                        ", found " + std::to_string(tensor.size()));
    RefTensor own = HEDDLE_TRY(fromCaller(
        name, tensor, function.getArgAttrOfType<ArrayAttr>(*i, TransformerDialect::dimsAttr),
        function.getArgAttrOfType<ArrayAttr>(*i, TransformerDialect::portAttr)));
    arguments[*i] = std::make_shared<const RefTensor>(std::move(own));
  }
  clearUnread(function, arguments);
  Dimensions given = sizesOf(function, arguments);
  std::map<std::string, int64_t> sizes;
  for (unsigned i = 0; i < arguments.size(); ++i) {
    HEDDLE_TRY(broadcastArgument(function, i, arguments[i], given));
    if (!arguments[i]) {
      RefTensor made = HEDDLE_TRY(completed(function, i, arguments, given, session));
      arguments[i] = std::make_shared<const RefTensor>(std::move(made));
    }
    std::string name = argumentName(function, i);
    const RefTensor &tensor = *arguments[i];
    HEDDLE_TRY(checkShape(name, tensor, function.getArgumentTypes()[i]));
    HEDDLE_TRY(checkRange(name, tensor,
                          function.getArgAttrOfType<ArrayAttr>(i, TransformerDialect::rangeAttr)));
    HEDDLE_TRY(checkDims(name, tensor,
                         function.getArgAttrOfType<ArrayAttr>(i, TransformerDialect::dimsAttr),
                         sizes));
  }
  return arguments;
}

} // namespace heddle::reference
