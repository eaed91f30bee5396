//===- Description.h - A model description, read and checked ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parsed form of docs/model-description.md, with one entry per layer. Fields name their keys;
// types, bounds and defaults are in the schema.
#pragma once

#include "MaskExpression.h"
#include "Schema.h"

#include "heddle/Support/TextFacts.h"
#include "heddle/Training/Recipe.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

namespace heddle {

/// An image as the source: each patch of `patch` x `patch` pixels is a row.
struct ImageDescription {
  int64_t channels, height, width, patch;
  int64_t classTokens; ///< learned rows that precede the patches
  int64_t rows() const { return height / patch * (width / patch) + classTokens; }
};

/// Convolutions of a residual network, which make the map of an image.
struct StemDescription {
  Keys in;
  std::vector<int64_t> blocks = in.numbers("blocks"); ///< blocks of each stage
  std::vector<int64_t> widths = in.numbers("widths"); ///< features of each stage
  int64_t first = in.get<int64_t>("first");           ///< features of the first convolution
  /// Three convolutions in a block, of 1, 3 and 1 places, the first two with fewer features.
  bool bottleneck = in.get<bool>("bottleneck");
  int64_t reduction = in.get<int64_t>("reduction"); ///< divisor of these features
  std::string activation = in.get<std::string>("activation");
};

/// Images of any size as the source: each place of their map is a row.
struct ImagesDescription {
  Keys in;
  int64_t channels = in.get<int64_t>("channels");
  int64_t patch = in.get<int64_t>("patch");          ///< pixels of a place's side, without a stem
  int64_t firstRows = in.get<int64_t>("first-rows"); ///< learned rows that precede the places
  std::optional<StemDescription> stem;
};

/// Audio frames as the source: a chain of convolutions gives the rows.
struct FramesDescription {
  struct Convolution {
    Keys in;
    int64_t size = in.get<int64_t>("size"), stride = in.get<int64_t>("stride");
    std::string activation = in.get<std::string>("activation"); ///< empty: none
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

/// The source or the target of a model.
struct SideDescription : SideFacts {
  explicit SideDescription(const Keys &in);

  Keys in;
  bool vectors = in.isNull("vocabulary"); ///< the input is vectors or an image, not ids
  std::optional<ImageDescription> image;
  std::optional<FramesDescription> frames;
  std::optional<ImagesDescription> images;
  std::optional<int64_t> queries = in.maybe<int64_t>("queries"); ///< learned rows as the target
  /// Vocabulary file as the description names it; empty if only a size is given.
  std::string file = in.get<std::string>("vocabulary");
  int64_t size = in.get<int64_t>("vocabulary"); ///< number of tokens
  /// The fixed number of rows; none if it varies between calls.
  std::optional<int64_t> rows() const {
    return image    ? std::optional(image->rows())
           : frames ? std::optional(frames->rows())
                    : std::nullopt;
  }
  /// Name of a source with fixed rows in errors.
  const char *whole() const { return image ? "image" : "frames"; }
};

struct NormDescription {
  Keys in;
  bool rms = in.is("kind", "rms");
  bool root = in.get<bool>("root"); ///< false: divides by variance + epsilon, without a square root
  double epsilon = in.get<double>("epsilon");
};

enum class ReturnWeights { None, Heads, Average };

/// A score of hidden keys of this or less leaves them no share of attention.
inline constexpr double lowestShare = -1e4;

struct AttentionDescription {
  Keys in, own; ///< `own`: keys for score-bias and sinks, which cross attention does not inherit
  int64_t model = 0; ///< features
  int64_t heads = in.get<int64_t>("heads", 1);
  int64_t keyValueHeads = in.get<int64_t>("key-value-heads", heads);
  int64_t headSize = in.get<int64_t>("head-size", std::max<int64_t>(model / heads, 1));
  int64_t valueSize = in.get<int64_t>("value-size", headSize);
  double scale = in.get<double>("score-scale", 1.0 / std::sqrt(static_cast<double>(headSize)));
  Keys biases = in.object("bias");
  bool queryBias = biases.get<bool>("query"), keyBias = biases.get<bool>("key");
  bool valueBias = biases.get<bool>("value"), outputBias = biases.get<bool>("output");
  std::string activation = in.get<std::string>("activation"); ///< of query, key, value; or none
  bool outputProjection = in.get<bool>("output-projection");
  /// Each head has a further matrix after each projection.
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

/// Experts, of which each row uses a few, and the router that chooses them.
struct ExpertsDescription {
  Keys in;
  int64_t count = in.get<int64_t>("count"), perToken = in.get<int64_t>("per-token");
  int64_t size = in.get<int64_t>("size");     ///< hidden features of an expert
  int64_t shared = in.get<int64_t>("shared"); ///< experts that every row uses
  bool sharedGate = in.get<bool>("shared-gate");
  Keys router = in.object("router");
  bool sigmoid = router.is("score", "sigmoid"), mixes = router.is("score", "sparse-mixer");
  double jitter = router.get<double>("jitter");
  /// A softmax over the chosen logits alone is a normalised softmax.
  bool normalise =
      router.get<bool>("normalise") || (!sigmoid && router.is("order", "choose-first"));
  bool bias = router.get<bool>("bias"), correction = router.get<bool>("correction");
  double scale = router.get<double>("scale");
  int64_t groups = router.get<int64_t>("groups"), usedGroups = router.get<int64_t>("used-groups");
};

struct FfnDescription {
  Keys in;
  int64_t size = in.get<int64_t>("size");
  std::string activation = in.get<std::string>("activation");
  bool hasSlopes = in.is("activation", "xielu"); ///< the activation has weights
  bool bias = in.get<bool>("bias");
  bool gated = in.get<bool>("gated");
  std::optional<double> gateLimit = in.maybe<double>("gate-limit");
  double inputOffset = in.get<double>("input-offset");
  bool convolution = in.is("as", "conv1x1"); ///< weights are stored as 1x1 convolutions
  std::optional<ExpertsDescription> experts = {};
};

/// Placement of a sub-layer's norm: norm(x + f(x)), x + f(norm(x)), x + norm(f(norm(x))), or
/// x + norm(f(x)).
enum class NormPlace { Post, Pre, Both, Output };

struct PositionDescription {
  Keys in;
  std::string kind = in.get<std::string>("kind"); ///< empty: none
  double scale = in.get<double>("scale");
  int64_t length = in.get<int64_t>("length"); ///< rows of a learned table
  double base = in.get<double>("base"), fraction = in.get<double>("fraction");
  bool inverse = in.get<bool>("inverse"); ///< rotary: pairs turn the other way
  double factor = 1;                      ///< divisor of positions
  /// For other scalings: the angle of each pair per position, and the factor of cosines and sines.
  std::vector<double> frequencies;
  double magnitude = 1;
  int64_t rotatedRows = 0; ///< longest sequence for which the frequencies are valid; 0: unlimited
  bool learned() const { return kind == "learned"; }
  /// Returns whether sines of both coordinates are added to queries and keys.
  bool plane() const { return kind == "plane"; }
  /// Returns whether positions are a table that is resized to the map of an image.
  bool grid() const { return kind == "grid"; }
  std::vector<int64_t> gridSizes = in.numbers("grid"); ///< rows and columns of this table
  /// Returns whether queries and keys are rotated, instead of adding positions to rows.
  bool rotary() const { return kind == "rotary"; }
};

/// Returns whether a mask uses lengths(source).
bool countsSource(const std::optional<MaskExpression> &mask);

struct LayerDescription {
  AttentionDescription self, cross;
  FfnDescription ffn;
  NormPlace place = NormPlace::Post;
  bool parallel = false; ///< the feed-forward block reads what attention reads
  std::optional<NormDescription> selfNorm, crossNorm, ffnNorm; ///< none: no norm
  PositionDescription position;                                ///< rotary only, else empty
  std::optional<MaskExpression> mask, crossMask;
};

/// A linear layer after the pooling, or, without `dense`, normalization of each row to length 1.
struct OutputStage {
  std::optional<Keys> dense;
};

struct StackDescription {
  Keys in;
  std::vector<LayerDescription> layers;
  Keys embedding = in.object("embedding");
  double embeddingScale = embedding.get<double>("scale");
  bool sharesTable = embedding.get<bool>("shared"); ///< with the source
  bool zeroPaddingRow = embedding.is("padding-row", "zero");
  int64_t types = embedding.get<int64_t>("types"); ///< number of segment types, 0: none
  int64_t embeddingSize = 0;                       ///< features of the embedding tables
  bool projects = embedding.gives("projection");   ///< a linear layer to the model's size
  bool projectionBias = embedding.object("projection").get<bool>("bias");
  std::optional<NormDescription> embeddingNorm; ///< after the positions
  PositionDescription position;
  std::optional<NormDescription> norm; ///< after the last layer
  /// Poolings whose results are concatenated; empty: every position is a result.
  std::vector<std::string> pool;
  std::optional<LayerDescription> poolLayer; ///< of the pooling by attention
  int64_t pooledSize = 0;                    ///< features after pooling
  /// In `encode_packed`, `source.parts` gives the starts of the pooled ranges, instead of
  /// `source.starts`.
  bool poolsParts = false;
  std::vector<OutputStage> output;
  int64_t outputSize = 0; ///< features after `output`
  /// Input with the starts of the packed documents in the stack's rows; empty: rows are sequences.
  std::string documents;
};

/// A linear layer before the classes.
struct HiddenLayerDescription {
  Keys in;
  int64_t model = 0; ///< features of its input
  int64_t size = in.get<int64_t>("size", model);
  std::string activation = in.get<std::string>("activation"); ///< empty: none
  bool bias = in.get<bool>("bias");
  std::optional<NormDescription> norm;
};

struct ClassifierDescription {
  Keys in;
  std::optional<HiddenLayerDescription> hidden;
  bool bias = in.get<bool>("bias"), tied = in.get<bool>("tied");
  bool softmax = in.get<bool>("softmax"), sigmoid = in.get<bool>("sigmoid"); ///< neither: logits
  double scale = in.get<double>("scale");                      ///< factor of the logits
  std::optional<double> softcap = in.maybe<double>("softcap"); ///< applied to the logits
  bool loss = in.get<bool>("loss");                            ///< the model has a function `loss`
  std::vector<std::string> pool = in.words("pool"); ///< pooling of the rows' logits; or empty
  int64_t size = 0;
  std::string labels = in.get<std::string>("labels"); ///< file name, or empty
};

/// The heads of a detector.
struct DetectorDescription {
  Keys in;
  int64_t classes = in.get<int64_t>("classes"); ///< the last one is no object
  int64_t classLayers = in.get<int64_t>("class-layers"), boxLayers = in.get<int64_t>("box-layers");
  std::vector<int64_t> rows = in.numbers("rows"); ///< first and count of an encoder's rows
  std::string labels;                             ///< file name, or empty
};

/// Training. The loss of the model is built from keys, its other parts are the recipe.
struct TrainingDescription {
  Keys in;
  Keys loss = in.object("loss");
  double smoothing = loss.get<double>("smoothing");
  std::string over = loss.get<std::string>("over");
  Keys dropout = in.object("dropout"); ///< probabilities by place
  Recipe recipe;
  bool packs = false; ///< the model has a loss of packed texts
};

struct Description {
  std::string file;
  std::shared_ptr<const Json> document; ///< document to which the `Keys` of all parts refer
  Keys in = document ? Keys(*document) : Keys();
  std::string kind = in.get<std::string>("kind");
  int64_t size = in.get<int64_t>("size");
  bool sequenceFirst = in.is("layout", "sequence-first");
  std::string weightsFile; ///< empty: random weights of a seed
  std::optional<uint64_t> seed;
  std::optional<SideDescription> source, target;
  std::optional<StackDescription> encoder, decoder;
  std::optional<ClassifierDescription> classifier;
  std::optional<DetectorDescription> detector;
  TrainingDescription training{in.object("training")};
  /// Text of vocabularies and labels by member: "source.txt", "target.txt", "labels.txt".
  std::map<std::string, std::string> texts;
  /// Paths of all files that were read: the description, vocabularies, labels.
  std::vector<std::string> files;
  /// Warnings: valid but probably unintended.
  std::vector<std::string> warnings;
  /// Facts for text commands that do not change the model (FolderTask.h).
  TextFacts facts;

  /// Why a loss cannot be computed, as what was found; empty if it can.
  std::string whyNoLoss() const;
  bool isEncoderDecoder() const { return kind == "encoder-decoder"; }
  /// Returns whether a batch may hold texts of different lengths: every encoder layer masks
  /// padding, and cross attention, if any, hides it.
  bool sourceMayBePadded() const;
  /// Returns whether no cross attention reads the padding of a source.
  bool crossHidesPadding() const;
  /// Returns whether texts may also be packed into one row: the model takes text, and its masks and
  /// score rules give the same result for a pair there. The model then has the function
  /// `encode_packed`.
  bool sourceMayBePacked() const;
  /// Why the examples of training are padded, as the mask or key that prevents packing them into one
  /// row of each side with equal results; empty if nothing does.
  std::string whyPadded() const;
};

/// Reads the description at `path`; `masks` are NAME=EXPR replacements.
Expected<Description> readDescription(const std::string &path,
                                      const std::vector<std::string> &masks);
/// As above, from parsed JSON; `path` is the file in errors, and files are relative to it.
Expected<Description> readDescription(Json json, const std::string &path,
                                      const std::vector<std::string> &masks);

/// Facts of a description for text commands.
ModelFacts factsOf(const Description &description);

} // namespace heddle
