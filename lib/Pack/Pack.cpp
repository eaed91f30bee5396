//===- Pack.cpp - Weight packing -------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packing of weights. Units of 16 rows of a stored matrix are independent, so they run in parallel.
// Padding rows read as zeros.

#include "heddle/Pack/Pack.h"

#include "Int4.h"
#include "RowCodes.h"
#include "Transpose.h"
#include "heddle/Support/Float.h"
#include "heddle/Support/Parallel.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace heddle {

namespace {

/// Columns that are read and transposed together: 16 rows of them (16 KiB of f32) fit into the L1
/// cache.
constexpr int64_t columnsAtOnce = 256;

/// Maps the elements of a dimension in padded groups to stored positions.
struct Grouping {
  int64_t extent, group;

  Grouping(int64_t extent, int64_t group) : extent(extent), group(group > 0 ? group : extent) {}
  int64_t stored() const { return paddedGroups(extent, group); }
  /// The element stored at `position`, or -1 for padding.
  int64_t elementAt(int64_t position) const {
    int64_t inside = position % padded(group);
    int64_t element = position / padded(group) * group + inside;
    return inside < group && element < extent ? element : -1;
  }
  /// Calls body(element, position, count, padding) for each group.
  template <typename Body>
  void forEachGroup(Body body) const {
    for (int64_t first = 0, position = 0; first < extent; first += group) {
      int64_t count = std::min(group, extent - first);
      body(first, position, count, padded(group) - count);
      position += padded(group);
    }
  }
};

/// Reads pieces of rows of a tensor, in place if possible.
class RowReader {
public:
  RowReader(const WeightSource &source, int tensor, int64_t columns)
      : source(source), tensor(tensor), columns(columns), memory(source.inPlace(tensor)) {}

  /// Codes that the tensor stores for the group that begins at this place, if they have this type;
  /// none for row -1.
  std::optional<GroupCodes> codes(DType type, int64_t row, int64_t column) const {
    if (row < 0 || column + formatOf(type).group > columns || source.codeType(tensor) != type)
      return {};
    return source.codes(tensor, row * columns + column);
  }
  int64_t rowSize() const { return columns; }
  /// Address of the piece, in place or in `scratch`; row -1 is zeros.
  const float *piece(int64_t row, int64_t first, int64_t count, float *scratch) const {
    if (row >= 0 && !memory.empty())
      return memory.data() + row * columns + first;
    if (row < 0)
      std::fill_n(scratch, count, 0.0f);
    else
      source.read(tensor, row * columns + first, {scratch, static_cast<size_t>(count)});
    return scratch;
  }

private:
  const WeightSource &source;
  int tensor;
  int64_t columns;
  std::span<const float> memory;
};

/// A piece of 16 rows in a narrower type, with room for the zeros that fill the last word.
template <typename Element>
struct Narrowed {
  static constexpr int64_t inWord = 4 / sizeof(Element);
  Element numbers[panelRows][columnsAtOnce + inWord];

  /// Calls narrow(row, numbers) for each row, then interleaves words of the rows, as dot2 and dot4
  /// instructions read them: a word holds adjacent columns of a row.
  template <typename Narrow>
  HEDDLE_IN_CLONE void write(int64_t count, std::byte *to, Narrow narrow) {
    const Element *rows[panelRows];
    for (int64_t r = 0; r < panelRows; ++r) {
      rows[r] = numbers[r];
      narrow(r, numbers[r]);
      std::fill_n(numbers[r] + count, inWord, Element{0});
    }
    transposePanel(rows, (count + inWord - 1) / inWord, to);
  }
};

template <uint16_t (*rounded)(float)>
HEDDLE_IN_CLONE void writeRounded(const float *const *rows, int64_t count, std::byte *to) {
  Narrowed<uint16_t>().write(count, to, [&](int64_t r, uint16_t *numbers) {
    for (int64_t k = 0; k < count; ++k)
      numbers[k] = rounded(rows[r][k]);
  });
}

HEDDLE_WIDE_CLONES
void writeFloats(const float *const *rows, const RowScale *, int64_t count, std::byte *to) {
  transposePanel(rows, count, to);
}
HEDDLE_WIDE_CLONES
void writeBFloats(const float *const *rows, const RowScale *, int64_t count, std::byte *to) {
  writeRounded<bfloatFromFloat>(rows, count, to);
}
HEDDLE_WIDE_CLONES
void writeHalves(const float *const *rows, const RowScale *, int64_t count, std::byte *to) {
  writeRounded<halfFromFloat>(rows, count, to);
}
HEDDLE_WIDE_CLONES
void writeInt8(const float *const *rows, const RowScale *scales, int64_t count, std::byte *to) {
  Narrowed<int8_t>().write(
      count, to, [&](int64_t r, int8_t *codes) { writeCodes(rows[r], scales[r], count, codes); });
}

/// Writes a panel's columns in a type. A call begins at a block's start and fills its last block
/// with zeros.
struct PanelWriter {
  void (*write)(const float *const *rows, const RowScale *scales, int64_t count, std::byte *to);
  bool needsRowScales = false;
};

PanelWriter panelWriterOf(DType type) {
  switch (type) {
  case DType::BF16:
    return {writeBFloats};
  case DType::F16:
    return {writeHalves};
  case DType::I8:
    return {writeInt8, /*needsRowScales=*/true};
  default: // f32; validate() rejects other types, and int4 has its own writer
    return {writeFloats};
  }
}

/// Raises the largest magnitudes of 16 rows (as bits) by a piece of each row.
HEDDLE_WIDE_CLONES
void raiseMagnitudes(const float *const *rows, int64_t count, uint32_t *largest) {
  for (int64_t r = 0; r < panelRows; ++r)
    largest[r] = largestMagnitude(rows[r], count, largest[r]);
}

/// Adds the codes of a piece of 16 rows to the sums of each row.
HEDDLE_WIDE_CLONES
void addCodes(const float *const *rows, const RowScale *scales, int64_t count, int32_t *sums) {
  int8_t codes[columnsAtOnce];
  for (int64_t r = 0; r < panelRows; ++r) {
    writeCodes(rows[r], scales[r], count, codes);
    sums[r] = std::accumulate(codes, codes + count, sums[r]);
  }
}

/// Packs one entry in independent pieces: panels, or 16 rows.
class EntryPacker {
public:
  static Expected<EntryPacker> make(const PackEntry &entry, const WeightSource &source,
                                    std::byte *destination);

  int64_t pieces() const { return (storedRows + panelRows - 1) / panelRows; }
  void run(int64_t piece) const {
    if (layout == PackEntry::Layout::Panels)
      packPanel(piece);
    else if (layout == PackEntry::Layout::Scales)
      packScales(piece);
    else
      packRows(piece * panelRows, std::min(storedRows, (piece + 1) * panelRows));
  }

private:
  EntryPacker(const RowReader &reader, Grouping rows, Grouping columns, const PackEntry &entry,
              std::byte *to)
      : reader(reader), rows(rows), columns(columns), layout(entry.layout), type(entry.type),
        to(to),
        storedRows(layout == PackEntry::Layout::Panels || layout == PackEntry::Layout::Scales
                       ? rows.stored()
                       : rows.extent) {}

  using Scales = std::array<RowScale, panelRows>;

  void packRows(int64_t first, int64_t end) const;
  void packPanel(int64_t panel) const;
  void packGroups(int64_t panel, std::byte *to) const;
  void packKept(int64_t panel, std::byte *to) const;
  void packScales(int64_t panel) const;
  template <typename Body>
  void forEachPiece(int64_t panel, Body body) const;
  Scales scalesOf(int64_t panel) const;

  RowReader reader;
  Grouping rows, columns;
  PackEntry::Layout layout;
  DType type;
  std::byte *to;
  int64_t storedRows;
};

void EntryPacker::packRows(int64_t first, int64_t end) const {
  std::vector<float> scratch(std::min(columns.group, columns.extent));
  for (int64_t row = first; row < end; ++row)
    columns.forEachGroup([&](int64_t column, int64_t position, int64_t count, int64_t padding) {
      float *out = reinterpret_cast<float *>(to) + row * columns.stored() + position;
      std::copy_n(reader.piece(row, column, count, scratch.data()), count, out);
      std::fill_n(out + count, padding, 0.0f);
    });
}

/// Calls body(pieces, position, count) for pieces of up to columnsAtOnce columns: pieces[r] is row
/// r of the panel, `position` is the first stored column.
template <typename Body>
void EntryPacker::forEachPiece(int64_t panel, Body body) const {
  float scratch[panelRows][columnsAtOnce];
  const float *pieces[panelRows];
  columns.forEachGroup([&](int64_t first, int64_t position, int64_t count, int64_t) {
    for (int64_t start = 0; start < count; start += columnsAtOnce) {
      int64_t run = std::min(columnsAtOnce, count - start);
      for (int64_t r = 0; r < panelRows; ++r)
        pieces[r] =
            reader.piece(rows.elementAt(panel * panelRows + r), first + start, run, scratch[r]);
      body(pieces, position + start, run);
    }
  });
}

/// Packs a panel. Clears the padding columns first, since a writer fills only to the end of its
/// last block.
void EntryPacker::packPanel(int64_t panel) const {
  int64_t block = formatOf(type).blockColumns;
  std::byte *out = to + panel * panelBytes(type, columns.stored());
  columns.forEachGroup([&](int64_t, int64_t position, int64_t count, int64_t padding) {
    int64_t written = panelOffset(type, position + count + block - 1),
            end = panelBytes(type, position + count + padding);
    std::memset(out + written, 0, static_cast<size_t>(end - written));
  });
  if (formatOf(type).holdsScales())
    return type == DType::I4 ? packGroups(panel, out) : packKept(panel, out);
  PanelWriter writer = panelWriterOf(type);
  Scales scales{};
  if (writer.needsRowScales)
    scales = scalesOf(panel);
  forEachPiece(panel, [&](const float *const *pieces, int64_t position, int64_t count) {
    writer.write(pieces, scales.data(), count, out + panelOffset(type, position));
  });
}

/// Packs a panel of int4. Groups that the tensor stores as codes are not rounded again.
void EntryPacker::packGroups(int64_t panel, std::byte *to) const {
  forEachPiece(panel, [&](const float *const *pieces, int64_t position, int64_t count) {
    writeInt4(pieces, count, to + panelOffset(type, position), [&](int64_t row, int64_t column) {
      return reader.codes(type, rows.elementAt(panel * panelRows + row), position + column);
    });
  });
}

/// Packs a panel of codes of bytes, which the tensor stores. Groups with scales that f16 cannot
/// represent have NaN for scale and minimum; rows of padding are zeros.
void EntryPacker::packKept(int64_t panel, std::byte *to) const {
  const int64_t group = formatOf(type).group, bytes = formatOf(type).blockLines * 64;
  constexpr uint16_t nan = 0x7e00;
  for (int64_t first = 0; first < reader.rowSize(); first += group, to += bytes) {
    std::memset(to, 0, static_cast<size_t>(bytes));
    auto *halves = reinterpret_cast<uint16_t *>(to + group * panelRows);
    for (int64_t r = 0; r < panelRows; ++r) {
      const int64_t row = rows.elementAt(panel * panelRows + r);
      if (row < 0)
        continue;
      const GroupCodes codes = reader.codes(type, row, first).value_or(GroupCodes{nan, nan, {}});
      for (int64_t k = 0; k < group; ++k)
        to[(k / 4 * panelRows + r) * 4 + k % 4] = static_cast<std::byte>(codes.codes[k] + 128);
      halves[r] = codes.scale;
      halves[panelRows + r] = codes.minimum;
    }
  }
}

/// Scales of a panel's rows, from the largest magnitude of each row.
EntryPacker::Scales EntryPacker::scalesOf(int64_t panel) const {
  uint32_t largest[panelRows] = {};
  forEachPiece(panel, [&](const float *const *pieces, int64_t, int64_t count) {
    raiseMagnitudes(pieces, count, largest);
  });
  Scales scales;
  std::ranges::transform(largest, scales.begin(), rowScale);
  return scales;
}

/// Writes the scales of a panel's rows and the sums of their codes, which are exact in f32.
void EntryPacker::packScales(int64_t panel) const {
  Scales scales = scalesOf(panel);
  int32_t sums[panelRows] = {};
  forEachPiece(panel, [&](const float *const *pieces, int64_t, int64_t count) {
    addCodes(pieces, scales.data(), count, sums);
  });
  float *out = reinterpret_cast<float *>(to) + panel * panelRows;
  for (int64_t r = 0; r < panelRows; ++r) {
    out[r] = scales[r].scale;
    out[storedRows + r] = static_cast<float>(sums[r]);
  }
}

Expected<EntryPacker> EntryPacker::make(const PackEntry &entry, const WeightSource &source,
                                        std::byte *destination) {
  auto tensor = HEDDLE_TRY(source.require(entry.tensor, entry.shape));
  const bool needsCodes = formatOf(entry.type).holdsScales() && entry.type != DType::I4;
  if (needsCodes && source.codeType(tensor) != entry.type)
    return inputError(source.name() + ": " + entry.tensor + ": expected codes in groups of " +
                      std::to_string(formatOf(entry.type).group) + ", found " +
                      source.tensors()[tensor].type);
  int64_t elements = source.tensors()[tensor].elements();
  auto [rows, columns] = matrixOf(entry);
  switch (entry.layout) {
  case PackEntry::Layout::Vector: // one row, in groups of the rows to which its elements belong
    return EntryPacker(RowReader(source, tensor, elements), Grouping(1, 0),
                       Grouping(elements, entry.rowGroup), entry, destination);
  case PackEntry::Layout::Rows:
    return EntryPacker(RowReader(source, tensor, columns), Grouping(rows, 0),
                       Grouping(columns, entry.columnGroup), entry, destination);
  case PackEntry::Layout::Panels:
  case PackEntry::Layout::Scales:
    break;
  }
  return EntryPacker(RowReader(source, tensor, columns), Grouping(rows, entry.rowGroup),
                     Grouping(columns, formatOf(entry.type).holdsScales() ? 0 : entry.columnGroup),
                     entry, destination);
}

} // namespace

Status checkTensors(std::span<const PackEntry> entries, const WeightSource &source) {
  for (const PackEntry &entry : entries)
    HEDDLE_TRY(source.require(entry.tensor, entry.shape));
  return {};
}

Status pack(const PackEntry &entry, const WeightSource &source, std::byte *destination,
            int threads) {
  auto packer = HEDDLE_TRY(EntryPacker::make(entry, source, destination));
  parallelFor(packer.pieces(), threads, [&](int64_t piece, int) { packer.run(piece); });
  return {};
}

/// A single parallel loop covers the pieces of all entries, since the sizes of entries differ by a
/// factor of a million.
Status packAll(const Program &program, const WeightSource &source, std::span<std::byte> weights,
               int threads) {
  std::vector<EntryPacker> packers;
  std::vector<int64_t> ends; // pieces up to each entry's last
  for (const PackEntry &entry : program.pack) {
    const Weight &weight = program.weights[entry.weight];
    auto packer = HEDDLE_TRY(EntryPacker::make(entry, source, weights.data() + weight.offset));
    ends.push_back((ends.empty() ? 0 : ends.back()) + packer.pieces());
    packers.push_back(packer);
  }
  parallelFor(ends.empty() ? 0 : ends.back(), threads, [&](int64_t piece, int) {
    size_t entry = std::ranges::upper_bound(ends, piece) - ends.begin();
    packers[entry].run(piece - (entry ? ends[entry - 1] : 0));
  });
  return {};
}

} // namespace heddle
