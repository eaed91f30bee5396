//===- StackReader.h - A stack of layers from JSON -------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `encoder` or `decoder` of a description: every key may be given for the whole
// model, for the stack or for one layer; the innermost place wins.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Description.h"
#include "JsonReader.h"

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

class StackReader {
public:
  /// `name` is "encoder" or "decoder"; of `model` kind, size and sides have to be known.
  StackReader(const Json &json, std::string name, const Description &model, MaskOptions &masks,
              ErrorSink &errors);
  StackDescription read();

private:
  bool isDecoder() const { return name == "decoder"; }
  bool hasCross() const { return isDecoder() && model.isEncoderDecoder(); }
  ObjectReader reader(const Json *override = nullptr, size_t index = 0) const;
  std::vector<std::string> layerKeys() const;
  void checkStackKeys(ObjectReader &own);
  void embedding(ObjectReader &in, StackDescription &stack);
  void position(ObjectReader &in, StackDescription &stack);
  AttentionDescription attention(ObjectReader in, ObjectReader own);
  void scoreRules(ObjectReader &in, ObjectReader &own, AttentionDescription &a);
  void headSizes(ObjectReader &in, AttentionDescription &a);
  FfnDescription ffn(ObjectReader in);
  /// Where a norm stands is said of those of sub-layers only.
  NormDescription norm(ObjectReader in, bool ofSublayers = true);
  void layers(ObjectReader &own, StackDescription &stack);
  LayerDescription layer(size_t index, const Json *override);
  ObjectReader ownObject(size_t index, const Json *override);
  std::optional<MaskExpression> mask(const std::string &key, size_t index, const Json *override);
  void documents(StackDescription &stack);
  void pool(ObjectReader &own, StackDescription &stack);
  void checkMask(const MaskExpression &mask, bool cross, const std::string &path);

  const Json &json;
  const std::string name;
  const Description &model;
  MaskOptions &masks;
  ErrorSink &errors;
};

} // namespace heddle
