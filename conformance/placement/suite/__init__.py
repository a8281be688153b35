"""Runs Placement's own tests, unmodified from its wheel, against a server over HTTP.

See ``python -m suite --help`` and ``cargo xtask conformance placement``.
"""
