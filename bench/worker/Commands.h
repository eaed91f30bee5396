//===- Commands.h - Requests of the benchmark harness -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Answers requests of the benchmark harness, JSON in and out, and keeps the open models. Every
// request has "do"; the answer has "error" (and "kind", the error's kind) or the requested values.
// `before` are functions that restore the caches before the first call and again every `every`
// calls; this is not timed. `keep` does so without a function: the number of tokens of each
// sequence that are kept. An input that functions share is called "FUNCTION:NAME" if one function
// takes another tensor.
//
//   open     row, model, dtype, threads, inputs {NAME: FILE.npy}, fill (functions to
//            run once) → device, seconds
//   time     row, function, calls, part, before, keep, every → seconds of a call:
//            "call", its "launches" or the "last" of them
//   launches row, function, calls → kernels [{kernel, flops}, …] of a call, and seconds:
//            a list of the same length for each call
//   result   row, function, before, keep, folder → writes NAME.npy
//   decode   row, tokens, beam, texts [[id, …], …] or the audio input and its prompt,
//            calls → seconds of a call that generates `tokens` tokens per text without an
//            end token; with folder, the tokens are written as tokens.npy instead
//   train    row, model, threads, inputs {NAME: FILE.npy} → device, seconds: opens a model that
//            is trained on one batch
//   step     row, calls → seconds of a step of training, and the loss of the last
//   close    row
//   compile  model, output, dtype, cpu → kernels, code, pack (seconds)
//   rates    of (["f32", …]), threads → {"f32": {rate, instruction}, …}, rate 0 if
//            the CPU lacks it
//   read     bytes, threads → bytes per second; the buffer is kept, but only the last
//            one of the large buffers
#pragma once

#include "bench/ReadProbe.h"

#include "heddle/Generation/TextDecoder.h"
#include "heddle/Runtime/Session.h"
#include "heddle/Support/CpuRates.h"
#include "heddle/Training/TrainingSession.h"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

namespace heddle::bench {

using Json = nlohmann::ordered_json;

class Worker {
public:
  Json answer(const Json &request);

private:
  /// A model, its inputs and outputs.
  struct Row {
    Session session;
    NamedTensors inputs, outputs;
    std::vector<LaunchTime> times;
    std::unique_ptr<TextModel> texts; ///< set once the row has been asked to decode
    /// Inputs that a function takes.
    Expected<NamedInputs> named(const std::string &function) const;
    Status runAll(const Json &functions);
    /// Restores the caches for a call: runs the functions `before`, then truncates to the rows
    /// `keep`.
    Status prepare(const Json &request);
    /// Seconds of a call, of all its launches or of the last one.
    Expected<double> timeOne(const std::string &function, const NamedInputs &given,
                             const std::string &part);
  };

  /// A model that is trained, and its batch.
  struct Trained {
    TrainingSession session;
    Rate rate;
    NamedTensors inputs;
    int64_t step = 0;
  };

  Expected<Json> open(const Json &request);
  Expected<Json> train(const Json &request);
  Expected<Json> step(const Json &request);
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
  std::map<std::string, Trained> trained;
  std::map<std::pair<int64_t, int>, ReadProbe> probes;
};

} // namespace heddle::bench
