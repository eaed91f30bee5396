//===- PowersOfTwo.h - Polynomials for exp2 --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Minimax polynomials of 2^f on [-1/2, 1/2], highest power first. Generated kernels and the
// runtime's own loops share them.
#pragma once

namespace heddle {

/// Relative error 2.3e-7.
inline constexpr float exp2Fine[] = {0.00132764725f, 0.00967554096f, 0.0555071309f,
                                     0.240221202f,   0.693146944f,   1.00000012f};
/// Relative error 7.5e-5, sufficient for results that are rounded to eight bits (bf16, int8).
inline constexpr float exp2Coarse[] = {0.0551716685f, 0.242611125f, 0.693260968f, 0.999928057f};

} // namespace heddle
