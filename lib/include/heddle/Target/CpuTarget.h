//===- CpuTarget.h - Instruction sets as data ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instruction sets as data for the lowering and the code generator: vector
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
  std::string name;     ///< name for --cpu, such as "x86-64-v3"
  std::string triple;   ///< LLVM's target triple
  std::string cpu;      ///< LLVM's -mcpu
  std::string features; ///< LLVM's -mattr
  std::string tune;     ///< LLVM's -mtune; empty: the default of `cpu`
  int64_t lanes = 4;    ///< f32 lanes of a native vector
  bool fusedMultiplyAdd = false;
  bool bf16Dot2 = false; ///< whether the dot product of two bf16 is one instruction, vdpbf16ps
  /// Whether bf16 without that instruction is widened before the multiplication, also on the left
  /// side. This pays if unpacking a pair takes a port from a multiply-add, as with 512-bit vectors
  /// on Intel.
  bool widensBf16 = false;
  bool int8Dot4 = false; ///< whether the dot product of four bytes is one instruction, vpdpbusd
  /// Whether the product of byte matrices is one instruction, tdpbusd or tdpbsud.
  bool int8Matrices = false;
  /// Whether the product of bf16 matrices is one instruction, tdpbf16ps.
  bool bf16Matrices = false;
  /// Register tiles, the best first. Columns are multiples of 16.
  std::vector<CpuFragment> fragments;
  /// Register tiles of products with weights; empty: `fragments`. Sixteen rows should be a whole
  /// number of tiles, because each tile prefetches its share of the next weights.
  std::vector<CpuFragment> weightFragments;
  /// Register tiles of bf16 and int8 products without dot instructions, which unpack their
  /// operands.
  std::vector<CpuFragment> pairFragments;
  /// Register tiles of int4 products, in which the sums of a group need as many registers as the
  /// total sums; empty: `pairFragments`. They have one vector of columns, so that more rows share a
  /// decoded word.
  std::vector<CpuFragment> groupFragments;
  /// Rows of the register tile for the last rows.
  int64_t fewRows = 2;
  /// CPUID features that the runtime checks at load, with the names of /proc/cpuinfo.
  std::vector<std::string> required;
  /// Whether f16 multiply-adds exist, on vectors with twice the lanes, for sums that may be f16.
  bool f16Accumulate = false;

  /// Whether products of this kind have their own instructions.
  bool multiplies(Arithmetic arithmetic) const;
  /// Whether the target requires a feature of /proc/cpuinfo and may therefore use it.
  bool has(std::string_view feature) const {
    return std::find(required.begin(), required.end(), feature) != required.end();
  }
};

/// Name of `native` with a matrix unit of bf16, on machines that have one.
inline constexpr std::string_view nativeBf16Matrices = "native-amx-bf16";

/// The instruction set with this name. `native` is the best instruction set of this machine, with
/// its tuning. Returns an error if the name is unknown, or if `native` finds none.
Expected<CpuTarget> findCpuTarget(std::string_view name);

/// The target without the instructions for products of this kind (not f32), which it then neither
/// uses nor requires. Kernels without such products run on more machines.
CpuTarget without(CpuTarget target, Arithmetic arithmetic);
/// Like `without`, but removes only the products of byte matrices.
CpuTarget withoutMatrices(CpuTarget target);

/// Names of all described instruction sets.
std::vector<std::string> cpuTargetNames();

} // namespace heddle
