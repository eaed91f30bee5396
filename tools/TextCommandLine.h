//===- TextCommandLine.h - Text commands of both drivers --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares all commands on texts, including `chat` with its line editor.
#pragma once

#include "CommandLine.h"
#include "LineEditor.h"

namespace heddle::driver {

inline void addChatFlags(CLI::App &app, ChatCommand &command) {
  addWritingFlags(app, command.writing);
  app.add_option("--system", command.system, "system message, before the first message")
      ->type_name("TEXT");
  addChatTemplate(app, command.chatTemplate);
  addSpecial(app, command.special);
}

/// Adds `chat`. Input from a terminal is edited; other input is read line by line.
inline void addChat(CLI::App &app, const TextDriver &driver, Status &outcome) {
  auto chat = std::make_shared<ChatCommand>();
  const std::string start = "  " + driver.tool + " ";
  addTextCommand(
      app, driver, outcome, "chat", "talk with a model, line by line",
      [chat](CLI::App &own) { addChatFlags(own, *chat); },
      [driver, chat]() -> Status {
        HEDDLE_TRY(checkChat(*chat));
        Session session = HEDDLE_TRY(driver.open());
        std::unique_ptr<LineEditor> editor;
        if (isatty(STDIN_FILENO) != 0) {
          editor = HEDDLE_TRY(LineEditor::create(driver.tool));
          chat->ask = [&](const std::string &mark, std::string &line) {
            return editor->read(mark, line);
          };
        }
        chat->model = driver.model;
        return chatCommand(session, *chat, std::cin, std::cout, std::cerr);
      })
      ->footer("On a terminal /help lists commands; Ctrl-C ends an answer, Ctrl-D the "
               "chat.\nExamples:\n" +
               start + "chat model.heddle --system=\"Answer in one sentence.\"\n" + start +
               "chat model.heddle --sample --temperature=0.7 < questions.txt");
}

/// Adds the commands on texts; the chosen one leaves its status in `outcome`.
inline void addTextCommands(CLI::App &app, const TextDriver &driver, Status &outcome) {
  addWriters(app, driver, outcome);
  addChat(app, driver, outcome);
  addTranscribe(app, driver, outcome);
  addPerplexity(app, driver, outcome);
  addReaders(app, driver, outcome);
}

} // namespace heddle::driver
