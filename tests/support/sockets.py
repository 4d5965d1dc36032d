"""Which addresses a process, and all that it started, listen on: as Linux tells it."""

import ipaddress
from pathlib import Path

_LISTENING = "0A"


def listening(root):
    """Return the addresses that a process and those below it listen on, with the ports."""
    held = set()
    for pid in _tree(root):
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                target = str(link.readlink())
            except OSError:  # it was closed since
                continue
            held.add(target.removeprefix("socket:[").removesuffix("]"))
    lines = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return [_address(line[1]) for line in lines if line[3] == _LISTENING and line[9] in held]


def is_loopback(address):
    """Whether no other machine reaches an address."""
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _tree(root):
    below = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = stat.read_text().split(" (", 1)
        except OSError:  # it ended since
            continue
        below.setdefault(int(rest.rsplit(")", 1)[1].split()[1]), []).append(int(pid))
    found = [root]
    for pid in found:
        found += below.get(pid, [])
    return found


def _address(text):
    """Return an address that Linux writes as hexadecimal numbers of four bytes, last byte first."""
    host, port = text.split(":")
    words = [bytes.fromhex(host[start : start + 8])[::-1] for start in range(0, len(host), 8)]
    return ipaddress.ip_address(b"".join(words)), int(port, 16)
