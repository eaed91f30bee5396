//===- TextEncoder.cpp - Runs of an encoder over texts ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs texts within a budget of tokens. A model that neither packs texts nor
// masks padding takes texts of one length. An encoder-decoder runs `decode`
// after the encoder.
#include "heddle/Generation/TextEncoder.h"

#include "EncoderTexts.h"
#include "heddle/Generation/TextInputs.h"

#include "heddle/Support/Artifact.h"
#include "heddle/Support/Program.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace heddle;
using TextRows = std::span<const EncodedText *const>;

/// Reads the results and inputs of the decoder, for an encoder-decoder that classifies.
Status TextEncoder::takeDecoder() {
  decodes = isPooled = true;
  if (!model->target->start)
    return inputError("target.start: expected the id that the decoder begins with, found none");
  auto outputs = HEDDLE_TRY(session->outputs("decode"));
  for (const PortInfo &port : outputs)
    if ((port.name == "logits" || port.name == "probabilities") && !port.shape.empty()) {
      const std::string &columns = port.shape.back();
      std::from_chars(columns.data(), columns.data() + columns.size(), width);
      output = port.name;
    }
  decodeTakesLengths = HEDDLE_TRY(takesInput(*session, "decode", "source.lengths"));
  return checkInputs(*session, "decode", {"target", "memory", "source.lengths"});
}

/// Reads the size of the images that the model takes. A model of texts and images has a second
/// function, whose vectors of images are in the space of the vectors of texts.
Status TextEncoder::takeImages() {
  if (model->image)
    ofImages = imageFunction;
  for (const PortInfo &port : HEDDLE_TRY(session->inputs(ofImages)))
    if (port.name == "source" && port.shape.size() == 4) {
      imageHeight = port.shape[2];
      imageWidth = port.shape[3];
    }
  if (!model->image)
    return {};
  for (const PortInfo &port : HEDDLE_TRY(session->outputs(ofImages)))
    if (port.name == output && port.shape.size() == 2 && port.shape[1] == std::to_string(width))
      return {};
  return inputError(ofImages + ": expected a result " + output + " of " + std::to_string(width) +
                    " numbers, found none");
}

Expected<TextEncoder> TextEncoder::create(Session &session, const TextModel &model) {
  const bool decodes = model.kind == "encoder-decoder" && model.target && !model.sequenceFirst &&
                       model.head == "ForSequenceClassification";
  if ((model.kind != "encoder" && !decodes) || !model.source)
    return inputError(
        "expected a model of kind encoder, found " + model.kind +
        (model.kind == "decoder" ? "; --pool=mean makes one of a decoder's folder" : ""));
  if (!model.source->takesText() && !model.images())
    return inputError(
        "expected a model with a vocabulary, a tokenizer or steps for images, found none");
  auto outputs = HEDDLE_TRY(session.outputs("encode"));
  TextEncoder encoder(session, model, HEDDLE_TRY(SourceRuns::create(session, model)));
  for (const PortInfo &port : outputs)
    if (!port.shape.empty() &&
        (port.name == "output" || port.name == "logits" || port.name == "probabilities")) {
      const std::string &columns = port.shape.back();
      std::from_chars(columns.data(), columns.data() + columns.size(), encoder.width);
      encoder.isPooled = port.shape.size() == 2;
      encoder.output = port.name;
    }
  HEDDLE_TRY(encoder.takeImages());
  if (decodes)
    HEDDLE_TRY(encoder.takeDecoder());
  if (encoder.output.empty() || encoder.width < 1)
    return inputError("encode: expected a result output, logits or probabilities, found none");
  if (model.sparse && (encoder.output != "logits" || decodes))
    return inputError("encode: expected a result logits, of which a sparse vector is made, found " +
                      encoder.output);
  HEDDLE_TRY(checkInputs(session, "encode", {"source", "source.types", "source.lengths"}));
  return encoder;
}

Expected<TextModel> heddle::textModelOf(const Artifact &artifact) {
  auto model = readTextModel(
      artifact.program().model, [&](const std::string &name) -> Expected<std::string> {
        if (auto text = artifact.text(name))
          return std::string(*text);
        return inputError("expected the text member " + name + ", found none");
      });
  if (!model)
    return inputError(artifact.name() + ": " + model.takeError().message);
  return model;
}

Expected<TextModel> heddle::textModelOf(const Session &session) {
  return textModelOf(session.artifact());
}

Expected<TextEncoder> TextEncoder::create(Session &session) {
  auto model = std::make_shared<TextModel>(HEDDLE_TRY(textModelOf(session)));
  TextEncoder encoder = HEDDLE_TRY(create(session, *model));
  encoder.owned = std::move(model);
  return encoder;
}

Status TextEncoder::checkTokens(const EncodedText &text, const std::string &place) const {
  const bool hasZeros = isPooled && !classifies() && (model->packed || model->padded);
  if (!text.empty || hasZeros || !model->source->tokenizer)
    return {};
  return inputError(place + ": expected a text with at least one token, found none");
}

bool TextEncoder::isLeftOut(const EncodedText &text) const {
  return text.empty && !model->source->tokenizer;
}

/// A decoder reads rows of texts with padding, however they were encoded.
bool TextEncoder::packs(const EncodedText &text) const { return !decodes && runs.packs(text); }

void TextEncoder::RunSize::add(const EncodedText &text, bool isPacked) {
  longest = static_cast<int64_t>(text.ids.size());
  shortest = texts == 0 ? longest : shortest;
  tokens += longest;
  packs &= isPacked;
  ++texts;
}

std::optional<int64_t> TextEncoder::cost(const RunSize &run) const {
  if (run.packs)
    return run.tokens;
  // In a sequence-first model, the tokens of a text alternate with other texts'.
  if (run.texts > 1 &&
      ((!model->padded && run.shortest != run.longest) || (model->sequenceFirst && !isPooled)))
    return std::nullopt;
  return run.texts * run.longest;
}

std::optional<int64_t> TextEncoder::cost(TextRows texts) const {
  RunSize run;
  for (const EncodedText *text : texts)
    run.add(*text, packs(*text));
  return cost(run);
}

Status TextEncoder::decodeWhole(TextRows texts) {
  const Tensor &memory = *HEDDLE_TRY(runs.memory(texts)), lengths = runs.lengths(texts);
  std::vector<TokenIds> targets;
  for (const EncodedText *text : texts) {
    TokenIds &target = targets.emplace_back(1, *model->target->start);
    target.insert(target.end(), text->ids.begin(), text->ids.end() - 1);
  }
  const Tensor target = padRows(targets, model->target->padding, /*sequenceFirst=*/false);
  NamedInputs inputs = {{"target", target}, {"memory", memory}};
  if (decodeTakesLengths)
    inputs.emplace_back("source.lengths", lengths);
  return session->run("decode", inputs, results);
}

/// The sparse vector of a text, given the logits of its rows.
static void sumUpLogits(std::span<const float> logits, const SparseFacts &facts,
                        std::span<float> vector) {
  std::ranges::fill(vector, 0.0F);
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] <= 0) // zeros, most of all; a NaN stays one
      continue;
    const float once = std::log1p(logits[i]), value = facts.logTwice ? std::log1p(once) : once;
    float &number = vector[i % vector.size()];
    number = facts.sums ? number + value : value > number || std::isnan(value) ? value : number;
  }
  if (!facts.most)
    return;
  std::vector<float> kept(vector.size());
  for (size_t best : bestOf({vector.begin(), vector.end()}, static_cast<size_t>(*facts.most)))
    kept[best] = vector[best];
  std::ranges::copy(kept, vector.begin());
}

/// Replaces the logits of texts by their sparse vectors.
void TextEncoder::makeSparse(std::vector<std::span<const float>> &rows) {
  const auto columns = static_cast<size_t>(width);
  sparseRows.resize(rows.size() * columns);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto vector = std::span(sparseRows).subspan(i * columns, columns);
    sumUpLogits(rows[i], *model->sparse, vector);
    rows[i] = vector;
  }
}

Expected<std::vector<std::span<const float>>> TextEncoder::encode(TextRows texts) {
  const bool packed = !decodes && runs.packs(texts);
  HEDDLE_TRY(decodes ? decodeWhole(texts) : runs.run(texts, results));
  const std::span<const float> all = HEDDLE_TRY(results.values<float>(output));
  const size_t longest = longestOf(texts);
  size_t at = 0;
  std::vector<std::span<const float>> rows;
  for (const EncodedText *text : texts) {
    const auto columns = static_cast<size_t>(width);
    const size_t count = isPooled ? 1 : text->ids.size();
    at += packed && text->leftOut > 0 ? columns : 0; // the part that is left out has a row too
    if (decodes) {
      rows.push_back(all.subspan(at + (text->ids.size() - 1) * columns, columns));
      at += longest * columns;
      continue;
    }
    rows.push_back(all.subspan(at, count * columns));
    at += (isPooled || packed ? count : longest) * columns;
  }
  if (model->sparse)
    makeSparse(rows);
  return rows;
}

int64_t TextEncoder::tokensOfARun(int64_t batchTokens) const {
  // Maximum numbers in a result whose rows may be as wide as a vocabulary.
  constexpr int64_t mostNumbers = 16 << 20;
  return isPooled && !model->sparse ? batchTokens
                                    : std::clamp<int64_t>(mostNumbers / width, 1, batchTokens);
}

std::vector<std::pair<size_t, size_t>> TextEncoder::cut(TextRows sorted, int64_t budget,
                                                        int64_t mostTexts) const {
  std::vector<std::pair<size_t, size_t>> runs;
  for (size_t from = 0, to = 0; from < sorted.size(); from = to) {
    RunSize run;
    for (to = from; to < sorted.size(); ++to) {
      run.add(*sorted[to], packs(*sorted[to]));
      const std::optional<int64_t> size = cost(run);
      if (run.texts > 1 && (!size || *size > budget || run.texts > mostTexts))
        break;
    }
    runs.emplace_back(from, to);
  }
  return runs;
}

Expected<std::vector<std::vector<float>>>
TextEncoder::encode(const std::vector<std::string> &texts, const std::optional<std::string> &prompt,
                    int64_t batchTokens) {
  if (!model->source->takesText())
    return inputError("expected a model of texts, found one of images");
  const TextContext context = HEDDLE_TRY(model->contextAfterPrompt(prompt));
  std::vector<EncodedText> tokens;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string place = "text " + std::to_string(i + 1);
    tokens.push_back(HEDDLE_TRY(model->source->encode(texts[i], place, context)));
    HEDDLE_TRY(checkTokens(tokens.back(), place));
  }
  std::vector<const EncodedText *> sorted;
  for (const EncodedText &text : tokens)
    if (!isLeftOut(text))
      sorted.push_back(&text);
  std::ranges::stable_sort(sorted, {}, [](const EncodedText *text) { return text->ids.size(); });
  std::vector<std::vector<float>> vectors(texts.size());
  for (auto [from, to] : cut(sorted, tokensOfARun(batchTokens), INT64_MAX)) {
    auto rows = HEDDLE_TRY(encode(TextRows(sorted).subspan(from, to - from)));
    for (size_t i = from; i < to; ++i)
      vectors[static_cast<size_t>(sorted[i] - tokens.data())].assign(rows[i - from].begin(),
                                                                     rows[i - from].end());
  }
  return vectors;
}

double heddle::similarityOf(Similarity kind, std::span<const float> a, std::span<const float> b) {
  if (kind == Similarity::Cosine)
    return cosine(a, b);
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = a[i], y = b[i], difference = x - y;
    sum += kind == Similarity::Dot         ? x * y
           : kind == Similarity::Euclidean ? difference * difference
                                           : std::fabs(difference);
  }
  if (kind == Similarity::Dot)
    return sum;
  return kind == Similarity::Euclidean ? -std::sqrt(sum) : -sum;
}

double heddle::cosine(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size() || a.empty())
    return NAN;
  double products = 0, lengths[2] = {};
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    products += x * y;
    lengths[0] += x * x;
    lengths[1] += y * y;
  }
  const double both = std::sqrt(lengths[0] * lengths[1]);
  return both == 0 ? 0 : products / both;
}

Expected<std::vector<std::span<const float>>>
TextEncoder::encodeImages(std::span<const ImagePlanes> images,
                          std::span<const std::string> places) {
  std::vector<float> values;
  for (size_t i = 0; i < images.size(); ++i) {
    std::string height = std::to_string(images[i].height), width = std::to_string(images[i].width);
    if (height != imageHeight || width != imageWidth)
      return inputError(places[i] + ": expected " + imageHeight + " by " + imageWidth +
                        " pixels after the model's steps for images, found " + height + " by " +
                        width);
    values.insert(values.end(), images[i].values.begin(), images[i].values.end());
  }
  const auto count = static_cast<int64_t>(images.size());
  const Tensor source = Tensor::f32({count, 3, images[0].height, images[0].width}, values);
  HEDDLE_TRY(session->run(ofImages, NamedInputs{{"source", source}}, results));
  const std::span<const float> all = HEDDLE_TRY(results.values<float>(output));
  std::vector<std::span<const float>> rows;
  for (size_t i = 0, row = all.size() / images.size(); i < images.size(); ++i)
    rows.push_back(all.subspan(i * row, row));
  return rows;
}

std::vector<double> heddle::softmax(std::span<const float> logits) {
  std::vector<double> values(logits.begin(), logits.end());
  const double largest = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (double &value : values) {
    value = value == largest ? 1 : std::exp(value - largest); // also for infinite logits
    sum += value;
  }
  for (double &value : values)
    value /= sum;
  return values;
}
