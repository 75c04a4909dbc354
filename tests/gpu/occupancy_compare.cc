// Compares what gx-occupancy-sweep printed on a device with the exact occupancy model.
//
//   gx-occupancy-compare SWEEP.tsv
//
// On stdout one line a check: check, bar, figure, ok or NO, separated by tabs (tools/device_test's table). On stderr
// the first differences. Exit code: 0 every check passed, 1 some did not, 2 wrong usage or a file that is none.
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/model/occupancy_sweep.h"

namespace {

constexpr size_t kMaxPrinted = 40;

template <typename Point>
size_t CountDifferences(const gx::model::Sweep& sweep, const std::vector<Point>& points) {
  size_t count = 0;
  for (const Point& point : points) {
    const std::optional<std::string> difference = gx::model::Difference(sweep, point);
    if (!difference.has_value()) continue;
    if (++count <= kMaxPrinted) std::fprintf(stderr, "%s\n", difference->c_str());
  }
  return count;
}

bool PrintCheck(const char* check, size_t points, size_t differences, size_t least_points) {
  const bool ok = differences == 0 && points >= least_points;
  std::printf("%s\t0 of %zu or more\t%zu of %zu points differ\t%s\n", check, least_points, differences, points,
              ok ? "ok" : "NO");
  return ok;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "gx-occupancy-compare: usage: gx-occupancy-compare SWEEP.tsv\n");
    return 2;
  }
  std::ifstream file(argv[1]);
  const auto sweep = gx::model::ReadSweep(file);
  if (!sweep.ok()) {
    std::fprintf(stderr, "gx-occupancy-compare: %s: %s\n", argv[1], std::string(sweep.status().message()).c_str());
    return 2;
  }
  const bool blocks =
      PrintCheck("occupancy model, blocks per SM", sweep->points.size(), CountDifferences(*sweep, sweep->points), 2000);
  const bool clusters = PrintCheck("occupancy model, clusters within its bound", sweep->clusters.size(),
                                   CountDifferences(*sweep, sweep->clusters), 200);
  return blocks && clusters ? 0 : 1;
}
