//===- PicturesTest.cpp - The pictures of the language page ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each mask of docs/language.md has a picture of the tiles of its first
// example. The captions of the page give sizes and data. The picture must equal
// the map that the compiler computes.

#include "heddle/Analysis/TileClasses.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <cmath>
#include <map>
#include <regex>

using namespace mlir;
using namespace heddle::transformer;

namespace {

/// The first group of the first match of a pattern.
std::string find(const std::string &text, const std::string &pattern) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(pattern)) ? match[1].str() : "";
}

std::vector<uint32_t> numbers(const std::string &text) {
  std::vector<uint32_t> result;
  std::regex number("[0-9]+");
  for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it)
    result.push_back(std::stoul(it->str()));
  return result;
}

class PicturesTest : public ::testing::Test {
protected:
  PicturesTest() {
    context.loadDialect<TransformerDialect, arith::ArithDialect, func::FuncDialect,
                        math::MathDialect>();
  }

  /// The sections of ops, by name.
  static std::map<std::string, std::string> sections() {
    auto page = llvm::MemoryBuffer::getFile(HEDDLE_SOURCE_DIR "/docs/language.md");
    std::map<std::string, std::string> result;
    StringRef left = (*page)->getBuffer();
    while (!(left = left.substr(left.find("\n### `transformer.mask."))).empty()) {
      left = left.drop_front(strlen("\n### `"));
      StringRef section = left.take_front(left.find("\n### "));
      result[section.take_until([](char c) { return c == '`'; }).str()] = section.str();
    }
    return result;
  }

  /// Data of an argument in a caption. Its numbers are the last dimension of its type, or the last
  /// two of a square table.
  static MaskData dataOf(Value argument, std::vector<uint32_t> values) {
    auto type = cast<RankedTensorType>(argument.getType());
    SmallVector<int64_t> shape(type.getRank(), 1);
    shape.back() = static_cast<int64_t>(values.size());
    if (type.getRank() == 4 && type.isDynamicDim(2)) // a square table
      shape[2] = shape[3] = static_cast<int64_t>(std::sqrt(static_cast<double>(values.size())));
    return {shape, std::move(values)};
  }

  /// The picture that the compiler computes for the first example of the section, with the
  /// caption's sizes and data.
  std::string draw(const std::string &section, const std::string &caption) {
    std::string example = section.substr(section.find("```mlir\n") + 8);
    example = example.substr(0, example.find("```"));
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(example, &context);
    func::FuncOp func = *module->getOps<func::FuncOp>().begin();
    AttentionOp op = *func.getOps<AttentionOp>().begin();
    std::string header = find(example, "func.func @\\w+\\(([^)]*)\\)");
    std::regex nameOfArgument("%(\\w+):");
    MaskInputs inputs;
    std::sregex_iterator name(header.begin(), header.end(), nameOfArgument);
    for (BlockArgument argument : func.getArguments()) {
      std::string data = find(caption, (*name++)[1].str() + " = \\[([^\\]]*)\\]");
      if (!data.empty())
        inputs[argument] = dataOf(argument, numbers(data));
    }
    auto sizes = numbers(caption);
    llvm::Expected<TileMap> map =
        computeTileMap(op, {0, 0, sizes[2], sizes[3]}, inputs, sizes[0], sizes[1]);
    if (!map)
      return llvm::toString(map.takeError());
    std::string result;
    for (int64_t row = 0; row < map->rows; ++row, result += "\n")
      for (int64_t column = 0; column < map->columns; ++column)
        result += ".o#"[static_cast<int>(map->at(row, column))];
    return result;
  }

  MLIRContext context;
};

TEST_F(PicturesTest, EachMaskHasThePictureOfItsTiles) {
  int pictures = 0;
  for (const auto &[op, section] : sections()) {
    if (op == "transformer.mask.load") // part of a formula
      continue;
    std::string caption = find(section, "\n(Tiles of [^\n]*:)\n```"),
                picture = find(section, "\nTiles of [^\n]*:\n```\n([^`]*)```");
    ASSERT_FALSE(caption.empty()) << op;
    EXPECT_EQ(draw(section, caption), picture) << op;
    ++pictures;
  }
  EXPECT_EQ(pictures, 11);
}

} // namespace
