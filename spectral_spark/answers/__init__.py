"""What people ask of a fitted model: which documents show a topic, how groups differ, what changed, how many topics."""
