//===- ModelImages.cpp - Images of any size, classes and boxes ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the parts of a detector around its stacks: the map of an image, by patches or by the
// convolutions of a residual network, the positions of its places, and the heads:
//
//   windows, linear                                     patches
//   windows, linear, max_pool, blocks, projection       a stem
//
// A convolution is a linear layer over windows. Its frozen norm is folded into its weight and bias.

#include "ModelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

namespace {
/// A convolution whose output is as large as its input divided by the stride, rounded up.
struct Convolution {
  int64_t size, in, out, stride = 1;
  Activation activation = Activation::None;
  bool channelsFirst = false; ///< of its input
};
} // namespace

static Value convolve(FunctionBuilder &f, Value map, const std::string &name,
                      const Convolution &c) {
  Value windows = map;
  if (c.size > 1 || c.stride > 1 || c.channelsFirst)
    windows = WindowsOp::create(f.b, f.loc, map, static_cast<uint64_t>(c.size),
                                static_cast<uint64_t>(c.stride), static_cast<uint64_t>(c.size / 2),
                                c.channelsFirst);
  SmallVector<int64_t> stored{c.out, c.size, c.size, c.in};
  if (c.channelsFirst)
    stored = {c.out, c.in, c.size, c.size};
  Value weight = f.matrix(name + ".weight", stored, c.out);
  return f.linear(windows, weight, f.weight(name + ".bias", {c.out}), c.activation);
}

/// A residual block: convolutions whose sum with the input, or with a product of it, is activated.
static Value residualBlock(FunctionBuilder &f, Value map, const std::string &name,
                           const StemDescription &stem, const Convolution &whole) {
  const Activation activation = activationOf(stem.activation);
  const int64_t inner = stem.bottleneck ? whole.out / stem.reduction : whole.out;
  std::vector<Convolution> layers{{3, whole.in, inner, whole.stride, activation},
                                  {3, inner, whole.out}};
  if (stem.bottleneck)
    layers = {{1, whole.in, inner, 1, activation},
              {3, inner, inner, whole.stride, activation},
              {1, inner, whole.out}};
  Value y = map, shortcut = map;
  for (const auto &[index, layer] : llvm::enumerate(layers))
    y = convolve(f, y, name + "." + std::to_string(index), layer);
  if (whole.in != whole.out || whole.stride != 1)
    shortcut = convolve(f, map, name + ".shortcut", {1, whole.in, whole.out, whole.stride});
  return ActivationOp::create(f.b, f.loc, f.add(y, shortcut), activation);
}

/// The map that the stem makes of images.
Value ModelBuilder::stemMap(FunctionBuilder &f, Value pixels, const ImagesDescription &images) {
  const StemDescription &stem = *images.stem;
  const std::string name = "source.stem";
  FunctionBuilder::Part part(f, name);
  Value x = convolve(f, pixels, name,
                     {7, images.channels, stem.first, 2, activationOf(stem.activation), true});
  x = MaxPoolOp::create(f.b, f.loc, x, /*size=*/3, /*stride=*/2, /*padding=*/1);
  int64_t width = stem.first, number = 0;
  for (const auto &[stage, blocks] : llvm::enumerate(stem.blocks))
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t stride = i == 0 && stage > 0 ? 2 : 1, wide = stem.widths[stage];
      x = residualBlock(f, x, name + "." + std::to_string(number++), stem,
                        {0, width, wide, stride});
      width = wide;
    }
  return convolve(f, x, "source.projection", {1, width, d.size});
}

/// Rows of images of any size: learned rows, then a row for each place of their map.
Value ModelBuilder::imagesRows(FunctionBuilder &f, const ImagesDescription &images) {
  Value pixels = f.input("source", f.tensor({-1, images.channels, -1, -1}),
                         {"B", std::to_string(images.channels), "H", "W"});
  if (images.stem) {
    map = stemMap(f, pixels, images);
  } else {
    auto side = static_cast<uint64_t>(images.patch);
    Value windows = WindowsOp::create(f.b, f.loc, pixels, side, side, /*padding=*/0,
                                      /*channels_first=*/true);
    Value weight = f.matrix("source.patch.weight",
                            {d.size, images.channels, images.patch, images.patch}, d.size);
    map = f.linear(windows, weight, f.weight("source.patch.bias", {d.size}));
  }
  Value x = MapRowsOp::create(f.b, f.loc, map);
  if (d.encoder->position.grid())
    x = f.add(x, gridPlaces(f, "source.position"));
  if (int64_t rows = images.firstRows)
    x = ConcatOp::create(f.b, f.loc, f.weight("source.class-token", {rows, d.size}), x);
  return x;
}

/// Positions of the map's places, from a table that is resized to it.
Value ModelBuilder::gridPlaces(FunctionBuilder &f, const std::string &name) {
  const std::vector<int64_t> &grid = d.encoder->position.gridSizes;
  Value table = f.weight(name + ".weight", {grid[0] * grid[1], d.size});
  return PositionResizedOp::create(f.b, f.loc, map, table, static_cast<uint64_t>(grid[1]));
}

/// Adds the positions of rows that only queries and keys of attention have: of the memory's rows,
/// or of the decoder's queries.
Value ModelBuilder::placed(FunctionBuilder &f, Value x, bool ofDecoder) {
  if (ofDecoder && d.target->queries) {
    Value table = f.weight("target.position.weight", {*d.target->queries, d.size});
    return PositionLearnedOp::create(f.b, f.loc, x, table, Value(), Value(),
                                     f.b.getF32FloatAttr(1));
  }
  if (ofDecoder || !d.encoder || !d.encoder->position.plane())
    return x;
  if (!places)
    places = PositionPlaneOp::create(f.b, f.loc, map, f.b.getI64IntegerAttr(d.size),
                                     f.b.getF64FloatAttr(10000));
  return f.add(x, places);
}

/// Adds the positions that follow a layer of the encoder.
Value ModelBuilder::betweenLayers(FunctionBuilder &f, Value x, size_t index) {
  const PositionDescription &position = d.encoder->position;
  if (!position.grid() || !position.in.get<bool>("after-layers") ||
      index + 1 == d.encoder->layers.size())
    return x;
  std::string name = layerName(false, index) + ".position";
  FunctionBuilder::Part part(f, name);
  Value rows = gridPlaces(f, name);
  if (int64_t first = d.source->images->firstRows)
    rows = ConcatOp::create(f.b, f.loc, f.weight(name + ".first.weight", {first, d.size}), rows);
  return f.add(x, rows);
}

/// Linear layers with relu between them.
static Value layersOf(FunctionBuilder &f, Value x, const std::string &name, int64_t features,
                      ArrayRef<int64_t> sizes, Activation last) {
  for (const auto &[index, size] : llvm::enumerate(sizes)) {
    std::string layer = name + "." + std::to_string(index);
    const bool isLast = index + 1 == sizes.size();
    Value weight = f.weight(layer + ".weight", {size, features}),
          bias = f.weight(layer + ".bias", {size});
    x = isLast ? f.scores(x, weight, bias, last) : f.linear(x, weight, bias, Activation::Relu);
    features = size;
  }
  return x;
}

/// Adds the results of a detector: the logits of classes, and boxes as center, width and height in
/// parts of the image.
void ModelBuilder::detections(FunctionBuilder &f, Value x) {
  const DetectorDescription &detector = *d.detector;
  FunctionBuilder::Part part(f, "detector");
  int64_t count = d.decoder ? *d.target->queries : detector.rows[1];
  if (!d.decoder)
    x = SliceRowsOp::create(f.b, f.loc, x, static_cast<uint64_t>(detector.rows[0]),
                            static_cast<uint64_t>(count));
  auto head = [&](const char *name, int64_t layers, int64_t size, Activation last) {
    SmallVector<int64_t> sizes(static_cast<size_t>(layers), d.size);
    sizes.back() = size;
    return layersOf(f, x, std::string("detector.") + name, d.size, sizes, last);
  };
  auto dims = [&](int64_t size) -> SmallVector<std::string> {
    return {"B", std::to_string(count), std::to_string(size)};
  };
  Value logits = head("class", detector.classLayers, detector.classes, Activation::None);
  f.result("logits", logits, dims(detector.classes));
  f.result("boxes", head("box", detector.boxLayers, 4, Activation::Sigmoid), dims(4));
}

/// One function, which gives the classes and boxes of images.
Status ModelBuilder::detect() {
  FunctionBuilder f = function("encode");
  map = places = Value();
  Value x = encoderRows(f, ofSource());
  if (d.decoder) {
    encoded = x;
    x = decoderRows(f, {.decoder = true});
    encoded = Value();
  }
  detections(f, x);
  return f.finish(d.file);
}
