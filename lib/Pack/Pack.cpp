//===- Pack.cpp - From checkpoint tensors to stored weights ----*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stored matrix is made of units of 16 rows that are independent of each
// other, and so run in parallel. A row of padding reads as zeros.
//
//===----------------------------------------------------------------------===//

#include "heddle/Pack/Pack.h"

#include "heddle/Support/Parallel.h"

#include <algorithm>
#include <set>

namespace heddle {

namespace {

constexpr int64_t panelRows = 16;

/// Where the elements of a dimension that is cut in padded groups are stored.
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

/// Reads rows of a tensor, in place where it can.
class RowReader {
public:
  RowReader(const WeightSource &source, int tensor, int64_t columns)
      : source(source), tensor(tensor), columns(columns), memory(source.inPlace(tensor)) {}

  /// `scratch` holds `columns` elements, and the row where it is not in place; row -1 is zeros.
  const float *row(int64_t index, float *scratch) const {
    if (index >= 0 && !memory.empty())
      return memory.data() + index * columns;
    if (index < 0)
      std::fill_n(scratch, columns, 0.0f);
    else
      source.read(tensor, index * columns, {scratch, static_cast<size_t>(columns)});
    return scratch;
  }

private:
  const WeightSource &source;
  int tensor;
  int64_t columns;
  std::span<const float> memory;
};

/// Copies groups of a row to their places and clears the padding.
void copyGroups(const Grouping &columns, const float *from, float *to) {
  columns.forEachGroup([&](int64_t first, int64_t position, int64_t count, int64_t padding) {
    std::copy_n(from + first, count, to + position);
    std::fill_n(to + position + count, padding, 0.0f);
  });
}

/// to[c][r] = rows[r][c] for 16 rows: columns in runs of 16, so that each line of a row is read
/// once while it is near.
void transposePanel(const float *const *rows, int64_t count, float *to) {
  for (int64_t start = 0; start < count; start += panelRows) {
    int64_t run = std::min(panelRows, count - start);
    for (int64_t r = 0; r < panelRows; ++r) {
      const float *from = rows[r] + start;
      float *out = to + start * panelRows + r;
      for (int64_t c = 0; c < run; ++c)
        out[c * panelRows] = from[c];
    }
  }
}

void packPanel(const RowReader &reader, const Grouping &rows, const Grouping &columns,
               int64_t panel, float *to) {
  const float *sources[panelRows];
  std::vector<float> scratch(panelRows * columns.extent);
  for (int64_t r = 0; r < panelRows; ++r)
    sources[r] = reader.row(rows.elementAt(panel * panelRows + r), &scratch[r * columns.extent]);
  columns.forEachGroup([&](int64_t first, int64_t position, int64_t count, int64_t padding) {
    const float *group[panelRows];
    for (int64_t r = 0; r < panelRows; ++r)
      group[r] = sources[r] + first;
    transposePanel(group, count, to + position * panelRows);
    std::fill_n(to + (position + count) * panelRows, padding * panelRows, 0.0f);
  });
}

void packVector(const WeightSource &source, int tensor, const Grouping &elements, float *to) {
  std::vector<float> scratch(elements.extent);
  source.read(tensor, 0, scratch);
  copyGroups(elements, scratch.data(), to);
}

void packRows(const RowReader &reader, int64_t rows, const Grouping &columns, float *to,
              int threads) {
  parallelFor((rows + panelRows - 1) / panelRows, threads, [&](int64_t block, int) {
    std::vector<float> scratch(columns.extent);
    for (int64_t r = block * panelRows; r < std::min(rows, (block + 1) * panelRows); ++r)
      copyGroups(columns, reader.row(r, scratch.data()), to + r * columns.stored());
  });
}

void packPanels(const RowReader &reader, const Grouping &rows, const Grouping &columns, float *to,
                int threads) {
  parallelFor(rows.stored() / panelRows, threads, [&](int64_t panel, int) {
    packPanel(reader, rows, columns, panel, to + panel * columns.stored() * panelRows);
  });
}

} // namespace

Status checkTensors(std::span<const PackEntry> entries, const WeightSource &source) {
  for (const PackEntry &entry : entries)
    if (auto tensor = source.require(entry.tensor, entry.shape); !tensor)
      return tensor.takeError();
  return {};
}

std::vector<std::string> unusedTensors(std::span<const PackEntry> entries,
                                       const WeightSource &source) {
  std::set<std::string_view> used;
  for (const PackEntry &entry : entries)
    used.insert(entry.tensor);
  std::vector<std::string> unused;
  for (const TensorInfo &info : source.tensors())
    if (!used.count(info.name))
      unused.push_back(info.name);
  return unused;
}

Status pack(const PackEntry &entry, const WeightSource &source, float *destination, int threads) {
  auto tensor = source.require(entry.tensor, entry.shape);
  if (!tensor)
    return tensor.takeError();
  int64_t elements = source.tensors()[*tensor].elements();
  int64_t rows = entry.shape.empty() ? 1 : entry.shape.front();
  int64_t columns = rows > 0 ? elements / rows : 0;
  RowReader reader(source, *tensor, columns);
  switch (entry.layout) {
  case PackEntry::Layout::Vector:
    packVector(source, *tensor, Grouping(elements, entry.rowGroup), destination);
    break;
  case PackEntry::Layout::Rows:
    packRows(reader, rows, Grouping(columns, entry.columnGroup), destination, threads);
    break;
  case PackEntry::Layout::Panels:
    packPanels(reader, Grouping(rows, entry.rowGroup), Grouping(columns, entry.columnGroup),
               destination, threads);
    break;
  }
  return {};
}

Status packAll(const Program &program, const WeightSource &source, std::span<std::byte> weights,
               int threads) {
  // Entries differ in size by a factor of a million: each is cut in pieces for all threads instead.
  for (const PackEntry &entry : program.pack) {
    const Weight &weight = program.weights[entry.weight];
    auto *destination = reinterpret_cast<float *>(weights.data() + weight.offset);
    if (Status status = pack(entry, source, destination, threads); !status)
      return status;
  }
  return {};
}

} // namespace heddle
