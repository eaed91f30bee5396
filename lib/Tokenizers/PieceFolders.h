//===- PieceFolders.h - Folders of SentencePiece models --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands around a text, and which numbers pieces have, is not in the file of
// SentencePiece; a class of Transformers, one a family, says it for a folder.
#pragma once

#include "TokenizerSettings.h"

#include "heddle/Tokenizers/Tokenizer.h"

namespace heddle::tokenizers {

struct PieceFamily;

/// The family of a folder, by its class or `model_type`; null: none that is known.
const PieceFamily *pieceFamilyOf(const TokenizerSettings &settings);
/// Whether a folder has one of the family's files; one that lacks others is an error of reading.
bool holdsFamily(const PieceFamily &family, const std::string &folder);
/// The tokenizer of texts that come in, or of those that are written.
Expected<TokenizerFile> readPieceFolder(const PieceFamily &family,
                                        const TokenizerSettings &settings, bool written);
/// Whether both are one.
bool writesAsItReads(const PieceFamily &family);

} // namespace heddle::tokenizers
