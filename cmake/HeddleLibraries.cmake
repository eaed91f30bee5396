# Functions that declare every library, tool and test of the project.

# Warnings apply to our own code. Headers of LLVM and Vulkan are system headers.
function(heddle_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Werror=return-type
    # Clang reports a deprecated call inside libstdc++'s stable_sort at our call.
    $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
endfunction()

# heddle_headers(NAME HEADER.h [SYSTEM folders...] [LINK targets...] [OPTIONS options...]): declares
# the target NAME, which precompiles HEADER.h. heddle_precompile shares the result with other
# targets.
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
    # The compiler cache compares contents, so a precompiled header must not contain a timestamp.
    target_compile_options(${name} PRIVATE -Xclang -fno-pch-timestamp)
  endif()
endfunction()

# heddle_precompile(TARGET HEADERS): gives TARGET the precompiled headers of the target HEADERS.
# Both may differ in definitions and warnings, but not in optimisation, OpenMP or
# position-independent code. Executables are therefore compiled like libraries.
function(heddle_precompile target headers)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

# heddle_apart(files...): compiles each file alone in unity builds, because it declares names that
# other files of its target declare as well.
function(heddle_apart)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# heddle_library(NAME sources... [LINK targets...] [PRIVATE_LINK targets...] [COMPONENT name]):
# declares a static library. Its sources include no headers of LLVM or MLIR unless
# heddle_mlir_library declares it. COMPONENT adds it to a component of the installed package.
function(heddle_library name)
  cmake_parse_arguments(ARG "" "COMPONENT" "LINK;PRIVATE_LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/lib/include>
    $<INSTALL_INTERFACE:include>)
  target_link_libraries(${name} PUBLIC ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK})
  heddle_compile_options(${name})
  add_library(Heddle::${name} ALIAS ${name})
  if(ARG_COMPONENT)
    set_property(GLOBAL APPEND PROPERTY HEDDLE_${ARG_COMPONENT}_LIBRARIES ${name})
  endif()
endfunction()

set(HEDDLE_COMPACT_OPTIONS -Os -ffunction-sections -fdata-sections)

# heddle_compact(NAME [HOT files...]): optimises a library of heddle-run for size, except its HOT
# files. heddle-run must stay below 1 MB.
function(heddle_compact name)
  cmake_parse_arguments(ARG "" "" "HOT" ${ARGN})
  target_compile_options(${name} PRIVATE ${HEDDLE_COMPACT_OPTIONS})
  heddle_precompile(${name} HeddleCompactHeaders)
  set_source_files_properties(${ARG_HOT} PROPERTIES COMPILE_OPTIONS -O2 SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# heddle_mlir_library(NAME sources... [LINK targets...] [DEPENDS tablegen-targets...]): declares a
# library of the compiler, a part of the component Compiler.
function(heddle_mlir_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  heddle_library(${name} ${ARG_UNPARSED_ARGUMENTS} LINK ${ARG_LINK} MLIR LLVM COMPONENT Compiler)
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/lib/include>)
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  heddle_precompile(${name} HeddleMlirHeaders)
endfunction()

# heddle_embed(NAME files...): writes the text of each file as a raw string literal, which sources
# of NAME include as FILE.inc.
function(heddle_embed target)
  foreach(file ${ARGN})
    file(READ ${file} text)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(CONFIGURE OUTPUT ${file}.inc CONTENT "R\"text(@text@)text\"" @ONLY)
  endforeach()
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()

# heddle_tool(NAME sources... [LINK targets...]): declares a program.
function(heddle_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  heddle_compile_options(${name})
endfunction()

# heddle_gtest(TEST PROGRAM [SHARDS n] [FILTER text] [LABELS …] [PROPERTIES name value …]
# [ENVIRONMENT …]): declares tests of a GoogleTest program as one entry of ctest, or as `n` entries
# that share them. A process runs many tests, so that it starts and loads LLVM only once. The
# reports go to test-results, where scripts/count-tests reads them.
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

# heddle_unit_test(NAME sources... LINK targets... [SHARDS n] [LABELS text] [HEADERS target]):
# declares the GoogleTest program of a library.
function(heddle_unit_test name)
  cmake_parse_arguments(ARG "" "SHARDS;HEADERS" "LINK;LABELS" ${ARGN})
  if(NOT ARG_HEADERS)
    set(ARG_HEADERS HeddleTestHeaders)
  endif()
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest_main GTest::gmock)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/test/support)
  target_compile_definitions(${name} PRIVATE HEDDLE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" HEDDLE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  heddle_compile_options(${name})
  heddle_precompile(${name} ${ARG_HEADERS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  heddle_gtest(unit/${name} ${name} LABELS unit ${ARG_LABELS} SHARDS ${ARG_SHARDS})
endfunction()

# heddle_mlir_unit_test(NAME sources... LINK targets...): declares the GoogleTest program of a
# compiler library.
function(heddle_mlir_unit_test name)
  heddle_unit_test(${name} ${ARGN} HEADERS HeddleMlirTestHeaders)
  target_include_directories(${name} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
endfunction()
