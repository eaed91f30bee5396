//===- Checkpoint.cpp - Weights and the state of a run ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state is one text of the metadata, JSON whose keys follow from the fields of RunState.
#include "heddle/Training/Checkpoint.h"

#include "heddle/Pack/Safetensors.h"
#include "heddle/Support/FieldsJson.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/Try.h"

using namespace heddle;
using Json = nlohmann::ordered_json;

/// Key of the metadata.
static constexpr const char *stateKey = "heddle.run";

std::string heddle::hashText(uint64_t hash) {
  return formatted("%016llx", static_cast<unsigned long long>(hash));
}

uint64_t heddle::hashOfBytes(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char byte : bytes)
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

//===- Comparison --------------------------------------------------------===//

/// Finds the first key whose values differ in two objects, as "rate.peak".
static std::optional<RecipeProblem> firstDifference(const Json &before, const Json &now,
                                                    const std::string &path) {
  for (const Json *object : {&before, &now})
    for (const auto &[key, ignored] : object->items()) {
      const Json a = before.value(key, Json()), b = now.value(key, Json());
      const std::string inner = path.empty() ? key : path + "." + key;
      if (a == b)
        continue;
      if (a.is_object() || b.is_object())
        return firstDifference(a.is_object() ? a : Json::object(),
                               b.is_object() ? b : Json::object(), inner);
      auto shown = [](const Json &value) { return value.is_null() ? "the default" : value.dump(); };
      return RecipeProblem{inner, shown(a), shown(b)};
    }
  return std::nullopt;
}

/// A recipe without the keys that do not change weights.
static Recipe comparable(Recipe recipe) {
  using Kind = RateRecipe::Kind;
  recipe.keep = {};
  recipe.measure = {};
  const RateRecipe &rate = recipe.rate;
  const bool isEndless = rate.kind == Kind::Noam || rate.kind == Kind::Constant;
  const double warmup = rate.warmup.value_or(rate.usualWarmup());
  if (isEndless && (warmup >= 1 || warmup == 0))
    recipe.epochs = recipe.steps = std::nullopt;
  return recipe;
}

Status heddle::checkSameRun(const RunState &checkpoint, const RunIdentity &run,
                            const std::string &place) {
  const RunIdentity &before = checkpoint.identity;
  auto differs = [&](const std::string &what, const std::string &expected,
                     const std::string &found) {
    return inputError(place + ": expected " + what + " of the resumed run, " + expected +
                      ", found " + found);
  };
  if (before.model != run.model)
    return differs("the description", before.model, run.model);
  using Encoder = FieldEncoder<JsonStyle::Facts>;
  if (auto difference = firstDifference(Encoder::encode(comparable(before.recipe)),
                                        Encoder::encode(comparable(run.recipe)), ""))
    return differs("training." + difference->key, difference->expected, difference->found);
  if (before.data != run.data)
    return differs("the data", before.data, run.data);
  if (before.validation != run.validation && checkpoint.best)
    return differs("the validation data", before.validation,
                   run.validation.empty() ? "none" : run.validation);
  return {};
}

//===- Files -------------------------------------------------------------===//

/// Elements that are in memory at once.
static constexpr int64_t pieceElements = int64_t{1} << 20;

/// Name of a weight or of its moment in a checkpoint.
static std::string nameOf(int moment, const std::string &tensor) {
  return moment == 0 ? tensor : "moment." + std::to_string(moment) + "." + tensor;
}

static Status save(const std::string &path, std::span<const NamedShape> tensors, int moments,
                   const std::map<std::string, std::string> &metadata, const ReadElements &read) {
  std::vector<TensorInfo> infos;
  for (int moment = 0; moment <= moments; ++moment)
    for (const NamedShape &tensor : tensors)
      infos.push_back({nameOf(moment, tensor.name), "f32", tensor.shape});
  SafetensorsWriter writer = HEDDLE_TRY(SafetensorsWriter::create(path, infos, metadata));
  std::vector<float> piece;
  for (size_t i = 0; i < infos.size(); ++i)
    for (int64_t first = 0, all = infos[i].elements(); first < all; first += pieceElements) {
      piece.resize(static_cast<size_t>(std::min(pieceElements, all - first)));
      const int moment = static_cast<int>(i / tensors.size());
      HEDDLE_TRY(read(moment, i % tensors.size(), first, piece));
      HEDDLE_TRY(writer.write(piece));
    }
  return writer.commit();
}

Status heddle::saveWeights(const std::string &path, std::span<const NamedShape> tensors,
                           const ReadElements &read) {
  return save(path, tensors, 0, {}, read);
}

Status heddle::saveRun(const std::string &path, const RunState &state,
                       std::span<const NamedShape> tensors, int moments, const ReadElements &read) {
  const std::string json = FieldEncoder<JsonStyle::Facts>::encode(state).dump();
  return save(path, tensors, moments, {{stateKey, json}}, read);
}

Expected<RunState> heddle::readRunState(const std::string &path) {
  const auto metadata = HEDDLE_TRY(readMetadata(path));
  const auto found = metadata.find(stateKey);
  if (found == metadata.end())
    return inputError(path + ": expected a checkpoint of a run, found weights alone");
  const std::string place = path + ": " + stateKey;
  return factsFrom<RunState>(HEDDLE_TRY(parseJson(found->second, place)), place);
}

Status heddle::loadRun(const std::string &path, std::span<const NamedShape> tensors, int moments,
                       const WriteElements &write) {
  const auto source = HEDDLE_TRY(openSafetensors(path));
  std::vector<float> piece;
  for (int moment = 0; moment <= moments; ++moment)
    for (size_t i = 0; i < tensors.size(); ++i) {
      const int tensor =
          HEDDLE_TRY(source->require(nameOf(moment, tensors[i].name), tensors[i].shape));
      const int64_t all = source->tensors()[static_cast<size_t>(tensor)].elements();
      for (int64_t first = 0; first < all; first += pieceElements) {
        piece.resize(static_cast<size_t>(std::min(pieceElements, all - first)));
        source->read(tensor, first, piece);
        HEDDLE_TRY(write(moment, i, first, piece));
      }
    }
  return {};
}
