#include "inject/cubin.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/fake_cubin.h"

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

using Functions = std::vector<std::pair<std::string, std::string>>;

struct Read {
  bool complete = false;
  Functions functions;
};

// The bytes are copied to a place of exactly their size, so that a sanitizer sees a read past them.
Read ReadFunctions(const std::string& bytes) {
  const auto exact = std::make_unique<uint8_t[]>(bytes.size());
  std::memcpy(exact.get(), bytes.data(), bytes.size());
  Read read;
  read.complete = ForEachFunction(
      std::span<const uint8_t>(exact.get(), bytes.size()),
      [](void* user, std::string_view name, std::span<const uint8_t> code) {
        static_cast<Functions*>(user)->emplace_back(
            std::string(name), std::string(reinterpret_cast<const char*>(code.data()), code.size()));
      },
      &read.functions);
  return read;
}

std::string TwoKernels() {
  return fakes::BuildCubin({{"_Z4axpyPf", {}, "axpy code"}, {"gemm", {}, "other machine code"}});
}

template <typename T>
T Get(const std::string& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}
template <typename T>
void Put(std::string* bytes, size_t offset, const T& value) {
  std::memcpy(bytes->data() + offset, &value, sizeof(value));
}

TEST(Cubin, FunctionsAreReadWithTheirCode) {
  const Read read = ReadFunctions(TwoKernels());
  EXPECT_TRUE(read.complete);
  EXPECT_THAT(read.functions, ElementsAre(Pair("_Z4axpyPf", "axpy code"), Pair("gemm", "other machine code")));
}

TEST(Cubin, OtherFilesHaveNoFunctions) {
  for (const std::string& bytes :
       {std::string(), std::string("\x7f"), std::string("//\n// PTX\n.version 8.0"), std::string(200, '\0')}) {
    const Read read = ReadFunctions(bytes);
    EXPECT_FALSE(read.complete);
    EXPECT_THAT(read.functions, IsEmpty());
  }
}

TEST(Cubin, A32BitOrBigEndianFileIsRefused) {
  std::string bytes = TwoKernels();
  bytes[EI_CLASS] = ELFCLASS32;
  EXPECT_FALSE(ReadFunctions(bytes).complete);
  bytes = TwoKernels();
  bytes[EI_DATA] = ELFDATA2MSB;
  EXPECT_FALSE(ReadFunctions(bytes).complete);
}

TEST(Cubin, AFileCutAnywhereGivesNoWrongFunction) {
  const std::string whole = TwoKernels();
  const Functions all = ReadFunctions(whole).functions;
  for (size_t length = 0; length < whole.size(); ++length) {
    const Read read = ReadFunctions(whole.substr(0, length));
    ASSERT_LE(read.functions.size(), all.size());
    for (size_t i = 0; i < read.functions.size(); ++i) EXPECT_EQ(read.functions[i], all[i]) << "cut at " << length;
  }
}

TEST(Cubin, AnyByteMayBeWrong) {
  const std::string whole = TwoKernels();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int value : {0x00, 0x7f, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(value);
      EXPECT_LE(ReadFunctions(damaged).functions.size(), 16u) << at;
    }
  }
}

TEST(Cubin, RandomBytesBehindARightHeaderAreSurvived) {
  std::mt19937_64 random(4);
  const std::string whole = TwoKernels();
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    const uint64_t changes = 1 + random() % 12;
    for (uint64_t i = 0; i < changes; ++i) {
      const size_t at = EI_NIDENT + random() % (bytes.size() - EI_NIDENT);
      bytes[at] = static_cast<char>(random());
    }
    EXPECT_LE(ReadFunctions(bytes).functions.size(), bytes.size() / sizeof(Elf64_Shdr));
  }
}

TEST(Cubin, MoreSectionsThanBytesAreRefused) {
  std::string bytes = TwoKernels();
  auto header = Get<Elf64_Ehdr>(bytes, 0);
  header.e_shnum = 0xfeff;
  Put(&bytes, 0, header);
  EXPECT_FALSE(ReadFunctions(bytes).complete);

  header.e_shnum = 0;  // The count stands in section 0.
  Put(&bytes, 0, header);
  auto first = Get<Elf64_Shdr>(bytes, header.e_shoff);
  for (const uint64_t count : {uint64_t{0}, uint64_t{1} << 32, ~uint64_t{0}, ~uint64_t{0} / sizeof(Elf64_Shdr) + 2}) {
    first.sh_size = count;
    Put(&bytes, header.e_shoff, first);
    const Read read = ReadFunctions(bytes);
    EXPECT_FALSE(read.complete) << count;
    EXPECT_THAT(read.functions, IsEmpty());
  }
}

TEST(Cubin, LargeCountsAndIndicesAreReadFromSectionZero) {
  std::string bytes = TwoKernels();
  auto header = Get<Elf64_Ehdr>(bytes, 0);
  auto first = Get<Elf64_Shdr>(bytes, header.e_shoff);
  first.sh_size = header.e_shnum;
  first.sh_link = header.e_shstrndx;
  header.e_shnum = 0;
  header.e_shstrndx = SHN_XINDEX;
  Put(&bytes, header.e_shoff, first);
  Put(&bytes, 0, header);
  const Read read = ReadFunctions(bytes);
  EXPECT_TRUE(read.complete);
  EXPECT_EQ(read.functions.size(), 2u);
}

TEST(Cubin, OffsetsNearTheLargestNumberAreRefused) {
  const std::string whole = TwoKernels();
  const auto header = Get<Elf64_Ehdr>(whole, 0);
  for (const uint64_t offset : {~uint64_t{0}, ~uint64_t{0} - 63, ~uint64_t{0} - 64, uint64_t{1} << 63}) {
    auto changed = header;
    changed.e_shoff = offset;
    std::string bytes = whole;
    Put(&bytes, 0, changed);
    EXPECT_FALSE(ReadFunctions(bytes).complete);
    for (uint64_t section = 1; section < header.e_shnum; ++section) {
      bytes = whole;
      const uint64_t at = header.e_shoff + section * sizeof(Elf64_Shdr);
      auto moved = Get<Elf64_Shdr>(bytes, at);
      moved.sh_offset = offset;
      moved.sh_size = 1'000;
      Put(&bytes, at, moved);
      EXPECT_LE(ReadFunctions(bytes).functions.size(), 2u);
    }
  }
}

}  // namespace
}  // namespace gx::inject
