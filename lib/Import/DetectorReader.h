//===- DetectorReader.h - Reading images and detectors ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Description.h"

namespace heddle {

/// Reads `source.images`, images of any size.
void readImages(SideDescription &side, ErrorSink &errors);
/// Reads the section `detector` of a description whose stacks are read, and checks that they are
/// those of a detector. A description without the section may not have images of any size.
void readDetector(Description &model, ErrorSink &errors);

} // namespace heddle
