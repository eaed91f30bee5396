//===- KernelCache.cpp - On-disk cache of kernel code ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of the kernel cache. A file has a mark, its key, a hash of the code, and the code. The key
// is repeated because files may be renamed. The hash detects incompletely written files.

#include "KernelCache.h"

#include "heddle/Support/CacheFolder.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/SHA256.h"

#include <cstring>
#include <elf.h>
#include <link.h>

using namespace heddle;
using llvm::StringRef;

static constexpr StringRef kMark = "heddle kernel 1\n"; ///< includes the version of the file format
static constexpr uint64_t kMaxKernels = 10000;          ///< files of the cache

//===- Identity of the compiler ------------------------------------------===//

/// Build id in a segment of ELF notes. Linkers compute it from an object's whole content.
static StringRef buildIdIn(StringRef notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes.data(), sizeof header);
    notes = notes.drop_front(sizeof header);
    StringRef name = notes.take_front(header.n_namesz);
    notes = notes.drop_front(std::min<size_t>(notes.size(), llvm::alignTo<4>(header.n_namesz)));
    StringRef content = notes.take_front(header.n_descsz);
    notes = notes.drop_front(std::min<size_t>(notes.size(), llvm::alignTo<4>(header.n_descsz)));
    if (header.n_type == NT_GNU_BUILD_ID && name == StringRef("GNU", 4))
      return content;
  }
  return {};
}

namespace {
/// Build ids of all loaded objects that influence code generation.
struct BuildIds {
  std::string ids;
  bool complete = true;

  void add(const dl_phdr_info &object);
};
} // namespace

static StringRef segment(const dl_phdr_info &object, const ElfW(Phdr) & header) {
  return {reinterpret_cast<const char *>(object.dlpi_addr + header.p_vaddr), header.p_memsz};
}

/// Whether a loaded object influences code generation: LLVM and MLIR, and the object of Heddle
/// itself, which contains kMark.
static bool decidesCode(const dl_phdr_info &object) {
  StringRef file = object.dlpi_name;
  if (file.contains("libLLVM") || file.contains("libMLIR"))
    return true;
  return llvm::any_of(llvm::ArrayRef(object.dlpi_phdr, object.dlpi_phnum), [&](const ElfW(Phdr) &
                                                                               header) {
    StringRef bytes = segment(object, header);
    return header.p_type == PT_LOAD && kMark.data() >= bytes.begin() && kMark.data() < bytes.end();
  });
}

void BuildIds::add(const dl_phdr_info &object) {
  if (!decidesCode(object))
    return;
  StringRef id;
  for (const ElfW(Phdr) &header : llvm::ArrayRef(object.dlpi_phdr, object.dlpi_phnum))
    if (header.p_type == PT_NOTE && id.empty())
      id = buildIdIn(segment(object, header));
  complete &= !id.empty();
  ids += llvm::toHex(id) + "\n";
}

/// Text that identifies the compiler's build; empty if an object has no build id, since builds
/// could not be distinguished.
static std::string compilerIdentity() {
  BuildIds found;
  dl_iterate_phdr(
      [](dl_phdr_info *object, size_t, void *to) {
        static_cast<BuildIds *>(to)->add(*object);
        return 0;
      },
      &found);
  if (!found.complete || found.ids.empty())
    return "";
  return kMark.str() + "LLVM " LLVM_VERSION_STRING "\n" + found.ids;
}

//===- Files -------------------------------------------------------------===//

Expected<KernelCache> KernelCache::open() {
  auto bytes = HEDDLE_TRY(cacheLimit(kKernelLimitVariable, kDefaultKernelMegabytes));
  KernelCache cache;
  cache.folder = cacheDirectory();
  if (bytes == 0 || cache.folder.empty())
    return cache;
  static const std::string identity = compilerIdentity();
  cache.compiler = identity;
  cache.limitBytes = identity.empty() ? 0 : bytes;
  return cache;
}

KernelCache::Key KernelCache::keyOf(llvm::ArrayRef<StringRef> parts) const {
  llvm::SHA256 hash;
  auto add = [&](StringRef part) {
    uint8_t size[8]; // makes the hashed bytes of different lists differ
    llvm::support::endian::write64le(size, part.size());
    hash.update(size);
    hash.update(part);
  };
  add(compiler);
  llvm::for_each(parts, add);
  return hash.final();
}

static std::string pathOf(StringRef folder, const KernelCache::Key &key) {
  return (folder + "/" + StringRef(cachedKernels.prefix) + llvm::toHex(key, /*LowerCase=*/true) +
          ".bin")
      .str();
}

/// Header of a file: mark, key and hash of the code.
static std::string headOf(const KernelCache::Key &key, StringRef code) {
  auto sum = llvm::SHA256::hash(llvm::arrayRefFromStringRef(code));
  return kMark.str() + llvm::toStringRef(key).str() + llvm::toStringRef(sum).str();
}

std::optional<std::string> KernelCache::find(const Key &key) const {
  if (!isOn())
    return std::nullopt;
  std::string path = pathOf(folder, key);
  std::optional<std::string> bytes = readFromCache(path);
  size_t size = kMark.size() + 2 * std::tuple_size_v<Key>;
  if (!bytes || bytes->size() <= size ||
      !StringRef(*bytes).starts_with(headOf(key, StringRef(*bytes).drop_front(size))))
    return std::nullopt;
  touchInCache(path);
  bytes->erase(0, size);
  return bytes;
}

void KernelCache::keep(const Key &key, StringRef code) const {
  if (isOn())
    keepInCache(pathOf(folder, key), headOf(key, code) + code.str());
}

void KernelCache::limit() const {
  if (isOn())
    limitCache(cachedKernels.prefix, kMaxKernels, limitBytes);
}
