//===- Components.h - The steps of a tokenizer -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interfaces of a tokenizer's steps. A class implements each `type` of
// tokenizer.json, and a function reads each section; its error lists the
// supported types. Steps are immutable, so threads share them.
#pragma once

#include "JsonField.h"
#include "Pieces.h"

#include <memory>
#include <span>

namespace heddle::tokenizers {

/// Budget of the work that all steps may do for one text. A step costs the bytes that it reads or
/// writes, whichever are more. Malicious files have thousands of steps, or a few that each double
/// the text.
class Work {
public:
  /// Budget for `bytes` of input. The tokenizers in use read each byte some 20 times.
  explicit Work(size_t bytes) : left((size_t(4) << 20) + 256 * bytes) {}
  Status step(size_t before, size_t after);

private:
  size_t left;
};

/// Changes a text before it is split.
class Normalizer {
public:
  virtual ~Normalizer() = default;
  virtual Status apply(AlignedText &text, Work &work) const = 0;
};

/// Splits a text into pieces, and may change them.
class PreTokenizer {
public:
  virtual ~PreTokenizer() = default;
  virtual Status apply(Pieces &pieces, Work &work) const = 0;
};

/// A token of a piece. A span beyond the piece's end covers a suffix that the model adds.
struct ModelToken {
  int32_t id;
  TokenSpan span;
};

/// Converts pieces to tokens.
class Model {
public:
  virtual ~Model() = default;
  virtual Status tokenize(std::string_view piece, std::vector<ModelToken> &tokens) const = 0;
  virtual std::optional<int32_t> find(std::string_view token) const = 0;
  /// The text of a token; null if no token has the id.
  virtual const std::string *token(int32_t id) const = 0;
  virtual int64_t size() const = 0;
  /// True if a token's text is the text of its piece rather than an entry of the vocabulary.
  virtual bool keepsText() const { return false; }
};

/// Tokens of one text in the post-processor. `blanks` counts the white space at the start and at
/// the end of each token.
struct Row {
  TokenEncoding tokens;
  std::vector<std::pair<uint32_t, uint32_t>> blanks;
  std::string_view text;
};

/// Adds special tokens around a text or a pair of texts.
class PostProcessor {
public:
  virtual ~PostProcessor() = default;
  /// Number of tokens that it adds to one text, or to a pair.
  virtual int64_t added(bool pair) const = 0;
  virtual void apply(std::vector<Row> &rows, bool special) const = 0;
};

/// Changes a list of tokens that the caller then joins to a text.
class Decoder {
public:
  virtual ~Decoder() = default;
  virtual Status apply(std::vector<std::string> &tokens) const = 0;
};

Expected<std::unique_ptr<Normalizer>> readNormalizer(const JsonField &field);
Expected<std::unique_ptr<PreTokenizer>> readPreTokenizer(const JsonField &field);
Expected<std::unique_ptr<Model>> readModel(const JsonField &field);
Expected<std::unique_ptr<PostProcessor>> readPostProcessor(const JsonField &field);
Expected<std::unique_ptr<Decoder>> readDecoder(const JsonField &field);

Expected<std::unique_ptr<Normalizer>> readPrecompiled(const JsonField &field);
Expected<std::unique_ptr<Model>> readWordPiece(const JsonField &field);
Expected<std::unique_ptr<Model>> readWordLevel(const JsonField &field);
Expected<std::unique_ptr<Model>> readBpe(const JsonField &field);
Expected<std::unique_ptr<Model>> readUnigram(const JsonField &field);
Expected<std::unique_ptr<Model>> readNumbered(const JsonField &field);

/// Returns an error if a step grows a text beyond 32 MiB, as only malicious files do.
Status checkGrowth(size_t before, size_t after);

/// A supported `type` of a section, and the function that reads it.
template <typename Component>
struct ComponentReader {
  const char *type;
  Expected<std::unique_ptr<Component>> (*read)(const JsonField &field);
};

template <typename Component, size_t N>
Expected<std::unique_ptr<Component>> readByType(const JsonField &field,
                                                const ComponentReader<Component> (&readers)[N]) {
  auto type = HEDDLE_TRY(field.get("type"));
  std::string known;
  for (const auto &[name, read] : readers) {
    if (type.value() == name)
      return read(field);
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  return type.error("one of " + known, foundText(type.value()));
}

/// Makes a component of one function that cannot fail. `Context` lists further arguments of
/// `apply`.
template <typename Component, typename Value, typename... Context, typename Function>
std::unique_ptr<Component> componentOf(Function function) {
  class Simple : public Component {
  public:
    explicit Simple(Function function) : function(std::move(function)) {}
    Status apply(Value &value, Context &...) const override {
      function(value);
      return {};
    }

  private:
    Function function;
  };
  return std::make_unique<Simple>(std::move(function));
}

/// Reads a list of components, in order.
template <typename Component>
Expected<std::vector<std::unique_ptr<Component>>>
readSequence(const JsonField &field, const char *key,
             Expected<std::unique_ptr<Component>> (*read)(const JsonField &)) {
  std::vector<std::unique_ptr<Component>> components;
  auto list = HEDDLE_TRY(field.listAt(key));
  for (const JsonField &element : list)
    components.push_back(HEDDLE_TRY(read(element)));
  return components;
}

} // namespace heddle::tokenizers
