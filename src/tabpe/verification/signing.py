"""Ed25519 signatures of certificates: who vouches for one.

`SigningKey.sign` signs the canonical JSON of the whole certificate (`dump_canonical_json`): the
guarantee, the SHA-256 of the rows, and the purpose and contact that the sheet shows. A fixed first
line keeps these signatures apart from any others that the key makes.

The signature is a file of its own beside the certificate. It holds the public key, which proves
nothing by itself: anybody can sign with a key of their own. So a verifier passes the public key
that they trust, or compares its fingerprint by telephone or on paper.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabpe._utils import files, serialization
from tabpe._utils.extras import require_sign_extra
from tabpe.accounting import Certificate
from tabpe.accounting.certificate import dump_canonical_json
from tabpe.errors import ArchiveError, OutputError, ParameterError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FORMAT, ALGORITHM = 1, "Ed25519"
PUBLIC_SUFFIX, SIGNATURE_SUFFIX = ".pub", ".sig"
SHORTEST_PASSPHRASE = 8
_FIRST_LINE = b"tabpe certificate signature 1\n"
_LARGEST_FILE = 2**16
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_FIELDS = {"public_key": 32, "signature": 64}
# Keys of small order, without the bit of the sign: one signature fits many messages under them.
_SMALL_ORDER = frozenset(
    bytes.fromhex(digits)
    for digits in (
        "00" * 32,
        "01" + "00" * 31,
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ec" + "ff" * 30 + "7f",
        "ed" + "ff" * 30 + "7f",
        "ee" + "ff" * 30 + "7f",
    )
)


@dataclass(frozen=True)
class PublicKey:
    """The public half of a key.

    Args:
        raw: Its 32 bytes.

    Example:
        >>> print(PublicKey(bytes(32)).fingerprint)
        66687aad f862bd77 6c8fc18b 8e9f8e20
    """

    raw: bytes

    @property
    def fingerprint(self) -> str:
        """The first half of its SHA-256, in groups that can be read aloud."""
        digits = hashlib.sha256(self.raw).hexdigest()[:32]
        return " ".join(re.findall("." * 8, digits))

    @property
    def is_weak(self) -> bool:
        """Whether anybody can sign for this key, because it is of small order."""
        return self.raw[:-1] + bytes([self.raw[-1] & 0x7F]) in _SMALL_ORDER

    @classmethod
    def load(cls, path: Path) -> PublicKey:
        """Read a public key that `make_key_pair` wrote.

        Raises:
            ArchiveError: If it is no public Ed25519 key.
        """
        require_sign_extra("a signature")
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization as pem
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        content = _read_small_file(path)
        if b"PRIVATE KEY" in content:
            raise ArchiveError(
                f"{path}: a private key: expected the public one, which ends in {PUBLIC_SUFFIX}; "
                f"keep this file secret."
            )
        try:
            found = pem.load_pem_public_key(content)
        except (ValueError, UnsupportedAlgorithm):
            found = None
        if not isinstance(found, Ed25519PublicKey):
            raise ArchiveError(f"{path}: not a public Ed25519 key: 'tabpe keys' makes one.")
        return cls(found.public_bytes_raw())


@dataclass(frozen=True)
class CertificateSignature:
    """The signature of a certificate, and the public key that it belongs to.

    Args:
        key: The public key of the signer.
        signature: The 64 bytes of the signature.
    """

    key: PublicKey
    signature: bytes

    def to_json(self) -> str:
        """Return the content of a signature file."""
        plain = {
            "format": FORMAT,
            "algorithm": ALGORITHM,
            "public_key": self.key.raw.hex(),
            "signature": self.signature.hex(),
        }
        return json.dumps(plain, indent=2) + "\n"

    @classmethod
    def load(cls, path: Path) -> CertificateSignature:
        """Read a signature file.

        Raises:
            ArchiveError: If it is none.
        """
        try:
            plain = serialization.parse_strict_json(_read_small_file(path))
            found = _parse_fields(plain)
        except (ValueError, RecursionError) as error:
            if isinstance(error, ArchiveError):
                raise
            raise ArchiveError(
                f"{path}: not a signature: expected what 'tabpe synth --sign' writes."
            ) from None
        return cls(PublicKey(found["public_key"]), found["signature"])

    def covers(self, plain: Mapping[str, Any]) -> bool:
        """Return whether this is the signature of a certificate, given as plain values."""
        require_sign_extra("a signature")
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if self.key.is_weak:
            return False
        try:
            Ed25519PublicKey.from_public_bytes(self.key.raw).verify(
                self.signature, _FIRST_LINE + dump_canonical_json(plain)
            )
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True, eq=False)
class SigningKey:
    """A private key that signs certificates.

    Args:
        private: The key; it is neither shown nor compared.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "office.key"
        >>> public = make_key_pair(path)
        >>> SigningKey.load(path).public == public == PublicKey.load(path.with_suffix(".pub"))
        True
    """

    private: Ed25519PrivateKey

    def __repr__(self) -> str:
        return f"SigningKey({self.public.fingerprint})"

    @classmethod
    def load(cls, path: Path, passphrase: str | None = None) -> SigningKey:
        """Read a private key that `make_key_pair` wrote.

        Raises:
            ArchiveError: If it is no private Ed25519 key, if others can read the file, or if the
                passphrase is missing or wrong.
        """
        require_sign_extra("a signature")
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization as pem
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        content = _read_small_file(path)
        if b"PUBLIC KEY" in content:
            raise ArchiveError(f"{path}: a public key: expected the private one, to sign with.")
        _check_secrecy(path)
        if is_encrypted(content) and passphrase is None:
            raise ArchiveError(f"{path}: has a passphrase: pass --passphrase-env NAME.")
        try:
            secret = passphrase.encode() if passphrase and is_encrypted(content) else None
            found = pem.load_pem_private_key(content, secret)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            found = None
        if isinstance(found, Ed25519PrivateKey):
            return cls(found)
        if is_encrypted(content):
            raise ArchiveError(f"{path}: the passphrase is wrong, or the file is damaged.")
        raise ArchiveError(f"{path}: not a private Ed25519 key: 'tabpe keys' makes one.")

    @property
    def public(self) -> PublicKey:
        """The public half."""
        return PublicKey(self.private.public_key().public_bytes_raw())

    def sign(self, certificate: Certificate) -> CertificateSignature:
        """Sign a certificate, as it is written to its file."""
        message = _FIRST_LINE + dump_canonical_json(certificate.to_dict())
        return CertificateSignature(self.public, self.private.sign(message))


def make_key_pair(path: Path, passphrase: str | None = None) -> PublicKey:
    """Make a key to sign with, and write it to `path`; the public half gets the suffix `.pub`.

    Only the owner can read the private key. With a passphrase it is encrypted.

    Raises:
        OutputError: If one of the files exists, or can not be written.
    """
    require_sign_extra("a signature")
    from cryptography.hazmat.primitives import serialization as pem
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if passphrase is not None and len(passphrase) < SHORTEST_PASSPHRASE:
        raise ParameterError(
            f"passphrase: {len(passphrase)} characters: expected at least {SHORTEST_PASSPHRASE}."
        )
    public_path = path.with_suffix(PUBLIC_SUFFIX)
    if public_path == path:
        raise OutputError(f"{path}: {PUBLIC_SUFFIX} is for the public key: name it office.key.")
    for one in (path, public_path):
        files.check_output(one)
        if one.exists():
            raise OutputError(f"{one}: exists already: a key is never overwritten; name another.")
    key = Ed25519PrivateKey.generate()
    lock = (
        pem.NoEncryption()
        if passphrase is None
        else pem.BestAvailableEncryption(passphrase.encode())
    )
    private = key.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, lock)
    public = key.public_key().public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo)
    files.create_file(path, files.make_filler(private))
    files.write_file(public_path, files.make_filler(public))
    return PublicKey(key.public_key().public_bytes_raw())


def get_signature_path(certificate: Path) -> Path:
    """Return where the signature of a certificate file lies.

    Example:
        >>> get_signature_path(Path("out.certificate.json"))
        PosixPath('out.certificate.sig')
    """
    return certificate.with_suffix(SIGNATURE_SUFFIX)


def is_encrypted(content: bytes) -> bool:
    """Return whether the content of a key file needs a passphrase.

    Example:
        >>> is_encrypted(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")
        True
    """
    return b"ENCRYPTED PRIVATE KEY" in content


def needs_passphrase(path: Path) -> bool:
    """Return whether a key file needs a passphrase."""
    return is_encrypted(_read_small_file(path))


def _parse_fields(plain: Any) -> dict[str, bytes]:
    names = {"format", "algorithm", *_FIELDS}
    if not isinstance(plain, dict) or plain.keys() != names:
        raise ValueError
    if plain["format"] != FORMAT or plain["algorithm"] != ALGORITHM:
        raise ValueError
    for name, size in _FIELDS.items():
        value = plain[name]
        if not isinstance(value, str) or not re.fullmatch(f"[0-9a-f]{{{2 * size}}}", value):
            raise ValueError
    return {name: bytes.fromhex(plain[name]) for name in _FIELDS}


def _check_secrecy(path: Path) -> None:
    if os.name == "posix" and path.stat().st_mode & _OTHERS:
        raise ArchiveError(
            f"{path}: other users can read this private key: run 'chmod 600 {path}', and make "
            f"another key if somebody may have read it."
        )


def _read_small_file(path: Path) -> bytes:
    with files.open_regular(path, ArchiveError) as file:
        content = file.read(_LARGEST_FILE + 1)
    if len(content) > _LARGEST_FILE:
        raise ArchiveError(f"{path}: larger than 64 KiB: neither a key nor a signature.")
    return content
