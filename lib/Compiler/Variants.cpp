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
    if (isKnown) {
      dropped.insert(variant.member);
      if (variant.rounding)
        dropped.insert(variant.rounding->member);
    } else {
      kept.push_back(std::move(variant));
    }
  }
  kernel.vulkan = std::move(kept);
}

/// Ways of a level may round alike: they share the first member of equal code.
static void shareRoundings(Kernel &kernel, const llvm::StringMap<const Words *> &words,
                           llvm::StringSet<> &dropped) {
  std::vector<std::string> kept;
  for (VulkanVariant &variant : kernel.vulkan) {
    if (!variant.rounding)
      continue;
    std::string &member = variant.rounding->member;
    auto same = llvm::find_if(kept, [&](const std::string &other) {
      return *words.lookup(other) == *words.lookup(member);
    });
    if (same == kept.end()) {
      kept.push_back(member);
    } else if (*same != member) {
      dropped.insert(member);
      member = *same;
    }
  }
}

/// Adds the features that the rounding of a variant needs.
static Status addNeeds(const Words &rounding, VulkanVariant &variant) {
  VulkanVariant needs;
  HEDDLE_TRY(findNeeds(rounding, variant.subgroup, needs));
  for (std::string &feature : needs.features)
    if (!llvm::is_contained(variant.features, feature))
      variant.features.push_back(std::move(feature));
  return {};
}

Status finishVariants(Program &program, std::vector<GeneratedCode::Shader> &shaders) {
  llvm::StringMap<const Words *> words;
  for (const GeneratedCode::Shader &shader : shaders)
    words[shader.member] = &shader.words;
  llvm::StringSet<> dropped;
  for (Kernel &kernel : program.kernels) {
    keepDifferent(kernel, words, dropped);
    shareRoundings(kernel, words, dropped);
    for (VulkanVariant &variant : kernel.vulkan) {
      HEDDLE_TRY(findNeeds(*words.lookup(variant.member), variant.subgroup, variant));
      if (variant.rounding)
        HEDDLE_TRY(addNeeds(*words.lookup(variant.rounding->member), variant));
    }
  }
  llvm::erase_if(shaders, [&](const GeneratedCode::Shader &shader) {
    return dropped.contains(shader.member);
  });
  return {};
}

} // namespace heddle
