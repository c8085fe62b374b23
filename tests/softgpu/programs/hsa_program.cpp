// HSA programs for the software GPU: `hsa_program SCENARIO CODE`. Each checks its own results, and says "right" or what
// is wrong.
#include <cmath>
#include <functional>
#include <thread>

#include "native/hsa_app/program.h"

namespace {

constexpr std::uint32_t kCount = 5000;
std::string code_file;

std::vector<std::uint32_t> ramp(std::uint32_t first = 0) {
  std::vector<std::uint32_t> out(kCount);
  for (std::uint32_t at = 0; at < kCount; ++at) out[at] = first + at;
  return out;
}

void verdict(bool is_right, const char* what) {
  std::printf("%s: %s\n", what, is_right ? "right" : "wrong");
  if (!is_right) std::exit(1);
}

hsa_kernel_dispatch_packet_t packet_of(Program& program, hsa_executable_t code, const char* kernel,
                                       const Arguments& arguments, int gpu = 0, std::uint32_t count = kCount) {
  auto packet = program.packet(code, kernel, arguments, (count + 255) / 256 * 256, 0, gpu);
  packet.workgroup_size_x = 256;
  return packet;
}

void saxpy(Program& program) {
  std::vector<float> x(kCount), y(kCount);
  for (std::uint32_t at = 0; at < kCount; ++at) {
    x[at] = std::sin(static_cast<float>(at));
    y[at] = std::cos(static_cast<float>(at));
  }
  auto *on_x = program.device<float>(kCount), *on_y = program.device<float>(kCount);
  program.put(on_x, x);
  program.put(on_y, y);
  auto code = program.load({code_file});
  program.run(program.queue(),
              packet_of(program, code, "saxpy", Arguments().add(1.5f).add(on_x).add(on_y).add(kCount)));
  auto result = program.get(on_y, kCount);
  bool is_right = true;
  for (std::uint32_t at = 0; at < kCount; ++at) is_right &= result[at] == std::fma(1.5f, x[at], y[at]);
  verdict(is_right, "saxpy");
}

// A thousand allocations, of which a table holds the addresses.
void allocations(Program& program) {
  constexpr std::uint32_t kMany = 1000;
  std::vector<std::uint32_t*> table(kMany);
  for (std::uint32_t at = 0; at < kMany; ++at) {
    table[at] = program.device<std::uint32_t>(1 + at % 3000);
    program.put(table[at], std::vector<std::uint32_t>{3 * at});
  }
  auto* on_table = program.device<std::uint32_t*>(kMany);
  auto* out = program.device<std::uint32_t>(kMany);
  program.put(on_table, table);
  program.put(out, std::vector<std::uint32_t>(kMany, 0));
  auto code = program.load({code_file});
  program.run(program.queue(),
              packet_of(program, code, "gather", Arguments().add(on_table).add(out).add(kMany), 0, kMany));
  auto result = program.get(out, kMany);
  bool is_right = true;
  for (std::uint32_t at = 0; at < kMany; ++at) is_right &= result[at] == 4 * at;
  verdict(is_right, "allocations");
}

// Four threads, each with a queue of its own.
void queues(Program& program) {
  auto code = program.load({code_file});
  std::vector<std::uint32_t*> places;
  for (std::uint32_t at = 0; at < 4; ++at) {
    places.push_back(program.device<std::uint32_t>(kCount));
    program.put(places.back(), ramp(at));
  }
  std::vector<std::thread> threads;
  for (std::uint32_t* place : places) {
    threads.emplace_back([&program, code, place] {
      hsa_queue_t* queue = program.queue();
      for (int round = 0; round < 10; ++round)
        program.run(queue, packet_of(program, code, "add", Arguments().add(place).add(100u).add(kCount)));
      hsa_queue_destroy(queue);
    });
  }
  for (auto& thread : threads) thread.join();
  bool is_right = true;
  for (std::uint32_t at = 0; at < 4; ++at) is_right &= program.get(places[at], kCount) == ramp(at + 1000);
  verdict(is_right, "queues");
}

// A variable of the code object.
void variable(Program& program) {
  auto* x = program.device<std::uint32_t>(kCount);
  program.put(x, ramp());
  auto code = program.load({code_file});
  program.run(program.queue(), packet_of(program, code, "biased", Arguments().add(x).add(kCount)));
  verdict(program.get(x, kCount) == ramp(7), "variable");
}

void local_memory(Program& program) {
  auto* x = program.device<std::uint32_t>(kCount);
  auto* out = program.device<std::uint32_t>(20);
  program.put(x, ramp());
  auto code = program.load({code_file});
  program.run(program.queue(), packet_of(program, code, "sums", Arguments().add(x).add(out).add(kCount)));
  auto result = program.get(out, 20);
  std::uint64_t sum = 0;
  for (std::uint32_t part : result) sum += part;
  verdict(sum == std::uint64_t{kCount} * (kCount - 1) / 2, "local memory");
}

// One kernel on each of the GPUs.
void agents(Program& program) {
  bool is_right = program.gpus.size() > 1;
  for (int gpu = 0; gpu < static_cast<int>(program.gpus.size()); ++gpu) {
    auto* x = program.device<std::uint32_t>(kCount, gpu);
    program.put(x, ramp());
    auto code = program.load({code_file}, gpu);
    auto packet = packet_of(program, code, "add", Arguments().add(x).add(5u + gpu).add(kCount), gpu);
    program.run(program.queue(gpu), packet);
    is_right &= program.get(x, kCount) == ramp(5u + gpu);
  }
  verdict(is_right, "agents");
}

void dies(Program& program) {
  saxpy(program);
  std::abort();
}

void outside(Program& program) {
  auto code = program.load({code_file});
  std::uint64_t nowhere = 0x123456789000;
  program.run(program.queue(), packet_of(program, code, "outside", Arguments().add(nowhere), 0, 256));
}

void endless(Program& program) {
  auto code = program.load({code_file});
  program.run(program.queue(), packet_of(program, code, "endless", Arguments().add(program.device<std::uint32_t>(1))));
}

}  // namespace

int main(int count, char** argv) {
  if (count != 3) return 2;
  code_file = argv[2];
  const std::map<std::string, std::function<void(Program&)>> scenarios{
      {"saxpy", saxpy},       {"allocations", allocations}, {"queues", queues},
      {"variable", variable}, {"sums", local_memory},       {"agents", agents},
      {"dies", dies},         {"outside", outside},         {"endless", endless},
  };
  Program program;
  scenarios.at(argv[1])(program);
  hsa_shut_down();
}
