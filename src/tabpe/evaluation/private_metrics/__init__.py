"""Measures of the real rows that may be released: estimated under differential privacy.

- `plan`: which marginals are counted, and the predictor whose mistakes are among them
- `measure`: `appraise`: check, charge, count under noise, certify
- `estimates`: from noisy counts to numbers with intervals
"""

from tabpe.evaluation.private_metrics.estimates import Appraisal, NoisyDifference, PrivateMeasures
from tabpe.evaluation.private_metrics.measure import appraise

__all__ = ["Appraisal", "NoisyDifference", "PrivateMeasures", "appraise"]
