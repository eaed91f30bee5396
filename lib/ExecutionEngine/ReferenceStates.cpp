//===- ReferenceStates.cpp - Caches of the reference ----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes of states. A call changes copies, so that a failed call does not change the session.

#include "ReferenceSession.h"

#include "heddle/Support/Try.h"

using namespace mlir;

namespace heddle::reference {

//===- Rows of tensors ---------------------------------------------------===//

/// The shape with `rows` rows per head.
static std::vector<int64_t> withRows(std::vector<int64_t> shape, int64_t rows) {
  shape[2] = rows;
  return shape;
}
/// Number of elements in a row of a head; scales have one per row.
static int64_t perRow(const RefTensor &heads) {
  return heads.shape.size() > 3 ? heads.shape[3] : 1;
}

/// Concatenates `before` and `rows` along dimension 2.
static RefTensor appendRows(const RefTensor &before, const RefTensor &rows) {
  int64_t outer = rows.shape[0] * rows.shape[1], old = before.shape[2], added = rows.shape[2],
          D = perRow(rows);
  RefTensor result = make(withRows(rows.shape, old + added), rows.type);
  auto out = result.values.begin();
  for (int64_t n = 0; n < outer; ++n) {
    out = std::copy_n(before.values.begin() + n * old * D, old * D, out);
    out = std::copy_n(rows.values.begin() + n * added * D, added * D, out);
  }
  return result;
}

/// Gathers the rows `parents` of dimension 0; -1 gives zeros.
static RefTensor takeRows(const RefTensor &value, const std::vector<int64_t> &parents) {
  std::vector<int64_t> shape = value.shape;
  shape[0] = static_cast<int64_t>(parents.size());
  RefTensor result = make(shape, value.type);
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
  RefTensor content = make(withRows(rows.shape, most), rows.type);
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

/// `whole` with row rows[i] replaced by row i of `part`. Dimensions are extended to the larger one,
/// with zeros.
static RefTensor withRows(const RefTensor &whole, const RefTensor &part, const RefTensor &rows) {
  std::vector<int64_t> shape = whole.shape;
  for (size_t d = 1; d < shape.size(); ++d)
    shape[d] = std::max(shape[d], part.shape[d]);
  RefTensor result = make(shape, whole.type);
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

void StateChanges::add(transformer::WeightGradientOpInterface op, const Lookup &lookup) {
  auto [sum, isNew] = after.gradients[op.getName().str()].try_emplace(op.getUse());
  if (isNew)
    sum->second = make(shapeOf(op, lookup));
  addGradient(op, lookup, sum->second);
}

const RefTensor &StateChanges::gradientOf(transformer::WeightGradientOpInterface op) const {
  return after.gradients.at(op.getName().str()).at(op.getUse());
}

int64_t StateChanges::lengthBefore(const std::string &length) const {
  auto found = before.lengths.find(length);
  return found == before.lengths.end() ? 0 : found->second;
}

} // namespace heddle::reference
