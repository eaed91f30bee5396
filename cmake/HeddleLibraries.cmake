# The few functions by which every library, tool and test of the project is declared.

# Warnings are errors in our own code only; LLVM's and Vulkan's headers are system headers.
function(heddle_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Werror=return-type
    # Clang blames our call for what libstdc++'s stable_sort does inside.
    $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
endfunction()

# heddle_headers(NAME HEADER.h [SYSTEM folders...] [LINK targets...] [OPTIONS options...]): the target NAME, the headers that HEADER.h includes
# compiled once for every target that heddle_precompile gives NAME.
function(heddle_headers name header)
  cmake_parse_arguments(ARG "" "" "SYSTEM;LINK;OPTIONS" ${ARGN})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Holds nothing: its target owns the precompiled headers.\n")
  add_library(${name} OBJECT ${source})
  target_include_directories(${name} SYSTEM PRIVATE ${ARG_SYSTEM})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  heddle_compile_options(${name})
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/${header})
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    # The compiler cache compares contents, so the date of a header must not enter what is precompiled.
    target_compile_options(${name} PRIVATE -Xclang -fno-pch-timestamp)
  endif()
endfunction()

# heddle_precompile(TARGET HEADERS): the files of TARGET begin with the headers of the target HEADERS. Definitions and
# warnings may differ between the two; optimisation, OpenMP and whether code is position-independent may not, so
# executables are compiled as libraries are.
function(heddle_precompile target headers)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

# heddle_library(NAME sources... LINK targets...): a static library that never includes llvm/ or mlir/.
function(heddle_library name)
  cmake_parse_arguments(ARG "" "COMPONENT" "LINK;PRIVATE_LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_link_libraries(${name} PUBLIC ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK})
  heddle_compile_options(${name})
  add_library(Heddle::${name} ALIAS ${name})
  if(ARG_COMPONENT)
    set_property(GLOBAL APPEND PROPERTY HEDDLE_${ARG_COMPONENT}_LIBRARIES ${name})
  endif()
endfunction()

set(HEDDLE_COMPACT_OPTIONS -Os -ffunction-sections -fdata-sections)

# heddle_compact(NAME [HOT files...]): code that heddle-run ships with, small enough to stay under 1 MB in all, but for the
# files that are hot.
function(heddle_compact name)
  cmake_parse_arguments(ARG "" "" "HOT" ${ARGN})
  target_compile_options(${name} PRIVATE ${HEDDLE_COMPACT_OPTIONS})
  heddle_precompile(${name} HeddleCompactHeaders)
  set_source_files_properties(${ARG_HOT} PROPERTIES COMPILE_OPTIONS -O2 SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# heddle_mlir_library(NAME sources... LINK targets... DEPENDS tablegen-targets...): the compiler's side, part of the component Compiler.
function(heddle_mlir_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  heddle_library(${name} ${ARG_UNPARSED_ARGUMENTS} LINK ${ARG_LINK} MLIR LLVM COMPONENT Compiler)
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include>)
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  heddle_precompile(${name} HeddleMlirHeaders)
endfunction()

# heddle_embed(NAME files...): the text of each file as a raw string literal, to be included as FILE.inc.
function(heddle_embed target)
  foreach(file ${ARGN})
    file(READ ${file} text)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(CONFIGURE OUTPUT ${file}.inc CONTENT "R\"text(@text@)text\"" @ONLY)
  endforeach()
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()

# heddle_tool(NAME sources... LINK targets...)
function(heddle_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  heddle_compile_options(${name})
endfunction()

# heddle_gtest(TEST PROGRAM [SHARDS n] [FILTER text] [LABELS …] [PROPERTIES name value …]): tests of a GoogleTest program as one
# entry of ctest, or as `n` that share them: a process runs many tests, so that starting one and loading LLVM is paid once.
# What each test said is written to test-results, where scripts/count-tests reads it.
function(heddle_gtest test program)
  cmake_parse_arguments(ARG "" "FILTER;SHARDS" "LABELS;PROPERTIES;ENVIRONMENT" ${ARGN})
  set(arguments)
  if(ARG_FILTER)
    set(arguments --gtest_filter=${ARG_FILTER})
  endif()
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    set(entry ${test})
    if(ARG_SHARDS GREATER 1)
      string(APPEND entry .${shard})
    endif()
    string(REPLACE / . file ${entry})
    add_test(NAME ${entry}
      COMMAND ${program} --gtest_brief=1 --gtest_output=xml:${CMAKE_BINARY_DIR}/test-results/${file}.xml ${arguments})
    math(EXPR index "${shard} - 1")
    set_tests_properties(${entry} PROPERTIES TIMEOUT 1200 LABELS "${ARG_LABELS}" ${ARG_PROPERTIES})
    set_property(TEST ${entry} APPEND PROPERTY ENVIRONMENT GTEST_TOTAL_SHARDS=${ARG_SHARDS} GTEST_SHARD_INDEX=${index} ${ARG_ENVIRONMENT})
  endforeach()
endfunction()

# heddle_unit_test(NAME sources... LINK targets... [SHARDS n] [LABELS text] [HEADERS target]): one GoogleTest program of a
# library's tests.
function(heddle_unit_test name)
  cmake_parse_arguments(ARG "" "SHARDS;HEADERS" "LINK;LABELS" ${ARGN})
  if(NOT ARG_HEADERS)
    set(ARG_HEADERS HeddleTestHeaders)
  endif()
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest_main GTest::gmock)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/test)
  target_compile_definitions(${name} PRIVATE HEDDLE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" HEDDLE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  heddle_compile_options(${name})
  heddle_precompile(${name} ${ARG_HEADERS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  heddle_gtest(unit/${name} ${name} LABELS unit ${ARG_LABELS} SHARDS ${ARG_SHARDS})
endfunction()

# heddle_mlir_unit_test(NAME sources... LINK targets...): one of the compiler's side.
function(heddle_mlir_unit_test name)
  heddle_unit_test(${name} ${ARGN} HEADERS HeddleMlirTestHeaders)
  target_include_directories(${name} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
endfunction()
