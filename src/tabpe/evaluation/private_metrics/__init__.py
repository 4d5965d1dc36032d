"""Measures of the real rows that may be released: bought under differential privacy.

- `appraisal`: `appraise`, the whole of it
- `terms`: what is asked for, checked; what is not given comes from the certificate of the table
- `plan`: which tables of counts are bought
- `predictor`: what predicts the label, trained on the synthetic rows
- `purchase`: charge, measure, certify
- `estimate`: from noisy counts to numbers with intervals
- `findings`: what the counts say
- `views`: each column as a report shows it
- `run_together`: what the synthetic table and these measures promise together
- `bought`: `Bought`, `Appraisal`: the outcome, as values
"""

from tabpe.evaluation.private_metrics.estimates import Appraisal, NoisyDifference, PrivateMeasures
from tabpe.evaluation.private_metrics.measure import appraise

__all__ = ["Appraisal", "NoisyDifference", "PrivateMeasures", "appraise"]
