#include "inject/session.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "inject/activity_buffers.h"
#include "inject/boundary.h"
#include "inject/callback_router.h"
#include "inject/capture_gate.h"
#include "inject/clock.h"
#include "inject/clock_sync.h"
#include "inject/config.h"
#include "inject/context_behaviour.h"
#include "inject/copies.h"
#include "inject/counter_records.h"
#include "inject/cuda_api.h"
#include "inject/cupti_api.h"
#include "inject/cupti_traps.h"
#include "inject/dynamic_library.h"
#include "inject/exit_order.h"
#include "inject/flusher.h"
#include "inject/function_table.h"
#include "inject/graph_sampling.h"
#include "inject/import_patch.h"
#include "inject/launch_hold.h"
#include "inject/launch_sampler.h"
#include "inject/log.h"
#include "inject/nvml_sampler.h"
#include "inject/nvtx_handler.h"
#include "inject/own_threads.h"
#include "inject/probe_gate.h"
#include "inject/prober.h"
#include "inject/range_verdict.h"
#include "inject/recording.h"
#include "inject/replay_memory.h"
#include "inject/replay_sampler.h"
#include "inject/sampler.h"
#include "inject/sampling_deny_list.h"
#include "inject/sampling_needs.h"
#include "inject/sampling_tally.h"
#include "inject/sampling_watchdog.h"
#include "inject/spin_lock.h"
#include "inject/stream_table.h"
#include "inject/thread_queue.h"
#include "inject/version.h"
#include "inject/writer.h"

extern char** environ;

namespace gx::inject {

std::atomic<State> g_state{State::kOff};

namespace {

// Values of gpuexec.v1.Trailer.Reason.
constexpr uint32_t kReasonExit = 1;
constexpr uint32_t kReasonDisabled = 2;
constexpr uint32_t kReasonYielded = 3;

// A module's unload may wait this long for driver calls about its functions.
constexpr uint64_t kUnloadWaitNs = 100'000'000;
// The last frames are small; a disk that takes longer than this loses them rather than hold the program up.
constexpr uint64_t kWriterWaitNs = 5'000'000'000;
constexpr uint64_t kLeastFlushWaitNs = 200'000'000;
constexpr uint64_t kCallersWaitNs = 100'000'000;
// Stopping and reading a session takes some 50 ms; the device may have to become idle first.
constexpr uint64_t kSamplerWaitNs = 1'000'000'000;
// More, while a call of ours is under way: the destructors of the library that it is in come next.
constexpr uint64_t kSamplerCallWaitNs = 2'000'000'000;
// How often calls that do not come back are looked for; and while one is under way, for the order at exit.
constexpr uint64_t kWatchPeriodNs = 100'000'000;
constexpr uint64_t kExitOrderPeriodNs = 5'000'000;
constexpr uint64_t kReplayWaitNs = 2'000'000'000;

// What the sampling of hardware counters is made of; unused where GPUEXEC_COUNTERS=off.
struct Sampling {
  std::atomic<bool> on{false};
  CaptureGate captures;
  RangeContents contents;
  LaunchHold hold;
  StreamTable streams;
  ContextBehaviour behaviour;
  ReplayMemory replay;
  GraphSamplingTable graphs;
  SamplingNeeds needs;
  SamplingDenyList deny;
  SamplingWatchdog watchdog;
  SamplingTally tally;
  LaunchSampler launches;
  ReplaySampler replays;
  Sampler sampler;
  // Rank 0 of the job takes counters, this process takes none; devices of which that is told, as bits.
  bool left_to_rank_zero = false;
  std::atomic<uint64_t> told_devices{0};
  std::atomic<bool> watch_ends{false};
  Pulse watch_wake;
};

struct Session {
  Config config;
  std::vector<std::pair<std::string, std::string>> rank_variables;
  std::string rank;
  CuptiApi cupti;
  CudaApi cuda;
  ThreadQueues queues;
  FunctionTable functions;
  ContextTable contexts;
  ActivityBuffers buffers;
  OwnThreads own_threads;
  ProbeGate gate;
  CallbackRouter router;
  Prober prober;
  NvmlSampler nvml;
  Recording recording;
  Flusher flusher;
  Sampling sampling;
  std::unique_ptr<Writer> writer;
  CUpti_SubscriberHandle subscriber = nullptr;
  SpinLock preparing;
  bool prepared = false;
  bool memory_ready = false;
  bool threads_running = false;
  // Copies of libraries that the trace names already.
  std::vector<std::string> copies_told;
  std::atomic<bool> ended{false};
  // Threads of ours that may be inside the driver or NVML.
  std::atomic<int> callers_running{0};
};

// Made at first use, never destroyed.
Session& GetSession() {
  static Session* session = new Session;
  return *session;
}

void OnForkInChild();
// Once: later calls return at once.
void OnExit();

ExitOrder& AtExit() {
  static constinit ExitOrder order(OnExit);
  return order;
}

// Shares of GPUEXEC_MEMORY: 3/8 for queues (96 of 256 MiB), 1/8 for functions and code, the rest for activity buffers.
bool PrepareMemoryLocked(Session* session) {
  if (session->prepared) return session->memory_ready;
  session->prepared = true;
  session->config = ReadConfig();
  OpenLog(session->config.log);
  const uint64_t memory_bytes = session->config.memory_bytes;
  session->memory_ready = session->queues.Allocate(memory_bytes * 3 / 8) &&
                          session->functions.Allocate(memory_bytes / 8) && session->buffers.Allocate(memory_bytes / 2);
  if (!session->memory_ready) LogStart("no memory for queues and buffers: nothing is recorded");
  pthread_atfork([] { AtExit().BeforeFork(); }, [] { AtExit().AfterFork(); }, OnForkInChild);
  return session->memory_ready;
}

bool PrepareMemory(Session* session) {
  // Several copies of NVTX and cuInit may come here at once, each on a thread of its own.
  if (!session->preparing.TryLock()) return false;
  const bool ready = PrepareMemoryLocked(session);
  session->preparing.Unlock();
  return ready;
}

std::vector<std::string> Environment() {
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) environment.emplace_back(*entry);
  return environment;
}

std::string ReadWholeFile(const char* path) {
  std::string content;
  FILE* file = std::fopen(path, "re");
  if (file == nullptr) return content;
  char chunk[4096];
  size_t length = 0;
  while ((length = std::fread(chunk, 1, sizeof(chunk), file)) != 0 && content.size() < (size_t{1} << 20)) {
    content.append(chunk, length);
  }
  std::fclose(file);
  return content;
}

// A folder's name as part of a pattern: its per cent signs mean themselves.
std::string EscapePattern(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped.append(c == '%' ? 2 : 1, c);
  return escaped;
}

HeaderRecord MakeHeader(const Session& session) {
  HeaderRecord header;
  header.gpuexec_version = kVersion;
  header.source_revision = kSourceRevision;
  const std::string command_line = ReadWholeFile("/proc/self/cmdline");
  for (size_t begin = 0; begin < command_line.size();) {
    const size_t end = command_line.find('\0', begin);
    header.command_line.push_back(command_line.substr(begin, end - begin));
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  char path[4096];
  const ssize_t path_bytes = readlink("/proc/self/exe", path, sizeof(path));
  if (path_bytes > 0) header.executable_path.assign(path, static_cast<size_t>(path_bytes));
  utsname system{};
  if (uname(&system) == 0) {
    header.host_name = system.nodename;
    header.kernel_release = system.release;
    header.machine = system.machine;
  }
  header.pid = static_cast<uint64_t>(getpid());
  header.parent_pid = static_cast<uint64_t>(getppid());
  struct stat pid_namespace {};
  if (stat("/proc/self/ns/pid", &pid_namespace) == 0) header.pid_namespace = pid_namespace.st_ino;
  header.rank_variables = session.rank_variables;
  header.configuration = DescribeConfig(session.config);
  int driver_api_version = 0;
  if (session.cuda.cuDriverGetVersion != nullptr &&
      session.cuda.cuDriverGetVersion(&driver_api_version) == CUDA_SUCCESS) {
    header.cuda_driver_api_version = static_cast<uint64_t>(driver_api_version);
  }
  header.cupti_api_version = session.cupti.version;
  header.cupti_traps = CuptiTrapsOf(session.cupti.version);
  header.cupti_path = session.cupti.path;
  header.libcuda_path = session.cuda.path;
  header.kernel_record_version = session.cupti.version == 0 ? 0 : KernelRecordVersion(session.cupti.version);
  header.start = ReadClockPair(&session.cupti);
  return header;
}

void CUPTIAPI BufferRequested(uint8_t** buffer, size_t* size, size_t* max_records) {
  *buffer = nullptr;
  *size = 0;
  *max_records = 0;
  Guarded([&] {
    Session& session = GetSession();
    CompletedBuffer discarded;
    *buffer = session.buffers.Take(Avoids(session.cupti.version, CuptiAvoidance::kNullBuffers), &discarded);
    if (discarded.data != nullptr) {
      size_t count = 0;
      CUpti_Activity* record = nullptr;
      while (session.cupti.cuptiActivityGetNextRecord(discarded.data, discarded.valid_bytes, &record) ==
             CUPTI_SUCCESS) {
        ++count;
      }
      Stats().Add(StatId::kRecordsDiscarded, count);
    }
    if (*buffer == nullptr) {
      Stats().Add(StatId::kBuffersRefused);
    } else {
      *size = ActivityBuffers::kBufferBytes;
    }
  });
}

void CUPTIAPI BufferCompleted(CUcontext context, uint32_t stream_id, uint8_t* buffer, size_t, size_t valid_size) {
  Guarded([&] {
    Session& session = GetSession();
    if (buffer != nullptr && !session.buffers.Complete({buffer, valid_size, context, stream_id})) {
      Stats().Add(StatId::kCuptiErrors);
    }
    // The queues' pulse is what the writer waits on.
    session.queues.half_full().Signal();
  });
}

// The writer reads what is queued, the prober answers what that raises. True: nothing is left to ask.
bool WaitForAnswers(Session& session, uint64_t timeout_ns) {
  if (session.gate.is_shut()) return false;
  const uint32_t ticket = session.writer->RequestDrain();
  return WaitUntil([&] { return static_cast<int32_t>(session.prober.done_ticket() - ticket) >= 0; }, timeout_ns);
}

// Asks, before a module or context goes, for what is still unknown of its functions.
void BeforeUnload() {
  Session& session = GetSession();
  if (!session.threads_running || session.gate.is_shut()) return;
  if (!WaitForAnswers(session, kUnloadWaitNs)) Stats().Add(StatId::kUnloadWaitTimedOut);
}

void OnProfilerRegion(bool start) { GetSession().recording.Switch(start); }

template <void (*Body)(Session&)>
void* ThreadMain(void* argument) {
  auto* session = static_cast<Session*>(argument);
  session->own_threads.Add(static_cast<uint32_t>(syscall(SYS_gettid)));
  Guarded([&] { Body(*session); });
  return nullptr;
}

// Threads of ours take no signal: a host's handler must run on the host's threads.
bool StartThread(void* (*body)(void*), const char* name, Session* session) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const int result = pthread_create(&thread, nullptr, body, session);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (result != 0) {
    Stats().Add(StatId::kThreadStartFailed);
    return false;
  }
  pthread_setname_np(thread, name);
  pthread_detach(thread);
  return true;
}

void RunWriter(Session& session) {
  Guarded([&] { session.writer->Run(); });
  session.writer->MarkFinished();
}
void RunProber(Session& session) {
  session.callers_running.fetch_add(1);
  Guarded([&] { session.prober.Run(); });
  session.callers_running.fetch_sub(1);
}
void RunNvml(Session& session) {
  session.callers_running.fetch_add(1);
  Guarded([&] { session.nvml.Run(); });
  session.callers_running.fetch_sub(1);
}
void RunFlusher(Session& session) { session.flusher.Run(); }
void RunSampler(Session& session) {
  session.callers_running.fetch_add(1);
  Guarded([&] { session.sampling.sampler.Run(); });
  session.sampling.sampler.MarkFinished();
  session.callers_running.fetch_sub(1);
}

// Of each device that is in use by now, once.
void NoteLeftToRankZero(Session& session) {
  session.contexts.ForEachId([&](uint32_t, uint32_t device_id, void*) {
    const uint64_t bit = uint64_t{1} << device_id % 64;
    if ((session.sampling.told_devices.fetch_or(bit) & bit) != 0) return;
    session.writer->PostCounters(MakeLeftToRankZero(device_id, session.rank, MonotonicNs()));
  });
}

// Whoever else calls CUPTI may be stuck with it, behind the call that is: this thread makes no such call.
void RunWatch(Session& session) {
  Sampling& sampling = session.sampling;
  // A call that was shorter than it takes to wake up counts, too.
  bool was_building = false;
  uint32_t seen = sampling.watch_wake.count();
  while (!sampling.watch_ends.load(std::memory_order_acquire)) {
    sampling.sampler.Watch();
    // First: a call that begins after it ends the wait below.
    const uint32_t now_seen = sampling.watch_wake.count();
    const bool building = sampling.watchdog.building() && !AtExit().exhausted();
    if (building || was_building || now_seen != seen) (void)AtExit().Renew();
    was_building = building;
    seen = now_seen;
    (void)sampling.watch_wake.WaitFor(seen, building ? kExitOrderPeriodNs : kWatchPeriodNs);
  }
}

// Copies that have come into the process since this was last asked.
void NoteCopies(Session& session) {
  const auto tell = [&](StatId stat, std::vector<std::string> notes) {
    for (std::string& note : notes) {
      if (std::find(session.copies_told.begin(), session.copies_told.end(), note) != session.copies_told.end())
        continue;
      session.copies_told.push_back(note);
      Log("%s", note.c_str());
      if (stat != StatId::kUnspecified) Stats().Add(stat);
      session.writer->Post(DiagnosticItem{stat, std::move(note)});
    }
  };
  tell(StatId::kUnspecified, CuptiCopyNotes(MappedLibraries("libcupti.so"), session.cupti.path));
  tell(StatId::kSecondCopy, InjectCopyNotes(MappedLibraries(kInjectLibraryPrefix),
                                            PathOfAddress(reinterpret_cast<const void*>(&StartSession))));
}

// The end of recording, in order: the device, CUPTI's buffers, the writer; each with a deadline. Once: later calls
// return at once.
void EndSession(uint32_t reason) {
  Session& session = GetSession();
  const State state = g_state.load();
  // Whatever is under way is the parent's.
  if (state == State::kForked) return;
  // Its end is a callback's, which comes only while capturing.
  session.sampling.replays.Finish(kReplayWaitNs);
  if (session.sampling.on && (state == State::kCapturing || state == State::kDisabled)) {
    // So are the ends of launches, and launches can be held back: the open session is read now.
    session.sampling.sampler.Finish();
    const auto finished = [&] { return session.sampling.sampler.finished(); };
    if (!WaitUntil(finished, kSamplerWaitNs)) {
      (void)WaitUntil([&] { return finished() || !session.sampling.watchdog.busy(); }, kSamplerCallWaitNs);
    }
    session.sampling.watch_ends.store(true, std::memory_order_release);
    session.sampling.watch_wake.Signal();
  }
  State expected = State::kCapturing;
  const bool was_capturing = g_state.compare_exchange_strong(expected, State::kDraining);
  if (!was_capturing && expected != State::kDisabled) return;
  if (!session.threads_running || session.ended.exchange(true)) return;
  SetNvtxEnabled(false);
  if (session.sampling.left_to_rank_zero) NoteLeftToRankZero(session);
  Guarded([&] { NoteCopies(session); });
  // A short program's functions are still to be asked about.
  (void)WaitForAnswers(session, session.config.exit_wait_ns / 4);
  const uint64_t deadline_ns = MonotonicNs() + session.config.exit_wait_ns;
  const auto remaining_ns = [deadline_ns] {
    const uint64_t now_ns = MonotonicNs();
    return std::max(kLeastFlushWaitNs, deadline_ns > now_ns ? deadline_ns - now_ns : 0);
  };
  session.flusher.Finish();
  if (!WaitUntil([&] { return session.flusher.device_idle(); }, remaining_ns())) {
    Stats().Add(StatId::kLaunchesInFlightAtExit);
    session.flusher.StopWaiting();
    // Flushing from here may block as long as the device is busy: bounded by asking another thread of ours.
    (void)StartThread(
        [](void* argument) -> void* {
          Guarded([&] { static_cast<Session*>(argument)->flusher.ForcedFlush(); });
          return nullptr;
        },
        "gpuexec-flush", &session);
  }
  if (!WaitUntil([&] { return session.flusher.flushed(); }, remaining_ns())) {
    Stats().Add(StatId::kFinalFlushTimedOut);
  }
  session.writer->Finish(was_capturing ? reason : kReasonDisabled, ReadClockPair(&session.cupti));
  (void)WaitUntil([&] { return session.writer->finished(); }, kWriterWaitNs);
  // The program goes on into the destructors of the libraries that these two call.
  session.prober.Stop();
  session.nvml.Stop();
  (void)WaitUntil([&] { return session.callers_running.load() == 0; }, kCallersWaitNs);
  g_state.store(State::kDisabled);
}

void OnExit() {
  static constinit std::atomic<bool> begun{false};
  if (begun.exchange(true)) return;
  Guarded([] { EndSession(kReasonExit); });
}

// GPUEXEC_YIELD=1: another client subscribes. Ours gives back what CUPTI holds for it, then the other's call goes on as
// if we had never been there. Runs on the other client's thread, inside its call.
void YieldToOtherClient() noexcept {
  Guarded([] {
    Session& session = GetSession();
    if (!Capturing()) return;
    Stats().Add(StatId::kDetachedForOtherClient);
    session.writer->Post(DiagnosticItem{
        StatId::kDetachedForOtherClient,
        "another CUPTI client subscribed and GPUEXEC_YIELD=1 is set: recording ended here, the program goes on"});
    session.recording.Switch(false);
    EndSession(kReasonYielded);
    (void)session.cupti.cuptiUnsubscribe(session.subscriber);
  });
}

CUptiResult CUPTIAPI YieldingSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                       void* userdata) {
  YieldToOtherClient();
  return GetSession().cupti.cuptiSubscribe(subscriber, callback, userdata);
}

CUptiResult CUPTIAPI YieldingSubscribeV2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                         void* userdata, CUpti_SubscriberParams* parameters) {
  YieldToOtherClient();
  return GetSession().cupti.cuptiSubscribe_v2(subscriber, callback, userdata, parameters);
}

// Libraries come and go: look again whenever one was loaded.
void WatchForOtherClients() {
  static std::atomic<uint64_t> seen{0};
  const uint64_t count = LoadedObjectsCount();
  if (!Capturing() || seen.exchange(count) == count) return;
  const uint32_t changed = RedirectImports("cuptiSubscribe", reinterpret_cast<void*>(&YieldingSubscribe)) +
                           (GetSession().cupti.cuptiSubscribe_v2 == nullptr
                                ? 0
                                : RedirectImports("cuptiSubscribe_v2", reinterpret_cast<void*>(&YieldingSubscribeV2)));
  if (changed != 0) Log("%u imports of cuptiSubscribe are watched (GPUEXEC_YIELD=1)", changed);
}

// In the child of a fork: threads, CUPTI and the file belong to the parent.
void OnForkInChild() {
  AtExit().AfterFork();
  const State before = g_state.load();
  if (before == State::kOff) {
    // Nothing runs yet: this child may become a CUDA process of its own. What NVTX has queued is the parent's.
    GetSession().queues.ForgetAllInChild();
    Stats().Reset();
    return;
  }
  g_state.store(State::kForked);
  SetNvtxEnabled(false);
  Session& session = GetSession();
  if (session.writer != nullptr) session.writer->AbandonInChild();
}

// NVTX is told of our handler through its variable, unless somebody else's is there. Set late (at cuInit) it still
// serves every library that has not made an NVTX call yet.
void OfferNvtx(const Session& session) {
  if (!session.config.nvtx || std::getenv("NVTX_INJECTION64_PATH") != nullptr) return;
  const std::string path = PathOfAddress(reinterpret_cast<const void*>(&StartSession));
  if (!path.empty()) (void)setenv("NVTX_INJECTION64_PATH", path.c_str(), 0);
}

bool Subscribe(Session* session, std::vector<std::string>* problems) {
  char other[128] = {};
  CUptiResult result = CUPTI_ERROR_NOT_SUPPORTED;
  if (session->cupti.cuptiSubscribe_v2 != nullptr) {
    CUpti_SubscriberParams parameters{};
    parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    parameters.subscriberName = "gpuexec";
    parameters.oldSubscriberName = other;
    parameters.oldSubscriberSize = sizeof(other) - 1;
    result =
        session->cupti.cuptiSubscribe_v2(&session->subscriber, CallbackRouter::Callback, &session->router, &parameters);
  } else {
    result = session->cupti.cuptiSubscribe(&session->subscriber, CallbackRouter::Callback, &session->router);
  }
  if (result == CUPTI_SUCCESS) return true;
  Stats().Add(StatId::kSubscribeRefused);
  const char* text = nullptr;
  if (session->cupti.cuptiGetResultString != nullptr) (void)session->cupti.cuptiGetResultString(result, &text);
  std::string problem = "CUPTI refused the subscription (error " + std::to_string(static_cast<int>(result)) +
                        (text != nullptr ? ", " + std::string(text) : "") + "), so nothing is recorded";
  if (other[0] != '\0') problem += "; it belongs to \"" + std::string(other) + "\"";
  problem += "; run the program without its other profiler or debugger";
  problems->push_back(std::move(problem));
  return false;
}

void OnContextEnds(bool before, ContextEnd end) {
  Sampling& sampling = GetSession().sampling;
  if (before) {
    sampling.replays.BeforeContextEnds();
    sampling.sampler.BeforeContextEnds(end);
  } else {
    sampling.sampler.AfterContextEnds(end);
    sampling.replays.AfterContextEnds();
  }
}

// Several times a second, on the flusher's thread.
void Tick() {
  Session& session = GetSession();
  if (session.config.yield) WatchForOtherClients();
  if (session.sampling.left_to_rank_zero) NoteLeftToRankZero(session);
}

// Before the program can launch. False: no memory; then nothing is sampled.
bool PrepareSampling(Session& session) {
  Sampling& sampling = session.sampling;
  const bool wanted =
      session.config.sampling.counters.set != CounterSet::kOff || !session.config.sampling.counters.metrics.empty();
  if (!wanted) return false;
  if (!session.config.sampling.counters_are_set && IsLaterRank(session.rank, session.rank_variables)) {
    sampling.left_to_rank_zero = true;
    return false;
  }
  SamplingNeeds::Options options;
  options.functions = kSampledFunctions;
  return sampling.needs.Allocate(options, {}) &&
         sampling.deny.Allocate(kSampledFunctions, session.config.sampling.deny);
}

// Null: GPUEXEC_REPLAY=off.
ReplaySampler* AttachReplay(Session& session, uint64_t start_ns) {
  Sampling& sampling = session.sampling;
  if (session.config.sampling.replay == ReplayMode::kOff) return nullptr;
  ReplaySampler::Parts parts;
  parts.cuda = &session.cuda;
  parts.queues = &session.queues;
  parts.contexts = &session.contexts;
  parts.streams = &sampling.streams;
  parts.behaviour = &sampling.behaviour;
  parts.memory = &sampling.replay;
  parts.captures = &sampling.captures;
  parts.hold = &sampling.hold;
  parts.recording = &session.recording;
  parts.writer = session.writer.get();
  parts.needs = &sampling.needs;
  parts.watchdog = &sampling.watchdog;
  parts.tally = &sampling.tally;
  parts.budget_ratio = session.config.sampling.budget_ratio;
  parts.start_monotonic_ns = start_ns;
  sampling.replays.Attach(parts, sampling.needs.places());
  return &sampling.replays;
}

void AttachSampling(Session& session, uint64_t start_ns) {
  Sampling& sampling = session.sampling;
  LaunchSampler::Parts launches;
  launches.cuda = &session.cuda;
  launches.queues = &session.queues;
  launches.functions = &session.functions;
  launches.contexts = &session.contexts;
  launches.streams = &sampling.streams;
  launches.behaviour = &sampling.behaviour;
  launches.graphs = &sampling.graphs;
  launches.captures = &sampling.captures;
  launches.contents = &sampling.contents;
  launches.hold = &sampling.hold;
  launches.needs = &sampling.needs;
  launches.deny = &sampling.deny;
  launches.watchdog = &sampling.watchdog;
  launches.tally = &sampling.tally;
  launches.window_id = &session.recording.window_id();
  launches.count_launches = !session.config.timing;
  launches.replay = AttachReplay(session, start_ns);
  sampling.launches.Attach(launches);
  Sampler::Parts parts;
  parts.config = &session.config;
  parts.cupti = &session.cupti;
  parts.cuda = &session.cuda;
  parts.queues = &session.queues;
  parts.contexts = &session.contexts;
  parts.streams = &sampling.streams;
  parts.behaviour = &sampling.behaviour;
  parts.captures = &sampling.captures;
  parts.hold = &sampling.hold;
  parts.recording = &session.recording;
  parts.writer = session.writer.get();
  parts.needs = &sampling.needs;
  parts.deny = &sampling.deny;
  parts.watchdog = &sampling.watchdog;
  parts.tally = &sampling.tally;
  parts.launches = &sampling.launches;
  parts.replay = launches.replay;
  parts.start_monotonic_ns = start_ns;
  sampling.sampler.Attach(parts);
}

// Tells each part of the others it works with.
void AttachParts(Session& session, uint64_t start_ns) {
  Prober::Parts prober_parts;
  prober_parts.cuda = &session.cuda;
  prober_parts.functions = &session.functions;
  prober_parts.contexts = &session.contexts;
  prober_parts.gate = &session.gate;
  prober_parts.ask_functions = session.config.occupancy;
  prober_parts.answered = [] { GetSession().writer->Wake(); };
  session.prober.Attach(prober_parts);
  session.recording.Attach(
      &session.cupti, session.writer.get(),
      {.timing = session.config.timing, .api = session.config.api, .overhead = session.config.overhead},
      &session.buffers);
  CallbackRouter::Parts router_parts;
  router_parts.cupti = &session.cupti;
  router_parts.queues = &session.queues;
  router_parts.functions = &session.functions;
  router_parts.contexts = &session.contexts;
  router_parts.gate = &session.gate;
  router_parts.window_id = &session.recording.window_id();
  router_parts.times_synchronization = session.config.timing;
  router_parts.profiler_region = session.config.region_cuda ? OnProfilerRegion : nullptr;
  router_parts.before_unload = BeforeUnload;
  if (session.sampling.on) {
    AttachSampling(session, start_ns);
    router_parts.hold = &session.sampling.hold;
    router_parts.captures = &session.sampling.captures;
    router_parts.contents = &session.sampling.contents;
    router_parts.streams = &session.sampling.streams;
    router_parts.behaviour = &session.sampling.behaviour;
    router_parts.replay = &session.sampling.replay;
    router_parts.cuda = &session.cuda;
    router_parts.sampler = &session.sampling.launches;
    router_parts.graphs = &session.sampling.graphs;
    router_parts.context_ends = OnContextEnds;
  }
  session.router.Attach(router_parts);
  Flusher::Parts flusher_parts;
  flusher_parts.config = &session.config;
  flusher_parts.cupti = &session.cupti;
  flusher_parts.cuda = &session.cuda;
  flusher_parts.contexts = &session.contexts;
  flusher_parts.gate = &session.gate;
  flusher_parts.buffers = &session.buffers;
  flusher_parts.recording = &session.recording;
  flusher_parts.writer = session.writer.get();
  flusher_parts.start_monotonic_ns = start_ns;
  flusher_parts.tick = session.config.yield || session.sampling.left_to_rank_zero ? Tick : nullptr;
  session.flusher.Attach(flusher_parts);
}

void BeginSession() {
  Session& session = GetSession();
  if (!PrepareMemory(&session) || !session.config.enable) {
    g_state.store(State::kDisabled);
    SetNvtxEnabled(false);
    return;
  }
  if (session.config.help) {
    const std::string help = HelpText();
    (void)!write(STDERR_FILENO, help.data(), help.size());
  }
  const uint64_t start_ns = MonotonicNs();
  session.rank = FindRank(Environment(), &session.rank_variables);
  // The file is made later, and the program may change its working directory until then.
  if (!session.config.output.empty() && session.config.output.front() != '/') {
    char folder[4096];
    if (getcwd(folder, sizeof(folder)) != nullptr) {
      session.config.output = EscapePattern(folder) + "/" + session.config.output;
    }
  }

  std::vector<std::string> problems = session.config.problems;
  if (!problems.empty()) Stats().Add(StatId::kUnknownVariables, problems.size());
  std::vector<std::string> fatal;
  (void)LoadCuda(&session.cuda, &problems);
  std::vector<std::string>* cupti_problems = &fatal;
  std::vector<std::string> cupti_notes;
  const bool have_cupti = LoadCupti(session.config.cupti_path, &session.cupti, &cupti_notes);
  (have_cupti ? problems : *cupti_problems)
      .insert((have_cupti ? problems : *cupti_problems).end(), cupti_notes.begin(), cupti_notes.end());
  if (have_cupti) session.copies_told = cupti_notes;
  const bool subscribed = have_cupti && Subscribe(&session, &fatal);

  Writer::Parts writer_parts;
  writer_parts.config = &session.config;
  writer_parts.rank = session.rank;
  writer_parts.cupti = subscribed ? &session.cupti : nullptr;
  writer_parts.queues = &session.queues;
  writer_parts.functions = &session.functions;
  writer_parts.contexts = &session.contexts;
  writer_parts.buffers = &session.buffers;
  writer_parts.prober = &session.prober;
  writer_parts.nvml = &session.nvml;
  writer_parts.own_threads = &session.own_threads;
  session.sampling.on = subscribed && PrepareSampling(session);
  if (session.sampling.on) {
    writer_parts.needs = &session.sampling.needs;
    writer_parts.deny = &session.sampling.deny;
    writer_parts.graphs = &session.sampling.graphs;
  }
  session.writer = std::make_unique<Writer>(writer_parts, MakeHeader(session));
  for (const std::string& problem : problems) {
    Log("%s", problem.c_str());
    session.writer->Post(DiagnosticItem{StatId::kUnspecified, problem});
  }
  for (const std::string& problem : fatal) {
    Log("%s", problem.c_str());
    session.writer->Post(DiagnosticItem{StatId::kUnspecified, problem});
  }
  if (!subscribed) {
    LogStart("gpuexec %s records nothing: %s", kVersion, fatal.empty() ? "" : fatal.front().c_str());
    if (!have_cupti) Stats().Add(StatId::kCuptiErrors);
    g_state.store(State::kDisabled);
    SetNvtxEnabled(false);
    session.writer->WriteReasonOnly(kReasonDisabled, ReadClockPair(&session.cupti));
    return;
  }

  AttachParts(session, start_ns);

  // Overhead records name threads: by the system's ids, as everything else here does.
  if (session.cupti.cuptiSetThreadIdType != nullptr) {
    (void)session.cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  }
  if (session.cupti.cuptiActivityRegisterCallbacks(BufferRequested, BufferCompleted) != CUPTI_SUCCESS) {
    Stats().Add(StatId::kCuptiErrors);
  }
  // Before threads of ours run: the libraries that they call read the environment.
  OfferNvtx(session);
  // Before the flusher runs: with a short GPUEXEC_START_AFTER it switches on at once, and this must not undo that.
  const bool starts_off = session.config.region_cuda || session.config.start_after_ns != 0;
  if (starts_off) session.recording.Switch(false);
  session.threads_running = StartThread(ThreadMain<RunWriter>, "gpuexec-writer", &session) &&
                            StartThread(ThreadMain<RunProber>, "gpuexec-prober", &session) &&
                            StartThread(ThreadMain<RunFlusher>, "gpuexec-flusher", &session);
  if (!session.threads_running) {
    g_state.store(State::kDisabled);
    SetNvtxEnabled(false);
    (void)session.cupti.cuptiUnsubscribe(session.subscriber);
    return;
  }
  session.sampling.watchdog.SetWake(&session.sampling.watch_wake);
  session.sampling.on = session.sampling.on && StartThread(ThreadMain<RunWatch>, "gpuexec-watch", &session) &&
                        StartThread(ThreadMain<RunSampler>, "gpuexec-sampler", &session);
  if (session.config.nvml) (void)StartThread(ThreadMain<RunNvml>, "gpuexec-nvml", &session);
  State starting = State::kStarting;  // A fault may have switched us off already.
  g_state.compare_exchange_strong(starting, State::kCapturing);
  session.router.EnableCallbacks(session.subscriber, session.sampling.on);
  if (!starts_off) session.recording.Switch(true);
  // Not by Renew, which a fork of another thread may put off.
  std::atexit(OnExit);
  if (session.config.yield) WatchForOtherClients();
  NoteCopies(session);
  LogStart("gpuexec %s records to %s (CUPTI %s at %s)", kVersion, session.config.output.c_str(),
           CuptiVersionText(session.cupti.version).c_str(), session.cupti.path.c_str());
}

// Where beginning has thrown: what is half done is given back, or else written at the end.
void EndHalfBegun() {
  LogStart("gpuexec %s records nothing: its start failed, most likely for want of memory", kVersion);
  SetNvtxEnabled(false);
  Session& session = GetSession();
  if (session.threads_running) {
    std::atexit(OnExit);
  } else if (session.subscriber != nullptr) {
    (void)session.cupti.cuptiUnsubscribe(session.subscriber);
  }
}

}  // namespace

void StartSession() {
  State expected = State::kOff;
  if (!g_state.compare_exchange_strong(expected, State::kStarting)) return;
  bool begun = false;
  Guarded([&] {
    BeginSession();
    begun = true;
  });
  if (!begun) Guarded([] { EndHalfBegun(); });
}

bool StartNvtx(const void* (*get_export_table)(uint32_t)) {
  const State state = g_state.load();
  if (state == State::kDisabled || state == State::kForked) return false;
  if (state == State::kOff) {
    const std::string other = RecordingCopy(std::getenv("CUDA_INJECTION64_PATH"),
                                            PathOfAddress(reinterpret_cast<const void*>(&StartSession)));
    if (!other.empty()) return PassNvtxOn(other, get_export_table);
  }
  Session& session = GetSession();
  if (!PrepareMemory(&session) || !session.config.enable || !session.config.nvtx) return false;
  return InstallNvtxHandler(get_export_table, &session.queues);
}

}  // namespace gx::inject
