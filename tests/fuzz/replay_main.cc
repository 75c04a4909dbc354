// Runs a fuzz target over a committed corpus without libFuzzer: each file as it is, then mutations of it, the same ones
// in every run. An empty corpus is an error: it would test nothing.
//
//   trace_reader_replay tests/fuzz/corpus/trace_reader
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

// A second or two for the whole corpus under the sanitizers.
constexpr int kMutationsPerFile = 400;

void Run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

std::string Mutated(std::string bytes, const std::string& other, std::mt19937& random) {
  for (auto edits = 1 + random() % 4; edits > 0; --edits) {
    const size_t at = bytes.empty() ? 0 : random() % bytes.size();
    switch (random() % 5) {
      case 0:  // One bit.
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 1:  // One byte, often an extreme one.
        if (!bytes.empty()) bytes[at] = static_cast<char>(random() % 2 == 0 ? 0xFF : random());
        break;
      case 2:
        bytes.erase(at, random() % 32);
        break;
      case 3:  // A piece of another file.
        if (!other.empty()) bytes.insert(at, other.substr(random() % other.size(), random() % 64));
        break;
      default:  // A piece twice.
        if (!bytes.empty()) {
          const std::string piece = bytes.substr(at, random() % 64);
          bytes.insert(random() % bytes.size(), piece);
        }
        break;
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> paths;
  for (int i = 1; i < argc; ++i) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i], error)) paths.push_back(entry.path());
    if (error) paths.emplace_back(argv[i]);  // A single file.
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs;
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    if (!file.good()) {
      std::fprintf(stderr, "%s: cannot be opened\n", path.c_str());
      return 1;
    }
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (inputs.empty()) {
    std::fprintf(stderr, "no inputs: expected a folder with a corpus\n");
    return 1;
  }
  std::mt19937 random(20240229);
  size_t count = 0;
  for (const std::string& input : inputs) {
    Run(input);
    ++count;
    for (int i = 0; i < kMutationsPerFile; ++i, ++count) Run(Mutated(input, inputs[random() % inputs.size()], random));
  }
  std::printf("%zu files, %zu inputs\n", inputs.size(), count);
  return 0;
}
