//===- PreTokenizers.cpp - Text into pieces ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the section `pre_tokenizer` of tokenizer.json. It splits a text into
// pieces, and the model sees one piece at a time.
#include "Characters.h"
#include "Components.h"
#include "Metaspace.h"
#include "Pattern.h"
#include "heddle/Tokenizers/Utf8.h"

namespace heddle::tokenizers {

namespace {

using Read = Expected<std::unique_ptr<PreTokenizer>>;

class Sequence : public PreTokenizer {
public:
  explicit Sequence(std::vector<std::unique_ptr<PreTokenizer>> steps) : steps(std::move(steps)) {}
  Status apply(Pieces &pieces, Work &work) const override {
    for (const auto &step : steps) {
      const size_t before = pieces.buffer().size();
      HEDDLE_TRY(step->apply(pieces, work));
      HEDDLE_TRY(work.step(before, pieces.buffer().size()));
    }
    return {};
  }

private:
  std::vector<std::unique_ptr<PreTokenizer>> steps;
};

/// Splits a text by the matches of a pattern or, if `invert`, by the text between them.
class SplitBy : public PreTokenizer {
public:
  SplitBy(std::unique_ptr<Pattern> pattern, SplitBehavior behavior, bool invert)
      : pattern(std::move(pattern)), behavior(behavior), invert(invert) {}

  Status apply(Pieces &pieces, Work &) const override {
    std::vector<TokenSpan> matches;
    return pieces.split([&](std::string_view text, std::vector<Part> &parts) -> Status {
      matches.clear();
      HEDDLE_TRY(pattern->find(text, matches));
      parts = partsBetween(text, matches);
      for (Part &part : parts)
        part.matches ^= invert;
      applyBehavior(parts, behavior);
      return {};
    });
  }

private:
  std::unique_ptr<Pattern> pattern;
  SplitBehavior behavior;
  bool invert;
};

/// Matches each character of a class separately.
class OfClass : public Pattern {
public:
  explicit OfClass(uint16_t classes) : classes(classes) {}
  Status find(std::string_view text, std::vector<TokenSpan> &matches) const override {
    for (size_t at = 0; at < text.size();) {
      const auto first = static_cast<uint32_t>(at);
      if (isOf(nextPoint(text, at), classes))
        matches.push_back({first, static_cast<uint32_t>(at)});
    }
    return {};
  }

private:
  uint16_t classes;
};

/// Matches runs of word characters, and runs of characters that are neither word characters nor
/// blanks.
class Words : public Pattern {
public:
  Status find(std::string_view text, std::vector<TokenSpan> &matches) const override {
    bool joins = false, inWord = false;
    for (size_t at = 0; at < text.size();) {
      const auto first = static_cast<uint32_t>(at);
      const uint16_t classes = classesOf(nextPoint(text, at));
      const auto end = static_cast<uint32_t>(at);
      const bool word = (classes & WordCharacter) != 0;
      if (!word && (classes & WhiteSpace) != 0) {
        joins = false;
        continue;
      }
      if (joins && word == inWord)
        matches.back().end = end;
      else
        matches.push_back({first, end});
      joins = true;
      inWord = word;
    }
    return {};
  }
};

std::unique_ptr<PreTokenizer> splitBy(std::unique_ptr<Pattern> pattern, SplitBehavior behavior,
                                      bool invert = false) {
  return std::make_unique<SplitBy>(std::move(pattern), behavior, invert);
}
std::unique_ptr<PreTokenizer> splitByClass(uint16_t classes, SplitBehavior behavior) {
  return splitBy(std::make_unique<OfClass>(classes), behavior);
}

Expected<SplitBehavior> readBehavior(const JsonField &field) {
  static constexpr std::pair<const char *, SplitBehavior> behaviors[] = {
      {"Removed", SplitBehavior::Removed},
      {"Isolated", SplitBehavior::Isolated},
      {"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
      {"MergedWithNext", SplitBehavior::MergedWithNext},
      {"Contiguous", SplitBehavior::Contiguous}};
  return choiceOf(field, behaviors);
}

Read readSplit(const JsonField &field) {
  auto pattern = HEDDLE_TRY(readPattern(HEDDLE_TRY(field.get("pattern"))));
  auto behavior = HEDDLE_TRY(readBehavior(HEDDLE_TRY(field.get("behavior"))));
  const bool invert = HEDDLE_TRY(field.flagAt("invert", false));
  return splitBy(std::move(pattern), behavior, invert);
}

Read readPunctuation(const JsonField &field) {
  SplitBehavior behavior = SplitBehavior::Isolated;
  if (auto chosen = field.find("behavior"))
    behavior = HEDDLE_TRY(readBehavior(*chosen));
  return splitByClass(Punctuation, behavior);
}

Read readDigits(const JsonField &field) {
  const bool individual = HEDDLE_TRY(field.flagAt("individual_digits", false));
  return splitByClass(Numeric, individual ? SplitBehavior::Isolated : SplitBehavior::Contiguous);
}

Read readWhitespaceSplit(const JsonField &) {
  return splitByClass(WhiteSpace, SplitBehavior::Removed);
}

Read readWhitespace(const JsonField &) {
  return splitBy(std::make_unique<Words>(), SplitBehavior::Removed, true);
}

Read readBert(const JsonField &) {
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  steps.push_back(splitByClass(WhiteSpace, SplitBehavior::Removed));
  steps.push_back(splitByClass(Punctuation, SplitBehavior::Isolated));
  return std::unique_ptr<PreTokenizer>(new Sequence(std::move(steps)));
}

Read readSteps(const JsonField &field) {
  auto steps = HEDDLE_TRY(readSequence<PreTokenizer>(field, "pretokenizers", readPreTokenizer));
  return std::unique_ptr<PreTokenizer>(new Sequence(std::move(steps)));
}

//===- ByteLevel, Metaspace ------------------------------------------------===//

class ByteLevel : public PreTokenizer {
public:
  ByteLevel(bool prefix, bool words)
      : prefix(prefix), words(words ? splitBy(gpt2Pattern(), SplitBehavior::Isolated) : nullptr) {}

  Status apply(Pieces &pieces, Work &work) const override {
    if (prefix)
      HEDDLE_TRY(pieces.rewrite([](AlignedText &text) {
        if (!text.text().starts_with(' '))
          text.prepend(" ");
        return Status();
      }));
    if (words)
      HEDDLE_TRY(words->apply(pieces, work));
    pieces.toByteCharacters();
    return {};
  }

private:
  bool prefix;
  std::unique_ptr<PreTokenizer> words;
};

Read readByteLevel(const JsonField &field) {
  const bool prefix = HEDDLE_TRY(field.flagAt("add_prefix_space", true));
  const bool words = HEDDLE_TRY(field.flagAt("use_regex", true));
  return std::unique_ptr<PreTokenizer>(new ByteLevel(prefix, words));
}

class MetaspaceSplit : public PreTokenizer {
public:
  explicit MetaspaceSplit(Metaspace settings) : settings(std::move(settings)) {}

  Status apply(Pieces &pieces, Work &) const override {
    HEDDLE_TRY(pieces.rewrite([&](AlignedText &text) {
      std::vector<TokenSpan> blanks;
      for (size_t at = 0; (at = text.text().find(' ', at)) != std::string::npos; ++at)
        blanks.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at + 1)});
      text.replace(blanks, settings.replacement);
      const bool prepends = settings.scheme == PrependScheme::Always ||
                            (settings.scheme == PrependScheme::First && text.origin() == 0);
      if (prepends && !text.text().starts_with(settings.replacement))
        text.prepend(settings.replacement);
      return Status();
    }));
    if (!settings.split)
      return {};
    return pieces.split([&](std::string_view text, std::vector<Part> &parts) {
      const std::string_view mark = settings.replacement;
      std::vector<TokenSpan> marks;
      for (size_t at = 0; (at = text.find(mark, at)) != text.npos; at += mark.size())
        marks.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at + mark.size())});
      parts = partsBetween(text, marks);
      applyBehavior(parts, SplitBehavior::MergedWithNext);
      return Status();
    });
  }

private:
  Metaspace settings;
};

Read readMetaspaceSplit(const JsonField &field) {
  auto settings = HEDDLE_TRY(readMetaspace(field));
  return std::unique_ptr<PreTokenizer>(new MetaspaceSplit(std::move(settings)));
}

} // namespace

Expected<Metaspace> readMetaspace(const JsonField &field) {
  Metaspace settings;
  auto mark = HEDDLE_TRY(field.get("replacement"));
  settings.replacement = HEDDLE_TRY(mark.text());
  if (settings.replacement.empty() ||
      pointSize(settings.replacement[0]) != settings.replacement.size())
    return mark.error("one character", foundText(mark.value()));
  if (auto scheme = field.find("prepend_scheme")) {
    static constexpr std::pair<const char *, PrependScheme> schemes[] = {
        {"first", PrependScheme::First},
        {"never", PrependScheme::Never},
        {"always", PrependScheme::Always}};
    settings.scheme = HEDDLE_TRY(choiceOf(*scheme, schemes));
  } else if (!HEDDLE_TRY(field.flagAt("add_prefix_space", true))) {
    settings.scheme = PrependScheme::Never;
  }
  settings.split = HEDDLE_TRY(field.flagAt("split", true));
  return settings;
}

Read readPreTokenizer(const JsonField &field) {
  static constexpr ComponentReader<PreTokenizer> readers[] = {
      {"BertPreTokenizer", readBert},
      {"ByteLevel", readByteLevel},
      {"Metaspace", readMetaspaceSplit},
      {"Whitespace", readWhitespace},
      {"WhitespaceSplit", readWhitespaceSplit},
      {"Split", readSplit},
      {"Punctuation", readPunctuation},
      {"Digits", readDigits},
      {"Sequence", readSteps},
  };
  return readByType(field, readers);
}

} // namespace heddle::tokenizers
