//===- DecodingChoice.h - Options of commands that write text --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of a search, from flags and from the model's own settings.
#pragma once

#include "heddle/Generation/Commands.h"
#include "heddle/Generation/TextDecoder.h"

#include <chrono>

namespace heddle {

/// Returns a usage error for flags that contradict each other.
Status checkWriting(const WritingOptions &writing);

/// The options of a search. Returns a usage error for a value out of range, and for a flag of
/// sampling without sampling. Output that `streams` has one hypothesis, whatever the model's
/// settings say.
Expected<DecodingOptions> decodingOf(const WritingOptions &writing, const TextDecoder &decoder,
                                     const TextSide &target, bool streams);

/// Counts tokens and the time that they take.
class Rate {
public:
  /// Measures time during its lifetime. The time in which drivers compile kernels does not count.
  class Span {
  public:
    Span(Rate &rate, const Session &session)
        : rate(rate), session(session), begin(std::chrono::steady_clock::now()),
          prepared(session.preparationSeconds()) {}
    ~Span() {
      const std::chrono::duration<double> driver(session.preparationSeconds() - prepared);
      rate.time += std::chrono::steady_clock::now() - begin - driver;
    }
    Span(const Span &) = delete;
    Span &operator=(const Span &) = delete;

  private:
    Rate &rate;
    const Session &session;
    std::chrono::steady_clock::time_point begin;
    double prepared;
  };
  void add(int64_t more) { tokens += more; }
  /// Writes "12 tokens in 0.50 s, 24.0 a second", or nothing if there are no tokens.
  void write(std::ostream &notes) const;

private:
  int64_t tokens = 0;
  std::chrono::duration<double> time{0};
};

} // namespace heddle
