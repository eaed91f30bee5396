//===- Normalizers.cpp - Changes of text before it is split -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the section `normalizer` of tokenizer.json.
#include "ByteLevel.h"
#include "Characters.h"
#include "Components.h"
#include "Pattern.h"
#include "UnicodeForms.h"
#include "heddle/Tokenizers/Utf8.h"

#include <algorithm>

namespace heddle::tokenizers {

namespace {

using Read = Expected<std::unique_ptr<Normalizer>>;

class Sequence : public Normalizer {
public:
  explicit Sequence(std::vector<std::unique_ptr<Normalizer>> steps) : steps(std::move(steps)) {}
  Status apply(AlignedText &text, Work &work) const override {
    for (const auto &step : steps) {
      const size_t before = text.size();
      HEDDLE_TRY(step->apply(text, work));
      HEDDLE_TRY(work.step(before, text.size()));
    }
    return {};
  }

private:
  std::vector<std::unique_ptr<Normalizer>> steps;
};

template <typename Function>
std::unique_ptr<Normalizer> simple(Function function) {
  return componentOf<Normalizer, AlignedText, Work>(std::move(function));
}

//===- BertNormalizer ----------------------------------------------------===//

/// The CJK blocks of BertNormalizer. Its sixth begins at U+2B920, where Unicode's begins at
/// U+2B820.
bool isChinese(char32_t c) {
  constexpr std::pair<char32_t, char32_t> blocks[] = {
      {0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df}, {0x2a700, 0x2b73f},
      {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  return c >= 0x3400 && std::ranges::any_of(blocks, [c](const auto &block) {
           return c >= block.first && c <= block.second;
         });
}

class Bert : public Normalizer {
public:
  Bert(bool clean, bool chinese, bool accents, bool lower)
      : clean(clean), chinese(chinese), accents(accents), lower(lower) {}

  Status apply(AlignedText &text, Work &) const override {
    if (clean)
      cleanText(text);
    if (chinese && !isAscii(text.text()))
      spaceChinese(text);
    if (accents && !isAscii(text.text())) {
      toUnicodeForm(text, UnicodeForm::Nfd);
      text.filter([](char32_t c) { return !isOf(c, NonspacingMark); });
    }
    if (lower)
      text.lower();
    return {};
  }

private:
  static bool isBlank(char32_t c) { return isOf(c, WhiteSpace); }

  static void cleanText(AlignedText &text) {
    std::vector<Change> changes;
    const size_t skipped =
        filterChanges(text.text(), [](char32_t c) { return !isOf(c, BertControl); }, changes);
    for (Change &change : changes)
      if (isBlank(change.point))
        change.point = ' ';
    text.transform(changes, skipped);
  }
  static void spaceChinese(AlignedText &text) {
    std::vector<Change> changes;
    for (size_t at = 0; at < text.size();) {
      const char32_t point = nextPoint(text.text(), at);
      if (isChinese(point))
        changes.insert(changes.end(), {{' ', 0}, {point, 1}, {' ', 1}});
      else
        changes.push_back({point, 0});
    }
    text.transform(changes);
  }

  bool clean, chinese, accents, lower;
};

Read readBert(const JsonField &field) {
  const bool lower = HEDDLE_TRY(field.flagAt("lowercase", true));
  const bool accents = HEDDLE_TRY(field.flagAt("strip_accents", lower));
  const bool clean = HEDDLE_TRY(field.flagAt("clean_text", true));
  const bool chinese = HEDDLE_TRY(field.flagAt("handle_chinese_chars", true));
  return std::unique_ptr<Normalizer>(new Bert(clean, chinese, accents, lower));
}

//===- The others --------------------------------------------------------===//

class Replace : public Normalizer {
public:
  explicit Replace(Replacement change) : change(std::move(change)) {}
  Status apply(AlignedText &text, Work &) const override {
    const std::vector<TokenSpan> matches = HEDDLE_TRY(change.find(text.text()));
    text.replace(matches, change.content);
    return {};
  }

private:
  Replacement change;
};

Read readReplace(const JsonField &field) {
  // Read before `new` allocates memory, which an early return would leak.
  Replacement change = HEDDLE_TRY(Replacement::read(field));
  return std::unique_ptr<Normalizer>(new Replace(std::move(change)));
}

Read readStrip(const JsonField &field) {
  const bool left = HEDDLE_TRY(field.flagAt("strip_left", true));
  const bool right = HEDDLE_TRY(field.flagAt("strip_right", true));
  return simple([left, right](AlignedText &text) { text.strip(left, right); });
}

Read readPrepend(const JsonField &field) {
  auto prefix = HEDDLE_TRY(field.textAt("prepend"));
  const bool atStart = HEDDLE_TRY(field.flagAt("at_start", false)); // Heddle's own key
  return simple([prefix, atStart](AlignedText &text) {
    if (!atStart || text.origin() == 0)
      text.prepend(prefix);
  });
}

Read readNormalizers(const JsonField &field) {
  auto steps = HEDDLE_TRY(readSequence<Normalizer>(field, "normalizers", readNormalizer));
  return std::unique_ptr<Normalizer>(new Sequence(std::move(steps)));
}

template <UnicodeForm Form>
Read readForm(const JsonField &) {
  return simple([](AlignedText &text) { toUnicodeForm(text, Form); });
}

Read readStripAccents(const JsonField &) {
  return simple(
      [](AlignedText &text) { text.filter([](char32_t c) { return !isOf(c, CombiningMark); }); });
}

Read readLowercase(const JsonField &) {
  return simple([](AlignedText &text) { text.lower(); });
}

Read readByteLevel(const JsonField &) {
  return simple([](AlignedText &text) {
    AlignedText result;
    appendByteCharacters(text, 0, text.size(), result);
    const uint32_t origin = text.origin();
    text.assign(result, 0, result.size(), origin);
  });
}

} // namespace

Status Work::step(size_t before, size_t after) {
  constexpr size_t call = 64; // a step takes time even without text
  const size_t cost = std::max(before, after) + call;
  if (cost > left)
    return inputError(
        "expected a normalizer and a pre-tokenizer whose steps read and write at most "
        "4 MiB and 256 bytes for each byte of text, found more");
  left -= cost;
  return {};
}

Status checkGrowth(size_t before, size_t after) {
  constexpr size_t most = 32 << 20;
  if (after > most && after > before)
    return inputError("expected at most " + std::to_string(most) +
                      " bytes of normalized text, found more");
  return {};
}

Read readNormalizer(const JsonField &field) {
  static constexpr ComponentReader<Normalizer> readers[] = {
      {"BertNormalizer", readBert},
      {"NFC", readForm<UnicodeForm::Nfc>},
      {"NFD", readForm<UnicodeForm::Nfd>},
      {"NFKC", readForm<UnicodeForm::Nfkc>},
      {"NFKD", readForm<UnicodeForm::Nfkd>},
      {"Lowercase", readLowercase},
      {"StripAccents", readStripAccents},
      {"Strip", readStrip},
      {"Replace", readReplace},
      {"Prepend", readPrepend},
      {"Precompiled", readPrecompiled},
      {"ByteLevel", readByteLevel},
      {"Sequence", readNormalizers},
  };
  return readByType(field, readers);
}

} // namespace heddle::tokenizers
