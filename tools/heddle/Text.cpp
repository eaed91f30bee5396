//===- Text.cpp - Text commands -------------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text in, text out, by the command that both drivers share; and the commands
// that are named but not built yet.

#include "Driver.h"

#include "heddle/Generation/Commands.h"
#include "heddle/Support/Try.h"

#include <functional>
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

/// `translate`, or `generate`.
Status decode(TextFlags &flags, bool generates) {
  HEDDLE_TRY(checkTranslate(flags.translate));
  flags.jit.attentionWeights = !flags.translate.attention.empty();
  flags.compile.outputs.push_back(flags.translate.attention);
  Session session = HEDDLE_TRY(openModel(flags.model, flags.jit, flags.compile));
  return (generates ? generateCommand : translateCommand)(session, flags.translate, std::cin,
                                                          std::cout, std::cerr);
}

Status encode(TextFlags &flags, bool classify) {
  HEDDLE_TRY(checkTexts(flags.translate.text));
  Session session = HEDDLE_TRY(openModel(flags.model, flags.jit, flags.compile));
  return encodeCommand(session, flags.translate.text, classify, std::cin, std::cout, std::cerr);
}

/// A command on a model and texts; `addOwn` adds what it takes besides.
CLI::App *addCommand(CLI::App &app, const std::string &name, const std::string &about,
                     TextFlags &flags, const std::function<void(CLI::App &)> &addOwn) {
  CLI::App *command = app.add_subcommand(name, about);
  command->add_option("model", flags.model, "MODEL")->required();
  addDeviceFlags(*command, flags.jit);
  addOwn(*command);
  addModelFlags(*command, flags.compile);
  return command;
}

void addEncode(CLI::App &app, Outcome &outcome, bool classify) {
  auto flags = std::make_shared<TextFlags>();
  std::string name = classify ? "classify" : "embed";
  CLI::App *command =
      addCommand(app, name,
                 classify ? "name the class of texts, or of lines of input"
                          : "give the vector of texts, or of lines of input",
                 *flags, [&](CLI::App &own) { addTextFlags(own, flags->translate.text); });
  command->footer("Examples:\n  heddle " + name + " MODEL \"a text\"\n  heddle " + name +
                  " model.heddle --device=vulkan --batch=8 < texts.txt");
  command->callback([flags, classify, &outcome] { outcome.status = encode(*flags, classify); });
}

void addGenerate(CLI::App &app, Outcome &outcome) {
  auto flags = std::make_shared<TextFlags>();
  CLI::App *command =
      addCommand(app, "generate", "go on from texts, or from the lines of standard input", *flags,
                 [&](CLI::App &own) { addDecodingFlags(own, flags->translate); });
  command->footer("Examples:\n"
                  "  heddle generate MODEL \"once upon a\" --limit=20\n"
                  "  heddle generate model.heddle --sample --top-k=40 --seed=7 --stream \"once\"");
  command->callback([flags, &outcome] { outcome.status = decode(*flags, /*generates=*/true); });
}

} // namespace

void addText(CLI::App &app, Outcome &outcome) {
  auto flags = std::make_shared<TextFlags>();
  CLI::App *command =
      addCommand(app, "translate", "translate texts, or the lines of standard input", *flags,
                 [&](CLI::App &own) { addTranslateFlags(own, flags->translate); });
  command->footer("Examples:\n"
                  "  heddle translate examples/translate \"我 是 谁\"\n"
                  "  heddle translate translate.heddle --device=vulkan --batch=8 < sentences.txt\n"
                  "  heddle translate translate.heddle --beam=4 \"我 是 谁\"\n"
                  "  heddle translate translate.heddle --sample --top-p=0.9 --seed=7 --stream "
                  "\"我 是 谁\"\n"
                  "  heddle translate examples/translate --attention=attention.html \"我 是 谁\"");
  command->callback([flags, &outcome] { outcome.status = decode(*flags, /*generates=*/false); });
  addGenerate(app, outcome);
  addEncode(app, outcome, /*classify=*/false);
  addEncode(app, outcome, /*classify=*/true);
}

void addUnbuilt(CLI::App &app, Outcome &outcome) {
  CLI::App *command = app.add_subcommand("rerank", "not built yet");
  command->allow_extras();
  command->footer("Not built yet."); // in place of the driver's examples
  command->callback([&outcome] { outcome.status = notBuiltYet("rerank"); });
}

} // namespace heddle::driver
