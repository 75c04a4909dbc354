#include "tools/run/process_watch.h"

#include <dirent.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "tools/run/process_facts.h"

namespace gx::tools {
namespace {

constexpr size_t kMaxStatBytes = 4096;
// A big Python program has 5,000 maps of 100 bytes.
constexpr size_t kMaxMapsBytes = size_t{16} << 20;
// Linux holds arguments and environment to 6 MiB.
constexpr size_t kMaxEnvironmentBytes = size_t{8} << 20;

struct Process {
  pid_t pid = 0;
  ProcessStat stat;
};

std::vector<Process> AllProcesses() {
  std::vector<Process> processes;
  DIR* const folder = ::opendir("/proc");
  if (folder == nullptr) return processes;
  while (const dirent* entry = ::readdir(folder)) {
    pid_t pid = 0;
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || !absl::SimpleAtoi(entry->d_name, &pid)) continue;
    const std::optional<std::string> text = ReadProcFile(pid, "stat", kMaxStatBytes);
    if (!text) continue;
    if (std::optional<ProcessStat> stat = ParseProcessStat(*text)) processes.push_back({pid, *std::move(stat)});
  }
  ::closedir(folder);
  return processes;
}

void LookAt(const Process& process, SeenProcess* seen) {
  seen->is_alive = !process.stat.is_zombie;
  if (!seen->is_alive) return;
  seen->pid = process.pid;
  seen->name = process.stat.name;
  // All is known; a program that takes the place of this one in its process is not looked for.
  if (seen->has_library) return;
  if (const auto environment = ReadProcFile(process.pid, "environ", kMaxEnvironmentBytes)) {
    // Empty while a program is being replaced, and in the kernel's own threads.
    if (!environment->empty()) seen->injection = FindInEnvironment(*environment, "CUDA_INJECTION64_PATH");
  }
  const std::optional<std::string> text = ReadProcFile(process.pid, "maps", kMaxMapsBytes);
  seen->is_readable = text.has_value();
  if (!text) return;
  ProcessMaps maps = ParseProcessMaps(*text);
  if (!maps.libcuda.empty()) seen->libcuda = std::move(maps.libcuda);
  seen->has_library |= maps.has_library;
  seen->has_device |= maps.has_device;
}

}  // namespace

void ProcessWatch::Look() {
  ++look_count_;
  const std::vector<Process> all = AllProcesses();
  for (auto& [key, seen] : seen_) seen.is_alive = false;
  std::multimap<pid_t, const Process*> children;
  std::vector<const Process*> ours;
  for (const Process& process : all) {
    children.emplace(process.stat.parent, &process);
    const bool is_known = seen_.contains(Key(process.stat.start_ticks, process.pid));
    if (process.pid == root_ || is_known) ours.push_back(&process);
  }
  std::map<pid_t, const Process*> found;
  while (!ours.empty()) {
    const Process* const process = ours.back();
    ours.pop_back();
    if (!found.emplace(process->pid, process).second) continue;
    const auto [begin, end] = children.equal_range(process->pid);
    for (auto child = begin; child != end; ++child) ours.push_back(child->second);
  }
  for (const auto& [pid, process] : found) {
    const Key key(process->stat.start_ticks, pid);
    // A zombie that was never seen alive has nothing to tell.
    if (process->stat.is_zombie && !seen_.contains(key)) continue;
    const auto [place, is_new] = seen_.try_emplace(key);
    if (is_new) ++process_count_;
    LookAt(*process, &place->second);
  }
  // A run may have a hundred thousand processes that have nothing to do with CUDA.
  std::erase_if(seen_, [](const auto& entry) {
    const SeenProcess& seen = entry.second;
    return !seen.is_alive && seen.is_readable && seen.libcuda.empty() && !seen.has_library;
  });
}

std::vector<SeenProcess> ProcessWatch::Seen() const {
  std::vector<SeenProcess> processes;
  for (const auto& [key, seen] : seen_) processes.push_back(seen);
  return processes;
}

int64_t NextLookMs(int64_t elapsed_ms, int64_t look_us) {
  const int64_t usual = elapsed_ms < 200 ? 20 : elapsed_ms < 5000 ? 100 : 1000;
  // 1 % of a core: 100 times as long as the look, in milliseconds.
  return std::max(usual, look_us / 10);
}

}  // namespace gx::tools
