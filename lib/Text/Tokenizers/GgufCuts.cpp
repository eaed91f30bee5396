//===- GgufCuts.cpp - Names of pre-tokenizers in GGUF files ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pre-tokenizers of GGUF files, which name them by one word. The steps are the
// model's own where its tokenizer.json is known. The others are llama.cpp's
// (llama-vocab.cpp), with which GgufGoldenTest.cpp compares.
#include "GgufCuts.h"

#include "TokenizerJson.h"

#include "heddle/Support/Try.h"

#include <algorithm>

namespace heddle::tokenizers {

namespace {

constexpr const char *gpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char *llama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *o200kWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *tekkenWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr const char *qwen35Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *jais2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
    R"(\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|)"
    R"(\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})";
constexpr const char *bailingWords =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr const char *seedWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *plainWords = // Qwen's without English contractions
    R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *exaoneMoeWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr const char *minicpmWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *bloomWords =
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)";

// Youtu: scripts first, then words as in o200k, with digits one by one.
constexpr const char *youtuScripts =
    R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|)"
    R"([\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}\x{FF1A}\x{FF1B}\x{FF0C}\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|)"
    R"([\x{3105}-\x{312F}]+|[\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr const char *youtuWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// DeepSeek: several expressions, one after the other.
constexpr const char *deepseekLetters = // letters that have case
    R"(\s?[)"
    R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF})"
    R"(\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1})"
    R"(\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5})"
    R"(\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77})"
    R"(\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D})"
    R"(\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE})"
    R"(\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC})"
    R"(\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124})"
    R"(\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E})"
    R"(\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D})"
    R"(\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF})"
    R"(\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F})"
    R"(\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF})"
    R"(\x{1E900}-\x{1E943})"
    R"(]+)";
constexpr const char *deepseekMarks =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
constexpr const char *deepseekHan = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr const char *deepseekWords =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr const char *sparkWords =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)";

constexpr CutStep gpt2Steps[] = {{CutKind::WordsAndBytes}};
constexpr CutStep digitSteps[] = {{CutKind::EachDigit}, {CutKind::WordsAndBytes}};
constexpr CutStep qwenSteps[] = {{CutKind::Split, qwenWords}, {CutKind::Bytes}};
constexpr CutStep llama3Steps[] = {{CutKind::Split, llama3Words}, {CutKind::Bytes}};
constexpr CutStep o200kSteps[] = {{CutKind::Split, o200kWords}, {CutKind::Bytes}};
constexpr CutStep tekkenSteps[] = {{CutKind::Split, tekkenWords}, {CutKind::Bytes}};
constexpr CutStep qwen35Steps[] = {{CutKind::Split, qwen35Words}, {CutKind::Bytes}};
constexpr CutStep jais2Steps[] = {{CutKind::Split, jais2Words}, {CutKind::Bytes}};
constexpr CutStep bailingSteps[] = {{CutKind::Split, bailingWords}, {CutKind::Bytes}};
constexpr CutStep seedSteps[] = {{CutKind::Split, seedWords}, {CutKind::Bytes}};
constexpr CutStep plainSteps[] = {{CutKind::Split, plainWords}, {CutKind::Bytes}};
constexpr CutStep lagunaSteps[] = {
    {CutKind::Split, R"([^\n]+|[\n]+)"}, {CutKind::Split, qwenWords}, {CutKind::Bytes}};
constexpr CutStep exaoneMoeSteps[] = {{CutKind::Split, exaoneMoeWords}, {CutKind::Bytes}};
constexpr CutStep minicpmSteps[] = {
    {CutKind::Split, R"(\p{N}{1,3})"}, {CutKind::Split, minicpmWords}, {CutKind::Bytes}};
constexpr CutStep ayaSteps[] = {
    {CutKind::Split, R"(\d{1,3}(?=(?:\d{3})*\b))"}, {CutKind::Split, o200kWords}, {CutKind::Bytes}};
constexpr CutStep youtuSteps[] = {
    {CutKind::Split, youtuScripts}, {CutKind::Split, youtuWords}, {CutKind::Bytes}};
constexpr CutStep bloomSteps[] = {{CutKind::Split, bloomWords}, {CutKind::Bytes}};
constexpr CutStep vikingSteps[] = {
    {CutKind::Split, bloomWords}, {CutKind::Split, R"(\p{N})"}, {CutKind::Bytes}};
// llama.cpp's fallback for unknown models.
constexpr CutStep defaultSteps[] = {{CutKind::Split, R"([\p{P}\$\+<=>\^~\|]+)"},
                                    {CutKind::Split, gpt2Words},
                                    {CutKind::Digits},
                                    {CutKind::Split, "[0-9][0-9][0-9]"},
                                    {CutKind::Bytes}};
constexpr CutStep falconSteps[] = {{CutKind::Punctuation},
                                   {CutKind::WordsAndBytes},
                                   {CutKind::Digits},
                                   {CutKind::Split, "[0-9][0-9][0-9]"}};
constexpr CutStep deepseekLlmSteps[] = {{CutKind::Split, R"([\r\n])"},
                                        {CutKind::Split, deepseekLetters},
                                        {CutKind::Split, deepseekMarks},
                                        {CutKind::Split, R"(\s+$)"},
                                        {CutKind::Split, deepseekHan},
                                        {CutKind::EachDigit},
                                        {CutKind::Bytes}};
constexpr CutStep deepseekCoderSteps[] = {{CutKind::Split, R"([\r\n])"},
                                          {CutKind::Split, R"(\s?\p{L}+)"},
                                          {CutKind::Split, R"(\s?\p{P}+)"},
                                          {CutKind::Split, deepseekHan},
                                          {CutKind::EachDigit},
                                          {CutKind::Bytes}};
constexpr CutStep deepseek3Steps[] = {
    {CutKind::Split, R"(\p{N}{1,3})"},
    {CutKind::Split, R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)"},
    {CutKind::Split, deepseekWords},
    {CutKind::Bytes}};

constexpr CutStep spark2Steps[] = {
    {CutKind::Split, R"(\p{N}{1,3})"},
    {CutKind::Split, R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)"},
    {CutKind::Split, sparkWords},
    {CutKind::Split, R"(\p{N})"},
    {CutKind::Bytes}};

constexpr GgufCut cuts[] = {{"gpt-2", gpt2Steps},
                            {"gpt2", gpt2Steps},
                            {"phi-2", gpt2Steps},
                            {"exaone4", gpt2Steps},
                            {"jina-es", gpt2Steps},
                            {"jina-de", gpt2Steps},
                            {"jina-v2-es", gpt2Steps},
                            {"jina-v2-de", gpt2Steps},
                            {"gigachat", gpt2Steps},
                            {"a.x-4.0", gpt2Steps},
                            {"mellum", gpt2Steps},
                            {"jais", gpt2Steps},
                            {"trillion", gpt2Steps},
                            {"granite-docling", gpt2Steps},
                            {"roberta-bpe", gpt2Steps, separates},
                            {"jina-v1-en", gpt2Steps, separates},
                            {"jina-v2-code", gpt2Steps, separates},
                            {"modern-bert", gpt2Steps, composes},
                            {"mpt", gpt2Steps, composes},
                            {"olmo", gpt2Steps, composes},
                            {"smollm", digitSteps},
                            {"starcoder", digitSteps},
                            {"refact", digitSteps},
                            {"codeshell", digitSteps},
                            {"exaone", digitSteps},
                            {"minerva-7b", digitSteps},
                            {"mellum2", digitSteps},
                            {"command-r", digitSteps, composes},
                            {"qwen2", qwenSteps, composes},
                            {"qwen35", qwen35Steps, composes},
                            {"deepseek-r1-qwen", qwenSteps},
                            {"kormo", qwenSteps},
                            {"f2llmv2", qwenSteps},
                            {"megrez", qwenSteps},
                            {"hunyuan", qwenSteps},
                            {"solar-open", qwenSteps},
                            {"grok-2", qwenSteps},
                            {"stablelm2", qwenSteps},
                            {"laguna", lagunaSteps},
                            {"ufakzeka", plainSteps},
                            {"llama-bpe", llama3Steps, wholeWords | starts},
                            {"llama-v3", llama3Steps, wholeWords | starts},
                            {"llama3", llama3Steps, wholeWords | starts},
                            {"falcon3", llama3Steps, wholeWords | starts},
                            {"falcon-h1", llama3Steps, wholeWords | starts},
                            {"pixtral", llama3Steps, wholeWords | starts},
                            {"midm-2.0", llama3Steps, wholeWords | starts},
                            {"lfm2", llama3Steps, wholeWords | starts},
                            {"jina-v5-nano", llama3Steps, wholeWords | starts},
                            {"smaug-bpe", llama3Steps},
                            {"dbrx", llama3Steps},
                            {"glm4", llama3Steps, wholeWords},
                            {"glm5", llama3Steps, wholeWords},
                            {"chatglm-bpe", llama3Steps},
                            {"jais-2", jais2Steps},
                            {"minicpm5", minicpmSteps, wholeWords},
                            {"bailingmoe", bailingSteps},
                            {"bailingmoe2", bailingSteps},
                            {"llada-moe", bailingSteps},
                            {"seed-coder", seedSteps},
                            {"exaone-moe", exaoneMoeSteps},
                            {"gpt-4o", o200kSteps},
                            {"llama4", o200kSteps},
                            {"kanana2", o200kSteps},
                            {"talkie", o200kSteps},
                            {"minimax-m2", o200kSteps},
                            {"granite-embed-multi-97m", o200kSteps, wholeWords},
                            {"tiny_aya", ayaSteps},
                            {"cohere2moe", ayaSteps},
                            {"tekken", tekkenSteps, wholeWords | starts},
                            {"bloom", bloomSteps},
                            {"poro-chat", bloomSteps},
                            {"gpt3-finnish", bloomSteps},
                            {"viking", vikingSteps},
                            {"falcon", falconSteps},
                            {"deepseek-llm", deepseekLlmSteps},
                            {"deepseek-coder", deepseekCoderSteps},
                            {"deepseek-v3", deepseek3Steps},
                            {"hunyuan-dense", deepseek3Steps},
                            {"joyai-llm", deepseek3Steps},
                            {"hy_v4", deepseek3Steps},
                            {"spark2_5", spark2Steps},
                            {"youtu", youtuSteps, wholeWords}};
constexpr GgufCut defaultCut = {"default", defaultSteps};

Json stepJson(const CutStep &step, bool prefix) {
  switch (step.kind) {
  case CutKind::Split:
    return splitJson(step.regex);
  case CutKind::EachDigit:
  case CutKind::Digits:
    return {{"type", "Digits"}, {"individual_digits", step.kind == CutKind::EachDigit}};
  case CutKind::Punctuation:
    return {{"type", "Punctuation"}, {"behavior", "Contiguous"}};
  case CutKind::Bytes:
  case CutKind::WordsAndBytes:
    break;
  }
  return byteLevelJson(prefix, step.kind == CutKind::WordsAndBytes);
}

} // namespace

Expected<GgufCut> ggufCut(const Gguf &file, std::vector<std::string> &warnings) {
  constexpr const char *key = "tokenizer.ggml.pre";
  const std::string_view name = file.find(key) ? HEDDLE_TRY(file.text(key)) : std::string_view();
  if (name.empty() || name == defaultCut.name) {
    warnings.push_back(file.mistaken(key, "the name of the model's own cuts").message +
                       ": texts are cut as llama.cpp does it without one, and their ids may "
                       "not be the model's");
    return defaultCut;
  }
  const auto *found = std::ranges::find(cuts, name, &GgufCut::name);
  if (found != std::end(cuts))
    return *found;
  std::string known(defaultCut.name);
  for (const GgufCut &cut : cuts)
    known.append(", ").append(cut.name);
  return file.mistaken(key, "one of " + known);
}

Json cutJson(const GgufCut &cut, bool prefix) {
  Json steps = Json::array();
  for (const CutStep &step : cut.steps)
    steps.push_back(stepJson(step, prefix));
  return sequenceJson("pretokenizers", std::move(steps));
}

} // namespace heddle::tokenizers
