"""A Kerberos realm on loopback: MIT's KDC, a principal for the broker and one for us, and their keytabs."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

REALM = "LAGOON.TEST"
TOOLS = ("krb5kdc", "kdb5_util", "kadmin.local")
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"  # Debian's folder of servers, which is not on every PATH
_SECONDS = 20

_CLIENT = """
[libdefaults]
    default_realm = {realm}
    dns_lookup_kdc = false
    dns_lookup_realm = false
    dns_canonicalize_hostname = false
    rdns = false
    udp_preference_limit = 1
[realms]
    {realm} = {{
        kdc = 127.0.0.1:{port}
    }}
"""
_SERVER = """
[kdcdefaults]
    kdc_listen = 127.0.0.1:{port}
    kdc_tcp_listen = 127.0.0.1:{port}
[realms]
    {realm} = {{
        database_name = {folder}/principals
        key_stash_file = {folder}/stash
        acl_file = {folder}/none
    }}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Realm:
    """A running realm; `config` is its krb5.conf."""

    folder: Path

    @property
    def config(self) -> Path:
        """Write the clients' configuration of the realm."""
        return self.folder / "krb5.conf"

    def keytab(self, principal: str) -> Path:
        """Create a principal; return its keytab."""
        path = self.folder / f"{principal.replace('/', '-')}.keytab"
        self.run("kadmin.local", "-q", f"addprinc -randkey {principal}")
        self.run("kadmin.local", "-q", f"ktadd -k {path} {principal}")
        return path

    def run(self, tool: str, *arguments: str) -> None:
        """Run one of the realm's tools, which must succeed."""
        subprocess.run([_which(tool), *arguments], env=self.environment(), check=True, capture_output=True)

    def environment(self) -> dict[str, str]:
        """Return environment variables that make Kerberos use only these files."""
        return os.environ | {"KRB5_CONFIG": str(self.config), "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf")}


def is_installed() -> bool:
    """Return True if this machine has a KDC."""
    return all(shutil.which(tool, path=_PATH) for tool in TOOLS)


@contextmanager
def realm(folder: Path) -> Iterator[Realm]:
    """Run a realm until the context ends."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    made = Realm(folder=folder)
    made.config.write_text(_CLIENT.format(realm=REALM, port=port))
    (folder / "kdc.conf").write_text(_SERVER.format(realm=REALM, port=port, folder=folder))
    made.run("kdb5_util", "create", "-s", "-r", REALM, "-P", "sandbox")
    with (folder / "kdc.log").open("wb") as log:
        kdc = subprocess.Popen([_which("krb5kdc"), "-n"], env=made.environment(), stdout=log, stderr=log)
        try:
            _wait_for(port)
            yield made
        finally:
            kdc.terminate()
            kdc.wait()


def _which(tool: str) -> str:
    return shutil.which(tool, path=_PATH) or tool


def _wait_for(port: int) -> None:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise TimeoutError(f"no KDC on port {port}")
