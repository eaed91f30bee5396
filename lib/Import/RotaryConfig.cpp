//===- RotaryConfig.cpp - Configuration keys of rotary positions ----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows Transformers 5 (modeling_rope_utils.py and the classes that override it).

#include "RotaryConfig.h"

#include "heddle/Support/Text.h"

#include "llvm/ADT/STLExtras.h"

using namespace heddle;

static constexpr const char *parametersKey = "rope_parameters", *scalingKey = "rope_scaling",
                            *fullKey = "full_attention", *slidingKey = "sliding_attention",
                            *originalKey = "original_max_position_embeddings";

/// Object under a key, or null.
static Json objectAt(const Json &json, const char *key) {
  Json found = json.value(key, Json());
  return found.is_object() ? found : Json();
}

namespace {
class RotaryKeys {
public:
  RotaryKeys(Json &config, const RotaryClass &family, std::vector<std::string> &notes)
      : config(config), family(family), notes(notes) {}
  void flat();
  void byLayerType();

private:
  void noteOf(const std::string &key, const Json &found, const std::string &other,
              const Json &older);
  void moveOut(const Json &part, const std::string &path, const char *name, const char *older);
  void takeOriginal(Json &part, const std::string &path);

  Json &config;
  const RotaryClass &family;
  std::vector<std::string> &notes;
};
} // namespace

void RotaryKeys::noteOf(const std::string &key, const Json &found, const std::string &other,
                        const Json &older) {
  notes.push_back(key + ": expected the " + shown(older) + " of " + other + ", found " +
                  shown(found) +
                  ": Transformers 5 takes the latter, and so does Heddle; Transformers 4 took "
                  "the former");
}

/// Copies a key of `part` to the older key of the configuration, which it overrides.
void RotaryKeys::moveOut(const Json &part, const std::string &path, const char *name,
                         const char *older) {
  const Json inner = part.value(name, Json()), outer = config.value(older, Json());
  if (inner.is_null())
    return;
  if (!outer.is_null() && inner != outer)
    noteOf(path + "." + name, inner, older, outer);
  config[older] = inner;
}

/// Sets the trained context of the scaling; the configuration's overrides the scaling's own.
void RotaryKeys::takeOriginal(Json &part, const std::string &path) {
  const Json kind = part.value("rope_type", part.value("type", Json()));
  if (!llvm::is_contained({Json("llama3"), Json("yarn"), Json("longrope"), Json("su")}, kind))
    return;
  Json outer = config.value(originalKey, Json());
  if (outer.is_null() && family.original)
    outer = *family.original;
  if (outer.is_null())
    return;
  if (const Json inner = part.value(originalKey, Json()); !inner.is_null() && inner != outer)
    noteOf(originalKey, outer, path, inner);
  part[originalKey] = outer;
  config.erase(originalKey);
}

/// Handles one object for all layers. A non-empty `rope_scaling` replaces `rope_parameters`.
void RotaryKeys::flat() {
  const char *place = objectAt(config, scalingKey).empty() ? parametersKey : scalingKey;
  Json rope = objectAt(config, place);
  if (rope.is_null())
    return;
  config.erase(place == scalingKey ? parametersKey : scalingKey);
  moveOut(rope, place, "rope_theta", family.base);
  if (config.contains("rope_theta")) // a second name of the base
    moveOut(rope, place, "rope_theta", "rope_theta");
  moveOut(rope, place, "partial_rotary_factor", family.part);
  takeOriginal(rope, place);
  config[place] = std::move(rope);
}

/// Handles one object for each of two layer types.
void RotaryKeys::byLayerType() {
  Json parameters = objectAt(config, parametersKey);
  const Json scaling = objectAt(config, scalingKey);
  if (parameters.is_null() && scaling.is_null())
    return;
  Json made = Json::object();
  for (const char *type : {fullKey, slidingKey}) {
    made[type] = parameters.is_null() ? Json() : objectAt(parameters, type);
    if (made[type].is_null())
      made[type] = {{"rope_type", "default"}};
    if (scaling.is_object() && (type == fullKey || family.scalesBoth))
      made[type].update(scaling);
    const std::string path = std::string(parametersKey) + "." + type;
    const bool isFull = type == fullKey;
    moveOut(made[type], path, "rope_theta",
            family.scalesBoth ? (isFull ? "global_rope_theta" : "local_rope_theta")
                              : (isFull ? "rope_theta" : "rope_local_base_freq"));
    moveOut(made[type], path, "partial_rotary_factor", "partial_rotary_factor");
  }
  for (const auto &[key, value] : parameters.items())
    if (key != fullKey && key != slidingKey)
      notes.push_back(std::string(parametersKey) + "." + key + ": expected it in " + fullKey +
                      " or " + slidingKey +
                      ", found it next to them, where Transformers does not read it");
  config.erase(scalingKey);
  config[parametersKey] = std::move(made);
}

void heddle::chooseRotary(Json &config, const RotaryClass &family,
                          std::vector<std::string> &notes) {
  RotaryKeys keys(config, family, notes);
  family.byLayerType ? keys.byLayerType() : keys.flat();
}
