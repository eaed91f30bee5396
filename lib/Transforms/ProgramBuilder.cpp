//===- ProgramBuilder.cpp - Program ops to runtime structures -------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function a structure. Expressions were verified with the ops; a text that
// does not parse here is a defect of ours.
//
//===----------------------------------------------------------------------===//

#include "heddle/Transforms/ProgramBuilder.h"

#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace heddle;

static SizeExpr expression(StringRef text) {
  auto expr = SizeExpr::parse(std::string_view(text.data(), text.size()));
  return expr ? *expr : SizeExpr(0);
}

static std::vector<SizeExpr> sizes(ArrayAttr texts) {
  std::vector<SizeExpr> result;
  for (auto text : texts.getAsRange<StringAttr>())
    result.push_back(expression(text.getValue()));
  return result;
}

static std::vector<std::string> strings(ArrayAttr texts) {
  std::vector<std::string> result;
  for (auto text : texts.getAsRange<StringAttr>())
    result.push_back(text.str());
  return result;
}

static DType elementType(StringRef name) {
  return name == "f32" ? DType::F32 : name == "bool" ? DType::Bool : DType::I32;
}

/// What a stored weight consists of.
static DType weightType(std::optional<StringRef> name) {
  return name == "bf16"  ? DType::BF16
         : name == "f16" ? DType::F16
         : name == "i8"  ? DType::I8
         : name == "i4"  ? DType::I4
                         : DType::F32;
}

namespace {
class ProgramBuilder {
public:
  explicit ProgramBuilder(ModuleOp module) : module(module) {}

  Expected<Program> run() {
    for (auto def : module.getOps<kernel::DefOp>())
      addKernel(def);
    for (auto function : module.getOps<kernel::ProgramOp>())
      addFunction(function);
    return std::move(program);
  }

private:
  void addKernel(kernel::DefOp def);
  void addFunction(kernel::ProgramOp op);
  void addBuffer(Function &f, kernel::BufferOp op);
  void addWeight(kernel::WeightOp op);
  void addLaunch(Function &f, kernel::LaunchOp op);
  template <typename PortOp>
  Port port(PortOp op);

  ModuleOp module;
  Program program;
  llvm::StringMap<int> weightIndex;
  DenseMap<Value, LaunchArgument> handles;
};
} // namespace

/// What the kernel multiplies: operands of products are rounded before, all else is f32.
static DType productsOf(kernel::DefOp def) {
  DType products = DType::F32;
  def.walk([&](Operation *op) {
    if (!isa<transformer::LinearOp, transformer::AttentionOp, transformer::AttentionWeightsOp>(op))
      return;
    Type element = getElementTypeOrSelf(op->getOperand(0));
    if (element.isBF16())
      products = DType::BF16;
    else if (element.isInteger(8))
      products = DType::I8;
    else if (element.isF16())
      products = DType::F16;
  });
  return products;
}

void ProgramBuilder::addKernel(kernel::DefOp def) {
  Kernel kernel;
  kernel.name = def.getSymName().str();
  kernel.products = productsOf(def);
  kernel.scalars = strings(def->getAttrOfType<ArrayAttr>("scalars"));
  auto add = [&](ArrayAttr attrs, bool written) {
    for (auto attr : attrs.getAsRange<DictionaryAttr>()) {
      auto layout = attr.getAs<DictionaryAttr>("kernel.layout");
      if (layout.contains("scalar"))
        continue;
      bool weight = layout.getAs<StringAttr>("storage").getValue() == "weight";
      kernel.arguments.push_back(
          {weight ? KernelArgument::Storage::Weight : KernelArgument::Storage::Memory, written});
    }
  };
  add(*def.getArgAttrs(), false);
  add(*def.getResAttrs(), true);
  program.kernels.push_back(std::move(kernel));
}

void ProgramBuilder::addBuffer(Function &f, kernel::BufferOp op) {
  Buffer buffer;
  buffer.name = op.getName().str();
  buffer.kind = llvm::StringSwitch<Buffer::Kind>(op.getKind())
                    .Case("argument", Buffer::Kind::Argument)
                    .Case("state", Buffer::Kind::State)
                    .Case("table", Buffer::Kind::Table)
                    .Default(Buffer::Kind::Temporary);
  buffer.elements = expression(op.getElements());
  buffer.first = op.getFirst();
  buffer.last = op.getLast();
  buffer.generator = op.getGenerator().value_or("").str();
  int index = f.buffers.size();
  handles[op.getResult()] = {LaunchArgument::Kind::Buffer, index, SizeExpr(0)};
  if (buffer.kind == Buffer::Kind::State)
    f.states.push_back({buffer.name, index});
  f.buffers.push_back(std::move(buffer));
}

/// Equal weights are stored once, whatever function reads them.
void ProgramBuilder::addWeight(kernel::WeightOp op) {
  std::string key = (op.getName() + "|" + op.getLayout() + "|" + Twine(op.getRowGroup()) + "|" +
                     Twine(op.getColumnGroup()) + "|" + op.getElement().value_or("f32"))
                        .str();
  auto [it, isNew] = weightIndex.try_emplace(key, static_cast<int>(program.weights.size()));
  handles[op.getResult()] = {LaunchArgument::Kind::Weight, it->second, SizeExpr(0)};
  if (!isNew)
    return;
  PackEntry entry;
  entry.tensor = op.getName().str();
  entry.shape = std::vector<int64_t>(op.getShape().begin(), op.getShape().end());
  if (auto rows = op.getRows())
    entry.rows = static_cast<int64_t>(*rows);
  entry.rowGroup = op.getRowGroup();
  entry.columnGroup = op.getColumnGroup();
  entry.weight = it->second;
  entry.type = weightType(op.getElement());
  Weight weight;
  weight.name = entry.tensor;
  weight.offset = program.weightBytes;
  entry.layout = op.getLayout() == "vector"   ? PackEntry::Layout::Vector
                 : op.getLayout() == "rows"   ? PackEntry::Layout::Rows
                 : op.getLayout() == "scales" ? PackEntry::Layout::Scales
                                              : PackEntry::Layout::Panels;
  weight.elements = packedElements(entry);
  program.weightBytes += (weight.elements * 4 + 255) / 256 * 256;
  program.weights.push_back(std::move(weight));
  program.pack.push_back(std::move(entry));
}

template <typename PortOp>
Port ProgramBuilder::port(PortOp op) {
  Port port;
  port.name = op.getName().str();
  port.type = elementType(op.getElement());
  port.shape = sizes(op.getShape());
  port.buffer = handles.lookup(op.getBuffer()).index;
  port.group = op.getGroup();
  port.dense = op.getDense();
  if (auto range = op.getRange()) {
    std::vector<SizeExpr> bounds = sizes(*range);
    port.range = {bounds[0], bounds[1]};
  }
  port.starts = op.getStarts();
  if (auto longest = op.getLongest())
    port.longest = *longest;
  if (auto within = op.getWithin())
    for (StringAttr starts : within->template getAsRange<StringAttr>())
      port.within.push_back(starts.str());
  if (auto spread = op.getSpread())
    port.spread = sizes(*spread);
  port.exchanged = op.getExchanged();
  if (auto fallback = op.getFallback()) {
    if (auto source = fallback->template getAs<StringAttr>("lengths_of"))
      port.fallback = {DefaultInput::Kind::LengthsOf, source.str(), 0};
    if (auto source = fallback->template getAs<StringAttr>("running_lengths_of"))
      port.fallback = {DefaultInput::Kind::RunningLengths, source.str(), 0};
    if (auto padding = fallback->template getAs<IntegerAttr>("padding"))
      port.fallback.padding = padding.getInt();
  }
  return port;
}

void ProgramBuilder::addLaunch(Function &f, kernel::LaunchOp op) {
  Launch launch;
  launch.kernel = op.getKernel().str();
  for (auto [value, offset] :
       llvm::zip(op.getArguments(), op.getOffsets().getAsRange<StringAttr>())) {
    LaunchArgument argument = handles.lookup(value);
    argument.offset = expression(offset.getValue());
    launch.arguments.push_back(argument);
  }
  launch.scalars = sizes(op.getScalars());
  launch.flops = expression(op.getFlops());
  launch.bytes = expression(op.getBytes());
  f.launches.push_back(std::move(launch));
}

void ProgramBuilder::addFunction(kernel::ProgramOp op) {
  Function f;
  f.name = op.getSymName().str();
  f.dims = strings(op.getDims());
  f.stateDims = strings(op.getStateDims());
  std::vector<std::string> updates = strings(op.getUpdates());
  for (size_t i = 0; i + 1 < updates.size(); i += 2)
    f.updates.push_back({updates[i], expression(updates[i + 1])});
  f.startsStates = op.getStartsStates();
  f.needsSession = op.getNeedsSession();
  f.reorderBy = op.getReorderBy().value_or("").str();
  for (Operation &inner : op.getBody().front()) {
    if (auto buffer = dyn_cast<kernel::BufferOp>(inner))
      addBuffer(f, buffer);
    else if (auto weight = dyn_cast<kernel::WeightOp>(inner))
      addWeight(weight);
    else if (auto input = dyn_cast<kernel::InputOp>(inner))
      f.inputs.push_back(port(input));
    else if (auto output = dyn_cast<kernel::OutputOp>(inner))
      f.outputs.push_back(port(output));
    else if (auto launch = dyn_cast<kernel::LaunchOp>(inner))
      addLaunch(f, launch);
    else if (auto check = dyn_cast<kernel::CheckOp>(inner))
      f.checks.push_back({check.getRelation() == "equal" ? Check::Kind::Equal : Check::Kind::AtMost,
                          expression(check.getLeft()), expression(check.getRight()),
                          check.getMessage().str()});
  }
  program.functions.push_back(std::move(f));
}

Expected<Program> heddle::buildProgram(ModuleOp module) { return ProgramBuilder(module).run(); }

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

static GridAxis axisOf(kernel::FuncOp func, kernel::Size extent, int64_t tile) {
  GridAxis axis;
  axis.tile = tile;
  if (extent.isStatic())
    axis.count = (extent.value + tile - 1) / tile;
  else
    axis.scalar = func.getScalarIndex(extent.name.getValue());
  return axis;
}

/// The last axis varies fastest; missing axes are of one point, behind.
static Expected<KernelCode> codeOf(kernel::FuncOp func, bool gpu) {
  std::vector<GridAxis> axes;
  for (int64_t a = 0; a < func.getNumAxes(); ++a)
    axes.push_back(axisOf(func, func.getGridSize(a), func.getGridTiles()[a]));
  if (func.hasParts()) {
    GridAxis parts;
    parts.count = 0;
    for (auto part : func.getBody().front().getOps<kernel::PartOp>())
      parts.count += axisOf(func, part.getExtent(), part.getTile()).count;
    axes.push_back(parts);
  }
  if (axes.size() > 3)
    return deviceError("kernel " + func.getSymName().str() +
                       ": expected at most 3 grid axes, found " + std::to_string(axes.size()));
  KernelCode code;
  std::copy(axes.begin(), axes.end(), code.grid.begin());
  if (gpu) {
    code.member = "vulkan/" + func.getSymName().str() + ".spv";
    llvm::ArrayRef<int64_t> threads = func.getScheduleOrDefault().getThreads();
    int64_t count = 1;
    for (int64_t n : threads)
      count *= n;
    code.workgroup = {static_cast<int32_t>(count), 1, 1};
  }
  return code;
}

Status heddle::addGrids(Program &program, ModuleOp tiled, StringRef target) {
  for (Kernel &kernel : program.kernels) {
    auto func = tiled.lookupSymbol<kernel::FuncOp>(kernel.name);
    if (!func)
      return deviceError("kernel " + kernel.name + ": expected a tiled body, found none");
    auto code = codeOf(func, target == "vulkan");
    if (!code)
      return code.takeError();
    (target == "cpu" ? kernel.cpu : kernel.vulkan) = *code;
  }
  return {};
}
