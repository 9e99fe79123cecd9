"""The guard: delay targets for Structured Streaming jobs that are written without Penstock (`penstock.spark.guard`)."""
