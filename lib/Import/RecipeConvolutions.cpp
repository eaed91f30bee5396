//===- RecipeConvolutions.cpp - Convolutions and their norms --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the keys `channels-last` and `frozen-norm` of a recipe.

#include "Architecture.h"

#include "Schema.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

using namespace heddle;

/// `channels-last`: makes the channels the last dimension of kernels.
Expected<TensorViewRef> Architecture::lastChannels(TensorViewRef view, const std::string &key) {
  if (view->shape().size() != 4)
    return error(key, "expected kernels of rank 4, found " + shapeText(view->shape()));
  return channelsLast(std::move(view));
}

/// `frozen-norm`: folds a batch norm into the kernels or the biases before it.
Expected<TensorViewRef> Architecture::throughNorm(TensorViewRef view, const Json &json,
                                                  const std::string &key,
                                                  const WeightSource &checkpoint) {
  if (!json.is_object())
    return error(key, "expected an object with of, found " + shown(json));
  if (std::string wrong = unknownKey(json, {"of", "epsilon"}); !wrong.empty())
    return error(key, wrong);
  const Json epsilon = HEDDLE_TRY(evaluated(json.value("epsilon", Json(1e-5)), key + ".epsilon"));
  if (!epsilon.is_number() || !(epsilon.get<double>() > 0))
    return error(key + ".epsilon", "expected a number above 0, found " + shown(epsilon));
  const Json names = json.value("of", Json());
  std::vector<TensorViewRef> parts;
  for (const char *part : {".weight", ".bias", ".running_mean", ".running_var"}) {
    Json wanted = Json::array();
    for (const Json &name : names.is_array() ? names : Json::array({names}))
      wanted.push_back(name.is_string() ? Json(name.get<std::string>() + part) : name);
    parts.push_back(HEDDLE_TRY(stored(wanted, key + ".of", checkpoint)));
    if (parts.back()->elements() != view->rows())
      return error(key + ".of", "expected " + std::to_string(view->rows()) + " numbers in " +
                                    (part + 1) + ", found " + shapeText(parts.back()->shape()));
  }
  return frozen(std::move(view), {parts[0], parts[1], parts[2], parts[3], epsilon.get<double>()});
}
