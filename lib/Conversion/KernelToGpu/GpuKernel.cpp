//===- GpuKernel.cpp - Entry point of a Vulkan kernel -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file implements GpuKernel. A launch passes i32 words: the scalars, the offset of
// each argument in vec4s, the rows of a gathered window, and the base of the grid
// (z, y, x). All are push constants if they fit. Otherwise only the base is, and the kernel
// reads the other words from an argument block.
#include "GpuKernel.h"

#include "heddle/Support/Program.h"
#include "heddle/Support/VulkanConstants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SPIRV/Transforms/SPIRVConversion.h"

using namespace mlir;

namespace heddle {

static constexpr int kMemory = 0, kWeights = 1, kWords = 2, kBlock = 3;

LogicalResult GpuKernel::checkInterface(int64_t invocations) {
  if (size_t needed = launchWords(); needed > vulkanBlockWords)
    return func.emitOpError("expected at most ")
           << vulkanBlockWords << " scalars and arguments, found " << needed;
  if (invocations > target.invocations)
    return func.emitOpError("expected at most ")
           << target.invocations << " invocations, found " << invocations;
  for (int64_t i = 0; i < func.getNumViews(); ++i) {
    bool weight = func.isWeight(i);
    if (weight && cast<kernel::ViewType>(func.getView(i).getType()).holdsIndices())
      return func.emitOpError("expected weights of floats, found i32 in argument ") << i;
    if (weight && func.isWritten(i))
      return func.emitOpError("expected weights to be read only, found a store to argument ") << i;
  }
  return success();
}

GpuKernel::Binding GpuKernel::bindingOf(int64_t argument) {
  auto view = cast<kernel::ViewType>(func.getView(argument).getType());
  if (view.holdsIndices())
    return {kWords, view.getElementType(), false};
  // Words of narrow elements are loaded as f32 but never used as floats.
  Type vec4 = VectorType::get({4}, builder.getF32Type());
  return {func.isWeight(argument) ? kWeights : kMemory, vec4, false};
}

std::pair<int, bool> GpuKernel::variableOf(int64_t argument) {
  int number = bindingOf(argument).number;
  return {number, readsApart && number == kMemory && !func.isWritten(argument)};
}

/// Declares a variable for each binding that a view needs. Two variables may alias the same memory,
/// as floats and as words.
void GpuKernel::declareBindings() {
  std::map<std::pair<int, bool>, Binding> used;
  for (int64_t i = 0; i < func.getNumViews(); ++i) {
    Binding binding = bindingOf(i);
    binding.written = func.isWritten(i);
    if (auto [it, isNew] = used.try_emplace(variableOf(i), binding); !isNew)
      it->second.written |= binding.written;
  }
  MLIRContext *context = builder.getContext();
  for (auto &[variableKey, binding] : used) {
    auto [number, isRead] = variableKey;
    spirv::StructType::MemberDecorationInfo readOnly(0, spirv::Decoration::NonWritable,
                                                     UnitAttr::get(context));
    SmallVector<spirv::StructType::MemberDecorationInfo> decorations;
    if (!binding.written)
      decorations.push_back(readOnly);
    unsigned stride = isa<VectorType>(binding.element) ? 16 : 4;
    auto block = spirv::StructType::get({spirv::RuntimeArrayType::get(binding.element, stride)},
                                        {0}, decorations);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto variable = spirv::GlobalVariableOp::create(
        builder, loc(), spirv::PointerType::get(block, spirv::StorageClass::StorageBuffer),
        ("binding" + Twine(number) + (isRead ? "read" : "")).str(), 0u,
        static_cast<unsigned>(number));
    builder.setInsertionPoint(entry.getBody().front().getTerminator());
    bindings[variableKey] = spirv::AddressOfOp::create(builder, loc(), variable);
  }
}

void GpuKernel::pushWords(int64_t first, int64_t count) {
  Operation *end = entry.getBody().front().getTerminator();
  for (int64_t word = first; word < count; ++word)
    words.push_back(spirv::getPushConstantValue(end, count - first, word - first,
                                                builder.getI32Type(), builder));
}

/// Loads four words at a time.
void GpuKernel::loadArgumentBlock(int64_t count) {
  Type four = VectorType::get({4}, builder.getI32Type());
  spirv::StructType::MemberDecorationInfo readOnly(0, spirv::Decoration::NonWritable,
                                                   UnitAttr::get(builder.getContext()));
  auto block =
      spirv::StructType::get({spirv::ArrayType::get(four, (count + 3) / 4, 16)}, {0}, {readOnly});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  auto variable = spirv::GlobalVariableOp::create(
      builder, loc(), spirv::PointerType::get(block, spirv::StorageClass::StorageBuffer),
      ("binding" + Twine(kBlock)).str(), 0u, static_cast<unsigned>(kBlock));
  builder.setInsertionPoint(entry.getBody().front().getTerminator());
  Value base = spirv::AddressOfOp::create(builder, loc(), variable);
  Value zero = spirv::ConstantOp::getZero(builder.getI32Type(), loc(), builder), loaded;
  for (int32_t word = 0; word < count; ++word) {
    if (word % 4 == 0) {
      Value index = arith::ConstantIntOp::create(builder, loc(), word / 4, 32);
      loaded = spirv::LoadOp::create(
          builder, loc(),
          spirv::AccessChainOp::create(builder, loc(), base, ValueRange{zero, index}));
    }
    words.push_back(spirv::CompositeExtractOp::create(builder, loc(), loaded, {word % 4}));
  }
}

LogicalResult GpuKernel::begin(int64_t invocations, bool readsApart) {
  this->readsApart = readsApart;
  if (LogicalResult interface = checkInterface(invocations); failed(interface))
    return interface;
  this->invocations = invocations;
  module = ModuleOp::create(builder, loc(), func.getSymName());
  builder.setInsertionPointToStart(module.getBody());
  entry = spirv::FuncOp::create(builder, loc(), "main", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(entry.addEntryBlock());
  auto end = spirv::ReturnOp::create(builder, loc());
  declareBindings();
  builder.setInsertionPoint(end);
  // All words are loaded first, so that they dominate every use.
  int64_t count = launchWords();
  bool hasBlock = takesArgumentBlock(count);
  if (hasBlock)
    loadArgumentBlock(count);
  pushWords(hasBlock ? count : 0, count + vulkanGridWords);
  return success();
}

Value GpuKernel::scalar(StringRef name) { return words[func.getScalarIndex(name)]; }

Value GpuKernel::argumentStart(int64_t argument) {
  Value two = arith::ConstantIntOp::create(builder, loc(), 2, 32);
  return arith::ShLIOp::create(builder, loc(), words[func.getScalars().size() + argument], two);
}

std::pair<Value, Value> GpuKernel::rowsInWindow() {
  return {words[argumentWords()], words[argumentWords() + 1]};
}

Value GpuKernel::builtIn(spirv::BuiltIn which) {
  return spirv::getBuiltinVariableValue(entry.getBody().front().getTerminator(), which,
                                        builder.getI32Type(), builder);
}

Value GpuKernel::builtIn(spirv::BuiltIn which, int component) {
  return spirv::CompositeExtractOp::create(builder, loc(), builtIn(which),
                                           ArrayRef<int32_t>{component});
}

Value GpuKernel::gridPoint(int64_t axis) {
  Value point = builtIn(spirv::BuiltIn::WorkgroupId, 2 - axis);
  Value base = words[launchWords() + axis];
  return arith::AddIOp::create(builder, loc(), point, base);
}

Value GpuKernel::keepsHalves() {
  if (keepsHalvesConstant)
    return keepsHalvesConstant;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  auto constant = spirv::SpecConstantOp::create(
      builder, loc(), builder.getStringAttr("keepsHalves"), builder.getBoolAttr(false));
  constant->setAttr("spec_id", builder.getI32IntegerAttr(vulkanKeepsHalves));
  builder.setInsertionPointToStart(&entry.getBody().front());
  return keepsHalvesConstant = spirv::ReferenceOfOp::create(builder, loc(), builder.getI1Type(),
                                                            constant.getSymName());
}

Value GpuKernel::invocation() { return builtIn(spirv::BuiltIn::LocalInvocationId, 0); }

Value GpuKernel::subgroup() { return builtIn(spirv::BuiltIn::SubgroupId); }
Value GpuKernel::lane() { return builtIn(spirv::BuiltIn::SubgroupLocalInvocationId); }

Value GpuKernel::lane(int64_t argument, Value index, Value lane) {
  Value zero = spirv::ConstantOp::getZero(builder.getI32Type(), loc(), builder);
  return spirv::AccessChainOp::create(builder, loc(), bindings.at(variableOf(argument)),
                                      ValueRange{zero, index, lane});
}

Value GpuKernel::vec4(int64_t argument, Value index) {
  Value zero = spirv::ConstantOp::getZero(builder.getI32Type(), loc(), builder);
  return spirv::AccessChainOp::create(builder, loc(), bindings.at(variableOf(argument)),
                                      ValueRange{zero, index});
}

Value GpuKernel::element(int64_t argument, Value index) {
  Binding binding = bindingOf(argument);
  Value zero = spirv::ConstantOp::getZero(builder.getI32Type(), loc(), builder);
  SmallVector<Value> path = {zero, index};
  if (isa<VectorType>(binding.element)) {
    Value two = arith::ConstantIntOp::create(builder, loc(), 2, 32);
    Value three = arith::ConstantIntOp::create(builder, loc(), 3, 32);
    path[1] = arith::ShRUIOp::create(builder, loc(), index, two);
    path.push_back(arith::AndIOp::create(builder, loc(), index, three));
  }
  return spirv::AccessChainOp::create(builder, loc(), bindings.at(variableOf(argument)), path);
}

Value GpuKernel::shared(SharedArray array, Type element, int64_t entries, Value index, Value lane) {
  Value &base = arrays[{array, entries}];
  if (!base) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto type = spirv::PointerType::get(spirv::ArrayType::get(element, entries),
                                        spirv::StorageClass::Workgroup);
    std::string name = ("shared" + Twine(static_cast<int>(array))).str();
    if (SymbolTable::lookupSymbolIn(module, name))
      name += "_" + std::to_string(entries);
    auto variable =
        spirv::GlobalVariableOp::create(builder, loc(), type, name, FlatSymbolRefAttr());
    builder.setInsertionPointToStart(&entry.getBody().front());
    base = spirv::AddressOfOp::create(builder, loc(), variable);
    auto vector = dyn_cast<VectorType>(element);
    workgroupBytes += entries * 4 * (vector ? vector.getNumElements() : 1);
  }
  SmallVector<Value> path = {index};
  if (lane)
    path.push_back(lane);
  return spirv::AccessChainOp::create(builder, loc(), base, path);
}

void GpuKernel::barrier() {
  spirv::ControlBarrierOp::create(builder, loc(), spirv::Scope::Workgroup, spirv::Scope::Workgroup,
                                  spirv::MemorySemantics::AcquireRelease |
                                      spirv::MemorySemantics::WorkgroupMemory);
}

void GpuKernel::meetSubgroup() {
  spirv::ControlBarrierOp::create(builder, loc(), spirv::Scope::Subgroup, spirv::Scope::Subgroup,
                                  spirv::MemorySemantics::AcquireRelease |
                                      spirv::MemorySemantics::WorkgroupMemory);
}

void GpuKernel::forgetShared() {
  spirv::MemoryBarrierOp::create(builder, loc(), spirv::Scope::Subgroup,
                                 spirv::MemorySemantics::AcquireRelease |
                                     spirv::MemorySemantics::WorkgroupMemory);
}

LogicalResult GpuKernel::finish() {
  if (workgroupBytes > target.sharedBytes)
    return func.emitOpError("expected at most ")
           << target.sharedBytes << " bytes of workgroup memory, found " << workgroupBytes;
  builder.setInsertionPointToEnd(module.getBody());
  SmallVector<Attribute> interface;
  for (auto variable : module.getOps<spirv::GlobalVariableOp>())
    if (cast<spirv::PointerType>(variable.getType()).getStorageClass() ==
        spirv::StorageClass::Input)
      interface.push_back(FlatSymbolRefAttr::get(variable));
  spirv::EntryPointOp::create(builder, loc(), spirv::ExecutionModel::GLCompute, entry, interface);
  int32_t size = static_cast<int32_t>(invocations);
  spirv::ExecutionModeOp::create(builder, loc(), entry, spirv::ExecutionMode::LocalSize,
                                 ArrayRef<int32_t>{size, 1, 1});
  module->setAttr("kernel.workgroup", builder.getDenseI32ArrayAttr({size, 1, 1}));
  return success();
}

} // namespace heddle
