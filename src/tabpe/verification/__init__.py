"""Verify whether a certificate is consistent, and whether a table is the one it certifies.

Epsilon is recomputed by an accountant that shares nothing with the one that certified
(`tabpe.accounting.recount`). What can not be recomputed is listed as such: a certificate is not
signed, and whoever can change all of it can make it consistent.
"""

from tabpe.verification.verify import FAILED, GIVEN, OK, Check, Verification, verify, verify_plain

__all__ = ["FAILED", "GIVEN", "OK", "Check", "Verification", "verify", "verify_plain"]
