// Translates texts.
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: translate MODEL.heddle TEXT ...
#include <heddle/Generation/TextDecoder.h>

#include <iostream>

static int fail(const heddle::Error &error) {
  std::cerr << "error: " << error.message << '\n';
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 3)
    return fail({.message = "expected MODEL.heddle TEXT ..."});
  auto session = heddle::Session::open(argv[1]);
  if (!session)
    return fail(session.error());
  auto model = heddle::textModelOf(*session);
  if (!model)
    return fail(model.error());
  auto decoder = heddle::TextDecoder::create(*session, *model);
  if (!decoder)
    return fail(decoder.error());
  std::vector<heddle::TokenIds> texts;
  for (int i = 2; i < argc; ++i) {
    auto text = model->source->encode(argv[i], "text " + std::to_string(i - 1));
    if (!text)
      return fail(text.error());
    texts.push_back(text->ids);
  }
  auto answers = decoder->decode(texts, decoder->defaults()); // all texts in one batch
  if (!answers)
    return fail(answers.error());
  for (const heddle::TokenIds &ids : *answers)
    std::cout << model->target->decode(ids) << '\n';
}
