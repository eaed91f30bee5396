//===- ContainerReader.cpp - Reads a container -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The directory tells names, sizes, alignments and checksums; from these all
// other bytes of the file follow, and are compared. Nothing is read at a place
// that was not checked against the size of the file.

#include "ZipFormat.h"

#include "heddle/Support/Parallel.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <zlib.h>

namespace heddle {

namespace {

/// Reads little-endian fields; past the end it gives zeros and `short` is set.
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
  bool atEnd() const { return bytes.empty(); }

private:
  std::span<const std::byte> bytes;
};

/// Where the central directory is, by the records at the end of the file.
struct Directory {
  uint64_t offset = 0, size = 0, count = 0;
};

/// What a file that is no container looks like, for the error: people pass the wrong file more
/// often than a broken one.
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

/// From bytes to members: find the directory, read it, then rebuild all headers from it and
/// compare. A field that is skipped while reading is thereby checked as well.
class Parser {
public:
  Parser(std::span<const std::byte> bytes, const std::string &place) : bytes(bytes), place(place) {}

  Expected<std::vector<ContainerMember>> run() {
    if (bytes.size() < 4 || Cursor(bytes).field(4) != zip::localSignature)
      return inputError(place + ": expected a Heddle file, found " + describe(bytes));
    auto where = HEDDLE_TRY(findDirectory());
    auto members = HEDDLE_TRY(readDirectory(where));
    HEDDLE_TRY(compareHeaders(members, where.offset));
    return members;
  }

private:
  Error damaged(const std::string &why) const {
    return inputError(place + ": expected a whole, unchanged Heddle file, found " + why);
  }

  /// The last 22 bytes are the end record; 64-bit records stand before it where a field of it is
  /// full.
  Expected<Directory> findDirectory() const {
    if (bytes.size() < zip::endSize)
      return damaged("only " + std::to_string(bytes.size()) + " bytes");
    uint64_t end = bytes.size() - zip::endSize;
    Cursor cursor(bytes.subspan(end));
    if (cursor.field(4) != zip::endSignature)
      return damaged("no end record in its last 22 bytes (cut off, or with bytes appended)");
    cursor.take(4);
    Directory where;
    where.count = cursor.field(2);
    cursor.take(2);
    where.size = cursor.field(4);
    where.offset = cursor.field(4);
    if (where.count == zip::full16 || where.size == zip::full32 || where.offset == zip::full32)
      return findWideDirectory(end);
    if (where.offset > end || where.size != end - where.offset)
      return damaged("a directory that does not end at its end record");
    return where;
  }

  /// The 64-bit record stands right before its locator; where the locator points is compared later.
  Expected<Directory> findWideDirectory(uint64_t end) const {
    if (end < zip::locatorSize + zip::end64Size)
      return damaged("no 64-bit end record");
    uint64_t record = end - zip::locatorSize - zip::end64Size;
    Cursor cursor(bytes.subspan(record));
    if (cursor.field(4) != zip::end64Signature)
      return damaged("no 64-bit end record");
    cursor.take(28);
    Directory where;
    where.count = cursor.field(8);
    where.size = cursor.field(8);
    where.offset = cursor.field(8);
    if (where.offset > record || where.size != record - where.offset)
      return damaged("a directory that does not end at its end record");
    return where;
  }

  Expected<std::vector<ContainerMember>> readDirectory(const Directory &where) const {
    Cursor cursor(bytes.subspan(where.offset, where.size));
    // Before any memory is reserved for members that a damaged count promises.
    if (where.count > where.size / zip::directorySize)
      return damaged("a directory that is too short for " + std::to_string(where.count) +
                     " members");
    std::vector<ContainerMember> members;
    std::set<std::string_view> names;
    members.reserve(where.count); // names are views into it
    for (uint64_t i = 0; i < where.count; ++i) {
      auto member = HEDDLE_TRY(readEntry(cursor));
      members.push_back(std::move(member));
      if (!names.insert(members.back().name).second)
        return damaged("member " + members.back().name + " twice");
    }
    if (!cursor.atEnd())
      return damaged("a directory that is longer than its members");
    return members;
  }

  /// One entry of the directory, without its offset: members follow each other, so offsets are
  /// computed.
  Expected<ContainerMember> readEntry(Cursor &cursor) const {
    ContainerMember member;
    bool signature = cursor.field(4) == zip::directorySignature;
    cursor.take(6);
    uint64_t method = cursor.field(2);
    cursor.take(4);
    member.crc = static_cast<uint32_t>(cursor.field(4));
    cursor.take(4);
    member.size = cursor.field(4);
    uint64_t nameSize = cursor.field(2), extraSize = cursor.field(2);
    cursor.take(14);
    for (std::byte byte : cursor.take(nameSize))
      member.name += static_cast<char>(byte);
    readExtra(member, cursor.take(extraSize));
    if (cursor.tooShort || !signature)
      return damaged("a directory that cannot be read");
    // The commonest foreign ZIP: named as such, rather than as damage.
    if (method != 0 || member.alignment == 0)
      return inputError(place + ": expected a Heddle file, found another kind of ZIP archive");
    if (Status status = zip::checkMember(member); !status)
      return damaged("a bad member: " + status.error().message);
    if (member.size > bytes.size())
      return damaged("a member " + member.name + " of " + std::to_string(member.size) +
                     " bytes in a file of " + std::to_string(bytes.size()));
    return member;
  }

  /// Extra fields of others are passed over here and found by the comparison.
  static void readExtra(ContainerMember &member, std::span<const std::byte> extra) {
    Cursor cursor(extra);
    while (!cursor.atEnd() && !cursor.tooShort) {
      uint64_t kind = cursor.field(2), size = cursor.field(2);
      Cursor inner(cursor.take(size));
      if (kind == zip::alignmentExtra)
        member.alignment = static_cast<uint32_t>(inner.field(2));
      if (kind == zip::wideExtra && member.size == zip::full32)
        member.size = inner.field(8);
    }
  }

  /// Rebuilds everything that is not data, and gives members their offsets.
  Status compareHeaders(std::vector<ContainerMember> &members, uint64_t directoryOffset) const {
    uint64_t start = 0;
    for (ContainerMember &member : members) {
      zip::Extent where = zip::placeMember(member, start);
      if (where.data > directoryOffset || member.size > directoryOffset - where.data)
        return damaged("a member " + member.name + " that reaches past the directory");
      if (!isAt(where.header, zip::localHeader(member, where)))
        return damaged("a changed header of member " + member.name);
      member.offset = where.data;
      start = where.data + member.size;
    }
    if (start != directoryOffset)
      return damaged("bytes between the last member and the directory");
    std::vector<std::byte> directory = zip::directory(members, directoryOffset);
    if (directory.size() != bytes.size() - directoryOffset || !isAt(directoryOffset, directory))
      return damaged("a changed directory");
    return {};
  }

  bool isAt(uint64_t offset, const std::vector<std::byte> &expected) const {
    return std::ranges::equal(bytes.subspan(offset, expected.size()), expected);
  }

  std::span<const std::byte> bytes;
  const std::string &place;
};

} // namespace

/// Sums of pieces can be combined, in the pieces' order, into the sum of the whole.
uint32_t crc32(std::span<const std::byte> bytes) {
  constexpr size_t piece = size_t(8) << 20;
  size_t pieces = (bytes.size() + piece - 1) / piece;
  std::vector<uLong> sums(pieces);
  auto part = [&](size_t i) {
    return bytes.subspan(i * piece, std::min(piece, bytes.size() - i * piece));
  };
  parallelFor(static_cast<int64_t>(pieces), 0, [&](int64_t i, int) {
    auto data = part(i);
    sums[i] = ::crc32_z(0, reinterpret_cast<const Bytef *>(data.data()), data.size());
  });
  uLong sum = 0;
  for (size_t i = 0; i < pieces; ++i)
    sum = ::crc32_combine(sum, sums[i], static_cast<z_off_t>(part(i).size()));
  return static_cast<uint32_t>(sum);
}

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
  return bytes.subspan(member.offset, member.size);
}

Status ContainerReader::checkMember(const ContainerMember &member) const {
  if (crc32(data(member)) == member.crc)
    return {};
  return inputError(place +
                    ": expected a whole, unchanged Heddle file, found changed bytes in member " +
                    member.name);
}

Status ContainerReader::check() const {
  for (const ContainerMember &member : all)
    HEDDLE_TRY(checkMember(member));
  return {};
}

} // namespace heddle
