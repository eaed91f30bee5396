//===- Pickle.h - Tensors named in a pickle ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pickle is a program that builds objects. Only the instructions that torch.save writes for a
// dictionary of tensors are known, and only the functions that make tensors and dictionaries. All
// others are errors, so no pickle can run code.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle {

/// A tensor of a dictionary: a part of a storage.
struct PickledTensor {
  std::string name;
  std::string kind;           ///< the storage's class, such as FloatStorage
  std::string storage;        ///< its key
  uint64_t stored = 0;        ///< elements of the storage
  uint64_t offset = 0;        ///< of the tensor's first element
  std::vector<int64_t> shape; ///< not negative
  std::vector<int64_t> strides;
};

/// The tensors of the dictionary that a pickle makes, in its order, each name once. Errors begin with
/// `place`.
Expected<std::vector<PickledTensor>> pickledTensors(std::span<const std::byte> bytes,
                                                    const std::string &place);

} // namespace heddle
