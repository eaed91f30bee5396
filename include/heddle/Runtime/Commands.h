//===- Commands.h - The commands `run` and `devices` -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Commands shared by `heddle` and `heddle-run`. The tools parse the command line
// and print errors; everything else is decided here, so that both behave alike.
#pragma once

#include "heddle/Runtime/Session.h"

#include <iosfwd>
#include <optional>

namespace heddle {

struct RunCommand {
  /// Names separated by commas, run in this order in one session. Empty: the only function that
  /// needs no session, encode_packed apart.
  std::string function;
  std::vector<std::string> inputs;      ///< NAME=FILE.npy
  std::optional<std::string> outputDir; ///< none: results are printed
};

/// Functions named by `--function`, in order. Usage error for an unknown name, or if the first one
/// works on caches that no function before it fills.
Expected<std::vector<const Function *>> chooseFunctions(const Program &program,
                                                        const std::string &names);
/// Inputs of a function: the tensor given under the input's name, else an earlier result of that
/// name, else none.
NamedInputs inputsFrom(const Function &function, const NamedTensors &given,
                       const NamedTensors &results);

/// How a driver runs one function: `Session::run`, or with the reference beside it (`--verify`).
using FunctionRunner =
    std::function<Expected<NamedTensors>(const std::string &function, const NamedInputs &inputs)>;

/// Reads the inputs, runs the command's functions (see inputsFrom) and writes or prints the results
/// of all of them; a later result replaces an earlier one of its name.
Status runFunctions(const Program &program, const RunCommand &command, const FunctionRunner &run,
                    std::ostream &out);
/// runFunctions with Session::run.
Status runCommand(Session &session, const RunCommand &command, std::ostream &out);

/// Prints listDevices(), or the same facts as one line of JSON.
Status devicesCommand(std::ostream &out, bool json = false);

} // namespace heddle
