//===- Commands.h - The commands `run` and `devices` -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Commands that `heddle` and `heddle-run` share. The tools parse the command line and print errors;
// everything else is decided here, so that both tools behave alike.
#pragma once

#include "heddle/Runtime/Session.h"

#include <iosfwd>
#include <optional>

namespace heddle {

struct RunCommand {
  /// Names separated by commas; the functions run in this order in one session. Empty: the only
  /// function that needs no session, not counting `encode_packed`.
  std::string function;
  std::vector<std::string> inputs;      ///< NAME=FILE.npy
  std::optional<std::string> outputDir; ///< none: results are printed
};

/// Error if no file can be created in the folder, which need not exist. Call it before long work.
Status checkOutputDir(const std::optional<std::string> &directory);
/// Functions named by `--function`, in order. Usage error for an unknown name, or if the first
/// function works on caches that no earlier function fills.
Expected<std::vector<const Function *>> chooseFunctions(const Program &program,
                                                        const std::string &names);
/// Inputs of a function: for each port the given tensor with its name, else the earlier result with
/// its name, else nothing.
NamedInputs inputsFrom(const Function &function, const NamedTensors &given,
                       const NamedTensors &results);

/// Runs one function: `Session::run`, or that together with the reference (`--verify`).
using FunctionRunner =
    std::function<Expected<NamedTensors>(const std::string &function, const NamedInputs &inputs)>;

/// Reads the inputs, runs the command's functions (see inputsFrom) and writes or prints the results
/// of all of them. A later result replaces an earlier one with the same name.
Status runFunctions(const Program &program, const RunCommand &command, const FunctionRunner &run,
                    std::ostream &out);
/// runFunctions with Session::run.
Status runCommand(Session &session, const RunCommand &command, std::ostream &out);

/// Prints listDevices(), or the same facts as one line of JSON.
Status devicesCommand(std::ostream &out, bool json = false);

} // namespace heddle
