//===- Trie.h - Prefix tree of texts ---------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds all texts of a set that are prefixes of another text.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::tokenizers {

/// A prefix tree of byte strings with integer values.
class Trie {
public:
  Trie() = default;
  /// Builds the tree of texts with their values, which must not be negative. The last of equal
  /// texts counts.
  explicit Trie(std::vector<std::pair<std::string_view, int32_t>> texts) {
    std::ranges::stable_sort(texts, {}, &std::pair<std::string_view, int32_t>::first);
    nodes.push_back({});
    struct Open {
      uint32_t node;
      size_t first, last, depth;
    };
    // Children of a node are adjacent and ordered by their bytes.
    std::vector<Open> open = {{0, 0, texts.size(), 0}};
    for (size_t next = 0; next < open.size(); ++next) {
      auto [node, first, last, depth] = open[next];
      for (; first < last && texts[first].first.size() == depth; ++first)
        nodes[node].value = texts[first].second;
      nodes[node].children = static_cast<uint32_t>(nodes.size());
      while (first < last) {
        const char label = texts[first].first[depth];
        size_t end = first;
        while (end < last && texts[end].first[depth] == label)
          ++end;
        open.push_back({static_cast<uint32_t>(nodes.size()), first, end, depth + 1});
        nodes.push_back({.label = static_cast<uint8_t>(label)});
        first = end;
      }
      nodes[node].count = static_cast<uint16_t>(nodes.size() - nodes[node].children);
    }
    for (uint16_t i = 0; i < nodes[0].count; ++i)
      starts[nodes[nodes[0].children + i].label] = nodes[0].children + i;
  }

  /// Calls `found(bytes, value)` for each text that is a prefix of `text`, the shortest first.
  template <typename Found>
  void prefixes(std::string_view text, const Found &found) const {
    if (text.empty() || nodes.empty())
      return;
    uint32_t node = starts[static_cast<uint8_t>(text[0])];
    for (size_t at = 1; node != 0; ++at) {
      if (nodes[node].value >= 0)
        found(at, nodes[node].value);
      if (at == text.size())
        return;
      node = child(nodes[node], static_cast<uint8_t>(text[at]));
    }
  }

private:
  struct Node {
    int32_t value = -1;
    uint32_t children = 0;
    uint16_t count = 0;
    uint8_t label = 0;
  };
  uint32_t child(const Node &node, uint8_t label) const {
    const auto first = nodes.begin() + node.children, last = first + node.count;
    const auto at = std::lower_bound(
        first, last, label, [](const Node &a, uint8_t wanted) { return a.label < wanted; });
    return at == last || at->label != label ? 0 : static_cast<uint32_t>(at - nodes.begin());
  }

  std::vector<Node> nodes;
  std::array<uint32_t, 256> starts{};
};

} // namespace heddle::tokenizers
