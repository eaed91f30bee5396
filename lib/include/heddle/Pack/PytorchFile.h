//===- PytorchFile.h - Checkpoints that torch.save writes -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the files of torch.save since PyTorch 1.6 that hold a dictionary of tensors, such as
// pytorch_model.bin. Nothing in a file is run: only tensors are read, and other objects are errors.
#pragma once

#include "heddle/Pack/WeightSource.h"

namespace heddle {

/// Maps the file and checks that each tensor is a part of its storage, and each storage in the file.
Expected<std::unique_ptr<WeightSource>> openPytorchFile(const std::string &path);

} // namespace heddle
