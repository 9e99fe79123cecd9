"""Says Spark: sources, the gate, lanes on executors, state, sinks. Nothing outside this package imports pyspark."""
