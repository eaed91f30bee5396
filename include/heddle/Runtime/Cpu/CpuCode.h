//===- CpuCode.h - The CPU device ------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Picks the member of the best instruction set that this processor and its
// operating system support, loads it, and runs kernels over their grids.
#pragma once

#include "heddle/Runtime/Device.h"

namespace heddle {

/// Fails if no member of the artifact runs on this processor, or if the member lacks a kernel.
/// `artifact` must outlive the code, which reads its weights in place.
Expected<std::unique_ptr<DeviceCode>> loadCpuCode(const Artifact &artifact);

} // namespace heddle
