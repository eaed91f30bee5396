//===- Picture.h - HTML pages of drawings ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HTML page of `heddle explain --tiles` and `--positions`.
#pragma once

#include "heddle/Support/Svg.h"

namespace heddle {

/// HTML page with a drawing and a text below it.
inline std::string picturePage(std::string_view title, const std::string &drawing,
                               std::string_view text) {
  constexpr const char *page =
#include "Picture.html.inc"
      ;
  return htmlPage(page, title, drawing + "<pre>" + escapedHtml(text) + "</pre>\n");
}

} // namespace heddle
