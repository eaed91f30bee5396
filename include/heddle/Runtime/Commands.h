//===- Commands.h - `run` and `devices` for both drivers -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `heddle run` and `heddle-run run` do once the command line is read. The
// tools parse and print errors; everything else is decided here, so that both
// behave alike.
#pragma once

#include "heddle/Runtime/Session.h"

#include <iosfwd>
#include <optional>

namespace heddle {

struct RunCommand {
  /// Empty: the only one. Several, by commas, run in this order in one session.
  std::string function;
  std::vector<std::string> inputs;      ///< NAME=FILE.npy
  std::optional<std::string> outputDir; ///< none: results are printed
};

/// The functions that `--function` means, in order: one that needs no session comes first.
Expected<std::vector<const Function *>> chooseFunctions(const Program &program,
                                                        const std::string &names);
/// What was given for the inputs of a function, else results of earlier ones.
NamedInputs inputsFrom(const Function &function, const NamedTensors &given,
                       const NamedTensors &results);

/// How a driver runs one function: `Session::run`, or with the reference beside it (`--verify`).
using FunctionRunner =
    std::function<Expected<NamedTensors>(const std::string &function, const NamedInputs &inputs)>;

/// Reads the inputs, runs the command's functions and writes or prints their results. A function
/// takes what was given by the names of its inputs, else results of earlier ones.
Status runFunctions(const Program &program, const RunCommand &command, const FunctionRunner &run,
                    std::ostream &out);
Status runCommand(Session &session, const RunCommand &command, std::ostream &out);

/// Lists the devices.
Status devicesCommand(std::ostream &out);

} // namespace heddle
