//===- TrainingAttributes.h - Attributes of training -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of a module and its ops that a recipe determines, and names of functions.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace heddle::transformer {

/// Attribute of a module: the number of layers whose values are all kept for the backward pass.
/// Without it, all layers keep their values.
inline constexpr llvm::StringLiteral keptLayers = "transformer.kept_layers";

/// Attribute of a module: the names of the weights that do not change. They have no gradients.
inline constexpr llvm::StringLiteral frozenWeights = "transformer.frozen";

/// Attribute of an op whose result is computed again. With it, the op differs from the one that it
/// repeats, so that `cse` keeps both.
inline constexpr llvm::StringLiteral isAgain = "transformer.again";

/// Attribute of a module without `gradients_packed`: why its masks need padded examples.
inline constexpr llvm::StringLiteral paddedBecause = "transformer.padded";

/// The loss of packed texts, which the pass `differentiate` replaces by its gradients.
inline constexpr const char *packedLoss = "loss_packed";

} // namespace heddle::transformer
