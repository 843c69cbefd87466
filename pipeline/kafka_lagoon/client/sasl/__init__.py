"""How a client proves who it is, one mechanism a module; none of them opens a connection to a broker."""
