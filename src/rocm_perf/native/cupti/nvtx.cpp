#include "cupti/nvtx.h"

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace rocm_perf {
namespace {

constexpr std::int32_t kAscii = 1, kRegistered = 3;  // wide texts (2) are not looked into
constexpr std::size_t kMostTexts = 1 << 16;

std::mutex mutex;
std::unordered_map<const void*, std::string> registered;  // by handle
thread_local std::vector<bool> pushed;                    // for each range that is open on this thread: is it wanted?

template <typename Parameters>
const Parameters& as(const CUpti_NvtxData& data) {
  return *static_cast<const Parameters*>(data.functionParams);
}

void remember(const CUpti_NvtxData& data) {
  const auto* handle = static_cast<const void* const*>(data.functionReturnValue);
  const char* const text = as<NvtxRegisterString>(data).text;
  const std::lock_guard lock(mutex);
  if (handle && text && registered.size() < kMostTexts) registered[*handle] = text;
}

std::string name_of(const NvtxAttributes* attributes) {
  if (!attributes || !attributes->message) return "";
  if (attributes->message_type == kAscii) return static_cast<const char*>(attributes->message);
  if (attributes->message_type != kRegistered) return "";
  const std::lock_guard lock(mutex);
  const auto known = registered.find(attributes->message);
  return known == registered.end() ? "" : known->second;
}

void push(std::string_view name, const RangeListener& listener) {
  pushed.push_back(listener.is_wanted(name));
  if (pushed.back()) listener.opened();
}

void pop(const RangeListener& listener) {
  if (pushed.empty()) return;
  const bool wanted = pushed.back();
  pushed.pop_back();
  if (wanted) listener.closed();
}

}  // namespace

void listen_to_ranges(CUpti_SubscriberHandle subscriber) {
  for (const CUpti_CallbackId id :
       {CUPTI_CBID_NVTX_nvtxRangePushA, CUPTI_CBID_NVTX_nvtxRangePushW, CUPTI_CBID_NVTX_nvtxRangePushEx,
        CUPTI_CBID_NVTX_nvtxRangePop, CUPTI_CBID_NVTX_nvtxDomainRangePushEx, CUPTI_CBID_NVTX_nvtxDomainRangePop,
        CUPTI_CBID_NVTX_nvtxDomainRegisterStringA})
    cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_NVTX, id);
}

void hear_range(CUpti_CallbackId id, const CUpti_NvtxData& data, const RangeListener& listener) {
  switch (id) {
    case CUPTI_CBID_NVTX_nvtxRangePushA: {
      const char* const message = as<NvtxPush>(data).message;
      return push(message ? message : "", listener);
    }
    case CUPTI_CBID_NVTX_nvtxRangePushW:
      return push("", listener);
    case CUPTI_CBID_NVTX_nvtxRangePushEx:
      return push(name_of(as<NvtxPushEx>(data).attributes), listener);
    case CUPTI_CBID_NVTX_nvtxDomainRangePushEx:
      return push(name_of(as<NvtxDomainPushEx>(data).core.attributes), listener);
    case CUPTI_CBID_NVTX_nvtxRangePop:
    case CUPTI_CBID_NVTX_nvtxDomainRangePop:
      return pop(listener);
    case CUPTI_CBID_NVTX_nvtxDomainRegisterStringA:
      return remember(data);
    default:
      return;
  }
}

}  // namespace rocm_perf
