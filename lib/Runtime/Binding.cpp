//===- Binding.cpp - Checks and binds the inputs of a call ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binding of a call's inputs. Messages name the input, the dimension, what was expected and what
// was found.
#include "Binding.h"

#include "heddle/Support/Broadcast.h"
#include "heddle/Support/Dims.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>

namespace heddle {

//===- Lengths -----------------------------------------------------------===//

/// Length of each row of ids, without the padding after the last id.
static void lengthsOf(const Tensor &ids, int64_t padding, Tensor &lengths) {
  const int64_t columns = ids.rank() ? ids.shape().back() : 1;
  const int64_t rows[] = {ids.rank() > 1 ? ids.dim(0) : 1};
  lengths.reset(DType::I32, rows);
  auto values = lengths.values<int32_t>();
  for (int64_t row = 0; row < rows[0]; ++row) {
    int64_t length = columns;
    while (length > 0 && integerAt(ids, row * columns + length - 1) == padding)
      --length;
    values[row] = static_cast<int32_t>(length);
  }
}

//===- Binding -----------------------------------------------------------===//

static std::string dimensionText(const Port &port, size_t axis) {
  std::string text = port.name + ": dimension " + std::to_string(axis);
  return port.shape[axis].isConstant() ? text : text + " (" + port.shape[axis].str() + ")";
}

Status BoundInputs::bind(const NamedInputs &inputs, const Dimensions &session, CachedRows &rows) {
  values.clear();
  binders.clear();
  appended.clear();
  HEDDLE_TRY(match(inputs));
  HEDDLE_TRY(checkTypes());
  rows.begin(function->startsStates && !replaced());
  HEDDLE_TRY(addDefaults());
  return bindDims(session, rows);
}

const Tensor *BoundInputs::replaced() const {
  for (size_t i = 0; i < tensors.size() && !function->replaceBy.empty(); ++i)
    if (function->inputs[i].name == function->replaceBy && tensors[i] != &made[i])
      return tensors[i];
  return nullptr;
}

std::vector<Port> givenInputs(const Function &function) {
  std::vector<Port> given;
  std::ranges::copy_if(function.inputs, std::back_inserter(given),
                       [](const Port &port) { return !port.fallback.isKept(); });
  return given;
}

/// Assigns inputs to ports by name. Each required port must be given, and no port twice.
Status BoundInputs::match(const NamedInputs &inputs) {
  std::ranges::fill(tensors, nullptr);
  for (const NamedInput &input : inputs) {
    auto port = std::ranges::find(function->inputs, input.name(), &Port::name);
    if (port == function->inputs.end() || port->fallback.isKept())
      return inputError(std::string(input.name()) + ": expected an input of " + function->name +
                        " (" + namesOf(givenInputs(*function)) + "), found another name");
    const Tensor *&tensor = tensors[port - function->inputs.begin()];
    if (tensor)
      return inputError(port->name + ": expected one value, found two");
    tensor = &input.tensor();
  }
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!tensors[i] && function->inputs[i].fallback.kind == DefaultInput::Kind::None)
      return inputError(function->inputs[i].name + ": expected a value for this input of " +
                        function->name + ", found none");
  return {};
}

Status BoundInputs::checkTypes() const {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Port &port = function->inputs[i];
    if (!tensors[i])
      continue;
    if (!accepts(port.type, tensors[i]->dtype()))
      return inputError(port.name + ": expected " + toString(port.type) + ", found " +
                        toString(tensors[i]->dtype()));
    if (port.broadcast.empty() && tensors[i]->rank() != port.shape.size())
      return inputError(port.name + ": expected rank " + std::to_string(port.shape.size()) + " " +
                        shapeText(port.shape) + ", found shape " + shapeText(tensors[i]->shape()));
  }
  return {};
}

Status BoundInputs::addDefaults() {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (const DefaultInput &fallback = function->inputs[i].fallback;
        fallback.kind != DefaultInput::Kind::None && !fallback.isKept())
      HEDDLE_TRY(addDefault(i));
  return {};
}

/// Makes a default from the ids of its source if the caller did not give the input. If the caller
/// gives running lengths, they replace the session's counts.
Status BoundInputs::addDefault(size_t index) {
  const Port &port = function->inputs[index];
  const DefaultInput &fallback = port.fallback;
  auto source = std::ranges::find(function->inputs, fallback.source, &Port::name);
  auto at = static_cast<size_t>(source - function->inputs.begin());
  if (fallback.kind == DefaultInput::Kind::NoRowsOf)
    return tensors[index] ? Status() : addNoRows(index, at);
  const Tensor *ids = source == function->inputs.end() ? nullptr : tensors[at];
  bool readable = ids && !formatOf(ids->dtype()).isFloat();
  if (!readable && !tensors[index])
    return inputError(port.name + ": expected a value, found none, and no ids " + fallback.source +
                      " to count");
  if (tensors[index])
    return {};
  const Tensor &rows = stored(at);
  if (fallback.kind == DefaultInput::Kind::ZerosOf)
    made[index] = Tensor(port.type, rows.shape());
  else
    lengthsOf(rows, fallback.padding, made[index]);
  tensors[index] = &made[index];
  return {};
}

/// Makes the default -1 for each sequence of the input `source`.
Status BoundInputs::addNoRows(size_t index, size_t source) {
  const size_t axis = function->inputs[source].transposed ? 1 : 0;
  if (!tensors[source] || tensors[source]->rank() <= axis)
    return inputError(function->inputs[index].name + ": expected an input " +
                      function->inputs[index].fallback.source +
                      " of rank 2 or more, found another");
  const int64_t shape[] = {tensors[source]->dim(axis)};
  made[index].reset(DType::I32, shape);
  std::ranges::fill(made[index].values<int32_t>(), -1);
  tensors[index] = &made[index];
  return {};
}

const Tensor &BoundInputs::stored(size_t port) {
  return function->inputs[port].transposed ? turned[port].of(*tensors[port]) : *tensors[port];
}

Status BoundInputs::bindDims(const Dimensions &session, CachedRows &rows) {
  for (const std::string &name : function->stateDims)
    if (auto it = session.find(name); it != session.end() && name != function->appendsTo)
      values.add(name, it->second);
  for (size_t i = 0; i < tensors.size(); ++i)
    if (function->inputs[i].broadcast.empty() && !function->inputs[i].fallback.isKept())
      HEDDLE_TRY(bindPort(i));
  if (!function->appendsTo.empty())
    HEDDLE_TRY(bindRows(rows));
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!function->inputs[i].broadcast.empty()) { // the full sizes are bound by other inputs
      HEDDLE_TRY(broadcast(i));
      HEDDLE_TRY(bindPort(i));
    }
  for (const std::string &name : function->dims)
    if (!values.map().contains(name))
      return inputError(function->name + ": expected an input that gives dimension " + name +
                        ", found none");
  return {};
}

/// Binds the rows of the caches: of each sequence before and after the call, and the most.
Status BoundInputs::bindRows(CachedRows &rows) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (function->inputs[i].name == function->appendsBy)
      readAppended(i);
  int64_t sequences = -1;
  for (const Port &port : function->inputs)
    if (port.fallback.isKept())
      if (auto size = port.shape[0].evaluate(dims()))
        sequences = *size;
  if (sequences < 0)
    return inputError(function->name +
                      ": expected an input that tells the number of sequences, found none");
  auto before = rows.before(sequences);
  if (std::ssize(before) != sequences)
    return otherBatch(std::ssize(before), sequences);
  auto most = HEDDLE_TRY(function->appends.evaluate(dims()));
  values.add(function->appendsTo, rows.append(appended, most));
  for (size_t i = 0; i < tensors.size(); ++i)
    if (const Port &port = function->inputs[i]; port.shape.size() == 2 &&
                                                port.shape[!port.transposed] == function->appends &&
                                                !appended.empty())
      clearUnread(i);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const DefaultInput &fallback = function->inputs[i].fallback;
    if (!fallback.isKept())
      continue;
    std::span<const int32_t> from =
        fallback.kind == DefaultInput::Kind::RowsBefore ? before : rows.after();
    const int64_t shape[] = {static_cast<int64_t>(from.size())};
    made[i].reset(DType::I32, shape);
    std::ranges::copy(from, made[i].values<int32_t>().begin());
    tensors[i] = &made[i];
    HEDDLE_TRY(bindPort(i));
  }
  return {};
}

/// Error for a call whose number of sequences differs from the caches'.
Error BoundInputs::otherBatch(int64_t expected, int64_t found) const {
  for (const Port &port : function->inputs)
    if (port.fallback.isKept())
      if (std::string place = binder(port.shape[0].dimName()); !place.empty())
        return inputError(place + ": expected " + std::to_string(expected) +
                          " as in the caches, found " + std::to_string(found));
  return inputError(function->name + ": expected " + std::to_string(expected) +
                    " sequences as in the caches, found " + std::to_string(found));
}

/// Zeroes the ids after those that a sequence appends. Kernels index tables by them, and their
/// results are unused.
void BoundInputs::clearUnread(size_t port) {
  const Tensor &given = *tensors[port];
  const bool transposed = function->inputs[port].transposed;
  const int64_t sequences = static_cast<int64_t>(appended.size()), rows = given.dim(!transposed);
  if (formatOf(given.dtype()).isFloat() || given.dim(transposed) != sequences ||
      std::ranges::all_of(appended, [&](int32_t count) { return count >= rows; }))
    return;
  Tensor cleared = given;
  const size_t size = cleared.bytes().size() / static_cast<size_t>(given.size());
  for (int64_t b = 0; b < sequences; ++b)
    for (int64_t t = std::max(appended[b], 0); t < rows; ++t)
      std::ranges::fill(
          cleared.bytes().subspan((transposed ? t * sequences + b : b * rows + t) * size, size),
          std::byte(0));
  made[port] = std::move(cleared);
  tensors[port] = &made[port];
}

/// Clamps values to i32; checkRange rejects out-of-range values later.
void BoundInputs::readAppended(size_t port) {
  using Limits = std::numeric_limits<int32_t>;
  for (int64_t i = 0; i < tensors[port]->size(); ++i)
    appended.push_back(static_cast<int32_t>(
        std::clamp<int64_t>(integerAt(*tensors[port], i), Limits::min(), Limits::max())));
}

void BoundInputs::clearIdle(Tensor &output) const {
  if (appended.empty() || output.rank() == 0 ||
      output.dim(0) != static_cast<int64_t>(appended.size()))
    return;
  std::span<std::byte> bytes = output.bytes();
  size_t row = bytes.size() / appended.size();
  for (size_t i = 0; i < appended.size(); ++i)
    if (appended[i] == 0)
      std::ranges::fill(bytes.subspan(i * row, row), std::byte(0));
}

/// Views an input in full rank, and repeats entries along the axes that the program reads in full.
Status BoundInputs::broadcast(size_t index) {
  const Port &port = function->inputs[index];
  const Tensor &given = *tensors[index];
  full.clear();
  for (const SizeExpr &size : port.broadcast) {
    auto value = size.evaluate(dims());
    full.push_back(value ? *value : -1); // a dimension that this input binds
  }
  HEDDLE_TRY(broadcastSizes(port.name, given.shape(), full, sizes));
  wanted = sizes;
  for (size_t axis = 0; axis < full.size(); ++axis)
    if (full[axis] >= 0 && layout->inputs[index].repeated[axis])
      wanted[axis] = full[axis];
  if (wanted == given.shape())
    return {};
  Tensor &whole = made[index];
  whole.reset(given.dtype(), wanted);
  broadcastCopy(sizes, wanted, static_cast<size_t>(byteSize(given.dtype())), given.bytes().data(),
                whole.bytes().data());
  tensors[index] = &whole;
  return {};
}

Status BoundInputs::bindPort(size_t port) {
  for (size_t axis = 0; axis < function->inputs[port].shape.size(); ++axis)
    HEDDLE_TRY(bindDim(port, axis));
  return {};
}

Status BoundInputs::bindDim(size_t port, size_t axis) {
  const SizeExpr &formula = function->inputs[port].shape[axis];
  int64_t found = tensors[port]->dim(axis);
  if (function->inputs[port].starts && found == 0)
    return inputError(function->inputs[port].name + ": expected at least one start, found none");
  // Arithmetic on sizes must not overflow, and an empty tensor may have dimensions near 2^63.
  if (found > std::numeric_limits<int32_t>::max())
    return inputError(dimensionText(function->inputs[port], axis) +
                      ": expected at most 2147483647, found " + std::to_string(found));
  const std::string &name = layout->inputs[port].dims[axis];
  if (name.empty() && !formula.isConstant())
    return {}; // an expression: check() compares it once all dimensions are bound
  if (name.empty() && formula.constantValue() == found)
    return {};
  if (name.empty())
    return inputError(dimensionText(function->inputs[port], axis) + ": expected " +
                      std::to_string(formula.constantValue()) + ", found " + std::to_string(found));
  auto [it, isNew] = values.add(name, found);
  if (isNew)
    binders.add(name, {port, axis});
  if (it->second == found)
    return {};
  auto first = binders.map().find(name);
  std::string from =
      first == binders.map().end() ? "the session" : function->inputs[first->second.first].name;
  return inputError(dimensionText(function->inputs[port], axis) + ": expected " +
                    std::to_string(it->second) + " as in " + from + ", found " +
                    std::to_string(found));
}

std::string BoundInputs::binder(std::string_view dim) const {
  auto it = binders.map().find(dim);
  return it == binders.map().end()
             ? ""
             : dimensionText(function->inputs[it->second.first], it->second.second);
}

Status BoundInputs::check(const Plan &plan) const {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const FunctionLayout::PortLayout &port = layout->inputs[i];
    for (size_t axis = 0; axis < port.shape.size(); ++axis)
      if (int64_t expected = plan.value(port.shape[axis]); expected != tensors[i]->dim(axis))
        return inputError(dimensionText(function->inputs[i], axis) + ": expected " +
                          std::to_string(expected) + ", found " +
                          std::to_string(tensors[i]->dim(axis)));
    bool ranged = port.low >= 0;
    int64_t low = ranged ? plan.value(port.low) : std::numeric_limits<int32_t>::min();
    int64_t high = ranged ? plan.value(port.high) : int64_t{1} << 31;
    // Kernels read i64 as i32, so its values must fit even without a range.
    if (ranged || tensors[i]->dtype() == DType::I64)
      HEDDLE_TRY(checkRange(i, low, high));
    if (function->inputs[i].starts)
      HEDDLE_TRY(checkStarts(i, low, high - 1));
  }
  for (size_t i = 0; i < tensors.size(); ++i) // after checkStarts of all inputs
    for (const std::string &starts : function->inputs[i].boundedBy)
      HEDDLE_TRY(checkBounds(i, starts));
  return {};
}

/// Checks that a length is at most the number of rows of its document.
Status BoundInputs::checkBounds(size_t port, const std::string &boundedBy) const {
  auto isStarts = [&](const Port &input) { return input.name == boundedBy; };
  size_t of = std::ranges::find_if(function->inputs, isStarts) - function->inputs.begin();
  const Tensor &lengths = *tensors[port], &starts = *tensors[of];
  for (int64_t i = 0; i < std::min(lengths.size(), starts.size() - 1); ++i)
    if (int64_t rows = integerAt(starts, i + 1) - integerAt(starts, i);
        integerAt(lengths, i) > rows)
      return inputError(function->inputs[port].name + ": expected at most the " +
                        std::to_string(rows) + " rows of document " + std::to_string(i) +
                        ", found " + std::to_string(integerAt(lengths, i)));
  return {};
}

/// Indices of element `index`: "[1, 3]".
static std::string placeText(const Tensor &tensor, int64_t index) {
  std::vector<int64_t> place(tensor.rank());
  for (size_t axis = tensor.rank(); axis-- > 0; index /= tensor.dim(axis))
    place[axis] = index % tensor.dim(axis);
  return shapeText(place);
}

/// Checks that starts ascend from `first` to `last` and that no document is longer than its table
/// of positions.
Status BoundInputs::checkStarts(size_t port, int64_t first, int64_t last) const {
  const Tensor &tensor = *tensors[port];
  const std::string &name = function->inputs[port].name;
  auto must = [&](int64_t index, int64_t value, const char *which) -> Status {
    if (integerAt(tensor, index) == value)
      return {};
    return inputError(name + ": expected the " + which + " start to be " + std::to_string(value) +
                      ", found " + std::to_string(integerAt(tensor, index)));
  };
  HEDDLE_TRY(must(0, first, "first"));
  const int64_t maxLength = function->inputs[port].maxLength;
  for (int64_t i = 1; i < tensor.size(); ++i) {
    int64_t rows = integerAt(tensor, i) - integerAt(tensor, i - 1);
    if (rows < 0)
      return inputError(name + ": expected ascending starts, found " +
                        std::to_string(integerAt(tensor, i)) + " at " + placeText(tensor, i) +
                        " after " + std::to_string(integerAt(tensor, i - 1)));
    if (maxLength && rows > maxLength)
      return inputError(name + ": expected documents of at most " + std::to_string(maxLength) +
                        " rows, which have positions, found " + std::to_string(rows) +
                        " in document " + std::to_string(i - 1));
  }
  return must(tensor.size() - 1, last, "last");
}

/// Checks that values are in [low, high): kernels index tables by ids without a check.
Status BoundInputs::checkRange(size_t port, int64_t low, int64_t high) const {
  const Tensor &tensor = *tensors[port];
  if (formatOf(tensor.dtype()).isFloat())
    return {};
  for (int64_t i = 0; i < tensor.size(); ++i) {
    int64_t value = integerAt(tensor, i);
    if (value >= low && value < high)
      continue;
    const auto &range = function->inputs[port].range;
    std::string bound = range && !range->second.isConstant() ? range->second.str() + " = " : "";
    return inputError(function->inputs[port].name + ": expected values in [" + std::to_string(low) +
                      ", " + bound + std::to_string(high) + "), found " + std::to_string(value) +
                      " at " + placeText(tensor, i));
  }
  return {};
}

} // namespace heddle
