//===- ByteMatrices.h - Products of matrices of bytes -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The matrix unit of x86 (AMX): eight registers of up to 16 rows of 64 bytes, whose shapes a
// configuration in memory names, and an instruction that multiplies two of bytes into one of i32.
//
//   left    rows of a view, up to 64 features of each      16 x 64 bytes
//   right   four features of 16 columns a row, as panels   16 x 16 words
//           of bytes have them
//   sums    i32                                            16 x 16
//
// A tile is summed by blocks of up to two matrices of rows by two of columns, which take four of the
// registers; two more hold each side.
//
// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter "Programming with
// Intel Advanced Matrix Extensions".
#pragma once

#include "../CpuEmitter.h"

namespace heddle::kernel {

/// Emits code for the matrix unit of the processor.
class ByteMatrices {
public:
  static constexpr int64_t rows = 16, rowBytes = 64; ///< of a register, at most
  static constexpr int64_t columns = rowBytes / 4;   ///< of sums, and of a panel
  static constexpr int64_t perBlock = 2;             ///< matrices of rows, and of columns, at most

  explicit ByteMatrices(CpuEmitter &emitter);
  ~ByteMatrices();
  ByteMatrices(const ByteMatrices &) = delete;
  ByteMatrices &operator=(const ByteMatrices &) = delete;

  /// Matrices of rows, and panels of columns from `column` on; the row loop's position is the first row.
  struct Block {
    int64_t matrices, panels;
    mlir::Value rowsOfMatrix; ///< fewer than `rows` in the last matrix
    mlir::Value column;
  };
  /// Runs `body` for the blocks of `count` rows and `columns` columns: whole ones of two matrices, then
  /// single matrices, the last of which may have fewer rows. Left sides have `depth` features, a
  /// multiple of four.
  void overBlocks(mlir::Value count, mlir::Value columns, int64_t depth,
                  llvm::function_ref<void(const Block &)> body);
  /// Calls `act` for each matrix of sums in a block, with its place in `sums`.
  void overSums(const TileMemory &sums, const Block &block,
                llvm::function_ref<void(int64_t i, int64_t j, mlir::Value place)> act);

  /// Registers of a block: sums of matrices (i, j) of rows and columns, left and right sides.
  static int64_t sum(int64_t i, int64_t j) { return i * perBlock + j; }
  static int64_t left(int64_t i) { return perBlock * perBlock + i; }
  static int64_t right(int64_t j) { return perBlock * perBlock + perBlock + j; }

  void clear(int64_t to);
  /// Loads and stores the rows of a register, `pitch` bytes apart.
  void load(int64_t to, mlir::Value start, mlir::Value pitch);
  /// Loads matrix `i` of rows of a view of bytes; `first` is the place in the first matrix's first row.
  void loadLeft(int64_t i, const BoundView &view, Address first);
  void store(int64_t from, mlir::Value start, mlir::Value pitch);
  /// Adds the products of bytes in `a` and in `b` to `sums`; one side's have a sign.
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
