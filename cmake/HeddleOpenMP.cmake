# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Links OpenMP by the compiler's flag instead of the library's path. LLVM's folder contains another
# library with the name of GCC's, and CMake would warn for every program. The installed package uses
# the path, because a program may use another compiler (HeddleConfig.cmake.in).
find_package(OpenMP REQUIRED COMPONENTS CXX)
set_target_properties(OpenMP::OpenMP_CXX PROPERTIES
  INTERFACE_LINK_LIBRARIES "" INTERFACE_LINK_OPTIONS "${OpenMP_CXX_FLAGS}")
# FindOpenMP lists libraries in the order of the linker's line. The first one is OpenMP's own: "omp"
# or "gomp".
list(GET OpenMP_CXX_LIB_NAMES 0 HEDDLE_OPENMP_NAME)
set(HEDDLE_OPENMP_LIBRARY ${OpenMP_${HEDDLE_OPENMP_NAME}_LIBRARY})
