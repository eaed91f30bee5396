//===- ZipFormat.cpp - Binary layout of ZIP files -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ZIP records field by field, with the fewest choices that the specification allows: stored or
// deflated, no time, no comment, regular file of mode 0644.

#include "ZipFormat.h"

#include <algorithm>
#include <bit>

namespace heddle::zip {

namespace {

constexpr uint16_t firstOfJanuary1980 = 0x0021;
constexpr uint64_t unixSystem = 3, regularFile = 0100644;

/// Appends little-endian fields.
class Fields {
public:
  std::vector<std::byte> bytes;

  Fields &u16(uint64_t value) { return put(value, 2); }
  Fields &u32(uint64_t value) { return put(value, 4); }
  Fields &u64(uint64_t value) { return put(value, 8); }
  Fields &text(std::string_view value) {
    for (char c : value)
      bytes.push_back(static_cast<std::byte>(c));
    return *this;
  }
  Fields &append(const Fields &other) {
    bytes.insert(bytes.end(), other.bytes.begin(), other.bytes.end());
    return *this;
  }
  Fields &zeros(uint64_t count) {
    bytes.resize(bytes.size() + count);
    return *this;
  }

private:
  Fields &put(uint64_t value, int count) {
    for (int i = 0; i < count; ++i)
      bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
};

bool isWide(uint64_t value) { return value >= full32; }

/// Version of the specification that a reader needs: 4.5 for 64-bit fields, 2.0 for deflated
/// members.
uint64_t version(const ContainerMember &member, bool wide) {
  return wide ? 45 : member.isDeflated ? 20 : 10;
}

/// Deflated members are not longer than their data.
bool isWide(const ContainerMember &member) { return isWide(member.size); }

uint64_t localExtraSize(const ContainerMember &member) { return (isWide(member) ? 20 : 0) + 6; }

/// Writes the fields from "version needed" to the two sizes, which both headers share.
void common(Fields &out, const ContainerMember &member, bool wide) {
  // Either both sizes are in the extra field, or neither.
  auto shown = [&](uint64_t size) { return isWide(member) ? full32 : size; };
  out.u16(version(member, wide)).u16(0).u16(member.isDeflated ? methodDeflated : methodStored);
  out.u16(0).u16(firstOfJanuary1980);
  out.u32(member.crc).u32(shown(member.stored)).u32(shown(member.size)).u16(member.name.size());
}

Fields directoryEntry(const ContainerMember &member, uint64_t header) {
  Fields wide;
  if (isWide(member))
    wide.u64(member.size).u64(member.stored);
  if (isWide(header))
    wide.u64(header);
  Fields extra;
  if (!wide.bytes.empty())
    extra.u16(wideExtra).u16(wide.bytes.size()).append(wide);
  extra.u16(alignmentExtra).u16(2).u16(member.alignment);

  Fields out;
  bool isLarge = !wide.bytes.empty();
  out.u32(directorySignature).u16(unixSystem << 8 | version(member, isLarge));
  common(out, member, isLarge);
  out.u16(extra.bytes.size()).u16(0).u16(0).u16(0).u32(regularFile << 16);
  out.u32(std::min(header, full32)).text(member.name).append(extra);
  return out;
}

/// Appends the 64-bit end record and its locator.
void appendEnd64(Fields &out, uint64_t count, uint64_t size, uint64_t offset) {
  out.u32(end64Signature).u64(end64Size - 12).u16(unixSystem << 8 | 45).u16(45).u32(0).u32(0);
  out.u64(count).u64(count).u64(size).u64(offset);
  out.u32(locatorSignature).u32(0).u64(offset + size).u32(1);
}

} // namespace

Status checkMember(const ContainerMember &member) {
  bool printable = std::ranges::all_of(member.name, [](char c) { return c > ' ' && c <= '~'; });
  if (member.name.empty() || member.name.size() > 4096 || !printable)
    return inputError("expected a member name of 1 to 4096 printable ASCII characters, found '" +
                      (printable ? member.name.substr(0, 80) : "other bytes") + "'");
  if (!std::has_single_bit(member.alignment) || member.alignment > 0x4000)
    return inputError(member.name +
                      ": expected an alignment that is a power of two up to 16384, found " +
                      std::to_string(member.alignment));
  return {};
}

Extent placeMember(const ContainerMember &member, uint64_t start) {
  uint64_t end = start + localSize + member.name.size() + localExtraSize(member);
  uint64_t mask = member.alignment - 1;
  return {start, (end + mask) & ~mask};
}

std::vector<std::byte> localHeader(const ContainerMember &member, Extent place) {
  uint64_t extra = place.data - place.header - localSize - member.name.size();
  bool wide = isWide(member);
  Fields out;
  out.u32(localSignature);
  common(out, member, wide);
  out.u16(extra).text(member.name);
  if (wide)
    out.u16(wideExtra).u16(16).u64(member.size).u64(member.stored);
  uint64_t padding = extra - localExtraSize(member);
  out.u16(alignmentExtra).u16(2 + padding).u16(member.alignment).zeros(padding);
  return out.bytes;
}

std::vector<std::byte> directory(const std::vector<ContainerMember> &members, uint64_t offset) {
  Fields out;
  uint64_t start = 0;
  for (const ContainerMember &member : members) {
    out.append(directoryEntry(member, placeMember(member, start).header));
    start = member.offset + member.stored;
  }
  uint64_t size = out.bytes.size(), count = members.size();
  if (isWide(offset) || isWide(size) || count >= full16)
    appendEnd64(out, count, size, offset);
  uint64_t shownCount = std::min(count, full16);
  out.u32(endSignature).u16(0).u16(0).u16(shownCount).u16(shownCount);
  out.u32(std::min(size, full32)).u32(std::min(offset, full32)).u16(0);
  return out.bytes;
}

} // namespace heddle::zip
