# All lit files in one process, which shares them out to the processors; those of the examples that are of one of the five
# Transformers in entries of their own, so that `ctest -L five` has them. lit and FileCheck come with LLVM's tools.

find_program(HEDDLE_LIT NAMES lit llvm-lit HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED
  PATHS ${LLVM_TOOLS_BINARY_DIR}/../build/utils/lit)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(heddle_lit ${Python3_EXECUTABLE} ${HEDDLE_LIT} -sv --no-progress-bar --param build_dir=${CMAKE_BINARY_DIR}
  --param llvm_tools_dir=${LLVM_TOOLS_BINARY_DIR})

# heddle_lit(NAME LABELS … FILES …): the files as one test.
function(heddle_lit name)
  cmake_parse_arguments(ARG "" "" "LABELS;FILES" ${ARGN})
  add_test(NAME lit/${name} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    COMMAND ${heddle_lit} --xunit-xml-output=${CMAKE_BINARY_DIR}/test-results/lit.${name}.xml ${ARG_FILES})
  # ctest runs nothing beside it: lit takes all processors.
  cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
  set_tests_properties(lit/${name} PROPERTIES LABELS "lit;${ARG_LABELS}" PROCESSORS ${processors} TIMEOUT 1800)
endfunction()

file(GLOB_RECURSE heddle_all CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}
  ${CMAKE_CURRENT_SOURCE_DIR}/*.mlir ${CMAKE_CURRENT_SOURCE_DIR}/*.test)
list(FILTER heddle_all EXCLUDE REGEX "^(unit|Integration|goldens|models|fuzz)/")
set(heddle_r1 ${heddle_all})
list(FILTER heddle_r1 INCLUDE REGEX "^examples/(translate|classify|couplet)")
set(heddle_r4 ${heddle_all})
list(FILTER heddle_r4 INCLUDE REGEX "^examples/self-attention")
list(REMOVE_ITEM heddle_all ${heddle_r1} ${heddle_r4})
heddle_lit(R1 LABELS five R1 FILES ${heddle_r1})
heddle_lit(R4 LABELS five R4 FILES ${heddle_r4})
heddle_lit(all FILES ${heddle_all})
