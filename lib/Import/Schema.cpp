//===- Schema.cpp - The schema of model descriptions ----------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of model-description.schema.json, embedded when the library is built.
//
//===----------------------------------------------------------------------===//

#include "heddle/Import/Import.h"

std::string heddle::modelDescriptionSchema() {
  static const char text[] =
#include "model-description.schema.json.inc"
      ;
  return text;
}
