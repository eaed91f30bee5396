//===- Picture.h - Drawings in pages ---------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Support/Svg.h"

namespace heddle {

/// A page of a drawing and what it says, as text.
inline std::string picturePage(std::string_view title, const std::string &drawing,
                               std::string_view text) {
  constexpr const char *page =
#include "Picture.html.inc"
      ;
  return htmlPage(page, title, drawing + "<pre>" + escapedHtml(text) + "</pre>\n");
}

} // namespace heddle
