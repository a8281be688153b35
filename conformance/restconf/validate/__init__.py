"""Checks our YANG modules, and the replies of the server in the tests, with pyang and yanglint."""
