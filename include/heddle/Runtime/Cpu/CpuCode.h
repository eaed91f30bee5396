//===- CpuCode.h - Kernels as native code ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Picks the member of the best instruction set that this processor and its
// operating system support, loads it, and runs kernels over their grids.
#pragma once

#include "heddle/Runtime/Device.h"

namespace heddle {

Expected<std::unique_ptr<DeviceCode>> loadCpuCode(const Artifact &artifact);

} // namespace heddle
