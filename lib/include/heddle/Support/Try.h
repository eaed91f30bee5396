//===- Try.h - Error propagation -------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HEDDLE_TRY propagates errors, as most callers do:
//
//   Tensor tensor = HEDDLE_TRY(readNpy(path));     // the value of an Expected<Tensor>
//   HEDDLE_TRY(session.run(name, inputs, outputs)); // a Status
//
// The surrounding function returns a Status or an Expected of any type.
#pragma once

#include "heddle/Support/Error.h"

namespace heddle {

template <typename T>
T takeValue(Expected<T> &result) {
  return std::move(*result);
}
inline void takeValue(Status &) {}

} // namespace heddle

/// Value of an Expected; on an error, returns it from the surrounding function. Uses a statement
/// expression, an extension of Clang and GCC. Must not be used in arguments of `new`, whose memory
/// would leak.
#define HEDDLE_TRY(...)                                                                            \
  __extension__({                                                                                  \
    auto &&heddleTried = __VA_ARGS__;                                                              \
    if (!heddleTried)                                                                              \
      return heddleTried.takeError();                                                              \
    heddle::takeValue(heddleTried);                                                                \
  })
