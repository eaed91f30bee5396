#version 450
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// z = x + y over n elements, 64 in each workgroup.
layout(local_size_x = 16) in;
layout(push_constant) uniform Push { int n, x, y, z, baseZ, baseY, baseX; } push;
layout(set = 0, binding = 0) buffer Memory { vec4 memory[]; };
void main() {
  int i = (int(gl_WorkGroupID.z) + push.baseZ) * 16 + int(gl_LocalInvocationID.x);
  if (i * 4 < push.n)
    memory[push.z + i] = memory[push.x + i] + memory[push.y + i];
}
