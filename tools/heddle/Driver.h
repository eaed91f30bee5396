//===- Driver.h - Commands of heddle ----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each function declares a group of commands: flags, examples, and the library call. The chosen
// command leaves its status in `outcome`, from which main prints an error and derives the exit
// status.
#pragma once

#include "heddle/Compiler/Compiler.h"
#include "heddle/ExecutionEngine/Jit.h"

#include "../CommandLine.h"
#include "../Progress.h"

namespace heddle::driver {

void addCompile(CLI::App &app, Status &outcome);
void addRun(CLI::App &app, Status &outcome);
void addBench(CLI::App &app, Status &outcome);
void addText(CLI::App &app, Status &outcome);
void addTraining(CLI::App &app, Status &outcome); ///< vocabulary
void addQueries(CLI::App &app, Status &outcome);  ///< explain, inspect, cache, devices, schema

/// Adds the argument MODEL.
void addModel(CLI::App &command, std::string &model);
/// Adds the flags of commands that import a model, except for types of products and caches.
void addImportFlags(CLI::App &command, ModelChoices &choices);
/// Adds the flag --training.
void addTrainingFlag(CLI::App &command, ModelChoices &choices);
/// Adds the flags of a model that is trained.
void addTrainingChoices(CLI::App &command, ModelChoices &choices);
/// Adds the flags of commands that compile a model: all of ModelChoices.
void addModelFlags(CLI::App &command, ModelChoices &choices);

/// Adds the flags of commands that run a model: --device, --threads.
void addDeviceFlags(CLI::App &command, JitOptions &options);
/// Opens a session on any MODEL, after compilation if needed; shows progress on a terminal.
Expected<Session> openModel(const std::string &model, JitOptions &options);

void printWarnings(const std::vector<std::string> &warnings);
void printNotes(const std::vector<std::string> &notes);

} // namespace heddle::driver
