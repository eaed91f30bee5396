//===- Container.h - A ZIP of aligned members ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file around an artifact: a ZIP whose members are aligned. Those that are used
// where they are mapped are stored as they are, others are deflated in files. But for
// what zlib makes of the latter there is one way to write given members: no gaps, fixed
// timestamps, alignment and padding in an extra field. The reader therefore follows the
// members from the start of the file, rebuilds all headers and the directory and
// compares; with the members' checksums, no change of what the file holds remains
// unseen. ZIP64 records appear where a size or an offset needs them.
#pragma once

#include "heddle/Support/MappedBytes.h"

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace heddle {

/// One member of a container.
struct ContainerMember {
  std::string name;        ///< printable ASCII
  uint64_t offset = 0;     ///< of what is stored, from the start of the file
  uint64_t size = 0;       ///< of the data
  uint64_t stored = 0;     ///< bytes in the file: `size`, or fewer if it is deflated
  uint32_t alignment = 0;  ///< of `offset`
  uint32_t crc = 0;        ///< CRC-32 of the data
  bool isDeflated = false; ///< RFC 1951, without a header of zlib's
};

/// Bytes of a deflated member's data, at most: what a file of a few kilobytes can make a reader allocate.
inline constexpr uint64_t mostDeflated = 256 << 20;

/// CRC-32 of ZIP. Long spans are cut in pieces for all processors.
uint32_t crc32(std::span<const std::byte> bytes);

/// Looks into the bytes of a container, which must outlive it.
class ContainerReader {
public:
  /// Reads every header, and compares headers and directory. `place` begins the error's text.
  static Expected<ContainerReader> read(std::span<const std::byte> bytes, std::string place);

  const std::vector<ContainerMember> &members() const { return all; }
  const ContainerMember *find(std::string_view name) const;
  /// Data of a member that is not deflated, where they lie.
  std::span<const std::byte> data(const ContainerMember &member) const;
  /// A copy of any member's data, inflated and compared with the checksum.
  Expected<std::vector<std::byte>> read(const ContainerMember &member) const;
  /// Compares the checksum of one member.
  Status checkMember(const ContainerMember &member) const;
  /// Compares all checksums: after it, all data are what was written.
  Status check() const;

private:
  Error changed(const ContainerMember &member) const;
  std::span<const std::byte> bytes;
  std::string place;
  std::vector<ContainerMember> all;
};

/// Collects members, then writes them all, once, in the order in which they were added.
class ContainerWriter {
public:
  /// Writes a member's data in place: the span is the member, zeroed. Called once.
  using Fill = std::function<Status(std::span<std::byte> data)>;

  void add(std::string name, uint64_t size, Fill fill, uint32_t alignment = 64);
  /// `data` must outlive the writer.
  void add(std::string name, std::span<const std::byte> data, uint32_t alignment = 64);
  /// The same of data that a file holds deflated, where that is shorter and they are at most
  /// `mostDeflated` bytes; memory holds them as they are.
  void addDeflated(std::string name, std::span<const std::byte> data);

  /// Writes beside `path` and renames at the end: an error leaves what was at `path`.
  Status writeFile(const std::string &path);
  Expected<MappedBytes> writeMemory();

private:
  void deflateMembers();
  /// Gives every member its place; the result is where the directory begins.
  Expected<uint64_t> layOut(const std::string &place);
  Status writeInto(std::span<std::byte> out, uint64_t directoryOffset);
  std::vector<ContainerMember> members;
  std::vector<Fill> fills;                       ///< one a member
  std::vector<std::span<const std::byte>> loose; ///< data to deflate, one a member; most are empty
};

} // namespace heddle
