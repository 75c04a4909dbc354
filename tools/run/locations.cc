#include "tools/run/locations.h"

#include <filesystem>
#include <system_error>

namespace gx::tools {

namespace fs = std::filesystem;

std::vector<std::string> LibraryPlaces(const std::string& folder) {
  constexpr char kName[] = "/libgpuexec_inject.so";
  // Copied together; of a prefix (bin, lib); of a build folder (tools, inject).
  return {folder + kName, folder + "/../lib" + kName, folder + "/../inject" + kName};
}

std::string FirstThere(const std::vector<std::string>& places) {
  for (const std::string& place : places) {
    std::error_code error;
    if (!fs::exists(place, error)) continue;
    const fs::path path = fs::canonical(place, error);
    return error ? place : path.string();
  }
  return places.empty() ? "" : places.front();
}

std::string OwnFolder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? "" : self.parent_path().string();
}

}  // namespace gx::tools
