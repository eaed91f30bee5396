//===- VulkanConstants.h - Specialization constants ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ids of the specialization constants with which the runtime tells a kernel about the device. A
// kernel declares the constants that it needs.
#pragma once

#include <cstdint>

namespace heddle {

/// Boolean: instructions on f16 keep denormals.
constexpr uint32_t vulkanKeepsHalves = 0;

} // namespace heddle
