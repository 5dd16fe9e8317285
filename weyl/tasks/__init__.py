"""What people do with all of it, each task in one file."""
