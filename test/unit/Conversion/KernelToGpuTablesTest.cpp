//===- KernelToGpuTablesTest.cpp - Tables and scalar loops on Vulkan ------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of the non-arithmetic ops of masks: lookups outside a table, the range of a part of a
// table, and nested loops on scalars. Integers are summed as integers, so that only one addition
// rounds.

#include "GpuBodies.h"

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr int64_t rows = 40, entries = 37, lines = 9, columns = 64;

/// Computes y[r, c] = t[id[r] + c] + m[id[r], c] + 64 * low + 4096 * high, where [low, high] is the
/// range of t over the tile's rows.
const char *const body = R"(
kernel.func @tables(%ids: !kernel.view<[d0], i32>, %t: !kernel.view<[d1], i32>,
                    %m: !kernel.view<[d2, 20], f32>, %y: !kernel.view<[d0, 64], f32>)
    scalars(d0, d1, d2) grid(%i = d0 by 16) {
  %zero = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %d0 = kernel.scalar "d0" : index
  %left = arith.subi %d0, %i : index
  %id = kernel.load %ids[%i] as rows : !kernel.view<[d0], i32> -> tensor<16x1xi32>
  %r = kernel.broadcast %id : tensor<16x1xi32> -> tensor<16x64xi32>
  %c = kernel.iota columns from %zero : tensor<16x64xi32>
  %x = arith.addi %r, %c : tensor<16x64xi32>
  %v = kernel.lookup %t[%x] : !kernel.view<[d1], i32>, tensor<16x64xi32> -> tensor<16x64xi32>
  %w = kernel.lookup %m[%r, %c] : !kernel.view<[d2, 20], f32>, tensor<16x64xi32>, tensor<16x64xi32> -> tensor<16x64xf32>
  %end = arith.addi %i, %c16 : index
  %low, %high = kernel.table_range %t[%i to %end] : !kernel.view<[d1], i32>
  %lows = kernel.broadcast %low : i32 -> tensor<16x64xi32>
  %highs = kernel.broadcast %high : i32 -> tensor<16x64xi32>
  %k6 = arith.constant dense<6> : tensor<16x64xi32>
  %k12 = arith.constant dense<12> : tensor<16x64xi32>
  %lows12 = arith.shli %lows, %k6 : tensor<16x64xi32>
  %highs18 = arith.shli %highs, %k12 : tensor<16x64xi32>
  %s0 = arith.addi %v, %lows12 : tensor<16x64xi32>
  %s1 = arith.addi %s0, %highs18 : tensor<16x64xi32>
  %s2 = arith.sitofp %s1 : tensor<16x64xi32> to tensor<16x64xf32>
  %s3 = arith.addf %s2, %w : tensor<16x64xf32>
  kernel.store %s3, %y[%i, %zero] rows(%left) : tensor<16x64xf32>, !kernel.view<[d0, 64], f32>
})";

/// Sums a * e over e < a < n, and tests whether some e is 3, which only the loops determine.
const char *const loops = R"(
kernel.func @loops(%y: !kernel.view<[d0, 64], f32>) scalars(d0, d1) grid(%i = d0 by 16) {
  %zero = arith.constant 0 : index
  %d0 = kernel.scalar "d0" : index
  %left = arith.subi %d0, %i : index
  %d1 = kernel.scalar "d1" : index
  %n = arith.index_cast %d1 : index to i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %no = arith.constant false
  %s, %b = scf.for %a = %c0 to %n step %c1 iter_args(%s0 = %c0, %b0 = %no) -> (i32, i1) : i32 {
    %s1, %b1 = scf.for %e = %c0 to %a step %c1 iter_args(%s2 = %s0, %b2 = %b0) -> (i32, i1) : i32 {
      %p = arith.muli %a, %e : i32
      %s3 = arith.addi %s2, %p : i32
      %is = arith.cmpi eq, %e, %c3 : i32
      %b3 = arith.ori %b2, %is : i1
      scf.yield %s3, %b3 : i32, i1
    }
    scf.yield %s1, %b1 : i32, i1
  }
  %minus = arith.subi %c0, %s : i32
  %chosen = arith.select %b, %s, %minus : i32
  %t = kernel.broadcast %chosen : i32 -> tensor<16x64xi32>
  %f = arith.sitofp %t : tensor<16x64xi32> to tensor<16x64xf32>
  kernel.store %f, %y[%i, %zero] rows(%left) : tensor<16x64xf32>, !kernel.view<[d0, 64], f32>
})";

class KernelToGpuTables : public GpuTest {};

struct Tables {
  Arena memory{1 << 16}, weights{64, true};
  size_t ids = memory.take(rows), t = memory.take(entries), m = memory.take(lines * stored(20)),
         y = memory.take(rows * columns);

  Tables() {
    Random random;
    for (int64_t i = 0; i < rows; ++i)
      memory.wordsAt(ids)[i] = random.below(80) - 30; // before, inside and after the tables
    for (int64_t i = 0; i < entries; ++i)
      memory.wordsAt(t)[i] = random.below(63) - 31;
    for (int64_t i = 0; i < lines * 20; ++i) // padding of a line stays NaN
      memory.at(m)[i / 20 * stored(20) + i % 20] = static_cast<float>(random.below(1000)) / 1024;
  }
  int32_t entry(int64_t x) { return x < 0 || x >= entries ? 0 : memory.wordsAt(t)[x]; }
  float line(int64_t r, int64_t c) {
    return r < 0 || r >= lines || c >= 20 ? 0 : memory.at(m)[r * stored(20) + c];
  }
  float expected(int64_t r, int64_t c) {
    int32_t low = entry(r / 16 * 16), high = low, id = memory.wordsAt(ids)[r];
    for (int64_t x = r / 16 * 16; x < r / 16 * 16 + 16; ++x) {
      low = std::min(low, entry(x));
      high = std::max(high, entry(x));
    }
    return static_cast<float>(entry(id + c) + low * 64 + high * 4096) + line(id, c);
  }
};

} // namespace

TEST_F(KernelToGpuTables, LookupsStayInTheirTables) {
  Tables tables;
  Shader shader = compile(body);
  ASSERT_FALSE(shader.empty());
  Arena &memory = tables.memory;
  run(shader, memory, tables.weights, {rows, entries, lines},
      {memory.argument(tables.ids), memory.argument(tables.t), memory.argument(tables.m),
       memory.argument(tables.y)},
      {heddle::test::tiles(rows, 16), 1, 1});
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      ASSERT_EQ(memory.at(tables.y)[r * columns + c], tables.expected(r, c)) << r << ", " << c;
}

TEST_F(KernelToGpuTables, LoopsInsideEachOther) {
  Shader shader = compile(loops);
  ASSERT_FALSE(shader.empty());
  for (auto [n, sum] : {std::pair{0, 0}, {1, 0}, {3, -2}, {6, 85}}) {
    Arena memory(1 << 12), weights(64, true);
    size_t y = memory.take(columns);
    run(shader, memory, weights, {1, n}, {memory.argument(y)}, {1, 1, 1});
    for (int64_t c = 0; c < columns; ++c)
      ASSERT_EQ(memory.at(y)[c], static_cast<float>(sum)) << n << ", " << c;
  }
}
