//===- Commands.cpp - The commands `run` and `devices` ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The commands. Inputs are .npy files; results are .npy files, or lines of text without
// --output-dir. Errors about an input begin with its file.
#include "heddle/Runtime/Commands.h"

#include "heddle/Runtime/Device.h"
#include "heddle/Runtime/Npy.h"
#include "heddle/Support/OutputFile.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <ostream>
#include <system_error>
#include <unistd.h>

namespace heddle {

/// The default without --function: the only function that needs no session.
static Expected<const Function *> onlyFunction(const Program &program) {
  const Function *only = nullptr;
  for (const Function &function : program.functions) {
    if (function.needsSession || function.name == packedFunction)
      continue;
    if (only)
      return usageError("--function: expected one of " + namesOf(program.functions) +
                        ", found none");
    only = &function;
  }
  if (!only)
    return usageError("--function: expected one of " + namesOf(program.functions) +
                      ", found none, and all of them need a session");
  return only;
}

Expected<std::vector<const Function *>> chooseFunctions(const Program &program,
                                                        const std::string &names) {
  std::vector<const Function *> chosen;
  if (names.empty()) {
    chosen.push_back(HEDDLE_TRY(onlyFunction(program)));
    return chosen;
  }
  for (size_t start = 0; start <= names.size();) {
    size_t end = std::min(names.find(',', start), names.size());
    std::string name = names.substr(start, end - start);
    chosen.push_back(program.findFunction(name));
    if (!chosen.back())
      return usageError("--function: expected one of " + namesOf(program.functions) + ", found " +
                        (name.empty() ? "an empty name" : quotedText(name)));
    start = end + 1;
  }
  if (chosen.front()->needsSession && !chosen.front()->startsStates)
    return usageError("--function: " + chosen.front()->name +
                      " works on the caches of a session: expected functions before it, joined by "
                      "commas, found none");
  return chosen;
}

static Expected<NamedTensors> readInputs(const std::vector<std::string> &arguments) {
  NamedTensors inputs;
  for (const std::string &argument : arguments) {
    size_t equals = argument.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == argument.size())
      return usageError("--input: expected NAME=FILE.npy, found " + quotedText(argument));
    std::string name = argument.substr(0, equals);
    if (inputs.find(name))
      return usageError("--input: expected " + quotedText(name) + " once, found it twice");
    inputs.set(name, HEDDLE_TRY(readNpy(argument.substr(equals + 1))));
  }
  return inputs;
}

static Error notMade(const std::string &directory, const std::string &found) {
  return inputError(directory + ": expected a folder that can be made, found: " + found);
}

Status checkOutputDir(const std::optional<std::string> &directory) {
  if (!directory)
    return {};
  if (directory->empty())
    return usageError("--output-dir: expected a folder, found an empty name");
  std::error_code failure;
  std::filesystem::path there = std::filesystem::absolute(*directory, failure);
  while (!std::filesystem::exists(there, failure) && there.has_relative_path())
    there = there.parent_path();
  if (!std::filesystem::is_directory(there, failure))
    return notMade(*directory, std::generic_category().message(ENOTDIR));
  if (::access(there.c_str(), W_OK | X_OK) != 0)
    return notMade(*directory, std::generic_category().message(errno));
  return {};
}

/// Paths of the results in the output folder. No result may replace a file that an input was read
/// from.
static Expected<std::vector<std::string>> outputPaths(const NamedTensors &outputs,
                                                      const RunCommand &command) {
  std::vector<std::string> read, paths;
  for (const std::string &argument : command.inputs)
    read.push_back(argument.substr(argument.find('=') + 1));
  for (const auto &[name, tensor] : outputs) {
    // Names come from the model file, which must not choose another folder.
    if (name.find('/') != std::string::npos)
      return inputError("expected an output whose name is a file name, found " + quotedText(name));
    paths.push_back((std::filesystem::path(*command.outputDir) / (name + ".npy")).string());
    HEDDLE_TRY(checkNotAnInput(paths.back(), read));
  }
  return paths;
}

static Status writeOutputs(const NamedTensors &outputs, const RunCommand &command,
                           std::ostream &out) {
  if (!command.outputDir) {
    for (const auto &[name, tensor] : outputs)
      out << name << ": " << describe(tensor) << '\n';
    return {};
  }
  std::error_code failure;
  std::filesystem::create_directories(*command.outputDir, failure);
  if (failure)
    return notMade(*command.outputDir, failure.message());
  auto paths = HEDDLE_TRY(outputPaths(outputs, command));
  for (auto path = paths.begin(); const auto &[name, tensor] : outputs)
    HEDDLE_TRY(writeNpy(*path++, tensor));
  return {};
}

/// A name as the place in an error message: printable, and cut to 60 bytes.
static std::string placeOf(std::string_view name) {
  std::string text = quotedText(name);
  return text.substr(1, text.size() - 2);
}

static bool takes(const Function &function, std::string_view name) {
  return std::ranges::any_of(function.inputs, [&](const Port &port) { return port.name == name; });
}

/// Rejects an input that no function takes.
static Status checkNames(const std::vector<const Function *> &functions,
                         const NamedTensors &given) {
  std::string known;
  for (const Function *function : functions)
    for (const Port &port : function->inputs)
      known += (known.empty() ? "" : ", ") + port.name;
  for (const auto &[name, tensor] : given)
    if (std::ranges::none_of(functions, [&](const Function *f) { return takes(*f, name); }))
      return inputError(placeOf(name) + ": expected an input of " + functions.front()->name +
                        (functions.size() > 1 ? " or of a later function (" : " (") +
                        (known.empty() ? "none" : known) + "), found another name");
  return {};
}

NamedInputs inputsFrom(const Function &function, const NamedTensors &given,
                       const NamedTensors &results) {
  NamedInputs inputs;
  for (const Port &port : function.inputs)
    for (const NamedTensors *source : {&given, &results})
      if (const Tensor *tensor = source->find(port.name)) {
        inputs.emplace_back(port.name, *tensor);
        break;
      }
  return inputs;
}

/// Prepends the file to an error that begins with the name of an input.
static Error withFile(Error error, const std::vector<std::string> &inputs) {
  for (const std::string &argument : inputs) { // NAME=FILE, already checked
    size_t equals = argument.find('=');
    if (error.message.starts_with(argument.substr(0, equals) + ": "))
      return {error.kind, argument.substr(equals + 1) + ": " + error.message};
  }
  return error;
}

Status runFunctions(const Program &program, const RunCommand &command, const FunctionRunner &run,
                    std::ostream &out) {
  auto functions = HEDDLE_TRY(chooseFunctions(program, command.function));
  HEDDLE_TRY(checkOutputDir(command.outputDir));
  auto given = HEDDLE_TRY(readInputs(command.inputs));
  HEDDLE_TRY(checkNames(functions, given));
  NamedTensors results; // of all functions so far
  for (const Function *function : functions) {
    auto outputs = run(function->name, inputsFrom(*function, given, results));
    if (!outputs)
      return withFile(outputs.takeError(), command.inputs);
    for (auto &[name, tensor] : *outputs)
      results.set(name, std::move(tensor));
  }
  return writeOutputs(results, command, out);
}

Status runCommand(Session &session, const RunCommand &command, std::ostream &out) {
  auto run = [&](const std::string &function, const NamedInputs &inputs) {
    return session.run(function, inputs);
  };
  return runFunctions(session.program(), command, run, out);
}

} // namespace heddle
