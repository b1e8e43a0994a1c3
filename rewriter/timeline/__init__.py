"""Update periods, time ranges, time layouts, partition timelines: pure data, no I/O."""
