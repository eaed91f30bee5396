//===- AllocationCounter.cpp - Counter of heap allocations ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program's own malloc replaces the C library's, which it calls. Sanitisers already replace
// malloc and provide a hook instead.
#include "AllocationCounter.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

static std::atomic<int64_t> counted{0};

int64_t heddle::test::allocations() { return counted; }

#ifdef __SANITIZE_ADDRESS__

// Not every compiler ships the sanitiser's header.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void *, size_t),
                                                         void (*)(const volatile void *));

static const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void *, size_t) { ++counted; }, [](const volatile void *) {});

#else

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
  ++counted;
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  ++counted;
  return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
  ++counted;
  return __libc_realloc(old, size);
}
void *memalign(size_t alignment, size_t size) {
  ++counted;
  return __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **to, size_t alignment, size_t size) {
  *to = memalign(alignment, size);
  return *to ? 0 : ENOMEM;
}
}

#endif
