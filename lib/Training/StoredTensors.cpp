//===- StoredTensors.cpp - A checkpoint that training writes ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heddle/Training/StoredTensors.h"

#include "heddle/Pack/Safetensors.h"
#include "heddle/Support/FieldsJson.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <functional>
#include <numeric>

using namespace heddle;
using Json = nlohmann::ordered_json;

int64_t StoredTensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::string heddle::toJson(const StoredTensors &tensors) {
  return FieldEncoder<JsonStyle::Facts>::encode(tensors).dump(-1, ' ', false,
                                                              Json::error_handler_t::replace);
}

static int64_t elementsOf(const NamedShape &tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1}, std::multiplies<>());
}

/// The number of the model's tensor with this name; the number of tensors if there is none.
static size_t indexOf(std::span<const NamedShape> model, const std::string &name) {
  return static_cast<size_t>(std::ranges::find(model, name, &NamedShape::name) - model.begin());
}

/// Whether both ranges are inside their tensors, and a transposed one is a whole matrix.
static bool fits(const StoredRange &range, const StoredTensor &stored, const NamedShape &tensor) {
  const int64_t all = elementsOf(tensor);
  if (range.count < 1 || range.first < 0 || range.at < 0 || range.count > all ||
      range.first > all - range.count || range.count > stored.elements() ||
      range.at > stored.elements() - range.count)
    return false;
  const std::vector<int64_t> &shape = tensor.shape;
  return !range.transposed ||
         (range.count == all && stored.elements() == all && shape.size() == 2 &&
          stored.shape.size() == 2 && shape[0] == stored.shape[1] && shape[1] == stored.shape[0]);
}

Expected<StoredTensors> heddle::storedTensorsFromJson(std::string_view json,
                                                      const std::string &place,
                                                      std::span<const NamedShape> model) {
  auto stored = HEDDLE_TRY(factsFrom<StoredTensors>(HEDDLE_TRY(parseJson(json, place)), place));
  for (const StoredTensor &tensor : stored.tensors) {
    int64_t end = 0;
    for (const StoredRange &range : tensor.ranges) {
      const size_t index = indexOf(model, range.tensor);
      if (index == model.size() || range.at < end || !fits(range, tensor, model[index]))
        return inputError(place + ": " + tensor.name +
                          ": expected ranges of the model's tensors in order, found " +
                          quotedText(range.tensor) + " from " + std::to_string(range.first));
      end = range.at + range.count;
    }
  }
  return stored;
}

//===- Files -------------------------------------------------------------===//

/// Elements that are in memory at once, except transposed matrices.
static constexpr int64_t pieceElements = int64_t{1} << 20;

/// The transpose of a matrix with `columns` columns.
static std::vector<float> transposeOf(std::span<const float> matrix, int64_t columns) {
  const auto width = static_cast<size_t>(columns), rows = matrix.size() / width;
  std::vector<float> made(matrix.size());
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < width; ++column)
      made[column * rows + row] = matrix[row * width + column];
  return made;
}

static Status writeZeros(SafetensorsWriter &writer, int64_t count) {
  const std::vector<float> zeros(static_cast<size_t>(std::min(pieceElements, count)));
  for (; count > 0; count -= pieceElements)
    HEDDLE_TRY(
        writer.write(std::span(zeros).first(static_cast<size_t>(std::min(pieceElements, count)))));
  return {};
}

static Status writeRange(SafetensorsWriter &writer, const StoredRange &range,
                         std::span<const NamedShape> model, const ReadElements &read) {
  const size_t index = indexOf(model, range.tensor);
  const int64_t piece = range.transposed ? range.count : pieceElements;
  std::vector<float> values;
  for (int64_t done = 0; done < range.count; done += piece) {
    values.resize(static_cast<size_t>(std::min(piece, range.count - done)));
    HEDDLE_TRY(read(0, index, range.first + done, values));
    if (range.transposed)
      values = transposeOf(values, model[index].shape[1]);
    HEDDLE_TRY(writer.write(values));
  }
  return {};
}

Status heddle::saveStored(const std::string &path, const StoredTensors &stored,
                          std::span<const NamedShape> model, const ReadElements &read) {
  std::vector<TensorInfo> infos;
  infos.reserve(stored.tensors.size());
  for (const StoredTensor &tensor : stored.tensors)
    infos.push_back({tensor.name, "f32", tensor.shape});
  SafetensorsWriter writer = HEDDLE_TRY(SafetensorsWriter::create(path, infos, {}));
  for (const StoredTensor &tensor : stored.tensors) {
    int64_t at = 0;
    for (const StoredRange &range : tensor.ranges) {
      HEDDLE_TRY(writeZeros(writer, range.at - at));
      HEDDLE_TRY(writeRange(writer, range, model, read));
      at = range.at + range.count;
    }
    HEDDLE_TRY(writeZeros(writer, tensor.elements() - at));
  }
  return writer.commit();
}

Status heddle::loadStored(const std::string &path, const StoredTensors &stored,
                          std::span<const NamedShape> model, const WriteElements &write) {
  const auto source = HEDDLE_TRY(openSafetensors(path));
  std::vector<float> values;
  for (const StoredTensor &tensor : stored.tensors) {
    const int number = HEDDLE_TRY(source->require(tensor.name, tensor.shape));
    for (const StoredRange &range : tensor.ranges) {
      const int64_t piece = range.transposed ? range.count : pieceElements;
      for (int64_t done = 0; done < range.count; done += piece) {
        values.resize(static_cast<size_t>(std::min(piece, range.count - done)));
        source->read(number, range.at + done, values);
        if (range.transposed)
          values = transposeOf(values, tensor.shape[1]);
        HEDDLE_TRY(write(0, indexOf(model, range.tensor), range.first + done, values));
      }
    }
  }
  return {};
}
