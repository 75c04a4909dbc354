// Any packet through the whole analyzer: what is imported makes a report in each form, and nothing in it is
// unprintable.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "analysis/frame_walk.h"
#include "analysis/report_builder.h"
#include "analysis/report_csv.h"
#include "analysis/report_json.h"
#include "analysis/report_proto.h"
#include "analysis/report_text.h"
#include "analysis/trace_importer.h"
#include "analysis/trace_reader.h"
#include "gpuexec/v1/trace.pb.h"
#include "tests/fuzz/require.h"

namespace {

using gx::analysis::Section;

// Printable characters beyond ASCII are as they are.
void RequirePrintable(absl::string_view text) {
  for (const char c : text) {
    GX_FUZZ_REQUIRE(c == '\n' || (static_cast<unsigned char>(c) >= ' ' && static_cast<unsigned char>(c) != 0x7F));
  }
}

void RequireBounded(const gpuexec::v1::Report& report) {
  GX_FUZZ_REQUIRE(static_cast<size_t>(report.signature_size()) <= gx::analysis::kMaxReportSignatures);
  for (const gpuexec::v1::SignatureReport& signature : report.signature()) {
    GX_FUZZ_REQUIRE(static_cast<size_t>(signature.timing().sample_ns_size()) <= gx::analysis::kPickedDurations);
    for (const gpuexec::v1::CounterGroupReport& group : signature.counter_group()) {
      GX_FUZZ_REQUIRE(static_cast<size_t>(group.sample_size()) <= gx::analysis::kMaxReportSamples);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  // As the reader does before it parses.
  const auto field_count = gx::analysis::CountFields(bytes, gx::analysis::TraceReader::kMaxPacketFields);
  if (!field_count.has_value() || *field_count > gx::analysis::TraceReader::kMaxPacketFields) return 0;
  gpuexec::v1::Packet packet;
  if (!packet.ParseFromArray(data, static_cast<int>(size))) return 0;
  gx::analysis::TraceImporter importer({});
  // Twice: definitions are known in the second round, and come again.
  importer.Import(packet);
  importer.Import(packet);
  const std::vector<gx::analysis::TraceModel> models = {importer.Finish()};
  gx::analysis::ReportRequest request;
  request.ladder_machines.emplace();
  const gx::analysis::Report report = BuildReport(models, request);
  for (const gx::analysis::CountersSection& counters : report.counters) {
    for (const gx::analysis::SignatureCounters& signature : counters.signatures) {
      for (const gx::analysis::CounterGroupRow& group : signature.groups) {
        GX_FUZZ_REQUIRE(group.void_count <= group.sample_count);
        for (const gx::analysis::CounterMetricRow& metric : group.metrics) {
          // No sample, no figure: unavailable is not zero.
          GX_FUZZ_REQUIRE(metric.min.has_value() == (metric.value_count > 0));
          GX_FUZZ_REQUIRE(!metric.median.has_value() ||
                          (*metric.min <= *metric.median && *metric.median <= *metric.max));
        }
        GX_FUZZ_REQUIRE(group.samples.size() <= group.sample_count);
        for (const gx::analysis::CounterSampleLine& sample : group.samples) {
          GX_FUZZ_REQUIRE(sample.values.size() == group.metrics.size());
        }
      }
    }
  }
  gx::analysis::TextStyle style;
  RequirePrintable(ReportText(report, style));
  style.sections = {Section::kCounters, Section::kSamples, Section::kLadder, Section::kApi};
  RequirePrintable(ReportText(report, style));
  const gpuexec::v1::Report message = ReportMessage(report, &report);
  const auto json = gx::analysis::ReportJson(message);
  GX_FUZZ_REQUIRE(json.ok());
  RequirePrintable(*json);
  RequireBounded(message);
  RequirePrintable(ReportCsv(report));
  RequirePrintable(ReportCountersCsv(report));
  RequirePrintable(ReportSamplesCsv(report));
  RequirePrintable(ReportApiCsv(report));
  return 0;
}
