//===- Decoders.cpp - Tokens into text --------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the section `decoder` of tokenizer.json. A decoder changes a list of
// tokens, which the caller joins.
#include "ByteLevel.h"
#include "Characters.h"
#include "Components.h"
#include "Metaspace.h"
#include "Pattern.h"
#include "heddle/Tokenizers/Utf8.h"

#include <algorithm>
#include <unicode/utf8.h>

namespace heddle::tokenizers {

namespace {

using Read = Expected<std::unique_ptr<Decoder>>;
using Tokens = std::vector<std::string>;

constexpr const char *replacementCharacter = "\uFFFD";

template <typename Function>
std::unique_ptr<Decoder> simple(Function function) {
  return componentOf<Decoder, Tokens>(std::move(function));
}

void replaceAll(std::string &text, std::string_view old, std::string_view content) {
  if (old.empty() || text.find(old) == text.npos)
    return;
  std::string result;
  size_t done = 0;
  for (size_t at; (at = text.find(old, done)) != text.npos; done = at + old.size())
    result.append(text, done, at - done).append(content);
  text = result.append(text, done);
}

//===- WordPiece, BPEDecoder, Metaspace ------------------------------------===//

void tidy(std::string &text) {
  constexpr std::pair<const char *, const char *> changes[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto &[old, content] : changes)
    replaceAll(text, old, content);
}

Read readWordPiece(const JsonField &field) {
  auto prefix = HEDDLE_TRY(field.textOr("prefix", "##"));
  const bool cleanup = HEDDLE_TRY(field.flagAt("cleanup", true));
  return simple([prefix, cleanup](Tokens &tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0 && tokens[i].starts_with(prefix))
        tokens[i].erase(0, prefix.size());
      else if (i > 0)
        tokens[i].insert(0, " ");
      if (cleanup)
        tidy(tokens[i]);
    }
  });
}

Read readBpe(const JsonField &field) {
  auto suffix = HEDDLE_TRY(field.textOr("suffix", "</w>"));
  return simple([suffix](Tokens &tokens) {
    for (size_t i = 0; i < tokens.size(); ++i)
      replaceAll(tokens[i], suffix, i + 1 == tokens.size() ? "" : " ");
  });
}

Read readMetaspaceDecoder(const JsonField &field) {
  const Metaspace settings = HEDDLE_TRY(readMetaspace(field));
  return simple([settings](Tokens &tokens) {
    for (size_t i = 0; i < tokens.size(); ++i)
      replaceAll(tokens[i], settings.replacement,
                 i == 0 && settings.scheme != PrependScheme::Never ? "" : " ");
  });
}

//===- Bytes ---------------------------------------------------------------===//

/// Converts bytes to text. Each maximal part of an incomplete character becomes U+FFFD.
std::string textOfBytes(std::string_view bytes) {
  std::string text;
  const auto length = static_cast<int32_t>(std::min<size_t>(bytes.size(), INT32_MAX));
  for (int32_t at = 0; at < length;) {
    const int32_t first = at;
    UChar32 point;
    U8_NEXT(bytes.data(), at, length, point);
    if (point < 0)
      text += replacementCharacter;
    else
      text += bytes.substr(static_cast<size_t>(first), static_cast<size_t>(at - first));
  }
  return text;
}

Read readByteLevel(const JsonField &) {
  return simple([](Tokens &tokens) {
    std::string bytes;
    for (const std::string &token : tokens) {
      std::string own;
      for (size_t at = 0; at < token.size();) {
        const auto byte = byteOfCharacter(nextPoint(token, at));
        if (!byte) {
          own = token;
          break;
        }
        own += *byte;
      }
      bytes += own;
    }
    tokens = {textOfBytes(bytes)};
  });
}

/// The byte that a token such as "<0x41>" spells.
std::optional<char> byteOfToken(const std::string &token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>')
    return std::nullopt;
  int value = 0;
  for (int i = 3; i < 5; ++i) {
    const char c = token[static_cast<size_t>(i)];
    const char lower = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9')
      value = value * 16 + c - '0';
    else if (lower >= 'a' && lower <= 'f')
      value = value * 16 + lower - 'a' + 10;
    else
      return std::nullopt;
  }
  return static_cast<char>(value);
}

Read readByteFallback(const JsonField &) {
  return simple([](Tokens &tokens) {
    Tokens result;
    std::string bytes;
    auto flush = [&] {
      if (checkUtf8(bytes, "")) {
        if (!bytes.empty())
          result.push_back(bytes);
      } else {
        result.insert(result.end(), bytes.size(), replacementCharacter);
      }
      bytes.clear();
    };
    for (std::string &token : tokens) {
      if (const auto byte = byteOfToken(token)) {
        bytes += *byte;
        continue;
      }
      flush();
      result.push_back(std::move(token));
    }
    flush();
    tokens = std::move(result);
  });
}

//===- Replace, Fuse, Strip, Sequence --------------------------------------===//

class Replace : public Decoder {
public:
  explicit Replace(Replacement change) : change(std::move(change)) {}
  Status apply(Tokens &tokens) const override {
    for (std::string &token : tokens) {
      const std::vector<TokenSpan> matches = HEDDLE_TRY(change.find(token));
      std::string result;
      size_t done = 0;
      for (const TokenSpan &match : matches) {
        result.append(token, done, match.begin - done).append(change.content);
        done = match.end;
      }
      token = result.append(token, done);
    }
    return {};
  }

private:
  Replacement change;
};

Read readReplace(const JsonField &field) {
  // Read before `new` allocates memory, which an early return would leak.
  Replacement change = HEDDLE_TRY(Replacement::read(field));
  return std::unique_ptr<Decoder>(new Replace(std::move(change)));
}

Read readFuse(const JsonField &) {
  return simple([](Tokens &tokens) {
    std::string all;
    for (const std::string &token : tokens)
      all += token;
    tokens = {all};
  });
}

/// White space as Python's strip() removes it.
bool isBlank(char32_t c) { return isOf(c, WhiteSpace) || (c >= 0x1c && c <= 0x1f); }

void stripBlanks(std::string &token) {
  size_t end = token.size(), begin = 0;
  for (size_t at; end > 0; end = at) {
    at = previousPoint(token, end);
    size_t next = at;
    if (!isBlank(nextPoint(token, next)))
      break;
  }
  for (size_t next = 0; begin < end && isBlank(nextPoint(token, next));)
    begin = next;
  token = token.substr(begin, end - begin);
}

Read readStripBlanks(const JsonField &) {
  return simple([](Tokens &tokens) { std::ranges::for_each(tokens, stripBlanks); });
}

Read readStrip(const JsonField &field) {
  auto content = HEDDLE_TRY(field.get("content"));
  const std::string character = HEDDLE_TRY(content.text());
  if (character.empty() || pointSize(character[0]) != character.size())
    return content.error("one character", foundText(content.value()));
  const int64_t start = HEDDLE_TRY(field.numberAt("start", 0, INT32_MAX));
  const int64_t stop = HEDDLE_TRY(field.numberAt("stop", 0, INT32_MAX));
  return simple([character, start, stop](Tokens &tokens) {
    for (std::string &token : tokens) {
      size_t first = 0, last = token.size();
      for (int64_t i = 0; i < start && token.compare(first, character.size(), character) == 0; ++i)
        first += character.size();
      for (int64_t i = 0; i < stop && last >= first + character.size() &&
                          token.compare(last - character.size(), character.size(), character) == 0;
           ++i)
        last -= character.size();
      token = token.substr(first, last - first);
    }
  });
}

class Sequence : public Decoder {
public:
  explicit Sequence(std::vector<std::unique_ptr<Decoder>> steps) : steps(std::move(steps)) {}
  Status apply(Tokens &tokens) const override {
    for (const auto &step : steps)
      HEDDLE_TRY(step->apply(tokens));
    return {};
  }

private:
  std::vector<std::unique_ptr<Decoder>> steps;
};

Read readSteps(const JsonField &field) {
  auto steps = HEDDLE_TRY(readSequence<Decoder>(field, "decoders", readDecoder));
  return std::unique_ptr<Decoder>(new Sequence(std::move(steps)));
}

} // namespace

Read readDecoder(const JsonField &field) {
  static constexpr ComponentReader<Decoder> readers[] = {
      {"WordPiece", readWordPiece},
      {"ByteLevel", readByteLevel},
      {"Metaspace", readMetaspaceDecoder},
      {"BPEDecoder", readBpe},
      {"Replace", readReplace},
      {"ByteFallback", readByteFallback},
      {"Fuse", readFuse},
      {"Strip", readStrip},
      {"StripBlanks", readStripBlanks},
      {"Sequence", readSteps},
  };
  return readByType(field, readers);
}

} // namespace heddle::tokenizers
