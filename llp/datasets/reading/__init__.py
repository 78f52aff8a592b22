"""Reads files, Criteo's and own ones alike: find, unpack, cut, parse, stage."""
