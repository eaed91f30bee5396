//===- DefaultType.cpp - The number format of a model ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Default number format of a model. f32 represents all numbers of a model that is not quantized. A
// quantized model keeps the codes of its file.

#include "heddle/Compiler/Compiler.h"
#include "heddle/Import/Import.h"
#include "heddle/Support/Gguf.h"
#include "heddle/Support/Try.h"

#include <filesystem>

using namespace heddle;

Expected<std::string> heddle::chooseFormat(const std::string &model, const std::string &dtype) {
  if (!dtype.empty())
    return dtype;
  const std::string path = HEDDLE_TRY(modelPath(model));
  std::error_code none; // import reports a missing file
  if (!isGguf(path) || !std::filesystem::exists(path, none))
    return std::string(storesCodes(path) ? "file" : "f32");
  const Gguf file = HEDDLE_TRY(Gguf::open(path));
  int64_t quantized = 0, plain = 0; // numbers
  for (const GgufTensor &tensor : file.tensors()) {
    int64_t size = 1;
    for (int64_t dimension : tensor.shape)
      size *= dimension;
    const bool isQuantized = tensor.blocks && tensor.blocks->elements > 1;
    (isQuantized ? quantized : plain) += size;
  }
  return std::string(quantized > plain ? "file" : "f32");
}
