# The installed package: find_package(Heddle COMPONENTS Compiler Runtime Generation Training). Each
# component has its own export file, so that a machine without LLVM can use all others of a
# runtime-only build.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(HEDDLE_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Heddle)

set(HEDDLE_Runtime_LIBRARIES HeddleSupport HeddlePack HeddleRuntime)
set(HEDDLE_Generation_LIBRARIES HeddleTokenizers HeddleTemplates HeddleImages HeddleAudio HeddleGeneration)
set(HEDDLE_Training_LIBRARIES HeddleTraining)
get_property(HEDDLE_Compiler_LIBRARIES GLOBAL PROPERTY HEDDLE_Compiler_LIBRARIES)

# heddle_install_component(NAME folders...): installs the libraries of the component NAME, their
# export file, and the given folders of include/heddle. Headers of lib/include are not installed.
function(heddle_install_component name)
  foreach(library ${HEDDLE_${name}_LIBRARIES})
    get_target_property(folder ${library} SOURCE_DIR)
    string(FIND "${folder}" "${CMAKE_SOURCE_DIR}/lib/" at)
    if(NOT at EQUAL 0)
      message(FATAL_ERROR "HeddleInstall: expected libraries of lib/ in the component ${name}, found ${library} of ${folder}")
    endif()
  endforeach()
  install(TARGETS ${HEDDLE_${name}_LIBRARIES} EXPORT Heddle${name}Targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${name})
  install(EXPORT Heddle${name}Targets NAMESPACE Heddle:: DESTINATION ${HEDDLE_PACKAGE_DIR} COMPONENT ${name})
  foreach(folder ${ARGN})
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/heddle/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heddle COMPONENT ${name})
  endforeach()
endfunction()

heddle_install_component(Runtime Support Runtime)
heddle_install_component(Generation Audio Generation Images Tokenizers)
heddle_install_component(Training Training)
set(HEDDLE_INSTALLED_COMPONENTS Runtime Generation Training)
install(FILES ${CMAKE_SOURCE_DIR}/include/heddle/Version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heddle COMPONENT Runtime)
install(TARGETS heddle-run RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT Runtime)

if(NOT HEDDLE_RUNTIME_ONLY)
  heddle_install_component(Compiler Compiler ExecutionEngine Import Pipelines)
  list(APPEND HEDDLE_INSTALLED_COMPONENTS Compiler)
  # The loader does not search LLVM's folder.
  set_target_properties(heddle heddle-opt heddle-lsp-server PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS heddle RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT Compiler)
  # Development tools are optional, because scripts/demo does not build them.
  install(TARGETS heddle-opt heddle-lsp-server RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT Compiler OPTIONAL)
endif()

get_filename_component(HEDDLE_OPENMP_FOLDER ${HEDDLE_OPENMP_LIBRARY} DIRECTORY)
# find_package also searches the top of the build if build/bin is in PATH, so the files go to a
# subfolder.
set(heddle_package_files ${CMAKE_BINARY_DIR}/package/files)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/HeddleConfig.cmake.in ${heddle_package_files}/HeddleConfig.cmake
  INSTALL_DESTINATION ${HEDDLE_PACKAGE_DIR})
write_basic_package_version_file(${heddle_package_files}/HeddleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${heddle_package_files}/HeddleConfig.cmake ${heddle_package_files}/HeddleConfigVersion.cmake
  DESTINATION ${HEDDLE_PACKAGE_DIR} COMPONENT Runtime)

# An installed tree must work with a different compiler. Builds with sanitisers are an exception,
# because sanitisers tie code to their compiler.
set(heddle_install_tree ${CMAKE_BINARY_DIR}/install-tree)
if(HEDDLE_BUILD_TESTS)
  add_test(NAME install/tree COMMAND ${CMAKE_COMMAND} --install ${CMAKE_BINARY_DIR} --prefix ${heddle_install_tree})
  set_tests_properties(install/tree PROPERTIES FIXTURES_SETUP install-tree LABELS Install)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_test(NAME install/headers
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/test/integration/install/headers.py ${CMAKE_CXX_COMPILER} ${heddle_install_tree}/include)
  set_tests_properties(install/headers PROPERTIES FIXTURES_REQUIRED install-tree LABELS Install)
  set(heddle_other_compiler clang++-22)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(heddle_other_compiler g++)
  endif()
  find_program(HEDDLE_OTHER_COMPILER ${heddle_other_compiler})
  set(heddle_examples "chat\;sentence-embedding\;train\;transcribe\;translate")
  if(NOT HEDDLE_RUNTIME_ONLY)
    string(APPEND heddle_examples "\;embed")
  endif()
  if(HEDDLE_OTHER_COMPILER AND NOT CMAKE_CXX_FLAGS_DEBUG MATCHES "-fsanitize")
    add_test(NAME install/other-compiler
      COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${CMAKE_SOURCE_DIR}/test/integration/install ${CMAKE_BINARY_DIR}/examples/other-compiler
        --build-generator ${CMAKE_GENERATOR}
        --build-options -DCMAKE_PREFIX_PATH=${heddle_install_tree} -DCMAKE_CXX_COMPILER=${HEDDLE_OTHER_COMPILER}
        -DEXAMPLES=${heddle_examples}
        --test-command ${CMAKE_CTEST_COMMAND} --output-on-failure)
    set_tests_properties(install/other-compiler PROPERTIES FIXTURES_REQUIRED install-tree LABELS Install TIMEOUT 600)
  endif()
endif()
if(HEDDLE_BUILD_TESTS AND NOT HEDDLE_RUNTIME_ONLY)
  add_test(NAME install/after-demo COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/test/integration/install/after-demo.py ${CMAKE_BINARY_DIR})
  set_tests_properties(install/after-demo PROPERTIES LABELS Install)
endif()

# Examples are built against an installed tree, as a user builds them, and run as tests.
if(HEDDLE_BUILD_TESTS AND NOT HEDDLE_RUNTIME_ONLY)
  # heddle_installed_example(NAME arguments...): builds the example NAME against the installed tree
  # and runs it with the arguments as a test.
  function(heddle_installed_example name)
    add_test(NAME install/${name}
      COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${CMAKE_SOURCE_DIR}/examples/${name} ${CMAKE_BINARY_DIR}/examples/${name}
        --build-generator ${CMAKE_GENERATOR}
        --build-options -DCMAKE_PREFIX_PATH=${heddle_install_tree} -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE}
        -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS}
        -DCMAKE_EXE_LINKER_FLAGS=${CMAKE_EXE_LINKER_FLAGS} # flags of the sanitisers
        --test-command ${CMAKE_BINARY_DIR}/examples/${name}/${name} ${ARGN}) # must be last
    set_tests_properties(install/${name} PROPERTIES FIXTURES_REQUIRED install-tree LABELS Install TIMEOUT 600)
  endfunction()
  heddle_installed_example(embed)
  add_test(NAME install/sentences
    COMMAND heddle compile ${CMAKE_SOURCE_DIR}/test/data/folders/sentences -o ${CMAKE_BINARY_DIR}/sentences.heddle --target=cpu --cpu=native)
  set_tests_properties(install/sentences PROPERTIES FIXTURES_SETUP install-tree LABELS Install)
  heddle_installed_example(sentence-embedding ${CMAKE_BINARY_DIR}/sentences.heddle "blue and red" "red and blue")
  # The similarity that the guide shows for `heddle similarity`.
  set_tests_properties(install/sentence-embedding PROPERTIES PASS_REGULAR_EXPRESSION "\n0\\.97729[0-9]\n")
  add_test(NAME install/train-model
    COMMAND heddle compile ${CMAKE_SOURCE_DIR}/examples/classify --training -o ${CMAKE_BINARY_DIR}/train.heddle --cpu=native)
  set_tests_properties(install/train-model PROPERTIES FIXTURES_SETUP install-tree LABELS Install)
  heddle_installed_example(train ${CMAKE_BINARY_DIR}/train.heddle ${CMAKE_BINARY_DIR}/train.safetensors)
  # A decoder with random weights, a tokenizer and a chat template. Its text has no meaning, but is
  # always the same.
  set(heddle_chat_folder ${CMAKE_BINARY_DIR}/chat-folder)
  file(COPY ${CMAKE_SOURCE_DIR}/test/data/folders/qwen3-decoder/config.json ${CMAKE_SOURCE_DIR}/test/data/folders/qwen3-decoder/model.safetensors
    ${CMAKE_SOURCE_DIR}/test/data/folders/sentences/tokenizer.json DESTINATION ${heddle_chat_folder})
  file(WRITE ${heddle_chat_folder}/chat_template.jinja "{% for m in messages %}{{ m.content }} {% endfor %}b")
  add_test(NAME install/chat-model
    COMMAND heddle compile ${heddle_chat_folder} -o ${CMAKE_BINARY_DIR}/chat.heddle --target=cpu --cpu=native)
  set_tests_properties(install/chat-model PROPERTIES FIXTURES_SETUP install-tree LABELS Install)
  heddle_installed_example(chat ${CMAKE_BINARY_DIR}/chat.heddle)
  set_tests_properties(install/chat PROPERTIES FIXTURES_SETUP chat-example)
  add_test(NAME install/chat-answers COMMAND sh -c "echo cab | ${CMAKE_BINARY_DIR}/examples/chat/chat ${CMAKE_BINARY_DIR}/chat.heddle")
  set_tests_properties(install/chat-answers PROPERTIES FIXTURES_REQUIRED "install-tree;chat-example" LABELS Install
    PASS_REGULAR_EXPRESSION "^ ##g ##g ##j ##g ")
  # A small Marian model with random weights, in the layout of OPUS-MT's folders. The expected text
  # comes from Transformers.
  set(heddle_marian_folder ${CMAKE_BINARY_DIR}/marian-folder)
  # Both folders have a config.json. file(COPY) keeps the first one if the second is equally old, so
  # the first copy excludes it.
  file(COPY ${CMAKE_SOURCE_DIR}/test/data/tokenizers/folders/marian/ DESTINATION ${heddle_marian_folder} PATTERN config.json EXCLUDE)
  file(COPY ${CMAKE_SOURCE_DIR}/test/data/languages/marian/ DESTINATION ${heddle_marian_folder})
  add_test(NAME install/marian-model
    COMMAND heddle compile ${heddle_marian_folder} -o ${CMAKE_BINARY_DIR}/marian.heddle --target=cpu --cpu=native)
  set_tests_properties(install/marian-model PROPERTIES FIXTURES_SETUP install-tree LABELS Install)
  heddle_installed_example(translate ${CMAKE_BINARY_DIR}/marian.heddle ">>deu<< the quick brown fox jumps over the lazy dog" "def compute(values): return 3")
  set_tests_properties(install/translate PROPERTIES PASS_REGULAR_EXPRESSION
    "\n! is is 2024, \\( \\(na \\(일 isት សួស្តី\n\\( is is \\( \\(έ \\( مرحبا \\(na \\( s\n")
  # A small Whisper model with random weights, and a recording.
  add_test(NAME install/speech-model
    COMMAND heddle compile ${CMAKE_SOURCE_DIR}/test/data/speech/tiny -o ${CMAKE_BINARY_DIR}/speech.heddle --target=cpu --cpu=native)
  set_tests_properties(install/speech-model PROPERTIES FIXTURES_SETUP install-tree LABELS Install)
  heddle_installed_example(transcribe ${CMAKE_BINARY_DIR}/speech.heddle ${CMAKE_SOURCE_DIR}/test/data/audio/voice.wav de)
  set_tests_properties(install/transcribe PROPERTIES PASS_REGULAR_EXPRESSION "\n\\[00:00:00\\.[0-9]+ --> ")
endif()
