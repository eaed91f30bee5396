//===- ContainerWriter.cpp - Writes a container ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writing of containers. Sizes are known before anything is written, so the whole file is laid out,
// mapped, and filled in place. Weights are produced at their final place, in a file or in memory.

#include "ZipFormat.h"

#include "heddle/Support/OutputFile.h"
#include "heddle/Support/Parallel.h"
#include "heddle/Support/Try.h"

#include <cstring>
#include <zlib.h>

namespace heddle {

namespace {

void copy(std::span<std::byte> out, uint64_t offset, const std::vector<std::byte> &bytes) {
  std::memcpy(out.data() + offset, bytes.data(), bytes.size());
}

/// `data` deflated; empty if this is not shorter, or not allowed.
std::vector<std::byte> deflated(std::span<const std::byte> data) {
  z_stream stream{};
  std::vector<std::byte> out(data.size());
  // Negative: without a header. 8: zlib's default memory level.
  if (data.size() > mostDeflated || deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                                                 -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return {};
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<std::byte *>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool isShorter = ::deflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out > 0;
  out.resize(isShorter ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

} // namespace

void ContainerWriter::add(std::string name, uint64_t size, Fill fill, uint32_t alignment) {
  ContainerMember member;
  member.name = std::move(name);
  member.size = member.stored = size;
  member.alignment = alignment;
  members.push_back(std::move(member));
  fills.push_back(std::move(fill));
  loose.emplace_back();
}

void ContainerWriter::add(std::string name, std::span<const std::byte> data, uint32_t alignment) {
  auto copyData = [data](std::span<std::byte> out) -> Status {
    std::copy(data.begin(), data.end(), out.begin());
    return {};
  };
  add(std::move(name), data.size(), copyData, alignment);
}

void ContainerWriter::addDeflated(std::string name, std::span<const std::byte> data) {
  add(std::move(name), data);
  loose.back() = data;
}

void ContainerWriter::deflateMembers() {
  parallelFor(static_cast<int64_t>(members.size()), processorCount(), [&](int64_t i, int) {
    if (loose[i].empty())
      return;
    std::vector<std::byte> bytes = deflated(loose[i]);
    if (bytes.empty())
      return;
    members[i].isDeflated = true;
    members[i].stored = bytes.size();
    members[i].crc = crc32(loose[i]);
    fills[i] = [bytes = std::move(bytes)](std::span<std::byte> out) -> Status {
      std::ranges::copy(bytes, out.begin());
      return {};
    };
  });
}

Expected<uint64_t> ContainerWriter::layOut(const std::string &place) {
  uint64_t start = 0;
  for (ContainerMember &member : members) {
    if (Status status = zip::checkMember(member); !status)
      return inputError(place + ": " + status.error().message);
    for (const ContainerMember *other = members.data(); other != &member; ++other)
      if (other->name == member.name)
        return inputError(place + ": expected each member once, found " + member.name + " twice");
    member.offset = zip::placeMember(member, start).data;
    start = member.offset + member.stored;
  }
  return start;
}

/// Writes data first: a header contains the checksum of the data after it.
Status ContainerWriter::writeInto(std::span<std::byte> out, uint64_t directoryOffset) {
  uint64_t start = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    ContainerMember &member = members[i];
    std::span<std::byte> data = out.subspan(member.offset, member.stored);
    HEDDLE_TRY(fills[i](data));
    if (!member.isDeflated)
      member.crc = crc32(data);
    copy(out, start, zip::localHeader(member, zip::placeMember(member, start)));
    start = member.offset + member.stored;
  }
  copy(out, directoryOffset, zip::directory(members, directoryOffset));
  return {};
}

Status ContainerWriter::writeFile(const std::string &path) {
  deflateMembers();
  auto directoryOffset = HEDDLE_TRY(layOut(path));
  auto file = HEDDLE_TRY(AtomicFile::create(path));
  { // unmapped before the file is renamed
    uint64_t total = directoryOffset + zip::directory(members, directoryOffset).size();
    auto mapped =
        HEDDLE_TRY(MappedBytes::mapForWriting(file.file(), static_cast<int64_t>(total), path));
    EarlyWriting writing(file.file());
    HEDDLE_TRY(writeInto(mapped.writable(), directoryOffset));
  }
  return file.commit();
}

/// Zero pages that no member touches, such as padding, use no memory.
Expected<MappedBytes> ContainerWriter::writeMemory() {
  auto directoryOffset = HEDDLE_TRY(layOut("memory"));
  uint64_t total = directoryOffset + zip::directory(members, directoryOffset).size();
  auto memory = HEDDLE_TRY(MappedBytes::allocate(static_cast<int64_t>(total)));
  HEDDLE_TRY(writeInto(memory.writable(), directoryOffset));
  return memory;
}

} // namespace heddle
