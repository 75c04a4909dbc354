#include "analysis/report_proto.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analysis/report_names.h"
#include "analysis/report_proto_sections.h"

namespace gx::analysis {
namespace {

namespace pb = gpuexec::v1;

void FillView(const Report& report, pb::ReportView* view) {
  for (const absl::string_view word : GroupingWords(report.grouping)) view->add_grouping(std::string(word));
  view->set_sort(std::string(SortWord(report.sort)));
  view->set_filter(report.filter);
  view->set_row_limit(report.row_limit);
}

// By process and signature.
using SignatureKey = std::pair<size_t, uint32_t>;

class Builder {
 public:
  explicit Builder(const Report& report) : report_(report) {
    for (const CountersSection& section : report.counters) {
      counters_by_process_[section.process] = &section;
      for (const SignatureCounters& row : section.signatures) {
        if (row.signature.has_value()) counters_[{section.process, *row.signature}] = &row;
      }
    }
    for (const LadderSection& section : report.ladders) {
      for (const LadderRow& row : section.rows) ladders_[{section.process, row.signature}] = &row;
    }
  }

  void Fill(pb::Report* message) const {
    for (size_t i = 0; i < report_.processes.size(); ++i) {
      FillProcess(report_.processes[i], Find(counters_by_process_, i), message->add_process());
    }
    message->set_signature_count(report_.kernel_groups_matched);
    // By process: where each signature stands.
    std::map<size_t, std::map<uint32_t, uint32_t>> indices;
    for (const KernelGroup& group : report_.kernels) {
      if (static_cast<size_t>(message->signature_size()) == kMaxReportSignatures) break;
      pb::SignatureReport* signature = message->add_signature();
      signature->set_process(report_.processes[group.process].label);
      FillSignature(group, signature);
      if (!group.signature.has_value()) continue;
      const SignatureKey key(group.process, *group.signature);
      indices[key.first][key.second] = static_cast<uint32_t>(message->signature_size() - 1);
      if (const SignatureCounters* counters = Find(counters_, key); counters != nullptr) {
        FillSignatureCounters(*counters, signature);
      }
      if (const LadderRow* ladder = Find(ladders_, key); ladder != nullptr) FillLadder(*ladder, signature);
    }
    AddCountedOnly(message);
    for (size_t i = 0; i < report_.processes.size(); ++i) {
      const ProcessSection& process = report_.processes[i];
      const bool other_device =
          std::any_of(process.devices.begin(), process.devices.end(), [](const DeviceSection& device) {
            return device.machine.has_value() && device.machine->found && !device.machine->same_device;
          });
      FillExplanation(process.explanation, indices[i], other_device,
                      message->mutable_process(static_cast<int>(i))->mutable_run()->mutable_explanation());
    }
    for (const LadderSection& section : report_.ladders) {
      FillCoverage(section, indices[section.process],
                   message->mutable_process(static_cast<int>(section.process))->mutable_ladders());
    }
    for (const CountersSection& section : report_.counters) {
      message->set_graph_count(message->graph_count() + section.graphs.size());
      for (const GraphCounters& graph : section.graphs) {
        if (static_cast<size_t>(message->graph_size()) == kMaxReportGraphs) break;
        pb::GraphReport* row = message->add_graph();
        row->set_process(report_.processes[section.process].label);
        FillGraph(graph, row);
      }
    }
  }

 private:
  // Signatures that were counted and have no kernel record: all of their launches were in counter windows, or their
  // parameters could not be read.
  void AddCountedOnly(pb::Report* message) const {
    std::set<SignatureKey> timed;
    for (const KernelGroup& group : report_.kernels) {
      if (group.signature.has_value()) timed.emplace(group.process, *group.signature);
    }
    for (const CountersSection& section : report_.counters) {
      for (const SignatureCounters& row : section.signatures) {
        if (row.signature.has_value() && timed.count({section.process, *row.signature}) > 0) continue;
        message->set_signature_count(message->signature_count() + 1);
        if (static_cast<size_t>(message->signature_size()) == kMaxReportSignatures) continue;
        pb::SignatureReport* signature = message->add_signature();
        signature->set_process(report_.processes[section.process].label);
        FillCountedOnly(row, signature);
        FillSignatureCounters(row, signature);
      }
    }
  }

  template <typename Map>
  static typename Map::mapped_type Find(const Map& map, const typename Map::key_type& key) {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : found->second;
  }

  const Report& report_;
  std::map<size_t, const CountersSection*> counters_by_process_;
  std::map<SignatureKey, const SignatureCounters*> counters_;
  std::map<SignatureKey, const LadderRow*> ladders_;
};

}  // namespace

pb::Report ReportMessage(const Report& by_signature, const Report* grouped) {
  pb::Report message;
  message.set_format(kReportFormat);
  message.set_format_version(kReportFormatVersion);
  message.set_analyzer_version(GPUEXEC_VERSION);
  // No reference comes with a trace.
  message.set_numerics_label(pb::CLAIM_LABEL_UNMEASURED);
  message.set_data_lost(by_signature.data_lost);
  FillView(grouped != nullptr ? *grouped : by_signature, message.mutable_view());
  Builder(by_signature).Fill(&message);
  if (grouped == nullptr) return message;
  message.set_group_count(grouped->kernel_groups_matched);
  for (const KernelGroup& group : grouped->kernels) {
    if (static_cast<size_t>(message.group_size()) == kMaxReportGroups) break;
    pb::KernelGroupReport* row = message.add_group();
    row->set_process(grouped->processes[group.process].label);
    FillGroup(grouped->grouping, group, row);
  }
  return message;
}

}  // namespace gx::analysis
