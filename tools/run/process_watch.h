// The processes of a run, looked at now and then while they live: did they load the driver, did it load the injection
// library, what did they find in their environment? Owned by one thread.
//
// A process of the run is the program, a child of one, or one that was when it was seen first (its parent may end).
// What ends between two looks is not seen.
#ifndef GPUEXEC_TOOLS_RUN_PROCESS_WATCH_H_
#define GPUEXEC_TOOLS_RUN_PROCESS_WATCH_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gx::tools {

struct SeenProcess {
  pid_t pid = 0;
  std::string name;
  bool is_alive = true;
  // False: its maps are not ours to read (another user's, setuid).
  bool is_readable = true;
  // The driver's library, once it was seen mapped; empty: never.
  std::string libcuda;
  bool has_library = false;
  bool has_device = false;
  // CUDA_INJECTION64_PATH as its program was started with. Nothing: it was not set, or could not be read.
  std::optional<std::string> injection;
};

class ProcessWatch {
 public:
  explicit ProcessWatch(pid_t root) : root_(root) {}

  void Look();
  int64_t look_count() const { return look_count_; }
  // Processes seen so far.
  int64_t process_count() const { return process_count_; }
  // Those of them that live, or had to do with CUDA, or could not be looked into; in the order of their beginning.
  std::vector<SeenProcess> Seen() const;

 private:
  using Key = std::pair<uint64_t, pid_t>;  // start_ticks first: in the order of their beginning

  const pid_t root_;
  int64_t look_count_ = 0;
  int64_t process_count_ = 0;
  std::map<Key, SeenProcess> seen_;
};

// Time until the next look: often while a run is young, then once a second; rarely enough that looking takes 1 % of a
// core at most. `elapsed_ms`: since the start; `look_us`: what the last look took. Pure.
int64_t NextLookMs(int64_t elapsed_ms, int64_t look_us);

}  // namespace gx::tools

#endif  // GPUEXEC_TOOLS_RUN_PROCESS_WATCH_H_
