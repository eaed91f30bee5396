//===- CpuCode.h - The CPU device ------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code of an artifact on the CPU: picks the member of the best instruction set that the processor
// and the operating system support, loads it, and runs kernels over their grids.
#pragma once

#include "heddle/Runtime/Device.h"

namespace heddle {

/// Loads the member for instruction set `cpu`, or the best member for this processor if it is
/// empty. Fails if the file has no such member, if it does not run on this processor, or if it lacks
/// a kernel. `artifact` must outlive the code, which reads its weights in place.
Expected<std::unique_ptr<DeviceCode>> loadCpuCode(const Artifact &artifact,
                                                  std::string_view cpu = {});

} // namespace heddle
