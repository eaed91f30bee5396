//===- Variants.cpp - Kernels at several levels of Vulkan devices ---------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selection of kernel variants. A level has its own variant of a kernel only if its code differs;
// otherwise devices of this level run the code of the lower level.

#include "CodeGeneration.h"

#include "heddle/Support/SpirvFacts.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace heddle {

using Words = std::vector<uint32_t>;

static bool haveSameGrid(const VulkanVariant &a, const VulkanVariant &b) {
  return a.workgroup == b.workgroup &&
         llvm::equal(a.grid, b.grid, [](const GridAxis &one, const GridAxis &other) {
           return one.fields() == other.fields();
         });
}

/// Keeps the variants of a kernel that have code, unless an earlier variant has equal code and an
/// equal grid.
static void keepDifferent(Kernel &kernel, const llvm::StringMap<const Words *> &words,
                          llvm::StringSet<> &dropped) {
  std::vector<VulkanVariant> kept;
  for (VulkanVariant &variant : kernel.vulkan) {
    if (!words.contains(variant.member))
      continue;
    bool isKnown = llvm::any_of(kept, [&](const VulkanVariant &other) {
      return other.isForFew() == variant.isForFew() &&
             *words.lookup(other.member) == *words.lookup(variant.member) &&
             haveSameGrid(other, variant);
    });
    if (isKnown)
      dropped.insert(variant.member);
    else
      kept.push_back(std::move(variant));
  }
  kernel.vulkan = std::move(kept);
}

Status finishVariants(Program &program, std::vector<GeneratedCode::Shader> &shaders) {
  llvm::StringMap<const Words *> words;
  for (const GeneratedCode::Shader &shader : shaders)
    words[shader.member] = &shader.words;
  llvm::StringSet<> dropped;
  for (Kernel &kernel : program.kernels) {
    keepDifferent(kernel, words, dropped);
    for (VulkanVariant &variant : kernel.vulkan)
      HEDDLE_TRY(findNeeds(*words.lookup(variant.member), variant.subgroup, variant));
  }
  llvm::erase_if(shaders, [&](const GeneratedCode::Shader &shader) {
    return dropped.contains(shader.member);
  });
  return {};
}

} // namespace heddle
