"""What goes over the wire between the daemon and its clients. Pure: types, and reading them."""
