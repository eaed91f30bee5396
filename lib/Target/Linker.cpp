//===- Linker.cpp - LLD in process ----------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs LLD in this process. LLD has global state, so links run one at a time.
// A fatal error of LLD would exit the process; a CrashRecoveryContext, which
// lldMain makes, turns it into a status.
// It works on files, which are kept in memory: one archive of all objects, and
// a pipe for the output, because LLD creates a temporary file next to an output
// file. On systems without such files, a temporary folder is used. No file name
// enters the output.

#include "heddle/Target/ObjectCode.h"

#include "lld/Common/Driver.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include "heddle/Support/Descriptor.h"
#include "heddle/Support/OutputFile.h"
#include "heddle/Support/SystemError.h"
#include "heddle/Support/Try.h"

#include <array>
#include <atomic>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <mutex>
#include <sys/mman.h>
#include <system_error>
#include <thread>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace heddle;

namespace {
/// A path of a descriptor that LLD can open.
std::string pathOf(const Descriptor &file) { return "/proc/self/fd/" + std::to_string(file.get()); }

/// Reads a pipe in a separate thread until all writers have closed it.
class PipeReader {
public:
  explicit PipeReader(int from) : thread([this, from] { read(from); }) {}
  /// The written bytes, once all writers have closed the pipe; none if memory or the pipe failed.
  std::optional<std::vector<char>> take() {
    thread.join();
    return failed ? std::nullopt : std::optional(std::move(bytes));
  }
  /// Ends reading after a fatal error of LLD, which leaves its end of the pipe open.
  void stop(int to) {
    isStopped = true;
    (void)!::write(to, "", 1);
  }

private:
  /// Continues reading after a failure, because the writer blocks otherwise.
  void read(int from) {
    std::array<char, 1 << 16> part;
    for (;;) {
      const ssize_t size = ::read(from, part.data(), part.size());
      if (size == 0 || isStopped)
        return;
      if (size < 0 && errno != EINTR) {
        failed = true;
        return;
      }
      try {
        bytes.insert(bytes.end(), part.data(), part.data() + std::max<ssize_t>(size, 0));
      } catch (const std::bad_alloc &) {
        failed = true;
      }
    }
  }

  bool failed = false;
  std::atomic<bool> isStopped = false;
  std::vector<char> bytes;
  std::thread thread; ///< declared last, because it uses the other members
};
} // namespace

static Expected<std::unique_ptr<llvm::MemoryBuffer>>
archiveOf(const std::vector<std::string> &objects) {
  std::vector<llvm::NewArchiveMember> members;
  for (const std::string &object : objects)
    members.emplace_back(llvm::MemoryBufferRef(object, "kernel.o"));
  auto archive = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NoSymtab,
                                            llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                            /*Thin=*/false);
  if (!archive)
    return deviceError("the kernels make no archive: " + llvm::toString(archive.takeError()));
  return std::move(*archive);
}

namespace {
/// Turns fatal errors into statuses, which changes signal handlers of the process meanwhile.
struct Recovery {
  Recovery() { llvm::CrashRecoveryContext::Enable(); }
  Recovery(const Recovery &) = delete;
  Recovery &operator=(const Recovery &) = delete;
  ~Recovery() { llvm::CrashRecoveryContext::Disable(); }
};
} // namespace

/// True if an allocation as large as a library may need at once fails.
static bool isMemoryShort() {
  constexpr size_t needed = size_t(64) << 20;
  void *memory =
      ::mmap(nullptr, needed, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return true;
  ::munmap(memory, needed);
  return false;
}

/// First line of LLD's messages.
static std::string firstLine(llvm::StringRef text) { return text.trim().split('\n').first.str(); }

static Status runLinker(const std::string &input, const std::string &output) {
  const std::vector<const char *> arguments = {
      "ld.lld",      "-shared", "-nostdlib",    "--no-undefined",  "--strip-all", "--build-id=none",
      "--threads=1", "-o",      output.c_str(), "--whole-archive", input.c_str()};
  static bool canRun = true; // LLD is unusable after a fatal error
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  if (canRun) {
    const Recovery recovery;
    const lld::Result result =
        lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
    canRun = result.canRunAgain;
    if (result.retCode == 0)
      return {};
  }
  if (isMemoryShort())
    return outOfMemory();
  return deviceError("the kernels cannot be linked: " + firstLine(messages));
}

//===- In memory ---------------------------------------------------------===//

/// Links in memory. Returns none if the system supports no files in memory, has no /proc to name
/// them, or cannot start a thread for the output.
static Expected<std::optional<std::vector<char>>> linkInMemory(llvm::StringRef archive) {
  const Descriptor file(memfd_create("heddle", MFD_CLOEXEC));
  if (file.get() < 0 || ::access(pathOf(file).c_str(), F_OK) != 0)
    return std::optional<std::vector<char>>();
  const FileSizeSignalBlock block;
  for (llvm::StringRef left = archive; !left.empty();) {
    const ssize_t written = ::write(file.get(), left.data(), left.size());
    if (written < 0 && errno != EINTR)
      return systemError("memory", "room for the objects of kernels");
    left = left.drop_front(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return systemError("memory", "a pipe for the linker's output");
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  std::unique_ptr<PipeReader> reader;
  try {
    reader = std::make_unique<PipeReader>(from.get());
  } catch (const std::system_error &) {
    return std::optional<std::vector<char>>();
  }
  Status status = runLinker(pathOf(file), pathOf(to));
  if (!status)
    reader->stop(to.get());
  to.close();
  std::optional<std::vector<char>> linked = reader->take();
  HEDDLE_TRY(status);
  if (!linked)
    return systemError("memory", "room for the linked kernels", ENOMEM);
  return linked;
}

//===- In a folder -------------------------------------------------------===//

namespace {
/// A folder used only by this process and deleted with its files.
class TemporaryFolder {
public:
  static Expected<TemporaryFolder> create() {
    std::error_code failure;
    const std::filesystem::path all = std::filesystem::temp_directory_path(failure);
    std::string pattern = (failure ? "/tmp" : all) / "heddle-XXXXXX";
    if (!::mkdtemp(pattern.data()))
      return systemError(pattern, "a folder that can be made for the linker");
    return TemporaryFolder(std::move(pattern));
  }
  TemporaryFolder(TemporaryFolder &&other) noexcept : folder(std::exchange(other.folder, "")) {}
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!folder.empty())
      std::filesystem::remove_all(folder, ignored);
  }
  std::string file(const char *name) const { return folder + "/" + name; }

private:
  explicit TemporaryFolder(std::string folder) : folder(std::move(folder)) {}
  std::string folder;
};
} // namespace

static Expected<std::vector<char>> linkInFolder(llvm::StringRef archive) {
  const TemporaryFolder folder = HEDDLE_TRY(TemporaryFolder::create());
  const std::string input = folder.file("kernels.a"), output = folder.file("kernels.so");
  HEDDLE_TRY(replaceFile(input, {archive.data(), archive.size()}));
  HEDDLE_TRY(runLinker(input, output));
  auto linked = llvm::MemoryBuffer::getFile(output, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false, /*IsVolatile=*/true);
  if (!linked)
    return systemError(output, "a file that can be read", linked.getError().value());
  const llvm::StringRef bytes = (*linked)->getBuffer();
  return std::vector<char>(bytes.begin(), bytes.end());
}

Expected<std::vector<char>> heddle::linkSharedObject(const std::vector<std::string> &objects) {
  static std::mutex oneLinkAtATime;
  std::lock_guard<std::mutex> lock(oneLinkAtATime);
  const std::unique_ptr<llvm::MemoryBuffer> archive = HEDDLE_TRY(archiveOf(objects));
  auto linked = HEDDLE_TRY(linkInMemory(archive->getBuffer()));
  if (linked)
    return std::move(*linked);
  return linkInFolder(archive->getBuffer());
}
