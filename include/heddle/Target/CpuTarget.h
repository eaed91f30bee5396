//===- CpuTarget.h - Instruction sets as data ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instruction sets as data, for the lowering and the code generator: vector
// width, fused multiply-add, register tiles, LLVM's names, and the features
// that a machine needs to run the code.
#pragma once

#include "heddle/Support/Error.h"
#include "heddle/Support/Formats.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace heddle {

/// A register tile: rows by columns of f32.
struct CpuFragment {
  int64_t rows, columns;
};

/// One instruction set.
struct CpuTarget {
  std::string name;     ///< as in --cpu: "x86-64-v3"
  std::string triple;   ///< LLVM's
  std::string cpu;      ///< LLVM's -mcpu
  std::string features; ///< LLVM's -mattr
  std::string tune;     ///< LLVM's -mtune, empty for that of `cpu`
  int64_t lanes = 4;    ///< f32 lanes of a native vector
  bool fusedMultiplyAdd = false;
  bool bf16Dot2 = false; ///< dot product of two bf16 is one instruction, vdpbf16ps
  /// Whether bf16 without that instruction is widened before it is multiplied, features of the left
  /// side too: where what splits a pair takes a port from a multiply-add, as on Intel's 512 bits.
  bool widensBf16 = false;
  bool int8Dot4 = false; ///< dot product of four bytes is one instruction, vpdpbusd
  /// Whether the product of matrices of bytes is one instruction, tdpbusd or tdpbsud.
  bool int8Matrices = false;
  /// Register tiles, the best first; columns are multiples of 16.
  std::vector<CpuFragment> fragments;
  /// Register tiles of products with weights; empty: `fragments`. Sixteen rows should be whole
  /// tiles, because each tile prefetches its share of the next weights.
  std::vector<CpuFragment> weightFragments;
  /// Register tiles of bf16 and int8 products without dot instructions, which split their operands.
  std::vector<CpuFragment> pairFragments;
  /// Register tiles of int4 products, where the sums of a group take as many registers as those of
  /// all groups; empty: `pairFragments`. One vector of columns: more rows share a decoded word.
  std::vector<CpuFragment> groupFragments;
  /// Rows of the register tile for the last rows.
  int64_t fewRows = 2;
  /// CPUID features that the runtime checks at load, by the names of /proc/cpuinfo.
  std::vector<std::string> required;
  /// Multiply-adds of f16, on vectors of twice the lanes, for sums that may be f16.
  bool f16Accumulate = false;

  /// Whether products of this kind have instructions of their own.
  bool multiplies(Arithmetic arithmetic) const;
  /// Whether the target requires, and so may use, a feature of /proc/cpuinfo.
  bool has(std::string_view feature) const {
    return std::find(required.begin(), required.end(), feature) != required.end();
  }
};

/// The described instruction set of this name. `native` is the best that this machine runs, tuned
/// for it.
Expected<CpuTarget> findCpuTarget(std::string_view name);

/// The target without the instructions for products of this kind (not f32): neither used nor
/// required. Kernels without such products then run on more machines.
CpuTarget without(CpuTarget target, Arithmetic arithmetic);
/// The same without products of matrices of bytes alone.
CpuTarget withoutMatrices(CpuTarget target);

/// Names of all described instruction sets.
std::vector<std::string> cpuTargetNames();

} // namespace heddle
