//===- ZipFormat.h - Binary layout of ZIP files -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Canonical ZIP layout of members: their places, their local headers, and the directory. The writer
// writes these bytes, and the reader compares with them.
#pragma once

#include "heddle/Support/Container.h"

namespace heddle::zip {

inline constexpr uint32_t localSignature = 0x04034b50;
inline constexpr uint32_t directorySignature = 0x02014b50;
inline constexpr uint32_t endSignature = 0x06054b50;
inline constexpr uint32_t end64Signature = 0x06064b50;
inline constexpr uint32_t locatorSignature = 0x07064b50;
inline constexpr uint64_t localSize = 30, end64Size = 56;
/// Extra fields: sizes of 64 bits, and a member's alignment followed by padding (as Android's tools
/// write it).
inline constexpr uint16_t wideExtra = 0x0001, alignmentExtra = 0xd935;
/// Marker values: a 32-bit field with this value, or a 16-bit field of all ones, refers to a 64-bit
/// field elsewhere.
inline constexpr uint64_t full32 = 0xffffffff, full16 = 0xffff;

/// Storage methods of a member.
inline constexpr uint64_t methodStored = 0, methodDeflated = 8;

/// Checks that name and alignment have the form that the writer uses.
Status checkMember(const ContainerMember &member);

/// Start and end of a member's local header; its data follow.
struct Extent {
  uint64_t header = 0, data = 0;
};
/// Place of a member whose predecessor ends at `start`.
Extent placeMember(const ContainerMember &member, uint64_t start);

std::vector<std::byte> localHeader(const ContainerMember &member, Extent place);

/// Central directory and end records, starting at `offset`. `members` have their offsets.
std::vector<std::byte> directory(const std::vector<ContainerMember> &members, uint64_t offset);

} // namespace heddle::zip
