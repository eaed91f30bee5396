//===- SvgTest.cpp - Self-contained drawings and pages --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests words that look like markup, short numbers, and axes with round marks.

#include "heddle/Support/Svg.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace heddle;
using testing::Eq;
using testing::HasSubstr;
using testing::Not;

TEST(Svg, EscapesWhatWouldBeMarkup) {
  EXPECT_EQ(escapedHtml("<s> & \"e\""), "&lt;s&gt; &amp; &#34;e&#34;");
  EXPECT_EQ(svg::text(1, 2.5, "a<b", "class=\"mark\""),
            "<text x=\"1\" y=\"2.5\" class=\"mark\">a&lt;b</text>\n");
  EXPECT_THAT(htmlPage("<h1>{{title}}</h1>{{body}}.", "a<b", "<p>{{title}}</p>"),
              Eq("<h1>a&lt;b</h1><p>{{title}}</p>."));
}

TEST(Svg, WritesShortNumbers) {
  EXPECT_EQ(svg::number(3), "3");
  EXPECT_EQ(svg::number(0.5), "0.5");
  EXPECT_EQ(svg::number(1.0 / 3), "0.33");
  EXPECT_EQ(svg::number(-0.001), "0");
  EXPECT_EQ(svg::number(100), "100");
}

TEST(Svg, MarksAxesAtRoundNumbers) {
  std::string axes = svg::axes({10, 20, 640, 480, 300, 7}, "keys", "queries");
  EXPECT_THAT(axes, HasSubstr(">50</text>"));
  EXPECT_THAT(axes, HasSubstr(">300</text>"));
  EXPECT_THAT(axes, Not(HasSubstr(">25</text>")));
  EXPECT_THAT(axes, HasSubstr(">6</text>"));
  EXPECT_THAT(axes, Not(HasSubstr(">7</text>")));
  EXPECT_THAT(axes, HasSubstr(">queries</text>"));
}

TEST(Svg, CellsOfOneColourBelowEachOtherAreOnePiece) {
  const svg::Plot plot{10, 20, 40, 60, 2, 3};
  const int64_t rows[] = {0, 1, 2, 3}, columns[] = {0, 1, 2};
  const std::string colours[] = {"red", "", "blue"};
  const size_t map[3][2] = {{0, 0}, {0, 1}, {2, 0}};
  std::string cells = svg::cells(plot, rows, columns, colours,
                                 [&](size_t row, size_t column) { return map[row][column]; });
  EXPECT_THAT(cells,
              HasSubstr("fill=\"red\" d=\"M10 20h20V60h-20zM30 20h20V40h-20zM30 60h20V80h-20z\""));
  EXPECT_THAT(cells, HasSubstr("fill=\"blue\" d=\"M10 60h20V80h-20z\""));
  EXPECT_THAT(cells, Not(HasSubstr("fill=\"\"")));
}

TEST(Svg, AScaleStandsBetweenItsEnds) {
  const std::string fills[] = {"fill=\"a\"", "fill=\"b\""};
  auto [end, drawn] = svg::scale(0, 5, "-1", "20", 4, fills);
  EXPECT_THAT(drawn, HasSubstr("class=\"mark least\">-1</text>"));
  EXPECT_THAT(drawn, HasSubstr("class=\"mark greatest\">20</text>"));
  EXPECT_LT(drawn.find("fill=\"a\""), drawn.find("fill=\"b\""));
  EXPECT_DOUBLE_EQ(end, 24 + 8 + 8 + svg::textWidth("20", 12));
}

TEST(Svg, TakesLettersBeyondLatinForSquares) {
  EXPECT_DOUBLE_EQ(svg::textWidth("我是谁", 12), 36);
  EXPECT_LT(svg::textWidth("who", 12), 36);
  EXPECT_EQ(svg::textWidth("é", 12), svg::textWidth("e", 12));
}

TEST(Svg, BreaksLinesAtSpacesAndInsideLongWordsOnly) {
  using Lines = std::vector<std::string>;
  double letter = svg::textWidth("a", 10);
  EXPECT_EQ(svg::lines("ab cd e", 10, 5 * letter), (Lines{"ab cd", "e"}));
  EXPECT_EQ(svg::lines("ab cd e", 10, 4 * letter), (Lines{"ab", "cd e"}));
  EXPECT_EQ(svg::lines("a bcdefg h", 10, 4 * letter), (Lines{"a", "bcde", "fg h"}));
  EXPECT_EQ(svg::lines("ééé", 10, 2 * letter), (Lines{"éé", "é"}));
  EXPECT_EQ(svg::lines("abc", 10, 0), (Lines{"a", "b", "c"})); // at least one letter for each line
  EXPECT_EQ(svg::lines("", 10, 40), (Lines{""}));
}
