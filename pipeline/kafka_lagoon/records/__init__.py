"""Record batches: decoding of fetched bytes to Arrow columns, and encoding of records that are produced. No sockets."""
