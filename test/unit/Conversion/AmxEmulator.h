//===- AmxEmulator.h - AMX on other processors ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the instructions of Intel's matrix unit on x86 processors without it. Such a processor raises
// an exception for an unknown instruction, and the handler of its signal executes the instruction as
// the manual defines it.
#pragma once

namespace heddle::test {

/// Installs the handler, once. Returns false on other architectures.
bool emulateAmx();

} // namespace heddle::test
