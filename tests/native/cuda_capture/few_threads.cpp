// Loaded before everything else: a system that gives a process FEW_THREADS threads and no more.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*begin)(void*), void* with) {
  static std::atomic<int> left{std::atoi(std::getenv("FEW_THREADS"))};
  if (left-- <= 0) return EAGAIN;
  static auto* real = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, begin, with);
}
