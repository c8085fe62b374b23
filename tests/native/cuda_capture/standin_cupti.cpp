// Stand-in for CUPTI: one subscriber, told of what it has enabled.
#include <atomic>

#include "standin.h"

namespace {

constexpr std::size_t kDomains = 16, kIds = 4096;
CUpti_CallbackFunc subscriber = nullptr;
std::atomic<bool> enabled[kDomains][kIds];

void tell(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (subscriber && enabled[domain][id]) subscriber(nullptr, domain, id, data);
}

}  // namespace

extern "C" {
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void*) {
  *handle = nullptr;
  subscriber = callback;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  enabled[domain][id] = enable != 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain) {
  for (auto& one : enabled[domain]) one = enable != 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult, const char** text) { return *text = "stand-in", CUPTI_SUCCESS; }
}

namespace standin {

std::function<void(const std::string& call)> within;

Told::Told(CUpti_CallbackId id, const char* name, const void* parameters, const char* symbol)
    : id_(id), parameters_(parameters), symbol_(symbol) {
  tell(CUPTI_API_ENTER);
  if (within) within(name);
}

CUresult Told::ended(CUresult result) {
  result_ = result;
  tell(CUPTI_API_EXIT);
  return result;
}

void Told::tell(CUpti_ApiCallbackSite site) {
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionParams = parameters_;
  data.functionReturnValue = &result_;
  data.symbolName = symbol_;
  data.context = current_context();
  data.correlationData = &correlation_;
  ::tell(CUPTI_CB_DOMAIN_DRIVER_API, id_, &data);
}

void tell_of_context(CUpti_CallbackId event, CUcontext context) {
  CUpti_ResourceData data{};
  data.context = context;
  ::tell(CUPTI_CB_DOMAIN_RESOURCE, event, &data);
}

void tell_of_module(const char* cubin, std::size_t size) {
  CUpti_ModuleResourceData module{};
  module.pCubin = cubin;
  module.cubinSize = size;
  CUpti_ResourceData data{};
  data.context = current_context();
  data.resourceDescriptor = &module;
  ::tell(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, &data);
}

}  // namespace standin
