//===- Text.cpp - The text commands ---------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text commands that both drivers share, on any MODEL.

#include "../TextCommandLine.h"
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
    addDtypeFlag(command, flags->compile);
    addModelFlags(command, flags->compile);
    if (command.get_name() == "embed" || command.get_name() == "similarity")
      command.preparse_callback([flags](size_t) { flags->compile.needsVectors = true; });
  };
  auto open = [flags] {
    flags->compile.needsTexts = true;
    flags->compile.attentionWeights = !flags->translate.attention.empty();
    flags->compile.outputs.push_back(flags->translate.attention);
    return openModel(flags->model, flags->jit, flags->compile);
  };
  addTextCommands(app, {flags->translate, addModel, open, "heddle", flags->model}, outcome);
  addTokenize(app, "heddle", outcome);
}

} // namespace heddle::driver
