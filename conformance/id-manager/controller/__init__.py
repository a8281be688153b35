"""What a controller, or a script beside one, needs to use OpenDaylight's id-manager over RESTCONF; nothing of it is ours but
the address."""
