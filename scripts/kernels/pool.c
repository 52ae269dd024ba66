/* TVM's parallel loops on the threads of the OpenMP library that the process has already: two pools on the same cores
   would spin against each other. The interface is that of TVM's c_backend_api.h and of libgomp. */
#include <sched.h>
#include <stdatomic.h>
#include <stdalign.h>

typedef struct { void *sync_handle; int num_task; } Group;
typedef int (*Task)(int, Group *, void *);

typedef struct {
  alignas(64) atomic_int arrived;
  alignas(64) atomic_int turn;
} Barrier;

typedef struct {
  Task task;
  void *data;
  atomic_int failed;
  Barrier barrier;
} Launch;

static void (*parallel)(void (*)(void *), void *, unsigned, unsigned);
static int (*own_number)(void), (*team_size)(void), (*most)(void);

void use_openmp(void *gomp_parallel, void *number, void *size, void *max) {
  parallel = gomp_parallel;
  own_number = number;
  team_size = size;
  most = max;
}

static void run(void *given) {
  Launch *launch = given;
  Group group = {&launch->barrier, team_size()};
  if (launch->task(own_number(), &group, launch->data)) atomic_store(&launch->failed, 1);
}

int parallel_launch(Task task, void *data, int count) {
  Launch launch = {task, data, 0, {0, 0}};
  int threads = most();
  if (count > 0 && count < threads) threads = count;
  parallel(run, &launch, threads, 0);
  return atomic_load(&launch.failed) ? -1 : 0;
}

int parallel_barrier(int number, Group *group) {
  (void)number;
  Barrier *barrier = group->sync_handle;
  int turn = atomic_load(&barrier->turn);
  if (atomic_fetch_add(&barrier->arrived, 1) + 1 == group->num_task) {
    atomic_store(&barrier->arrived, 0);
    atomic_store(&barrier->turn, turn + 1);
    return 0;
  }
  for (int spins = 0; atomic_load(&barrier->turn) == turn; ++spins) {
    if (spins > 10000) sched_yield();
#if defined(__x86_64__)
    else __builtin_ia32_pause();
#endif
  }
  return 0;
}
