//===- DetectCommand.cpp - Objects in image files -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `detect` writes the objects in each image, and draws them on a copy of it.
#include "EncoderTexts.h"

#include "heddle/Generation/Detector.h"
#include "heddle/Images/Image.h"
#include "heddle/Support/OutputFile.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <ostream>

using namespace heddle;

Status heddle::checkDetect(const DetectCommand &command) {
  HEDDLE_TRY(checkTexts(command.images));
  if (!(command.threshold >= 0 && command.threshold <= 1))
    return usageError("--threshold: expected a number from 0 to 1, found " +
                      formatted("%g", command.threshold));
  if (command.draw.empty())
    return {};
  if (command.images.texts.size() != 1)
    return usageError("--draw: expected one image, found " +
                      (command.images.texts.empty() ? "lines of input"
                                                    : std::to_string(command.images.texts.size())));
  if (!command.draw.ends_with(".png"))
    return usageError("--draw: expected FILE.png, found " + quotedText(command.draw));
  HEDDLE_TRY(checkNotAnInput(command.draw, command.images.texts));
  return checkOutput(command.draw);
}

namespace {

/// Writes and draws the objects of images.
class ObjectWriter {
public:
  ObjectWriter(Detector &detector, const DetectCommand &command)
      : detector(detector), command(command) {}

  /// The output about an image. Errors begin with its path.
  Expected<std::string> answer(const std::string &path) {
    Image image = HEDDLE_TRY(readImage(path));
    auto found = detector.detect(image, command.threshold);
    if (!found)
      return inputError(path + ": " + found.error().message);
    if (!command.draw.empty())
      HEDDLE_TRY(draw(std::move(image), *found));
    return command.images.json ? json(path, *found) : lines(path, *found);
  }

private:
  std::string lines(const std::string &path, const std::vector<Detection> &found) const {
    std::string text;
    for (const Detection &one : found) {
      text += printable(detector.label(one.label)) + "\t" + scoreText(one.score);
      for (double edge : one.box)
        text += formatted("\t%.2f", edge);
      text += whoseLine(command.images, path) + "\n";
    }
    return text;
  }
  std::string json(const std::string &path, const std::vector<Detection> &found) const {
    std::string list;
    for (const Detection &one : found) {
      std::string box;
      for (double edge : one.box)
        box += (box.empty() ? "" : ", ") + jsonNumber(edge);
      list += (list.empty() ? "" : ", ") + ("{\"label\": " + jsonText(detector.label(one.label))) +
              ", \"score\": " + jsonNumber(one.score) + ", \"box\": [" + box + "]}";
    }
    return "{\"image\": " + jsonText(path) + ", \"detections\": [" + list + "]}\n";
  }
  Status draw(Image image, const std::vector<Detection> &found) const {
    std::vector<DrawnBox> boxes;
    for (const Detection &one : found)
      boxes.push_back(
          {one.box, detector.label(one.label) + formatted(" %.2f", one.score), one.label});
    drawBoxes(image, boxes);
    return writeOutput(command.draw, HEDDLE_TRY(encodePng(image)));
  }

  Detector &detector;
  const DetectCommand &command;
};

} // namespace

Status heddle::detectCommand(Session &session, const DetectCommand &command, std::istream &in,
                             std::ostream &out, std::ostream &notes) {
  HEDDLE_TRY(checkDetect(command));
  const TextModel model = HEDDLE_TRY(textModelOf(session, command.images));
  auto detector = Detector::create(session, model);
  if (!detector)
    return ofModel(session, detector.takeError());
  ObjectWriter writer(*detector, command);
  SkippedTexts skips(command.images, notes);
  Texts images(command.images, in);
  for (std::string path; images.next(path);) {
    Status readable = images.check();
    auto answer = readable ? writer.answer(path) : Expected<std::string>(readable.takeError());
    if (!answer && !skips.take(answer.error()))
      return answer.takeError();
    out << (answer ? *answer : skippedLine(command.images.json, answer.error().message))
        << std::flush;
    HEDDLE_TRY(written(out));
  }
  HEDDLE_TRY(images.finish());
  return skips.finish();
}
