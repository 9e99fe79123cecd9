"""What survives: plan records, commit records, logs and snapshots of lanes, on any file system that Spark reaches."""
