"""FlashRNN (Apache-2.0, NXAI): its kernels in the model of implementations/pytorch."""
