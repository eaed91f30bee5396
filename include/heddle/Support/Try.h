//===- Try.h - Error propagation -------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most callers pass an error on unchanged:
//
//   Tensor tensor = HEDDLE_TRY(readNpy(path));     // the value of an Expected<Tensor>
//   HEDDLE_TRY(session.run(name, inputs, outputs)); // a Status
//
// The function around it returns a Status or an Expected of any type.
#pragma once

#include "heddle/Support/Error.h"

namespace heddle {

template <typename T>
T takeValue(Expected<T> &result) {
  return std::move(*result);
}
inline void takeValue(Status &) {}

} // namespace heddle

/// Value of an Expected; on an error, returns it from the function around. Uses a statement
/// expression, an extension of Clang and GCC. Not for arguments of `new`, whose memory would leak.
#define HEDDLE_TRY(...)                                                                            \
  __extension__({                                                                                  \
    auto &&heddleTried = __VA_ARGS__;                                                              \
    if (!heddleTried)                                                                              \
      return heddleTried.takeError();                                                              \
    heddle::takeValue(heddleTried);                                                                \
  })
