//===- Spirv.cpp - Words of a SPIR-V module -------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Serializes modules without names and debug information, so that the words
// depend only on the module. A module declares only the capabilities and
// extensions that its ops and types need, because a device must have everything
// that a module declares.
#include "heddle/Target/Spirv.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/SPIRV/IR/TargetAndABI.h"
#include "mlir/Target/SPIRV/Serialization.h"

using namespace mlir;

namespace heddle {

namespace {

/// The capabilities and extensions that a module needs. Each need is a list of alternatives, and
/// the first alternative in `allowed` is chosen.
class Needs {
public:
  explicit Needs(spirv::VerCapExtAttr allowed)
      : allowed(spirv::TargetEnvAttr::get(
            allowed, spirv::getDefaultResourceLimits(allowed.getContext()),
            spirv::ClientAPI::Vulkan, spirv::Vendor::Unknown, spirv::DeviceType::Unknown,
            spirv::TargetEnvAttr::kUnknownDeviceID)) {}

  void add(Operation *op) {
    if (auto asks = dyn_cast<spirv::QueryCapabilityInterface>(op))
      addAll(asks.getCapabilities(), capabilities);
    if (auto asks = dyn_cast<spirv::QueryExtensionInterface>(op))
      addAll(asks.getExtensions(), extensions);
    for (Type type : op->getResultTypes())
      add(type);
    if (auto variable = dyn_cast<spirv::GlobalVariableOp>(op)) {
      add(variable.getType());
      std::optional<spirv::BuiltIn> builtIn =
          spirv::symbolizeBuiltIn(variable.getBuiltIn().value_or(""));
      if (builtIn)
        if (auto alternatives = spirv::getCapabilities(*builtIn))
          addAll(SmallVector<ArrayRef<spirv::Capability>>{*alternatives}, capabilities);
    }
  }
  bool has(spirv::Capability one) const { return capabilities.contains(one); }
  bool has(spirv::Extension one) const { return extensions.contains(one); }

  SetVector<spirv::Capability> capabilities;
  SetVector<spirv::Extension> extensions;

private:
  void add(Type type) {
    auto known = dyn_cast<spirv::SPIRVType>(type);
    if (!known)
      return;
    SmallVector<ArrayRef<spirv::Capability>> ofCapabilities;
    SmallVector<ArrayRef<spirv::Extension>> ofExtensions;
    known.getCapabilities(ofCapabilities);
    known.getExtensions(ofExtensions);
    addAll(ofCapabilities, capabilities);
    addAll(ofExtensions, extensions);
    // For matrices of bf16, MLIR reports only the capability of the element type.
    if (auto matrix = dyn_cast<spirv::CooperativeMatrixType>(type);
        matrix && matrix.getElementType().isBF16())
      capabilities.insert(spirv::Capability::BFloat16CooperativeMatrixKHR);
  }
  template <typename Lists, typename Set>
  void addAll(const Lists &lists, Set &set) {
    for (const auto &alternatives : lists)
      if (auto one = allowed.allows(llvm::ArrayRef(alternatives)))
        set.insert(*one);
  }

  spirv::TargetEnv allowed;
};

/// Removes the capabilities and extensions that `module` does not need.
void trim(spirv::ModuleOp module) {
  spirv::VerCapExtAttr triple = *module.getVceTriple();
  Needs needs(triple);
  module.walk([&](Operation *op) {
    if (op != module)
      needs.add(op);
  });
  SmallVector<spirv::Capability> capabilities;
  for (spirv::Capability one : triple.getCapabilities())
    if (one == spirv::Capability::Shader || needs.has(one) ||
        (one == spirv::Capability::VulkanMemoryModel &&
         module.getMemoryModel() == spirv::MemoryModel::Vulkan))
      capabilities.push_back(one);
  for (spirv::Capability one : capabilities)
    if (auto extensions = spirv::getExtensions(one))
      needs.extensions.insert_range(*extensions);
  if (module.getMemoryModel() == spirv::MemoryModel::Vulkan) // before version 1.5
    needs.extensions.insert(spirv::Extension::SPV_KHR_vulkan_memory_model);
  SmallVector<spirv::Extension> extensions;
  for (spirv::Extension one : triple.getExtensions())
    if (needs.has(one))
      extensions.push_back(one);
  module.setVceTripleAttr(spirv::VerCapExtAttr::get(triple.getVersion(), capabilities, extensions,
                                                    module.getContext()));
}

} // namespace

Expected<std::vector<uint32_t>> emitSpirv(spirv::ModuleOp module) {
  spirv::SerializationOptions options;
  options.emitSymbolName = false;
  options.emitDebugInfo = false;
  trim(module);
  SmallVector<uint32_t, 0> words;
  if (failed(spirv::serialize(module, words, options)))
    return deviceError("expected a module that SPIR-V can hold, found " +
                       module.getSymName().value_or("one").str() + ", which does not serialize");
  return std::vector<uint32_t>(words.begin(), words.end());
}

} // namespace heddle
