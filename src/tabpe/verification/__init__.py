"""`verify`: whether a certificate holds together, and whether a table is the one it speaks of.

What is recomputed comes from another accountant than the one that certified
(`tabpe.accounting.recount`). What can not be recomputed is listed as such: a certificate is not
signed, and whoever can change all of it can make it agree with itself.

- `verification`: `verify`, from files to what was found out about them
- `claims`: the checks of a certificate by itself
- `table`: the checks of a table against its certificate
- `report`: `Check` and `Verification`
"""

from tabpe.verification.verify import FAILED, GIVEN, OK, Check, Verification, verify, verify_plain

__all__ = ["FAILED", "GIVEN", "OK", "Check", "Verification", "verify", "verify_plain"]
