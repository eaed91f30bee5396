//===- TextEncoder.h - Runs of an encoder over texts -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a session of an encoder: a row of numbers for each text (`encoder.pool`) or for
// each of its tokens, or for each image. Texts of a run stand one after another in a
// single row where the model allows it, so that no work is spent on padding; their
// results have the bits of a run alone in any case. An encoder-decoder that classifies
// (BART) is one too.
#pragma once

#include "heddle/Generation/SourceRuns.h"
#include "heddle/Generation/TextModel.h"
#include "heddle/Runtime/Session.h"

namespace heddle {

/// Encodes batches of texts with a session.
class TextEncoder {
public:
  /// Error if the model's result is no table of numbers, or if it has inputs that text does not
  /// give. Both must outlive the encoder.
  static Expected<TextEncoder> create(Session &session, const TextModel &model);
  /// With the text settings of the session's own model, which the encoder keeps.
  static Expected<TextEncoder> create(Session &session);

  /// Whether rows hold classes: logits, or probabilities.
  bool classifies() const { return output != "output"; }
  bool givesProbabilities() const { return output == "probabilities"; }
  /// Whether a text has one row; else each of its tokens has one.
  bool pooled() const { return isPooled; }
  int64_t columns() const { return width; }
  const Session &of() const { return *session; }

  /// Error, after `place`, for a text without any token that the model has no result for. A vector
  /// of no rows is zeros, as the mean of Sentence-Transformers is.
  Status checkTokens(const EncodedText &text, const std::string &place) const;
  /// Whether a text is not run: it has no word of a vocabulary, and nothing stands around it.
  bool isLeftOut(const EncodedText &text) const;

  /// Tokens that a run of these texts works on, padding counted; texts are in the order of their
  /// lengths. None: they cannot share a run.
  std::optional<int64_t> cost(std::span<const EncodedText *const> texts) const;

  /// Rows of each text, valid until the next call. Texts pass `checkTokens`, and share a run
  /// by `cost`.
  Expected<std::vector<std::span<const float>>> encode(std::span<const EncodedText *const> texts);

  /// `batchTokens`, at least 1, or fewer where each token has a row of the result: it stays in
  /// memory at once.
  int64_t tokensOfARun(int64_t batchTokens) const;
  /// Runs of texts that are sorted by length: ranges of as many as `budget` and `mostTexts` allow.
  std::vector<std::pair<size_t, size_t>> cut(std::span<const EncodedText *const> sorted,
                                             int64_t budget, int64_t mostTexts) const;
  /// Rows of each text, in order, `batchTokens` tokens at a time; empty for a text that is left out.
  /// `prompt` is the name of one of the model's; none: its default, as for `heddle embed`.
  Expected<std::vector<std::vector<float>>>
  encode(const std::vector<std::string> &texts,
         const std::optional<std::string> &prompt = std::nullopt, int64_t batchTokens = 1024);

  /// Whether the model takes files of images, by `encodeImages` and not by `encode`.
  bool takesImages() const { return model->source->images.has_value(); }
  /// Rows of each image, valid until the next call; errors begin with the image's place in `places`.
  Expected<std::vector<std::span<const float>>> encodeImages(std::span<const ImagePlanes> images,
                                                             std::span<const std::string> places);

private:
  TextEncoder(Session &session, const TextModel &model, SourceRuns runs)
      : session(&session), model(&model), runs(std::move(runs)) {}
  /// Sums over texts of a run, which come in the order of their lengths.
  struct RunSize {
    int64_t texts = 0, tokens = 0, shortest = 0, longest = 0;
    bool packs = true;
    void add(const EncodedText &text, bool isPacked);
  };
  std::optional<int64_t> cost(const RunSize &run) const;
  bool packs(const EncodedText &text) const;
  Status decodeWhole(std::span<const EncodedText *const> texts);
  Status takeDecoder();

  Session *session;
  std::shared_ptr<const TextModel> owned; ///< or null
  const TextModel *model;
  SourceRuns runs;
  std::string output;
  int64_t width = 0;
  std::string imageHeight, imageWidth; ///< that the model takes
  bool isPooled = false;
  /// The decoder reads each text again, behind its start; classes are those of the last row.
  bool decodes = false, decodeTakesLengths = false;
  NamedTensors results;
};

/// Cosine of the angle between two vectors, in f64; 0 if one of them is 0, as in Sentence-Transformers;
/// NaN if they are empty or their sizes differ.
double cosine(std::span<const float> a, std::span<const float> b);
/// How alike two vectors of one size are, larger values for those that are more so.
double similarityOf(Similarity kind, std::span<const float> a, std::span<const float> b);

/// Softmax in f64. A NaN among the logits makes all probabilities NaN.
std::vector<double> softmax(std::span<const float> logits);

} // namespace heddle
