"""Runs upstream's own tests, unmodified from its wheel, against a server over HTTP.

``cargo xtask conformance placement`` runs it; ``python -m suite --help`` shows the options.
"""
