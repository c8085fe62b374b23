/* A stand-in for libnvidia-ml.so.1 with two GPUs, after NVML's public signatures. The second one is poor: no instant
   power, no energy counter, no load. FAKE_NVML_GPUS and FAKE_NVML_SLOW_US change how many there are and how slow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int nvmlReturn_t;
typedef struct gpu {
  unsigned index;
}* nvmlDevice_t;
enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3 };

typedef struct {
  char busIdLegacy[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
} nvmlPciInfo_t;
typedef struct {
  unsigned long long total, free, used;
} nvmlMemory_t;
typedef struct {
  unsigned version;
  unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;
typedef struct {
  unsigned gpu, memory;
} nvmlUtilization_t;
typedef union {
  double dVal;
  unsigned uiVal;
  unsigned long ulVal;
  unsigned long long ullVal;
  signed long long sllVal;
} nvmlValue_t;
typedef struct {
  unsigned fieldId, scopeId;
  long long timestamp, latencyUsec;
  unsigned valueType;
  nvmlReturn_t nvmlReturn;
  nvmlValue_t value;
} nvmlFieldValue_t;

static struct gpu gpus[8];
static int started;
static unsigned long long reads;

static unsigned count(void) {
  const char* text = getenv("FAKE_NVML_GPUS");
  return text ? (unsigned)atoi(text) : 2;
}

nvmlReturn_t nvmlInit_v2(void) {
  started = 1;
  for (unsigned i = 0; i < 8; i++) gpus[i].index = i;
  return getenv("FAKE_NVML_BROKEN") ? 999 : SUCCESS;
}
nvmlReturn_t nvmlShutdown(void) {
  started = 0;
  return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* number) {
  *number = count();
  return started ? SUCCESS : UNINITIALIZED;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  if (index >= count()) return INVALID;
  *device = &gpus[index];
  return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* text, unsigned length) {
  snprintf(text, length, "GPU-0000000%u-aaaa", device->index);
  return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* text, unsigned length) {
  (void)device;
  snprintf(text, length, "NVIDIA Fake");
  return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* info) {
  memset(info, 0, sizeof *info);
  snprintf(info->busId, sizeof info->busId, "00000000:%02X:00.0", 6 + device->index);
  return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned* limit) {
  (void)device;
  *limit = 700000;
  return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* power) {
  (void)device;
  *power = 90500;
  return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int number, nvmlFieldValue_t* values) {
  const char* slow = getenv("FAKE_NVML_SLOW_US");
  if (slow) usleep((unsigned)atoi(slow));
  for (int i = 0; i < number; i++) {
    values[i].nvmlReturn =
        values[i].fieldId == 186 && values[i].scopeId == 0 && device->index == 0 ? SUCCESS : NOT_SUPPORTED;
    values[i].valueType = 1;
    values[i].value.uiVal = 650250;
  }
  return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long* energy) {
  *energy = 5000000000ULL + 1000 * reads++;
  return device->index == 0 ? SUCCESS : NOT_SUPPORTED;
}
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned kind, unsigned* clock) {
  (void)device;
  *clock = kind == 1 ? 1980 : kind == 2 ? 3201 : 0;
  return kind == 1 || kind == 2 ? SUCCESS : INVALID;
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned sensor, unsigned* degrees) {
  (void)device;
  *degrees = 41;
  return sensor == 0 ? SUCCESS : INVALID;
}
// The first GPU runs into its power cap (0x4); the second is merely idle (0x1).
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long* reasons) {
  *reasons = device->index == 0 ? 0x4 : 0x1;
  return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* busy) {
  busy->gpu = 100;
  busy->memory = 7;
  return device->index == 0 ? SUCCESS : NOT_SUPPORTED;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  if (memory->version != (sizeof *memory | 2u << 24) || device->index) return NOT_SUPPORTED;
  memory->total = 144ULL << 30;
  memory->reserved = 1ULL << 30;
  memory->used = 36ULL << 30;
  memory->free = 107ULL << 30;
  return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  (void)device;
  memory->total = 80ULL << 30;
  memory->used = 20ULL << 30;
  memory->free = 60ULL << 30;
  return SUCCESS;
}
