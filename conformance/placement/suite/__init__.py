"""Upstream's own tests, out of its wheel and unmodified, against a server over HTTP.

``python -m suite --help`` says how; ``cargo xtask conformance placement`` does it.
"""
