// State of the fake driver behind fake_cuda.cc's exported functions: devices, contexts, streams, modules, graphs, and
// the arithmetic that stands for a GPU. One instance per process, never destroyed. [MT] Every method locks for itself;
// the observer is called without the lock, but for OnQueued.
#ifndef GPUEXEC_TESTS_FAKES_FAKE_DRIVER_H_
#define GPUEXEC_TESTS_FAKES_FAKE_DRIVER_H_

#include <cuda.h>
#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "tests/fakes/fake_gpu.h"

namespace gx::fakes {

// Handles are addresses out of a pool. The last one given back is the next one given out, as real allocators like to
// do, so that a tool which keys on handles alone is caught.
template <typename T>
class HandlePool {
 public:
  T* Take() {
    T* object = nullptr;
    if (free_.empty()) {
      object = &storage_.emplace_back();
    } else {
      object = free_.back();
      free_.pop_back();
      *object = T();
    }
    alive_.insert(object);
    return object;
  }
  void Release(T* object) {
    alive_.erase(object);
    free_.push_back(object);
  }
  bool IsAlive(const void* handle) const { return alive_.contains(handle); }
  const std::unordered_set<const void*>& alive() const { return alive_; }

 private:
  std::deque<T> storage_;
  std::vector<T*> free_;
  std::unordered_set<const void*> alive_;
};

struct Context;
struct Module;
struct Graph;

// What ends a piece of work: its time, a later "release" kernel, the host's flag, or whoever holds its ticket.
enum class EndsBy { kTime, kLaunch, kHost, kTicket };

// Work on a stream whose start or end is not known yet.
struct QueuedWork {
  Work work;  // start_ns: when it was queued, then its start.
  EndsBy ends_by = EndsBy::kTime;
  uint64_t duration_ns = 0;
  uint64_t order = 0;  // Of all work of the process. The ticket.
  bool is_running = false;
  uint64_t released_ns = 0;  // 0: not yet.
};

struct Stream {
  uint32_t id = 0;
  Context* context = nullptr;
  uint64_t busy_until_ns = 0;
  // Not empty: the first one runs without a known end, the others wait for it.
  std::deque<QueuedWork> waiting;
  // Ends of the work that is queued, in order; the host waits where it is too much.
  std::deque<uint64_t> queued_ends_ns;
  // The graph that a capture on this stream builds; null: no capture.
  Graph* capture = nullptr;
  bool capture_invalidated = false;
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
};

struct Event {
  Stream* stream = nullptr;    // Null: not recorded, or of all of a context.
  Context* context = nullptr;  // Of all its streams; null: of one.
  uint64_t done_ns = 0;
  bool behind_waiting = false;  // The stream did not know then.
};

struct Context {
  uint32_t id = 0;
  int device = 0;
  bool primary = false;
  Stream* default_stream = nullptr;
  std::map<pid_t, Stream*> per_thread_streams;
  uint64_t destroyed_streams_busy_until_ns = 0;
};

struct Function {
  Module* module = nullptr;
  FunctionAttributes attributes;
  std::string name;
  // As in activity records: lives for ever, but may be written over when the handle is used again.
  char* record_name = nullptr;
};

struct Module {
  uint32_t id = 0;
  Context* context = nullptr;
  std::string image;
  std::vector<Function*> functions;
};

// A module that belongs to no context, its kernels context-less (cuLibraryLoadData).
struct Kernel {
  Function* function = nullptr;
};

struct Library {
  Module* module = nullptr;
  std::map<std::string, Kernel*> kernels;
};

struct Node {
  uint64_t id = 0;
  Function* function = nullptr;
  LaunchShape shape;
  Graph* graph = nullptr;
  Node* original = nullptr;
};

struct Graph {
  uint32_t id = 0;
  Context* context = nullptr;
  std::vector<Node*> nodes;
};

struct GraphExec {
  uint32_t id = 0;
  Graph* clone = nullptr;
};

class FakeDriver {
 public:
  static FakeDriver& Get();

  CUresult Init();
  // 0, or the reason why no call is possible now (not initialised, or a child of the process that was).
  CUresult Usable() const;

  void Attach(GpuObserver* observer) { observer_.store(observer); }
  GpuObserver* observer() const { return observer_.load(); }
  uint32_t NextCorrelationId() { return next_correlation_id_.fetch_add(1) + 1; }

  // Contexts. The current one belongs to the calling thread.
  CUresult CreateContext(int device, CUcontext* context);
  CUresult DestroyContext(CUcontext context);
  CUresult RetainPrimary(int device, CUcontext* context);
  CUresult ReleasePrimary(int device);
  CUresult ResetPrimary(int device);
  CUresult SetCurrent(CUcontext context);
  CUresult PushCurrent(CUcontext context);
  CUresult PopCurrent(CUcontext* context);
  CUcontext Current();
  bool ContextId(CUcontext context, uint32_t* id);
  bool ContextDevice(CUcontext context, uint32_t* device);
  void WaitContextIdle(CUcontext context);

  CUresult CreateStream(CUstream* stream);
  CUresult DestroyStream(CUstream stream);
  CUresult SynchronizeStream(CUstream stream, bool per_thread, uint32_t correlation_id);
  CUresult QueryStream(CUstream stream);
  CUresult SynchronizeContext(uint32_t correlation_id);
  CUresult CreateEvent(CUevent* event);
  CUresult RecordEvent(CUevent event, CUstream stream);
  CUresult RecordContextEvent(CUcontext context, CUevent event);
  CUresult QueryEvent(CUevent event);
  CUresult DestroyEvent(CUevent event);
  bool StreamId(CUcontext context, CUstream stream, bool per_thread, uint32_t* id);

  CUresult LoadModule(const void* image, CUmodule* module);
  CUresult UnloadModule(CUmodule module);
  CUresult GetFunction(CUmodule module, const char* name, CUfunction* function);
  CUresult LoadLibrary(const void* image, CUlibrary* library);
  CUresult UnloadLibrary(CUlibrary library);
  CUresult GetKernel(CUlibrary library, const char* name, CUkernel* kernel);
  CUresult GetKernelFunction(CUkernel kernel, CUfunction* function);
  CUresult GetFunctionModule(CUfunction function, CUmodule* module);
  // A copy of what the handle (a CUfunction, or a CUkernel cast to one) stands for; false: not alive.
  bool DescribeFunction(CUfunction handle, bool accept_kernel, FunctionAttributes* attributes, const char** name);

  // `api` names the driver function for the log.
  CUresult Launch(const char* api, CUfunction function, const LaunchShape& shape, CUstream stream, bool per_thread,
                  uint32_t correlation_id);
  CUresult QueueTransfer(Work work, CUstream stream = nullptr);
  // `function` runs on a thread of its own when the stream has come to it; the stream goes on after it.
  CUresult QueueHostFunction(CUstream stream, CUhostFn function, void* data);
  // Ends the kernels that wait for it.
  void SetHostFlag();

  CUresult BeginCapture(CUstream stream, CUstreamCaptureMode mode);
  CUresult EndCapture(CUstream stream, CUgraph* graph);
  bool AnyCapture();
  void InvalidateCaptures(const char* what);
  CUresult CreateGraph(CUgraph* graph);
  CUresult DestroyGraph(CUgraph graph);
  CUresult AddKernelNode(CUgraph graph, CUfunction function, const LaunchShape& shape, CUgraphNode* node);
  CUresult Instantiate(CUgraph graph, CUgraphExec* exec);
  CUresult DestroyExec(CUgraphExec exec);
  CUresult SetExecNodeParams(CUgraphExec exec, CUgraphNode node, CUfunction function, const LaunchShape& shape);
  CUresult LaunchGraph(const char* api, CUgraphExec exec, CUstream stream, bool per_thread, uint32_t correlation_id);
  bool GraphId(CUgraph graph, uint32_t* id);
  bool GraphNodeId(CUgraphNode node, uint64_t* id);
  bool GraphExecId(CUgraphExec exec, uint32_t* id);

  // Callback depth of this thread, for violations (see GpuDriver::enter_callback).
  static int& CallbackDepth();
  static int& LaunchCallbackDepth();

 private:
  FakeDriver() = default;

  Stream* NewStream(Context* context, uint32_t id);
  Stream* FindStream(Context* context, CUstream handle, bool per_thread);
  Context* CurrentContext();
  CUresult NewContext(int device, bool primary, Context** context);
  void ReleaseContext(Context* context);
  Module* NewModule(Context* context, const void* image);
  void ReleaseModule(Module* module);
  Function* ResolveFunction(CUfunction handle, bool accept_kernel);
  Node* NewNode(Graph* graph, Function* function, const LaunchShape& shape, Node* original);
  void ReleaseGraph(Graph* graph);
  // Requires the lock: puts work on the stream's time line, and what has become known on top of `known`.
  void Schedule(Stream* stream, uint64_t duration_ns, EndsBy ends_by, Work work, std::vector<Work>* known);
  // Requires the lock: as far as the stream's work is known now. Start of each "release" kernel: see Release.
  void Advance(Stream* stream, std::vector<Work>* known);
  // Requires the lock: what waits for that ends at `instant_ns`, if it was queued before `order`.
  void Release(EndsBy ends_by, uint64_t order, uint64_t instant_ns, std::vector<Work>* known);
  // Requires the lock: when the stream, or all of the context, is idle; nothing while nobody knows.
  static std::optional<uint64_t> IdleAt(const Stream& stream);
  std::optional<uint64_t> IdleAt(const Context* context) const;
  // Requires the lock, gives it back while it waits: until something was released, or a little.
  // What another thread released has been reported: whoever waited for it may end the process.
  void EndReport();
  void WaitForRelease(std::unique_lock<std::mutex>* lock);
  // Returns when the stream is idle. Without the lock.
  void WaitStreamIdle(const Stream* stream);
  // Without the lock: logs and reports work whose start and end are known.
  void Report(const std::vector<Work>& known);
  bool EndGlobalCaptures(const char* what);
  // Requires the lock: asks the observer whether the work is to be recorded.
  void AskObserver(Work* work);
  // Without the lock: waits, as a real driver does, until the stream's queue has room.
  void WaitForRoom(CUstream stream, bool per_thread);
  void Resource(uint32_t callback_id, Context* context, Stream* stream, void* descriptor);
  void NodeCreated(Node* node);
  static CUresult CheckShape(const Function* function, const LaunchShape& shape);
  void InjectTools();

  std::atomic<GpuObserver*> observer_{nullptr};
  std::atomic<uint32_t> next_correlation_id_{0};
  std::atomic<pid_t> initialized_pid_{0};
  std::once_flag init_once_;

  std::mutex mutex_;
  std::condition_variable released_;
  // Releases by other threads than the one that waits whose work is not reported yet.
  int reporting_ = 0;
  uint64_t next_order_ = 1;
  HandlePool<Event> events_;
  HandlePool<Context> contexts_;
  HandlePool<Stream> streams_;
  HandlePool<Module> modules_;
  HandlePool<Function> functions_;
  HandlePool<Library> libraries_;
  HandlePool<Kernel> kernels_;
  HandlePool<Graph> graphs_;
  HandlePool<Node> nodes_;
  HandlePool<GraphExec> execs_;
  std::map<int, Context*> primaries_;
  std::map<int, int> primary_users_;
  uint32_t next_context_id_ = 1;
  uint32_t next_stream_id_ = 13;  // CUPTI numbers created streams from 13 on; 7 is the default stream.
  uint32_t next_module_id_ = 1;
  uint32_t next_graph_id_ = 1;
  uint64_t next_node_id_ = 0x1'0000'0001;  // More than 32 bits, as real node ids are.
};

}  // namespace gx::fakes

#endif  // GPUEXEC_TESTS_FAKES_FAKE_DRIVER_H_
