//===- StackReader.h - A stack of layers from JSON -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads `encoder` or `decoder` of a description. Each key may be given for the model, the stack or
// a layer; keys that exclude each other are errors.
#pragma once

#include "Description.h"

namespace heddle {

/// Masks of the command line, by key path.
class MaskOptions {
public:
  /// Parses options NAME=EXPR.
  static Expected<MaskOptions> parse(const std::vector<std::string> &options);
  /// The replacement for the mask at `path`; null if there is none.
  const MaskExpression *find(const std::string &path);
  /// Returns an error if a NAME was never looked up, with the paths that were. `what` says what a
  /// NAME is.
  Status allUsed(const std::string &what) const;

private:
  struct Option {
    MaskExpression mask;
    bool used = false;
  };
  std::map<std::string, Option> options;
  std::vector<std::string> asked; ///< paths that were looked up, each once
};

/// Reads a norm; `root` has an effect on layer norms only.
NormDescription readNorm(const Keys &in, ErrorSink &errors);

/// Reads one stack of a description.
class StackReader {
public:
  /// `name` is "encoder" or "decoder"; the sides of `model` must be read already.
  StackReader(const std::string &name, const Description &model, MaskOptions &masks,
              ErrorSink &errors)
      : name(name), model(model), own(model.in.object(name)), masks(masks), errors(errors) {}
  StackDescription read();

private:
  bool isDecoder() const { return name == "decoder"; }
  bool hasCross() const { return isDecoder() && model.isEncoderDecoder(); }
  void embedding(StackDescription &stack);
  void position(StackDescription &stack);
  PositionDescription position(const StackDescription &stack, const Keys &in, const Keys &override,
                               int64_t headSize);
  void pooling(StackDescription &stack);
  void output(StackDescription &stack);
  AttentionDescription attention(const Keys &in, const Keys &own);
  void distances(const AttentionDescription &a, const std::string &path);
  NormDescription norm(const Keys &in) { return readNorm(in, errors); }
  std::optional<NormDescription> sublayerNorm(const Keys &norms, const Keys &in);
  ExpertsDescription experts(const Keys &ffn);
  LayerDescription layer(const StackDescription &stack, const Keys &override, size_t index);
  std::optional<MaskExpression> mask(const std::string &key, const Keys &override, size_t index);
  void documents(StackDescription &stack);
  void checkMask(const MaskExpression &mask, bool cross, const std::string &path);

  const std::string name;
  const Description &model;
  const Keys own; ///< keys of the stack, without the model's
  MaskOptions &masks;
  ErrorSink &errors;
};

} // namespace heddle
