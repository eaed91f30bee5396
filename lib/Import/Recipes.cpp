//===- Recipes.cpp - Tensors made from a checkpoint -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates the keys `names`, `tensors` and `ignore` of an architecture file. A recipe becomes a
// view of the checkpoint; its parts apply in the order of docs/architectures.md.

#include "Architecture.h"

#include "Schema.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/StringRef.h"

#include <numeric>

using namespace heddle;

static std::string replacedAll(std::string text, std::string_view word, std::string_view by) {
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
  return text;
}

bool Architecture::ignores(std::string_view tensor) {
  for (const Json &pattern : document.value("ignore", Json::array())) {
    Expected<std::string> text = pattern.is_string()
                                     ? expanded(pattern.get<std::string>(), "ignore")
                                     : Expected<std::string>(std::string());
    if (text && matches(*text, tensor))
      return true;
  }
  return false;
}

/// Matches a tensor's name with the key of a recipe: {layer} matches a number, a final `*` matches
/// weight or bias.
static bool bindNames(llvm::StringRef pattern, llvm::StringRef name,
                      std::map<std::string, Json, std::less<>> &bound, std::string &leaf) {
  while (!pattern.empty()) {
    if (pattern.consume_front("{layer}")) {
      unsigned layer = 0;
      if (name.consumeInteger(10, layer))
        return false;
      bound["layer"] = layer;
    } else if (pattern == "*") {
      leaf = name.str();
      return name == "weight" || name == "bias";
    } else if (name.empty() || pattern.front() != name.front()) {
      return false;
    } else {
      pattern = pattern.drop_front();
      name = name.drop_front();
    }
  }
  return name.empty();
}

/// Replaces `*` in all tensor names of a recipe.
static Json withLeaf(const Json &recipe, const std::string &leaf) {
  if (recipe.is_string())
    return recipe.get_ref<const std::string &>().starts_with('=')
               ? recipe
               : Json(replacedAll(recipe.get<std::string>(), "*", leaf));
  Json made = recipe;
  for (Json &inner : made)
    if (inner.is_structured() || inner.is_string())
      inner = withLeaf(inner, leaf);
  return made;
}

/// Records that recipe `pattern` makes tensor `name` and takes precedence over others that match.
void Architecture::noteTaken(const std::string &pattern, const std::string &name) {
  unreadOwn.erase(pattern);
  for (auto &[other, taken] : unreadOwn) {
    std::map<std::string, Json, std::less<>> ignored;
    std::string leaf;
    if (bindNames(other, name, ignored, leaf))
      taken = pattern;
  }
}

/// Whether the rows of a view are those of several matrices, which `wanted` counts in its first
/// dimension.
static bool stacksMatrices(const TensorView &view, std::span<const int64_t> wanted) {
  if (wanted.size() < 3)
    return false;
  std::vector<int64_t> rows{wanted[0] * wanted[1]};
  rows.insert(rows.end(), wanted.begin() + 2, wanted.end());
  return view.shape() == rows;
}

/// Describes how a view was made, for a message. It is cut, because rows may be picked one by one.
static std::string shownRecipe(const TensorView &view, const WeightSource &checkpoint) {
  constexpr size_t most = 80;
  std::string text = replacedAll(view.recipe(), checkpoint.name() + ":", "");
  return text.size() <= most ? text : text.substr(0, text.rfind(',', most)) + ",…)";
}

Expected<TensorViewRef> Architecture::tensor(const TensorInfo &wanted,
                                             const WeightSource &checkpoint) {
  HEDDLE_TRY(choosePrefixes(checkpoint));
  for (const auto &[pattern, json] : document["tensors"].items()) {
    std::string leaf;
    bound.erase("layer");
    if (!bindNames(pattern, wanted.name, bound, leaf))
      continue;
    noteTaken(pattern, wanted.name);
    std::string key = "tensors." + pattern;
    TensorViewRef view = HEDDLE_TRY(recipe(withLeaf(json, leaf), key, wanted.shape, checkpoint));
    // Dimensions of 1 may differ; any other difference is an error in the file or the recipe.
    auto withoutOnes = [](std::vector<int64_t> shape) {
      std::erase(shape, 1);
      return shape;
    };
    if (withoutOnes(view->shape()) != withoutOnes(wanted.shape) &&
        !stacksMatrices(*view, wanted.shape))
      return inputError(checkpoint.name() + ": " +
                        printable(shownRecipe(*view, checkpoint) + ": expected " +
                                  shapeText(wanted.shape) + " for " + wanted.name + ", found " +
                                  shapeText(view->shape())));
    return reshaped(view, wanted.shape);
  }
  return error("tensors", "expected a recipe for " + quotedText(wanted.name) + ", found none");
}

/// Expands a name with the first prefix that is not empty, which a class with a head writes.
Expected<std::string> Architecture::expandedToWrite(const std::string &text,
                                                    const std::string &key) {
  const auto before = bound;
  for (const auto &[prefix, alternatives] : section(document, "names").items())
    for (const Json &one : alternatives)
      if (one != "") {
        bound[prefix] = one;
        break;
      }
  Expected<std::string> name = expanded(text, key);
  bound = before;
  return name;
}

std::string Architecture::writtenName(const std::string &stored) const {
  auto found = written.find(stored);
  return found == written.end() ? stored : found->second;
}

Expected<std::string> Architecture::nameToWrite(const std::string &wanted) {
  for (const auto &[pattern, json] : document["tensors"].items()) {
    std::string leaf;
    bound.erase("layer");
    if (!bindNames(pattern, wanted, bound, leaf))
      continue;
    const Json made = withLeaf(json, leaf), name = made.is_array() ? made.front() : made;
    if (name.is_string())
      return expandedToWrite(name, "tensors." + pattern);
  }
  return error("tensors", "expected the name of a tensor for " + quotedText(wanted) +
                              ", which is trained, found none");
}

/// View of the first tensor in a list of names that the checkpoint has.
Expected<TensorViewRef> Architecture::stored(const Json &names, const std::string &key,
                                             const WeightSource &checkpoint) {
  std::vector<std::string> tried;
  for (const Json &name : names.is_array() ? names : Json::array({names})) {
    if (!name.is_string())
      return error(key, "expected the name of a tensor, found " + shown(name));
    tried.push_back(HEDDLE_TRY(expanded(name.get<std::string>(), key)));
    int index = checkpoint.find(tried.back());
    if (index < 0)
      continue;
    HEDDLE_TRY(checkpoint.checkReadable(index));
    read.insert(checkpoint.tensors()[index].name);
    written[checkpoint.tensors()[index].name] = HEDDLE_TRY(expandedToWrite(name, key));
    return viewOf(checkpoint, index);
  }
  return missingTensor(tried, key, checkpoint);
}

/// Reports a missing tensor, with the tensors that share the most leading parts of its name.
Error Architecture::missingTensor(const std::vector<std::string> &tried, const std::string &key,
                                  const WeightSource &checkpoint) const {
  std::string beginning = tried.empty() ? "" : tried.front();
  std::vector<std::string> beside;
  while (beside.empty() && !beginning.empty()) {
    size_t dot = beginning.rfind('.', beginning.size() - 2);
    beginning.resize(dot == std::string::npos || beginning.size() < 2 ? 0 : dot + 1);
    for (const TensorInfo &tensor : checkpoint.tensors())
      if (tensor.name.starts_with(beginning))
        beside.push_back(tensor.name);
  }
  return inputError(checkpoint.name() + ": expected a tensor " +
                    printable(listText(tried, {}, " or ") + " (" + key + " of ") + file +
                    "), found none of this name" +
                    (beside.empty() ? "" : " with " + printable(firstText(beside, 3))));
}

/// `stack`: stacks the tensors that `of` names for {part} from 0 to `count` - 1.
Expected<TensorViewRef> Architecture::stacked(const Json &json, const std::string &key,
                                              const WeightSource &checkpoint) {
  if (!json.is_object() || !json.contains("of") || !json.contains("count"))
    return error(key, "expected an object with of and count, found " + shown(json));
  if (std::string wrong = unknownKey(json, {"of", "count"}); !wrong.empty())
    return error(key, wrong);
  constexpr int64_t most = 1 << 16;
  int64_t count = HEDDLE_TRY(integer(json["count"], key + ".count"));
  if (count < 1 || count > most)
    return error(key + ".count",
                 "expected 1 to " + std::to_string(most) + ", found " + std::to_string(count));
  std::vector<TensorViewRef> parts;
  for (int64_t part = 0; part < count; ++part) {
    bound["part"] = part;
    auto view = stored(json["of"], key, checkpoint);
    bound.erase("part");
    parts.push_back(HEDDLE_TRY(view));
    if (parts.back()->shape() != parts.front()->shape())
      return error(key, "expected parts of " + shapeText(parts.front()->shape()) + ", found " +
                            shapeText(parts.back()->shape()));
  }
  return concatenated(std::move(parts));
}

/// `sinusoids`: computes positions of the wanted shape, which the checkpoint need not store.
Expected<TensorViewRef> Architecture::positions(const Json &json, const std::string &key,
                                                std::span<const int64_t> wanted) {
  if (!json.is_object())
    return error(key, "expected an object with divisor, found " + shown(json));
  if (std::string wrong = unknownKey(json, {"from", "divisor"}); !wrong.empty())
    return error(key, wrong);
  int64_t first = HEDDLE_TRY(integer(json.value("from", Json(0)), key + ".from"));
  Json divisor = HEDDLE_TRY(evaluated(json.value("divisor", Json()), key + ".divisor"));
  if (first < 0 || !divisor.is_number() || !(divisor.get<double>() > 0))
    return error(key, "expected from of at least 0 and a divisor above 0, found " +
                          std::to_string(first) + " and " + shown(divisor));
  if (wanted.size() != 2 || wanted[1] % 2)
    return error(key, "expected a matrix of an even number of columns, found " +
                          shapeText({wanted.begin(), wanted.end()}));
  return sinusoids({wanted.begin(), wanted.end()}, first, divisor.get<double>());
}

/// Evaluates the source of a recipe's numbers.
Expected<TensorViewRef> Architecture::origin(const Json &json, const std::string &key,
                                             std::span<const int64_t> wanted,
                                             const WeightSource &checkpoint) {
  std::vector<int64_t> shape(wanted.begin(), wanted.end());
  if (json.contains("fill")) {
    Json number = HEDDLE_TRY(evaluated(json["fill"], key + ".fill"));
    if (!number.is_number())
      return error(key + ".fill", "expected a number, found " + shown(number));
    return filled(shape, number.get<float>());
  }
  if (json.contains("stack"))
    return stacked(json["stack"], key + ".stack", checkpoint);
  if (json.contains("sinusoids"))
    return positions(json["sinusoids"], key + ".sinusoids", wanted);
  if (!json.contains("concat")) {
    if (!json.contains("of"))
      return error(key, "expected of, concat, stack, fill or sinusoids, found none of them");
    return stored(json["of"], key, checkpoint);
  }
  if (!json["concat"].is_array() || json["concat"].empty())
    return error(key + ".concat", "expected a list of recipes, found " + shown(json["concat"]));
  std::vector<TensorViewRef> parts;
  for (const Json &part : json["concat"]) {
    parts.push_back(HEDDLE_TRY(recipe(part, key + ".concat", {}, checkpoint)));
    if (parts.back()->columns() != parts.front()->columns())
      return error(key + ".concat",
                   "expected parts of " + std::to_string(parts.front()->columns()) +
                       " columns, found " + std::to_string(parts.back()->columns()));
  }
  return concatenated(std::move(parts));
}

/// `as`: the same elements with other extents.
Expected<TensorViewRef> Architecture::asExtents(TensorViewRef view, const Json &json,
                                                const std::string &key) {
  std::vector<int64_t> extents;
  int64_t count = 1;
  for (const Json &extent : json.is_array() ? json : Json::array({json})) {
    extents.push_back(HEDDLE_TRY(integer(extent, key)));
    if (extents.back() < 1 || __builtin_mul_overflow(count, extents.back(), &count))
      return error(key, "expected extents above 0, found " + shapeText(extents));
  }
  if (count != view->elements())
    return error(key, "expected extents of " + std::to_string(view->elements()) +
                          " elements, found " + shapeText(extents));
  return reshaped(std::move(view), std::move(extents));
}

/// `view` and `at`: selects rows, indexed by the extents of `view`. Each entry of `at` is null (the
/// whole dimension), an index, or a range of indices.
Expected<std::vector<int64_t>> Architecture::pickedRows(const Json &json, const std::string &key,
                                                        int64_t rows) {
  const Json &view = json["view"], at = json.value("at", Json::array());
  if (!view.is_array() || !at.is_array() || at.size() > view.size())
    return error(key + ".view",
                 "expected a list of extents and at most as many places in `at`, found " +
                     shown(view) + " and " + shown(at));
  std::vector<int64_t> extents;
  int64_t count = 1;
  for (const Json &extent : view) {
    extents.push_back(HEDDLE_TRY(integer(extent, key + ".view")));
    if (extents.back() < 1 || __builtin_mul_overflow(count, extents.back(), &count))
      return error(key + ".view", "expected extents above 0, found " + shown(view));
  }
  if (count != rows)
    return error(key + ".view", "expected extents of " + std::to_string(rows) + " rows, found " +
                                    shapeText(extents));
  std::vector<int64_t> taken{0};
  for (size_t d = 0; d < extents.size(); ++d) {
    int64_t from = 0, to = extents[d];
    Json place = d < at.size() ? HEDDLE_TRY(evaluated(at[d], key + ".at")) : Json();
    if (place.is_number_integer())
      from = place.get<int64_t>(), to = from + 1;
    else if (place.is_array() && place.size() == 2 && place[0].is_number_integer() &&
             place[1].is_number_integer())
      from = place[0].get<int64_t>(), to = place[1].get<int64_t>();
    else if (!place.is_null())
      return error(key + ".at", "expected null, an index or [from, to], found " + shown(place));
    if (from < 0 || to <= from || to > extents[d])
      return error(key + ".at", "expected places below " + std::to_string(extents[d]) + ", found " +
                                    shown(place));
    std::vector<int64_t> next;
    for (int64_t row : taken)
      for (int64_t i = from; i < to; ++i)
        next.push_back(row * extents[d] + i);
    taken = std::move(next);
  }
  return taken;
}

/// `plus` and `times`: evaluates a number or a recipe.
Expected<TensorViewRef> Architecture::numbers(const Json &json, const std::string &key,
                                              const WeightSource &checkpoint) {
  if (json.is_object() && json.contains("if"))
    return numbers(HEDDLE_TRY(branch(json, key)), key, checkpoint);
  if (json.is_object())
    return recipe(json, key, {}, checkpoint);
  Json number = HEDDLE_TRY(evaluated(json, key));
  if (!number.is_number())
    return error(key, "expected a number or a recipe, found " + shown(number));
  return filled({1}, number.get<float>());
}

Expected<std::pair<double, double>> Architecture::twoNumbers(const Json &json,
                                                             const std::string &key) {
  Json made = HEDDLE_TRY(evaluated(json, key));
  if (!made.is_array() || made.size() != 2 || !made[0].is_number() || !made[1].is_number())
    return error(key, "expected two numbers, found " + shown(made));
  return std::pair(made[0].get<double>(), made[1].get<double>());
}

/// `rows`: the range [from, to].
Expected<std::vector<int64_t>> Architecture::rowRange(const Json &json, const std::string &key,
                                                      int64_t rows) {
  auto [from, to] = HEDDLE_TRY(twoNumbers(json, key));
  if (!(from >= 0) || !(to >= from + 1) || !(to <= double(rows)))
    return error(key, "expected rows of " + std::to_string(rows) + ", found " +
                          formatted("[%.0f, %.0f]", from, to));
  std::vector<int64_t> taken(static_cast<int64_t>(to) - static_cast<int64_t>(from));
  std::iota(taken.begin(), taken.end(), static_cast<int64_t>(from));
  return taken;
}

/// `halves`: reorders the rotated pairs (0, 1), (2, 3), … of each head into two halves.
Expected<std::vector<int64_t>> Architecture::halvedRows(const Json &json, const std::string &key,
                                                        const TensorView &view,
                                                        const WeightSource &checkpoint) {
  const int64_t rows = view.rows();
  auto [size, fraction] = HEDDLE_TRY(twoNumbers(json, key));
  bool fits = size >= 1 && size <= double(rows) && fraction >= 0 && fraction <= 1;
  auto head = static_cast<int64_t>(fits ? size : 1);
  auto rotated = static_cast<int64_t>(double(head) * (fits ? fraction : 0));
  if (!fits || rotated % 2 || rows % head)
    return error(key, "expected a head size that divides the " + std::to_string(rows) +
                          " rows of " + shownRecipe(view, checkpoint) +
                          " and a fraction of it that is an even number, found " +
                          formatted("[%g, %g]", size, fraction));
  std::vector<int64_t> taken(rows);
  for (int64_t r = 0; r < rows; ++r) {
    int64_t k = r % head, half = rotated / 2;
    taken[r] = r - k + (k >= rotated ? k : k < half ? 2 * k : 2 * (k - half) + 1);
  }
  return taken;
}

/// `norm`: applies a layer norm to the rows.
Expected<TensorViewRef> Architecture::normed(TensorViewRef view, const Json &json,
                                             const std::string &key,
                                             const WeightSource &checkpoint) {
  if (json.is_object() && json.contains("if")) {
    Json chosen = HEDDLE_TRY(branch(json, key));
    return chosen.is_discarded() ? Expected<TensorViewRef>(view)
                                 : normed(view, chosen, key, checkpoint);
  }
  if (!json.is_object())
    return error(key, "expected an object, found " + shown(json));
  if (std::string wrong = unknownKey(json, {"weight", "bias", "epsilon"}); !wrong.empty())
    return error(key, wrong);
  Json epsilon = HEDDLE_TRY(evaluated(json.value("epsilon", Json()), key + ".epsilon"));
  if (!epsilon.is_number())
    return error(key + ".epsilon", "expected a number, found " + shown(epsilon));
  std::vector<TensorViewRef> parts;
  for (std::string name : {"weight", "bias"}) {
    parts.push_back(HEDDLE_TRY(recipe(json.value(name, Json()), key + "." + name, {}, checkpoint)));
    if (parts.back()->elements() != view->columns())
      return error(key + "." + name, "expected " + std::to_string(view->columns()) +
                                         " numbers, found " + shapeText(parts.back()->shape()));
  }
  return normalized(view, parts[0], parts[1], epsilon.get<float>());
}

/// `linear`: applies a linear layer to the rows.
Expected<TensorViewRef> Architecture::projected(TensorViewRef view, const Json &json,
                                                const std::string &key,
                                                const WeightSource &checkpoint) {
  if (json.is_object() && json.contains("if"))
    return projected(view, HEDDLE_TRY(branch(json, key)), key, checkpoint);
  if (!json.is_object())
    return error(key, "expected an object, found " + shown(json));
  if (std::string wrong = unknownKey(json, {"weight", "bias"}); !wrong.empty())
    return error(key, wrong);
  TensorViewRef bias,
      weight = HEDDLE_TRY(recipe(json.value("weight", Json()), key + ".weight", {}, checkpoint));
  if (weight->columns() != view->columns())
    return error(key + ".weight", "expected " + std::to_string(view->columns()) +
                                      " columns, found " + shapeText(weight->shape()));
  if (json.contains("bias"))
    bias = HEDDLE_TRY(recipe(json["bias"], key + ".bias", {}, checkpoint));
  if (bias && bias->elements() != weight->rows())
    return error(key + ".bias", "expected " + std::to_string(weight->rows()) + " numbers, found " +
                                    shapeText(bias->shape()));
  return multiplied(view, weight, bias);
}

/// `plus` and `times`: one number, or one per row; `plus` of a matrix: one per column or per
/// element.
Expected<TensorViewRef> Architecture::changed(TensorViewRef view, const Json &json,
                                              const std::string &key, bool scales,
                                              const WeightSource &checkpoint) {
  TensorViewRef by = HEDDLE_TRY(numbers(json, key, checkpoint));
  int64_t fits = scales || view->shape().size() == 1 ? view->rows() : view->columns();
  const bool isWhole = !scales && by->shape() == view->shape();
  if (by->elements() != 1 && by->elements() != fits && !isWhole)
    return error(key,
                 "expected " + std::to_string(fits) + " numbers, found " + shapeText(by->shape()));
  return scales ? scaled(view, by) : shifted(view, by);
}

Expected<TensorViewRef> Architecture::recipe(const Json &json, const std::string &key,
                                             std::span<const int64_t> wanted,
                                             const WeightSource &checkpoint) {
  if (json.is_string() || json.is_array())
    return stored(json, key, checkpoint);
  if (!json.is_object())
    return error(key, "expected a recipe, found " + shown(json));
  if (json.contains("if"))
    return recipe(HEDDLE_TRY(branch(json, key)), key, wanted, checkpoint);
  if (std::string wrong =
          unknownKey(json, {"of", "concat", "stack", "fill", "sinusoids", "flat", "as", "transpose",
                            "view", "at", "rows", "halves", "norm", "linear", "distances",
                            "frozen-norm", "channels-last", "plus", "times"});
      !wrong.empty())
    return error(key, wrong);
  TensorViewRef view = HEDDLE_TRY(origin(json, key, wanted, checkpoint));
  for (const char *word : {"flat", "transpose", "channels-last"})
    if (const Json asked = json.value(word, Json(false)); !asked.is_boolean())
      return error(key + "." + word, "expected true or false, found " + shown(asked));
  if (json.value("flat", false))
    view = reshaped(view, {view->elements()});
  if (json.contains("as"))
    view = HEDDLE_TRY(asExtents(view, json["as"], key + ".as"));
  if (json.value("transpose", false))
    view = transposedMatrices(view);
  if (json.contains("view"))
    view = gathered(view, HEDDLE_TRY(pickedRows(json, key, view->rows())));
  if (json.contains("rows"))
    view = gathered(view, HEDDLE_TRY(rowRange(json["rows"], key + ".rows", view->rows())));
  if (json.contains("halves"))
    view =
        gathered(view, HEDDLE_TRY(halvedRows(json["halves"], key + ".halves", *view, checkpoint)));
  if (json.contains("norm"))
    view = HEDDLE_TRY(normed(view, json["norm"], key + ".norm", checkpoint));
  if (json.contains("linear"))
    view = HEDDLE_TRY(projected(view, json["linear"], key + ".linear", checkpoint));
  if (json.contains("distances"))
    view = HEDDLE_TRY(byDistance(view, json["distances"], key + ".distances", wanted));
  if (json.contains("frozen-norm"))
    view = HEDDLE_TRY(throughNorm(view, json["frozen-norm"], key + ".frozen-norm", checkpoint));
  if (json.value("channels-last", false))
    view = HEDDLE_TRY(lastChannels(view, key + ".channels-last"));
  if (json.contains("plus"))
    view = HEDDLE_TRY(changed(view, json["plus"], key + ".plus", false, checkpoint));
  if (json.contains("times"))
    view = HEDDLE_TRY(changed(view, json["times"], key + ".times", true, checkpoint));
  return view;
}
