//===- ContainerReader.cpp - Reads a container -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading of containers. Members follow each other from the start of the file; their headers give
// names, sizes, alignments and checksums. All other bytes of the file, including the directory, are
// derived from these and compared.

#include "ZipFormat.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <set>
#include <zlib.h>

namespace heddle {

namespace {

/// Reads little-endian fields. Past the end it returns zeros and sets `tooShort`.
class Cursor {
public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes(bytes) {}
  bool tooShort = false;

  uint64_t field(size_t count) {
    uint64_t value = 0;
    for (size_t i = 0; auto byte : take(count))
      value |= static_cast<uint64_t>(byte) << (8 * i++);
    return value;
  }
  std::span<const std::byte> take(size_t count) {
    tooShort |= count > bytes.size();
    auto taken = bytes.first(tooShort ? 0 : count);
    bytes = bytes.subspan(taken.size());
    return taken;
  }
  bool atEnd() const { return tooShort || bytes.empty(); }

private:
  std::span<const std::byte> bytes;
};

/// Description of a file that is not a container, for the error message: passing the wrong file is
/// more common than a damaged one.
std::string describe(std::span<const std::byte> bytes) {
  auto begins = [&](std::string_view magic) {
    return bytes.size() >= magic.size() && !std::memcmp(bytes.data(), magic.data(), magic.size());
  };
  if (bytes.empty())
    return "an empty file";
  if (begins("\x7f"
             "ELF"))
    return "an ELF file";
  if (begins("\x93NUMPY"))
    return "a NumPy array";
  if (begins("ML\xefR"))
    return "MLIR bytecode";
  if (begins("PK\5\6"))
    return "an empty ZIP archive";
  if (begins("{"))
    return "text that begins with '{'";
  bool text = std::all_of(bytes.begin(), bytes.begin() + std::min<size_t>(bytes.size(), 256),
                          [](std::byte b) {
                            return b >= std::byte(' ') || b == std::byte('\n') ||
                                   b == std::byte('\t') || b == std::byte('\r');
                          });
  return text ? "text" : "other data of " + std::to_string(bytes.size()) + " bytes";
}

/// Parses members: reads a header, rebuilds it and compares, continues after its data, and finally
/// compares the directory. This also checks fields that are skipped while reading.
class Parser {
public:
  Parser(std::span<const std::byte> bytes, const std::string &place) : bytes(bytes), place(place) {}

  Expected<std::vector<ContainerMember>> run() {
    if (!headerAt(0))
      return inputError(place + ": expected a Heddle file, found " + describe(bytes));
    std::vector<ContainerMember> members;
    std::set<std::string> names;
    uint64_t start = 0;
    while (headerAt(start)) {
      auto member = HEDDLE_TRY(readMember(start));
      if (!names.insert(member.name).second)
        return damaged("member " + member.name + " twice");
      start = member.offset + member.stored;
      members.push_back(std::move(member));
    }
    if (!std::ranges::equal(bytes.subspan(start), zip::directory(members, start)))
      return damaged("other bytes than the directory of " + std::to_string(members.size()) +
                     " members at byte " + std::to_string(start) +
                     " (cut off, changed, or with bytes appended)");
    return members;
  }

private:
  Error damaged(const std::string &why) const {
    return inputError(place + ": expected a whole, unchanged Heddle file, found " + why);
  }

  bool headerAt(uint64_t start) const {
    return Cursor(bytes.subspan(start)).field(4) == zip::localSignature;
  }

  Expected<ContainerMember> readMember(uint64_t start) const {
    ContainerMember member;
    Cursor cursor(bytes.subspan(start));
    cursor.take(8);
    uint64_t method = cursor.field(2);
    cursor.take(4);
    member.crc = static_cast<uint32_t>(cursor.field(4));
    member.stored = cursor.field(4);
    member.size = cursor.field(4);
    member.isDeflated = method == zip::methodDeflated;
    uint64_t nameSize = cursor.field(2), extraSize = cursor.field(2);
    for (std::byte byte : cursor.take(nameSize))
      member.name += static_cast<char>(byte);
    readExtra(member, cursor.take(extraSize));
    if (cursor.tooShort)
      return damaged("half a header at byte " + std::to_string(start));
    // The most common foreign ZIP: reported as foreign, not as damaged.
    if ((method != zip::methodStored && !member.isDeflated) || member.alignment == 0)
      return inputError(place + ": expected a Heddle file, found another kind of ZIP archive");
    if (Status status = zip::checkMember(member); !status)
      return damaged("a bad member: " + status.error().message);
    zip::Extent where = zip::placeMember(member, start);
    if (where.data > bytes.size() || member.stored > bytes.size() - where.data)
      return damaged("a member " + member.name + " of " + std::to_string(member.stored) +
                     " bytes at byte " + std::to_string(where.data) + " in a file of " +
                     std::to_string(bytes.size()));
    std::vector<std::byte> header = zip::localHeader(member, where);
    if (!std::ranges::equal(bytes.subspan(start, header.size()), header))
      return damaged("a changed header of member " + member.name);
    constexpr uint64_t mostOfAByte = 1032; // that deflate can encode in one byte
    if (member.isDeflated ? member.stored >= member.size || member.size > mostDeflated ||
                                member.size / mostOfAByte > member.stored
                          : member.stored != member.size)
      return damaged("a member " + member.name + " of " + std::to_string(member.size) +
                     " bytes in " + std::to_string(member.stored));
    member.offset = where.data;
    return member;
  }

  /// Skips foreign extra fields, which the comparison then finds.
  static void readExtra(ContainerMember &member, std::span<const std::byte> extra) {
    Cursor cursor(extra);
    while (!cursor.atEnd()) {
      uint64_t kind = cursor.field(2), size = cursor.field(2);
      Cursor inner(cursor.take(size));
      if (kind == zip::alignmentExtra)
        member.alignment = static_cast<uint32_t>(inner.field(2));
      if (kind == zip::wideExtra && member.size == zip::full32) {
        member.size = inner.field(8);
        member.stored = inner.field(8);
      }
    }
  }

  std::span<const std::byte> bytes;
  const std::string &place;
};

} // namespace

Expected<ContainerReader> ContainerReader::read(std::span<const std::byte> bytes,
                                                std::string place) {
  auto members = HEDDLE_TRY(Parser(bytes, place).run());
  ContainerReader reader;
  reader.bytes = bytes;
  reader.place = std::move(place);
  reader.all = std::move(members);
  return reader;
}

const ContainerMember *ContainerReader::find(std::string_view name) const {
  auto found = std::ranges::find(all, name, &ContainerMember::name);
  return found == all.end() ? nullptr : &*found;
}

std::span<const std::byte> ContainerReader::data(const ContainerMember &member) const {
  assert(!member.isDeflated && "expected a member that can be used where it lies");
  return bytes.subspan(member.offset, member.size);
}

/// Inflates `deflated` to exactly `out.size()` bytes; false if its content has another size or is
/// invalid.
static bool inflateTo(std::span<std::byte> out, std::span<const std::byte> deflated) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) // negative: without a header
    return false;
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<std::byte *>(deflated.data()));
  stream.avail_in = static_cast<uInt>(deflated.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool isWhole =
      inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0 && stream.avail_out == 0;
  inflateEnd(&stream);
  return isWhole;
}

Error ContainerReader::changed(const ContainerMember &member) const {
  return inputError(place +
                    ": expected a whole, unchanged Heddle file, found changed bytes in member " +
                    member.name);
}

Expected<std::vector<std::byte>> ContainerReader::read(const ContainerMember &member) const {
  std::span<const std::byte> stored = bytes.subspan(member.offset, member.stored);
  std::vector<std::byte> data(member.size);
  if (!member.isDeflated)
    std::ranges::copy(stored, data.begin());
  else if (!inflateTo(data, stored))
    return changed(member);
  if (crc32(data) != member.crc)
    return changed(member);
  return data;
}

Status ContainerReader::checkMember(const ContainerMember &member) const {
  if (member.isDeflated) {
    auto inflated = read(member);
    return inflated ? Status() : Status(inflated.takeError());
  }
  return crc32(data(member)) == member.crc ? Status() : Status(changed(member));
}

Status ContainerReader::check() const {
  for (const ContainerMember &member : all)
    HEDDLE_TRY(checkMember(member));
  return {};
}

} // namespace heddle
