//===- TrainingReader.h - Reading the section training ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Description.h"

namespace heddle {

/// Reads the recipe of a description whose other parts are read. Reports values that contradict
/// each other or the model.
void readTraining(Description &model, ErrorSink &errors);

} // namespace heddle
