//===- UnicodeForms.h - NFC, NFD, NFKC and NFKD ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unicode normalization of aligned text. ICU's normalizers do not report which
// code points replace which.
#pragma once

#include "AlignedText.h"

namespace heddle::tokenizers {

enum class UnicodeForm : uint8_t { Nfc, Nfd, Nfkc, Nfkd };

void toUnicodeForm(AlignedText &text, UnicodeForm form);

} // namespace heddle::tokenizers
