// The parts that a report is built from, one a file: TraceModel -> plain data of report.h. Included by report_builder
// and by these files alone. Pure; one thread.
#ifndef GPUEXEC_ANALYSIS_REPORT_SECTIONS_H_
#define GPUEXEC_ANALYSIS_REPORT_SECTIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report.h"
#include "analysis/report_builder.h"
#include "analysis/trace_model.h"

namespace gx::analysis {

// Launches of one signature that differ by more do different work (other arguments, other data).
inline constexpr double kMixedWorkSpread = 0.02;
// Samples of a group that a signature should have, besides first ones of sessions: what the library aims at.
inline constexpr uint64_t kWantedSamples = 3;

// Section 1, report_findings.cc: losses and odd records, most severe first; bookkeeping and diagnostics. After
// BuildRun.
void BuildFindings(const TraceModel& model, ProcessSection* section);

// Kernels that launches and replays lack, in spans in which another CUPTI client took the records (RecordGap).
uint64_t CountKernelsTaken(const TraceModel& model);

// Kernels whose record disagrees with their launch's signature; appends up to `max_examples` descriptions.
uint64_t CountSignatureDisagreements(const TraceModel& model, size_t max_examples, std::vector<std::string>* examples);

// Signatures for which the driver's occupancy and the model's differ (report_occupancy.cc); examples as above.
uint64_t CountOccupancyDisagreements(const TraceModel& model, size_t max_examples, std::vector<std::string>* examples);

// Section 2, report_provenance.cc and report_devices.cc.
ProvenanceSection BuildProvenance(const TraceModel& model);
std::vector<DeviceSection> BuildDevices(const TraceModel& model, const RunSection& run);
// report_machines.cc: what request.ladder_machines has for each device. After devices and provenance.
void AddMachineUses(const TraceModel& model, size_t process, const ReportRequest& request, ProcessSection* section);

// Section 3, report_run.cc.
RunSection BuildRun(const TraceModel& model);
AccountingSection BuildAccounting(const TraceModel& model);
// report_run_explained.cc: after the run, the devices and their machine files, which are in `section`.
RunExplanation ExplainRun(const TraceModel& model, size_t process, const ReportRequest& request,
                          const ProcessSection& section);

// report_api.cc: most time first.
std::vector<ApiUseRow> BuildApiUses(const TraceModel& model);

// Section 4, report_kernels.cc: adds the groups of process number `process` to the report.
void AddKernels(const TraceModel& model, size_t process, const ReportRequest& request, Report* report);
// In the order of `sort`; equal traces give equal reports.
void SortKernels(SortKey sort, std::vector<KernelGroup>* kernels);

// Section 5, report_counters.cc: adds what process number `process` counted, where its trace says anything of it.
void AddCounters(const TraceModel& model, size_t process, const ReportRequest& request, Report* report);

// report_roofline_facts.cc: rooflines of the rows that are one signature each. After counters, devices and rows.
void AddRooflines(const ReportRequest& request, Report* report);

// report_ladder.cc: the ladders of process number `process`, heaviest first; of request.ladder_machines, which is
// there.
LadderSection BuildLadders(const TraceModel& model, size_t process, const ReportRequest& request);

// counter_words.cc, for the two files about counters.
// "hardware" for KIND_HARDWARE, and so on; a value of a later format as its number.
std::string CounterGroupKindWord(int kind);
std::string CounterAccessWord(int state);
std::string CounterDenialWord(int reason);
std::string DroppedMetricWord(int reason);
// Which metric and why, in one phrase.
std::string DroppedMetricText(const gpuexec::v1::DroppedMetric& dropped);
// Whether the user named the metric, as against a set that holds it. True where what was asked for is not known.
bool IsAskedForByName(const gpuexec::v1::CounterPlan& plan, const gpuexec::v1::DroppedMetric& dropped);
// Full demangled name of a function, "(name unknown)" where it is not defined; "graph 7", "everything in context 1".
std::string DeniedName(const TraceModel& model, const gpuexec::v1::CounterDenial& denial);

// mixed_work.cc. Series of kernel launches; launches whose parameters could not be read are under kNoSignature.
std::map<uint32_t, std::vector<const CounterSeries*>> SeriesBySignature(const CounterModel& counters);
// Series of graph launches, by executable graph.
std::map<uint64_t, std::vector<const CounterSeries*>> SeriesByGraph(const CounterModel& counters);
// Metrics that show more than one kind of work among a signature's launches: instructions, bytes that loads and stores
// ask for, and the sectors these lie in. Spread is that of CounterFigures; more than kMixedWorkSpread is mixed work,
// where the difference could be seen in a duration at all. What caches make of the requests (L2 and DRAM traffic)
// depends on what ran before, and is no evidence.
std::vector<MixedWork> MixedWorkOf(const CounterModel& counters, const std::vector<const CounterSeries*>& series);
// Instructions by the hardware's counters against those by patched code, of the same signature (or graph): unset where
// they agree, or are not both there.
std::optional<InstructionDisagreement> InstructionDisagreementOf(const CounterModel& counters,
                                                                 const std::vector<const CounterSeries*>& series);

// The SM clock while the signature's launches were counted, median of the first group that holds it.
std::optional<double> CountedClockHz(const CounterModel& counters, const std::vector<const CounterSeries*>& series);

// report_counter_findings.cc: adds findings about counters, and examples to those that are there. Any order.
void AddCounterFindings(const TraceModel& model, std::vector<Finding>* findings, std::vector<Finding>* bookkeeping);

// process_labels.cc: "rank 3" where every trace has a rank and no two share one; else "pid 17", with the host if there
// are several; else the number of the trace on the command line.
void LabelProcesses(std::vector<ProcessSection>* sections);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_SECTIONS_H_
