/* What Theano's CTC calls of warp-ctc 0.1.3, whose wheel has the library without its header. */
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { CTC_STATUS_SUCCESS = 0 } ctcStatus_t;
typedef enum { CTC_CPU = 0 } ctcComputeLocation;

struct ctcOptions {
    ctcComputeLocation loc;
    union {
        unsigned int num_threads;
        void *stream; /* of a GPU */
    };
    int blank_label;
};
#ifdef __cplusplus
typedef struct ctcOptions ctcOptions;
#endif

const char *ctcGetStatusString(ctcStatus_t status);

ctcStatus_t compute_ctc_loss(const float *activations, float *gradients, const int *flat_labels,
                             const int *label_lengths, const int *input_lengths, int alphabet_size,
                             int minibatch, float *costs, void *workspace, struct ctcOptions options);

ctcStatus_t get_workspace_size(const int *label_lengths, const int *input_lengths, int alphabet_size,
                               int minibatch, struct ctcOptions options, size_t *bytes);

#ifdef __cplusplus
}
#endif
