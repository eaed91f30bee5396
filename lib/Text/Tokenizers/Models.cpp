//===- Models.cpp - Models that split pieces into tokens --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the section `model` of tokenizer.json. Old files have no `type`, so
// their keys decide. `Numbered` is Heddle's own type, for folders of
// SentencePiece models.
#include "Components.h"

namespace heddle::tokenizers {

Expected<std::unique_ptr<Model>> readModel(const JsonField &field) {
  static constexpr ComponentReader<Model> readers[] = {
      {"WordPiece", readWordPiece},
      {"BPE", readBpe},
      {"Unigram", readUnigram},
      {"WordLevel", readWordLevel},
  };
  if (auto type = field.find("type"))
    return type->value() == "Numbered" ? readNumbered(field) : readByType(field, readers);
  auto vocab = HEDDLE_TRY(field.get("vocab"));
  if (field.find("merges"))
    return readBpe(field);
  if (vocab.value().is_array())
    return readUnigram(field);
  return field.find("continuing_subword_prefix") ? readWordPiece(field) : readWordLevel(field);
}

} // namespace heddle::tokenizers
