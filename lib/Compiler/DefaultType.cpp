//===- DefaultType.cpp - The number format of a model ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Default number format of a model. f32 represents all numbers of a model that is not quantized.
// For a quantized model it would spend memory on bits that the file does not have.

#include "heddle/Compiler/Compiler.h"
#include "heddle/Support/Gguf.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <filesystem>
#include <map>

using namespace heddle;

/// Number of elements of a file's tensors by quantized type, with "" for all other types.
/// `withTable`: includes the embedding table.
static std::map<std::string, int64_t> numbersByType(const Gguf &file, bool withTable) {
  std::map<std::string, int64_t> numbers;
  for (const GgufTensor &tensor : file.tensors()) {
    if (!withTable && tensor.name == "token_embd.weight")
      continue;
    const bool isQuantized = tensor.blocks && tensor.blocks->elements > 1;
    int64_t size = 1;
    for (int64_t dimension : tensor.shape)
      size *= dimension;
    numbers[isQuantized ? tensor.type : ""] += size;
  }
  return numbers;
}

Expected<FormatChoice> heddle::chooseFormat(const std::string &model, const std::string &dtype) {
  if (!dtype.empty())
    return FormatChoice{dtype, ""};
  const std::string path = HEDDLE_TRY(modelPath(model));
  std::error_code none; // import reports a missing file
  if (!isGguf(path) || !std::filesystem::exists(path, none))
    return FormatChoice{"f32", ""};
  const Gguf file = HEDDLE_TRY(Gguf::open(path));
  std::map<std::string, int64_t> numbers = numbersByType(file, /*withTable=*/true);
  const int64_t plain = std::exchange(numbers[""], 0), asInt4 = numbers["q4_0"] + numbers["q4_1"];
  int64_t quantized = 0;
  for (const auto &[type, size] : numbers)
    quantized += size;
  if (quantized <= plain)
    return FormatChoice{"f32", ""};
  const bool isInt4 = 2 * asInt4 > quantized;
  // The embedding table is stored as int8; the note names the type with the most other numbers.
  if (isInt4) {
    numbers = numbersByType(file, /*withTable=*/false);
    numbers["q4_0"] = numbers["q4_1"] = numbers[""] = 0;
  }
  const auto most = std::ranges::max_element(
      numbers, {}, [](const std::pair<const std::string, int64_t> &type) { return type.second; });
  if (isInt4 && most->second == 0)
    return FormatChoice{"int4", ""};
  if (isInt4)
    return FormatChoice{"int4", path + ": weights of type " + most->first +
                                    " become int4 too; --dtype=bf16 keeps their precision"};
  return FormatChoice{"bf16", path + ": weights of type " + most->first +
                                  " run as bf16; --dtype=int8 or int4 is smaller, f32 exact"};
}
