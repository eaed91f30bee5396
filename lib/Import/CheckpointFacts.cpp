//===- CheckpointFacts.cpp - Facts derived from a checkpoint --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derives facts from the tensors of a checkpoint: the prefix of their names, whether the output
// matrix is the token table, and the head if the configuration does not name it.
#include "Architecture.h"

#include "Schema.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstring>

using namespace heddle;

//===- Prefixes ------------------------------------------------------------===//

/// Name of the first tensor in a recipe.
static const std::string *firstName(const Json &recipe) {
  if (recipe.is_string())
    return recipe.get_ptr<const std::string *>();
  for (const char *key : {"of", "concat", "stack", "then"})
    if (recipe.is_object() && recipe.contains(key))
      return firstName(recipe[key]);
  return recipe.is_array() && !recipe.empty() ? firstName(recipe[0]) : nullptr;
}

/// Tensor names of recipes that begin with the mark of a prefix, without the mark and for the first
/// layer.
Expected<std::vector<std::string>> Architecture::namesAfter(const std::string &mark,
                                                            const std::string &key) {
  std::vector<std::string> names;
  bound["layer"] = bound["part"] = 0;
  for (const auto &[wanted, recipe] : document["tensors"].items()) {
    const std::string *first = firstName(recipe);
    if (!first || !first->starts_with(mark))
      continue;
    std::string name = first->substr(mark.size());
    if (size_t leaf = name.find('*'); leaf != std::string::npos)
      name.replace(leaf, 1, "weight");
    names.push_back(HEDDLE_TRY(expanded(name, key)));
  }
  bound.erase("layer");
  bound.erase("part");
  return names;
}

/// The prefix under which the checkpoint has the most names; the first one wins a tie. Returns none
/// if the checkpoint has no name under any prefix.
static std::optional<std::string> bestPrefix(llvm::ArrayRef<std::string> prefixes,
                                             llvm::ArrayRef<std::string> names,
                                             const WeightSource &checkpoint) {
  std::optional<std::string> best;
  int64_t most = 0;
  for (const std::string &prefix : prefixes) {
    const int64_t count = llvm::count_if(
        names, [&](const std::string &name) { return checkpoint.find(prefix + name) >= 0; });
    if (count > most) {
      most = count;
      best = prefix;
    }
  }
  return best;
}

/// Prefixes of the checkpoint's tensors whose names end with one of `names`. Older versions of a
/// Transformers class may have named its base model differently.
static std::vector<std::string> foundPrefixes(llvm::ArrayRef<std::string> names,
                                              const WeightSource &checkpoint) {
  std::vector<std::string> prefixes;
  for (const TensorInfo &tensor : checkpoint.tensors())
    for (const std::string &name : names)
      if (llvm::StringRef rest(tensor.name); rest.consume_back("." + name) && !rest.empty())
        if (std::string prefix = rest.str() + "."; !llvm::is_contained(prefixes, prefix))
          prefixes.push_back(std::move(prefix));
  return prefixes;
}

/// Binds each prefix to the alternative under which the checkpoint stores its tensors.
Status Architecture::choosePrefixes(const WeightSource &checkpoint) {
  if (std::exchange(prefixesChosen, true))
    return {};
  for (const auto &[prefix, alternatives] : section(document, "names").items()) {
    const std::string key = "names." + prefix;
    if (!alternatives.is_array() || alternatives.empty() ||
        !llvm::all_of(alternatives, [](const Json &text) { return text.is_string(); }))
      return error(key, "expected a list of texts, found " + shown(alternatives));
    bound[prefix] = alternatives[0];
    const auto names = HEDDLE_TRY(namesAfter("{" + prefix + "}", key));
    auto best = bestPrefix(alternatives.get<std::vector<std::string>>(), names, checkpoint);
    if (!best)
      best = bestPrefix(foundPrefixes(names, checkpoint), names, checkpoint);
    if (best)
      bound[prefix] = *best;
  }
  return {};
}

//===- Tied matrices -------------------------------------------------------===//

/// Index of the tensor that a recipe of plain names reads. -1 if the checkpoint lacks it or the
/// recipe changes its values.
Expected<int> Architecture::storedAs(const std::string &key, const WeightSource &checkpoint) {
  if (!document["tensors"].contains(key))
    return -1;
  Json recipe = document["tensors"][key];
  while (recipe.is_object() && recipe.contains("if"))
    recipe = HEDDLE_TRY(branch(recipe, "tensors." + key));
  for (const Json &name : recipe.is_array() ? recipe : Json::array({recipe}))
    if (name.is_string())
      if (int index = checkpoint.find(HEDDLE_TRY(expanded(name, "tensors." + key))); index >= 0)
        return index;
  return -1;
}

/// Compares the values of two tensors bit by bit, as f32.
static Expected<bool> areEqual(const WeightSource &checkpoint, int first, int second) {
  const std::vector<TensorInfo> &tensors = checkpoint.tensors();
  if (tensors[first].shape != tensors[second].shape)
    return false;
  for (int tensor : {first, second})
    HEDDLE_TRY(checkpoint.checkReadable(tensor));
  constexpr int64_t block = 1 << 16;
  std::vector<float> a(block), b(block);
  const int64_t count = tensors[first].elements();
  for (int64_t at = 0; at < count; at += block) {
    const auto size = static_cast<size_t>(std::min(block, count - at));
    checkpoint.read(first, at, std::span(a).first(size));
    checkpoint.read(second, at, std::span(b).first(size));
    if (std::memcmp(a.data(), b.data(), size * sizeof(float)) != 0)
      return false;
  }
  return true;
}

Status Architecture::decideTies(const WeightSource &checkpoint, Json &description,
                                std::vector<std::string> &warnings) {
  constexpr const char *head = "classifier.weight";
  Json *classifier = description.contains("classifier") ? &description["classifier"] : nullptr;
  if (isGguf(folder) || !classifier || !classifier->is_object() ||
      classifier->value("tied", Json()) != true)
    return {};
  HEDDLE_TRY(choosePrefixes(checkpoint));
  const int matrix = HEDDLE_TRY(storedAs(head, checkpoint));
  if (matrix < 0)
    return {};
  const char *sides[] = {"source.embedding.weight", "target.embedding.weight"};
  const bool writes = document["tensors"].contains(sides[1]);
  const int table = HEDDLE_TRY(storedAs(sides[writes], checkpoint));
  const std::string &name = checkpoint.tensors()[matrix].name;
  if (table >= 0 && !HEDDLE_TRY(areEqual(checkpoint, table, matrix))) {
    (*classifier)["tied"] = false;
    if (!isLoose)
      warnings.push_back(checkpoint.name() + ": " + printable(name) + ": expected the numbers of " +
                         printable(checkpoint.tensors()[table].name) +
                         ", which the configuration ties it to, found others: Transformers 5 takes "
                         "both matrices, and so does Heddle; Transformers 4 took one for both");
    return {};
  }
  read.insert(name);
  // A checkpoint may store any one of several tied tensors.
  for (const char *side : sides)
    if (document["tensors"].contains(side) && HEDDLE_TRY(storedAs(side, checkpoint)) < 0)
      document["tensors"][side] = document["tensors"][head];
  return {};
}

//===- Heads ---------------------------------------------------------------===//

Expected<std::string> Architecture::headOf(const WeightSource &checkpoint) {
  constexpr const char *words[] = {"ForMaskedLM", "ForConditionalGeneration", "ForCausalLM",
                                   "LMHeadModel", "ForQuestionAnswering"};
  const Json heads = document.value("heads", Json::object());
  HEDDLE_TRY(choosePrefixes(checkpoint));
  for (const char *word : words) {
    if (!heads.contains(word) || !heads[word].is_object())
      continue;
    const Json own = heads[word].value("tensors", Json::object());
    for (const auto &[key, recipe] : own.items()) {
      const std::string *first = firstName(recipe);
      if (!first)
        continue;
      std::string name = *first;
      if (size_t leaf = name.find('*'); leaf != std::string::npos)
        name.replace(leaf, 1, "weight");
      if (checkpoint.find(HEDDLE_TRY(expanded(name, "heads"))) >= 0)
        return std::string(word);
    }
  }
  // A decoder that ties its output matrix to the token table stores no tensor for its head.
  for (const char *word : {"ForCausalLM", "LMHeadModel", "ForConditionalGeneration"})
    if (heads.contains(word) && heads[word].is_object())
      return std::string(word);
  return std::string();
}
