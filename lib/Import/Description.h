//===- Description.h - A model description, read and checked ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What docs/model-description.md describes, one entry a layer. A field says which
// key it is; types, bounds and defaults are the schema's.
#pragma once

#include "MaskExpression.h"
#include "Schema.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

namespace heddle {

/// Pictures instead of text: each square of `patch` by `patch` pixels is a row.
struct ImageDescription {
  int64_t channels, height, width, patch;
  int64_t classTokens; ///< learned rows before those of the patches
  int64_t rows() const { return height / patch * (width / patch) + classTokens; }
};

/// Frames of sound instead of text: convolutions over them, one behind the other, give the rows.
struct FramesDescription {
  struct Convolution {
    Keys in;
    int64_t size = in.get<int64_t>("size"), stride = in.get<int64_t>("stride");
    std::string activation = in.get<std::string>("activation"); ///< or none
  };
  int64_t channels, frames;
  std::vector<Convolution> convolutions;
  int64_t rows() const {
    int64_t count = frames;
    for (const Convolution &c : convolutions)
      count = (count - 1) / c.stride + 1;
    return count;
  }
};

/// Source or target.
struct SideDescription {
  Keys in;
  bool vectors = in.isNull("vocabulary"); ///< or an image: no ids come in
  std::optional<ImageDescription> image;
  std::optional<FramesDescription> frames;
  /// The vocabulary as the description names it; empty: a size without text.
  std::string file = in.get<std::string>("vocabulary");
  std::string
      tokenizer; ///< member with a tokenizer.json that stands in the vocabulary's place; or empty
  std::string chatTemplate; ///< member with how messages become one text; or empty
  std::string preprocessor; ///< member with a preprocessor_config.json, for images; or empty
  std::string logMel;       ///< the same for frames of sound
  int64_t size = in.get<int64_t>("vocabulary"); ///< tokens
  int64_t padding = in.get<int64_t>("padding");
  std::optional<int64_t> unknown = in.maybe<int64_t>("unknown"), start = in.maybe<int64_t>("start");
  std::vector<int64_t> ends = in.numbers("end");
  bool add = in.get<bool>("add");
  std::string split = in.get<std::string>("split"), tooLong = in.get<std::string>("too-long");
  std::optional<int64_t> length = in.maybe<int64_t>("length");
  std::optional<int64_t> most; ///< of the source: rows that have positions, where they are learned
  int64_t limit = in.get<int64_t>("limit");
  Keys generation = in.object("generation"); ///< of the target
  /// How many rows there always are; none: each call says it.
  std::optional<int64_t> rows() const {
    return image    ? std::optional(image->rows())
           : frames ? std::optional(frames->rows())
                    : std::nullopt;
  }
  /// What an error calls a source of so many rows.
  const char *whole() const { return image ? "image" : "frames"; }
};

struct NormDescription {
  Keys in;
  bool rms = in.is("kind", "rms");
  bool root = in.get<bool>("root"); ///< false: divided by variance + epsilon itself
  double epsilon = in.get<double>("epsilon");
};

enum class ReturnWeights { None, Heads, Average };

struct AttentionDescription {
  Keys in, own;      ///< `own`: cross attention does not inherit score-bias and sinks
  int64_t model = 0; ///< size
  int64_t heads = in.get<int64_t>("heads", 1);
  int64_t keyValueHeads = in.get<int64_t>("key-value-heads", heads);
  int64_t headSize = in.get<int64_t>("head-size", std::max<int64_t>(model / heads, 1));
  int64_t valueSize = in.get<int64_t>("value-size", headSize);
  double scale = in.get<double>("score-scale", 1.0 / std::sqrt(static_cast<double>(headSize)));
  Keys biases = in.object("bias");
  bool queryBias = biases.get<bool>("query"), keyBias = biases.get<bool>("key");
  bool valueBias = biases.get<bool>("value"), outputBias = biases.get<bool>("output");
  std::string activation = in.get<std::string>("activation"); ///< of query, key and value; or none
  bool outputProjection = in.get<bool>("output-projection");
  /// A further matrix a head behind each projection.
  bool perHeadProjection = in.get<bool>("per-head-projection");
  ReturnWeights returnWeights = in.is("return-weights", "heads")     ? ReturnWeights::Heads
                                : in.is("return-weights", "average") ? ReturnWeights::Average
                                                                     : ReturnWeights::None;
  bool returnLogSumExp = in.get<bool>("return-log-sum-exp"), sinks = own.get<bool>("sinks");
  std::optional<double> softcap = in.maybe<double>("softcap");
  std::optional<double> hiddenScore = in.maybe<double>("hidden-score");
  std::optional<MaskExpression> bias;            ///< score-bias
  std::optional<NormDescription> projectionNorm; ///< of queries and keys
};

struct FfnDescription {
  Keys in;
  int64_t size = in.get<int64_t>("size");
  std::string activation = in.get<std::string>("activation");
  bool bias = in.get<bool>("bias");
  bool convolution = in.is("as", "conv1x1"); ///< the weights are convolutions of kernel size 1
};

/// Where the norm of a sub-layer stands: norm(x + f(x)), x + f(norm(x)), x + norm(f(norm(x))),
/// x + norm(f(x)).
enum class NormPlace { Post, Pre, Both, Output };

struct PositionDescription {
  Keys in;
  std::string kind = in.get<std::string>("kind"); ///< empty: none
  double scale = in.get<double>("scale");
  int64_t length = in.get<int64_t>("length"); ///< rows of a learned table
  double base = in.get<double>("base"), fraction = in.get<double>("fraction");
  double factor = 1; ///< that positions are divided by
  /// Of another scaling the angle of each pair a position, and what multiplies cosines and sines.
  std::vector<double> frequencies;
  double magnitude = 1;
  int64_t rotatedRows = 0; ///< of a sequence at most, for which the frequencies are; 0: any number
  bool learned() const { return kind == "learned"; }
  /// Queries and keys are rotated; nothing is added to rows.
  bool rotary() const { return kind == "rotary"; }
};

/// Whether a mask asks for lengths(source).
bool countsSource(const std::optional<MaskExpression> &mask);

struct LayerDescription {
  AttentionDescription self, cross;
  FfnDescription ffn;
  NormPlace place = NormPlace::Post;
  bool parallel = false; ///< the feed-forward block reads what attention reads
  std::optional<NormDescription> selfNorm, crossNorm, ffnNorm; ///< none: no norm
  PositionDescription position;                                ///< none unless rotary
  std::optional<MaskExpression> mask, crossMask;
};

/// A linear layer behind the pooling, or without one each row divided by its length.
struct OutputStage {
  std::optional<Keys> dense;
};

struct StackDescription {
  Keys in;
  std::vector<LayerDescription> layers;
  Keys embedding = in.object("embedding");
  double embeddingScale = embedding.get<double>("scale");
  bool zeroPaddingRow = embedding.is("padding-row", "zero");
  int64_t types = embedding.get<int64_t>("types"); ///< kinds of segments, 0: none
  int64_t embeddingSize = 0;                       ///< features of the tables' rows
  bool projects = embedding.gives("projection");   ///< from these to those of the model
  bool projectionBias = embedding.object("projection").get<bool>("bias");
  std::optional<NormDescription> embeddingNorm; ///< after the positions
  PositionDescription position;
  std::optional<NormDescription> norm; ///< after the last layer
  /// Words of `pool`, side by side; empty: every position is a result
  std::vector<std::string> pool;
  int64_t pooledSize = 0; ///< features behind these
  /// In `encode_packed`, `source.parts` says where what is pooled starts, in place of `source.starts`
  bool poolsParts = false;
  std::vector<OutputStage> output;
  int64_t outputSize = 0; ///< features behind these
  /// The input that says where packed documents of the stack's rows start; empty: rows are
  /// sequences.
  std::string documents;
};

/// A layer in front of the classes.
struct HiddenLayerDescription {
  Keys in;
  int64_t model = 0; ///< size
  int64_t size = in.get<int64_t>("size", model);
  std::string activation = in.get<std::string>("activation"); ///< or none
  bool bias = in.get<bool>("bias");
  std::optional<NormDescription> norm;
};

struct ClassifierDescription {
  Keys in;
  std::optional<HiddenLayerDescription> hidden;
  bool bias = in.get<bool>("bias"), tied = in.get<bool>("tied");
  bool softmax = in.get<bool>("softmax"), sigmoid = in.get<bool>("sigmoid"); ///< else logits
  std::optional<double> softcap = in.maybe<double>("softcap");               ///< of the logits
  bool loss = in.get<bool>("loss");                 ///< there is a function of this name
  std::vector<std::string> pool = in.words("pool"); ///< of the rows' logits; or none
  int64_t size = 0;
  std::string labels = in.get<std::string>("labels"); ///< file, or empty
};

struct Description {
  std::string file;
  std::shared_ptr<const Json> document; ///< whose keys the parts look up
  Keys in = document ? Keys(*document) : Keys();
  std::string kind = in.get<std::string>("kind");
  int64_t size = in.get<int64_t>("size");
  bool sequenceFirst = in.is("layout", "sequence-first");
  std::string weightsFile; ///< empty: seeded
  std::optional<uint64_t> seed;
  std::optional<SideDescription> source, target;
  std::optional<StackDescription> encoder, decoder;
  std::optional<ClassifierDescription> classifier;
  /// Texts of vocabularies and labels by side: "source.txt", "target.txt", "labels.txt".
  std::map<std::string, std::string> texts;
  /// Every file that was read: the description, vocabularies, labels.
  std::vector<std::string> files;
  /// What is allowed and hardly meant.
  std::vector<std::string> warnings;
  /// Facts of a folder's model for text commands, see FolderTask.h.
  Json task = Json::object();

  bool isEncoderDecoder() const { return kind == "encoder-decoder"; }
  /// Whether texts of different lengths may stand in one batch: every layer of the encoder masks
  /// what is padding, and cross attention, where there is some, hides it.
  bool sourceMayBePadded() const;
  /// Whether no layer's cross attention sees a source's padding.
  bool crossHidesPadding() const;
  /// Whether texts may also stand in one row, one after another: the model takes text, and what
  /// its masks and score rules ask of a pair does not change there. It then has the function
  /// `encode_packed`.
  bool sourceMayBePacked() const;
};

/// Reads the file at `path`; `masks` are NAME=EXPR replacements.
Expected<Description> readDescription(const std::string &path,
                                      const std::vector<std::string> &masks);
/// The same of a value at hand; errors, and files that it names, are those of a file `path`.
Expected<Description> readDescription(Json json, const std::string &path,
                                      const std::vector<std::string> &masks);

/// Facts of a description as JSON text (Program::model).
std::string factsOf(const Description &description);

} // namespace heddle
