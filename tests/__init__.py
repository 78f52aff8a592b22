"""Tests of what is seen from outside."""

from llp import machine

machine.prefer_speed()  # as the commands do, before torch is imported
