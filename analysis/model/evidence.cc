#include "analysis/model/evidence.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace gx::model {
namespace {

// Names in a fault come from a file: no more of one than a line can bear.
constexpr size_t kMaxQuotedBytes = 128;

std::string Quoted(absl::string_view text) {
  if (text.size() <= kMaxQuotedBytes) return absl::StrCat("'", absl::Utf8SafeCEscape(text), "'");
  size_t size = kMaxQuotedBytes;
  // Not within a character of UTF-8.
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return absl::StrCat("'", absl::Utf8SafeCEscape(text.substr(0, size)), "...'");
}

bool IsBlank(absl::string_view text) { return std::all_of(text.begin(), text.end(), absl::ascii_isspace); }
bool IsBlank(const std::vector<int64_t>& extents) { return extents.empty(); }

std::string TensorName(const DispatchTensor& tensor, size_t index) {
  return IsBlank(tensor.name) ? absl::StrCat("tensor ", index) : absl::StrCat("tensor ", Quoted(tensor.name));
}

void CheckSamples(const std::vector<double>& samples, std::vector<std::string>* faults) {
  if (samples.size() < kMinRawSamples) {
    faults->push_back(
        absl::StrCat("timing: got ", samples.size(), " raw samples, expected ", kMinRawSamples, " or more"));
  }
  size_t bad_count = 0;
  size_t first = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (std::isfinite(samples[i]) && samples[i] > 0) continue;
    if (bad_count++ == 0) first = i;
  }
  if (bad_count == 0) return;
  faults->push_back(absl::StrCat("timing: sample ", first, " is ", samples[first],
                                 " seconds, expected a finite time above 0",
                                 bad_count == 1 ? "" : absl::StrCat(" (", bad_count, " such samples)")));
}

void CheckReference(const Evidence& evidence, std::vector<std::string>* faults) {
  const auto usable = [](const std::optional<double>& value) {
    return value.has_value() && std::isfinite(*value) && *value >= 0;
  };
  const auto check = [&](absl::string_view what, const std::optional<double>& value) {
    if (!value.has_value()) {
      faults->push_back(absl::StrCat("numerical check: no reference ", what));
    } else if (!usable(value)) {
      faults->push_back(
          absl::StrCat("numerical check: ", what, " is ", *value, ", expected a finite number, 0 or above"));
    }
  };
  check("tolerance", evidence.reference_tolerance);
  check("error", evidence.reference_error);
  if (usable(evidence.reference_tolerance) && usable(evidence.reference_error) &&
      *evidence.reference_error > *evidence.reference_tolerance) {
    faults->push_back(absl::StrCat("numerical check: error ", *evidence.reference_error, " is above the tolerance ",
                                   *evidence.reference_tolerance));
  }
}

// Whether both state it and differ: what is missing is a fault of its own, or agrees with anything.
template <typename Value>
bool Differ(const Value& got, const Value& expected) {
  return !IsBlank(expected) && !IsBlank(got) && got != expected;
}

void CompareText(absl::string_view what, absl::string_view got, absl::string_view expected,
                 std::vector<std::string>* faults) {
  if (!Differ(got, expected)) return;
  faults->push_back(absl::StrCat(what, ": got ", Quoted(got), ", the case has ", Quoted(expected)));
}

void CompareTensors(const std::vector<DispatchTensor>& got, const std::vector<DispatchTensor>& expected,
                    std::vector<std::string>* faults) {
  if (expected.empty() || got.empty()) return;
  if (got.size() != expected.size()) {
    faults->push_back(absl::StrCat("dispatch key: got ", got.size(), " tensors, the case has ", expected.size()));
    return;
  }
  size_t named = 0;
  size_t unnamed = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    std::vector<absl::string_view> parts;
    if (Differ(got[i].name, expected[i].name)) parts.emplace_back("name");
    if (Differ(got[i].shape, expected[i].shape)) parts.emplace_back("shape");
    if (Differ(got[i].stride, expected[i].stride)) parts.emplace_back("strides");
    if (Differ(got[i].dtype, expected[i].dtype)) parts.emplace_back("dtype");
    if (parts.empty()) continue;
    if (++named > kMaxNamedTensors) {
      ++unnamed;
      continue;
    }
    faults->push_back(absl::StrCat("dispatch key: ", absl::StrJoin(parts, " and "), " of ", TensorName(got[i], i),
                                   parts.size() == 1 && parts[0] != "strides" ? " differs" : " differ",
                                   " from the case's"));
  }
  if (unnamed > 0) {
    faults->push_back(absl::StrCat("dispatch key: ", unnamed, " more tensors differ from the case's"));
  }
}

bool SameFlags(std::vector<std::string> a, std::vector<std::string> b) {
  for (std::vector<std::string>* flags : {&a, &b}) {
    std::sort(flags->begin(), flags->end());
    flags->erase(std::unique(flags->begin(), flags->end()), flags->end());
  }
  return a == b;
}

// An exact key may have no flags and then says so; one that is not exact may lack them.
bool FlagsDiffer(const DispatchKey& got, const DispatchKey& expected) {
  const bool stated = !expected.flags.empty() || MissingParts(expected).empty();
  const bool answered = !got.flags.empty() || MissingParts(got).empty();
  return stated && answered && !SameFlags(got.flags, expected.flags);
}

void CompareKeys(const DispatchKey& got, const DispatchKey& expected, std::vector<std::string>* faults) {
  CompareText("dispatch key: framework", got.framework, expected.framework, faults);
  CompareText("dispatch key: backend", got.backend, expected.backend, faults);
  CompareText("dispatch key: route", got.route, expected.route, faults);
  CompareText("dispatch key: kernel symbol", got.kernel_symbol, expected.kernel_symbol, faults);
  CompareTensors(got.tensors, expected.tensors, faults);
  if (FlagsDiffer(got, expected)) {
    faults->push_back("dispatch key: flags differ from the case's");
  }
}

void CheckMeasured(const Evidence& evidence, const EvidenceCase& expected, std::vector<std::string>* faults) {
  CheckSamples(evidence.sample_seconds, faults);
  if (const std::vector<std::string> missing = MissingParts(evidence.dispatch_key); !missing.empty()) {
    faults->push_back(absl::StrCat("dispatch key: not exact, lacks ", absl::StrJoin(missing, ", ")));
  }
  if (IsBlank(evidence.selected_backend)) faults->push_back("selected backend: not named");
  if (IsBlank(evidence.kernel_symbol)) faults->push_back("kernel symbol: not named");
  // The record must not contradict itself.
  if (Differ(evidence.selected_backend, evidence.dispatch_key.backend)) {
    faults->push_back(absl::StrCat("selected backend: ", Quoted(evidence.selected_backend),
                                   ", but the dispatch key has ", Quoted(evidence.dispatch_key.backend)));
  }
  if (Differ(evidence.kernel_symbol, evidence.dispatch_key.kernel_symbol)) {
    faults->push_back(absl::StrCat("kernel symbol: ", Quoted(evidence.kernel_symbol), ", but the dispatch key has ",
                                   Quoted(evidence.dispatch_key.kernel_symbol)));
  }
  CheckReference(evidence, faults);
  if (IsBlank(evidence.profiler_command)) faults->push_back("profiler: no command");
  if (IsBlank(evidence.profiler_report)) faults->push_back("profiler: no report");
  size_t named = 0;
  for (const std::string& metric : evidence.counter_metrics) named += IsBlank(metric) ? 0 : 1;
  if (evidence.counter_metrics.empty()) {
    faults->push_back("profiler: no counters");
  } else if (named < evidence.counter_metrics.size()) {
    faults->push_back(absl::StrCat("profiler: counters: ", evidence.counter_metrics.size() - named,
                                   " without the exact name of the metric"));
  }
  CompareKeys(evidence.dispatch_key, expected.dispatch_key, faults);
}

}  // namespace

absl::string_view ClaimLabelName(ClaimLabel label) {
  switch (label) {
    case ClaimLabel::kAnalytical:
      return "analytical";
    case ClaimLabel::kIllustrative:
      return "illustrative";
    case ClaimLabel::kSourceReported:
      return "source_reported";
    case ClaimLabel::kLocallyMeasured:
      return "locally_measured";
    case ClaimLabel::kUnmeasured:
      return "unmeasured";
    case ClaimLabel::kUnspecified:
      break;
  }
  return "unspecified";
}

std::vector<std::string> MissingParts(const DispatchKey& key) {
  std::vector<std::string> missing;
  if (IsBlank(key.framework)) missing.emplace_back("framework");
  if (IsBlank(key.backend)) missing.emplace_back("backend");
  if (IsBlank(key.route)) missing.emplace_back("route");
  if (IsBlank(key.kernel_symbol)) missing.emplace_back("kernel symbol");
  if (key.tensors.empty()) {
    missing.emplace_back("shapes, strides and dtypes");
    return missing;
  }
  size_t named = 0;
  size_t unnamed = 0;
  for (size_t i = 0; i < key.tensors.size(); ++i) {
    const DispatchTensor& tensor = key.tensors[i];
    std::vector<absl::string_view> parts;
    // A scalar has shape [1]: an empty shape cannot be told from one that was left out. A tensor of no elements is none
    // that a kernel works on.
    const bool has_extents =
        std::all_of(tensor.shape.begin(), tensor.shape.end(), [](int64_t axis) { return axis > 0; });
    if (tensor.shape.empty() || !has_extents) parts.emplace_back("shape");
    if (tensor.stride.empty() || tensor.stride.size() != tensor.shape.size()) parts.emplace_back("strides");
    if (IsBlank(tensor.dtype)) parts.emplace_back("dtype");
    if (parts.empty()) continue;
    if (++named > kMaxNamedTensors) {
      ++unnamed;
      continue;
    }
    missing.push_back(absl::StrCat(absl::StrJoin(parts, " and "), " of ", TensorName(tensor, i)));
  }
  if (unnamed > 0) missing.push_back(absl::StrCat("parts of ", unnamed, " more tensors"));
  return missing;
}

std::vector<std::string> EvidenceFaults(const Evidence& evidence, const EvidenceCase& expected) {
  std::vector<std::string> faults;
  const bool measured = evidence.label == ClaimLabel::kLocallyMeasured;
  if (!measured && evidence.label != ClaimLabel::kUnmeasured) {
    faults.push_back(absl::StrCat("label: got ", ClaimLabelName(evidence.label),
                                  ", expected locally_measured or unmeasured: no other figure is an observation"));
  }
  if (IsBlank(evidence.case_id)) {
    if (measured) {
      faults.push_back(absl::StrCat("case: got no case_id, expected ",
                                    IsBlank(expected.case_id) ? "one" : Quoted(expected.case_id)));
    }
  } else if (evidence.case_id != expected.case_id) {
    faults.push_back(absl::StrCat("case: got ", Quoted(evidence.case_id), ", expected ", Quoted(expected.case_id)));
  }
  if (measured) {
    CheckMeasured(evidence, expected, &faults);
  } else if (!evidence.sample_seconds.empty()) {
    faults.push_back(absl::StrCat("label: ", ClaimLabelName(evidence.label), ", but there are ",
                                  evidence.sample_seconds.size(), " raw samples"));
  }
  return faults;
}

Reconciliation Reconcile(const Evidence& evidence, std::optional<double> lower_bound_seconds) {
  Reconciliation result;
  result.status = evidence.label;
  if (lower_bound_seconds.has_value() && std::isfinite(*lower_bound_seconds) && *lower_bound_seconds >= 0) {
    result.lower_bound_seconds = lower_bound_seconds;
  }
  result.sample_count = evidence.sample_seconds.size();
  result.observed_seconds = SummariseSamples(evidence.sample_seconds);
  if (result.observed_seconds.has_value() && result.lower_bound_seconds.has_value()) {
    result.residual_seconds = result.observed_seconds->median - *result.lower_bound_seconds;
    result.model_violation = *result.residual_seconds < 0;
  }
  return result;
}

}  // namespace gx::model
