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
#include <string_view>
#include <vector>

namespace heddle {

/// A class of storages in the module torch.
struct StorageType {
  std::string_view kind;
  const char *name; ///< of the element type in Heddle
  uint64_t bytes;   ///< of an element
};
/// As in safetensors files, only floats can be read, but a file may contain others.
inline constexpr StorageType storageTypes[] = {
    {"FloatStorage", "f32", 4},  {"HalfStorage", "f16", 2}, {"BFloat16Storage", "bf16", 2},
    {"DoubleStorage", "f64", 8}, {"LongStorage", "i64", 8}, {"IntStorage", "i32", 4},
    {"ShortStorage", "i16", 2},  {"CharStorage", "i8", 1},  {"ByteStorage", "u8", 1},
    {"BoolStorage", "bool", 1}};

/// A tensor of a dictionary: a part of a storage.
struct PickledTensor {
  std::string name;
  const StorageType *type = nullptr;
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
