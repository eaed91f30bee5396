//===- ContainerWriter.cpp - Writes a container ----------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes are known before anything is written, so the whole file is laid out,
// mapped, and filled in place: weights are made where they stay, whether that
// is a file or memory.
//
//===----------------------------------------------------------------------===//

#include "SystemError.h"
#include "ZipFormat.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heddle {

namespace {

/// A new file beside the target, which takes its place when it is complete and is removed
/// otherwise.
class Replacement {
public:
  static Expected<Replacement> create(const std::string &path) {
    struct stat facts = {};
    std::string target = path;
    if (::stat(path.c_str(), &facts) == 0) {
      if (!S_ISREG(facts.st_mode))
        return inputError(path + ": expected a file or a new path, found " +
                          (S_ISDIR(facts.st_mode) ? "a directory" : "a device or a pipe"));
      // Behind a symbolic link, the file is replaced and not the link.
      if (char *real = ::realpath(path.c_str(), nullptr)) {
        target = real;
        std::free(real);
      }
    }
    static std::atomic<int> serial = 0;
    std::string temporary =
        target + "." + std::to_string(::getpid()) + "." + std::to_string(serial++) + ".part";
    // Exclusive: nobody else's file is ever written to. The umask decides who may read it.
    int descriptor = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0)
      return systemError(path, "a path that can be written");
    return Replacement(path, std::move(target), std::move(temporary), descriptor);
  }
  Replacement(Replacement &&other) noexcept
      : path(std::move(other.path)), target(std::move(other.target)),
        temporary(std::move(other.temporary)), descriptor(std::exchange(other.descriptor, -1)) {}
  ~Replacement() {
    if (descriptor < 0)
      return;
    ::close(descriptor);
    ::unlink(temporary.c_str());
  }

  /// Open for reading and writing.
  int file() const { return descriptor; }

  /// Data first, then the name: a crash leaves the old file or the new one.
  Status commit() {
    if (::fsync(descriptor) != 0 || ::rename(temporary.c_str(), target.c_str()) != 0)
      return systemError(path, "a path that can be written");
    ::close(std::exchange(descriptor, -1));
    return {};
  }

private:
  Replacement(std::string path, std::string target, std::string temporary, int descriptor)
      : path(std::move(path)), target(std::move(target)), temporary(std::move(temporary)),
        descriptor(descriptor) {}
  std::string path, target, temporary;
  int descriptor;
};

void copy(std::span<std::byte> out, uint64_t offset, const std::vector<std::byte> &bytes) {
  std::memcpy(out.data() + offset, bytes.data(), bytes.size());
}

} // namespace

void ContainerWriter::add(std::string name, uint64_t size, Fill fill, uint32_t alignment) {
  ContainerMember member;
  member.name = std::move(name);
  member.size = size;
  member.alignment = alignment;
  members.push_back(std::move(member));
  fills.push_back(std::move(fill));
}

void ContainerWriter::add(std::string name, std::span<const std::byte> data, uint32_t alignment) {
  auto copyData = [data](std::span<std::byte> out) -> Status {
    std::copy(data.begin(), data.end(), out.begin());
    return {};
  };
  add(std::move(name), data.size(), copyData, alignment);
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
    start = member.offset + member.size;
  }
  return start;
}

/// Data first: a header holds the checksum of what `fill` wrote behind it.
Status ContainerWriter::writeInto(std::span<std::byte> out, uint64_t directoryOffset) {
  uint64_t start = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    ContainerMember &member = members[i];
    std::span<std::byte> data = out.subspan(member.offset, member.size);
    if (Status status = fills[i](data); !status)
      return status;
    member.crc = crc32(data);
    copy(out, start, zip::localHeader(member, zip::placeMember(member, start)));
    start = member.offset + member.size;
  }
  copy(out, directoryOffset, zip::directory(members, directoryOffset));
  return {};
}

Status ContainerWriter::checkPath(const std::string &path) {
  auto file = Replacement::create(path); // and gone again
  return file ? Status() : Status(file.takeError());
}

Status ContainerWriter::writeFile(const std::string &path) {
  auto directoryOffset = layOut(path);
  if (!directoryOffset)
    return directoryOffset.takeError();
  auto file = Replacement::create(path);
  if (!file)
    return file.takeError();
  { // unmapped before the file is renamed
    uint64_t total = *directoryOffset + zip::directory(members, *directoryOffset).size();
    auto mapped = MappedBytes::mapForWriting(file->file(), static_cast<int64_t>(total), path);
    if (!mapped)
      return mapped.takeError();
    if (Status status = writeInto(mapped->writable(), *directoryOffset); !status)
      return status;
  }
  return file->commit();
}

/// Zero pages that no member touches, such as padding, cost no memory.
Expected<MappedBytes> ContainerWriter::writeMemory() {
  auto directoryOffset = layOut("memory");
  if (!directoryOffset)
    return directoryOffset.takeError();
  uint64_t total = *directoryOffset + zip::directory(members, *directoryOffset).size();
  auto memory = MappedBytes::allocate(static_cast<int64_t>(total));
  if (!memory)
    return memory;
  if (Status status = writeInto(memory->writable(), *directoryOffset); !status)
    return status.takeError();
  return memory;
}

} // namespace heddle
