//===- Verify.cpp - Comparison of a device with the reference -------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comparison of launches with the reference. The reference runs first, and the results of each
// group are kept. The device then runs launch by launch; after each launch, the results of its
// group are decoded from their buffers and compared. Layouts come from the kernels' definitions,
// which are outlined again from the fused module.

#include "heddle/ExecutionEngine/Verify.h"

#include "ReferenceOps.h"
#include "StoredTensor.h"
#include "VerifyJoins.h"
#include "heddle/Analysis/ShapeExpressions.h"
#include "heddle/Compiler/RegisterAll.h"
#include "heddle/Dialect/ElementFormats.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/ExecutionEngine/Reference.h"
#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Support/Artifact.h"
#include "heddle/Support/Float.h"
#include "heddle/Support/Try.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>
#include <utility>

using namespace mlir;

namespace heddle {

namespace {

double valueAt(const Tensor &tensor, size_t i) {
  switch (tensor.dtype()) {
  case DType::F32:
    return tensor.values<float>()[i];
  case DType::F16:
    return floatFromHalf(tensor.values<uint16_t>()[i]);
  case DType::BF16:
    return floatFromBFloat(tensor.values<uint16_t>()[i]);
  case DType::I32:
    return tensor.values<int32_t>()[i];
  case DType::I64:
    return static_cast<double>(tensor.values<int64_t>()[i]);
  case DType::Bool:
    return tensor.values<bool>()[i];
  case DType::I8: // types of weights only
  case DType::I4:
  case DType::SI8:
  case DType::SI6:
    break;
  }
  return 0;
}

/// Converts an input for the reference: i64 becomes i32 and f16 becomes f32, as in the runtime.
RefTensor toReference(const Tensor &tensor) {
  RefTensor result;
  bool isFloat = formatOf(tensor.dtype()).isFloat();
  result.type = isFloat ? DType::F32 : tensor.dtype() == DType::Bool ? DType::Bool : DType::I32;
  result.shape = tensor.shape();
  for (size_t i = 0; i < static_cast<size_t>(tensor.size()); ++i)
    result.values.push_back(valueAt(tensor, i));
  return result;
}

/// The artifact's fused module, and the module with the definitions of its kernels.
struct Modules {
  MLIRContext context;
  OwningOpRef<ModuleOp> fused, outlined;

  explicit Modules(const DialectRegistry &registry) : context(registry) {
    limitThreads(context);
    context.loadAllAvailableDialects();
  }

  static Expected<std::unique_ptr<Modules>> load(const Artifact &artifact) {
    auto bytes = HEDDLE_TRY(artifact.fused());
    if (bytes.empty())
      return inputError(artifact.name() +
                        ": --verify: expected the fused stage in the file, found none");
    DialectRegistry registry;
    registerAllDialects(registry);
    auto modules = std::make_unique<Modules>(registry);
    ScopedDiagnosticHandler quiet(&modules->context, [](Diagnostic &) { return success(); });
    modules->fused = parseSourceString<ModuleOp>(
        StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size()),
        ParserConfig(&modules->context));
    if (!modules->fused)
      return inputError(artifact.name() +
                        ": --verify: expected the fused stage as bytecode, found other contents");
    modules->outlined = modules->fused->clone();
    if (failed(runTo(*modules->outlined, Stage::Fused, Stage::Program)))
      return deviceError(artifact.name() +
                         ": --verify: expected a program from the fused stage, found none");
    return modules;
  }
};

/// Results of one group in the reference.
struct GroupResults {
  kernel::GroupOp group;
  std::vector<RefTensor> results;
};

/// Weights for the reference, dequantized from the artifact. Weights with scales in their
/// panels are marked as stored, since the checkpoint may have contained the codes. The reference quantizes other weights again,
/// which gives equal codes.
ReferenceWeights weightsOf(const Artifact &artifact) {
  return [&artifact](const std::string &name, DType type) -> Expected<ReferenceValues> {
    const PackEntry *found =
        nullptr; // the tensor's entry of the widest type, or the entry of codes
    for (const PackEntry &entry : artifact.program().pack) {
      if (entry.tensor != name || entry.layout == PackEntry::Layout::Scales)
        continue;
      if (entry.type == type && formatOf(type).holdsScales())
        return ReferenceValues{unpackTensor(artifact.program(), entry, artifact.weights()), true};
      if (!found || formatOf(entry.type).bits > formatOf(found->type).bits)
        found = &entry;
    }
    if (found)
      return ReferenceValues{unpackTensor(artifact.program(), *found, artifact.weights())};
    return deviceError("reference: expected a packed tensor " + name + ", found none");
  };
}

Expected<std::vector<GroupResults>> runReference(Reference &reference, const std::string &function,
                                                 const NamedInputs &inputs) {
  NamedRefTensors arguments;
  for (const NamedInput &input : inputs)
    arguments.emplace_back(std::string(input.name()), toReference(input.tensor()));
  std::vector<GroupResults> groups;
  auto outputs = reference.run(function, arguments,
                               [&](Operation *op, std::span<const RefTensor *const> results) {
                                 if (auto group = dyn_cast<kernel::GroupOp>(op)) {
                                   groups.push_back({group, {}});
                                   for (const RefTensor *result : results)
                                     groups.back().results.push_back(*result);
                                 }
                                 return Status();
                               });
  if (!outputs)
    return outputs.takeError();
  return groups;
}

/// Compares one function's launches with the reference's groups.
class Comparison {
public:
  Comparison(const Program &program, const Function &function, ModuleOp outlined,
             const std::vector<GroupResults> &groups, VerifyReport &report)
      : function(function), outlined(outlined), groups(groups), report(report) {
    for (const PackEntry &entry : program.pack)
      allow(formatOfWeights(entry.type));
    outlined.walk([&](Operation *op) {
      if (transformer::isRounding(op))
        allow(formatOfWeights(findDType(op->getResult(0).getType()).value_or(DType::F32)));
    });
    outlined.walk(
        [&](transformer::QuantizeOp op) { allow(formatOfRows(dtypeOf(op.getCodes().getType()))); });
    outlined.walk([&](transformer::CacheQuantizeOp) { allow(formatOfRows(DType::I8)); });
  }

  Status compare(int launch, const Dimensions &dims, const BufferReader &read);

private:
  void allow(const NumberFormat &format) { allowed = std::max(allowed, format.tolerance); }
  static Expected<int64_t> number(kernel::Size size, kernel::DefOp def, const Launch &launch,
                                  const Dimensions &dims);
  static Expected<std::vector<int64_t>> eachSequence(kernel::DefOp def, int64_t index,
                                                     const Launch &launch, const Dimensions &dims,
                                                     const BufferReader &read);
  Expected<StoredLayout> layout(kernel::DefOp def, unsigned result, const Launch &launch,
                                const Dimensions &dims, const BufferReader &read) const;
  Expected<std::vector<double>> deviceValues(kernel::DefOp def, unsigned result,
                                             const RefTensor &expected, Value made, int64_t group,
                                             const Launch &launch, const Dimensions &dims,
                                             const BufferReader &read) const;
  /// Differences are relative to the largest value, which is at least `largest`.
  Status judge(int launch, unsigned result, const std::vector<double> &found,
               const std::vector<double> &expected, double largest);

  const Function &function;
  ModuleOp outlined;
  const std::vector<GroupResults> &groups;
  VerifyReport &report;
  double allowed = formatOfWeights(DType::F32).tolerance;
  double largestGradient = 0; ///< so far
};

/// Value of a size in a layout: an integer, or a scalar of the launch.
Expected<int64_t> Comparison::number(kernel::Size size, kernel::DefOp def, const Launch &launch,
                                     const Dimensions &dims) {
  if (size.isStatic())
    return size.value;
  if (ArrayAttr names = def.getScalarsAttr())
    for (auto [name, value] : llvm::zip(names, launch.scalars))
      if (name == size.name)
        return value.evaluate(dims);
  return deviceError("kernel " + launch.kernel +
                     ": expected a scalar of the launch in its layout, found " + size.name.str());
}

/// Contents of argument `index` of a kernel, one number per sequence.
Expected<std::vector<int64_t>> Comparison::eachSequence(kernel::DefOp def, int64_t index,
                                                        const Launch &launch,
                                                        const Dimensions &dims,
                                                        const BufferReader &read) {
  size_t place = 0; // scalars are not arguments of a launch
  for (int64_t i = 0; i < index; ++i)
    place += def.getArgLayout(static_cast<unsigned>(i)).getView() ? 1 : 0;
  const LaunchArgument &argument = launch.arguments.at(place);
  kernel::ViewType view = def.getArgLayout(static_cast<unsigned>(index)).getView();
  int64_t count = HEDDLE_TRY(number(view.getDims().front().extent, def, launch, dims)),
          offset = HEDDLE_TRY(argument.offset.evaluate(dims));
  std::vector<uint32_t> memory = HEDDLE_TRY(read(argument.index));
  if (offset + count > std::ssize(memory))
    return deviceError("kernel " + launch.kernel + ": argument " + std::to_string(index) +
                       " ends past its buffer");
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(static_cast<int32_t>(memory[static_cast<size_t>(offset + i)]));
  return numbers;
}

Expected<StoredLayout> Comparison::layout(kernel::DefOp def, unsigned index, const Launch &launch,
                                          const Dimensions &dims, const BufferReader &read) const {
  kernel::LayoutAttr layout = def.getResultLayout(index);
  StoredLayout result;
  kernel::ViewType view = layout.getView();
  std::vector<int64_t> pitches;
  for (const kernel::ViewDim &dim : view.getDims())
    for (auto [size, list] :
         {std::pair{dim.extent, &result.dims}, std::pair{dim.pitch, &pitches}}) {
      list->push_back(HEDDLE_TRY(number(size, def, launch, dims)));
    }
  bool isPadded =
      view.getDims().back().pitch == view.getDims().back().extent && !view.holdsIndices();
  result.pitch = isPadded ? padded(pitches.back()) : pitches.back();
  result.rows = pitches.size() < 2 ? 1 : pitches[pitches.size() - 2];
  result.panel = view.getPanel() != 0;
  result.first = HEDDLE_TRY(number(layout.getAt(), def, launch, dims));
  for (auto [argument, list] : {std::pair{layout.getPlaces(), &result.firsts},
                                std::pair{layout.getCounts(), &result.counts}})
    if (argument >= 0)
      *list = HEDDLE_TRY(eachSequence(def, argument, launch, dims, read));
  return result;
}

/// Values of `made`, a value of the launch's group, as the device stored them. If `made` is null,
/// the result is the sum of a gradient.
Expected<std::vector<double>> Comparison::deviceValues(kernel::DefOp def, unsigned result,
                                                       const RefTensor &expected, Value made,
                                                       int64_t group, const Launch &launch,
                                                       const Dimensions &dims,
                                                       const BufferReader &read) const {
  StoredLayout stored = HEDDLE_TRY(layout(def, result, launch, dims, read));
  stored.group = group;
  stored.type = formatOf(expected.type).isNarrow() ? expected.type : DType::F32;
  if (auto quantize =
          made ? made.getDefiningOp<transformer::QuantizeOp>() : transformer::QuantizeOp())
    stored.codeBase = formatOf(quantize).sumsGroups() ? 0 : 128; // see Support/Program.h
  int64_t columns = expected.shape.empty() ? 1 : expected.shape.back();
  if (stored.first > 0 ||
      !stored.firsts.empty()) { // the layout covers the whole cache, the values only its new rows
    if (expected.shape.size() == 3) { // scales: rows of one number
      stored.dims.push_back(1);
      stored.rows = std::exchange(stored.pitch, 1);
      columns = 1;
    }
    stored.dims[stored.dims.size() - 2] = expected.shape[2];
  }
  const LaunchArgument &argument =
      launch.arguments[launch.arguments.size() - def.getNumResults() + result];
  int64_t offset = HEDDLE_TRY(argument.offset.evaluate(dims));
  std::vector<uint32_t> memory = HEDDLE_TRY(read(argument.index));
  size_t start = std::min(static_cast<size_t>(offset), memory.size());
  std::span<const uint32_t> words = std::span(memory).subspan(start);
  std::vector<double> values(expected.values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    auto n = static_cast<int64_t>(i);
    if (!stored.counts.empty()) {
      int64_t rows = stored.dims[stored.dims.size() - 2];
      if (n / columns % rows >=
          stored.counts[static_cast<size_t>(sequenceOf(stored, n / columns))]) {
        values[i] = expected.values[i]; // not stored
        continue;
      }
    }
    int64_t index = storedIndex(stored, n / columns, n % columns), size = byteSize(stored.type);
    if (static_cast<size_t>((index + 1) * size) > words.size() * 4)
      return deviceError("kernel " + launch.kernel + ": result " + std::to_string(result) +
                         " ends past its buffer");
    values[i] = expected.type == DType::I32
                    ? static_cast<int32_t>(words[static_cast<size_t>(index)])
                    : storedValue(stored.type, std::as_bytes(words).data(), index, stored.codeBase);
    if (formatOf(expected.type).isCode() &&
        std::isnan(expected.values[i])) // code of a row with a NaN scale: unspecified
      values[i] = expected.values[i];
  }
  return values;
}

Status Comparison::judge(int launch, unsigned result, const std::vector<double> &found,
                         const std::vector<double> &expected, double largest) {
  double difference = 0;
  size_t worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isfinite(expected[i]))
      largest = std::max(largest, std::fabs(expected[i]));
    bool same = found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i]));
    double distance = same ? 0 : std::fabs(found[i] - expected[i]);
    if (std::isnan(distance))
      distance = INFINITY;
    if (distance > difference) {
      difference = distance;
      worst = i;
    }
  }
  double relative = largest > 0 ? difference / largest : difference;
  const std::string &kernel = function.launches[static_cast<size_t>(launch)].kernel;
  if (relative > report.largestDifference || report.worstKernel.empty()) {
    report.largestDifference = relative;
    report.worstKernel = kernel;
  }
  if (relative <= allowed)
    return {};
  char numbers[128];
  std::snprintf(numbers, sizeof numbers,
                "expected %.9g, found %.9g at element %zu (%.3g of the largest value)",
                expected[worst], found[worst], worst, relative);
  return deviceError("--verify: kernel " + kernel + " (launch " + std::to_string(launch) + " of " +
                     function.name + ", result " + std::to_string(result) + "): " + numbers);
}

Status Comparison::compare(int index, const Dimensions &dims, const BufferReader &read) {
  const Launch &launch = function.launches[static_cast<size_t>(index)];
  auto def = outlined.lookupSymbol<kernel::DefOp>(launch.kernel);
  if (!def || static_cast<size_t>(index) >= groups.size())
    return deviceError("kernel " + launch.kernel +
                       ": the fused stage in the file has no such kernel");
  const GroupResults &reference = groups[static_cast<size_t>(index)];
  std::vector<Value> stored = storedValues(reference.group);
  std::vector<std::vector<double>> found, expected;
  if (def.packsDocuments()) {
    // Keys of packed documents are stored at the beginning of their document's panels, which the
    // layout cannot express. The attention that reads them is compared instead.
    ++report.launches;
    return {};
  }
  for (unsigned i = 0; i < reference.results.size(); ++i) {
    const Value made = i < stored.size() ? stored[i] : Value(); // null: the sum of a gradient
    const int64_t group = made ? paddedHeadsOfContext(reference.group, made) : 0;
    auto values =
        HEDDLE_TRY(deviceValues(def, i, reference.results[i], made, group, launch, dims, read));
    found.push_back(std::move(values));
    expected.push_back(reference.results[i].values);
  }
  ++report.launches;
  for (unsigned i = 0; i < found.size(); ++i) {
    Join join = i + 1 < stored.size() ? joinOf(stored[i], stored[i + 1]) : nullptr;
    if (join) {
      join(found[i], found[i + 1]);
      join(expected[i], expected[i + 1]);
    }
    // A gradient that is exactly zero, as of a bias of keys, is a sum of terms that cancel.
    const bool isGradient = i >= stored.size();
    for (double value : isGradient ? expected[i] : std::vector<double>())
      largestGradient = std::max(largestGradient, std::fabs(value));
    HEDDLE_TRY(judge(index, i, found[i], expected[i], isGradient ? largestGradient / 100 : 0));
    i += join ? 1 : 0; // the second result has been compared too
  }
  return {};
}
} // namespace

struct Verifier::State {
  State(Session &session, std::unique_ptr<Modules> modules)
      : session(session), modules(std::move(modules)),
        reference(*this->modules->fused, weightsOf(session.artifact())) {}

  Session &session;
  std::unique_ptr<Modules> modules;
  Reference reference;
};

Verifier::Verifier(std::unique_ptr<State> state) : state(std::move(state)) {}
Verifier::Verifier(Verifier &&) noexcept = default;
Verifier::~Verifier() = default;

Expected<Verifier> Verifier::make(Session &session) {
  auto modules = HEDDLE_TRY(Modules::load(session.artifact()));
  return Verifier(std::make_unique<State>(session, std::move(modules)));
}

Expected<NamedTensors> Verifier::run(const std::string &function, const NamedInputs &inputs,
                                     VerifyReport &report) {
  Session &session = state->session;
  const Function *entry = session.program().findFunction(function);
  if (!entry)
    return usageError("--function: expected a function of " + session.artifact().name() +
                      ", found " + quotedText(function));
  auto groups = runReference(state->reference, function, inputs);
  if (!groups) { // the session's own checks of inputs have better messages
    HEDDLE_TRY(session.run(function, inputs));
    return groups.takeError();
  }
  Comparison comparison(session.program(), *entry, *state->modules->outlined, *groups, report);
  return session.runObserved(function, inputs,
                             [&](int launch, const Dimensions &dims, const BufferReader &read) {
                               return comparison.compare(launch, dims, read);
                             });
}

Expected<NamedTensors> verify(Session &session, const std::string &function,
                              const NamedInputs &inputs, VerifyReport &report) {
  auto verifier = HEDDLE_TRY(Verifier::make(session));
  return verifier.run(function, inputs, report);
}

void printVerified(const VerifyReport &report, std::ostream &out) {
  char line[64];
  std::snprintf(line, sizeof line, "%.2g", report.largestDifference);
  out << "verified: " << report.launches
      << " launches agree with the reference, largest difference " << line
      << (report.worstKernel.empty() ? "" : " (" + report.worstKernel + ")") << "\n";
}

Status verifyCommand(Session &session, const RunCommand &command, std::ostream &out) {
  auto verifier = HEDDLE_TRY(Verifier::make(session));
  VerifyReport report;
  auto run = [&](const std::string &function, const NamedInputs &inputs) {
    return verifier.run(function, inputs, report);
  };
  HEDDLE_TRY(runFunctions(session.program(), command, run, out));
  printVerified(report, out);
  return {};
}

} // namespace heddle
