#include "inject/nearest_name.h"

#include <algorithm>
#include <vector>

namespace gx::inject {

size_t EditDistance(std::string_view from, std::string_view to) {
  // One row of the dynamic programme: row[j] is the distance of from[0, i) to to[0, j).
  std::vector<size_t> row(to.size() + 1);
  for (size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= from.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= to.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (from[i - 1] == to[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[to.size()];
}

std::string_view NearestName(std::string_view name, std::span<const std::string_view> known, size_t max_distance) {
  std::string_view nearest;
  size_t nearest_distance = max_distance + 1;
  for (const std::string_view candidate : known) {
    const size_t longer = std::max(name.size(), candidate.size());
    const size_t shorter = std::min(name.size(), candidate.size());
    // The lengths alone say that it is too far: names of any length cost nothing.
    if (longer - shorter > max_distance) continue;
    const size_t distance = EditDistance(name, candidate);
    if (distance >= nearest_distance) continue;
    nearest = candidate;
    nearest_distance = distance;
  }
  return nearest;
}

}  // namespace gx::inject
