//===- Commands.h - `run` and `devices` for both drivers -------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `heddle run` and `heddle-run run` do once the command line is read. The
// tools parse and print errors; everything else is decided here, so that both
// behave alike.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Runtime/Session.h"

#include <iosfwd>
#include <optional>

namespace heddle {

struct RunCommand {
  std::string function;            ///< empty: the only one
  std::vector<std::string> inputs; ///< NAME=FILE.npy
  std::optional<std::string> outputDir; ///< none: results are printed
};

/// The function a command means: the named one, or the only one that needs no session.
Expected<std::string> chooseFunction(const Program &program, const std::string &name);
/// Reads the inputs, runs the function and writes or prints its results.
Status runCommand(Session &session, const RunCommand &command, std::ostream &out);
/// The same in two steps, for a driver that does something between them (`--verify`).
Expected<NamedTensors> readInputs(const std::vector<std::string> &arguments);
Status checkOutputDir(const std::optional<std::string> &directory);
Status writeOutputs(const NamedTensors &outputs, const std::optional<std::string> &directory,
                    std::ostream &out);

/// Lists the devices.
Status devicesCommand(std::ostream &out);

} // namespace heddle
