#version 450
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// z = x + y as in add.comp, with so many scalars (30) that a block holds their
// words.
layout(local_size_x = 16) in;
layout(push_constant) uniform Push { int baseZ, baseY, baseX; } push;
layout(set = 0, binding = 0) buffer Memory { vec4 memory[]; };
layout(set = 0, binding = 3) readonly buffer Words { ivec4 words[9]; };
void main() {
  int i = (int(gl_WorkGroupID.z) + push.baseZ) * 16 + int(gl_LocalInvocationID.x);
  int x = words[7].z, y = words[7].w, z = words[8].x;
  if (i * 4 < words[0].x)
    memory[z + i] = memory[x + i] + memory[y + i];
}
