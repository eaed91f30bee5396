//===- Commands.h - What the harness may ask of Heddle ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One object that keeps the open models and answers requests, JSON in and out.
// Every request has "do"; the answer has "error" (and "kind", the error's kind)
// or the values that were asked for. `before` are functions that bring caches to
// where they were, before the first call and each `every` calls; no clock runs then.
// `keep` does so without a function: of each sequence, the tokens that stay. An input
// that functions share is "FUNCTION:NAME" where this one takes another.
//
//   open     row, model, dtype, threads, inputs {NAME: FILE.npy}, fill (functions to
//            run once) → device, seconds
//   time     row, function, calls, part, before, keep, every → seconds of a call:
//            "call", its "launches" or the "last" of them
//   launches row, function, calls → kernels [{kernel, flops}, …] of a call, and seconds, a
//            list of the same length a call
//   result   row, function, before, keep, folder → writes NAME.npy
//   decode   row, tokens, beam, texts [[id, …], …] or the input that is heard and the prompt
//            behind it, calls → seconds of a call that writes `tokens` tokens a text, no end
//            among them; with folder, they are written as tokens.npy instead
//   close    row
//   compile  model, output, dtype, cpu → kernels, code, pack (seconds)
//   rates    of (["f32", …]), threads → {"f32": {rate, instruction}, …}, rate 0 where
//            the CPU lacks it
//   read     bytes, threads → bytes a second; the buffer is kept,
//            of large ones the last
#pragma once

#include "bench/ReadProbe.h"

#include "heddle/Generation/TextDecoder.h"
#include "heddle/Runtime/Session.h"
#include "heddle/Support/CpuRates.h"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

namespace heddle::bench {

using Json = nlohmann::ordered_json;

class Worker {
public:
  Json answer(const Json &request);

private:
  /// A model, its inputs and where results go.
  struct Row {
    Session session;
    NamedTensors inputs, outputs;
    std::vector<LaunchTime> times;
    std::unique_ptr<TextModel> texts; ///< of a row that has been asked to decode
    /// The inputs that a function takes.
    Expected<NamedInputs> named(const std::string &function) const;
    Status runAll(const Json &functions);
    /// Caches as a call wants them: the functions `before`, then the rows to `keep`.
    Status prepare(const Json &request);
    /// Seconds of a call, of all its launches or of the last one.
    Expected<double> timeOne(const std::string &function, const NamedInputs &given,
                             const std::string &part);
  };

  Expected<Json> open(const Json &request);
  Expected<Json> time(const Json &request);
  Expected<Json> launches(const Json &request);
  Expected<Json> result(const Json &request);
  Expected<Json> decode(const Json &request);
  Expected<Json> close(const Json &request);
  Expected<Json> compile(const Json &request);
  Expected<Json> rates(const Json &request);
  Expected<Json> read(const Json &request);
  Expected<Row *> find(const Json &request);

  std::map<std::string, Row> rows;
  std::map<std::pair<int64_t, int>, ReadProbe> probes;
};

} // namespace heddle::bench
