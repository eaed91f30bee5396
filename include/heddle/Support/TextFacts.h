//===- TextFacts.h - Text settings of a model ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Settings of a model for texts: special tokens, generation, languages, speech. The compiler fills
// these structures, a compiled file carries them as JSON in Program::model, and text commands read
// them. Each structure lists its fields once (Fields.h), so a new field needs no further code in
// the readers and writers. A key of the JSON is the name of a field with dashes: `top-k`.
#pragma once

#include "heddle/Support/Error.h"
#include "heddle/Support/Fields.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

/// Scores of a beam's hypotheses, and the condition that ends a sequence. All rules except Own are
/// Transformers' (`early_stopping`): a hypothesis of n tokens, the end included, scores log p /
/// n^lengthPenalty. Ends count if they are among the best `beams` continuations; at the limit, all
/// of these count.
HEDDLE_ENUM(inline, BeamRule,
            Own,    ///< log p / ((5 + n) / 6)^lengthPenalty (Wu et al. 2016, equation 14); done
                    ///< once no open hypothesis can overtake the best ended one
            Full,   ///< done once `beams` hypotheses have ended
            Likely, ///< or once the likeliest open hypothesis scores no more, at its length, than
                    ///< the worst ended one
            Sure)   ///< or the same at the limit's length, if a longer hypothesis scores more

/// A wrong setting of a model, which is an error if its option is used.
struct RefusedSetting {
  std::string option;                  ///< "temperature", "top-k", …
  std::string error;                   ///< `FILE: key: expected …, found …`
  static constexpr bool isList = true; ///< JSON: a list of the fields
  HEDDLE_FIELDS(2, option, error)
};

/// Settings of a search for tokens. A model's settings have these defaults unless its authors chose
/// others. Fields have the names of the keys of `target.generation` in a model description.
struct SearchSettings {
  static constexpr int64_t unlimited = 1 << 20;

  /// Draws each token at random, after the filters below. Scores are divided by `temperature`.
  /// `topK` keeps the likeliest tokens (0: all). `topP` keeps the smallest set of them whose
  /// probabilities sum to it (Holtzman et al. 2020, section 3.1). `minP` keeps the tokens in this
  /// set that are at least that many times as likely as the first (Nguyen et al. 2024, section 3).
  bool sample = false;
  double temperature = 1;
  int64_t topK = 0;
  double topP = 1, minP = 0;
  /// Below 1, a further filter: keeps the tokens whose information is nearest to the entropy of the
  /// tokens that are left, until their probabilities sum to it (Meister et al. 2023, section 3).
  double typicalP = 1;

  /// The score of a token that the sequence already has is divided by this if it is positive, and
  /// multiplied if it is negative (Keskar et al. 2019, section 4.1). In a beam, scores are log
  /// probabilities.
  double repetitionPenalty = 1;

  int64_t limit = unlimited; ///< maximum tokens of a sequence
  int64_t limitInAll = 0;    ///< maximum tokens of a sequence and its prompt; 0: unlimited

  /// Hypotheses kept for each sequence; 1 is greedy decoding. At most `maximumBeam`.
  int64_t beams = 1;
  BeamRule beamRule = BeamRule::Own;
  double lengthPenalty = 0.6; ///< see BeamRule; default of Vaswani et al. 2017, section 6.1

  /// The prompt of a text without tokens, for a decoder without a start token.
  std::optional<int32_t> begin;
  /// The first token after a prompt of at most one token, and the last token of a sequence that the
  /// limit ends. They are chosen whatever their scores, and a beam counts them as certain.
  std::optional<int32_t> first, last;
  /// Tokens that are never chosen, and tokens that are not chosen first (not second if `first` is
  /// forced).
  std::vector<int32_t> suppressed, suppressedFirst;
  /// Words that are never written: the last token of a word is not chosen after its other tokens.
  std::vector<std::vector<int32_t>> badWords;
  int64_t least = 0;      ///< minimum tokens of a sequence before an end
  int64_t leastInAll = 0; ///< the same, tokens before the sequence included
  int64_t noRepeat = 0;   ///< n: no n tokens in a row occur twice, the prompt included; 0: off

  /// In a beam: the probabilities of the tokens that the rules leave are scaled to sum to 1.
  /// Otherwise the probability of forbidden tokens is lost.
  bool renormalize = false;

  /// Wrong settings of the model, which are errors if a search uses them.
  std::vector<RefusedSetting> refused;

  HEDDLE_FIELDS(0, sample, temperature, topK, topP, minP, typicalP, repetitionPenalty, limit,
                limitInAll, beams, beamRule, lengthPenalty, begin, first, last, suppressed,
                suppressedFirst, badWords, least, leastInAll, noRepeat, renormalize, refused)
};

/// Division of a text into the tokens of a vocabulary file.
HEDDLE_ENUM(inline, Split,
            Space,     ///< words between white space
            Character) ///< code points

/// Text settings of one side of a model, the source or the target. A file is the name of a member
/// of the compiled file; empty: none.
struct SideFacts {
  std::string vocabularyFile;   ///< one token a line
  int64_t vocabularySize = 0;   ///< tokens; 0: the side takes vectors
  std::string tokenizerFile;    ///< a tokenizer.json
  std::string chatTemplateFile; ///< converts messages to one text
  std::string preprocessorFile; ///< converts images to numbers
  std::string logMelFile;       ///< converts audio to numbers
  Split split = Split::Space;
  int32_t padding = 0;
  std::optional<int32_t> unknown = 1, start = 2;
  std::vector<int32_t> ends = {3}; ///< each ends a text
  bool add = false;                ///< puts `start` before a source text and the first end after it
  std::optional<int64_t> length;   ///< text is padded on the right to this many ids
  std::optional<int64_t> most;     ///< maximum ids: learned positions or, for a prompt, the caches
                                   ///< without the start token
  bool cut = false;                ///< truncates longer text instead of refusing it
  bool pairMessages =
      false;           ///< a pair of texts is two messages of the template, query and document
  int64_t limit = 256; ///< maximum tokens that generation adds
  SearchSettings generation;
  HEDDLE_FIELDS(0, vocabularyFile, vocabularySize, tokenizerFile, chatTemplateFile,
                preprocessorFile, logMelFile, split, padding, unknown, start, ends, add, length,
                most, cut, pairMessages, limit, generation)
};

/// A task of a model: the words in front of a text, and the generation settings.
struct TextTask {
  std::string name, prefix;
  SearchSettings generation;
  HEDDLE_FIELDS(0, name, prefix, generation)
};

/// Languages of a translation model by name, and their tokens; empty: it is told none.
struct Languages {
  HEDDLE_ENUM(friend, Wanted,
              First, ///< the target language is the first token of the output
              Start, ///< the target language is the start token
              Front) ///< the target language precedes the source text
  Wanted wanted = Wanted::First;
  bool namesSource = false; ///< the tokenizer puts the source language around a text
  std::vector<std::pair<std::string, int32_t>> tokens;
  HEDDLE_FIELDS(0, wanted, namesSource, tokens)
};

/// Special tokens and settings of a speech model. Settings of its searches are SearchSettings.
struct SpeechFacts {
  int32_t start = 0, end = 0;
  std::optional<int32_t> previous; ///< precedes the earlier text in a prompt
  std::map<std::string, int32_t> languages, tasks;
  bool namesLanguages = true;      ///< the folder names languages, so the likeliest can be found
  bool namesTasks = true;          ///< the folder names tasks, so a prompt always has one
  int32_t noTimestamps = 0;        ///< the token for "no timestamps"; the timestamps follow it
  bool namesTimestamps = true;     ///< the folder names this token; false: no token is a timestamp
  bool forcesNoTimestamps = false; ///< an old folder puts the token into each prompt
  std::optional<int32_t> latestStart; ///< maximum of the first timestamp, counted from 0
  /// The folder's defaults; no language: the likeliest.
  std::optional<int32_t> language;
  bool translates = false, timestamps = false, usesEarlierText = true;
  /// Maximum and minimum tokens, without and with the prompt.
  std::optional<int32_t> mostNew, mostInAll, leastNew, leastInAll;
  /// Thresholds of SpeechChecks; the defaults are from Transformers' documentation of Whisper.
  double mostCompression = 1.35, leastLogProbability = -1, silence = 0.6;
  HEDDLE_FIELDS(0, start, end, previous, languages, tasks, namesLanguages, namesTasks, noTimestamps,
                namesTimestamps, forcesNoTimestamps, latestStart, language, translates, timestamps,
                usesEarlierText, mostNew, mostInAll, leastNew, leastInAll, mostCompression,
                leastLogProbability, silence)
};

/// Meaning of the numbers of a text's classes.
HEDDLE_ENUM(inline, Problem,
            OneClass,    ///< softmax over all classes
            ManyClasses, ///< a sigmoid for each class
            Numbers)     ///< the numbers themselves

/// Measure of the similarity of two vectors: similarity_fn_name of Sentence-Transformers.
HEDDLE_ENUM(inline, Similarity, Cosine, Dot,
            Euclidean, ///< negated distance
            Manhattan) ///< negated sum of absolute differences

/// A sparse vector of a text, with a number for each token of the vocabulary (SPLADE; Formal et al.
/// 2021). Each number is the largest log(1 + max(x, 0)) of this token's logits x in the text.
struct SparseFacts {
  bool sums = false;           ///< their sum instead of the largest
  bool logTwice = false;       ///< log(1 + log(1 + max(x, 0)))
  std::optional<int64_t> most; ///< numbers that are kept, the largest; the others become 0
  HEDDLE_FIELDS(0, sums, logTwice, most)
};

/// Vectors of a text's tokens, which late interaction compares (Khattab and Zaharia 2020).
struct TokenVectorFacts {
  std::vector<int32_t> skipped;       ///< tokens of documents that have no vector
  bool skipsInQueries = false;        ///< the same for queries
  std::optional<int64_t> queryLength; ///< maximum tokens of a query
  std::optional<int32_t> added;       ///< fills each query up to this length; none: nothing does
  bool seesAdded = false;             ///< attention reads the added tokens
  HEDDLE_FIELDS(0, skipped, skipsInQueries, queryLength, added, seesAdded)
};

/// Text settings of a whole model.
struct TextFacts {
  std::string kind;           ///< "encoder", "decoder", "encoder-decoder"; empty: dialect text
  bool sequenceFirst = false; ///< [T, B] instead of [B, T]
  /// True if the encoder masks padding, so that a batch may hold sources of different lengths.
  bool padded = false;
  bool packed = false;     ///< the model has packedFunction, which takes texts one after another
  bool poolsParts = false; ///< packedFunction takes the parts of texts that are pooled
  bool unitLength = false; ///< vectors have length 1
  int64_t classes = 0;     ///< of a classifier
  std::string labelsFile;  ///< names of the classes, one a line or as JSON; empty: none
  Problem problem = Problem::OneClass;
  bool sigmoidScores = true;        ///< reranking applies a sigmoid to the number of a pair
  std::string head;                 ///< of a folder: "ForMaskedLM"; empty: none
  std::optional<int32_t> maskToken; ///< marks a word that is to be predicted
  /// Prompts that `embed` puts before a text, by name.
  std::vector<std::pair<std::string, std::string>> prompts;
  std::string defaultPrompt;         ///< name of a prompt; empty: none
  bool promptIsPooled = true;        ///< false: a prompt's rows are not part of the vector
  std::optional<int64_t> dimensions; ///< leading values of a vector that the folder keeps
  Similarity similarity = Similarity::Cosine;
  std::optional<SparseFacts> sparse;        ///< the logits are the numbers of a sparse vector
  std::optional<TokenVectorFacts> perToken; ///< a vector for each token
  Languages languages;
  std::vector<TextTask> tasks;
  double imageScale = 0; ///< of a model of texts and images: factor of cosines; 0: none
  /// The same, which is added: each label then has a sigmoid of its own. None: a softmax over labels.
  std::optional<double> imageBias;
  std::optional<SpeechFacts> speech; ///< set in a speech model
  /// JSON of the recipe of training (Training/Recipe.h); empty: compiled without `--training`.
  std::string training;
  int64_t size = 0; ///< with `training`: features of a row
  HEDDLE_FIELDS(0, kind, sequenceFirst, padded, packed, poolsParts, unitLength, classes, labelsFile,
                problem, sigmoidScores, head, maskToken, prompts, defaultPrompt, promptIsPooled,
                dimensions, similarity, sparse, perToken, languages, tasks, imageScale, imageBias,
                speech, training, size)
};

/// All that a compiled file says of the texts of its model.
struct ModelFacts {
  TextFacts text;
  std::optional<SideFacts> source, target;
  /// Images whose vectors are in the space of the source's: what enters imageFunction.
  std::optional<SideFacts> image;
  HEDDLE_FIELDS(0, text, source, target, image)
};

/// JSON of facts. Fields with their default value are left out.
std::string toJson(const ModelFacts &facts);
/// Reads the result of toJson. A field left out has its default. Unknown fields, values of another
/// type, and negative ids are errors.
Expected<ModelFacts> modelFactsFromJson(std::string_view json);

} // namespace heddle
