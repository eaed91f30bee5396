//===- CpuCode.h - The CPU device ------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code of an artifact on the CPU: picks the member of the best instruction set that the processor
// and the operating system support, loads it, and runs kernels over their grids.
#pragma once

#include "heddle/Runtime/Device.h"

namespace heddle {

/// Loads the best member for this processor. Fails if no member runs on it, or if the member lacks
/// a kernel. `artifact` must outlive the code, which reads its weights in place.
Expected<std::unique_ptr<DeviceCode>> loadCpuCode(const Artifact &artifact);

} // namespace heddle
