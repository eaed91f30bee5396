//===- PieceFolders.h - Folders of SentencePiece models --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tokenizers of folders of SentencePiece models. The files of SentencePiece
// give neither the tokens around a text nor the ids of pieces. A class of
// Transformers gives them, one per family.
#pragma once

#include "heddle/Tokenizers/TokenizerSettings.h"

#include "heddle/Tokenizers/Tokenizer.h"

namespace heddle::tokenizers {

struct PieceFamily;

/// The family of a folder, by its class or its `model_type`; null if it is unknown.
const PieceFamily *pieceFamilyOf(const TokenizerSettings &settings);
/// True if a folder has one of the family's files. Reading reports the files that are missing.
bool holdsFamily(const PieceFamily &family, const std::string &folder);
/// Reads the tokenizer of input texts or, if `written`, of output texts.
Expected<TokenizerFile> readPieceFolder(const PieceFamily &family,
                                        const TokenizerSettings &settings, bool written);
/// True if one tokenizer serves input and output texts.
bool writesAsItReads(const PieceFamily &family);

} // namespace heddle::tokenizers
