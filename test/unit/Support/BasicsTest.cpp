//===- BasicsTest.cpp - Tests of small helpers -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests propagated errors, text from parts, damaged JSON, 16-bit floats, the
// parallel loop, and sinusoids.

#include "heddle/Support/Dims.h"
#include "heddle/Support/Float.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/Parallel.h"
#include "heddle/Support/PositionTables.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <array>
#include <atomic>
#include <cmath>
#include <gmock/gmock.h>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

using namespace heddle;

namespace {

TEST(Error, RepeatsUsersOnOneShortLine) {
  EXPECT_EQ(quotedText("decode"), "'decode'");
  EXPECT_EQ(quotedText("a\n\x1b[31m"), "'a\\x0a\\x1b[31m'");
  // C1 controls, directional marks and bytes that are not UTF-8 are escaped; letters of any
  // language are kept.
  EXPECT_EQ(printable("\xc2\x9b\xe2\x80\xae\xd8\x9c\x9b\xc0\x9b"),
            "\\u009b\\u202e\\u061c\\x9b\\xc0\\x9b");
  EXPECT_EQ(printable("caf\u00e9 \u4f60 \U0001F600"), "caf\u00e9 \u4f60 \U0001F600");
  EXPECT_EQ(printableLines("a\tb\n\x1b"), "a\tb\n\\x1b");
  EXPECT_EQ(quotedText(std::string(5000, 'x')), "'" + std::string(57, 'x') + "...'");
  EXPECT_EQ(quotedText(std::string(56, 'x') + "\xe6\x88\x91\xe6\x88\x91"),
            "'" + std::string(56, 'x') + "...'"); // never splits a character
}

TEST(ErrorDeathTest, LookingInsideWithoutATestEndsTheProgram) {
  Expected<int> value = 3, error = inputError("a: expected 1, found 2");
  EXPECT_DEATH((void)*error, "heddle: expected a value, found a: expected 1, found 2");
  EXPECT_DEATH((void)value.error(), "heddle: expected an error, found a value");
}

Expected<std::unique_ptr<int>> boxed(int value) {
  if (value < 0)
    return usageError("expected at least 0, found " + std::to_string(value));
  return std::make_unique<int>(value);
}

/// The propagated errors have another return type. `calls` counts the completed steps.
Status addBoth(int a, int b, int &sum, int &calls) {
  std::unique_ptr<int> first = HEDDLE_TRY(boxed(a));
  ++calls;
  sum = *first + *HEDDLE_TRY(boxed(*HEDDLE_TRY(boxed(b)))); // nested
  ++calls;
  return {};
}

Expected<int> sumOf(int a, int b, int &calls) {
  int sum = 0;
  HEDDLE_TRY(addBoth(a, b, sum, calls));
  return sum;
}

TEST(Try, GivesTheValueOrEndsTheFunctionWithTheError) {
  int calls = 0;
  auto sum = sumOf(2, 3, calls);
  ASSERT_TRUE(sum);
  EXPECT_EQ(*sum, 5);
  EXPECT_EQ(calls, 2);
  for (auto [a, b, came] : {std::array{-1, 3, 0}, std::array{2, -1, 1}}) {
    calls = 0;
    auto failed = sumOf(a, b, calls);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message, "expected at least 0, found -1");
    EXPECT_EQ(failed.error().kind, ErrorKind::Usage);
    EXPECT_EQ(calls, came);
  }
}

TEST(Text, ListsAndNumbers) {
  struct Named {
    std::string name;
  };
  EXPECT_EQ(namesOf(std::vector<Named>{{"encode"}, {"decode"}}), "encode, decode");
  EXPECT_EQ(namesOf(std::vector<Named>()), "none");
  auto squared = [](int x) { return std::to_string(x * x); };
  EXPECT_EQ(listText(std::array{1, 2, 3}, squared, " or "), "1 or 4 or 9");
  EXPECT_EQ(listText(std::array{3}, squared), "9");
  EXPECT_EQ(shapeText(std::vector<SizeExpr>{SizeExpr::dim("B"), 512}), "[B, 512]");
  EXPECT_EQ(shapeText(std::vector<SizeExpr>()), "[]");
  EXPECT_EQ(formatted("%.2f MB", 1.005), "1.00 MB");
  EXPECT_EQ(formatted("%s%8lld", std::string(300, 'x').c_str(), 7LL),
            std::string(300, 'x') + "       7");
}

TEST(Json, RefusesWhatJsonDoesNotAllow) {
  auto message = [](std::string_view text) { return parseJson(text, "x.json").error().message; };
  EXPECT_EQ(message("{\"a\":1,\"b\":{\"a\":1},\"a\":2}"),
            "x.json: expected each key once, found 'a' twice");
  // A message has one line, whatever the keys are.
  EXPECT_EQ(parseJson(R"({"a\nb": {"a": 1, "a": 2}})", "x.json").error().message,
            "x.json: a\\x0ab: expected each key once, found 'a' twice");
  for (std::string_view text : {"", "{\"a\":", "1 2", "\"\xff\"", "[1e999]", "{'a':1}", "[1,]"})
    EXPECT_THAT(message(text), testing::HasSubstr("expected valid JSON")) << text;
  EXPECT_THAT(message(std::string(1000000, '[')), testing::HasSubstr("nesting"));
}

TEST(Json, KeepsOrderAndKinds) {
  auto value = parseJson(R"({"b":[1,{"x":null}],"a":true})", "x");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->dump(), R"({"b":[1,{"x":null}],"a":true})");
}

TEST(Float, EveryHalfSurvives) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = floatFromHalf(static_cast<uint16_t>(bits));
    bool isNan = (bits & 0x7fff) > 0x7c00;
    ASSERT_EQ(std::isnan(value), isNan);
    if (!isNan) {
      ASSERT_EQ(halfFromFloat(value), bits);
    }
    float wide = floatFromBFloat(static_cast<uint16_t>(bits));
    if (!std::isnan(wide)) {
      ASSERT_EQ(bfloatFromFloat(wide), bits);
    }
  }
  EXPECT_EQ(floatFromHalf(0x0001), 0x1p-24f);
  EXPECT_EQ(floatFromHalf(0x3c01), 1.0f + 0x1p-10f);
  EXPECT_TRUE(std::isinf(floatFromHalf(0xfc00)));
}

/// Tests each midpoint of two f16 neighbours, including denormals: it rounds to even, and adjacent
/// f32 numbers round to the nearer neighbour.
TEST(Float, RoundsEachMiddleOfHalves) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = floatFromHalf(static_cast<uint16_t>(bits)),
                high = floatFromHalf(static_cast<uint16_t>(bits + 1)), middle = (low + high) / 2;
    ASSERT_EQ(halfFromFloat(middle), bits + bits % 2);
    ASSERT_EQ(halfFromFloat(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(halfFromFloat(-std::nextafter(middle, 1e9f)), (bits + 1) | 0x8000);
  }
  EXPECT_EQ(halfFromFloat(0x1p-149f), 0);
  EXPECT_EQ(halfFromFloat(std::bit_cast<float>(0xff802001u)), 0xfe01); // quiet, with its upper bits
}

TEST(Float, RoundsToNearestEven) {
  EXPECT_EQ(halfFromFloat(1.0f + 0x1p-11f), 0x3c00);
  EXPECT_EQ(halfFromFloat(1.0f + 0x3p-11f), 0x3c02);
  EXPECT_EQ(halfFromFloat(65519.0f), 0x7bff);
  EXPECT_EQ(halfFromFloat(65520.0f), 0x7c00);
  EXPECT_EQ(halfFromFloat(0x1p-25f), 0x0000);
  EXPECT_EQ(halfFromFloat(0x1.8p-25f), 0x0001);
  EXPECT_EQ(halfFromFloat(-0x1.ff8p-15f), 0x83ff);
  EXPECT_EQ(bfloatFromFloat(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(bfloatFromFloat(1.0f + 0x3p-8f), 0x3f82);
  EXPECT_EQ(bfloatFromFloat(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(Parallel, RunsEachIndexOnce) {
  for (int threads : {0, 1, 2, 5})
    for (int64_t n : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> runs(n);
      parallelFor(n, threads, [&](int64_t i, int thread) {
        ++runs[i];
        EXPECT_LT(thread, threads ? threads : processorCount());
      });
      for (auto &count : runs)
        ASSERT_EQ(count, 1);
    }
}

TEST(Parallel, PiecesAreNeighbours) {
  for (int threads : {1, 2, 3, 7})
    for (int64_t n : {1, 2, 7, 1000})
      for (int64_t i = 0; i < n; ++i) {
        int owner = pieceOf(n, threads, i);
        EXPECT_GE(i, pieceEnd(n, threads, owner - 1)) << n << " on " << threads;
        EXPECT_LT(i, pieceEnd(n, threads, owner)) << n << " on " << threads;
      }
}

TEST(PositionTables, RowsAndNames) {
  std::vector<float> table(3 * 16, -1);
  ASSERT_TRUE(fillTable("sinusoidal(5)", table));
  EXPECT_EQ(table[16], static_cast<float>(std::sin(1.0)));
  EXPECT_EQ(table[33], static_cast<float>(std::cos(2.0)));
  // An odd number of columns ends with a sine.
  EXPECT_EQ(table[36], static_cast<float>(std::sin(2.0 / std::pow(10000.0, 4.0 / 5))));
  EXPECT_EQ(table[37], 0);
  // Cosines of both angles of a row, followed by their sines.
  ASSERT_TRUE(fillTable("rotary(4, 100)", table));
  EXPECT_EQ(table[16], static_cast<float>(std::cos(1.0)));
  EXPECT_EQ(table[33], static_cast<float>(std::cos(0.2)));
  EXPECT_EQ(table[34], static_cast<float>(std::sin(2.0)));
  EXPECT_EQ(table[35], static_cast<float>(std::sin(0.2)));
  EXPECT_EQ(table[36], 0);
  // Likewise for given frequencies, preceded by the factor of all entries.
  ASSERT_TRUE(fillTable("rotation(2.5, 1, 0.25)", table));
  EXPECT_EQ(table[16], static_cast<float>(2.5 * std::cos(1.0)));
  EXPECT_EQ(table[33], static_cast<float>(2.5 * std::cos(0.5)));
  EXPECT_EQ(table[34], static_cast<float>(2.5 * std::sin(2.0)));
  EXPECT_EQ(table[36], 0);
  for (const char *other : {"rotary(4)", "rotary(5, 100)", "rotary(4, 0.5)", "rotary(4,100)",
                            "rotation(1)", "rotation(0, 1)", "rotation(1, -1)"})
    EXPECT_FALSE(fillTable(other, table));
  for (const char *other :
       {"cosine(5)", "sinusoidal()", "sinusoidal(0)", "sinusoidal(5", "sinusoidal(5.5)",
        "sinusoidal(5, 5)", "sinusoidal(nan)", "sinusoidal(5) "})
    EXPECT_FALSE(fillTable(other, table));
}

} // namespace
