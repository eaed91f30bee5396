//===- attention.mlir - Attention over chunks of keys ----------*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention with a softmax in base 2 per chunk of 512 keys, merged by one left fold. Keys at or
// after lengths[b] are hidden; a chunk that ends before lengths[b] has no predicate.

// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v2 | FileCheck %s
// RUN: heddle-opt %s --convert-kernel-to-cpu=isa=x86-64-v4 | FileCheck %s
// CHECK: func.func @attend(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64)
// CHECK-NOT: kernel.

kernel.func @attend(%q: !kernel.view<[d0, 12, d1|d2, 64], f32>, %k: !kernel.view<[d0, 12, d3|d4, 64], f32, panel = 16>,
                    %v: !kernel.view<[d0, 12, d3|d4, 64], f32>, %len: !kernel.view<[d0], i32>, %o: !kernel.view<[d0, d1, 768], f32>)
    scalars(d0, d1, d2, d3, d4) grid(%b = d0 by 1, %h = 12 by 1, %i = d1 by 96) attributes {plan = #kernel.plan<mapping = cpu_strips>} {
  %qh = kernel.slice %q[%b, %h] : !kernel.view<[d0, 12, d1|d2, 64], f32> -> !kernel.view<[d1|d2, 64], f32>
  %kh = kernel.slice %k[%b, %h] : !kernel.view<[d0, 12, d3|d4, 64], f32, panel = 16> -> !kernel.view<[d3|d4, 64], f32, panel = 16>
  %vh = kernel.slice %v[%b, %h] : !kernel.view<[d0, 12, d3|d4, 64], f32> -> !kernel.view<[d3|d4, 64], f32>
  %d1 = kernel.scalar "d1" : index
  %left = arith.subi %d1, %i : index
  %head = arith.constant 64 : index
  %column = arith.muli %h, %head : index
  %zero = arith.constant 0 : index
  %step = arith.constant 512 : index
  %tk = kernel.extent %kh, 0 : !kernel.view<[d3|d4, 64], f32, panel = 16>
  %len32 = kernel.read %len[%b] : !kernel.view<[d0], i32> -> i32
  %length = arith.index_cast %len32 : i32 to index
  %hi = arith.minsi %length, %tk : index
  %a0 = arith.constant dense<0.0> : tensor<96x64xf32>
  %m0 = arith.constant dense<0xFB800000> : tensor<96x1xf32>
  %l0 = arith.constant dense<0.0> : tensor<96x1xf32>
  %acc, %m, %l = scf.for %c = %zero to %hi step %step iter_args(%a = %a0, %mi = %m0, %li = %l0) -> (tensor<96x64xf32>, tensor<96x1xf32>, tensor<96x1xf32>) {
    %rest = arith.subi %hi, %c : index
    %n = arith.minsi %rest, %step : index
    %s = kernel.contract %qh[%i], %kh[%c] columns(%n) : !kernel.view<[d1|d2, 64], f32>, !kernel.view<[d3|d4, 64], f32, panel = 16> -> tensor<96x512xf32>
    %scale = arith.constant dense<0.180336878> : tensor<96x512xf32>
    %t0 = arith.mulf %s, %scale : tensor<96x512xf32>
    %partial = arith.cmpi slt, %n, %step : index
    %t = scf.if %partial -> tensor<96x512xf32> {
      %col = kernel.iota columns from %zero : tensor<96x512xi32>
      %n32 = arith.index_cast %n : index to i32
      %limit = kernel.broadcast %n32 : i32 -> tensor<96x512xi32>
      %in = arith.cmpi slt, %col, %limit : tensor<96x512xi32>
      %hidden = arith.constant dense<0xFF000000> : tensor<96x512xf32>
      %sel = arith.select %in, %t0, %hidden : tensor<96x512xi1>, tensor<96x512xf32>
      scf.yield %sel : tensor<96x512xf32>
    } else {
      scf.yield %t0 : tensor<96x512xf32>
    }
    %r = math.roundeven %t : tensor<96x512xf32>
    %rm = kernel.reduce max %r : tensor<96x512xf32> -> tensor<96x1xf32>
    %floor = arith.constant dense<0xFB800000> : tensor<96x1xf32>
    %mx = arith.maxnumf %rm, %floor : tensor<96x1xf32>
    %mb = kernel.broadcast %mx : tensor<96x1xf32> -> tensor<96x512xf32>
    %f = arith.subf %t, %r : tensor<96x512xf32>
    %k0 = arith.constant dense<0.00132764725> : tensor<96x512xf32>
    %k1 = arith.constant dense<0.00967554096> : tensor<96x512xf32>
    %k2 = arith.constant dense<0.0555071309> : tensor<96x512xf32>
    %k3 = arith.constant dense<0.240221202> : tensor<96x512xf32>
    %k4 = arith.constant dense<0.693146944> : tensor<96x512xf32>
    %k5 = arith.constant dense<1.00000012> : tensor<96x512xf32>
    %p1 = math.fma %k0, %f, %k1 : tensor<96x512xf32>
    %p2 = math.fma %p1, %f, %k2 : tensor<96x512xf32>
    %p3 = math.fma %p2, %f, %k3 : tensor<96x512xf32>
    %p4 = math.fma %p3, %f, %k4 : tensor<96x512xf32>
    %p5 = math.fma %p4, %f, %k5 : tensor<96x512xf32>
    %d = arith.subf %r, %mb : tensor<96x512xf32>
    %wc = arith.constant dense<-125.0> : tensor<96x512xf32>
    %wi = arith.fptosi %d : tensor<96x512xf32> to tensor<96x512xi32>
    %wb = arith.constant dense<127> : tensor<96x512xi32>
    %wn = arith.constant dense<23> : tensor<96x512xi32>
    %ws = arith.addi %wi, %wb : tensor<96x512xi32>
    %we = arith.shli %ws, %wn : tensor<96x512xi32>
    %wf = arith.bitcast %we : tensor<96x512xi32> to tensor<96x512xf32>
    %wz = arith.constant dense<0.0> : tensor<96x512xf32>
    %wu = arith.cmpf olt, %d, %wc : tensor<96x512xf32>
    %w = arith.select %wu, %wz, %wf : tensor<96x512xi1>, tensor<96x512xf32>
    %p = arith.mulf %p5, %w : tensor<96x512xf32>
    %sum = kernel.reduce add %p : tensor<96x512xf32> -> tensor<96x1xf32>
    %pv = kernel.contract_rows %p, %vh[%c] rows(%n) {guarded} : tensor<96x512xf32>, !kernel.view<[d3|d4, 64], f32> -> tensor<96x64xf32>
    %big = arith.maxnumf %mi, %mx : tensor<96x1xf32>
    %dx = arith.subf %mi, %big : tensor<96x1xf32>
    %dy = arith.subf %mx, %big : tensor<96x1xf32>
    %xc = arith.constant dense<-125.0> : tensor<96x1xf32>
    %xi = arith.fptosi %dx : tensor<96x1xf32> to tensor<96x1xi32>
    %xb = arith.constant dense<127> : tensor<96x1xi32>
    %xn = arith.constant dense<23> : tensor<96x1xi32>
    %xs = arith.addi %xi, %xb : tensor<96x1xi32>
    %xe = arith.shli %xs, %xn : tensor<96x1xi32>
    %xf = arith.bitcast %xe : tensor<96x1xi32> to tensor<96x1xf32>
    %xz = arith.constant dense<0.0> : tensor<96x1xf32>
    %xu = arith.cmpf olt, %dx, %xc : tensor<96x1xf32>
    %x = arith.select %xu, %xz, %xf : tensor<96x1xi1>, tensor<96x1xf32>
    %yc = arith.constant dense<-125.0> : tensor<96x1xf32>
    %yi = arith.fptosi %dy : tensor<96x1xf32> to tensor<96x1xi32>
    %yb = arith.constant dense<127> : tensor<96x1xi32>
    %yn = arith.constant dense<23> : tensor<96x1xi32>
    %ys = arith.addi %yi, %yb : tensor<96x1xi32>
    %ye = arith.shli %ys, %yn : tensor<96x1xi32>
    %yf = arith.bitcast %ye : tensor<96x1xi32> to tensor<96x1xf32>
    %yz = arith.constant dense<0.0> : tensor<96x1xf32>
    %yu = arith.cmpf olt, %dy, %yc : tensor<96x1xf32>
    %y = arith.select %yu, %yz, %yf : tensor<96x1xi1>, tensor<96x1xf32>
    %xw = kernel.broadcast %x : tensor<96x1xf32> -> tensor<96x64xf32>
    %yw = kernel.broadcast %y : tensor<96x1xf32> -> tensor<96x64xf32>
    %ax = arith.mulf %a, %xw : tensor<96x64xf32>
    %py = arith.mulf %pv, %yw : tensor<96x64xf32>
    %an = arith.addf %ax, %py : tensor<96x64xf32>
    %lx = arith.mulf %li, %x : tensor<96x1xf32>
    %sy = arith.mulf %sum, %y : tensor<96x1xf32>
    %ln = arith.addf %lx, %sy : tensor<96x1xf32>
    scf.yield %an, %big, %ln : tensor<96x64xf32>, tensor<96x1xf32>, tensor<96x1xf32>
  }
  %lz = arith.constant dense<0.0> : tensor<96x1xf32>
  %empty = arith.cmpf oeq, %l, %lz : tensor<96x1xf32>
  %emptyb = kernel.broadcast %empty : tensor<96x1xi1> -> tensor<96x64xi1>
  %lb = kernel.broadcast %l : tensor<96x1xf32> -> tensor<96x64xf32>
  %quot = arith.divf %acc, %lb : tensor<96x64xf32>
  %zeros = arith.constant dense<0.0> : tensor<96x64xf32>
  %out = arith.select %emptyb, %zeros, %quot : tensor<96x64xi1>, tensor<96x64xf32>
  kernel.store %out, %o[%b, %i, %column] rows(%left) : tensor<96x64xf32>, !kernel.view<[d0, d1, 768], f32>
}
