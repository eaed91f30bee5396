//===- ProgramBuilder.cpp - Program ops to runtime structures -------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversion of values and symbols to indices; the ops already hold the structures.

#include "heddle/Transforms/ProgramBuilder.h"

#include "ProgramPlanner.h"

#include "heddle/Dialect/Kernel/IR/KernelWindow.h"
#include "heddle/Dialect/Transformer/IR/TrainingAttributes.h"
#include "heddle/Planning/DefinitionViews.h"
#include "heddle/Support/Artifact.h"
#include "heddle/Support/Try.h"
#include "heddle/Transforms/TileableOpInterface.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;

//===- Kernels -----------------------------------------------------------===//

/// Converts a grid axis: a constant number of tiles, or a scalar that is divided into tiles at run
/// time.
static GridAxis axisOf(kernel::FuncOp func, kernel::Size extent, int64_t tile) {
  GridAxis axis;
  axis.tile = tile;
  if (extent.isStatic())
    axis.count = (extent.value + tile - 1) / tile;
  else
    axis.scalar = func.getScalarIndex(extent.name.getValue());
  return axis;
}

/// Converts the grid of a kernel. The last axis varies fastest; missing axes have one point.
static Expected<KernelCode> codeOf(kernel::FuncOp func) {
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
  return code;
}

/// Creates the kernel's variant for one level of Vulkan devices. Its requirements are known once it
/// has SPIR-V words (Support/SpirvFacts.h).
static VulkanVariant variantOf(kernel::FuncOp func, KernelCode code, const VulkanLevel &level) {
  VulkanVariant variant{std::move(code)};
  variant.member = ArtifactWriter::vulkanMember(func.getSymName(), level.name());
  if (kernel::PlanAttr plan = func.getPlanAttr())
    variant.workgroup[0] = static_cast<int32_t>(plan.getDown() * plan.getAcross());
  variant.level = level.level;
  variant.subgroup = level.subgroup;
  if (auto window = kernel::windowOf(func)) {
    variant.windowed = static_cast<int>(window->argument);
    variant.windowAxis = static_cast<int>(window->axis);
  }
  if (int64_t most = func.getMostRows()) {
    variant.rows = static_cast<int>(func.getScalarIndex(*func.getFewRows()));
    variant.mostRows = most;
  }
  return variant;
}

/// Adds the kernel that rounds the rows of a variant's product.
static RoundingCode roundingOf(kernel::FuncOp func, KernelCode code, const VulkanLevel &level) {
  RoundingCode rounding{std::move(code)};
  rounding.member = ArtifactWriter::vulkanMember(func.getSymName(), level.name());
  kernel::PlanAttr plan = func.getPlanAttr();
  rounding.workgroup[0] = static_cast<int32_t>(plan.getDown() * plan.getAcross());
  func.walk([&](kernel::LoadOp load) {
    Value view = load.getView();
    while (auto slice = view.getDefiningOp<kernel::SliceOp>())
      view = slice.getView();
    rounding.argument = static_cast<int>(cast<BlockArgument>(view).getArgNumber());
  });
  return rounding;
}

/// The last variant for any number of rows, whose rows are rounded.
static VulkanVariant &roundingVariant(Kernel &kernel) {
  return *std::find_if(kernel.vulkan.rbegin(), kernel.vulkan.rend(),
                       [](const VulkanVariant &variant) { return !variant.isForFew(); });
}

/// Type of the kernel's product operands; all other values are f32.
static DType productsOf(const DefinitionViews &views) {
  kernel::DefOp def = views.def;
  const kernel::Root root = *def.getRoot();
  if (!llvm::is_contained({kernel::Root::Linear, kernel::Root::HeadProducts,
                           kernel::Root::Attention, kernel::Root::Weights},
                          root))
    return DType::F32;
  // The first two operands of an op with a product are the product's rows and its other side.
  for (Operation &op : def.getBody().front())
    if (rootOf(&op) == root)
      return views.productOf(op.getOperand(0), op.getOperand(1))->rows;
  return DType::F32;
}

static Kernel kernelOf(kernel::DefOp def) {
  const DefinitionViews views(def);
  Kernel kernel;
  kernel.name = def.getSymName().str();
  kernel.products = productsOf(views);
  for (auto name : def.getScalarsAttr().getAsRange<StringAttr>())
    kernel.scalars.push_back(name.str());
  for (unsigned i = 0; i < views.numViews(); ++i)
    kernel.arguments.push_back(
        {views.isWeight(i) ? KernelArgument::Storage::Weight : KernelArgument::Storage::Memory,
         /*written=*/i >= views.firstResult()});
  return kernel;
}

//===- Functions ---------------------------------------------------------===//

namespace {
/// Converts functions. Weights are numbered across the whole program.
class ProgramBuilder {
public:
  /// `rounded` names the kernels with a variant that has a rounding.
  ProgramBuilder(ModuleOp module, llvm::StringSet<> rounded);
  void addFunction(kernel::ProgramOp op);
  Program program;

private:
  bool isRounded(kernel::LaunchOp op) const;
  bool isUsed(kernel::BufferOp op) const;
  LaunchArgument addBuffer(Function &f, const Buffer &buffer);
  int numberOf(kernel::PackAttr attribute);
  LaunchArgument addGradient(Function &f, kernel::GradientOp op);
  SizeExpr sized(const SizeExpr &size) const;
  Launch launch(kernel::LaunchOp op);
  Port port(kernel::PortAttr info, Value buffer);

  llvm::StringSet<> rounded;
  DenseMap<Attribute, int> weightIndex;
  /// Offsets of the accumulators of gradients, in bytes. They follow the weights.
  DenseMap<std::pair<Attribute, uint64_t>, int64_t> accumulators;
  int64_t gradientBytes = 0, matrixBytes = 0;
  DenseMap<Value, LaunchArgument> handles;
};
} // namespace

/// Whether some variant of a launch's kernel takes memory for rounded rows.
bool ProgramBuilder::isRounded(kernel::LaunchOp op) const {
  return op.getRounded() && rounded.contains(op.getKernel());
}

/// Whether a buffer is a part of the program: all are, except for memory for rounded rows that no
/// variant takes.
bool ProgramBuilder::isUsed(kernel::BufferOp op) const {
  return op->use_empty() || llvm::any_of(op->getUses(), [&](OpOperand &use) {
           auto launch = dyn_cast<kernel::LaunchOp>(use.getOwner());
           return !launch || isRounded(launch) ||
                  use.getOperandNumber() < launch.getOwnArguments().size();
         });
}

LaunchArgument ProgramBuilder::addBuffer(Function &f, const Buffer &buffer) {
  const bool isTwin = buffer.kind == Buffer::Kind::Twin;
  if (isTwin)
    for (auto [known, other] : llvm::enumerate(f.buffers))
      if (other.kind == Buffer::Kind::Twin && other.name == buffer.name)
        return {LaunchArgument::Kind::Buffer, static_cast<int>(known), 0};
  int index = f.buffers.size();
  if (buffer.kind == Buffer::Kind::State)
    f.states.push_back({buffer.name, index});
  f.buffers.push_back(buffer);
  if (isTwin)
    f.buffers.back().elements =
        (buffer.name == gradientTwin ? gradientBytes : program.weightBytes) / 4;
  return {LaunchArgument::Kind::Buffer, index, 0};
}

/// Numbers all weights before any function is built: accumulators of gradients follow the last
/// weight. In programs that train, matrices precede vectors, so that each of both is one range.
/// Frozen matrices are with vectors, which do not decay.
ProgramBuilder::ProgramBuilder(ModuleOp module, llvm::StringSet<> rounded)
    : rounded(std::move(rounded)) {
  Builder names(module.getContext());
  auto frozen = module->getAttrOfType<ArrayAttr>(transformer::frozenWeights);
  bool trains = false;
  module.walk([&](kernel::GradientOp) { trains = true; });
  auto number = [&](bool vectors) {
    module.walk([&](kernel::WeightOp op) {
      const PackEntry &entry = op.getInfo().getValue();
      const bool isVector =
          entry.layout == PackEntry::Layout::Vector ||
          (frozen && llvm::is_contained(frozen, names.getStringAttr(entry.tensor)));
      if (!trains || isVector == vectors)
        numberOf(op.getInfo());
    });
  };
  number(/*vectors=*/false);
  matrixBytes = program.weightBytes;
  number(/*vectors=*/true);
  gradientBytes = program.weightBytes;
  module.walk([&](kernel::GradientOp op) {
    if (op.getUse() == 0)
      return;
    auto [it, isNew] = accumulators.try_emplace({op.getInfo(), op.getUse()}, gradientBytes);
    if (isNew)
      gradientBytes += llvm::alignTo(program.weights[numberOf(op.getInfo())].elements * 4, 256);
  });
}

/// Number of a weight. Equal weights of all functions are stored once.
int ProgramBuilder::numberOf(kernel::PackAttr attribute) {
  auto [it, isNew] = weightIndex.try_emplace(attribute, static_cast<int>(program.weights.size()));
  if (isNew) {
    PackEntry &entry = program.pack.emplace_back(attribute.getValue());
    entry.weight = it->second;
    int64_t elements = packedElements(entry);
    program.weights.push_back({entry.tensor, program.weightBytes, elements});
    program.weightBytes += (elements * 4 + 255) / 256 * 256;
  }
  return it->second;
}

LaunchArgument ProgramBuilder::addGradient(Function &f, kernel::GradientOp op) {
  const Weight &weight = program.weights[numberOf(op.getInfo())];
  const int64_t offset = op.getUse() ? accumulators.at({op.getInfo(), op.getUse()}) : weight.offset;
  LaunchArgument twin = addBuffer(f, {std::string(gradientTwin), Buffer::Kind::Twin, 0});
  twin.offset = offset / 4;
  return twin;
}

/// Replaces the numbers of rows of twins.
SizeExpr ProgramBuilder::sized(const SizeExpr &size) const {
  return size.substitute({{twinMatrices, matrixBytes / 256},
                          {twinVectors, (program.weightBytes - matrixBytes) / 256}});
}

Port ProgramBuilder::port(kernel::PortAttr info, Value buffer) {
  Port port = info.getValue();
  port.buffer = handles.lookup(buffer).index;
  return port;
}

Launch ProgramBuilder::launch(kernel::LaunchOp op) {
  Launch launch{op.getKernel().str(),
                {},
                {},
                sized(op.getFlops().getValue()),
                sized(op.getBytes().getValue())};
  for (const SizeExpr &scalar : op.getScalars().getValue())
    launch.scalars.push_back(sized(scalar));
  const size_t own = op.getOwnArguments().size();
  for (auto [value, offset] : llvm::zip(op.getArguments(), op.getOffsets().getValue())) {
    std::vector<LaunchArgument> &list =
        launch.arguments.size() < own ? launch.arguments : launch.rounded;
    if (launch.arguments.size() == own && !isRounded(op))
      break;
    list.push_back(handles.lookup(value));
    list.back().offset = list.back().offset + sized(offset);
  }
  return launch;
}

void ProgramBuilder::addFunction(kernel::ProgramOp op) {
  Function f = op.getInfo().getValue();
  f.name = op.getSymName().str();
  for (Operation &inner : op.getBody().front())
    llvm::TypeSwitch<Operation *>(&inner)
        .Case([&](kernel::BufferOp buffer) {
          if (isUsed(buffer))
            handles[buffer] = addBuffer(f, buffer.getInfo().getValue());
        })
        .Case([&](kernel::WeightOp weight) {
          handles[weight] = {LaunchArgument::Kind::Weight, numberOf(weight.getInfo()), 0};
        })
        .Case([&](kernel::GradientOp gradient) { handles[gradient] = addGradient(f, gradient); })
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

Expected<Program> heddle::buildProgram(ModuleOp outlined, ArrayRef<TiledModule> tiled) {
  llvm::StringSet<> rounded;
  for (auto [module, gpu] : tiled)
    for (auto func : ModuleOp(module).getOps<kernel::FuncOp>())
      if (kernel::PlanAttr plan = func.getPlanAttr(); plan && plan.getRounded())
        rounded.insert(func.getSymName());
  ProgramBuilder builder(outlined, std::move(rounded));
  std::vector<Kernel> &kernels = builder.program.kernels;
  for (auto function : outlined.getOps<kernel::ProgramOp>())
    builder.addFunction(function);
  for (auto def : outlined.getOps<kernel::DefOp>())
    kernels.push_back(kernelOf(def));
  // The kernels of a tiled module are in the order of their definitions, each followed by its other
  // forms.
  for (auto [module, gpu] : tiled) {
    auto kernel = kernels.begin();
    for (auto func : ModuleOp(module).getOps<kernel::FuncOp>()) {
      Kernel &made = func.getFewRows() || func.getRounds() ? *std::prev(kernel) : *kernel++;
      KernelCode code = HEDDLE_TRY(codeOf(func));
      if (func.getRounds())
        roundingVariant(made).rounding = roundingOf(func, std::move(code), *gpu);
      else if (gpu)
        made.vulkan.push_back(variantOf(func, std::move(code), *gpu));
      else
        made.cpu = std::move(code);
    }
  }
  return std::move(builder.program);
}
