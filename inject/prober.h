// A thread of ours that asks the driver and NVML what launches do not say: attributes of functions, the driver's own
// occupancy, attributes of devices, clocks and power once a second. The only code that calls the driver while the
// program runs; calls about functions wait at the ProbeGate.
#ifndef GPUEXEC_INJECT_PROBER_H_
#define GPUEXEC_INJECT_PROBER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "inject/context_table.h"
#include "inject/cuda_api.h"
#include "inject/function_table.h"
#include "inject/futex.h"
#include "inject/interner.h"
#include "inject/probe_gate.h"
#include "inject/record.h"

namespace gx::inject {

struct FunctionAnswer {
  uint64_t function_iid = 0;
  FunctionAttributesRecord attributes;
  std::string name;  // Only where the callback gave none.
};
struct OccupancyAnswer {
  uint64_t signature_iid = 0;
  DriverOccupancyRecord occupancy;
};
using ProbeAnswer = std::variant<FunctionAnswer, OccupancyAnswer, DeviceRecord>;

class Prober {
 public:
  struct Parts {
    const CudaApi* cuda = nullptr;
    const FunctionTable* functions = nullptr;
    // Null: a function's own context is taken as it is.
    const ContextTable* contexts = nullptr;
    ProbeGate* gate = nullptr;
    bool ask_functions = true;
    // Called after answers were added.
    void (*answered)() = nullptr;
  };
  void Attach(const Parts& parts) { parts_ = parts; }

  // [writer] Requests.
  void Ask(const std::vector<NewFunction>& functions, const std::vector<NewSignature>& signatures);
  void AskDevice(uint32_t device_id);
  // [writer] Everything asked before this has been answered once `done_ticket` reaches `ticket`.
  void Mark(uint32_t ticket);
  uint32_t done_ticket() const noexcept { return done_ticket_.load(std::memory_order_acquire); }

  // [writer] Answers since the last call.
  std::vector<ProbeAnswer> TakeAnswers();

  // The thread's body: returns after Stop.
  void Run();
  void Stop() noexcept;

 private:
  struct DeviceRequest {
    uint32_t device_id = 0;
  };
  struct Marker {
    uint32_t ticket = 0;
  };
  using Request = std::variant<NewFunction, NewSignature, DeviceRequest, Marker>;

  enum class Outcome {
    kDone,
    kGateShut,  // Try again soon.
    kStale,     // Modules were unloaded since: the handle must not be touched before a launch has used it again.
  };

  Outcome Answer(const Request& request);
  Outcome AnswerFunction(const NewFunction& request);
  Outcome AnswerOccupancy(const NewSignature& request);
  // The context to ask in; null: there is none that lives.
  const void* ContextFor(uint32_t context_id, const FunctionInfo& info) const;
  void Park(const Request& request);
  void UnparkConfirmed();
  bool Confirmed(const Request& request) const;
  void CountUnanswered(const Request& request);
  void AnswerDevice(uint32_t device_id);
  void Add(ProbeAnswer answer);

  Parts parts_;
  std::mutex mutex_;
  std::deque<Request> requests_;
  std::vector<Request> parked_;  // The thread's own.
  std::vector<ProbeAnswer> answers_;
  Pulse wake_;
  std::atomic<bool> stop_{false};
  std::atomic<uint32_t> done_ticket_{0};
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_PROBER_H_
