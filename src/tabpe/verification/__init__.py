"""Verify whether a certificate is consistent, and whether a table is the one it certifies.

- `verify`: the checks. Epsilon is recomputed by an accountant that shares nothing with the one that
  certified (`tabpe.accounting.recount`). What can not be recomputed is listed as such.
- `signing`: keys and signatures. Whoever can change all of a certificate can make it consistent,
  unless it is signed.
"""

from tabpe.verification.signing import CertificateSignature, PublicKey, SigningKey, make_key_pair
from tabpe.verification.verify import FAILED, GIVEN, OK, Check, Verification, verify, verify_plain

__all__ = [
    "FAILED",
    "GIVEN",
    "OK",
    "CertificateSignature",
    "Check",
    "PublicKey",
    "SigningKey",
    "Verification",
    "make_key_pair",
    "verify",
    "verify_plain",
]
