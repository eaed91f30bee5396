//===- StackReader.h - A stack of layers from JSON -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `encoder` or `decoder` of a description: every key may be given for the whole
// model, for the stack or for one layer; what its keys exclude is checked here.
#pragma once

#include "Description.h"

namespace heddle {

/// Masks that the command line replaces, by key path.
class MaskOptions {
public:
  /// Takes NAME=EXPR apart.
  static Expected<MaskOptions> parse(const std::vector<std::string> &options);
  /// The replacement of the mask at `path`, if there is one.
  const MaskExpression *find(const std::string &path);
  /// An error if some NAME was never looked for; it lists those that were. `what` a NAME is.
  Status allUsed(const std::string &what) const;

private:
  struct Option {
    MaskExpression mask;
    bool used = false;
  };
  std::map<std::string, Option> options;
  std::vector<std::string> asked; ///< each once
};

/// A norm; a root that is left out has a meaning for layer norms only.
NormDescription readNorm(const Keys &in, ErrorSink &errors);

class StackReader {
public:
  /// `name` is "encoder" or "decoder"; of `model` the sides have to be known.
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
  void output(StackDescription &stack);
  AttentionDescription attention(const Keys &in, const Keys &own);
  void distances(const AttentionDescription &a, const std::string &path);
  NormDescription norm(const Keys &in) { return readNorm(in, errors); }
  std::optional<NormDescription> sublayerNorm(const Keys &norms, const Keys &in);
  LayerDescription layer(const StackDescription &stack, const Keys &override, size_t index);
  std::optional<MaskExpression> mask(const std::string &key, const Keys &override, size_t index);
  void documents(StackDescription &stack);
  void checkMask(const MaskExpression &mask, bool cross, const std::string &path);

  const std::string name;
  const Description &model;
  const Keys own; ///< of the stack, without the whole model's
  MaskOptions &masks;
  ErrorSink &errors;
};

} // namespace heddle
