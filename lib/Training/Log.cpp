//===- Log.cpp - The log of a run ---------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The columns are one table, which the writer and the reader use.
#include "heddle/Training/Log.h"

#include "heddle/Support/OutputFile.h"
#include "heddle/Support/SystemError.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"
#include "heddle/Training/LineReader.h"

#include <charconv>
#include <cmath>
#include <variant>

using namespace heddle;

namespace {

/// A column and its field.
struct LogColumn {
  const char *name;
  std::variant<int64_t LogRow::*, double LogRow::*, std::optional<double> LogRow::*> field;
};

constexpr LogColumn logColumns[] = {
    {"step", &LogRow::step},
    {"epoch", &LogRow::epoch},
    {"loss", &LogRow::loss},
    {"rate", &LogRow::rate},
    {"norm", &LogRow::norm},
    {"skipped", &LogRow::skipped},
    {"tokens_per_second", &LogRow::tokensPerSecond},
    {"seconds", &LogRow::seconds},
    {"validation_loss", &LogRow::validationLoss},
    {"measure", &LogRow::measure},
};

/// The text of a number. NaN has no sign.
std::string numberText(const char *format, double value) {
  return std::isnan(value) ? "nan" : formatted(format, value);
}

std::string headerLine() {
  return listText(logColumns, [](const LogColumn &column) { return column.name; }, "\t");
}

std::string lineOf(const LogRow &row) {
  auto number = [](double value) { return numberText("%.6g", value); };
  return listText(
      logColumns,
      [&](const LogColumn &column) {
        return std::visit(
            [&](auto field) -> std::string {
              const auto &value = row.*field;
              if constexpr (std::is_same_v<decltype(value), const std::optional<double> &>)
                return value ? number(*value) : "";
              else if constexpr (std::is_same_v<decltype(value), const double &>)
                return number(value);
              else
                return std::to_string(value);
            },
            column.field);
      },
      "\t");
}

template <typename Number>
bool parse(std::string_view text, Number &number) {
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && rest == text.data() + text.size();
}
bool parse(std::string_view text, std::optional<double> &number) {
  return text.empty() || parse(text, number.emplace());
}

} // namespace

Expected<std::vector<LogRow>> heddle::readLog(const std::string &path) {
  LineReader reader = HEDDLE_TRY(LineReader::open(path));
  std::vector<LogRow> rows;
  std::string_view line;
  while (HEDDLE_TRY(reader.next(line))) {
    if (reader.lines() == 1 && line != headerLine())
      return inputError(path + ": expected the log of a run, found another file");
    if (reader.lines() == 1)
      continue;
    const std::vector<std::string_view> columns = columnsOf(line);
    LogRow &row = rows.emplace_back();
    bool right = columns.size() == std::size(logColumns);
    for (size_t i = 0; right && i < columns.size(); ++i)
      right = std::visit([&](auto field) { return parse(columns[i], row.*field); },
                         logColumns[i].field);
    if (!right)
      return inputError(reader.place() + ": expected the numbers of a step, found " +
                        quotedText(line));
  }
  return rows;
}

Expected<TrainingLog> TrainingLog::open(const std::string &path, int64_t step) {
  TrainingLog log(path);
  if (step > 0) {
    log.all = HEDDLE_TRY(readLog(path));
    std::erase_if(log.all, [&](const LogRow &row) { return row.step > step; });
  }
  std::string text = headerLine() + "\n";
  for (const LogRow &row : log.all)
    text += lineOf(row) + "\n";
  HEDDLE_TRY(replaceFile(path, text));
  log.file.reset(std::fopen(path.c_str(), "ab"));
  if (!log.file)
    return systemError(path, "a path that can be written");
  return log;
}

Status TrainingLog::add(const LogRow &row) {
  all.push_back(row);
  const std::string line = lineOf(row) + "\n";
  const FileSizeSignalBlock block;
  if (std::fwrite(line.data(), 1, line.size(), file.get()) != line.size() ||
      std::fflush(file.get()) != 0)
    return systemError(path, "a path that can be written");
  return {};
}

//===- The line of a terminal --------------------------------------------===//

std::string heddle::durationText(double seconds) {
  const auto whole = static_cast<int64_t>(std::lround(std::max(seconds, 0.0)));
  constexpr int64_t minute = 60, hour = 3600;
  if (whole < minute)
    return std::to_string(whole) + " s";
  if (whole < hour)
    return formatted("%d:%02d min", static_cast<int>(whole / minute),
                     static_cast<int>(whole % minute));
  return formatted("%lld:%02d h", static_cast<long long>(whole / hour),
                   static_cast<int>(whole % hour / minute));
}

std::string heddle::progressLine(const RunProgress &progress, size_t columns) {
  const std::string of = progress.epochs > 0 ? "/" + std::to_string(progress.epochs) : "";
  std::vector<std::string> parts = {
      "epoch " + std::to_string(progress.epoch) + of,
      "step " + std::to_string(progress.step) + "/" + std::to_string(progress.steps),
      "loss " + numberText("%.4f", progress.loss), durationText(progress.secondsLeft) + " left"};
  if (progress.measure)
    parts.push_back("measure " + formatted("%.3f", *progress.measure));
  parts.push_back(formatted("%.0f tokens/s", progress.tokensPerSecond));
  parts.push_back("norm " + numberText("%.2f", progress.norm));
  parts.push_back("rate " + formatted("%.2e", progress.rate));
  std::string line;
  for (const std::string &part : parts) {
    const std::string_view before = line.empty() ? "" : ", ";
    if (line.size() + before.size() + part.size() > columns)
      break;
    line.append(before).append(part);
  }
  return line;
}
