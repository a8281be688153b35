"""Holds our YANG modules, and what the server answered in the tests, against pyang and yanglint, which are not ours."""
