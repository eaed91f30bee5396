//===- MaskRun.cpp - Attentions on a device and by the reference --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of compositions. The reference reads the text itself, so that the canonicalisation of masks
// is tested too.
#include "MaskRun.h"
#include "TemporaryFolder.h"
#include "heddle/Compiler/RegisterAll.h"
#include "heddle/Compiler/TiledHook.h"
#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Support/Artifact.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <cmath>
#include <sstream>

using namespace heddle;
using namespace heddle::test;

struct MaskModule::Impl {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::optional<Reference> reference;
  std::optional<Session> session;
};

MaskModule::MaskModule(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
MaskModule::MaskModule(MaskModule &&) noexcept = default;
MaskModule::~MaskModule() = default;

/// Opens a session of the module in the file `path`.
static Expected<Session> openSession(const std::string &path, const RunOptions &options) {
  CompileOptions compile;
  compile.targets = {options.device};
  compile.cpus = {"native"};
  const TiledHook hook{options.onTiled};
  if (hook.call)
    compile.onTiled = &hook;
  compile.dtype = options.dtype;
  Expected<Artifact> artifact = compileToMemory(path, compile);
  if (!artifact)
    return artifact.takeError();
  SessionOptions session;
  session.device = options.device;
  session.poison = options.poison;
  return Session::fromArtifact(std::move(*artifact), session);
}

static std::string moduleText(const std::vector<Composition> &compositions) {
  std::string text;
  for (const Composition &composition : compositions)
    text += composition.text;
  return text;
}

Expected<MaskModule> MaskModule::forReference(const std::vector<Composition> &compositions,
                                              const std::string &dtype) {
  auto impl = std::make_unique<Impl>();
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  impl->context = std::make_unique<mlir::MLIRContext>(registry);
  impl->module =
      mlir::parseSourceString<mlir::ModuleOp>(moduleText(compositions), impl->context.get());
  if (!impl->module)
    return inputError("the text does not parse: " + moduleText(compositions));
  StageOptions stage;
  stage.dtype = dtype; // the reference rounds where the devices round
  if (dtype != "f32" &&
      mlir::failed(runTo(*impl->module, Stage::Transformer, Stage::Transformer, stage)))
    return inputError("the transformer stage failed: " + moduleText(compositions));
  impl->reference.emplace(*impl->module,
                          [](const std::string &name, DType) -> Expected<ReferenceValues> {
                            return inputError(name + ": there are no weights");
                          });
  return MaskModule(std::move(impl));
}

Expected<MaskModule> MaskModule::compile(const std::vector<Composition> &compositions,
                                         const RunOptions &options) {
  Expected<MaskModule> made = forReference(compositions, options.dtype);
  if (!made)
    return made;
  TemporaryFolder folder;
  Expected<Session> session =
      openSession(folder.write("masks.mlir", moduleText(compositions)), options);
  if (!session)
    return session.takeError();
  made->impl->session.emplace(std::move(*session));
  return made;
}

//===- Runs --------------------------------------------------------------===//

template <typename T>
static Tensor converted(const RefTensor &tensor) {
  Tensor result(tensor.type, tensor.shape);
  for (int64_t n = 0; n < tensor.size(); ++n)
    result.values<T>()[n] = static_cast<T>(tensor.values[n]);
  return result;
}

static Tensor toTensor(const RefTensor &tensor) {
  if (tensor.type == DType::Bool)
    return converted<bool>(tensor);
  return tensor.type == DType::I32 ? converted<int32_t>(tensor) : converted<float>(tensor);
}

Expected<Tensors> MaskModule::onDevice(const std::string &function, const NamedRefTensors &inputs) {
  Tensors tensors;
  for (const auto &[name, tensor] : inputs)
    tensors.emplace(name, toTensor(tensor));
  return call(*impl->session, function, tensors);
}

Expected<NamedRefTensors> MaskModule::byReference(const std::string &function,
                                                  const NamedRefTensors &inputs) {
  return impl->reference->run(function, inputs);
}

//===- Comparison --------------------------------------------------------===//

static bool sameKind(double a, double b) {
  if (std::isfinite(b))
    return std::isfinite(a);
  return std::isnan(b) ? std::isnan(a) : a == b;
}

static std::string mismatchOf(const std::string &name, const Tensor &found,
                              const RefTensor &expected, double tolerance, double largestValue) {
  std::ostringstream text;
  text << name << ": ";
  if (found.shape() != expected.shape) {
    text << "shape " << shapeText(found.shape()) << ", expected " << shapeText(expected.shape);
    return text.str();
  }
  // A relative error of a sum is an absolute error of its logarithm, however small the logarithm
  // is.
  double largest = 0, scale = name == "lse" ? 1 : name == "o" ? largestValue : 0;
  int64_t worst = 0, width = name == "o" && expected.size() ? expected.shape.back() : 1;
  for (int64_t n = 0; n < expected.size(); ++n) {
    double a = found.values<float>()[n], b = expected.values[n];
    auto row = expected.values.begin() + n / width * width;
    bool isEmpty = name == "o" && std::all_of(row, row + width, [](double x) { return x == 0; });
    if (!sameKind(a, b) || (isEmpty && a != 0)) {
      text << "element " << n << " of " << shapeText(expected.shape) << ": found " << a
           << ", expected " << b;
      return text.str();
    }
    if (!std::isfinite(b))
      continue;
    scale = std::max(scale, std::abs(b));
    if (std::abs(a - b) > largest) {
      largest = std::abs(a - b);
      worst = n;
    }
  }
  if (largest <= tolerance * scale || (name == "weights" && largest < 0x1p-126))
    return "";
  text << "element " << worst << " of " << shapeText(expected.shape) << ": found "
       << found.values<float>()[worst] << ", expected " << expected.values[worst] << ", difference "
       << largest / scale << " of the largest";
  return text.str();
}

std::string heddle::test::mismatch(const Tensors &found, const NamedRefTensors &expected,
                                   double tolerance, double largestValue) {
  for (const auto &[name, tensor] : expected) {
    auto other = found.find(name);
    if (other == found.end())
      return "no result " + name;
    if (std::string text = mismatchOf(name, other->second, tensor, tolerance, largestValue);
        !text.empty())
      return text;
  }
  return "";
}
