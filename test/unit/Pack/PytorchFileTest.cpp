//===- PytorchFileTest.cpp - Files of torch.save --------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files are built here. test/data/folders/bert-pickled has one of PyTorch's own.

#include "TemporaryFolder.h"

#include "heddle/Pack/PytorchFile.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <array>
#include <cstring>

using namespace heddle;
using namespace heddle::test;
using testing::HasSubstr;

namespace {

std::string number(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i, value >>= 8)
    text += static_cast<char>(value);
  return text;
}

struct Member {
  std::string name, contents;
  int method = 0;
};

/// A ZIP file. With `wide`, the fields of the directory have 64 bits elsewhere.
std::string zipOf(const std::vector<Member> &members, bool wide = false) {
  std::string file, directory;
  for (const Member &m : members) {
    const size_t place = file.size(), size = m.contents.size();
    const std::string sizes = number(size, 4) + number(size, 4);
    file += "PK\3\4" + number(0, 4) + number(m.method, 2) + number(0, 8) + sizes +
            number(m.name.size(), 2) + number(0, 2) + m.name + m.contents;
    const std::string far = number(~0ULL, 4);
    const std::string extra =
        wide ? number(1, 2) + number(24, 2) + number(size, 8) + number(size, 8) + number(place, 8)
             : "";
    directory += "PK\1\2" + number(0, 6) + number(m.method, 2) + number(0, 8) +
                 (wide ? far + far : sizes) + number(m.name.size(), 2) + number(extra.size(), 2) +
                 number(0, 10) + (wide ? far : number(place, 4)) + m.name + extra;
  }
  const size_t start = file.size();
  file += directory;
  if (wide) {
    const size_t end = file.size();
    file += "PK\6\6" + number(44, 8) + number(0, 20) + number(members.size(), 8) +
            number(directory.size(), 8) + number(start, 8);
    file += "PK\6\7" + number(0, 4) + number(end, 8) + number(1, 4);
  }
  return file + "PK\5\6" + number(0, 6) + number(wide ? 0xffff : members.size(), 2) +
         number(directory.size(), 4) + number(wide ? ~0ULL : start, 4) + number(0, 2);
}

std::string text(const std::string &value) { return "X" + number(value.size(), 4) + value; }

/// The instructions that make a tensor of 2 rows and 3 columns, `first` elements into a storage of 8.
std::string tensorOf(const std::string &key, int first = 1, const std::string &strides = "K\3K\1",
                     const std::string &kind = "FloatStorage") {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + kind + "\n" +
         text(key) + text("cpu") + "K\x08tQK" + static_cast<char>(first) + "K\2K\3\x86(" + strides +
         "t\x89" + "ccollections\nOrderedDict\n)RtR";
}

/// The same of an empty tensor of three dimensions, two of which have 2^62 rows.
std::string hugeTensor() {
  const std::string many = std::string("\x8a\x08") + number(uint64_t(1) << 62, 8);
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\nFloatStorage\n" +
         text("0") + text("cpu") + "K\x08tQ" + number('K', 1) + number(0, 1) + "(" + many + many +
         number('K', 1) + number(0, 1) + "t(K\1K\1K\1t\x89" + "ccollections\nOrderedDict\n)RtR";
}

/// A pickle of a dictionary with these entries, which has attributes.
std::string pickleOf(const std::string &entries) {
  return "\x80\2ccollections\nOrderedDict\n)Rq\1(" + entries + "u}" + text("_metadata") + "h\1sb.";
}

std::string floats() {
  std::string bytes(32, '\0');
  for (int i = 0; i < 8; ++i) {
    const auto value = static_cast<float>(i);
    std::memcpy(bytes.data() + 4 * i, &value, 4);
  }
  return bytes;
}

class PytorchFileTest : public testing::Test {
protected:
  std::string problem(const std::string &bytes) {
    auto source = openPytorchFile(folder.write("m.bin", bytes));
    return source ? "no error" : source.error().message;
  }
  std::string problemOf(const std::string &pickle, const std::string &storage = floats()) {
    return problem(zipOf({{"m/data.pkl", pickle}, {"m/data/0", storage}}));
  }
  TemporaryFolder folder;
};

TEST_F(PytorchFileTest, Tensors) {
  const std::string pickle =
      pickleOf(text("w") + tensorOf("0") + text("p") + "ctorch._utils\n_rebuild_parameter\n(" +
               tensorOf("0", 0) + "\x88" + "ccollections\nOrderedDict\n)RtR");
  for (const bool wide : {false, true}) {
    auto source = openPytorchFile(folder.write(
        "m.bin",
        zipOf({{"m/data.pkl", pickle}, {"m/byteorder", "little"}, {"m/data/0", floats()}}, wide)));
    ASSERT_TRUE(source) << source.error().message;
    ASSERT_EQ((*source)->tensors().size(), 2U);
    EXPECT_EQ((*source)->tensors()[0].type, "f32");
    EXPECT_EQ((*source)->tensors()[1].name, "p");
    EXPECT_EQ((*source)->tensors()[0].shape, (std::vector<int64_t>{2, 3}));
    std::array<float, 3> values{};
    (*source)->read((*source)->find("w"), 2, values);
    EXPECT_EQ(values, (std::array<float, 3>{3, 4, 5}));
  }
}

TEST_F(PytorchFileTest, OtherObjects) {
  EXPECT_THAT(problemOf("\x80\2cos\nsystem\n" + text("x") + "\x85R."),
              HasSubstr("m.bin: expected a dictionary of tensors, found 'os.system', which is not "
                        "read"));
  EXPECT_THAT(problemOf("\x80\2\x93."), HasSubstr("found the pickle instruction 147"));
  EXPECT_THAT(problemOf("\x80\4}."), HasSubstr("expected a pickle of protocol 2"));
  EXPECT_THAT(problemOf("\x80\2]."), HasSubstr("expected a dictionary of tensors, found another"));
  EXPECT_THAT(problemOf(pickleOf(text("epoch") + "K\3")),
              HasSubstr("'epoch': expected a tensor, found another object"));
  EXPECT_THAT(problemOf(pickleOf("K\3K\3")), HasSubstr("expected names of tensors"));
  EXPECT_THAT(problemOf(pickleOf(text("w") + tensorOf("0") + text("w") + tensorOf("0"))),
              HasSubstr("'w': expected each tensor once, found it twice"));
  for (const char *cut : {"\x80\2", "\x80\2u.", "\x80\2R.", "\x80\2h\5.", "\x80\2}K\1s."})
    EXPECT_THAT(problemOf(cut), HasSubstr("found a damaged one")) << cut;
}

TEST_F(PytorchFileTest, Storages) {
  EXPECT_THAT(problemOf(pickleOf(text("w") + tensorOf("7"))),
              HasSubstr("w: expected the storage 7, found none"));
  EXPECT_THAT(problemOf(pickleOf(text("w") + tensorOf("0")), floats().substr(1)),
              HasSubstr("w: expected a storage of 8 elements of f32, found 31 bytes"));
  EXPECT_THAT(problemOf(pickleOf(text("w") + tensorOf("0", 3))),
              HasSubstr("w: expected a part of its storage of 8 elements, found 6 from 3"));
  EXPECT_THAT(problemOf(pickleOf(text("w") + tensorOf("0", 0, "K\1K\2"))),
              HasSubstr("w: expected elements one after another, found other strides"));
  EXPECT_THAT(problemOf(pickleOf(text("w") + hugeTensor())),
              HasSubstr("w: expected elements one after another, found other strides"));
  EXPECT_THAT(problemOf(pickleOf(text("w") + tensorOf(std::string(65, '0')))),
              HasSubstr("found a damaged one"));
}

TEST_F(PytorchFileTest, Files) {
  const Member pickle{"m/data.pkl", pickleOf(text("w") + tensorOf("0"))},
      data{"m/data/0", floats()};
  EXPECT_THAT(problem("x"), HasSubstr("m.bin: expected a ZIP file, found another kind of file"));
  EXPECT_THAT(
      problem("\x80\2\x8a"),
      HasSubstr("since PyTorch 1.6, found one of an earlier version; Python converts it: "));
  EXPECT_THAT(problem(zipOf({data})), HasSubstr("with a member data.pkl, found none"));
  EXPECT_THAT(problem(zipOf({pickle, {"m/data/0", floats(), 8}})),
              HasSubstr("'m/data/0': expected a member without compression, found method 8"));
  EXPECT_THAT(problem(zipOf({pickle, data, data})), HasSubstr("found it twice"));
  EXPECT_THAT(problem(zipOf({pickle, data, {"m/byteorder", "big"}})),
              HasSubstr("little-endian order, found the byteorder big"));
  for (const bool wide : {false, true}) {
    const std::string whole = zipOf({pickle, data}, wide);
    for (size_t size = 0; size < whole.size(); ++size)
      EXPECT_NE(problem(whole.substr(0, size)), "no error") << size;
  }
}

} // namespace
