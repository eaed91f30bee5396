//===- Targets.h - Readers that must take any bytes ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a reader of files, handed bytes that may be anything. It must come
// back: with a value or one error line. A value is used as a program would use it,
// so that a sanitiser sees what a wrong index would reach.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace heddle::fuzz {

void readProgram(std::string_view bytes);     ///< a manifest's program
void readArtifact(std::string_view bytes);    ///< a .heddle file
void readSafetensors(std::string_view bytes); ///< a checkpoint
void readNpy(std::string_view bytes);         ///< an input of `heddle run`
void readText(std::string_view bytes);        ///< a text model, or a vocabulary and a text
void readTokenizer(std::string_view bytes);   ///< a tokenizer, and after a NUL a text to be cut
void readPicture(std::string_view bytes);     ///< a PNG or JPEG file, or the steps for images
void readSound(std::string_view bytes);       ///< a WAV or FLAC file, or steps and tokens for audio
void readSize(std::string_view bytes);        ///< a size expression
void readTemplate(std::string_view bytes);    ///< a chat template, and after a NUL its variables
void readGguf(std::string_view bytes);        ///< a GGUF file: metadata, tokenizer and tensors

#if HEDDLE_FUZZ_IMPORT
void readArchitecture(
    std::string_view bytes); ///< heddle.json, config.json and tensors, NUL between
#endif

struct Target {
  std::string_view name; ///< also the folder of its inputs below test/fuzz/corpus
  void (*read)(std::string_view bytes);
};
inline constexpr Target targets[] = {
    {"program", readProgram},
    {"artifact", readArtifact},
    {"safetensors", readSafetensors},
    {"npy", readNpy},
    {"text", readText},
    {"size", readSize},
    {"tokenizer", readTokenizer},
    {"picture", readPicture},
    {"template", readTemplate},
    {"gguf", readGguf},
    {"sound", readSound},
#if HEDDLE_FUZZ_IMPORT // where LLVM is
    {"architecture", readArchitecture},
#endif
};

} // namespace heddle::fuzz
