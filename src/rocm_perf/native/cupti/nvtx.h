// The ranges that the program opens and closes through NVTX, at the moment at which it does.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace rocm_perf {

struct RangeListener {
  std::function<bool(std::string_view)> is_wanted;
  std::function<void()> opened;
  std::function<void()> closed;
};

void listen_to_ranges(CUpti_SubscriberHandle subscriber);  // CUPTI calls back from now on
void hear_range(CUpti_CallbackId id, const CUpti_NvtxData& data, const RangeListener& listener);

// What CUPTI hands over, as NVTX's headers lay it out: they are not everywhere.
struct NvtxAttributes {
  std::uint16_t version, size;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type, reserved;
  std::uint64_t payload;
  std::int32_t message_type;
  const void* message;
};
struct NvtxPushEx {
  const NvtxAttributes* attributes;
};
struct NvtxDomainPushEx {
  const void* domain;
  NvtxPushEx core;
};
struct NvtxPush {
  const char* message;
};
struct NvtxRegisterString {
  const void* domain;
  const char* text;
};

}  // namespace rocm_perf
