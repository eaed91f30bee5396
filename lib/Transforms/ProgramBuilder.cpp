//===- ProgramBuilder.cpp - Program ops to runtime structures -------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops hold the structures; here values and symbols become indices.
//
//===----------------------------------------------------------------------===//

#include "heddle/Transforms/ProgramBuilder.h"

#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;

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
  LaunchArgument addBuffer(Function &f, const Buffer &buffer);
  LaunchArgument addWeight(kernel::PackAttr attribute);
  Launch launch(kernel::LaunchOp op);
  Port port(kernel::PortAttr info, Value buffer);

  ModuleOp module;
  Program program;
  DenseMap<Attribute, int> weightIndex;
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
  for (auto name : def.getScalarsAttr().getAsRange<StringAttr>())
    kernel.scalars.push_back(name.str());
  auto add = [&](kernel::LayoutAttr layout, bool written) {
    bool isWeight = layout.getStorage() == kernel::Storage::Weight;
    if (layout.getView())
      kernel.arguments.push_back(
          {isWeight ? KernelArgument::Storage::Weight : KernelArgument::Storage::Memory, written});
  };
  for (unsigned i = 0; i < def.getNumArguments(); ++i)
    add(def.getArgLayout(i), false);
  for (unsigned i = 0; i < def.getNumResults(); ++i)
    add(def.getResultLayout(i), true);
  program.kernels.push_back(std::move(kernel));
}

LaunchArgument ProgramBuilder::addBuffer(Function &f, const Buffer &buffer) {
  int index = f.buffers.size();
  if (buffer.kind == Buffer::Kind::State)
    f.states.push_back({buffer.name, index});
  f.buffers.push_back(buffer);
  return {LaunchArgument::Kind::Buffer, index, 0};
}

/// Equal weights are stored once, whatever function reads them.
LaunchArgument ProgramBuilder::addWeight(kernel::PackAttr attribute) {
  auto [it, isNew] = weightIndex.try_emplace(attribute, static_cast<int>(program.weights.size()));
  if (isNew) {
    PackEntry &entry = program.pack.emplace_back(attribute.getValue());
    entry.weight = it->second;
    int64_t elements = packedElements(entry);
    program.weights.push_back({entry.tensor, program.weightBytes, elements});
    program.weightBytes += (elements * 4 + 255) / 256 * 256;
  }
  return {LaunchArgument::Kind::Weight, it->second, 0};
}

Port ProgramBuilder::port(kernel::PortAttr info, Value buffer) {
  Port port = info.getValue();
  port.buffer = handles.lookup(buffer).index;
  return port;
}

Launch ProgramBuilder::launch(kernel::LaunchOp op) {
  Launch launch{op.getKernel().str(),
                {},
                op.getScalars().getValue(),
                op.getFlops().getValue(),
                op.getBytes().getValue()};
  for (auto [value, offset] : llvm::zip(op.getArguments(), op.getOffsets().getValue())) {
    launch.arguments.push_back(handles.lookup(value));
    launch.arguments.back().offset = offset;
  }
  return launch;
}

void ProgramBuilder::addFunction(kernel::ProgramOp op) {
  Function f = op.getInfo().getValue();
  f.name = op.getSymName().str();
  for (Operation &inner : op.getBody().front())
    llvm::TypeSwitch<Operation *>(&inner)
        .Case([&](kernel::BufferOp buffer) {
          handles[buffer] = addBuffer(f, buffer.getInfo().getValue());
        })
        .Case([&](kernel::WeightOp weight) { handles[weight] = addWeight(weight.getInfo()); })
        .Case([&](kernel::InputOp input) {
          f.inputs.push_back(port(input.getInfo(), input.getBuffer()));
        })
        .Case([&](kernel::OutputOp output) {
          f.outputs.push_back(port(output.getInfo(), output.getBuffer()));
        })
        .Case([&](kernel::LaunchOp inner) { f.launches.push_back(launch(inner)); })
        .Case([&](kernel::CheckOp check) { f.checks.push_back(check.getInfo().getValue()); });
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
