//===- Text.cpp - The text commands ---------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text commands that both drivers share, on any MODEL, and commands that are
// reserved but not supported yet.

#include "Driver.h"

#include <memory>

namespace heddle::driver {

namespace {

struct TextFlags {
  std::string model;
  JitOptions jit;
  CompileOptions compile;
  TranslateCommand translate;
};

} // namespace

void addText(CLI::App &app, Status &outcome) {
  auto flags = std::make_shared<TextFlags>();
  auto addModel = [flags](CLI::App &command) {
    command.add_option("model", flags->model, "MODEL")->required();
    addDeviceFlags(command, flags->jit);
    addModelFlags(command, flags->compile);
  };
  auto open = [flags] {
    flags->jit.attentionWeights = !flags->translate.attention.empty();
    flags->compile.outputs.push_back(flags->translate.attention);
    return openModel(flags->model, flags->jit, flags->compile);
  };
  addTextCommands(app, {flags->translate, addModel, open, "heddle"}, outcome);
  addTokenize(app, "heddle", outcome);
}

void addUnsupported(CLI::App &app, Status &outcome) {
  CLI::App *command = app.add_subcommand("rerank", "not supported yet");
  command->allow_extras();
  command->footer("Not supported yet."); // instead of the driver's footer, which CLI11 inherits
  command->callback([&outcome] { outcome = notSupportedYet("rerank"); });
}

} // namespace heddle::driver
