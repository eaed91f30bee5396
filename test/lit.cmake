# One ctest entry a lit file, so that ctest counts and names them. lit and FileCheck come with LLVM's tools.

find_program(HEDDLE_LIT NAMES lit llvm-lit HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED
  PATHS ${LLVM_TOOLS_BINARY_DIR}/../build/utils/lit)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

file(GLOB_RECURSE heddle_lit_tests CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}
  ${CMAKE_CURRENT_SOURCE_DIR}/*.mlir ${CMAKE_CURRENT_SOURCE_DIR}/*.test)
list(FILTER heddle_lit_tests EXCLUDE REGEX "^(unit|Integration|goldens|models)/")

foreach(file ${heddle_lit_tests})
  add_test(NAME lit/${file}
    COMMAND ${Python3_EXECUTABLE} ${HEDDLE_LIT} -sv
      --param build_dir=${CMAKE_BINARY_DIR} --param llvm_tools_dir=${LLVM_TOOLS_BINARY_DIR}
      ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  set(heddle_labels lit)
  # Examples that are of one of the five Transformers: `ctest -L five` lists them by row.
  if(file MATCHES "^examples/(translate|classify|couplet)")
    set(heddle_labels lit five R1)
  elseif(file MATCHES "^examples/self-attention")
    set(heddle_labels lit five R4)
  endif()
  set_tests_properties(lit/${file} PROPERTIES LABELS "${heddle_labels}" SKIP_REGULAR_EXPRESSION "Unsupported *: 1")
endforeach()
