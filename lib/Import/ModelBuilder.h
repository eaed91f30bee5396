//===- ModelBuilder.h - Building functions from a description ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the functions of a description in the transformer dialect. All later stages read the
// dialect, never the description.
#pragma once

#include "Description.h"
#include "FunctionBuilder.h"
#include "MaskBuilder.h"

#include "heddle/Pack/WeightSource.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace heddle {

/// Converts a word of a description to the dialect's spelling.
std::string dialectWord(std::string word);
/// Parses an activation; an empty word is none.
transformer::Activation activationOf(const std::string &word);

/// Builds the functions of one description, with one method per function and per sub-layer.
/// ModelLayers.cpp has the layers, ModelImages.cpp the parts of detectors, ModelBuilder.cpp the rest.
class ModelBuilder {
public:
  ModelBuilder(const Description &d, mlir::MLIRContext &context, std::vector<TensorInfo> &tensors)
      : d(d), context(context), masks(d), names(tensors) {}
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> run();

private:
  /// One attention of one layer in one function.
  struct Site {
    const AttentionDescription &attention;
    const std::optional<MaskExpression> &mask;
    std::string prefix; ///< prefix of its tensors
    std::string result; ///< prefix of its results
    bool cross;
    Call call;
  };

  Status detect();
  Status encode(bool packed);
  Status decode(Call call);
  Status losses();
  Status loss(bool packed);
  Status classLoss(bool packed);
  Call lossOfSource(bool packed) const;
  void lossResult(FunctionBuilder &f, mlir::Value classes, mlir::Value ids,
                  mlir::IntegerAttr padding);
  Status decodeStart();
  Status decodeReorder();
  void declareStates();

  FunctionBuilder function(llvm::StringRef name) {
    return FunctionBuilder(*module, names, name, d.sequenceFirst);
  }
  mlir::Value encoderRows(FunctionBuilder &f, Call call);
  mlir::Value decoderRows(FunctionBuilder &f, Call call);
  mlir::Value tokens(FunctionBuilder &f, Call call);
  mlir::Value addedTokens(FunctionBuilder &f);
  mlir::Value embed(FunctionBuilder &f, Call call);
  mlir::Value imageRows(FunctionBuilder &f, const ImageDescription &image);
  mlir::Value imagesRows(FunctionBuilder &f, const ImagesDescription &images);
  mlir::Value stemMap(FunctionBuilder &f, mlir::Value pixels, const ImagesDescription &images);
  mlir::Value gridPlaces(FunctionBuilder &f, const std::string &name);
  mlir::Value placed(FunctionBuilder &f, mlir::Value x, bool ofDecoder);
  mlir::Value betweenLayers(FunctionBuilder &f, mlir::Value x, size_t index);
  void detections(FunctionBuilder &f, mlir::Value x);
  mlir::Value frameRows(FunctionBuilder &f, const FramesDescription &frames);
  mlir::Value typeRows(FunctionBuilder &f, int64_t types, Call call);
  mlir::Value addPositions(FunctionBuilder &f, mlir::Value x, Call call);
  mlir::Value memory(FunctionBuilder &f);
  mlir::Value heads(FunctionBuilder &f, mlir::Value x, const AttentionDescription &a,
                    const std::string &prefix, llvm::StringRef which);
  mlir::Value keysAtHand(FunctionBuilder &f, const Site &site);
  mlir::Value attend(FunctionBuilder &f, const Site &site, mlir::Value q, mlir::Value k,
                     mlir::Value v);
  mlir::Value selfAttention(FunctionBuilder &f, mlir::Value x, size_t index, Call call);
  mlir::Value crossAttention(FunctionBuilder &f, mlir::Value x, size_t index, Call call);
  mlir::Value projectionNorm(FunctionBuilder &f, mlir::Value heads, const AttentionDescription &a,
                             const std::string &prefix, llvm::StringRef which);
  /// Weights of a feed-forward block with `hidden` features. Absent ones are null.
  struct FfnWeights {
    mlir::Value in, inBias, gate, gateBias, out, outBias;
  };
  FfnWeights ffnWeights(FunctionBuilder &f, const FfnDescription &ffn, const std::string &prefix,
                        int64_t hidden);
  mlir::Value block(FunctionBuilder &f, mlir::Value x, const FfnDescription &ffn,
                    const std::string &prefix, int64_t hidden);
  mlir::Value experts(FunctionBuilder &f, mlir::Value x, const FfnDescription &ffn,
                      const std::string &prefix);
  mlir::Value feedForward(FunctionBuilder &f, mlir::Value x, mlir::Value onto, size_t index,
                          Call call);
  mlir::Value sublayer(FunctionBuilder &f, mlir::Value x, mlir::Value onto, NormPlace place,
                       const std::optional<NormDescription> &norm, const std::string &prefix,
                       Call call, llvm::function_ref<mlir::Value(mlir::Value)> body);
  mlir::Value dropped(FunctionBuilder &f, mlir::Value x, const char *place, Call call);
  mlir::Value finalNorm(FunctionBuilder &f, mlir::Value x, Call call);
  mlir::Value pool(FunctionBuilder &f, mlir::Value x, llvm::ArrayRef<std::string> words, Call call);
  mlir::Value poolByAttention(FunctionBuilder &f, mlir::Value x, Call call);
  mlir::Value outputStages(FunctionBuilder &f, mlir::Value x, Call call);
  mlir::Value logits(FunctionBuilder &f, mlir::Value x, Call call);
  void outcome(FunctionBuilder &f, mlir::Value x, Call call);

  /// The input with the starts of documents; empty: rows are sequences.
  const std::string &documents(const Call &call) const {
    return call.documents.empty() ? stack(call).documents : call.documents;
  }
  const StackDescription &stack(Call call) const { return call.decoder ? *d.decoder : *d.encoder; }
  /// The call of the encoder.
  Call ofSource() const {
    Call call;
    if (d.source)
      call.fixedRows = d.source->rows().value_or(-1);
    return call;
  }
  /// Name of the embedding table of a side.
  std::string tableName(Call call) const {
    return std::string(stack(call).sharesTable ? "source" : call.side()) + ".embedding.weight";
  }
  static std::string layerName(bool decoder, size_t index) {
    return (decoder ? "decoder." : "encoder.") + std::to_string(index);
  }
  std::string features() const { return std::to_string(d.size); }

  const Description &d;
  mlir::MLIRContext &context;
  MaskBuilder masks;
  TensorNames names;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Value encoded; ///< the memory, if the function also encodes
  mlir::Value map;     ///< the map of images of any size, or images of one size
  mlir::Value places;  ///< the positions of its places, if attention adds them
};

/// Builds the functions of docs/model-description.md. `tensors` receives the tensors that they
/// read, in order.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> buildModel(const Description &description,
                                                       mlir::MLIRContext &context,
                                                       std::vector<TensorInfo> &tensors);

} // namespace heddle
