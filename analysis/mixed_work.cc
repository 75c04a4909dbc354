// Whether launches of one signature did the same work.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "analysis/printable.h"
#include "analysis/report_sections.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

// What work is told by. Of several spellings of one thing the first that was counted counts.
constexpr absl::string_view kInstructions[] = {"smsp__inst_executed.sum", "sm__inst_executed.sum"};
// Equal to the ones above, of launches that were counted by patched code.
constexpr absl::string_view kPatchedInstructions[] = {"smsp__sass_inst_executed.sum"};
// Asked for by the kernel's own loads and stores: no cache is in them.
constexpr absl::string_view kAskedBytes[] = {"smsp__sass_data_bytes_mem_global.sum"};
// Traffic of the SMs with the L2 cache; else that of everyone.
constexpr absl::string_view kL2Bytes[] = {"lts__t_sectors_srcunit_tex.sum", "lts__t_sectors.sum", "lts__t_bytes.sum"};
constexpr absl::string_view kDramBytes[] = {"dram__bytes.sum"};
constexpr absl::string_view kDramReads[] = {"dram__bytes_read.sum", "dram__bytes_op_read.sum",
                                            "fbpa__dram_read_bytes.sum"};
constexpr absl::string_view kDramWrites[] = {"dram__bytes_write.sum", "dram__bytes_op_write.sum",
                                             "fbpa__dram_write_bytes.sum"};

class Evidence {
 public:
  Evidence(const TraceModel& model, uint32_t signature, const std::vector<const CounterSeries*>& series)
      : model_(model), series_(series) {
    const auto device = model.devices.find(model.signatures[signature].definition.device_id());
    if (device != model.devices.end() && device->second.attributes().has_l2_cache_bytes()) {
      min_dram_bytes_ = 2 * static_cast<double>(device->second.attributes().l2_cache_bytes());
    }
  }

  template <size_t kCount>
  bool Look(const absl::string_view (&spellings)[kCount], bool is_dram) {
    for (const absl::string_view name : spellings) {
      if (Look(name, is_dram)) return true;
    }
    return false;
  }
  std::vector<MixedWork> Take() { return std::move(found_); }

 private:
  // Whether the metric was counted; in whatever group.
  bool Look(absl::string_view name, bool is_dram) {
    bool counted = false;
    for (const CounterSeries* series : series_) {
      const auto group = model_.counters.groups.find(series->group_iid);
      if (group == model_.counters.groups.end()) continue;
      const auto metric_count = static_cast<int>(series->samples.metric_count());
      for (int metric = 0; metric < std::min(metric_count, group->second.metric_size()); ++metric) {
        if (group->second.metric(metric) != name) continue;
        const CounterFigures figures = series->samples.Figures(static_cast<size_t>(metric), name);
        counted |= figures.value_count > 0;
        if (!figures.spread_ratio.has_value() || !(*figures.spread_ratio > kMixedWorkSpread)) continue;
        if (is_dram && *figures.median < min_dram_bytes_) continue;
        found_.push_back({Printable(name), *figures.min, *figures.max, *figures.spread_ratio});
      }
    }
    return counted;
  }

  const TraceModel& model_;
  const std::vector<const CounterSeries*>& series_;
  // 0: the size of the cache is not known.
  double min_dram_bytes_ = 0;
  std::vector<MixedWork> found_;
};

}  // namespace

std::map<uint32_t, std::vector<const CounterSeries*>> SeriesBySignature(const CounterModel& counters) {
  std::map<uint32_t, std::vector<const CounterSeries*>> by_signature;
  for (const CounterSeries& series : counters.series) {
    if (!series.is_graph()) by_signature[series.signature].push_back(&series);
  }
  return by_signature;
}

std::vector<MixedWork> MixedWorkOf(const TraceModel& model, uint32_t signature,
                                   const std::vector<const CounterSeries*>& series) {
  if (signature == CounterSeries::kNoSignature) return {};
  Evidence evidence(model, signature, series);
  evidence.Look(kInstructions, false);
  evidence.Look(kPatchedInstructions, false);
  evidence.Look(kAskedBytes, false);
  evidence.Look(kL2Bytes, false);
  if (!evidence.Look(kDramBytes, true)) {
    evidence.Look(kDramReads, true);
    evidence.Look(kDramWrites, true);
  }
  return evidence.Take();
}

}  // namespace gx::analysis
