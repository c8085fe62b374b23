#include "cupti/calls.h"

#include <array>
#include <string_view>
#include <utility>

namespace rocm_perf {
namespace {

// Where a suffix of the function's name begins: _v3020, _ptsz, _ptds; at the end of the name if it has none.
std::size_t suffix(std::string_view name) {
  const std::size_t mark = name.rfind('_');
  if (mark == std::string_view::npos) return name.size();
  const std::string_view tail = name.substr(mark + 1);
  const bool version = tail.size() >= 5 && tail[0] == 'v' && tail.find_first_not_of("0123456789", 1) == tail.npos;
  return version || tail == "ptsz" || tail == "ptds" ? mark : name.size();
}

// cudaMemcpy_ptds_v7000 -> cudaMemcpy
std::string without_version(std::string_view function) {
  for (std::size_t end = suffix(function); end < function.size(); end = suffix(function))
    function = function.substr(0, end);
  return std::string(function);
}

}  // namespace

const std::string& Calls::name(CUpti_CallbackId id) {
  static const std::string unknown;
  if (id > 1u << 16) return unknown;
  if (id >= names_.size()) names_.resize(id + 1);
  if (names_[id].empty()) {
    const char* name = nullptr;
    if (cuptiGetCallbackName(domain_, id, &name) == CUPTI_SUCCESS && name) names_[id] = without_version(name);
  }
  return names_[id];
}

bool is_needed(const std::string& runtime_function) {
  constexpr std::array parts = {"Launch",      "Graph",    "Capture",      "Memcpy",       "Memset",
                                "Malloc",      "Free",     "HostAlloc",    "Synchronize",  "WaitEvent",
                                "EventRecord", "Prefetch", "HostRegister", "StreamCreate", "LibraryLoad"};
  constexpr std::array noise = {"cudaStreamIsCapturing", "cudaStreamGetCaptureInfo",
                                "cudaThreadExchangeStreamCaptureMode"};
  for (const char* name : noise)
    if (runtime_function == name) return false;
  for (const char* part : parts)
    if (runtime_function.find(part) != std::string::npos) return true;
  return false;
}

bool is_work(const std::string& driver_function) {
  constexpr std::array beginnings = {"cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset"};
  for (const char* beginning : beginnings)
    if (driver_function.rfind(beginning, 0) == 0) return true;
  return driver_function.find("Synchronize") != std::string::npos;
}

CallKind call_kind(std::string_view function) {
  constexpr std::pair<std::string_view, CallKind> kinds[] = {
      {"GraphLaunch", CallKind::graph},          {"GraphInstantiate", CallKind::graph},
      {"BeginCapture", CallKind::capture_begin}, {"EndCapture", CallKind::capture_end},
      {"Synchronize", CallKind::wait},           {"Query", CallKind::query},
  };
  for (const auto& [part, kind] : kinds)
    if (function.find(part) != std::string_view::npos) return kind;
  return CallKind::other;
}

}  // namespace rocm_perf
