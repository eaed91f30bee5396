//===- Linker.cpp - LLD in process ----------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLD in process. It keeps global state and works on files: one link at a time,
// in a temporary directory. No file name enters the output.

#include "heddle/Target/ObjectCode.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include "heddle/Support/Try.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace heddle;

namespace {
/// A temporary directory, removed by the destructor.
class TemporaryDirectory {
public:
  TemporaryDirectory() { error = llvm::sys::fs::createUniqueDirectory("heddle", path); }
  ~TemporaryDirectory() {
    if (!error)
      llvm::sys::fs::remove_directories(path);
  }
  std::string file(const llvm::Twine &name) const {
    llvm::SmallString<128> result(path);
    llvm::sys::path::append(result, name);
    return result.str().str();
  }

  std::error_code error;
  llvm::SmallString<128> path;
};
} // namespace

static Status writeFile(const std::string &path, const std::string &bytes) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (error)
    return deviceError(path + ": cannot be written: " + error.message());
  stream << bytes;
  stream.close();
  if (stream.has_error())
    return deviceError(path + ": cannot be written: " + stream.error().message());
  return {};
}

/// First line of LLD's messages.
static std::string firstLine(llvm::StringRef text) { return text.trim().split('\n').first.str(); }

Expected<std::vector<char>> heddle::linkSharedObject(const std::vector<std::string> &objects) {
  static std::mutex oneLinkAtATime;
  std::lock_guard<std::mutex> lock(oneLinkAtATime);

  TemporaryDirectory directory;
  if (directory.error)
    return deviceError("no temporary directory for the linker: " + directory.error.message());
  std::string output = directory.file("kernels.so");
  std::vector<std::string> arguments = {"ld.lld",         "-shared",     "-nostdlib",
                                        "--no-undefined", "--strip-all", "--build-id=none",
                                        "--threads=1",    "-o",          output};
  for (size_t i = 0; i < objects.size(); ++i) {
    arguments.push_back(directory.file("kernel" + llvm::Twine(i) + ".o"));
    HEDDLE_TRY(writeFile(arguments.back(), objects[i]));
  }
  std::vector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  lld::Result result = lld::lldMain(pointers, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return deviceError("the kernels cannot be linked: " + firstLine(messages));
  auto buffer =
      llvm::MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return deviceError("the linked kernels cannot be read: " + buffer.getError().message());
  return std::vector<char>((*buffer)->getBufferStart(), (*buffer)->getBufferEnd());
}
