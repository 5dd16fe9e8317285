"""From distances in a graph to points of a space: objectives, optimisers in frames, schedules, and the loop."""
