//===- Targets.h - Fuzz targets of readers ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function per file reader, called with arbitrary bytes. It must return a value or a one-line
// error. The function uses the value as a program would, so that a sanitizer detects wrong indices.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace heddle::fuzz {

void readProgram(std::string_view bytes);     ///< a manifest's program
void readArtifact(std::string_view bytes);    ///< a .heddle file
void readSafetensors(std::string_view bytes); ///< a checkpoint
void readPytorch(std::string_view bytes);     ///< a checkpoint of torch.save
void readNpy(std::string_view bytes);         ///< an input of `heddle run`
void readText(std::string_view bytes);        ///< a text model, or a vocabulary and a text
void readTokenizer(std::string_view bytes);   ///< a tokenizer, a NUL and a text
void readPicture(std::string_view bytes);     ///< a PNG or JPEG file, or an image preprocessor
void readSound(std::string_view bytes);       ///< a WAV or FLAC file, or a preprocessor of audio
void readSize(std::string_view bytes);        ///< a size expression
void readTemplate(std::string_view bytes);    ///< a chat template, a NUL and its variables
void readGguf(std::string_view bytes);        ///< a GGUF file: metadata, tokenizer and tensors

#if HEDDLE_FUZZ_IMPORT
void readArchitecture(
    std::string_view bytes);             ///< heddle.json, config.json and tensors, separated by NUL
void readSpeech(std::string_view bytes); ///< generation_config.json of a speech model
#endif

struct Target {
  std::string_view name; ///< also the name of its folder in test/fuzz/corpus
  void (*read)(std::string_view bytes);
};
inline constexpr Target targets[] = {
    {"program", readProgram},
    {"artifact", readArtifact},
    {"safetensors", readSafetensors},
    {"pytorch", readPytorch},
    {"npy", readNpy},
    {"text", readText},
    {"size", readSize},
    {"tokenizer", readTokenizer},
    {"picture", readPicture},
    {"template", readTemplate},
    {"gguf", readGguf},
    {"sound", readSound},
#if HEDDLE_FUZZ_IMPORT // needs LLVM
    {"architecture", readArchitecture},
    {"speech", readSpeech},
#endif
};

} // namespace heddle::fuzz
