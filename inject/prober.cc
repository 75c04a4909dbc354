#include "inject/prober.h"

#include <algorithm>

#include "inject/clock.h"
#include "inject/device_attributes.h"

namespace gx::inject {
namespace {

constexpr uint64_t kIdleWaitNs = 1'000'000'000;
// While the gate is shut requests wait; look again this often.
constexpr uint64_t kGateRetryNs = 2'000'000;
// Requests that wait for their function to be launched again.
constexpr uint64_t kParkedRetryNs = 50'000'000;
constexpr size_t kParkedLimit = 4096;

// Our context stays current on the prober thread only inside one call about one function.
class CurrentContext {
 public:
  CurrentContext(const CudaApi& cuda, const void* context) : cuda_(cuda) {
    pushed_ = context != nullptr && cuda.cuCtxPushCurrent_v2 != nullptr && cuda.cuCtxPopCurrent_v2 != nullptr &&
              cuda.cuCtxPushCurrent_v2(static_cast<CUcontext>(const_cast<void*>(context))) == CUDA_SUCCESS;
  }
  ~CurrentContext() {
    CUcontext popped = nullptr;
    if (pushed_) (void)cuda_.cuCtxPopCurrent_v2(&popped);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const CudaApi& cuda_;
  bool pushed_ = false;
};

class GatePass {
 public:
  explicit GatePass(ProbeGate* gate) : gate_(gate), open_(gate->Enter()) {}
  ~GatePass() {
    if (open_) gate_->Leave();
  }
  GatePass(const GatePass&) = delete;
  GatePass& operator=(const GatePass&) = delete;
  explicit operator bool() const { return open_; }

 private:
  ProbeGate* gate_;
  bool open_;
};

CUfunction AsFunction(const void* handle) { return static_cast<CUfunction>(const_cast<void*>(handle)); }

}  // namespace

void Prober::Ask(const std::vector<NewFunction>& functions, const std::vector<NewSignature>& signatures) {
  if (functions.empty() && signatures.empty()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const NewFunction& function : functions) requests_.emplace_back(function);
    for (const NewSignature& signature : signatures) requests_.emplace_back(signature);
  }
  wake_.Signal();
}

void Prober::AskDevice(uint32_t device_id) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    requests_.emplace_back(DeviceRequest{device_id});
  }
  wake_.Signal();
}

void Prober::Mark(uint32_t ticket) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    requests_.emplace_back(Marker{ticket});
  }
  wake_.Signal();
}

std::vector<ProbeAnswer> Prober::TakeAnswers() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(answers_, {});
}

void Prober::Stop() noexcept {
  stop_.store(true, std::memory_order_release);
  wake_.Signal();
}

void Prober::Add(ProbeAnswer answer) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    answers_.push_back(std::move(answer));
  }
  if (parts_.answered != nullptr) parts_.answered();
}

void Prober::Run() {
  while (!stop_.load(std::memory_order_acquire)) {
    const uint32_t seen = wake_.count();
    bool gate_was_shut = false;
    UnparkConfirmed();
    while (!stop_.load(std::memory_order_acquire)) {
      Request request;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (requests_.empty()) break;
        request = requests_.front();
      }
      const Outcome outcome = Answer(request);
      if (outcome == Outcome::kGateShut) {
        gate_was_shut = true;
        break;
      }
      if (outcome == Outcome::kStale) Park(request);
      const std::lock_guard<std::mutex> lock(mutex_);
      requests_.pop_front();
    }
    wake_.WaitFor(seen, gate_was_shut ? kGateRetryNs : parked_.empty() ? kIdleWaitNs : kParkedRetryNs);
  }
  for (const Request& request : parked_) CountUnanswered(request);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Request& request : requests_) CountUnanswered(request);
}

void Prober::Park(const Request& request) {
  if (parked_.size() >= kParkedLimit) {
    CountUnanswered(parked_.front());
    parked_.erase(parked_.begin());
  }
  parked_.push_back(request);
}

bool Prober::Confirmed(const Request& request) const {
  uint32_t function_index = 0;
  if (const auto* function = std::get_if<NewFunction>(&request)) function_index = function->function_index;
  if (const auto* signature = std::get_if<NewSignature>(&request)) function_index = signature->function_index;
  return parts_.functions->Get(function_index).epoch.load(std::memory_order_acquire) == parts_.functions->epoch();
}

void Prober::UnparkConfirmed() {
  const auto confirmed = std::stable_partition(parked_.begin(), parked_.end(),
                                               [this](const Request& request) { return !Confirmed(request); });
  const std::lock_guard<std::mutex> lock(mutex_);
  requests_.insert(requests_.end(), confirmed, parked_.end());
  parked_.erase(confirmed, parked_.end());
}

void Prober::CountUnanswered(const Request& request) {
  if (std::holds_alternative<NewFunction>(request)) Stats().Add(StatId::kFunctionAttributesUnavailable);
  if (std::holds_alternative<NewSignature>(request)) Stats().Add(StatId::kOccupancyUnavailable);
}

const void* Prober::ContextFor(uint32_t context_id, const FunctionInfo& info) const {
  if (parts_.contexts == nullptr) return info.context;
  // A CUkernel outlives contexts and is launched on several devices: the answer belongs to the launch's own.
  if (context_id != 0) return parts_.contexts->Living(context_id);
  return parts_.contexts->IsLiving(info.context) ? info.context : nullptr;
}

Prober::Outcome Prober::Answer(const Request& request) {
  if (const auto* function = std::get_if<NewFunction>(&request)) return AnswerFunction(*function);
  if (const auto* signature = std::get_if<NewSignature>(&request)) return AnswerOccupancy(*signature);
  if (const auto* device = std::get_if<DeviceRequest>(&request)) AnswerDevice(device->device_id);
  if (const auto* marker = std::get_if<Marker>(&request)) {
    done_ticket_.store(marker->ticket, std::memory_order_release);
  }
  return Outcome::kDone;
}

Prober::Outcome Prober::AnswerFunction(const NewFunction& request) {
  const FunctionInfo& info = parts_.functions->Get(request.function_index);
  if (!parts_.ask_functions || parts_.cuda->cuFuncGetAttribute == nullptr) return Outcome::kDone;
  const GatePass pass(parts_.gate);
  if (!pass) return Outcome::kGateShut;
  if (info.epoch.load(std::memory_order_acquire) != parts_.functions->epoch()) return Outcome::kStale;
  const void* context = ContextFor(request.context_id, info);
  if (context == nullptr) {
    Stats().Add(StatId::kFunctionAttributesUnavailable);
    return Outcome::kDone;
  }
  const CudaApi& cuda = *parts_.cuda;
  const CurrentContext current(cuda, context);
  CUfunction function = AsFunction(info.handle);
  FunctionAnswer answer;
  answer.function_iid = request.iid;
  FunctionAttributesRecord& out = answer.attributes;
  // A launch may name a CUkernel; its CUfunction in this context has the attributes.
  int probe = 0;
  if (cuda.cuFuncGetAttribute(&probe, CU_FUNC_ATTRIBUTE_NUM_REGS, function) != CUDA_SUCCESS &&
      cuda.cuKernelGetFunction != nullptr) {
    CUfunction of_kernel = nullptr;
    if (cuda.cuKernelGetFunction(&of_kernel, static_cast<CUkernel>(const_cast<void*>(info.handle))) == CUDA_SUCCESS) {
      function = of_kernel;
    }
  }
  const auto ask = [&](CUfunction_attribute attribute) -> int {
    int value = 0;
    const CUresult result = cuda.cuFuncGetAttribute(&value, attribute, function);
    if (result != CUDA_SUCCESS && out.result == 0) out.result = static_cast<uint64_t>(result);
    return result == CUDA_SUCCESS ? value : 0;
  };
  const auto ask_unsigned = [&](CUfunction_attribute attribute) {
    return static_cast<uint64_t>(std::max(0, ask(attribute)));
  };
  out.registers_per_thread = ask_unsigned(CU_FUNC_ATTRIBUTE_NUM_REGS);
  out.static_shared_memory_bytes = ask_unsigned(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  out.constant_memory_bytes = ask_unsigned(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  out.local_memory_per_thread_bytes = ask_unsigned(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  out.max_threads_per_block = ask_unsigned(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  out.ptx_version = ask_unsigned(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  out.binary_version = ask_unsigned(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  out.max_dynamic_shared_memory_bytes = ask_unsigned(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  out.preferred_shared_memory_carveout = ask(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  out.cluster_size_must_be_set = ask(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET) != 0;
  out.required_cluster = {static_cast<uint32_t>(ask_unsigned(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)),
                          static_cast<uint32_t>(ask_unsigned(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT)),
                          static_cast<uint32_t>(ask_unsigned(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH))};
  out.non_portable_cluster_size_allowed = ask(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) != 0;
  if (out.result != 0) Stats().Add(StatId::kFunctionAttributesUnavailable);
  if (info.name == nullptr) {
    const char* name = nullptr;
    if (cuda.cuFuncGetName != nullptr && cuda.cuFuncGetName(&name, function) == CUDA_SUCCESS && name != nullptr) {
      answer.name = name;
    }
  }
  Add(std::move(answer));
  return Outcome::kDone;
}

Prober::Outcome Prober::AnswerOccupancy(const NewSignature& request) {
  const CudaApi& cuda = *parts_.cuda;
  if (!parts_.ask_functions || cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor == nullptr) {
    Stats().Add(StatId::kOccupancyUnavailable);
    return Outcome::kDone;
  }
  const FunctionInfo& info = parts_.functions->Get(request.function_index);
  const GatePass pass(parts_.gate);
  if (!pass) return Outcome::kGateShut;
  if (info.epoch.load(std::memory_order_acquire) != parts_.functions->epoch()) return Outcome::kStale;
  const void* context = ContextFor(request.context_id, info);
  if (context == nullptr) {
    Stats().Add(StatId::kOccupancyUnavailable);
    return Outcome::kDone;
  }
  const CurrentContext current(cuda, context);
  OccupancyAnswer answer;
  answer.signature_iid = request.iid;
  int blocks = 0;
  const CUresult result = cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, AsFunction(info.handle), static_cast<int>(request.block_threads), request.dynamic_shared_memory_bytes);
  answer.occupancy.result = static_cast<uint64_t>(result);
  if (result == CUDA_SUCCESS) {
    answer.occupancy.max_active_blocks_per_multiprocessor = static_cast<uint64_t>(std::max(0, blocks));
  } else {
    Stats().Add(StatId::kOccupancyUnavailable);
  }
  Add(std::move(answer));
  return Outcome::kDone;
}

void Prober::AnswerDevice(uint32_t device_id) { Add(ReadDevice(*parts_.cuda, device_id)); }

}  // namespace gx::inject
