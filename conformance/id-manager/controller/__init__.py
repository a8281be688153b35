"""A client of OpenDaylight's id-manager over RESTCONF, as a controller or a script would use it. Only the address is
specific to allod."""
