#include "inject/path_name.h"

#include <cstddef>

namespace gx::inject {

std::string InsertBeforeExtension(const std::string& path, const std::string& suffix) {
  const size_t slash = path.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos || dot <= name) return path + suffix;
  return path.substr(0, dot) + suffix + path.substr(dot);
}

}  // namespace gx::inject
