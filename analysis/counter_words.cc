// What the enumerations of counter.proto are called in reports.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "analysis/kernel_name.h"
#include "analysis/printable.h"
#include "analysis/report_sections.h"
#include "gpuexec/v1/counter.pb.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

// "REASON_SEVERAL_PASSES" -> "several passes".
std::string Words(int value, const std::string& name, absl::string_view prefix) {
  if (value == 0) return "unknown";
  if (name.size() <= prefix.size()) return absl::StrCat("number ", value);
  return absl::StrReplaceAll(absl::AsciiStrToLower(name.substr(prefix.size())), {{"_", " "}});
}

}  // namespace

std::string CounterGroupKindWord(int kind) {
  return Words(kind, pb::CounterGroup::Kind_Name(static_cast<pb::CounterGroup::Kind>(kind)), "KIND_");
}

std::string CounterAccessWord(int state) {
  return Words(state, pb::CounterAccess::State_Name(static_cast<pb::CounterAccess::State>(state)), "STATE_");
}

std::string DroppedMetricWord(int reason) {
  return Words(reason, pb::DroppedMetric::Reason_Name(static_cast<pb::DroppedMetric::Reason>(reason)), "REASON_");
}

std::string DroppedMetricText(const pb::DroppedMetric& dropped) {
  const std::string name = Printable(dropped.name());
  const std::string text = Printable(dropped.text());
  if (absl::StartsWith(text, name)) return text;
  return absl::StrCat(name, ": ", text.empty() ? DroppedMetricWord(dropped.reason()) : text);
}

bool IsAskedForByName(const pb::CounterPlan& plan, const pb::DroppedMetric& dropped) {
  return plan.requested().empty() || absl::StrContains(plan.requested(), dropped.name());
}

std::string CounterDenialWord(int reason) {
  switch (reason) {
    case pb::CounterDenial::REASON_NAME:
      return "by its name it may wait for other devices";
    case pb::CounterDenial::REASON_USER:
      return "named in GPUEXEC_COUNTERS_DENY";
    case pb::CounterDenial::REASON_COOPERATIVE:
      return "cooperative launch";
    case pb::CounterDenial::REASON_PEER_MEMORY:
      return "memory of another device can be reached";
    case pb::CounterDenial::REASON_DEADLINE:
      return "a sampled launch did not complete by the deadline";
    case pb::CounterDenial::REASON_FAILED:
      return "CUPTI failed on it";
    case pb::CounterDenial::REASON_IPC_MEMORY:
      return "memory of another process is mapped";
    case pb::CounterDenial::REASON_SYMMETRIC_HEAP:
      return "a symmetric heap is mapped";
    case pb::CounterDenial::REASON_GREEN_CONTEXT:
      return "the process has green contexts, which this CUPTI cannot count in";
    case pb::CounterDenial::REASON_TABLE_FULL:
      return "no room to remember how it behaves";
    default:
      return absl::StrCat("reason ", reason);
  }
}

std::string DeniedName(const TraceModel& model, const pb::CounterDenial& denial) {
  if (denial.function_iid() == 0) {
    if (denial.graph_exec_id() != 0) return absl::StrCat("graph ", denial.graph_exec_id());
    return denial.context_id() == 0 ? "everything" : absl::StrCat("everything in context ", denial.context_id());
  }
  const pb::Function* function = model.functions.Get(denial.function_iid());
  const std::string name = function == nullptr ? "" : FullKernelName(model.NameOf(function->name_iid()));
  return name.empty() ? "(name unknown)" : name;
}

}  // namespace gx::analysis
