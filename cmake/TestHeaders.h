//===- TestHeaders.h - What tests without LLVM have in common --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PlainHeaders.h and GoogleTest, compiled once (heddle_precompile).
#pragma once

#include "PlainHeaders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
