//===- LoadedObject.cpp - Loads a shared object from memory -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads an object through an anonymous file (memfd), whose path under /proc is given to the dynamic
// loader.
#include "LoadedObject.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace heddle {

LoadedObject::LoadedObject(LoadedObject &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)),
      handle(std::exchange(other.handle, nullptr)) {}

LoadedObject::~LoadedObject() {
  if (handle)
    dlclose(handle);
  if (descriptor >= 0)
    close(descriptor);
}

static bool writeAll(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

Expected<LoadedObject> LoadedObject::load(std::span<const std::byte> object,
                                          const std::string &name) {
  int descriptor = memfd_create("heddle", MFD_CLOEXEC);
  if (descriptor < 0)
    return deviceError(name + ": expected memory for code, found: " + std::strerror(errno));
  LoadedObject loaded(descriptor, nullptr);
  if (!writeAll(descriptor, object))
    return deviceError(name + ": expected memory for code, found: " + std::strerror(errno));
  loaded.handle =
      dlopen(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded.handle) {
    const char *reason = dlerror();
    return inputError(
        name + ": expected a shared object, found: " + (reason ? reason : "an unknown error"));
  }
  return loaded;
}

void *LoadedObject::find(const std::string &function) const {
  return dlsym(handle, function.c_str());
}

} // namespace heddle
