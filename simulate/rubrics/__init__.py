"""What models are asked about rubrics: to read a trajectory, blind to who played the user."""
