// The parts that report_proto puts together, one a file; included by these files alone. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_REPORT_PROTO_SECTIONS_H_
#define GPUEXEC_ANALYSIS_REPORT_PROTO_SECTIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report.h"
#include "analysis/report_ladder.h"
#include "gpuexec/v1/report.pb.h"

namespace gx::analysis {

// report_proto_process.cc, but for ladders. `counters`: null where the process has none.
void FillProcess(const ProcessSection& process, const CountersSection* counters, gpuexec::v1::ReportProcess* message);
void FillFindings(const std::vector<Finding>& findings,
                  google::protobuf::RepeatedPtrField<gpuexec::v1::ReportFinding>* messages);

// report_proto_run.cc. `index_by_signature`: where the process's signatures stand in Report.signature. `other_device`:
// a machine file is of another device.
void FillExplanation(const RunExplanation& explanation, const std::map<uint32_t, uint32_t>& index_by_signature,
                     bool other_device, gpuexec::v1::RunExplanationReport* message);

// report_proto_devices.cc.
void FillDevice(const DeviceSection& device, gpuexec::v1::ReportDevice* message);

// report_proto_counters.cc: of a process, of a signature, of graphs.
void FillCounters(const CountersSection& counters, gpuexec::v1::CounterReport* message);
void FillBill(const CountersSection& counters, gpuexec::v1::CounterBillReport* message);
void FillSignatureCounters(const SignatureCounters& counters, gpuexec::v1::SignatureReport* message);
void FillGraph(const GraphCounters& graph, gpuexec::v1::GraphReport* message);

// report_proto_kernels.cc. A name that is no longer than a report's names are.
std::string ReportName(const std::string& name);
void FillDim(const Dim& dim, gpuexec::v1::LaunchDim* message);
void FillSignature(const KernelGroup& group, gpuexec::v1::SignatureReport* message);
// Of a signature without a kernel record: what its launches say, no times.
void FillCountedOnly(const SignatureCounters& counters, gpuexec::v1::SignatureReport* message);
void FillGroup(const Grouping& grouping, const KernelGroup& group, gpuexec::v1::KernelGroupReport* message);

// report_proto_ladder.cc.
void FillLadder(const LadderRow& row, gpuexec::v1::SignatureReport* message);
void FillCoverage(const LadderSection& section, const std::map<uint32_t, uint32_t>& index_by_signature,
                  gpuexec::v1::LadderCoverage* message);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_PROTO_SECTIONS_H_
