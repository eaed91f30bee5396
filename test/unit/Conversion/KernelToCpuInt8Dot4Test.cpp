//===- KernelToCpuInt8Dot4Test.cpp - Products of bytes --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of products of bytes. Sums are exact on every instruction set: nothing saturates, not even
// for the largest sums. Codes are stored as bytes.

#include "KernelRunner.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

namespace {

int64_t padded(int64_t n) { return (n + 15) / 16 * 16; }

struct Bytes {
  explicit Bytes(int64_t count, uint8_t value = 0) : memory(count / 4 + 1) {
    std::memset(memory.data(), value, static_cast<size_t>(count));
  }
  uint8_t &operator[](int64_t i) { return reinterpret_cast<uint8_t *>(memory.data())[i]; }
  Floats memory;
};

struct Tile {
  int64_t rows = 32, columns = 48;
};

/// Multiplies rows by columns and stores the product as a number and as its low byte. Adds two
/// products with the same weight.
std::string body(int64_t features, int64_t outputs, const std::string &plan, Tile tile) {
  std::string k = std::to_string(features), n = std::to_string(outputs),
              rows = std::to_string(tile.rows), columns = std::to_string(tile.columns);
  std::string x = "!kernel.view<[d0, " + k + "], i8>",
              w = "!kernel.view<[" + n + ", " + k + "], i8, panel = 16>",
              y = "!kernel.view<[d0, " + n + "], f32>", q = "!kernel.view<[d0, " + n + "], i8>";
  auto type = [&](const std::string &element) {
    return "tensor<" + rows + "x" + columns + "x" + element + ">";
  };
  auto product = [&](const std::string &name, const std::string &weight) {
    return "  %" + name + " = kernel.contract %x[%i], %" + weight + "[%j] : " + x + ", " + w +
           " -> " + type("i32") + "\n";
  };
  return "kernel.func @quads(%x: " + x + ", %w: " + w + ", %v: " + w + ", %y: " + y + ", %q: " + q +
         ") scalars(d0) grid(%i = d0 by " + rows + ", %j = " + n + " by " + columns +
         ") attributes {plan = #kernel.plan<" + plan + ">} {\n" +
         "  %d0 = kernel.scalar \"d0\" : index\n  %left = arith.subi %d0, %i : index\n" +
         product("a", "w") + product("b", "v") + "  %c = arith.addi %a, %b : " + type("i32") +
         "\n  %f = arith.sitofp %c : " + type("i32") + " to " + type("f32") +
         "\n  kernel.store %f, %y[%i, %j] rows(%left) : " + type("f32") + ", " + y +
         "\n  %t = arith.trunci %c : " + type("i32") + " to " + type("i8") +
         "\n  kernel.store %t, %q[%i, %j] rows(%left) : " + type("i8") + ", " + q + "\n}\n";
}

class Int8Dot4 : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!CompiledKernel::runsHere(GetParam()))
      GTEST_SKIP() << "no such processor, no emulator";
  }

  /// Checks a product whose operands are filled by `byteOf(row, k, isLeft)`.
  void check(int64_t rows, int64_t features, int64_t outputs,
             uint8_t (*byteOf)(int64_t row, int64_t k, bool isLeft),
             const std::string &plan = "mapping = cpu_tiles, ahead = 1", Tile tile = {}) {
    auto kernel = CompiledKernel::create(body(features, outputs, plan, tile), GetParam());
    ASSERT_TRUE(kernel) << kernel.error().message;
    int64_t pitch = padded(features), columns = padded(outputs);
    // Padding is arbitrary on the left and zero on the right.
    Bytes x(rows * pitch, 0xa5), w(columns * pitch), q(rows * columns);
    Floats y(rows * columns);
    for (int64_t k = 0; k < features; ++k) {
      for (int64_t r = 0; r < rows; ++r)
        x[r * pitch + k] = byteOf(r, k, true);
      for (int64_t n = 0; n < outputs; ++n)
        w[n / 16 * 16 * pitch + (k / 4 * 16 + n % 16) * 4 + k % 4] = byteOf(n, k, false);
    }
    std::span<std::byte> weight = w.memory.bytes();
    kernel->run({x.memory.bytes(), weight, weight, y.bytes(), q.memory.bytes()}, {rows});
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t n = 0; n < outputs; ++n) {
        int32_t sum = 0;
        for (int64_t k = 0; k < features; ++k)
          sum += 2 * byteOf(r, k, true) * static_cast<int8_t>(byteOf(n, k, false));
        ASSERT_EQ(y[r * columns + n], static_cast<float>(sum))
            << features << ": " << r << ", " << n;
        ASSERT_EQ(q[r * columns + n], static_cast<uint8_t>(sum))
            << features << ": " << r << ", " << n;
      }
  }
};

uint8_t anyByte(int64_t row, int64_t k, bool isLeft) {
  return static_cast<uint8_t>((row * 131 + k * 29 + (isLeft ? 7 : 90)) * 2654435761u >> 13);
}

TEST_P(Int8Dot4, SumsAreExact) {
  for (auto [rows, features, outputs] : {std::array<int64_t, 3>{1, 64, 48},
                                         {1, 500, 96},
                                         {1, 37, 48},
                                         {13, 37, 48},
                                         {33, 500, 96},
                                         {7, 1, 40},
                                         {4, 64, 16},
                                         {16, 128, 80},
                                         {61, 320, 112},
                                         {2, 6, 16}})
    check(rows, features, outputs, anyByte);
}

/// Whole and partial matrices of rows and columns, next to each other and alone.
TEST_P(Int8Dot4, LargeTiles) {
  for (int64_t rows : {5, 33, 47, 48, 81, 100})
    check(rows, 200, 176, anyByte, "mapping = cpu_tiles, ahead = 1", {96, 64});
  check(70, 128, 32, anyByte, "mapping = cpu_tiles", {4, 32});
}

TEST_P(Int8Dot4, NothingSaturates) {
  for (int64_t rows : {5, 33}) {
    check(rows, 120, 48, [](int64_t, int64_t, bool isLeft) { return uint8_t(isLeft ? 255 : 127); });
    check(rows, 120, 48, [](int64_t, int64_t, bool isLeft) { return uint8_t(isLeft ? 255 : 128); });
  }
}

/// Panels with many features are multiplied as stored, because widened panels do not fit on the
/// stack.
TEST_P(Int8Dot4, ManyFeatures) { check(21, 4201, 48, anyByte); }

TEST_P(Int8Dot4, InBlocksOfFeatures) {
  for (int64_t rows : {1, 21})
    check(rows, 200, 48, anyByte, "mapping = cpu_tiles, ahead = 1, block = 64");
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, Int8Dot4,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v3-vnni", "x86-64-v4",
                                         "x86-64-v4-vnni", "x86-64-v4-amx", "aarch64"),
                         [](const auto &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             c = c == '-' ? '_' : c;
                           return name;
                         });

} // namespace
