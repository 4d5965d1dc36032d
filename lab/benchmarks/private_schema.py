"""What a privately estimated schema costs: Adult at epsilon 1, against the declared schema.

    python -m benchmarks.private_schema [--seeds 5] [--out benchmarks/results/private_schema.json]

Both runs have the same epsilon in total. One declares the schema of the published data set, the
other declares the label and its classes, and estimates the rest with 5% of the budget. The
accuracy is of gradient boosting, trained on synthetic rows and tested on real ones. As in the
paper, the number of rows and class shares are taken as public, and the preset is `paper`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import OrdinalEncoder

import tabpe
from benchmarks.common import (
    DATA,
    make_parser,
    make_public_model,
    publish,
    read_splits,
    summarize_scores,
    write_record,
)

LABEL = "income"
SCHEMA_BUDGET = 0.05
LARGEST_DROP = 0.02


def accuracy(train: pd.DataFrame, test: pd.DataFrame) -> float:
    """Test accuracy of gradient boosting; a value that training did not see is a missing one."""
    features = [name for name in test.columns if name != LABEL]
    listed = [name for name in features if not pd.api.types.is_numeric_dtype(test[name])]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    encoder.fit(train[listed])

    def encoded(table: pd.DataFrame) -> pd.DataFrame:
        codes = pd.DataFrame(encoder.transform(table[listed]), columns=listed, index=table.index)
        return pd.concat([table[features].drop(columns=listed), codes], axis=1)[features]

    model = HistGradientBoostingClassifier(
        categorical_features=[name in listed for name in features], random_state=0
    )
    model.fit(encoded(train), train[LABEL])
    return float(model.score(encoded(test), test[LABEL]))


def fit_model(train: pd.DataFrame, seed: int, *, private: bool) -> tabpe.TabPE:
    """Fit with the schema estimated or declared; estimated from the file, where all is text."""
    model = make_public_model(train, LABEL, random_state=seed)
    if private:
        model.set_params(
            schema="private", estimate_columns="all", schema_budget=SCHEMA_BUDGET, label=LABEL
        )
        return model.fit(DATA / "adult_tabpe_train.csv.gz")
    return model.fit(train, publish(tabpe.draft_schema(train, label=LABEL)))


def score_models(
    train: pd.DataFrame, test: pd.DataFrame, seeds: int, *, private: bool
) -> dict[str, Any]:
    """Fit with each seed and score the synthetic rows."""
    models = [fit_model(train, seed, private=private) for seed in range(seeds)]
    frames = [model.sample() for model in models]
    tables = [frame.to_pandas() if hasattr(frame, "to_pandas") else frame for frame in frames]
    return {
        **summarize_scores([accuracy(table, test) for table in tables]),
        "epsilon": max(model.certificate.epsilon for model in models),
        "spends": [item.to_dict() for item in models[0].certificate.spends],
    }


def main() -> None:
    arguments = make_parser(__doc__, "private_schema", seeds=5).parse_args()
    train, test = read_splits("adult_tabpe")
    results = {
        name: score_models(train, test, arguments.seeds, private=private)
        for name, private in (("declared", False), ("estimated", True))
    }
    drop = results["declared"]["mean"] - results["estimated"]["mean"]
    for name, result in results.items():
        print(f"{name:<9} accuracy {result['mean']:.4f} +- {result['std']:.4f}", flush=True)
    verdict = "ok" if drop <= LARGEST_DROP else "ABOVE"
    print(f"drop      {drop:.4f}   at most {LARGEST_DROP} {verdict}")
    record = {
        "data": "Adult, splits of the paper's authors",
        "schema_budget": SCHEMA_BUDGET,
        "accuracy_on_real_rows": round(accuracy(train, test), 4),
        "results": results,
        "drop": round(drop, 4),
        "largest_drop": LARGEST_DROP,
    }
    write_record(arguments.out, "private_schema", record)


if __name__ == "__main__":
    main()
