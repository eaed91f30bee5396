//===- DataReader.h - Examples from lines ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns lines of data files into ids of a data set.
#pragma once

#include "heddle/Training/Data.h"
#include "heddle/Training/LineReader.h"

namespace heddle {

class DataReader {
public:
  DataReader(Data &data, const TextModel &model) : data(data), model(model) {}

  /// Error for a model that cannot be trained on files of lines.
  Status checkModel() const;
  /// Appends the examples of a file.
  Status read(const DataFile &file);

private:
  Status readLine(std::string_view line, const std::string &place);
  Status readLabel(std::string_view text, const std::string &place);
  Status append(const TextSide &side, std::string_view text, const std::string &place);
  Status appendReference(std::string_view text, const std::string &place);
  Status appendText(std::string_view line, const std::string &place);
  Expected<std::vector<int32_t>> idsOf(const TextSide &side, std::string_view text,
                                       const std::string &place);
  void endWindow();

  Data &data;
  const TextModel &model;
};

} // namespace heddle
