#include "tools/run/conclusion.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analysis/format.h"
#include "analysis/printable.h"

namespace gx::tools {
namespace {

using analysis::Plural;
using analysis::Printable;

// Lines of one kind; a run of a thousand processes has one fault a thousand times.
constexpr size_t kMaxAlike = 8;

using Names = std::map<int64_t, std::string>;

Names NamesOf(const RunEvidence& evidence) {
  Names names = {{evidence.program_pid, evidence.program_name}};
  for (const SeenProcess& process : evidence.seen) names[process.pid] = process.name;
  return names;
}

// "process 12 (python3)"
std::string Label(int64_t pid, const Names& names) {
  const auto name = names.find(pid);
  const bool is_known = name != names.end() && !name->second.empty();
  return absl::StrCat("process ", pid, is_known ? absl::StrCat(" (", Printable(name->second), ")") : "");
}

// Adds lines until there are too many of their kind.
class Lines {
 public:
  explicit Lines(std::vector<std::string>* lines) : lines_(lines) {}
  ~Lines() {
    if (count_ > kMaxAlike) lines_->push_back(absl::StrCat("and ", count_ - kMaxAlike, " more like the last one"));
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  void Add(std::string line) {
    if (++count_ <= kMaxAlike) lines_->push_back(std::move(line));
  }

 private:
  std::vector<std::string>* const lines_;
  size_t count_ = 0;
};

// A pid is that of the process that holds the file now: the last one that opened it.
std::vector<RunTrace> TracesThere(const RunEvidence& evidence) {
  std::map<std::string, RunTrace> by_path;
  for (const RunTrace& trace : evidence.traces) by_path[trace.path] = trace;
  // A process that cannot record leaves a trace that says why.
  for (const LoggedProcess& process : evidence.logged) {
    if (process.reason.empty()) continue;
    for (const std::string& path : process.traces) {
      if (const auto trace = by_path.find(path); trace != by_path.end() && trace->second.pid == process.pid) {
        by_path.erase(trace);
      }
    }
  }
  std::vector<RunTrace> there;
  for (const auto& [path, trace] : by_path) {
    if (trace.size_bytes.value_or(0) > 0) there.push_back(trace);
  }
  std::stable_sort(there.begin(), there.end(),
                   [](const RunTrace& a, const RunTrace& b) { return *a.size_bytes > *b.size_bytes; });
  return there;
}

void AddLostTraces(const RunEvidence& evidence, const Names& names, std::vector<std::string>* problems) {
  Lines replaced(problems);
  std::map<std::string, int64_t> holders;
  for (const RunTrace& trace : evidence.traces) {
    const auto [holder, is_first] = holders.emplace(trace.path, trace.pid);
    if (is_first || holder->second == trace.pid) continue;
    replaced.Add(absl::StrCat("the trace of ", Label(holder->second, names), ", ", Printable(trace.path),
                              ", was replaced by that of ", Label(trace.pid, names),
                              ": give each process a file of its own, as in -o trace.%p.pb"));
    holder->second = trace.pid;
  }
  Lines gone(problems);
  for (const RunTrace& trace : evidence.traces) {
    if (trace.size_bytes.value_or(0) > 0) continue;
    gone.Add(absl::StrCat("the trace of ", Label(trace.pid, names), ", ", Printable(trace.path),
                          trace.size_bytes ? ", is empty: the process ended before anything was written"
                                           : ", is gone: something has moved or removed it"));
  }
}

void AddLogged(const RunEvidence& evidence, const Names& names, std::vector<std::string>* problems) {
  Lines refused(problems);
  for (const LoggedProcess& process : evidence.logged) {
    if (!process.reason.empty())
      refused.Add(absl::StrCat(Label(process.pid, names), " records nothing: ", process.reason));
  }
}

void AddNotes(const RunEvidence& evidence, const Names& names, std::vector<std::string>* lines) {
  Lines silent(lines);
  for (const LoggedProcess& process : evidence.logged) {
    if (!process.records || !process.traces.empty()) continue;
    silent.Add(absl::StrCat(Label(process.pid, names),
                            " loaded the library and left no trace: it launched nothing, was killed within half a "
                            "second, or the trace could not be written"));
  }
  Lines notes(lines);
  for (const LoggedProcess& process : evidence.logged) {
    for (const std::string& note : process.notes) {
      if (note != process.reason) notes.Add(absl::StrCat(Label(process.pid, names), ": ", note));
    }
  }
}

// Why the driver did not load the library in a process that loaded the driver. Empty: nothing says that it should have.
std::string WhyWithout(const SeenProcess& process, const RunEvidence& evidence) {
  if (absl::StrContains(process.libcuda, "/stubs/")) {
    return absl::StrCat("loaded a stub in place of the CUDA driver, ", Printable(process.libcuda),
                        ": take the toolkit's folder stubs out of LD_LIBRARY_PATH");
  }
  if (!process.injection) {
    return "loaded the CUDA driver without CUDA_INJECTION64_PATH in its environment: what started it has cleared the "
           "environment (sudo, env -i, a scheduler, a container); let the variable through, or put gx-run behind it";
  }
  if (*process.injection != evidence.library) {
    return absl::StrCat("loaded the CUDA driver with CUDA_INJECTION64_PATH=", Printable(*process.injection),
                        ": what started it has changed the variable");
  }
  if (process.has_device) {
    return "uses a GPU, and the driver left the library out without a word: LD_DEBUG=libs,files shows what the loader "
           "says of libgpuexec_inject.so there";
  }
  return "";
}

void AddUnloaded(const RunEvidence& evidence, const Names& names, std::vector<std::string>* problems) {
  Lines without(problems);
  for (const SeenProcess& process : evidence.seen) {
    const bool is_logged = std::any_of(evidence.logged.begin(), evidence.logged.end(),
                                       [&](const LoggedProcess& logged) { return logged.pid == process.pid; });
    if (is_logged || process.has_library || process.libcuda.empty()) continue;
    const std::string why = WhyWithout(process, evidence);
    if (!why.empty()) without.Add(absl::StrCat(Label(process.pid, names), " ", why));
  }
}

// Where no process is known to have recorded anything.
std::string WhyNothing(const RunEvidence& evidence) {
  if (evidence.switched_off) return "GPUEXEC_ENABLE=0 switches the library off: unset it";
  if (!evidence.load_problem.empty()) return absl::StrCat("the library cannot be loaded: ", evidence.load_problem);
  const auto count = [&](auto is_such) {
    return static_cast<uint64_t>(std::count_if(evidence.seen.begin(), evidence.seen.end(), is_such));
  };
  const auto is_cuda = [](const SeenProcess& process) { return !process.libcuda.empty(); };
  const uint64_t loaded = count([&](const auto& process) { return is_cuda(process) && process.has_library; });
  if (loaded > 0) {
    return absl::StrCat(Plural(loaded, "process", "processes"), " loaded the library, and no trace of it is there",
                        evidence.has_log ? "" : " (GPUEXEC_LOG=FILE has the library say why)");
  }
  if (evidence.program.is_static) {
    return absl::StrCat(Printable(evidence.program.path),
                        " is linked statically and cannot load libraries: link it with the dynamic loader");
  }
  if (evidence.program.is_privileged) {
    return absl::StrCat(Printable(evidence.program.path),
                        " is setuid, setgid or has capabilities: the loader and the driver may ignore the environment "
                        "of such a program; run a copy without them");
  }
  const std::string looks = absl::StrCat(Plural(static_cast<uint64_t>(evidence.process_count), "process", "processes"),
                                         " seen in ", Plural(static_cast<uint64_t>(evidence.look_count), "look"),
                                         " over ", analysis::FormatNs(static_cast<double>(evidence.run_ms) * 1e6));
  if (const uint64_t cuda = count(is_cuda); cuda > 0) {
    return absl::StrCat(Plural(cuda, "process", "processes"),
                        " loaded the CUDA driver, none of them is known to have initialised it with the library (",
                        looks, ")");
  }
  if (const uint64_t dark = count([](const auto& process) { return !process.is_readable; }); dark > 0) {
    return absl::StrCat("no process of the run was seen to use CUDA, but ", Plural(dark, "process", "processes"),
                        " cannot be looked into: privileged, or another user's (", looks, ")");
  }
  return absl::StrCat(
      "no process of the run used CUDA, as far as can be seen (", looks,
      "; none with the CUDA driver); what runs in a container or on another machine needs gx-run there");
}

}  // namespace

Conclusion Conclude(const RunEvidence& evidence) {
  Conclusion conclusion;
  const Names names = NamesOf(evidence);
  conclusion.traces = TracesThere(evidence);
  conclusion.is_proven = !conclusion.traces.empty();
  for (const RunTrace& trace : conclusion.traces) {
    conclusion.recorded.push_back(
        absl::StrCat(trace.pid != 0 ? absl::StrCat(Label(trace.pid, names), " recorded to ") : "found by its name: ",
                     Printable(trace.path), ", ", analysis::FormatBytes(*trace.size_bytes)));
  }
  if (!conclusion.is_proven) {
    const bool has_run = std::any_of(evidence.logged.begin(), evidence.logged.end(), [](const LoggedProcess& process) {
      return process.records || !process.reason.empty();
    });
    conclusion.problems.push_back(absl::StrCat("nothing was recorded",
                                               has_run ? ", though the library was loaded" : ": ",
                                               has_run ? "" : WhyNothing(evidence)));
  }
  AddLogged(evidence, names, &conclusion.problems);
  AddLostTraces(evidence, names, &conclusion.problems);
  AddUnloaded(evidence, names, &conclusion.problems);
  AddNotes(evidence, names, &conclusion.notes);
  return conclusion;
}

}  // namespace gx::tools
