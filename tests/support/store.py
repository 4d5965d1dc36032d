"""A store that speaks S3, on this machine alone."""

import contextlib
import os
from unittest import mock

KEY, SECRET = "zzkeyqx", "zzsecretqx"


@contextlib.contextmanager
def running():
    """Run the store until the end of the block, and yield what an address of it ends in."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    keys = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
    with mock.patch.dict(os.environ, keys):
        server.start()
        _, port = server.get_host_and_port()
        try:
            yield f"scheme=http&endpoint_override=127.0.0.1:{port}&allow_bucket_creation=true"
        finally:
            server.stop()
