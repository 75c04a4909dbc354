#include "inject/api_functions.h"

namespace gx::inject {

uint64_t ApiFunctions::Find(ApiDomain domain, uint32_t cbid) {
  const auto [found, is_new] = iids_.try_emplace(uint64_t{static_cast<uint32_t>(domain)} << 32 | cbid, 0);
  if (!is_new) return found->second;
  found->second = iids_.size();
  const char* name = nullptr;
  if (cupti_ != nullptr && cupti_->cuptiGetCallbackName != nullptr &&
      cupti_->cuptiGetCallbackName(static_cast<CUpti_CallbackDomain>(domain), cbid, &name) != CUPTI_SUCCESS) {
    name = nullptr;
  }
  encoder_->AddApiFunction(
      {.iid = found->second, .domain = domain, .cbid = cbid, .name = name == nullptr ? std::string_view() : name});
  return found->second;
}

}  // namespace gx::inject
