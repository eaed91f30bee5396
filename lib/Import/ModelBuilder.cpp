//===- ModelBuilder.cpp - Building functions from a description -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each method builds one function or one sub-layer:
//
//   encode: embed, layers of (self-attention, feed-forward), final norm, pooling, classifier
//   encode of a detector: encode, decode learned queries if it has a decoder, classes and boxes
//   encode_packed: as encode, over texts packed into a single row without padding
//   decode: embed, layers of (self-attention, cross-attention, feed-forward), final norm,
//           classifier
//   loss: encode, then decode a reference, shifted, and its cross entropy
//   loss_packed: as loss, over texts packed into a single row of each side; only for gradients
//   decode_start: stores keys and values of the memory in the session
//   decode_prompt: decodes several tokens per sequence, with keys and values in the session
//   decode_step: as decode_prompt, with one token per sequence

#include "ModelBuilder.h"

#include "heddle/Dialect/Transformer/IR/TrainingAttributes.h"
#include "heddle/Support/Program.h"
#include "heddle/Support/Try.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

//===- Before and after the layers ---------------------------------------===//

/// Token ids of a call.
Value ModelBuilder::tokens(FunctionBuilder &f, Call call) {
  const SideDescription &side = call.decoder ? *d.target : *d.source;
  std::string name = call.input();
  Value ids = f.rows(name, f.tensor({-1, call.rowCount()}, f.b.getI32Type()), {"B", call.rows()},
                     /*asBuilt=*/name != call.side() || !call.documents.empty());
  f.range(name, "0", std::to_string(side.size));
  return ids;
}

/// One row per patch, after the learned rows.
Value ModelBuilder::imageRows(FunctionBuilder &f, const ImageDescription &image) {
  int64_t channels = image.channels, side = image.patch;
  Value pixels = map = f.input(
      "source", f.tensor({-1, channels, image.height, image.width}),
      {"B", std::to_string(channels), std::to_string(image.height), std::to_string(image.width)});
  Value weight = f.weight("source.patch.weight", {d.size, channels, side, side});
  Value x =
      PatchEmbeddingOp::create(f.b, f.loc, pixels, weight, f.weight("source.patch.bias", {d.size}));
  int64_t rows = image.classTokens;
  if (rows == 0)
    return x;
  SmallVector<int64_t> stored{rows, d.size};
  if (rows == 1)
    stored.erase(stored.begin());
  return ConcatOp::create(f.b, f.loc, f.matrix("source.class-token", stored, rows), x);
}

/// Rows of audio frames: each convolution is an unfold and a matrix product.
Value ModelBuilder::frameRows(FunctionBuilder &f, const FramesDescription &frames) {
  int64_t channels = frames.channels;
  Value x = f.input("source", f.tensor({-1, channels, frames.frames}),
                    {"B", std::to_string(channels), std::to_string(frames.frames)});
  for (const auto &[index, c] : llvm::enumerate(frames.convolutions)) {
    std::string name = "source.convolution." + std::to_string(index);
    Value rows = UnfoldOp::create(f.b, f.loc, x, static_cast<uint64_t>(c.size),
                                  static_cast<uint64_t>(c.stride), /*channels_first=*/index == 0);
    Value weight = f.matrix(name + ".weight", {d.size, channels, c.size}, d.size);
    x = f.linear(rows, weight, f.weight(name + ".bias", {d.size}), activationOf(c.activation));
    channels = d.size;
  }
  return x;
}

/// Number of prompt tokens that each sequence adds.
Value ModelBuilder::addedTokens(FunctionBuilder &f) {
  Value counts = f.input("target.lengths", f.tensor({-1}, f.b.getI32Type()), {"B"});
  f.range("target.lengths", "0", "T + 1");
  return counts;
}

/// Embedding of each token's segment type.
Value ModelBuilder::typeRows(FunctionBuilder &f, int64_t types, Call call) {
  std::string name = std::string(call.side()) + ".types";
  Value ids = f.input(name, f.tensor({-1, call.rowCount()}, f.b.getI32Type()), {"B", call.rows()});
  f.range(name, "0", std::to_string(types));
  f.setDefault(name, "zeros_of", call.input());
  Value table = f.weight(name + ".weight", {types, stack(call).embeddingSize});
  return EmbeddingOp::create(f.b, f.loc, ids, table, /*scales=*/Value(), f.b.getF32FloatAttr(1),
                             IntegerAttr());
}

/// Embeds ids, vectors, an image or frames, adds positions, and normalizes if the description says
/// so.
Value ModelBuilder::embed(FunctionBuilder &f, Call call) {
  const SideDescription &side = call.decoder ? *d.target : *d.source;
  std::string name = call.side();
  FunctionBuilder::Part part(f, name + ".embedding");
  Value x;
  if (side.images)
    return imagesRows(f, *side.images);
  if (side.queries)
    return RepeatRowsOp::create(f.b, f.loc, map,
                                f.weight("target.query.weight", {*side.queries, d.size}));
  if (side.image) {
    x = imageRows(f, *side.image);
  } else if (side.frames) {
    x = frameRows(f, *side.frames);
  } else if (side.vectors) {
    x = f.rows(name, f.tensor({-1, call.rowCount(), d.size}), {"B", call.rows(), features()});
  } else {
    x = tokens(f, call);
    if (call.decoder && call.loss)
      x = ShiftRightOp::create(f.b, f.loc, x,
                               call.documents.empty() ? Value() : masks.starts(f, call.documents),
                               f.b.getI64IntegerAttr(*side.start));
    Value table = f.weight(tableName(call), {side.size, stack(call).embeddingSize});
    bool zeroRow = stack(call).zeroPaddingRow;
    IntegerAttr padding = zeroRow ? f.b.getI64IntegerAttr(side.padding) : IntegerAttr();
    auto scale = f.b.getF32FloatAttr(static_cast<float>(stack(call).embeddingScale));
    x = EmbeddingOp::create(f.b, f.loc, x, table, /*scales=*/Value(), scale, padding);
    if (int64_t types = stack(call).types)
      x = f.add(x, typeRows(f, types, call));
  }
  x = addPositions(f, x, call);
  const StackDescription &s = stack(call);
  if (s.embeddingNorm)
    x = f.norm(x, name + ".embedding.norm", s.embeddingSize, *s.embeddingNorm);
  if (s.projects)
    x = f.linear(x, name + ".embedding.projection", d.size, s.embeddingSize, s.projectionBias,
                 Activation::None);
  return dropped(f, x, "embedding", call);
}

/// Drops numbers of x if the description of training says so. Only a loss has dropout.
Value ModelBuilder::dropped(FunctionBuilder &f, Value x, const char *place, Call call) {
  auto probability = static_cast<float>(d.training.dropout.get<double>(place));
  if (!call.loss || probability == 0)
    return x;
  const bool isPooled = cast<RankedTensorType>(x.getType()).getRank() == 2;
  Value starts = call.documents.empty() || isPooled ? Value() : masks.starts(f, call.documents);
  return DropoutOp::create(f.b, f.loc, x, /*key=*/Value(), /*rows=*/Value(), /*site=*/Value(),
                           starts, f.b.getF32FloatAttr(probability));
}

Value ModelBuilder::memory(FunctionBuilder &f) {
  if (encoded)
    return encoded;
  return f.rows("memory", f.tensor({-1, -1, d.size}), {"B", "S", features()});
}

Value ModelBuilder::finalNorm(FunctionBuilder &f, Value x, Call call) {
  const std::optional<NormDescription> &norm = stack(call).norm;
  std::string prefix = call.decoder ? "decoder.norm" : "encoder.norm";
  FunctionBuilder::Part part(f, prefix);
  return norm ? f.norm(x, prefix, d.size, *norm) : x;
}

/// Pools each text to one vector if the description says so. Vector inputs have no padding, unless
/// a mask uses their lengths.
Value ModelBuilder::pool(FunctionBuilder &f, Value x, ArrayRef<std::string> words, Call call) {
  if (words.empty())
    return x;
  if (stack(call).poolLayer)
    return poolByAttention(f, x, call);
  SmallVector<Attribute> kinds;
  for (const std::string &word : words)
    kinds.push_back(PoolingAttr::get(&context, *symbolizePooling(dialectWord(word))));
  Value lengths, starts;
  if (stack(call).poolsParts && !call.documents.empty() && !call.loss)
    starts = f.input("source.parts", f.tensor({-1}, f.b.getI32Type()), {"parts.starts"});
  else if (!documents(call).empty())
    starts = masks.starts(f, documents(call));
  else if (!d.source->vectors || masks.encoderUsesLengths())
    lengths = masks.sideLengths(f, "source", call);
  return PoolOp::create(f.b, f.loc, x, lengths, starts, f.b.getArrayAttr(kinds));
}

/// Applies the linear layers and normalizations of `output`, in order.
Value ModelBuilder::outputStages(FunctionBuilder &f, Value x, Call call) {
  int64_t features = stack(call).pooledSize;
  for (const auto &[index, stage] : llvm::enumerate(stack(call).output)) {
    std::string name = "output." + std::to_string(index);
    FunctionBuilder::Part part(f, "encoder." + name);
    if (!stage.dense) {
      x = NormalizeOp::create(f.b, f.loc, x);
      continue;
    }
    auto size = stage.dense->get<int64_t>("size");
    x = f.linear(x, name, size, features, stage.dense->get<bool>("bias"),
                 activationOf(stage.dense->get<std::string>("activation")));
    features = size;
  }
  return x;
}

Value ModelBuilder::logits(FunctionBuilder &f, Value x, Call call) {
  const ClassifierDescription &c = *d.classifier;
  int64_t features = call.decoder ? d.size : stack(call).outputSize;
  if (c.hidden) {
    const HiddenLayerDescription &hidden = *c.hidden;
    x = f.linear(x, "classifier.hidden", hidden.size, features, hidden.bias,
                 activationOf(hidden.activation));
    features = hidden.size;
    if (hidden.norm)
      x = f.norm(x, "classifier.hidden.norm", features, *hidden.norm);
  }
  x = dropped(f, x, "classifier", call);
  Value weight = f.weight(c.tied ? tableName(call) : "classifier.weight", {c.size, features});
  Value bias = c.bias ? f.weight("classifier.bias", {c.size}) : Value();
  Value y = f.scores(x, weight, bias, c.sigmoid ? Activation::Sigmoid : Activation::None);
  if (c.scale != 1)
    y = ScaleOp::create(f.b, f.loc, y, f.b.getF32FloatAttr(static_cast<float>(c.scale)));
  if (!c.softcap)
    return y;
  return SoftcapOp::create(f.b, f.loc, y, f.b.getF32FloatAttr(static_cast<float>(*c.softcap)));
}

/// Adds the main result: classes if the model has a classifier.
void ModelBuilder::outcome(FunctionBuilder &f, Value x, Call call) {
  auto dims = [&](int64_t columns) -> SmallVector<std::string> {
    if (call.prompt)
      return {"B", std::to_string(columns)};
    if (stack(call).pool.empty() && !(d.classifier && !d.classifier->pool.empty()))
      return {"B", call.rows(), std::to_string(columns)};
    bool parts = stack(call).poolsParts && !call.documents.empty();
    return {parts ? "P" : documents(call).empty() ? "B" : "N", std::to_string(columns)};
  };
  if (!d.classifier)
    return f.firstResult("output", x, dims(call.decoder ? d.size : stack(call).outputSize));
  FunctionBuilder::Part part(f, "classifier");
  const ClassifierDescription &c = *d.classifier;
  Value y = pool(f, logits(f, x, call), c.pool, call);
  if (c.softmax)
    y = SoftmaxOp::create(f.b, f.loc, y);
  f.firstResult(c.softmax || c.sigmoid ? "probabilities" : "logits", y, dims(c.size));
}

//===- Functions ---------------------------------------------------------===//

Value ModelBuilder::encoderRows(FunctionBuilder &f, Call call) {
  Value x = embed(f, call);
  for (size_t index = 0; index < d.encoder->layers.size(); ++index) {
    Value attended = selfAttention(f, x, index, call);
    bool parallel = d.encoder->layers[index].parallel;
    x = feedForward(f, parallel ? x : attended, attended, index, call);
    x = betweenLayers(f, x, index);
  }
  return finalNorm(f, x, call);
}

Value ModelBuilder::decoderRows(FunctionBuilder &f, Call call) {
  Value x = embed(f, call);
  if (d.isEncoderDecoder() && !call.cached())
    memory(f); // fixes its order: after the tokens, before inputs of masks
  for (size_t index = 0; index < d.decoder->layers.size(); ++index) {
    Value attended = selfAttention(f, x, index, call);
    if (d.isEncoderDecoder())
      attended = crossAttention(f, attended, index, call);
    bool parallel = d.decoder->layers[index].parallel;
    x = feedForward(f, parallel ? x : attended, attended, index, call);
  }
  if (call.prompt)
    x = PoolOp::create(f.b, f.loc, x, addedTokens(f), Value(),
                       f.b.getArrayAttr(PoolingAttr::get(&context, Pooling::Last)));
  return finalNorm(f, x, call);
}

Status ModelBuilder::encode(bool packed) {
  FunctionBuilder f = function(packed ? packedFunction : "encode");
  Call call = ofSource();
  if (packed)
    call.documents = "source.starts";
  Value x = encoderRows(f, call);
  if (!d.isEncoderDecoder()) {
    {
      FunctionBuilder::Part part(f, "encoder.pool");
      x = pool(f, x, stack(call).pool, call);
    }
    outcome(f, outputStages(f, x, call), call);
    return f.finish(d.file);
  }
  // Return the lengths that decoding uses; for vector inputs only if the encoder uses them too.
  if (!packed && (masks.encoderUsesLengths() || (masks.crossUsesLengths() && !d.source->vectors)))
    f.firstResult("source.lengths", masks.sideLengths(f, "source", call), {"B"});
  f.firstResult("memory", x, {"B", call.rows(), features()});
  return f.finish(d.file);
}

Status ModelBuilder::decode(Call call) {
  FunctionBuilder f = function(call.step     ? "decode_step"
                               : call.prompt ? "decode_prompt"
                                             : "decode");
  outcome(f, decoderRows(f, call), call);
  return f.finish(d.file);
}

/// Adds the result `loss`, which is smoothed as the description of training says.
void ModelBuilder::lossResult(FunctionBuilder &f, Value classes, Value ids, IntegerAttr padding) {
  auto smoothing = f.b.getF32FloatAttr(static_cast<float>(d.training.smoothing));
  SmoothingOver over = symbolizeSmoothingOver(dialectWord(d.training.over)).value();
  f.result("loss",
           CrossEntropyOp::create(f.b, f.loc, classes, ids, padding, smoothing,
                                  SmoothingOverAttr::get(&context, over)),
           {"1"});
}

/// The function `loss`, and with training `loss_packed` if no mask prevents it.
Status ModelBuilder::losses() {
  HEDDLE_TRY(loss(/*packed=*/false));
  return d.training.packs ? loss(/*packed=*/true) : Status();
}

/// The call of the encoder, or of a decoder alone, in a loss.
Call ModelBuilder::lossOfSource(bool packed) const {
  Call call = ofSource();
  call.loss = true;
  if (packed)
    call.documents = "source.starts";
  return call;
}

/// Mean negative log-likelihood of the classes of texts.
Status ModelBuilder::classLoss(bool packed) {
  FunctionBuilder f = function(packed ? packedLoss : "loss");
  Call call = lossOfSource(packed);
  Value x = encoderRows(f, call);
  {
    FunctionBuilder::Part part(f, "encoder.pool");
    x = pool(f, x, stack(call).pool, call);
  }
  x = outputStages(f, x, call);
  FunctionBuilder::Part part(f, "classifier");
  Value classes = pool(f, logits(f, x, call), d.classifier->pool, call);
  Value labels = f.input("labels", f.tensor({-1}, f.b.getI32Type()), {packed ? "N" : "B"});
  f.range("labels", "0", std::to_string(d.classifier->size));
  lossResult(f, classes, labels, IntegerAttr());
  return f.finish(d.file);
}

/// Mean negative log-likelihood of a reference.
Status ModelBuilder::loss(bool packed) {
  if (!d.decoder)
    return classLoss(packed);
  FunctionBuilder f = function(packed ? packedLoss : "loss");
  Call call = lossOfSource(packed);
  if (d.encoder)
    encoded = encoderRows(f, call);
  call.decoder = true;
  if (packed) {
    call.memoryDocuments = call.documents;
    call.documents = "reference.starts";
  }
  Value x = decoderRows(f, call), reference = tokens(f, call);
  encoded = Value();
  FunctionBuilder::Part part(f, "classifier");
  Value classes = logits(f, x, call);
  lossResult(f, classes, reference, f.b.getI64IntegerAttr(d.target->padding));
  return f.finish(d.file);
}

/// Stores the projected keys and values of the memory and sets the lengths of sequences to 0. If
/// the caller names sequences, only theirs are replaced.
Status ModelBuilder::decodeStart() {
  FunctionBuilder f = function("decode_start");
  if (d.isEncoderDecoder())
    for (const auto &[index, layer] : llvm::enumerate(d.decoder->layers)) {
      std::string prefix = layerName(true, index) + ".cross";
      FunctionBuilder::Part part(f, prefix);
      f.setState(prefix + ".key", heads(f, memory(f), layer.cross, prefix, "key"));
      f.setState(prefix + ".value", heads(f, memory(f), layer.cross, prefix, "value"));
    }
  if (masks.crossUsesLengths()) {
    f.setState("source.lengths", masks.sideLengths(f, "source", Call{true, false}));
    f.range("source.lengths", "0", "S + 1"); // no mask of this function sets the range
  }
  Value rows;
  if (d.isEncoderDecoder()) {
    rows = f.input("rows", f.tensor({-1}, f.b.getI32Type()), {"B"});
    f.setDefault("rows", "no_rows_of", "memory");
  }
  bool pads = rows && d.crossHidesPadding();
  CacheClearOp::create(f.b, f.loc, "P", rows, pads ? f.b.getStringAttr("S") : StringAttr());
  return f.finish(d.file);
}

Status ModelBuilder::decodeReorder() {
  FunctionBuilder f = function("decode_reorder");
  Value parents = f.input("parents", f.tensor({-1}, f.b.getI32Type()), {"rows"});
  f.range("parents", "-1", "B");
  CacheReorderOp::create(f.b, f.loc, parents);
  return f.finish(d.file);
}

/// Declares the session's state: keys and values of previous tokens (length P) and of the memory.
void ModelBuilder::declareStates() {
  OpBuilder b(&context);
  b.setInsertionPointToStart(module->getBody());
  IntegerAttr limit = b.getI64IntegerAttr(d.target->limit);
  auto declare = [&](const std::string &name, int64_t heads, int64_t size, bool cross) {
    constexpr int64_t dynamic = ShapedType::kDynamic;
    auto type = RankedTensorType::get({dynamic, heads, dynamic, size}, b.getF32Type());
    ArrayAttr dims =
        b.getArrayAttr({b.getStringAttr("B"), b.getI64IntegerAttr(heads),
                        b.getStringAttr(cross ? "S" : "P"), b.getI64IntegerAttr(size)});
    StateOp::create(b, b.getUnknownLoc(), name, dims, cross ? IntegerAttr() : limit,
                    /*window=*/IntegerAttr(), type);
  };
  for (const auto &[index, layer] : llvm::enumerate(d.decoder->layers)) {
    std::string name = layerName(true, index);
    declare(name + ".self.key", layer.self.keyValueHeads, layer.self.headSize, false);
    declare(name + ".self.value", layer.self.keyValueHeads, layer.self.valueSize, false);
    if (!d.isEncoderDecoder())
      continue;
    declare(name + ".cross.key", layer.cross.keyValueHeads, layer.cross.headSize, true);
    declare(name + ".cross.value", layer.cross.keyValueHeads, layer.cross.valueSize, true);
  }
  if (masks.crossUsesLengths())
    StateOp::create(b, b.getUnknownLoc(), "source.lengths", b.getArrayAttr({b.getStringAttr("B")}),
                    /*capacity=*/IntegerAttr(), /*window=*/IntegerAttr(),
                    RankedTensorType::get({ShapedType::kDynamic}, b.getI32Type()));
}

Expected<OwningOpRef<ModuleOp>> ModelBuilder::run() {
  module = ModuleOp::create(UnknownLoc::get(&context));
  if (d.detector) {
    HEDDLE_TRY(detect());
    return std::move(module);
  }
  if (d.encoder)
    HEDDLE_TRY(encode(/*packed=*/false));
  if (d.sourceMayBePacked())
    HEDDLE_TRY(encode(/*packed=*/true));
  if (d.classifier && d.classifier->loss && !d.decoder)
    HEDDLE_TRY(losses());
  if (!d.decoder)
    return std::move(module);
  Status status = decode({.decoder = true});
  if (status && d.classifier && d.classifier->loss)
    status = losses();
  if (!d.decoder->documents.empty()) // documents are decoded whole: no session
    return status ? Expected<OwningOpRef<ModuleOp>>(std::move(module)) : status.takeError();
  declareStates();
  if (status)
    status = decodeStart();
  if (status)
    status = decode({.decoder = true, .prompt = true});
  if (status)
    status = decode({.decoder = true, .step = true});
  if (status)
    status = decodeReorder();
  if (!status)
    return status.takeError();
  return std::move(module);
}

Expected<OwningOpRef<ModuleOp>> heddle::buildModel(const Description &description,
                                                   MLIRContext &context,
                                                   std::vector<TensorInfo> &tensors) {
  return ModelBuilder(description, context, tensors).run();
}
