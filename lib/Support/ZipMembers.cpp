//===- ZipMembers.cpp - Members of any ZIP file ---------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The record at the end of the file gives the place of the directory, and the directory the places of
// the local headers. Fields that do not fit have 64 bits elsewhere.

#include "heddle/Support/ZipMembers.h"

#include "ZipFormat.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace heddle {

namespace {

using Bytes = std::span<const std::byte>;

/// Little-endian number of `count` bytes at `at`; none past the end.
std::optional<uint64_t> field(Bytes bytes, uint64_t at, size_t count) {
  if (at > bytes.size() || count > bytes.size() - at)
    return std::nullopt;
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i)
    value |= static_cast<uint64_t>(bytes[at + i]) << (8 * i);
  return value;
}

bool begins(Bytes bytes, uint64_t at, uint32_t signature) {
  return field(bytes, at, 4) == signature;
}

struct Directory {
  uint64_t offset = 0, entries = 0;
};

/// A member as the directory names it.
struct Entry {
  std::string name;
  uint64_t size = 0, stored = 0, header = 0;
};

class Zip {
public:
  Zip(Bytes bytes, const std::string &path) : bytes(bytes), path(path) {}

  Error fail(const std::string &message) const { return inputError(path + ": " + message); }
  Error cut() const { return fail("expected a whole ZIP file, found one that is cut or damaged"); }
  Expected<Directory> directory() const;
  Expected<Entry> entry(uint64_t &at) const;
  Expected<Bytes> contents(const Entry &entry) const;

private:
  void widen(Entry &entry, Bytes extra) const;

  Bytes bytes;
  const std::string &path;
};

/// Finds the record at the end, before which a 64-bit record may be.
Expected<Directory> Zip::directory() const {
  constexpr uint64_t size = 22, longestComment = 65535, locatorSize = 20;
  if (!begins(bytes, 0, zip::localSignature))
    return fail("expected a ZIP file, found another kind of file");
  const uint64_t last = bytes.size() < size ? 0 : bytes.size() - size,
                 first = last - std::min(last, longestComment);
  uint64_t at = last;
  while (at > first && !begins(bytes, at, zip::endSignature))
    --at;
  if (!begins(bytes, at, zip::endSignature))
    return cut();
  Directory found{*field(bytes, at + 16, 4), *field(bytes, at + 10, 2)};
  if (at < locatorSize || !begins(bytes, at - locatorSize, zip::locatorSignature))
    return found;
  const uint64_t wide = *field(bytes, at - locatorSize + 8, 8);
  auto offset = field(bytes, wide + 48, 8), entries = field(bytes, wide + 32, 8);
  if (wide > bytes.size() || !begins(bytes, wide, zip::end64Signature) || !offset || !entries)
    return cut();
  return Directory{*offset, *entries};
}

/// Takes the 64-bit fields of an entry from its extra field.
void Zip::widen(Entry &entry, Bytes extra) const {
  for (uint64_t at = 0; at + 4 <= extra.size();) {
    const uint64_t kind = *field(extra, at, 2), size = *field(extra, at + 2, 2);
    uint64_t place = at + 4;
    if (kind == zip::wideExtra)
      for (uint64_t *value : {&entry.size, &entry.stored, &entry.header})
        if (*value == zip::full32) {
          *value = field(extra, place, 8).value_or(zip::full32);
          place += 8;
        }
    at += 4 + size;
  }
}

/// Reads the entry at `at`, and moves `at` to the entry after it.
Expected<Entry> Zip::entry(uint64_t &at) const {
  constexpr uint64_t fixed = 46;
  auto number = [&](uint64_t place, size_t count) { return field(bytes, at + place, count); };
  if (!begins(bytes, at, zip::directorySignature) || !number(42, 4))
    return cut();
  const uint64_t nameSize = *number(28, 2), extraSize = *number(30, 2), comment = *number(32, 2);
  if (nameSize + extraSize + comment > bytes.size() - at - fixed)
    return cut();
  Entry found{{}, *number(24, 4), *number(20, 4), *number(42, 4)};
  const Bytes name = bytes.subspan(at + fixed, nameSize);
  found.name.assign(reinterpret_cast<const char *>(name.data()), name.size());
  widen(found, bytes.subspan(at + fixed + nameSize, extraSize));
  if (*number(10, 2) != zip::methodStored)
    return fail(quotedText(found.name) + ": expected a member without compression, found method " +
                std::to_string(*number(10, 2)));
  if (found.size != found.stored)
    return cut();
  at += fixed + nameSize + extraSize + comment;
  return found;
}

Expected<Bytes> Zip::contents(const Entry &entry) const {
  auto nameSize = field(bytes, entry.header + 26, 2),
       extraSize = field(bytes, entry.header + 28, 2);
  if (entry.header > bytes.size() || !begins(bytes, entry.header, zip::localSignature) ||
      !nameSize || !extraSize)
    return cut();
  const uint64_t data = entry.header + zip::localSize + *nameSize + *extraSize;
  if (data > bytes.size() || entry.size > bytes.size() - data)
    return cut();
  return bytes.subspan(data, entry.size);
}

} // namespace

Expected<std::map<std::string, Bytes, std::less<>>> storedMembers(Bytes bytes,
                                                                  const std::string &path) {
  const Zip file(bytes, path);
  const Directory directory = HEDDLE_TRY(file.directory());
  std::map<std::string, Bytes, std::less<>> members;
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    const Entry entry = HEDDLE_TRY(file.entry(at));
    if (!members.emplace(entry.name, HEDDLE_TRY(file.contents(entry))).second)
      return file.fail(quotedText(entry.name) + ": expected each member once, found it twice");
  }
  return members;
}

} // namespace heddle
