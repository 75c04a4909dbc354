// The summary at the end of a run: gx-analyze on its traces, to standard error, for a limited time. One thread.
#ifndef GPUEXEC_TOOLS_RUN_SUMMARY_H_
#define GPUEXEC_TOOLS_RUN_SUMMARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/run/conclusion.h"
#include "tools/run/signal_gate.h"

namespace gx::tools {

// Reading goes at some millions of kernels a second; who has more asks gx-analyze.
inline constexpr int64_t kSummaryTimeoutMs = 60'000;
// Of many traces the largest ones are summarised, as one report.
inline constexpr size_t kMaxSummarised = 8;

// gx-analyze's command line. `traces`: the largest first. Pure.
std::vector<std::string> SummaryCommand(const std::string& analyzer, const std::vector<RunTrace>& traces);

// Runs it. Empty: it was shown; else why not, in a sentence. SIGTERM and SIGHUP end it, and so does Ctrl-C.
std::string ShowSummary(const std::vector<std::string>& command, const SignalGate& gate, int64_t timeout_ms);

}  // namespace gx::tools

#endif  // GPUEXEC_TOOLS_RUN_SUMMARY_H_
