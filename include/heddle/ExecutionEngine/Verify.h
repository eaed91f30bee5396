//===- Verify.h - The device beside the reference --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a function on the device launch by launch, every buffer in memory of its
// own, and beside it the slow reference on the `fused` stage that the artifact
// carries. Groups of that stage and launches of the program are the same list,
// so the first kernel whose results differ can be named.
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

/// A session with the reference's session beside it: both keep their caches from call to call. The
/// session, which must outlive the verifier, has run nothing before it.
class Verifier {
public:
  static Expected<Verifier> make(Session &session);
  Verifier(Verifier &&) noexcept;
  ~Verifier();

  /// Results of the device, or an error of kind Device that names the first kernel that differs.
  Expected<NamedTensors> run(const std::string &function, const NamedInputs &inputs,
                             VerifyReport &report);

private:
  struct State;
  explicit Verifier(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// One call of a verifier: results of the device, or an error of kind Device that names the first
/// kernel that differs.
Expected<NamedTensors> verify(Session &session, const std::string &function,
                              const NamedInputs &inputs, VerifyReport &report);

/// `heddle run --verify`: runs, writes or prints the results, and says how far device and reference
/// are apart.
Status verifyCommand(Session &session, const RunCommand &command, std::ostream &out);

} // namespace heddle
