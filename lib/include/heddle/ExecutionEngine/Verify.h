//===- Verify.h - Comparison of a device with the reference ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verification of kernels against the reference interpreter. A function runs on the device launch
// by launch, with buffers that share no memory, and in the interpreter on the artifact's `fused`
// stage. Launches of the program correspond one to one to groups of this stage, so that an error
// can name the first kernel whose results differ.
#pragma once

#include "heddle/Runtime/Commands.h"

#include <memory>
#include <string>

namespace heddle {

struct VerifyReport {
  int launches = 0;
  double largestDifference = 0; ///< max |a − b| / max |b| over all compared results
  std::string worstKernel;
};

/// A session of the device and one of the reference, each with its caches. The given session must
/// outlive the verifier and must not have run any function yet.
class Verifier {
public:
  /// Creates a verifier. Input error if the session's artifact does not contain its fused stage.
  static Expected<Verifier> make(Session &session);
  Verifier(Verifier &&) noexcept;
  ~Verifier();

  /// Returns the device's results, or a device error that names the first kernel that differs.
  Expected<NamedTensors> run(const std::string &function, const NamedInputs &inputs,
                             VerifyReport &report);

private:
  struct State;
  explicit Verifier(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// Verifies a single call with a new Verifier.
Expected<NamedTensors> verify(Session &session, const std::string &function,
                              const NamedInputs &inputs, VerifyReport &report);

/// Prints the number of launches and the largest difference between device and reference.
void printVerified(const VerifyReport &report, std::ostream &out);

/// `heddle run --verify`: runs the command's functions, writes or prints the results, and prints
/// the largest difference between device and reference.
Status verifyCommand(Session &session, const RunCommand &command, std::ostream &out);

} // namespace heddle
