//===- TextSide.cpp - Texts as tokens of one side of a model -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text is split by the folder's tokenizer or, without one, into words of a
// vocabulary. Prompts, blanks and lengths follow Sentence-Transformers and
// Transformers.
#include "heddle/Generation/TextModel.h"

#include "Conversation.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <charconv>

using namespace heddle;

Expected<std::string_view> TextModel::prompt(const std::optional<std::string> &wanted) const {
  const std::string &name = wanted ? *wanted : defaultPrompt;
  if (name.empty())
    return std::string_view();
  auto found = std::ranges::find(prompts, name, &std::pair<std::string, std::string>::first);
  if (found == prompts.end())
    return usageError("--prompt: expected a prompt of the model (" +
                      listText(prompts, [](const auto &prompt) { return prompt.first; }) +
                      "), found " + quotedText(name));
  if (!promptIsPooled && !poolsParts && !found->second.empty())
    return inputError("include_prompt: expected true with the prompt " + quotedText(name) +
                      ", found false: weightedmean counts rows from the text's beginning, and only "
                      "models that take texts without padding leave a prompt out");
  return std::string_view(found->second);
}

Expected<TextContext>
TextModel::contextAfterPrompt(const std::optional<std::string> &wanted) const {
  TextContext context{.before = HEDDLE_TRY(prompt(wanted))};
  context.isQuery = perToken && wanted.value_or(defaultPrompt) == "query";
  if (promptIsPooled || context.before.empty() || !input().tokenizer)
    return context;
  // Sentence-Transformers counts all tokens of the prompt alone, truncated like a text, without a
  // special token at its end.
  const Tokenizer &tokenizer = *input().tokenizer;
  EncodeOptions options;
  if (const std::optional<int64_t> most = input().longest())
    options.truncation = Truncation{.length = *most, .left = tokenizer.cutsLeft()};
  TokenEncoding tokens = HEDDLE_TRY(tokenizer.encode(context.before, options, "prompt"));
  context.leftOut = static_cast<int64_t>(tokens.size());
  if (tokens.size() > 0 && tokens.special.back())
    --context.leftOut;
  return context;
}

bool TextSide::isSpecial(int32_t id) const {
  return id == padding || id == unknown || id == start || std::ranges::find(ends, id) != ends.end();
}

Expected<std::vector<int32_t>> heddle::parseIds(std::string_view line, const Tokenizer &tokenizer,
                                                const std::string &place) {
  std::vector<int32_t> ids;
  constexpr const char *blanks = " \t\r";
  for (size_t at = 0; (at = line.find_first_not_of(blanks, at)) != line.npos;) {
    const size_t end = std::min(line.find_first_of(blanks, at), line.size());
    const std::string_view word = line.substr(at, end - at);
    int32_t id = -1;
    const auto [rest, failure] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (failure != std::errc() || rest != word.data() + word.size() || !tokenizer.idToToken(id))
      return inputError(place + ": expected ids of the tokenizer's " +
                        std::to_string(tokenizer.size()) + " tokens, found " + quotedText(word));
    ids.push_back(id);
    at = end;
  }
  return ids;
}

/// Returns an error for a row that is too long and may not be truncated.
static Status checkLength(const TextSide &side, int64_t count, std::string_view place) {
  const int64_t room = side.longest().value_or(count);
  if (count <= room || side.cut)
    return {};
  return inputError(std::string(place) + ": expected at most " + std::to_string(room) +
                    " tokens, found " + std::to_string(count) + "; --truncate cuts a text");
}

/// Takes a row of ids unchanged.
static Expected<EncodedText> givenIds(const TextSide &side, std::string_view line,
                                      std::string_view place) {
  if (!side.tokenizer)
    return inputError(std::string(place) + ": expected a model with a tokenizer for ids, found one "
                                           "with a vocabulary");
  EncodedText encoded;
  encoded.ids = HEDDLE_TRY(parseIds(line, *side.tokenizer, std::string(place)));
  encoded.empty = encoded.ids.empty();
  const int64_t count = static_cast<int64_t>(encoded.ids.size());
  HEDDLE_TRY(checkLength(side, count, place));
  encoded.cut = std::max<int64_t>(0, count - side.longest().value_or(count));
  encoded.ids.resize(static_cast<size_t>(count - encoded.cut));
  return encoded;
}

/// Encodes by the tokenizer, which truncates a text between the tokens that it adds.
static Expected<EncodedText> tokenized(const TextSide &side, std::string_view text,
                                       std::string_view place, const TextContext &context) {
  const std::string whole = std::string(context.before) + std::string(text);
  EncodeOptions options{.specialTokens = !context.whole};
  if (side.chat && context.special == SpecialTokens::Template) {
    options.plain.assign(context.given.begin(), context.given.end());
    for (TokenSpan &part : options.plain)
      part = {part.begin + static_cast<uint32_t>(context.before.size()),
              part.end + static_cast<uint32_t>(context.before.size())};
    options.marks = [&side](std::string_view token) { return side.chat->marks(token); };
  }
  auto encode = [&] {
    if (!context.pair)
      return side.tokenizer->encode(whole, options, place);
    return context.pairFirst ? side.tokenizer->encode(*context.pair, whole, options, place)
                             : side.tokenizer->encode(whole, *context.pair, options, place);
  };
  TokenEncoding tokens = HEDDLE_TRY(encode());
  EncodedText encoded;
  encoded.empty = tokens.size() == 0;
  const int64_t count = static_cast<int64_t>(tokens.size());
  if (!context.uncut)
    HEDDLE_TRY(checkLength(side, count, place));
  if (int64_t room = side.longest().value_or(count); count > room && !context.uncut) {
    options.truncation = Truncation{.length = room, .left = side.tokenizer->cutsLeft()};
    tokens = HEDDLE_TRY(encode());
    encoded.cut = count - static_cast<int64_t>(tokens.size());
  }
  if (side.length && !context.uncut) { // attention does not mask padding
    options.padding = Padding{.length = side.length, .id = side.padding};
    tokens = HEDDLE_TRY(encode());
  }
  for (size_t i = 0; side.language && i < tokens.size(); ++i)
    if (tokens.special[i] && std::ranges::count(side.languages, tokens.ids[i]))
      tokens.ids[i] = *side.language;
  encoded.ids = std::move(tokens.ids);
  encoded.leftOut = std::min(context.leftOut, static_cast<int64_t>(encoded.ids.size()));
  encoded.tokens = std::move(tokens);
  return encoded;
}

/// Encodes a query and a document as messages of a chat template. If they are too long, the end of
/// the document is cut.
static Expected<EncodedText> pairOfMessages(const TextSide &side, std::string_view text,
                                            std::string_view place, const TextContext &context) {
  const auto [query, whole] =
      context.pairFirst ? std::pair(*context.pair, text) : std::pair(text, *context.pair);
  std::string document(whole);
  EncodedText encoded;
  for (;;) {
    const RenderedText messages =
        HEDDLE_TRY(pairText(*side.chat, std::string(context.before), std::string(query), document));
    TokenEncoding tokens = HEDDLE_TRY(side.tokenizer->encode(
        messages.text, conversationOptions(*side.chat, messages, context.special), place));
    const int64_t count = static_cast<int64_t>(tokens.size());
    const int64_t beyond = count - side.longest().value_or(count);
    HEDDLE_TRY(checkLength(side, count, place));
    if (beyond <= 0) {
      encoded.ids = std::move(tokens.ids);
      encoded.tokens = std::move(tokens);
      return encoded;
    }
    const TokenEncoding own =
        HEDDLE_TRY(side.tokenizer->encode(document, {.specialTokens = false}, place));
    if (static_cast<int64_t>(own.size()) <= beyond)
      return inputError(std::string(place) +
                        ": expected a query with room after it for a text, "
                        "found one of which the messages alone have more than " +
                        std::to_string(*side.longest()) + " tokens");
    document.resize(own.spans[own.size() - static_cast<size_t>(beyond)].begin);
    encoded.cut += beyond;
  }
}

Expected<EncodedText> TextSide::encode(std::string_view text, std::string_view place,
                                       const TextContext &context) const {
  if (context.ids)
    return givenIds(*this, text, place);
  if (context.pair && pairMessages && tokenizer && chat)
    return pairOfMessages(*this, text, place, context);
  if (tokenizer)
    return tokenized(*this, text, place, context);
  if (context.pair)
    return inputError(std::string(place) +
                      ": expected a model with a tokenizer for pairs of texts, "
                      "found one with a vocabulary");
  auto tokens = HEDDLE_TRY(splitText(text, split, place, vocabulary->find(" ").has_value()));
  EncodedText encoded;
  if (add && start)
    encoded.ids.push_back(*start);
  for (const std::string &token : tokens) {
    const std::optional<int32_t> id = vocabulary->find(token);
    if (!id && !unknown)
      return inputError(std::string(place) + ": expected words of " + vocabulary->name() +
                        ", found " + quotedText(token));
    encoded.ids.push_back(id ? *id : *unknown);
  }
  if (add && !ends.empty())
    encoded.ids.push_back(ends.front());
  encoded.empty = encoded.ids.empty();
  if (context.uncut)
    return encoded;
  const int64_t count = static_cast<int64_t>(encoded.ids.size());
  HEDDLE_TRY(checkLength(*this, count, place));
  const int64_t room = longest().value_or(count);
  encoded.cut = std::max<int64_t>(0, count - room);
  encoded.ids.resize(static_cast<size_t>(length.value_or(std::min(count, room))), padding);
  return encoded;
}

std::string TextSide::decode(std::span<const int32_t> ids) const {
  if (tokenizer) {
    std::vector<int32_t> known;
    std::ranges::copy_if(ids, std::back_inserter(known),
                         [&](int32_t id) { return tokenizer->idToToken(id).has_value(); });
    Expected<std::string> text = tokenizer->decode(known);
    return text ? *text : std::string();
  }
  std::string text;
  for (int32_t id : ids) {
    if (isSpecial(id))
      continue;
    if (!text.empty() && split == Split::Space)
      text += ' ';
    text += vocabulary->token(id);
  }
  return text;
}
