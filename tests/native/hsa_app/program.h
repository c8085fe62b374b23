// The little that a program needs to run kernels through HSA.
#pragma once
#ifndef AMD_INTERNAL_BUILD
#define AMD_INTERNAL_BUILD
#endif
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

inline void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS) return;
  std::fprintf(stderr, "%s: 0x%x\n", what, status);
  std::exit(70);
}

struct Arguments {  // in a kernarg segment, each at its own alignment
  std::vector<char> bytes;
  template <class Type>
  Arguments& add(Type value) {
    bytes.resize((bytes.size() + sizeof value - 1) / sizeof value * sizeof value);
    bytes.insert(bytes.end(), reinterpret_cast<char*>(&value), reinterpret_cast<char*>(&value) + sizeof value);
    return *this;
  }
};

class Program {
 public:
  Program() {
    check(hsa_init(), "hsa_init");
    hsa_iterate_agents(
        [](hsa_agent_t agent, void* self) {
          hsa_device_type_t type;
          hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
          auto& program = *static_cast<Program*>(self);
          (type == HSA_DEVICE_TYPE_GPU ? program.gpus : program.hosts).push_back(agent);
          return HSA_STATUS_SUCCESS;
        },
        this);
  }

  hsa_queue_t* queue(int gpu = 0, hsa_queue_type32_t type = HSA_QUEUE_TYPE_MULTI) {
    hsa_queue_t* out = nullptr;
    check(hsa_queue_create(gpus.at(gpu), 256, type, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &out),
          "hsa_queue_create");
    return out;
  }

  static hsa_amd_memory_pool_t pool(hsa_agent_t agent, std::uint32_t with_flag) {
    struct Search {
      std::uint32_t flag;
      hsa_amd_memory_pool_t found;
    } search{with_flag, {0}};
    hsa_amd_agent_iterate_memory_pools(
        agent,
        [](hsa_amd_memory_pool_t pool, void* data) {
          auto& search = *static_cast<Search*>(data);
          std::uint32_t flags = 0;
          hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
          if (flags == search.flag || ((flags & search.flag) && !search.found.handle)) search.found = pool;
          return HSA_STATUS_SUCCESS;
        },
        &search);
    return search.found;
  }

  template <class Type>
  Type* device(std::size_t count, int gpu = 0) {
    void* out = nullptr;
    auto from = pool(gpus.at(gpu), HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
    check(hsa_amd_memory_pool_allocate(from, count * sizeof(Type), 0, &out), "hsa_amd_memory_pool_allocate");
    return static_cast<Type*>(out);
  }

  template <class Type>
  void put(Type* to, const std::vector<Type>& values) {
    check(hsa_memory_copy(to, values.data(), values.size() * sizeof(Type)), "hsa_memory_copy");
  }
  template <class Type>
  std::vector<Type> get(const Type* from, std::size_t count) {
    std::vector<Type> out(count);
    check(hsa_memory_copy(out.data(), from, count * sizeof(Type)), "hsa_memory_copy");
    return out;
  }

  // The code objects of the files in one executable for one GPU.
  hsa_executable_t load(const std::vector<std::string>& files, int gpu = 0, bool from_file = false) {
    hsa_executable_t out{};
    check(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &out),
          "create");
    for (const std::string& file : files) {
      hsa_code_object_reader_t reader{};
      std::ifstream stream(file, std::ios::binary);
      std::string bytes(std::istreambuf_iterator<char>(stream), {});
      std::FILE* handle = std::fopen(file.c_str(), "rb");
      check(from_file ? hsa_code_object_reader_create_from_file(::fileno(handle), &reader)
                      : hsa_code_object_reader_create_from_memory(bytes.data(), bytes.size(), &reader),
            "reader");
      check(hsa_executable_load_agent_code_object(out, gpus.at(gpu), reader, nullptr, nullptr), "load");
      hsa_code_object_reader_destroy(reader);  // and `bytes` goes: the loader has its own copy
      std::fclose(handle);
    }
    check(hsa_executable_freeze(out, nullptr), "freeze");
    return out;
  }

  hsa_kernel_dispatch_packet_t packet(hsa_executable_t executable, const char* kernel, const Arguments& arguments,
                                      std::uint32_t items = 64, std::uint32_t dynamic_lds = 0, int gpu = 0) {
    hsa_executable_symbol_t symbol{};
    check(hsa_executable_get_symbol_by_name(executable, (std::string(kernel) + ".kd").c_str(), &gpus.at(gpu), &symbol),
          kernel);
    hsa_kernel_dispatch_packet_t out{};
    out.setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
    out.workgroup_size_x = 64;
    out.workgroup_size_y = out.workgroup_size_z = 1;
    out.grid_size_x = items;
    out.grid_size_y = out.grid_size_z = 1;
    std::uint32_t group = 0;
    hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &group);
    hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
                                   &out.private_segment_size);
    hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &out.kernel_object);
    out.group_segment_size = group + dynamic_lds;
    void* kernarg = kernarg_on_device ? static_cast<void*>(device<char>(4096)) : on_host(4096);
    std::vector<char> bytes = arguments.bytes;
    put(static_cast<char*>(kernarg), bytes);
    out.kernarg_address = kernarg;
    check(hsa_signal_create(1, 0, nullptr, &out.completion_signal), "signal");
    return out;
  }

  // All packets, then one doorbell.
  static void submit(hsa_queue_t* queue, const std::vector<hsa_kernel_dispatch_packet_t>& packets) {
    submit_at(queue, hsa_queue_add_write_index_scacq_screl(queue, packets.size()), packets);
  }

  static void submit_at(hsa_queue_t* queue, std::uint64_t index,
                        const std::vector<hsa_kernel_dispatch_packet_t>& packets) {
    for (std::size_t at = 0; at < packets.size(); ++at) {
      auto& slot = static_cast<hsa_kernel_dispatch_packet_t*>(queue->base_address)[(index + at) % queue->size];
      std::memcpy(reinterpret_cast<char*>(&slot) + 2, reinterpret_cast<const char*>(&packets[at]) + 2, 62);
      std::uint16_t header =
          (HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE) | (1 << HSA_PACKET_HEADER_BARRIER);
      __atomic_store_n(&slot.header, header, __ATOMIC_RELEASE);
    }
    hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index + packets.size() - 1));
  }

  static void wait(const hsa_kernel_dispatch_packet_t& packet) {
    hsa_signal_wait_scacquire(packet.completion_signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  }

  void run(hsa_queue_t* queue, const hsa_kernel_dispatch_packet_t& packet) {
    submit(queue, {packet});
    wait(packet);
  }

  void* on_host(std::size_t size, std::uint32_t flag = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) {
    void* out = nullptr;
    check(hsa_amd_memory_pool_allocate(pool(hosts.front(), flag), size, 0, &out), "host memory");
    return out;
  }

  std::vector<hsa_agent_t> hosts, gpus;
  bool kernarg_on_device = false;
};
