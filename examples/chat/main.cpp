// Converses with a model, line by line.
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: chat MODEL.heddle [cpu|vulkan]
#include <heddle/Generation/Chat.h>

#include <iostream>

static int fail(const heddle::Error &error) {
  std::cerr << "error: " << error.message << '\n';
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3)
    return fail({.message = "expected MODEL.heddle [cpu|vulkan]"});
  auto session = heddle::Session::open(argv[1], {.device = argc == 3 ? argv[2] : "cpu"});
  if (!session)
    return fail(session.error());
  auto model = heddle::textModelOf(*session);
  if (!model)
    return fail(model.error());
  auto chat = heddle::Chat::create(*session, *model);
  if (!chat)
    return fail(chat.error());
  auto show = [](const std::string &piece) -> heddle::Expected<bool> {
    std::cout << piece << std::flush;
    return true;
  };
  int status = 0;
  for (std::string line; std::getline(std::cin, line);) {
    auto answer = chat->answer(line, show);
    if (!answer) { // this question failed; the conversation continues
      status = fail(answer.error());
      continue;
    }
    std::cout << '\n';
    if (answer->dropped > 0)
      std::cerr << "note: the oldest " << answer->dropped << " messages are forgotten\n";
    if (answer->cut)
      std::cerr << "note: the context is full: the answer is cut\n";
  }
  return status;
}
