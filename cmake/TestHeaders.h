//===- TestHeaders.h - Common headers of tests without LLVM --- -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PlainHeaders.h and GoogleTest, precompiled once (heddle_precompile).
#pragma once

#include "PlainHeaders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
