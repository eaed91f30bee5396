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
  std::vector<std::string> unbuilt; ///< flags that were given and are not built yet
};

Status translate(TextFlags &flags) {
  if (!flags.unbuilt.empty())
    return notBuiltYet(flags.unbuilt.front());
  Expected<Session> session = openModel(flags.model, flags.jit, flags.compile);
  if (!session)
    return session.takeError();
  return translateCommand(*session, flags.translate, std::cin, std::cout, std::cerr);
}

void addFutureFlags(CLI::App &command, const std::shared_ptr<TextFlags> &flags) {
  for (const FutureOption &option : futureTextOptions) {
    auto note = [flags, name = option.flag] { flags->unbuilt.push_back(name); };
    if (option.takesValue)
      command.add_option_function<std::string>(
          option.flag, [note](const std::string &) { note(); }, "not built yet");
    else
      command.add_flag_function(option.flag, [note](int64_t) { note(); }, "not built yet");
  }
}

} // namespace

void addText(CLI::App &app, Outcome &outcome) {
  auto flags = std::make_shared<TextFlags>();
  CLI::App *command =
      app.add_subcommand("translate", "translate texts, or the lines of standard input");
  command->add_option("model", flags->model, "MODEL")->required();
  command->add_option("text", flags->translate.texts, "TEXT …");
  addDeviceFlags(*command, flags->jit);
  command->add_option("--batch", flags->translate.batch, "texts translated together (default: 1)")
      ->check(atLeast(1));
  command
      ->add_option("--limit", flags->translate.limit,
                   "tokens of a translation (default: the model's)")
      ->check(atLeast(1));
  command->add_flag("--truncate", flags->translate.truncate, "cut texts that are too long");
  addFutureFlags(*command, flags);
  addModelFlags(*command, flags->compile);
  command->footer("Examples:\n"
                  "  heddle translate examples/translate \"我 是 谁\"\n"
                  "  heddle translate translate.heddle --device=vulkan --batch=8 < sentences.txt");
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
