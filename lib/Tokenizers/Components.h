//===- Components.h - The parts of a tokenizer -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One class a `type` of tokenizer.json; each section has a function that reads it
// and names, in its error, what is not supported. None changes after it is read: threads share them.
#pragma once

#include "JsonField.h"
#include "Pieces.h"

#include <memory>
#include <span>

namespace heddle::tokenizers {

/// What is left of the work that the steps of a tokenizer may do for one text. Each takes the bytes that
/// it reads or writes, whichever are more: a file made for harm has thousands of steps, or few that
/// double the text.
class Work {
public:
  /// For `bytes` of input. Steps of tokenizers that people use read each byte some 20 times.
  explicit Work(size_t bytes) : left((size_t(4) << 20) + 256 * bytes) {}
  Status step(size_t before, size_t after);

private:
  size_t left;
};

class Normalizer {
public:
  virtual ~Normalizer() = default;
  virtual Status apply(AlignedText &text, Work &work) const = 0;
};

class PreTokenizer {
public:
  virtual ~PreTokenizer() = default;
  virtual Status apply(Pieces &pieces, Work &work) const = 0;
};

/// A token of a piece. Bytes behind the piece stand for a suffix that the model adds.
struct ModelToken {
  int32_t id;
  TokenSpan span;
};

class Model {
public:
  virtual ~Model() = default;
  virtual Status tokenize(std::string_view piece, std::vector<ModelToken> &tokens) const = 0;
  virtual std::optional<int32_t> find(std::string_view token) const = 0;
  /// Null for an id without a token.
  virtual const std::string *token(int32_t id) const = 0;
  virtual int64_t size() const = 0;
  /// Whether a token is the text of its piece rather than an entry of the vocabulary.
  virtual bool keepsText() const { return false; }
};

/// A text on its way through the post-processor. `blanks` counts white space at both ends of each
/// token.
struct Row {
  TokenEncoding tokens;
  std::vector<std::pair<uint32_t, uint32_t>> blanks;
  std::string_view text;
};

class PostProcessor {
public:
  virtual ~PostProcessor() = default;
  /// How many tokens it adds.
  virtual int64_t added(bool pair) const = 0;
  virtual void apply(std::vector<Row> &rows, bool special) const = 0;
};

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

/// An error where a step of a file made for harm writes far more than it reads.
Status checkGrowth(size_t before, size_t after);

/// A section's readers by `type`. What is not in the table is not supported.
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

/// A component that is one function of its value and never fails. `Context` is what else it is given.
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

/// The components of a list, in their order.
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
