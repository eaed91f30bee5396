//===- RecipeDistances.cpp - Tables of buckets by distance ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the key `distances` of a recipe, which expands a table with a row per bucket of
// distances to one with a row per distance.

#include "Architecture.h"

#include "Schema.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cmath>

using namespace heddle;

/// DeBERTa's bucket of a distance, in f32 as in PyTorch: exact up to half of the buckets of a
/// direction, logarithmic beyond. Source: He et al., DeBERTaV3, and its code.
static int64_t logarithmicBucket(int64_t distance, int64_t buckets, int64_t furthest) {
  int64_t middle = buckets / 2, length = std::abs(distance);
  if (length <= middle)
    return distance;
  auto over = [&](int64_t x) {
    return std::log(static_cast<float>(x) / static_cast<float>(middle));
  };
  float place = std::ceil(over(length) / over(furthest - 1) * static_cast<float>(middle - 1));
  int64_t bucket = static_cast<int64_t>(place) + middle;
  return distance < 0 ? -bucket : bucket;
}

/// Expands `distances`: [heads, buckets, furthest]. Rows of `view` are buckets and columns heads;
/// the result has for each head a row per distance of the wanted tensor [heads, 2 reach, columns].
Expected<TensorViewRef> Architecture::byDistance(TensorViewRef view, const Json &json,
                                                 const std::string &key,
                                                 std::span<const int64_t> wanted) {
  Json made = HEDDLE_TRY(evaluated(json, key));
  bool numbers = made.is_array() && made.size() == 3 &&
                 llvm::all_of(made, [](const Json &n) { return n.is_number_integer(); });
  int64_t heads = numbers ? made[0].get<int64_t>() : 0,
          buckets = numbers ? made[1].get<int64_t>() : 0,
          furthest = numbers ? made[2].get<int64_t>() : 0;
  constexpr int64_t most = int64_t(1) << 20;
  if (heads < 1 || furthest < 1 || furthest > most || buckets > most ||
      (buckets > 0 && (buckets < 4 || furthest < buckets / 2 + 2)))
    return error(key, "expected [heads, buckets or 0, furthest distance], found " + shown(made));
  int64_t span = buckets > 0 ? buckets : furthest, reach = wanted.size() == 3 ? wanted[1] / 2 : 0;
  if (reach < furthest)
    return error(
        key, "expected a tensor of [heads, 2 * reach, head size] with a reach of at least " +
                 std::to_string(furthest) + ", found " + shapeText({wanted.begin(), wanted.end()}));
  if (view->rows() != 2 * span || view->columns() % heads)
    return error(key, "expected " + std::to_string(2 * span) + " rows of " + std::to_string(heads) +
                          " heads, found " + shapeText(view->shape()));
  std::vector<int64_t> taken;
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t distance = -reach; distance < reach; ++distance) {
      int64_t bucket = buckets > 0 ? logarithmicBucket(distance, buckets, furthest) : distance;
      taken.push_back(std::clamp<int64_t>(bucket + span, 0, 2 * span - 1) * heads + head);
    }
  int64_t columns = view->columns() / heads;
  TensorViewRef rows = gathered(reshaped(view, {2 * span * heads, columns}), std::move(taken));
  return reshaped(rows, {heads, 2 * reach, columns});
}
