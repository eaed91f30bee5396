//===- TextEncoder.h - Runs of an encoder over texts -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a session of an encoder. The result is a row of numbers for each text
// (`encoder.pool`), for each of its tokens, or for each image. Texts of a run
// are packed into a single row if the model allows it, so that no work is spent
// on padding. Results have the bits of a run alone in any case. An
// encoder-decoder that classifies (BART) is an encoder too.
#pragma once

#include "heddle/Generation/SourceRuns.h"
#include "heddle/Generation/TextModel.h"
#include "heddle/Runtime/Session.h"

namespace heddle {

/// Encodes batches of texts with a session. One thread may use an encoder and its session at a
/// time.
class TextEncoder {
public:
  /// Returns an error if the model's result is not a table of numbers, or if it has inputs that
  /// text does not provide. The session and the model must outlive the encoder.
  static Expected<TextEncoder> create(Session &session, const TextModel &model);
  /// Reads the text settings of the session's own model, and keeps them.
  static Expected<TextEncoder> create(Session &session);

  /// True if rows hold classes, as logits or as probabilities.
  bool classifies() const { return output != "output" && !model->sparse; }
  bool givesProbabilities() const { return output == "probabilities"; }
  /// True if a text has one row; otherwise each of its tokens has one.
  bool pooled() const { return isPooled || model->sparse; }
  int64_t columns() const { return width; }
  const Session &usedSession() const { return *session; }

  /// Returns an error, which begins with `place`, for a text without tokens for which the model has
  /// no result. The vector of a text without tokens is zeros, as in Sentence-Transformers.
  Status checkTokens(const EncodedText &text, const std::string &place) const;
  /// True if a text is not run: it has no word of the vocabulary, and no token is put around it.
  bool isLeftOut(const EncodedText &text) const;

  /// Tokens that a run of these texts works on, padding included; none if they cannot share a run.
  /// Texts are sorted by length.
  std::optional<int64_t> cost(std::span<const EncodedText *const> texts) const;

  /// The rows of each text, [rows, columns] f32, valid until the next call. Texts must pass
  /// `checkTokens` and share a run (`cost`).
  Expected<std::vector<std::span<const float>>> encode(std::span<const EncodedText *const> texts);

  /// Budget of tokens for a run: `batchTokens`, which is at least 1, or less if each token has a
  /// row of the result. The result is in memory at once.
  int64_t tokensOfARun(int64_t batchTokens) const;
  /// Splits texts that are sorted by length into runs, as ranges of indices. A run has at most
  /// `budget` tokens and `mostTexts` texts.
  std::vector<std::pair<size_t, size_t>> cut(std::span<const EncodedText *const> sorted,
                                             int64_t budget, int64_t mostTexts) const;
  /// The rows of each text, in order, computed for `batchTokens` tokens at a time; empty for a text
  /// that is not run. `prompt` names a prompt of the model; none: its default, as for `heddle
  /// embed`.
  Expected<std::vector<std::vector<float>>>
  encode(const std::vector<std::string> &texts,
         const std::optional<std::string> &prompt = std::nullopt, int64_t batchTokens = 1024);

  /// True if the model takes images alone, by `encodeImages` rather than by `encode`.
  bool takesImages() const { return model->source->images.has_value(); }
  /// The rows of each image, valid until the next call. Errors begin with the image's entry in
  /// `places`.
  Expected<std::vector<std::span<const float>>> encodeImages(std::span<const ImagePlanes> images,
                                                             std::span<const std::string> places);

private:
  TextEncoder(Session &session, const TextModel &model, SourceRuns runs)
      : session(&session), model(&model), runs(std::move(runs)) {}
  /// Sizes of the texts of a run, which are added in the order of their lengths.
  struct RunSize {
    int64_t texts = 0, tokens = 0, shortest = 0, longest = 0;
    bool packs = true;
    void add(const EncodedText &text, bool isPacked);
  };
  std::optional<int64_t> cost(const RunSize &run) const;
  bool packs(const EncodedText &text) const;
  Status decodeWhole(std::span<const EncodedText *const> texts);
  void makeSparse(std::vector<std::span<const float>> &rows);
  Status takeDecoder();
  Status takeImages();

  Session *session;
  std::shared_ptr<const TextModel> owned; ///< null: the caller owns the model
  const TextModel *model;
  SourceRuns runs;
  std::string output;
  int64_t width = 0;
  std::string ofImages = "encode";     ///< the function that takes images
  std::string imageHeight, imageWidth; ///< size of the images that it takes
  bool isPooled = false;
  /// The decoder reads each text again, after its start token. The classes are in the last row.
  bool decodes = false, decodeTakesLengths = false;
  NamedTensors results;
  std::vector<float> sparseRows; ///< sparse vectors of a run, with their zeros
};

/// Cosine of the angle between two vectors, in f64. It is 0 if one vector is 0, as in
/// Sentence-Transformers, and NaN if they are empty or their sizes differ.
double cosine(std::span<const float> a, std::span<const float> b);
/// Similarity of two vectors of the same size. A larger value is more similar.
double similarityOf(Similarity kind, std::span<const float> a, std::span<const float> b);

/// Softmax in f64. A NaN among the logits makes all probabilities NaN.
std::vector<double> softmax(std::span<const float> logits);

} // namespace heddle
