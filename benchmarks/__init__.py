"""Timings that anyone can repeat; each module is one command."""

from llp import machine

machine.prefer_speed()  # as the commands that they time
