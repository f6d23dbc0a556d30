//! What NCCL would do with a node and an environment, by release: pure.
