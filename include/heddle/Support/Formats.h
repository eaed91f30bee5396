//===- Formats.h - Number formats ------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known of a format stands here, in a row of one of two tables: how
// elements of a type lie in memory, and what the products of a `--dtype` multiply.
// Validation, planning, dialects, emitters, `--dtype`, `--verify`, tests and the bench
// ask a row. Three functions beside a row know a format by its name: pack (lib/Pack),
// the reference's unpack (ExecutionEngine), and decode to a register (the strategies
// of Conversion).
//
// How codes are made and what they stand for, `transformer.quantize` defines.
#pragma once

#include "heddle/Support/Fields.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace heddle {

/// What is multiplied and added: f32; pairs of bf16 into f32 (vdpbf16ps); four bytes into i32
/// (vpdpbusd); f16.
enum class Arithmetic : uint8_t { F32, BF16, Int8, F16 };
/// Those for which some processors have instructions of their own.
inline constexpr Arithmetic narrowArithmetics[] = {Arithmetic::BF16, Arithmetic::Int8,
                                                   Arithmetic::F16};

/// Element types of tensors. I8 and I4 are codes, which callers neither give nor get.
HEDDLE_ENUM(inline, DType, F32, F16, BF16, I32, I64, Bool, I8, I4)
const char *toString(DType type); ///< "f32", "i32", "bool", …

//===- Elements in memory ------------------------------------------------===//

/// How elements of a type lie in memory.
///
/// A panel is 16 rows of a matrix. It goes by blocks of columns, a block by lines of 64 bytes: four
/// bytes a row, elements of neighbouring columns side by side in them.
struct ElementFormat {
  enum class Kind : uint8_t { Float, Index, Code };
  DType type;
  Kind kind;
  int64_t bits;        ///< of an element as callers give it; scales count apart
  int64_t significant; ///< bits of precision, the sign's included; 0: exact
  int64_t perWord;     ///< elements of a word in planned memory; what is wider is one word there
  int64_t blockColumns, blockLines; ///< of panels; 0: there are none of this type
  /// Columns of a row that share scales, which lie in the lines behind their codes; 0: none lie there.
  int64_t group;

  /// Whether a word in planned memory has several elements.
  constexpr bool isNarrow() const { return perWord > 1; }
  /// Whether scales lie beside the codes: such a matrix is stored in panels, and as a weight only.
  constexpr bool holdsScales() const { return group > 0; }
  constexpr bool isCode() const { return kind == Kind::Code; }
  constexpr bool isFloat() const { return kind == Kind::Float; }
};

namespace format_rows {
using enum DType;
using enum ElementFormat::Kind;

/// I4: a word is eight columns of a row, the first four in the low halves of its bytes, the others in
/// the high ones. Behind the lines of a group's codes stands one of f16, 16 scales and 16 minimums.
// clang-format off
inline constexpr ElementFormat elements[] = {
    // type kind  bits  sig. /word block lines group
    {F32,  Float, 32,   24,  1,    1,    1,    0},
    {F16,  Float, 16,   11,  2,    2,    1,    0},
    {BF16, Float, 16,   8,   2,    2,    1,    0},
    {I32,  Index, 32,   0,   1,    0,    0,    0},
    {I64,  Index, 64,   0,   1,    0,    0,    0},
    {Bool, Index, 8,    0,   1,    0,    0,    0},
    {I8,   Code,  8,    8,   4,    4,    1,    0},
    {I4,   Code,  4,    4,   8,    32,   5,    32},
};
// clang-format on
} // namespace format_rows

constexpr const ElementFormat &formatOf(DType type) {
  return format_rows::elements[static_cast<size_t>(type)];
}

/// Bytes of an element of a caller's tensor.
constexpr int64_t byteSize(DType type) { return formatOf(type).bits / 8; }
/// Bytes of a panel in front of the block that holds a column.
constexpr int64_t panelOffset(DType type, int64_t column) {
  return column / formatOf(type).blockColumns * formatOf(type).blockLines * 64;
}
constexpr int64_t panelBytes(DType type, int64_t columns) {
  return panelOffset(type, columns + formatOf(type).blockColumns - 1);
}

//===- Products ----------------------------------------------------------===//

/// What the products of a `--dtype` multiply.
struct NumberFormat {
  std::string_view name; ///< of `--dtype`
  DType rows, weights;   ///< operands of a linear with a weight
  DType sums;            ///< of their products
  DType others;          ///< what attention, states and other products are rounded to
  int64_t scales;        ///< operands that scale a linear's sums: of its rows; of its weights
  int64_t scaleGroup;    ///< features of a row that share scales; 0: rows have none
  int64_t groupScales;   ///< numbers that they share
  int64_t sumBlock;      ///< features whose sum is never cut in two
  double tolerance;      ///< of a kernel beside a reference that rounds where it does
  double error;          ///< of a product or a small model beside exact numbers
  double deepError;      ///< of an encoder of twelve layers; 0: none is measured
  Arithmetic peak;       ///< whose rate is the most that its products can reach
  std::string_view classes = {}; ///< the format of linears that score classes; empty: this one

  /// Numbers that scale one row of so many features.
  constexpr int64_t rowScales(int64_t features) const {
    return scaleGroup ? ((features - 1) / scaleGroup + 1) * groupScales : 0;
  }
  /// Whether scales enter the sums, group by group; else sums are multiplied by them.
  constexpr bool sumsGroups() const { return scaleGroup > 0 && formatOf(weights).holdsScales(); }
  /// Whether a linear with a weight multiplies other operands than other products do.
  constexpr bool hasOwnProducts() const { return scales > 0 || weights != others; }
};

inline constexpr int64_t wholeRow = std::numeric_limits<int64_t>::max();

namespace format_rows {
/// Differences are max |a - b| / max |b|. Operands rounded to bf16 are 2^-9 off, each, those of f16
/// 2^-12; codes of 8 bits 2^-8 of their row's largest value, those of 4 bits a thirtieth of their
/// group's range: 0.19 was the most that was seen, behind six and six layers. A number next to the
/// middle of two values of a type may go either way beside the reference, unless nothing is rounded
/// after packing, as in f32. Sums in f16 are off by some 2^-10.
// clang-format off
inline constexpr NumberFormat numberFormats[] = {
    {.name = "f32", .rows = F32, .weights = F32, .sums = F32, .others = F32,
     .scales = 0, .scaleGroup = 0, .groupScales = 0, .sumBlock = 32,
     .tolerance = 1e-4, .error = 1e-5, .deepError = 1e-4, .peak = Arithmetic::F32},
    {.name = "bf16", .rows = BF16, .weights = BF16, .sums = F32, .others = BF16,
     .scales = 0, .scaleGroup = 0, .groupScales = 0, .sumBlock = 32,
     .tolerance = 3e-2, .error = 3e-2, .deepError = 1e-1, .peak = Arithmetic::BF16},
    {.name = "f16", .rows = F32, .weights = F16, .sums = F32, .others = F16,
     .scales = 0, .scaleGroup = 0, .groupScales = 0, .sumBlock = 32,
     .tolerance = 4e-3, .error = 4e-3, .deepError = 1e-2, .peak = Arithmetic::F32},
    {.name = "f16-sum", .rows = F16, .weights = F16, .sums = F32, .others = F16,
     .scales = 1, .scaleGroup = wholeRow, .groupScales = 1, .sumBlock = 256,
     .tolerance = 1e-2, .error = 1e-2, .deepError = 0, .peak = Arithmetic::F16},
    {.name = "int8", .rows = I8, .weights = I8, .sums = I32, .others = BF16,
     .scales = 2, .scaleGroup = wholeRow, .groupScales = 1, .sumBlock = 32,
     .tolerance = 5e-2, .error = 5e-2, .deepError = 3e-1, .peak = Arithmetic::Int8},
    {.name = "int4", .rows = I8, .weights = I4, .sums = F32, .others = BF16,
     .scales = 1, .scaleGroup = 32, .groupScales = 2, .sumBlock = 32,
     .tolerance = 5e-2, .error = 2.5e-1, .deepError = 0, .peak = Arithmetic::Int8,
     .classes = "int8"},
};
// clang-format on
} // namespace format_rows
using format_rows::numberFormats;

/// The format of a `--dtype`; null where none has this name.
const NumberFormat *findFormat(std::string_view name);
/// The first format whose products have these operands; null where none has.
const NumberFormat *findProduct(DType rows, DType weights);
/// The format of products with keys or values that are kept in a type: as they enter, they become numbers
/// of the rows' type, unless `findProduct` knows both types. Null where rows are not f32 or bf16.
const NumberFormat *findKeptProduct(DType rows, DType kept);
/// What `--cache-dtype` may name: types in which keys and values are kept; int8 are codes with scales.
inline constexpr DType keptTypes[] = {DType::F32, DType::BF16, DType::F16, DType::I8};
/// The type that `--cache-dtype` calls so; none where there is none of this name.
std::optional<DType> findKeptType(std::string_view name);
/// The names of all: "f32, bf16, f16 or int8".
std::string keptTypeNames(std::string_view last = " or ");
/// The first format of weights, or of rows, of this type; that of f32 where none has it.
const NumberFormat &formatOfWeights(DType type);
const NumberFormat &formatOfRows(DType type);

/// The names of all: "f32, bf16 or int8"; with the last separator of a caller's own.
std::string formatNames(std::string_view last = " or ");

} // namespace heddle
