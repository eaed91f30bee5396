//===- StoredTensors.h - A checkpoint that training writes -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a checkpoint stores the elements of a model's tensors. A Hugging Face folder stores them
// under other names and in other forms; a trained model is written in the form in which it was
// read.
#pragma once

#include "heddle/Support/Error.h"
#include "heddle/Support/Fields.h"
#include "heddle/Training/Checkpoint.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// A range of elements of a model's tensor and its place in a stored tensor, in row-major order of
/// both.
struct StoredRange {
  std::string tensor; ///< of the model
  int64_t first = 0;  ///< element of the model's tensor
  int64_t count = 0;
  int64_t at = 0;          ///< element of the stored tensor
  bool transposed = false; ///< the stored matrix is the transpose of the model's whole tensor
  bool operator==(const StoredRange &) const = default;
  HEDDLE_FIELDS(0, tensor, first, count, at, transposed)
};

/// A tensor of the checkpoint. Elements that no range has are zeros.
struct StoredTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<StoredRange> ranges; ///< ordered by `at`
  int64_t elements() const;
  HEDDLE_FIELDS(0, name, shape, ranges)
};

struct StoredTensors {
  std::vector<StoredTensor> tensors;
  /// Tensors of the model that the checkpoint lacked: they get initial values.
  std::vector<std::string> fresh;
  HEDDLE_FIELDS(0, tensors, fresh)
};

/// Text member of a compiled file that contains them.
inline constexpr const char *storedTensorsMember = "stored-tensors.json";

/// Name of a text member that a run on a Hugging Face folder writes as the file `name`.
inline std::string folderMember(const std::string &name) { return "folder/" + name; }

std::string toJson(const StoredTensors &tensors);
/// Reads the result of toJson and checks that the ranges fit the model's tensors. Errors begin with
/// `place`.
Expected<StoredTensors> storedTensorsFromJson(std::string_view json, const std::string &place,
                                              std::span<const NamedShape> model);

/// Writes the weights of a model as its checkpoint stores them.
Status saveStored(const std::string &path, const StoredTensors &stored,
                  std::span<const NamedShape> model, const ReadElements &read);
/// Passes the tensors of a checkpoint to `write`, as the model has them.
Status loadStored(const std::string &path, const StoredTensors &stored,
                  std::span<const NamedShape> model, const WriteElements &write);

} // namespace heddle
