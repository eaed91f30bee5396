//===- Container.h - A ZIP of aligned members ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// File format of artifacts: a ZIP with aligned members. Members that are used in place when mapped
// are stored, others are deflated in files.
// Except for zlib's output there is only one way to write given members: no gaps, fixed timestamps,
// alignment and padding in an extra field. The reader therefore follows the members from the start
// of the file, rebuilds all headers and the directory, and compares them. Together with the
// members' checksums, this detects every change of the file. ZIP64 records are used where a size or
// an offset needs them.
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
  uint64_t offset = 0;     ///< of the stored bytes, from the start of the file
  uint64_t size = 0;       ///< of the data
  uint64_t stored = 0;     ///< bytes in the file: `size`, or fewer if it is deflated
  uint32_t alignment = 0;  ///< of `offset`
  uint32_t crc = 0;        ///< CRC-32 of the data
  bool isDeflated = false; ///< RFC 1951, without zlib's header
};

/// Maximum size of a deflated member's data: limits how much a file of a few kilobytes makes a
/// reader allocate.
inline constexpr uint64_t mostDeflated = 256 << 20;

/// CRC-32 as in ZIP. Long spans are divided among all processors.
uint32_t crc32(std::span<const std::byte> bytes);

/// Reads the bytes of a container, which must outlive the reader.
class ContainerReader {
public:
  /// Reads every header, and compares headers and directory. Errors begin with `place`.
  static Expected<ContainerReader> read(std::span<const std::byte> bytes, std::string place);

  const std::vector<ContainerMember> &members() const { return all; }
  const ContainerMember *find(std::string_view name) const;
  /// Data of a member that is not deflated, in place.
  std::span<const std::byte> data(const ContainerMember &member) const;
  /// A copy of any member's data, inflated and compared with the checksum.
  Expected<std::vector<std::byte>> read(const ContainerMember &member) const;
  /// Compares the checksum of one member.
  Status checkMember(const ContainerMember &member) const;
  /// Compares all checksums. On success, all data are as they were written.
  Status check() const;

private:
  Error changed(const ContainerMember &member) const;
  std::span<const std::byte> bytes;
  std::string place;
  std::vector<ContainerMember> all;
};

/// Collects members, then writes them all once, in the order in which they were added.
class ContainerWriter {
public:
  /// Writes a member's data in place: the span is the zeroed member. Called once.
  using Fill = std::function<Status(std::span<std::byte> data)>;

  void add(std::string name, uint64_t size, Fill fill, uint32_t alignment = 64);
  /// `data` must outlive the writer.
  void add(std::string name, std::span<const std::byte> data, uint32_t alignment = 64);
  /// Adds data that a file stores deflated, if that is shorter and the data have at most
  /// `mostDeflated` bytes. In memory, data are not deflated.
  void addDeflated(std::string name, std::span<const std::byte> data);

  /// Writes next to `path` and renames at the end: after an error, the old file at `path` is
  /// unchanged.
  Status writeFile(const std::string &path);
  Expected<MappedBytes> writeMemory();

private:
  void deflateMembers();
  /// Assigns a place to every member and returns the offset of the directory.
  Expected<uint64_t> layOut(const std::string &place);
  Status writeInto(std::span<std::byte> out, uint64_t directoryOffset);
  std::vector<ContainerMember> members;
  std::vector<Fill> fills;                       ///< one per member
  std::vector<std::span<const std::byte>> loose; ///< data to deflate, one per member; most are
                                                 ///< empty
};

} // namespace heddle
