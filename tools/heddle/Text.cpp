//===- Text.cpp - The text commands ---------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the text commands that both drivers share on any MODEL.

#include "../TextCommandLine.h"
#include "Driver.h"

#include <memory>

namespace heddle::driver {

namespace {

struct TextFlags {
  std::string model;
  JitOptions jit;
  TranslateCommand translate;
};

} // namespace

void addText(CLI::App &app, Status &outcome) {
  auto flags = std::make_shared<TextFlags>();
  auto addOwn = [flags](CLI::App &command) {
    addModel(command, flags->model);
    addDeviceFlags(command, flags->jit);
    addModelFlags(command, flags->jit);
    const std::string &name = command.get_name();
    if (name == "embed" || name == "similarity" || name == "rerank")
      command.preparse_callback([flags](size_t) { flags->jit.needsVectors = true; });
  };
  auto open = [flags] {
    flags->jit.needsTexts = true;
    flags->jit.attentionWeights = !flags->translate.attention.empty();
    flags->jit.outputs.push_back(flags->translate.attention);
    return openModel(flags->model, flags->jit);
  };
  addTextCommands(app, {flags->translate, addOwn, open, "heddle", flags->model}, outcome);
  addTokenize(app, "heddle", outcome);
}

} // namespace heddle::driver
