//===- Commands.cpp - `run` and `devices` for both drivers ------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files in, files or lines out.
//
//===----------------------------------------------------------------------===//
#include "heddle/Runtime/Commands.h"

#include "heddle/Runtime/Device.h"
#include "heddle/Runtime/Npy.h"

#include <filesystem>
#include <ostream>

namespace heddle {

static std::string runnableFunctions(const Program &program) {
  std::string names;
  for (const Function &function : program.functions)
    if (!function.needsSession)
      names += (names.empty() ? "" : ", ") + function.name;
  return names.empty() ? "none" : names;
}

Expected<std::string> chooseFunction(const Program &program, const std::string &name) {
  if (!name.empty()) {
    const Function *function = program.findFunction(name);
    if (!function)
      return usageError("--function: expected one of " + runnableFunctions(program) + ", found " +
                        name);
    if (function->needsSession)
      return usageError("--function: " + name +
                        " works on the caches of a session, which one run does not have");
    return name;
  }
  const Function *only = nullptr;
  for (const Function &function : program.functions) {
    if (function.needsSession)
      continue;
    if (only)
      return usageError("--function: expected one of " + runnableFunctions(program) +
                        ", found none");
    only = &function;
  }
  if (!only)
    return usageError(
        "--function: expected a function that needs no session, found none in this model");
  return only->name;
}

Expected<NamedTensors> readInputs(const std::vector<std::string> &arguments) {
  NamedTensors inputs;
  for (const std::string &argument : arguments) {
    size_t equals = argument.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == argument.size())
      return usageError("--input: expected NAME=FILE.npy, found " + argument);
    std::string name = argument.substr(0, equals);
    if (inputs.find(name))
      return usageError("--input: expected " + name + " once, found it twice");
    Expected<Tensor> tensor = readNpy(argument.substr(equals + 1));
    if (!tensor)
      return tensor.takeError();
    inputs.slot(inputs.size(), name) = std::move(*tensor);
  }
  return inputs;
}

Status checkOutputDir(const std::optional<std::string> &directory) {
  if (directory && directory->empty())
    return usageError("--output-dir: expected a folder, found an empty name");
  return {};
}

Status writeOutputs(const NamedTensors &outputs, const std::optional<std::string> &directory,
                    std::ostream &out) {
  if (!directory) {
    for (const auto &[name, tensor] : outputs)
      out << name << ": " << describe(tensor) << '\n';
    return {};
  }
  std::error_code failure;
  std::filesystem::create_directories(*directory, failure);
  if (failure)
    return inputError(*directory + ": cannot be made: " + failure.message());
  for (const auto &[name, tensor] : outputs) {
    // A name comes from the model: it must not choose another directory.
    if (name.find('/') != std::string::npos)
      return inputError("expected an output whose name is a file name, found " + name);
    std::string path = (std::filesystem::path(*directory) / (name + ".npy")).string();
    if (Status status = writeNpy(path, tensor); !status)
      return status;
  }
  return {};
}

Status runCommand(Session &session, const RunCommand &command, std::ostream &out) {
  auto function = chooseFunction(session.program(), command.function);
  if (!function)
    return function.takeError();
  if (Status status = checkOutputDir(command.outputDir); !status)
    return status;
  auto inputs = readInputs(command.inputs);
  if (!inputs)
    return inputs.takeError();
  NamedInputs given;
  for (const auto &[name, tensor] : *inputs)
    given.emplace_back(name, tensor);
  auto outputs = session.run(*function, given);
  if (!outputs)
    return outputs.takeError();
  return writeOutputs(*outputs, command.outputDir, out);
}

Status devicesCommand(std::ostream &out) {
  auto lines = listDevices();
  if (!lines)
    return lines.takeError();
  for (const std::string &line : *lines)
    out << line << '\n';
  return {};
}

} // namespace heddle
