//===- MaskTest.cpp - Masks written in C++ ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the text that the builder produces, and that the compiler parses it as
// intended.
#include "heddle/Compiler/Mask.h"
#include "heddle/Compiler/Compiler.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace heddle;
using namespace heddle::mask;
using testing::HasSubstr;

namespace {

TEST(MaskBuilder, Text) {
  Formula i = query(), j = key();
  EXPECT_EQ(((causal() & window(255, 0)) | !keep("seen")).text(),
            "((causal & window(255, 0)) | !(keep(seen)))");
  EXPECT_EQ((causal("cached") & causal(-2) & window(1, 2, "n")).text(),
            "((causal(cached) & causal(-2)) & window(1, 2, n))");
  EXPECT_EQ(where((0 <= i - j && i - j < 256) || j < 16).text(),
            "where((((0 <= (i - j)) && ((i - j) < 256)) || (j < 16)))");
  EXPECT_EQ(where(table("t")[i] == table("t").ofBatch(j + 1)).text(),
            "where((t[i] == t[b, (j + 1)]))");
  EXPECT_EQ((denseRule("table") + relative(32, 128)).text(), "dense(table) + relative(32, 128)");
  EXPECT_EQ((queryDistance(8) + keyDistance(16)).text(), "query_distance(8) + key_distance(16)");
  EXPECT_EQ(alibi(0.125).text(), "alibi(1.250000000e-01)");
  EXPECT_EQ((alibi() + whereRule(choose(i < j, -0.5, exp(Formula(0.0))))).text(),
            "alibi + where(((i < j) ? -5.000000000e-01 : exp(0.000000000e+00)))");
  EXPECT_EQ(where(j > INT32_MIN).text(), "where((j > (-2147483647 - 1)))");
}

/// The compiler accepts each mask and each operator of formulas.
TEST(MaskBuilder, TheCompilerTakesIt) {
  Formula i = query(), j = key(), b = batch(), h = head();
  Formula truth =
      (min(i, j) * 2 / 3 % 4 >= -max(abs(i - j), h) && !(i > j)) || b != 1 || i <= j || i < 2;
  Mask all = (causal() & window(3, 1, 0)) | (prefix("p") & !dense("d")) | documents("q", "k") |
             where(truth) | (hide("x") & lengths("n"));
  CompileOptions options;
  options.mask = {"encoder.mask=" + all.text()};
  auto text =
      emitStage(HEDDLE_SOURCE_DIR "/test/data/models/tiny.json", Stage::Transformer, options);
  ASSERT_TRUE(text) << text.error().message;
  for (const char *op :
       {"mask.prefix", "mask.documents", "mask.where", "mask.lengths", "mask.or", "arith.minsi"})
    EXPECT_THAT(*text, HasSubstr(op));
}

} // namespace
