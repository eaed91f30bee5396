//===- TrainCommandLine.h - The command train -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command `train` of both tools: its flags, and interrupts that end a run after its step.
#pragma once

#include "Options.h"
#include "Signals.h"

#include "heddle/Support/Try.h"
#include "heddle/Training/Commands.h"

#include <CLI/CLI.hpp>

#include <iostream>

namespace heddle::driver {

/// The signal that asked the run to stop; 0 if none did.
inline volatile std::sig_atomic_t stoppedBy = 0;

/// Asks the run to stop after its step. The next signal ends the process.
inline void askToStop(int signal) {
  stoppedBy = signal;
  std::signal(signal, endBySignal);
}

inline void addTrainFlags(CLI::App &command, TrainCommand &train) {
  command
      .add_option("--data", train.data,
                  "examples, one a line: source, tab and target; or text, tab and label; or text. "
                  "FILE:N repeats a file N times; repeatable")
      ->required()
      ->allow_extra_args(false);
  command
      .add_option("--valid", train.validation,
                  "examples by which the best weights are chosen; repeatable")
      ->allow_extra_args(false);
  command.add_option("-o,--output", train.output, "folder of the trained model")
      ->required()
      ->type_name("DIR");
  command.add_flag("--resume", train.resume, "go on from the state in the folder");
  addNumber(command, "--epochs", train.epochs, 1, "passes over the data");
  addNumber(command, "--steps", train.steps, 1, "updates, instead of --epochs");
  addNumber(command, "--batch", train.batch, 1, "maximum examples of a step");
  command.add_option("--rate", train.rate, "peak of the learning rate; factor of noam");
  addNumber(command, "--seed", train.seed, 0, "seed of weights, order and dropout");
  command.add_flag("--from-weights", train.fromWeights,
                   "train the weights of the model further (default for a folder of Transformers)");
  addNumber(command, "--micro-batch", train.microBatch, 1,
            "maximum examples that are computed at once, which saves memory and changes no result");
  command.add_flag("--pad", train.pads,
                   "pad the examples that are computed at once to equal lengths, also where masks "
                   "allow to pack them; changes no result");
  addNumber(command, "--save-every", train.saveEvery, 1,
            "steps between saved states (default: an epoch)");
}

/// Trains the weights of `session`. An interrupted run ends the process with 128 and the signal's
/// number as its status.
inline Status train(Session session, const TrainCommand &command) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(signal, askToStop) == SIG_IGN)
      std::signal(signal, SIG_IGN); // the caller ignores it
  const RunEnd end =
      HEDDLE_TRY(trainCommand(std::move(session), command, std::cerr, isatty(STDERR_FILENO) != 0,
                              [] { return stoppedBy != 0; }));
  if (end == RunEnd::Finished)
    return {};
  std::cerr << "interrupted; the same command with --resume goes on\n";
  std::exit(128 + stoppedBy);
}

} // namespace heddle::driver
