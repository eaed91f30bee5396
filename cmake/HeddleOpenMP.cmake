# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# OpenMP by the compiler's flag instead of the library's path: LLVM's folder holds another library under the name of
# GCC's, and CMake would warn of it at every program.
include(CMakeFindDependencyMacro)
find_dependency(OpenMP COMPONENTS CXX)
set_target_properties(OpenMP::OpenMP_CXX PROPERTIES
  INTERFACE_LINK_LIBRARIES "" INTERFACE_LINK_OPTIONS "${OpenMP_CXX_FLAGS}")
