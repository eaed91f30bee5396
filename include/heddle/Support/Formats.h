//===- Formats.h - Number formats ------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Properties of number formats, one row per format in two tables: how elements of a type are stored
// in memory, and what the products of a `--dtype` multiply. Validation, planning, dialects,
// emitters, `--dtype`, `--verify`, tests and the bench use these rows. Only three other functions
// depend on a particular format: pack (lib/Pack), the reference's unpack (ExecutionEngine), and
// decode to a register (the strategies of Conversion).
//
// `transformer.quantize` defines how codes are computed and which values they represent.
#pragma once

#include "heddle/Support/Fields.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace heddle {

/// Multiplication and addition of products: f32; pairs of bf16 into f32 (vdpbf16ps); four bytes
/// into i32 (vpdpbusd); f16.
enum class Arithmetic : uint8_t { F32, BF16, Int8, F16 };
/// Arithmetic for which some processors have dedicated instructions.
inline constexpr Arithmetic narrowArithmetics[] = {Arithmetic::BF16, Arithmetic::Int8,
                                                   Arithmetic::F16};

/// Element types of tensors. The types from I8 on are codes, which callers neither pass nor receive:
/// I8 has a scale per row, the others have scales per group. SI8 and SI6 are codes of files.
HEDDLE_ENUM(inline, DType, F32, F16, BF16, I32, I64, Bool, I8, I4, SI8, SI6)
const char *toString(DType type); ///< "f32", "i32", "bool", …

//===- Elements in memory ------------------------------------------------===//

/// How elements of a type are stored in memory.
///
/// A panel is 16 rows of a matrix. It consists of blocks of columns, and a block of lines of 64
/// bytes. A line has four bytes per row, which hold elements of adjacent columns.
struct ElementFormat {
  enum class Kind : uint8_t { Float, Index, Code };
  DType type;
  Kind kind;
  int64_t bits;        ///< of an element of a caller's tensor; excludes scales
  int64_t significant; ///< bits of precision, including the sign; 0: exact
  int64_t perWord;     ///< elements in a word of planned memory; wider elements take one word
  int64_t blockColumns, blockLines; ///< of panels; 0: the type has no panels
  /// Columns of a row that share scales, which are stored in the lines after their codes; 0: none.
  int64_t group;

  /// Whether a word in planned memory holds several elements.
  constexpr bool isNarrow() const { return perWord > 1; }
  /// Whether scales are stored next to the codes. The matrix is then stored in panels, and only as a
  /// weight.
  constexpr bool holdsScales() const { return group > 0; }
  constexpr bool isCode() const { return kind == Kind::Code; }
  constexpr bool isFloat() const { return kind == Kind::Float; }
};

namespace format_rows {
using enum DType;
using enum ElementFormat::Kind;

/// I4: a word is eight columns of a row, the first four in the low halves of its bytes, the others
/// in the high halves. The lines of a group's codes are followed by one line of f16: 16 scales and
/// 16 minimums. SI8 and SI6: a word is four columns of a row, in bytes of 128 + code; their lines are
/// followed by the same line of f16.
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
    {SI8,  Code,  8,    8,   4,    32,   9,    32},
    {SI6,  Code,  8,    6,   4,    16,   5,    16},
};
// clang-format on
} // namespace format_rows

constexpr const ElementFormat &formatOf(DType type) {
  return format_rows::elements[static_cast<size_t>(type)];
}

/// Bytes of an element of a caller's tensor.
constexpr int64_t byteSize(DType type) { return formatOf(type).bits / 8; }
/// Bytes of a panel before the block that contains a column.
constexpr int64_t panelOffset(DType type, int64_t column) {
  return column / formatOf(type).blockColumns * formatOf(type).blockLines * 64;
}
constexpr int64_t panelBytes(DType type, int64_t columns) {
  return panelOffset(type, columns + formatOf(type).blockColumns - 1);
}

//===- Products ----------------------------------------------------------===//

/// Operands and arithmetic of the products of a `--dtype`.
struct NumberFormat {
  std::string_view name; ///< of `--dtype`; empty: weights of `--dtype=file` only
  DType rows, weights;   ///< operands of a linear with a weight
  DType sums;            ///< type of their products' sums
  DType others;          ///< type to which attention, states and other products are rounded
  int64_t scales;        ///< operands that scale a linear's sums: scales of its rows, scales of its
                         ///< weights
  int64_t scaleGroup;    ///< features of a row that share scales; 0: rows have no scales
  int64_t groupScales;   ///< numbers in the scales of a group
  int64_t sumBlock;      ///< features whose sum is never split
  double tolerance;      ///< of a kernel, compared with a reference that rounds at the same places
  double error;          ///< of a product or a small model, compared with exact numbers
  double deepError;      ///< of an encoder with twelve layers; 0: not measured
  Arithmetic peak;       ///< its rate is the maximum that the products can reach
  std::string_view classes = {}; ///< format of linears that score classes; empty: this format
  bool keepsCodes = false;       ///< each weight keeps its codes in the file, of any type

  /// Number of scales of a row with `features` features.
  constexpr int64_t rowScales(int64_t features) const {
    return scaleGroup ? ((features - 1) / scaleGroup + 1) * groupScales : 0;
  }
  /// Whether scales enter the sums, group by group; otherwise sums are multiplied by them.
  constexpr bool sumsGroups() const { return scaleGroup > 0 && formatOf(weights).holdsScales(); }
  /// Whether the operands of a linear with a weight differ from the operands of other products.
  constexpr bool hasOwnProducts() const { return scales > 0 || weights != others; }
};

inline constexpr int64_t wholeRow = std::numeric_limits<int64_t>::max();

namespace format_rows {
/// Tolerances are bounds of max |a - b| / max |b|. An operand rounded to bf16 has an error of 2^-9,
/// one rounded to f16 of 2^-12. Codes of 8 bits have an error of 2^-8 of the row's largest value.
/// Codes of 4 bits have an error of a thirtieth of the group's range: at most 0.19 was observed
/// after six and six layers. A number close to the midpoint of two values of a type may be rounded
/// differently from the reference, unless nothing is rounded after packing, as in f32. Sums in f16
/// have an error of about 2^-10.
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
    {.name = {}, .rows = I8, .weights = SI6, .sums = F32, .others = BF16,
     .scales = 1, .scaleGroup = 16, .groupScales = 2, .sumBlock = 32,
     .tolerance = 5e-2, .error = 2.5e-1, .deepError = 0, .peak = Arithmetic::Int8},
    {.name = "file", .rows = I8, .weights = SI8, .sums = F32, .others = BF16,
     .scales = 1, .scaleGroup = 32, .groupScales = 2, .sumBlock = 32,
     .tolerance = 5e-2, .error = 2.5e-1, .deepError = 0, .peak = Arithmetic::Int8,
     .keepsCodes = true},
};
// clang-format on
} // namespace format_rows
using format_rows::numberFormats;

/// The format with this `--dtype` name, or null.
const NumberFormat *findFormat(std::string_view name);
/// Features of a row that share scales, for rows of I8 with `scales` scales.
int64_t scaleGroupOf(int64_t features, int64_t scales);
/// The first format whose products have these operands, or null.
const NumberFormat *findProduct(DType rows, DType weights);
/// Format of products with cached keys or values of type `kept`. They are converted to the rows'
/// type before the product, unless `findProduct` supports both types. Null if rows are not f32 or
/// bf16.
const NumberFormat *findKeptProduct(DType rows, DType kept);
/// Types in which keys and values may be cached, the values of `--cache-dtype`; int8 has codes and
/// scales.
inline constexpr DType keptTypes[] = {DType::F32, DType::BF16, DType::F16, DType::I8};
/// The type with this `--cache-dtype` name, if there is one.
std::optional<DType> findKeptType(std::string_view name);
/// The names of all cached types: "f32, bf16, f16 or int8".
std::string keptTypeNames(std::string_view last = " or ");
/// The first format with weights, or rows, of this type; the f32 format if there is none.
const NumberFormat &formatOfWeights(DType type);
const NumberFormat &formatOfRows(DType type);

/// The names of all formats: "f32, bf16 or int8". `last` is the last separator.
std::string formatNames(std::string_view last = " or ");

} // namespace heddle
