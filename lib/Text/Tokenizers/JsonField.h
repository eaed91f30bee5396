//===- JsonField.h - Values of tokenizers' files ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Support/JsonField.h"

namespace heddle::tokenizers {

using Json = nlohmann::ordered_json;

} // namespace heddle::tokenizers
