// Any bytes as a manifest and as an observation, in every form: reading, deriving and printing neither crash nor hang,
// what is said is printable, and JSON is read as protobuf's own reader reads it.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "analysis/manifest/message_file.h"
#include "analysis/manifest/model_report.h"
#include "analysis/manifest/model_text.h"
#include "analysis/model/products.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"
#include "gpuexec/v1/evidence.pb.h"
#include "gpuexec/v1/manifest.pb.h"
#include "gpuexec/v1/model_report.pb.h"
#include "tests/fuzz/require.h"

namespace {

namespace v1 = gpuexec::v1;
using gx::analysis::BuildModelReport;
using gx::analysis::ModelReportText;
using gx::analysis::ParseMessageBytes;

// Printable characters beyond ASCII are as they are.
void RequirePrintable(absl::string_view text) {
  for (const char c : text) {
    GX_FUZZ_REQUIRE(c == '\n' || (static_cast<unsigned char>(c) >= ' ' && static_cast<unsigned char>(c) != 0x7F));
  }
}

template <typename Message>
bool Read(absl::string_view name, absl::string_view bytes, Message* message) {
  const absl::Status status = ParseMessageBytes(name, bytes, message);
  if (status.ok()) return true;
  RequirePrintable(status.message());
  GX_FUZZ_REQUIRE(status.message().find('\n') == absl::string_view::npos);
  return false;
}

void Evaluate(const v1::Manifest& manifest, const v1::Observation& observation) {
  const gx::model::Product* products[] = {nullptr, &gx::model::Products().front()};
  for (const gx::model::Product* product : products) {
    const v1::ModelReport report = BuildModelReport(manifest, {.observation = &observation, .device = product});
    RequirePrintable(ModelReportText(manifest, report, false));
    // Every text in it is UTF-8, whatever was cut.
    v1::ModelReport again;
    GX_FUZZ_REQUIRE(again.ParseFromString(report.SerializeAsString()));
    std::string json;
    GX_FUZZ_REQUIRE(google::protobuf::util::MessageToJsonString(report, &json).ok());
    RequirePrintable(json);
    // A refused observation leaves no figure.
    const v1::Reconciliation& reconciliation = report.reconciliation();
    if (!reconciliation.refusal().empty() || reconciliation.status() != v1::CLAIM_LABEL_LOCALLY_MEASURED) {
      GX_FUZZ_REQUIRE(!reconciliation.has_observed_median_seconds() && !reconciliation.has_residual_seconds());
    } else {
      GX_FUZZ_REQUIRE(reconciliation.sample_count() >= 20 && reconciliation.observed_median_seconds() > 0);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  constexpr const char* kNames[] = {"input.textproto", "input.json", "input.pb", "input"};
  for (size_t form = 0; form < std::size(kNames); ++form) {
    if (!gx::fuzz::IsFormOf(bytes, form, std::size(kNames))) continue;
    const char* const name = kNames[form];
    v1::Manifest manifest;
    v1::Observation observation;
    const bool is_manifest = Read(name, bytes, &manifest);
    const bool is_observation = Read(name, bytes, &observation);
    if (!is_manifest) manifest.Clear();
    if (!is_observation) observation.Clear();
    if (is_manifest || is_observation) Evaluate(manifest, observation);
    if (is_manifest && absl::string_view(name) == "input.json") {
      v1::Manifest other;
      GX_FUZZ_REQUIRE(google::protobuf::util::JsonStringToMessage(std::string(bytes), &other).ok());
      GX_FUZZ_REQUIRE(other.SerializeAsString() == manifest.SerializeAsString());
    }
  }
  return 0;
}
