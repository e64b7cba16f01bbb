"""The paper's experiments, the benchmarks and the study."""
