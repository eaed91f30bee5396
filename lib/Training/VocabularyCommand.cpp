//===- VocabularyCommand.cpp - The command vocabulary -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts are split as inference splits them, so every token of the data is a line or unknown.
#include "heddle/Generation/Vocabulary.h"
#include "heddle/Support/OutputFile.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"
#include "heddle/Training/Commands.h"
#include "heddle/Training/LineReader.h"

#include <algorithm>
#include <array>
#include <unordered_map>

using namespace heddle;

namespace {

/// Lines with the ids 0 to 3, the defaults of `padding`, `unknown`, `start` and `end`.
constexpr std::array<const char *, 4> specialWords = {"<pad>", "<unk>", "<s>", "<e>"};

/// Words and their numbers of occurrences.
class WordCounts {
public:
  explicit WordCounts(const VocabularyCommand &command) : command(command) {}

  Status read(const std::string &file) {
    LineReader reader = HEDDLE_TRY(LineReader::open(file));
    std::string_view line;
    while (HEDDLE_TRY(reader.next(line)))
      HEDDLE_TRY(readLine(line, reader.place()));
    if (reader.lines() == 0)
      return inputError(file + ": expected text, found an empty file");
    return {};
  }

  /// Words from the most frequent one on, apart from special ones.
  std::vector<std::pair<std::string, int64_t>> sorted() const {
    std::vector<std::pair<std::string, int64_t>> words(order.size());
    for (const auto &[word, place] : order)
      words[place] = {word, counts[place]};
    std::erase_if(words, [](const auto &word) {
      return std::ranges::find(specialWords, word.first) != specialWords.end();
    });
    std::ranges::stable_sort(words, std::greater(), &std::pair<std::string, int64_t>::second);
    return words;
  }
  int64_t total() const { return all; }
  /// Whether texts of characters have blanks, which no word stands for.
  bool leavesBlanks() const { return hasBlanks && !command.blank; }

private:
  Status readLine(std::string_view line, const std::string &place) {
    const std::vector<std::string_view> columns = columnsOf(line);
    if (std::cmp_less(columns.size(), command.column))
      return inputError(place + ": expected at least " + std::to_string(command.column) +
                        " columns, found " + std::to_string(columns.size()));
    const Split split = command.split == "character" ? Split::Character : Split::Space;
    const auto text = columns[static_cast<size_t>(command.column - 1)];
    hasBlanks |= split == Split::Character && text.find(' ') != text.npos;
    for (std::string &word : HEDDLE_TRY(splitText(text, split, place, command.blank))) {
      const auto [at, isNew] = order.try_emplace(std::move(word), counts.size());
      if (isNew)
        counts.push_back(0);
      ++counts[at->second];
      ++all;
    }
    return {};
  }

  const VocabularyCommand &command;
  std::unordered_map<std::string, size_t> order; ///< words by first occurrence
  std::vector<int64_t> counts;
  int64_t all = 0;
  bool hasBlanks = false;
};

Status checkFlags(const VocabularyCommand &command) {
  if (command.split != "space" && command.split != "character")
    return usageError("--split: expected space or character, found " + quotedText(command.split));
  if (command.blank && command.split != "character")
    return usageError("--blank: expected --split=character with it, found " + command.split);
  if (command.column < 1)
    return usageError("--column: expected a number of at least 1, found " +
                      std::to_string(command.column));
  constexpr int64_t leastMost = std::ssize(specialWords) + 1;
  if (command.most && *command.most < leastMost)
    return usageError("--most: expected a number of at least " + std::to_string(leastMost) +
                      " (there are " + std::to_string(specialWords.size()) +
                      " special words), found " + std::to_string(*command.most));
  HEDDLE_TRY(checkNotAnInput(command.output, command.files));
  return checkOutput(command.output);
}

} // namespace

Status heddle::vocabularyCommand(const VocabularyCommand &command, std::ostream &notes) {
  HEDDLE_TRY(checkFlags(command));
  WordCounts counts(command);
  for (const std::string &file : command.files)
    HEDDLE_TRY(counts.read(file));
  const auto words = counts.sorted();
  if (words.empty())
    return inputError(command.files.front() + ": expected words in column " +
                      std::to_string(command.column) + ", found none");
  std::string text;
  for (const char *word : specialWords)
    text.append(word).append("\n");
  int64_t lines = std::ssize(specialWords), covered = 0;
  for (const auto &[word, count] : words) {
    if (count < command.least || (command.most && lines == *command.most))
      break;
    text.append(word).append("\n");
    covered += count;
    ++lines;
  }
  if (covered == 0)
    return inputError(command.files.front() + ": expected a word that occurs " +
                      std::to_string(command.least) + " times, found at most " +
                      std::to_string(words.front().second));
  HEDDLE_TRY(writeOutput(command.output, text));
  notes << "note: " << lines - std::ssize(specialWords) << " of " << words.size()
        << " words, which are "
        << formatted("%.2f",
                     100.0 * static_cast<double>(covered) / static_cast<double>(counts.total()))
        << " % of the text\n";
  if (counts.leavesBlanks())
    notes << "note: white space is not a word; --blank adds it\n";
  return {};
}
