//===- ByteMatrices.h - Products of byte matrices ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The matrix unit of x86 (AMX). It has eight registers of up to 16 rows of 64 bytes, whose shapes
// are configured in memory, and an instruction that multiplies two byte matrices into one of i32.
//
//   left    rows of a view, up to 64 features each         16 x 64 bytes
//   right   four features of 16 columns per row, the       16 x 16 words
//           layout of byte panels
//   sums    i32                                            16 x 16
//
// A tile is summed in blocks of up to two matrices of rows by two of columns. The sums of a block
// take four registers, and each side takes two.
//
// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter "Programming with
// Intel Advanced Matrix Extensions".
#pragma once

#include "../CpuEmitter.h"

namespace heddle::kernel {

/// Emits code for the matrix unit of the processor.
class ByteMatrices {
public:
  static constexpr int64_t rows = 16, rowBytes = 64; ///< maximum of a register
  static constexpr int64_t columns = rowBytes / 4;   ///< columns of sums, and of a panel
  static constexpr int64_t perBlock = 2;             ///< maximum number of matrices of rows, and of
                                                     ///< columns

  explicit ByteMatrices(CpuEmitter &emitter);
  ~ByteMatrices();
  ByteMatrices(const ByteMatrices &) = delete;
  ByteMatrices &operator=(const ByteMatrices &) = delete;

  /// Matrices of rows, and panels that start at `column`. The first row is the row loop's position.
  struct Block {
    int64_t matrices, panels;
    mlir::Value rowsOfMatrix; ///< less than `rows` in the last matrix
    mlir::Value column;
  };
  /// Emits `body` for the blocks of `count` rows and `columns` columns: whole blocks of two
  /// matrices, then single matrices, the last of which may have fewer rows. Left sides have `depth`
  /// features, a multiple of four.
  void overBlocks(mlir::Value count, mlir::Value columns, int64_t depth,
                  llvm::function_ref<void(const Block &)> body);
  /// Calls `act` for each matrix of sums of a block, with its address in `sums`.
  void overSums(const TileMemory &sums, const Block &block,
                llvm::function_ref<void(int64_t i, int64_t j, mlir::Value place)> act);

  /// Registers of a block: sums of matrices (i, j) of rows and columns, left sides and right sides.
  static int64_t sum(int64_t i, int64_t j) { return i * perBlock + j; }
  static int64_t left(int64_t i) { return perBlock * perBlock + i; }
  static int64_t right(int64_t j) { return perBlock * perBlock + perBlock + j; }

  void clear(int64_t to);
  /// Loads or stores the rows of a register, `pitch` bytes apart.
  void load(int64_t to, mlir::Value start, mlir::Value pitch);
  /// Loads matrix `i` of rows of a view of bytes; `first` is a place in the first row of matrix 0.
  void loadLeft(int64_t i, const BoundView &view, Address first);
  void store(int64_t from, mlir::Value start, mlir::Value pitch);
  /// Adds the products of the bytes of `a` and `b` to `sums`; one side is signed.
  enum class Signed : uint8_t { Left, Right };
  void multiply(int64_t sums, int64_t a, int64_t b, Signed side);

private:
  using RowBlock =
      llvm::function_ref<void(int64_t matrices, mlir::Value row, mlir::Value rowsOfMatrix)>;
  void overRows(mlir::Value count, int64_t depth, RowBlock block);
  void configure(mlir::Value count, int64_t depth);
  void call(llvm::StringRef name, mlir::ValueRange operands);
  mlir::Value byte(int64_t value);

  CpuEmitter &e;
  TileMemory configuration;
};

} // namespace heddle::kernel
