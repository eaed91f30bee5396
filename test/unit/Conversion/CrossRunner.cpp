//===- CrossRunner.cpp - Runs a kernel of another architecture ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls one kernel at all points of a grid. A cross compiler builds this program, and an emulator
// runs it. A file holds the call and receives the results. It begins with words of eight bytes:
// whether denormals are flushed, three extents, the number of arguments, the start of each
// argument, and scalars. The arguments follow.

#include "../../../lib/Runtime/Cpu/DenormalGuard.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <optional>
#include <sys/mman.h>
#include <vector>

using Function = void (*)(void *const *, const int64_t *, int64_t, int64_t, int64_t);

int main(int count, char **arguments) {
  if (count != 5) {
    std::fprintf(stderr, "usage: cross-runner OBJECT FUNCTION CALL BYTES\n");
    return 2;
  }
  void *library = dlopen(arguments[1], RTLD_NOW);
  auto function = library ? reinterpret_cast<Function>(dlsym(library, arguments[2])) : nullptr;
  int file = open(arguments[3], O_RDWR);
  void *memory = file < 0 ? MAP_FAILED
                          : mmap(nullptr, std::strtoull(arguments[4], nullptr, 10),
                                 PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (!function || memory == MAP_FAILED) {
    std::fprintf(stderr, "cross-runner: expected an object and a call, found %s\n",
                 library ? "no call" : dlerror());
    return 1;
  }
  auto *words = static_cast<int64_t *>(memory);
  std::vector<void *> pointers;
  for (int64_t i = 0; i < words[4]; ++i)
    pointers.push_back(static_cast<char *>(memory) + words[5 + i]);
  pointers.push_back(nullptr); // no prefetch address
  std::optional<heddle::DenormalGuard> flush;
  if (words[0])
    flush.emplace();
  for (int64_t i = 0; i < words[1]; ++i)
    for (int64_t j = 0; j < words[2]; ++j)
      for (int64_t k = 0; k < words[3]; ++k)
        function(pointers.data(), words + 5 + words[4], i, j, k);
  return 0;
}
