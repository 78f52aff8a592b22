"""Timings that anyone can repeat; each module is one command."""
