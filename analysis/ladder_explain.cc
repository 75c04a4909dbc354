#include "analysis/ladder_explain.h"

#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/printable.h"
#include "analysis/text_table.h"
#include "analysis/text_writer.h"

namespace gx::analysis {
namespace {

constexpr ExplainedSource kOfUseful[] = {{"(binding).sum", "light+"},
                                         {"smsp__sass_data_bytes_mem_global_op_ld.sum", "sass+"},
                                         {"smsp__sass_data_bytes_mem_global_op_st.sum", "sass+"},
                                         {"smsp__sass_inst_executed.sum", "sass+"},
                                         {"smsp__sass_thread_inst_executed.sum", "sass+"}};
constexpr ExplainedSource kOfAlgorithm[] = {{"manifest", ""}};
constexpr ExplainedSource kOfWork[] = {{"(binding).sum", "light+"}};
constexpr ExplainedSource kOfClock[] = {{"gpc__cycles_elapsed.avg.per_second", "light+"},
                                        {"window clocks: SM clock", ""},
                                        {"device: maximum SM clock", ""}};
constexpr ExplainedSource kOfUneven[] = {{"(binding).max", "light+"}, {"(binding).avg", "light+"}};
constexpr ExplainedSource kOfCeiling[] = {{"machine file: sustained rates", ""}};
constexpr ExplainedSource kOfTracing[] = {{"machine file: tracing bias", ""}};
constexpr ExplainedSource kOfLaunch[] = {{"machine file: empty kernels", ""}};
constexpr ExplainedSource kOfIdle[] = {{"sm__cycles_active.max", "light+"}, {"sm__cycles_active.avg", "light+"}};
constexpr ExplainedSource kOfSync[] = {{"smsp__warps_issue_stalled_barrier.sum", "st1"},
                                       {"smsp__warps_issue_stalled_membar.sum", "st4"},
                                       {"smsp__warps_issue_stalled_sleeping.sum", "st6"},
                                       {"smsp__cycles_active.sum", "light+"},
                                       {"smsp__issue_active.sum", "light+"}};
constexpr ExplainedSource kOfLatency[] = {{"smsp__warps_issue_stalled_long_scoreboard.sum", "st1"},
                                          {"smsp__warps_issue_stalled_short_scoreboard.sum", "st1"},
                                          {"smsp__warps_issue_stalled_wait.sum", "st3"},
                                          {"sm__warps_active.sum", "st1"},
                                          {"sm__inst_pending_pipe_lsu_mem_lg_cmd_read.sum", "lat"},
                                          {"machine file: unloaded latencies", ""}};
constexpr ExplainedSource kOfQueue[] = {{"smsp__warps_issue_stalled_lg_throttle.sum", "st2"},
                                        {"smsp__warps_issue_stalled_mio_throttle.sum", "st2"},
                                        {"smsp__warps_issue_stalled_math_pipe_throttle.sum", "st2"},
                                        {"smsp__warps_issue_stalled_long_scoreboard.sum", "st1"}};
constexpr ExplainedSource kOfOverlap[] = {{"smsp__warps_issue_stalled_long_scoreboard.sum", "st1"},
                                          {"(binding).sum", "light+"}};
constexpr ExplainedSource kOfUnexplained[] = {{"sm__cycles_active.max", "light+"}};

// In the order of model::TermKind.
constexpr LadderExplanation kTerms[] = {
    {"useful", "useful",
     "The least time for the work that the kernel's lanes asked for (R1), or for what the operation needs (R0, with a "
     "manifest). It is the lower bound of the report.",
     "max over resources of useful work / (peak rate x maximum SM clock)", kOfUseful,
     "Counted work of each resource, less what excess work would save; peaks are CUPTI's, in counts per clock.",
     "Only another algorithm, another number format or another unit (tensor cores) makes it less."},
    {"algorithm", "algorithm",
     "Useful work of this implementation beyond what the operation itself needs: operands read several times, "
     "recomputation.",
     "R1 - R0", kOfAlgorithm, "R0 is stated in a manifest; without one there is no such term.",
     "Tiling, fusion, keeping operands in registers or shared memory."},
    {"work", "work", "The least time for the work that was counted, where nobody counted how much of it is useful.",
     "R2: max over resources of counted work / (peak rate x maximum SM clock)", kOfWork,
     "Takes the place of useful and excess work where patched code (group sass+) was not counted; there is no residual "
     "then.",
     "Count the group sass+ to see what of it is waste."},
    {"excess work", "excess",
     "Time for work that the same lanes need not have caused: half-empty sectors, bank conflicts, spills, divergence, "
     "writes beyond what was stored.",
     "R2 - R1, shared between its kinds by Shapley values", kOfUseful,
     "Each kind changes counts; the rung is computed again for each subset of kinds, so their shares do not depend on "
     "an order.",
     "See the kinds: uncoalesced, conflicts, spills, divergence, write_back."},
    {"clock", "clock", "The SM clock was lower than its maximum while the kernel was timed: power or heat.",
     "R3 - R2 = R2 x (maximum SM clock / timed SM clock - 1), for resources on the SM clock", kOfClock,
     "The timed clock is that of the counted launches, by as much as windows with timings ran slower or faster than "
     "those with counters; where launches' clock was not counted it is the median of windows with timings, and without "
     "a reading the maximum.",
     "Less power (smaller operands, less data movement), a higher power limit, cooling. No change of the kernel "
     "alone."},
    {"uneven", "uneven", "The busiest SM, L2 slice or DRAM channel had more to do than the mean one.",
     "R4 - R3; R4 = max over resources of R3's work x busiest / mean instance", kOfUneven,
     "Maximum and mean over instances of one group's samples.",
     "SMs: blocks of equal work, a grid that fills whole waves. Slices: spread atomics and hot addresses. Channels: "
     "strides that are no power of two."},
    {"ceiling gap", "ceiling",
     "What the best known code loses against the theoretical rate of the resource that binds.",
     "R5 - R4 = R4 x (1 / eta - 1), eta = sustained over theoretical rate", kOfCeiling,
     "Rates are slopes of time against work, measured on this kind of device by gx-kernels --ceilings. Without a "
     "measured rate of the resource it is nothing.",
     ""},
    {"tracing", "tracing",
     "What recording makes the recorded duration longer: the program without gpuexec does not pay it.",
     "b0 + (waves of blocks - 1) x (b1 + b2 x threads of a block), of the machine file; b0 alone where launching "
     "blocks "
     "is what takes the time",
     kOfTracing, "Fitted to chains of kernels that were timed with and without records.", ""},
    {"launch and drain", "launch", "What even an empty kernel of this shape takes.",
     "recorded duration of an empty kernel, less what tracing adds to it", kOfLaunch,
     "The empty kernel of the machine file that is nearest in grid, block, shared memory and cluster.",
     "Fewer and larger kernels (fusion). A CUDA graph shortens the gaps between kernels, not this."},
    {"idle SMs", "idle",
     "SMs without a block while the longest-active one still ran: a grid that does not fill the device, "
     "a last wave that does not, blocks of different length.",
     "longest-active SM - mean SM, less what is uneven already; at most what is left above R5", kOfIdle,
     "Called unfilled where the grid has fewer blocks than SMs, tail up to a block's time times the empty share of the "
     "last wave, else imbalance.",
     "More, smaller blocks (split-K for products with few rows), whole waves, a persistent grid."},
    {"sync", "sync", "Schedulers had nothing to issue, as their warps waited at barriers, fences or slept.",
     "min(time left, cycles without an issue) x share of barrier, membar and sleeping among stalls", kOfSync,
     "An attribution by what warps wait for, with an interval from 0: they may wait for a warp that has another "
     "reason.",
     "Fewer barriers, barriers of a warp or part of a block, even work between barriers, double buffering."},
    {"latency", "latency",
     "Waiting that the warps at hand could not hide although nothing was busy: too few of them, or too few loads in "
     "flight.",
     "max(0, X - R5) x (1 - sync share), X = mean active cycles x share of a warp's life that it would spend alone",
     kOfLatency,
     "Little's law with measured latencies: a wait for memory counts by unloaded over observed latency. Where that was "
     "not counted latency is taken as unloaded, which the class says (attributed).",
     "More independent loads in flight (unrolling, wider loads, asynchronous copies), more warps (occupancy)."},
    {"queue", "queue", "Waiting for a resource that is busy, beyond its own time: bursts.",
     "min(time left, cycles without an issue) x share of throttle stalls, where a resource is busy for 60 % or more",
     kOfQueue, "Named after that resource.", "Work spread evenly over time: loads early, arithmetic in between."},
    {"overlap", "overlap", "Busy time and latency that did not overlap in full.",
     "at most sqrt(R5^2 + X^2) - max(R5, X)", kOfOverlap, "Bounded by a model; no cause of its own.",
     "Software pipelining: the next tile's loads before this tile's arithmetic."},
    {"unexplained", "unexplained", "Time that nothing above covers. It does not shrink by naming it.",
     "time - all other terms", kOfUnexplained,
     "Where counted launches ran otherwise than timed ones (closure fails), idle SMs to overlap count as unexplained, "
     "too.",
     "More groups of counters (GPUEXEC_COUNTERS=lean), more samples, a machine file of this device."},
};
static_assert(std::size(kTerms) == model::kTermCount);

// In the order of model::Rung.
constexpr LadderExplanation kRungs[] = {
    {"R0", "r0", "The least time for what the operation needs, whoever implements it.",
     "compulsory bytes and operations over theoretical rates", kOfAlgorithm,
     "Stated in a manifest; else there is none.", "Another operation."},
    {"R1", "r1", "Lower bound for the useful work of this implementation's lanes.",
     "max over resources of useful work / (peak rate x maximum SM clock)", kOfUseful,
     "A bound, if counts and peaks are right: a time below it is a violation.", "See useful."},
    {"R2", "r2", "Lower bound for the work that was counted.",
     "max over resources of counted work / (peak x maximum clock)", kOfWork,
     "DRAM below twice the size of L2 is the smallest sample: earlier launches' writes land in it.", "See excess."},
    {"R3", "r3", "The same at the SM clock of the timed launches.", "R2 x maximum / timed SM clock, on the SM clock",
     kOfClock, "Resources on a clock of their own (DRAM) do not change.", "See clock."},
    {"R4", "r4", "The same for the busiest SM, slice or channel: this implementation cannot be faster.",
     "max over resources of R3's work x busiest / mean instance", kOfUneven, "Where no maximum was counted it is R3.",
     "See uneven."},
    {"R5", "r5",
     "What the best known code takes for R4's work. Not a bound: a time below it beats the machine file's rate.",
     "max over resources of R4's work / eta", kOfCeiling, "Where no rate of a resource was measured it is R4.", ""},
};
static_assert(std::size(kRungs) == model::kRungCount);

constexpr ExplainedSource kOfUncoalesced[] = {{"smsp__sass_data_bytes_mem_global_op_ld.sum", "sass+"},
                                              {"smsp__sass_data_bytes_mem_global_op_st.sum", "sass+"},
                                              {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", "sass+"},
                                              {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum", "sass+"},
                                              {"dram__bytes_read.sum", "light+"}};
constexpr ExplainedSource kOfConflicts[] = {{"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "sass+"},
                                            {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "sass+"},
                                            {"smsp__sass_data_bytes_mem_shared.sum", "sass+"},
                                            {"smsp__sass_inst_executed_op_shared_ld.sum", "sass+"}};
constexpr ExplainedSource kOfSpills[] = {{"smsp__sass_inst_executed_op_local_ld.sum", "sass+"},
                                         {"smsp__sass_inst_executed_op_local_st.sum", "sass+"},
                                         {"smsp__sass_sectors_mem_local.sum", "sass+"}};
constexpr ExplainedSource kOfDivergence[] = {{"smsp__sass_thread_inst_executed.sum", "sass+"},
                                             {"smsp__sass_inst_executed.sum", "sass+"}};
constexpr ExplainedSource kOfWriteBack[] = {{"dram__bytes_write.sum", "light+"},
                                            {"smsp__sass_data_bytes_mem_global_op_st.sum", "sass+"}};

// In the order of model::ExcessFactor.
constexpr LadderExplanation kFactors[] = {
    {"uncoalesced", "uncoalesced",
     "Lanes' bytes fill only part of the 32-byte sectors that their loads and stores touch.",
     "bytes asked for / (32 x sectors)", kOfUncoalesced,
     "Of the load/store unit alone; bulk copies (TMA) have no lanes.",
     "Neighbouring lanes read neighbouring addresses; an array for each field instead of one of records; aligned "
     "pointers; a detour through shared memory for transposes."},
    {"bank conflicts", "conflicts", "Shared memory took more wavefronts than its instructions and bytes need.",
     "wavefronts - max(instructions, bytes / 128)", kOfConflicts, "Wavefronts by patched code.",
     "A padded row (one element more), a swizzled layout, ldmatrix for tensor operands."},
    {"spills", "spills", "Loads and stores of local memory, where the compiler ran out of registers.",
     "local instructions and sectors, and their part of L2 and DRAM by L1's miss rate", kOfSpills,
     "From executed instructions, never from the local memory that a launch reserves.",
     "More registers a thread (launch bounds, maxrregcount), less live state, smaller tiles. It may cost resident "
     "blocks."},
    {"divergence", "divergence", "Instructions were issued for fewer than 32 lanes.",
     "thread instructions / (32 x warp instructions)", kOfDivergence, "Changes issue and the arithmetic pipes.",
     "Work sorted so that warps take one path, predication of short branches, tails handled apart."},
    {"write-back excess", "write_back", "DRAM was written more than the kernel stores.",
     "DRAM bytes written - bytes stored", kOfWriteBack,
     "Below twice the size of L2 it may be what launches before wrote; more than 32 bytes for each stored byte is.",
     "Whole sectors written at once; streaming stores."},
};
static_assert(std::size(kFactors) == model::kExcessFactorCount);

std::string SourceText(const ExplainedSource& source) {
  return source.group.empty() ? std::string(source.source) : absl::StrCat(source.source, " (", source.group, ")");
}

}  // namespace

const LadderExplanation& ExplanationOf(model::TermKind kind) { return kTerms[static_cast<size_t>(kind)]; }
const LadderExplanation& ExplanationOf(model::Rung rung) { return kRungs[static_cast<size_t>(rung)]; }
const LadderExplanation& ExplanationOf(model::ExcessFactor factor) { return kFactors[static_cast<size_t>(factor)]; }

std::vector<const LadderExplanation*> LadderExplanations() {
  std::vector<const LadderExplanation*> all;
  for (const LadderExplanation& one : kTerms) all.push_back(&one);
  for (const LadderExplanation& one : kRungs) all.push_back(&one);
  for (const LadderExplanation& one : kFactors) all.push_back(&one);
  return all;
}

absl::StatusOr<std::string> ExplainLadderWord(absl::string_view word) {
  std::vector<absl::string_view> keys;
  for (const LadderExplanation* one : LadderExplanations()) {
    keys.push_back(one->key);
    if (!absl::EqualsIgnoreCase(one->key, word) && !absl::EqualsIgnoreCase(one->word, word)) continue;
    std::string text = absl::StrCat(one->word, "\n");
    const auto add = [&text](absl::string_view label, absl::string_view what) {
      for (const absl::string_view piece : WrapText(what, kWrapColumns)) {
        if (piece.empty()) continue;
        absl::StrAppend(&text, absl::StrFormat("  %-14s%s\n", std::string(label), std::string(piece)));
        label = "";
      }
    };
    add("meaning", one->meaning);
    add("formula", one->formula);
    add("rests on", absl::StrJoin(one->sources, ", ", [](std::string* out, const ExplainedSource& source) {
          absl::StrAppend(out, SourceText(source));
        }));
    add("computed here", one->here);
    add("usual cure", one->cure.empty() ? "none: not a fault of the kernel" : one->cure);
    return text;
  }
  return absl::NotFoundError(absl::StrCat("no term, rung or kind of excess is called '", Printable(word.substr(0, 100)),
                                          "'; there are: ", absl::StrJoin(keys, ", ")));
}

}  // namespace gx::analysis
