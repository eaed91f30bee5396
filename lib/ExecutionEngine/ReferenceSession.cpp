//===- ReferenceSession.cpp - Reference inputs and states -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs are checked as in the runtime, so that the reference never computes on inputs
// that the device refuses.

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

//===- Rows of tensors ---------------------------------------------------===//

static RefTensor zeros(std::vector<int64_t> shape, DType type) {
  std::vector<double> values(elementCount(shape));
  return {type, std::move(shape), std::move(values)};
}

/// The same heads with so many rows.
static std::vector<int64_t> withRows(std::vector<int64_t> shape, int64_t rows) {
  shape[2] = rows;
  return shape;
}
/// Numbers of a row of a head: scales of codes are one each.
static int64_t perRow(const RefTensor &heads) {
  return heads.shape.size() > 3 ? heads.shape[3] : 1;
}

/// Concatenates `before` and `rows` along dimension 2.
static RefTensor appendRows(const RefTensor &before, const RefTensor &rows) {
  int64_t outer = rows.shape[0] * rows.shape[1], old = before.shape[2], added = rows.shape[2],
          D = perRow(rows);
  RefTensor result = zeros(withRows(rows.shape, old + added), rows.type);
  auto out = result.values.begin();
  for (int64_t n = 0; n < outer; ++n) {
    out = std::copy_n(before.values.begin() + n * old * D, old * D, out);
    out = std::copy_n(rows.values.begin() + n * added * D, added * D, out);
  }
  return result;
}

/// Transposes the first two dimensions.
static RefTensor transposeFirstTwo(const RefTensor &value) {
  std::vector<int64_t> shape = value.shape;
  std::swap(shape[0], shape[1]);
  RefTensor result = zeros(shape, value.type);
  int64_t inner = elementCount({shape.begin() + 2, shape.end()});
  for (int64_t a = 0; a < shape[0]; ++a)
    for (int64_t b = 0; b < shape[1]; ++b)
      std::copy_n(value.values.begin() + (b * shape[0] + a) * inner, inner,
                  result.values.begin() + (a * shape[1] + b) * inner);
  return result;
}

/// Gathers rows `parents` of dimension 0; -1 gives zeros.
static RefTensor takeRows(const RefTensor &value, const std::vector<int64_t> &parents) {
  std::vector<int64_t> shape = value.shape;
  shape[0] = static_cast<int64_t>(parents.size());
  RefTensor result = zeros(shape, value.type);
  int64_t row = value.shape[0] ? value.size() / value.shape[0] : 0;
  for (size_t r = 0; r < parents.size(); ++r)
    if (parents[r] >= 0)
      std::copy_n(value.values.begin() + parents[r] * row, row,
                  result.values.begin() + static_cast<int64_t>(r) * row);
  return result;
}

//===- States ------------------------------------------------------------===//

Expected<Ref> StateChanges::get(transformer::StateGetOp op) const {
  auto found = after.states.find(op.getState().str());
  if (found == after.states.end())
    return errorAt(op, "state " + op.getState().str() +
                           ": expected a value from an earlier call, found none");
  return found->second;
}

Status StateChanges::set(transformer::StateSetOp op, Ref value) {
  after.states[op.getState().str()] = std::move(value);
  written.push_back(op.getState().str());
  return {};
}

Expected<Ref> StateChanges::append(transformer::CacheAppendOp op, const RefTensor &rows) {
  transformer::StateOp state = op.lookupState();
  std::string name = op.getState().str(), length = state.getLengthName().str();
  RefTensor empty{rows.type, withRows(rows.shape, 0), {}};
  auto found = after.states.find(name);
  const RefTensor &content = found == after.states.end() ? empty : *found->second;
  if (content.shape[0] != rows.shape[0])
    return errorAt(op, "expected rows for " + std::to_string(content.shape[0]) +
                           " sequences, found " + std::to_string(rows.shape[0]));
  int64_t total = content.shape[2] + rows.shape[2],
          capacity = static_cast<int64_t>(*state.getCapacity());
  if (total > capacity)
    return errorAt(op, length + ": expected at most " + std::to_string(capacity) + " rows, found " +
                           std::to_string(total));
  after.lengths[length] = total;
  after.lengthOf[name] = length;
  return after.states[name] = std::make_shared<const RefTensor>(appendRows(content, rows));
}

Expected<Ref> StateChanges::appendEach(transformer::CacheAppendOp op, const RefTensor &rows,
                                       const RefTensor &at, const RefTensor *counts) {
  transformer::StateOp state = op.lookupState();
  std::string name = op.getState().str(), length = state.getLengthName().str();
  int64_t B = rows.shape[0], H = rows.shape[1], T = rows.shape[2], D = perRow(rows), most = 0;
  std::vector<int64_t> &after = this->after.rows[length];
  after.clear();
  for (int64_t b = 0; b < B; ++b) {
    after.push_back(static_cast<int64_t>(at.values[b] + (counts ? counts->values[b] : T)));
    most = std::max(most, after.back());
  }
  if (auto capacity = static_cast<int64_t>(*state.getCapacity()); most > capacity)
    return errorAt(op, length + ": expected at most " + std::to_string(capacity) + " rows, found " +
                           std::to_string(most));
  RefTensor content = zeros(withRows(rows.shape, most), rows.type);
  auto found = this->after.states.find(name);
  const RefTensor *old = found == this->after.states.end() ? nullptr : found->second.get();
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h) {
      auto first = static_cast<int64_t>(at.values[b]);
      auto to = content.values.begin() + (b * H + h) * most * D;
      if (old)
        std::copy_n(old->values.begin() + (b * H + h) * old->shape[2] * D, first * D, to);
      std::copy_n(rows.values.begin() + (b * H + h) * T * D, (after[b] - first) * D,
                  to + first * D);
    }
  this->after.lengthOf[name] = length;
  return this->after.states[name] = std::make_shared<const RefTensor>(std::move(content));
}

/// `whole` with row rows[i] replaced by row i of `part`; what either lacks is zero.
static RefTensor withRows(const RefTensor &whole, const RefTensor &part, const RefTensor &rows) {
  std::vector<int64_t> shape = whole.shape;
  for (size_t d = 1; d < shape.size(); ++d)
    shape[d] = std::max(shape[d], part.shape[d]);
  RefTensor result = zeros(shape, whole.type);
  auto put = [&](const RefTensor &from, int64_t row, int64_t to) {
    const int64_t inner = elementCount({from.shape.begin() + 1, from.shape.end()});
    for (int64_t n = 0; n < inner; ++n) {
      int64_t place = 0, scale = 1, rest = n;
      for (size_t d = shape.size(); d-- > 1;) {
        place += rest % from.shape[d] * scale;
        scale *= shape[d];
        rest /= from.shape[d];
      }
      result.values[to * scale + place] = from.values[row * inner + n];
    }
  };
  std::set<int64_t> taken(rows.values.begin(), rows.values.end());
  for (int64_t row = 0; row < whole.shape[0]; ++row)
    if (!taken.count(row))
      put(whole, row, row);
  for (size_t i = 0; i < rows.values.size(); ++i)
    put(part, static_cast<int64_t>(i), static_cast<int64_t>(rows.values[i]));
  return result;
}

void StateChanges::commit(SessionState &session) {
  for (const std::string &name : written)
    if (replaced)
      after.states[name] = std::make_shared<const RefTensor>(
          withRows(*before.states.at(name), *after.states[name], *replaced));
  session = std::move(after);
}

Status StateChanges::clearRows(transformer::CacheClearOp op, const RefTensor &rows) {
  for (auto set : op->getParentOfType<func::FuncOp>().getOps<transformer::StateSetOp>()) {
    auto found = before.states.find(set.getState().str());
    const int64_t count = found == before.states.end() ? 0 : found->second->shape[0];
    for (double row : rows.values)
      if (row < 0 || row >= static_cast<double>(count))
        return errorAt(op, "rows: expected values in [0, " + std::to_string(count) + "), found " +
                               std::to_string(static_cast<int64_t>(row)));
  }
  auto lengths = after.rows.find(op.getDim().str());
  for (double row : rows.values)
    if (lengths != after.rows.end())
      lengths->second[static_cast<size_t>(row)] = 0;
  replaced = rows;
  return {};
}

Status StateChanges::clear(transformer::CacheClearOp op, const RefTensor *rows) {
  auto isRow = [](double row) { return row >= 0; };
  if (rows && llvm::any_of(rows->values, isRow))
    return clearRows(op, *rows);
  const std::string length = op.getDim().str();
  std::erase_if(after.states, [&](const auto &entry) {
    auto found = after.lengthOf.find(entry.first);
    return found != after.lengthOf.end() && found->second == length;
  });
  after.lengths[length] = 0;
  after.rows.erase(length);
  return {};
}

Status StateChanges::reorder(transformer::CacheReorderOp op, const RefTensor &parents) {
  std::vector<int64_t> rows(parents.values.begin(), parents.values.end());
  auto inRange = [&](int64_t count) {
    return llvm::all_of(rows, [&](int64_t row) { return row >= -1 && row < count; });
  };
  for (auto &[name, value] : after.states) {
    if (!inRange(value->shape[0]))
      return errorAt(op,
                     name + ": expected parents in [-1, " + std::to_string(value->shape[0]) + ")");
    value = std::make_shared<const RefTensor>(takeRows(*value, rows));
  }
  for (auto &[length, each] : after.rows) {
    std::vector<int64_t> taken;
    for (int64_t row : rows)
      taken.push_back(row < 0 ? 0 : each[row]);
    each = taken;
  }
  return {};
}

int64_t StateChanges::lengthBefore(const std::string &length) const {
  auto found = before.lengths.find(length);
  return found == before.lengths.end() ? 0 : found->second;
}

//===- Defaults of inputs ------------------------------------------------===//

/// Length of each row of ids [B, T]; padding behind the last id is not counted.
static RefTensor lengthsOf(const RefTensor &ids, int64_t padding) {
  int64_t B = ids.shape[0], T = ids.shape[1];
  RefTensor lengths = zeros({B}, DType::I32);
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

/// The argument of the function that an op, perhaps in a group, reads as `value`.
static unsigned argumentBehind(Value value) {
  auto argument = cast<BlockArgument>(value);
  Operation *parent = argument.getOwner()->getParentOp();
  return isa<func::FuncOp>(parent) ? argument.getArgNumber()
                                   : argumentBehind(parent->getOperand(argument.getArgNumber()));
}

/// Rows that each of `count` sequences has in caches before or after the call.
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

/// Sizes of named dimensions by the inputs that are not broadcast; conflicts are checked later.
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

/// Sets ids behind those that a sequence appends to 0, as the runtime does: nobody reads them.
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
