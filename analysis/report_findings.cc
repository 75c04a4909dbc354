// Section 1 of the report: what was lost, skipped or found odd.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/format.h"
#include "analysis/kernel_name.h"
#include "analysis/printable.h"
#include "analysis/report_sections.h"
#include "analysis/stat_catalog.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

constexpr size_t kMaxDetails = 10;
// A diagnostic is a line or two; what a damaged or foreign trace says may be of any length.
constexpr size_t kMaxDiagnosticBytes = 500;
constexpr int kMaxClients = 5;

class Findings {
 public:
  explicit Findings(ProcessSection* section) : section_(section) {}

  Finding* Add(pb::Severity severity, absl::string_view id, uint64_t value, absl::string_view text,
               absl::string_view advice = "") {
    Finding finding;
    finding.severity = severity;
    finding.id = std::string(id);
    finding.value = value;
    finding.text = std::string(text);
    finding.advice = std::string(advice);
    section_->findings.push_back(std::move(finding));
    return &section_->findings.back();
  }
  // Nothing where the count is 0.
  void Count(pb::Severity severity, absl::string_view id, uint64_t value, absl::string_view text,
             absl::string_view advice = "") {
    if (value > 0) Add(severity, id, value, text, advice);
  }

 private:
  ProcessSection* section_;
};

uint64_t StatValue(const TraceModel& model, pb::StatId id) {
  const auto found = model.stats.find(static_cast<uint32_t>(id));
  return found == model.stats.end() ? 0 : found->second;
}

// The library wrote its own words and nothing else: it never opened a window to record in.
bool NothingRecorded(const TraceModel& model) {
  const Accounting& a = model.accounting;
  const bool any_record = a.launches + a.graph_launches + a.refused_launches + a.kernel_records() +
                              a.summarised_launches + a.summarised_kernels + model.nvtx_event_count >
                          0;
  return model.header.has_value() && !any_record && model.copies.empty() && model.windows.empty() &&
         model.diagnostic_count > 0;
}

// "at 1.2 s", after the start of the process; "" where that is not known.
std::string OffsetText(const TraceModel& model, uint64_t monotonic_ns) {
  const uint64_t start_ns = model.header.has_value() ? model.header->start().monotonic_ns() : 0;
  return start_ns == 0 || monotonic_ns < start_ns ? "" : FormatOffset(monotonic_ns - start_ns);
}

std::vector<std::string> RecordGapTexts(const TraceModel& model) {
  std::vector<std::string> texts;
  for (const auto& [id, gap] : model.record_gaps) {
    if (texts.size() == kMaxDetails) {
      texts.push_back(absl::StrCat("... and ", model.record_gaps.size() - kMaxDetails, " more"));
      break;
    }
    const std::string begin = OffsetText(model, gap.begin_monotonic_ns());
    const std::string end = gap.has_end_monotonic_ns() ? OffsetText(model, gap.end_monotonic_ns()) : "";
    std::string text = begin.empty() ? "from a time that is not known" : absl::StrCat("from ", begin);
    absl::StrAppend(&text, !gap.has_end_monotonic_ns() ? " to the end of the trace" : absl::StrCat(" to ", end), ": ",
                    Plural(gap.kernel_count(), "kernel"), " without a record");
    for (int i = 0; i < gap.client_size() && i < kMaxClients; ++i) {
      absl::StrAppend(&text, i == 0 ? "; may be a client of CUPTI: " : ", ",
                      Printable(absl::string_view(gap.client(i)).substr(0, kMaxDiagnosticBytes)));
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

// First: it says why most of the figures below are of a part of the run.
void AddRecordGapFinding(const TraceModel& model, Findings* findings) {
  const uint64_t taken = CountKernelsTaken(model);
  if (taken == 0) return;
  findings
      ->Add(
          pb::SEVERITY_DATA_LOSS, "trace.records_taken", taken,
          "kernels without timings: another CUPTI client of the process took their records, as it seems",
          "run the program without its own profiler, or set GPUEXEC_YIELD=1: then recording ends when that one begins")
      ->details = RecordGapTexts(model);
}

std::vector<std::string> DamageTexts(const TraceModel& model, bool gaps, uint64_t count) {
  std::vector<std::string> texts;
  for (const Damage& damage : model.damages) {
    if ((damage.kind == DamageKind::kSequenceGap) != gaps) continue;
    if (texts.size() == kMaxDetails) break;
    texts.push_back(DamageText(damage));
  }
  if (count > texts.size()) texts.push_back(absl::StrCat("... and ", count - texts.size(), " more"));
  return texts;
}

// Bytes that are no good, and frames that are not there: what is one loss is told once.
void AddDamageFindings(const TraceModel& model, Findings* findings) {
  const uint64_t gap_count = model.sequence_gap_count;
  const uint64_t place_count = model.damage_count - gap_count;
  if (place_count > 0) {
    findings
        ->Add(pb::SEVERITY_DATA_LOSS, "trace.damage", place_count,
              absl::StrCat("damaged places in the file (", Plural(model.damaged_bytes, "byte"), " skipped)"))
        ->details = DamageTexts(model, /*gaps=*/false, place_count);
  }
  if (model.missing_frame_count > 0) {
    findings
        ->Add(
            pb::SEVERITY_DATA_LOSS, "trace.missing_frames", model.missing_frame_count,
            absl::StrCat("frames missing (gaps in their numbers", place_count > 0 ? "; damaged ones among them)" : ")"))
        ->details = DamageTexts(model, /*gaps=*/true, gap_count);
  } else if (gap_count > 0) {
    findings->Add(pb::SEVERITY_DATA_LOSS, "trace.frame_order", gap_count, "frames out of order or there twice")
        ->details = DamageTexts(model, /*gaps=*/true, gap_count);
  }
}

void AddFileFindings(const TraceModel& model, Findings* findings) {
  if (NothingRecorded(model)) {
    findings->Add(pb::SEVERITY_ERROR, "trace.nothing_recorded", 1,
                  "the library could not begin to record: what it said tells why");
  }
  AddDamageFindings(model, findings);
  if (!model.header.has_value()) {
    findings->Add(pb::SEVERITY_DATA_LOSS, "trace.no_header", 1, "the first frame is missing: the program is not known");
  } else if (model.header->format_major() != 1) {
    findings->Add(pb::SEVERITY_ERROR, "trace.format", model.header->format_major(),
                  absl::StrCat("the trace's format is ", model.header->format_major(), ".",
                               model.header->format_minor(), ", this gx-analyze reads 1.x: figures may be wrong"),
                  "use the gx-analyze of the gpuexec that wrote the trace");
  }
  if (!model.trailer.has_value()) {
    findings
        ->Add(pb::SEVERITY_DATA_LOSS, "trace.no_trailer", 1,
              "the trace has no end: the program was killed, or still runs; at most its last second is missing")
        ->details = {"what may be missing: launches not yet written, kernels that CUPTI had not yet handed over, the",
                     "last counters, and names or attributes first used then. What is here is sound."};
  } else if (model.trailer->reason() == pb::Trailer::REASON_DISABLED && !NothingRecorded(model)) {
    findings->Add(pb::SEVERITY_ERROR, "trace.disabled", 1,
                  "recording switched itself off before the program ended; see the errors");
  } else if (model.trailer->reason() == pb::Trailer::REASON_YIELDED) {
    findings->Add(pb::SEVERITY_NOTICE, "trace.yielded", 1, "recording ended when another CUPTI client appeared");
  }
  if (model.undecodable_record_count > 0) {
    Finding* finding = findings->Add(pb::SEVERITY_ERROR, "trace.undecodable_records", model.undecodable_record_count,
                                     "records in batches that could not be decoded");
    for (const std::string& reason : model.undecodable_reasons) {
      if (finding->details.size() == kMaxDetails) break;
      finding->details.push_back(Printable(reason));
    }
  }
  for (const auto& [what, count] : model.undefined_count) {
    findings->Count(pb::SEVERITY_DATA_LOSS, absl::StrCat("trace.undefined_", what), count,
                    absl::StrCat("uses of a ", what, " whose definition is missing"));
  }
}

void AddJoinFindings(const TraceModel& model, Findings* findings) {
  const Accounting& a = model.accounting;
  // Beyond the size limit launches and kernels are summarised at different moments: a rest on either side is expected.
  const bool summarised = a.summarised_kernels > 0 || a.summarised_launches > 0;
  const pb::Severity gap = summarised ? pb::SEVERITY_NOTICE : pb::SEVERITY_DATA_LOSS;
  const absl::string_view why = summarised                   ? " (some are in the summaries kept after the size limit)"
                                : !model.trailer.has_value() ? " (the trace has no end: the last ones were under way)"
                                                             : "";
  const uint64_t taken = std::min(CountKernelsTaken(model), a.launches_without_kernel);
  findings->Count(gap, "join.launches_without_kernel", a.launches_without_kernel - taken,
                  absl::StrCat("launches for which no kernel record came", why));
  findings->Count(gap, "join.kernels_without_launch", a.kernels_without_launch,
                  absl::StrCat("kernel records for which no launch is known", summarised ? why : ""));
  if (a.replays_short > 0) {
    findings->Add(gap, "join.replays_short", a.replays_short,
                  absl::StrCat("graph replays with fewer kernels than the graph has (", a.replay_kernels_missing,
                               " kernels missing)", why));
  }
  findings->Count(pb::SEVERITY_NOTICE, "join.replays_long", a.replays_long,
                  "graph replays with more kernels than the graph has nodes that may be kernels");
  findings->Count(
      pb::SEVERITY_NOTICE, "join.replays_unchecked", a.replays_unchecked,
      "graph replays whose number of kernels is not known (conditional nodes, or built before the capture)");
  findings->Count(pb::SEVERITY_NOTICE, "join.untimed_launches", a.untimed_launches - a.counter_window_launches,
                  "launches made while kernel records were off, by design: not timed");
  // Counted by the library as well, where it could write its counters.
  if (StatValue(model, pb::STAT_KERNELS_UNTIMED) == 0) {
    findings->Count(pb::SEVERITY_DATA_LOSS, "join.kernels_untimed", a.kernels_untimed,
                    "kernel records without timestamps");
  }
  if (StatValue(model, pb::STAT_KERNELS_UNFINISHED) == 0) {
    findings->Count(pb::SEVERITY_NOTICE, "join.kernels_unfinished", a.kernels_unfinished,
                    "kernels that were still running when the process ended");
  }
  if (StatValue(model, pb::STAT_KERNELS_INVALID_TIME) == 0) {
    findings->Count(pb::SEVERITY_ERROR, "join.kernels_invalid", a.kernels_invalid,
                    "kernel records whose end lies before their start");
  }
  findings->Count(pb::SEVERITY_NOTICE, "join.kernels_late", a.kernels_late,
                  "records that came more than 2 s out of order: not in medians or busy times");
  findings->Count(pb::SEVERITY_NOTICE, "join.repeated_correlation_ids", a.repeated_correlation_ids,
                  "correlation ids that came again while a launch was waiting: matched by time");
  findings->Count(pb::SEVERITY_NOTICE, "join.signature_from_activity", a.kernels_signature_from_activity,
                  "kernels whose launch values are taken from the kernel record (no launch or graph node told them)");

  std::vector<std::string> examples;
  const uint64_t disagreements = CountSignatureDisagreements(model, kMaxDetails, &examples);
  if (disagreements > 0) {
    const StatDescription description = DescribeStat(pb::STAT_SIGNATURE_DISAGREEMENTS);
    findings->Add(description.severity, description.name, disagreements, description.meaning)->details =
        std::move(examples);
  }

  std::vector<std::string> occupancies;
  const uint64_t differing = CountOccupancyDisagreements(model, kMaxDetails, &occupancies);
  if (differing > 0) {
    findings
        ->Add(pb::SEVERITY_NOTICE, "model.occupancy_disagreements", differing,
              "signatures for which the driver's occupancy and the model's differ",
              "from compute capability 9.0 on a kernel that uses several named barriers (bar.sync in PTX) holds fewer "
              "blocks; a trace does not say how many it uses, so that the driver is right then")
        ->details = std::move(occupancies);
  }

  // What the callbacks counted against what is in the file: STAT_LAUNCHES_SEEN in stats.proto says what it counts.
  const uint64_t called = StatValue(model, pb::STAT_LAUNCHES_SEEN) + StatValue(model, pb::STAT_GRAPH_LAUNCHES_SEEN) +
                          StatValue(model, pb::STAT_LAUNCHES_FAILED);
  const uint64_t dropped = StatValue(model, pb::STAT_LAUNCHES_DROPPED_QUEUE_FULL);
  const uint64_t launches = a.launches + a.graph_launches + a.refused_launches + a.summarised_launches;
  if (called > launches + dropped) {
    findings->Add(pb::SEVERITY_DATA_LOSS, "trace.launch_records_missing", called - launches - dropped,
                  absl::StrCat("launches that the callbacks saw (", called, ", refused ones among them) and that are ",
                               "not in the file"));
  }
  const uint64_t received = StatValue(model, pb::STAT_KERNEL_RECORDS);
  const uint64_t kernels = a.kernel_records() + a.summarised_kernels;
  if (received > kernels) {
    findings->Add(pb::SEVERITY_DATA_LOSS, "trace.kernel_records_missing", received - kernels,
                  absl::StrCat("kernel records that CUPTI gave (", received, ") and that are not in the file"));
  }
  if (model.cells_limited) {
    findings->Add(pb::SEVERITY_NOTICE, "report.groups_limited", model.cells.size(),
                  "groups of kernels kept apart; kernels of further groups are shown together");
  }
}

}  // namespace

uint64_t CountKernelsTaken(const TraceModel& model) {
  const uint64_t missing = model.accounting.launches_without_kernel + model.accounting.replay_kernels_missing;
  uint64_t taken = 0;
  for (const auto& [id, gap] : model.record_gaps) taken += std::min(gap.kernel_count(), missing - taken);
  return taken;
}

uint64_t CountSignatureDisagreements(const TraceModel& model, size_t max_examples, std::vector<std::string>* examples) {
  uint64_t kernels = 0;
  // In a fixed order: the map has none.
  std::vector<std::pair<std::pair<uint32_t, uint32_t>, uint64_t>> pairs(
      model.kernels_by_signature_and_attributes.begin(), model.kernels_by_signature_and_attributes.end());
  std::sort(pairs.begin(), pairs.end());
  for (const auto& [pair, count] : pairs) {
    const SignatureEntry& signature = model.signatures[pair.first];
    const std::vector<std::string> differences =
        SignatureDifferences(model, signature, model.attributes.at(pair.second));
    if (differences.empty()) continue;
    kernels += count;
    if (examples == nullptr || examples->size() >= max_examples) continue;
    std::string line =
        absl::StrCat(ShortKernelName(FullKernelName(model.FunctionName(signature))), ", ", count, " kernels: ");
    for (size_t i = 0; i < differences.size(); ++i) absl::StrAppend(&line, i == 0 ? "" : "; ", differences[i]);
    examples->push_back(std::move(line));
  }
  return kernels;
}

void BuildFindings(const TraceModel& model, ProcessSection* section) {
  Findings findings(section);
  AddRecordGapFinding(model, &findings);
  AddFileFindings(model, &findings);
  AddJoinFindings(model, &findings);
  if (model.api_calls_left_out > 0) {
    findings.Add(pb::SEVERITY_NOTICE, "trace.api_functions", model.api_calls_left_out,
                 absl::StrCat("calls of the runtime and driver left out: the trace names more than ",
                              FormatCount(kMaxApiFunctions), " functions"),
                 "");
  }
  for (const auto& [id, value] : model.stats) {
    if (value == 0 || id == pb::STAT_SIGNATURE_DISAGREEMENTS) continue;
    StatDescription description = DescribeStat(id);
    Finding finding{description.severity, description.name, value, description.meaning, description.advice, {}};
    if (id == pb::STAT_SIZE_LIMIT_REACHED && section->run.single_records_end_ns.has_value()) {
      finding.details.push_back(
          absl::StrCat("single records end at ", FormatOffset(*section->run.single_records_end_ns)));
    }
    (description.severity == pb::SEVERITY_INFO ? section->bookkeeping : section->findings)
        .push_back(std::move(finding));
  }
  // No loss: it is what counter windows are.
  if (const uint64_t count = model.accounting.counter_window_launches; count > 0) {
    section->bookkeeping.push_back(
        {pb::SEVERITY_INFO,
         "join.counter_window_launches",
         count,
         "launches made in counter windows, where kernel records are off: not timed, by intent",
         "",
         {}});
  }
  AddCounterFindings(model, &section->findings, &section->bookkeeping);
  // Error, data loss, unknown, notice.
  const auto rank = [](pb::Severity severity) {
    return severity == pb::SEVERITY_UNSPECIFIED ? 2.5 : static_cast<double>(severity);
  };
  std::stable_sort(section->findings.begin(), section->findings.end(),
                   [&](const Finding& a, const Finding& b) { return rank(a.severity) > rank(b.severity); });
  for (const Finding& finding : section->findings) section->data_lost |= MeansDataLost(finding.severity);
  section->nothing_recorded = NothingRecorded(model);
  section->diagnostic_count = model.diagnostic_count;
  for (const pb::Diagnostic& diagnostic : model.diagnostics) {
    const absl::string_view all = diagnostic.text();
    const std::string text =
        absl::StrCat(Printable(all.substr(0, kMaxDiagnosticBytes)), all.size() > kMaxDiagnosticBytes ? "..." : "");
    section->diagnostics.push_back(
        diagnostic.stat() == pb::STAT_UNSPECIFIED
            ? text
            : absl::StrCat(DescribeStat(static_cast<uint32_t>(diagnostic.stat())).name, ": ", text));
  }
}

}  // namespace gx::analysis
