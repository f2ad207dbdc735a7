"""Trajectories of the Agent Trajectory Interchange Format, which evaluation tools write and `hansard import` stores."""
