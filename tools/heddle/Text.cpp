//===- Text.cpp - heddle translate ----------------------------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text in, text out, by the command that both drivers share; and the commands
// that are named but not built yet.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include "heddle/Generation/Commands.h"

#include <iostream>
#include <memory>

namespace heddle::driver {

namespace {

struct TextFlags {
  std::string model;
  JitOptions jit;
  CompileOptions compile;
  TranslateCommand translate;
};

Status translate(TextFlags &flags) {
  if (Status checked = checkTranslate(flags.translate); !checked)
    return checked;
  Expected<Session> session = openModel(flags.model, flags.jit, flags.compile);
  if (!session)
    return session.takeError();
  return translateCommand(*session, flags.translate, std::cin, std::cout, std::cerr);
}

} // namespace

void addText(CLI::App &app, Outcome &outcome) {
  auto flags = std::make_shared<TextFlags>();
  CLI::App *command =
      app.add_subcommand("translate", "translate texts, or the lines of standard input");
  command->add_option("model", flags->model, "MODEL")->required();
  addDeviceFlags(*command, flags->jit);
  addTranslateFlags(*command, flags->translate);
  addModelFlags(*command, flags->compile);
  command->footer("Examples:\n"
                  "  heddle translate examples/translate \"我 是 谁\"\n"
                  "  heddle translate translate.heddle --device=vulkan --batch=8 < sentences.txt\n"
                  "  heddle translate translate.heddle --beam=4 \"我 是 谁\"\n"
                  "  heddle translate translate.heddle --sample --top-p=0.9 --seed=7 --stream "
                  "\"我 是 谁\"");
  command->callback([flags, &outcome] { outcome.status = translate(*flags); });
}

void addUnbuilt(CLI::App &app, Outcome &outcome) {
  for (const char *name : {"embed", "classify", "rerank", "generate"}) {
    CLI::App *command = app.add_subcommand(name, "not built yet");
    command->allow_extras();
    command->callback([name, &outcome] { outcome.status = notBuiltYet(name); });
  }
}

} // namespace heddle::driver
