//===- ScoreTables.h - Slopes and buckets of score rules --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slopes of bias.alibi and bucket starts of bias.relative, shared by kernels
// and the reference.
#pragma once

#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace heddle::transformer {

/// The slope of each head of bias.alibi.
llvm::SmallVector<float> alibiSlopes(int64_t heads);

/// The smallest distance of each bucket, for one direction of bias.relative. A distance belongs to
/// the last bucket whose start does not exceed it.
llvm::SmallVector<int32_t> bucketStarts(int64_t buckets, int64_t maxDistance);

} // namespace heddle::transformer
