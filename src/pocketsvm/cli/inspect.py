"""``pocketsvm inspect``: what is in a model file."""

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from . import options
from .escaping import escaped

if TYPE_CHECKING:
    from ..model.model import Model

MOST_SHOWN = 8  # entries of a list, such as classes, so that they fit a few lines


def inspect(model: options.ModelFile, json: options.Json = False) -> None:
    """Show what is in a model file."""
    from rich.table import Table

    from .console import print_json, show

    found = _describe(model)
    if json:
        print_json(found)
        return
    table = Table(box=None, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, value in found.items():
        if value is not None:
            if name == "feature_scales":  # the largest first
                value = [f"{feature} {scale:.3g}" for feature, scale in value.items()]
            table.add_row(name.replace("_", " "), _shown(value))
    show(table)


def _describe(path: str) -> dict[str, Any]:
    from ..compression.sizes import size_of
    from ..model.container import VERSION
    from .saved import Saved

    saved = Saved.load(path)
    svm, label, preparation = saved.estimator, saved.layout.label, saved.model.preparation
    return {
        "file": path,
        "bytes": os.path.getsize(path),
        "format_version": VERSION,
        "estimator": type(svm).__name__,
        "parameters": svm.get_params(),
        "classes": saved.labels or None,
        "vectors": len(svm.support_vectors_),
        "features": saved.layout.n_features,
        "feature_names": saved.layout.names,
        "label_column": label + 1 if isinstance(label, int) else label,
        "precision": svm.support_vectors_.dtype.name,
        "type": saved.model.dtype,
        "bytes_in_c": size_of(saved.model, saved.model.dtype),
        "gamma": svm.gamma_,
        "feature_scales": _scales(saved.model),
        "alpha": svm.alpha_,
        "intercept": svm.intercept_.tolist(),
        "passes": svm.n_iter_,
        "preparation": None if preparation is None else preparation.outline(),
        "profile": asdict(svm.profile_),
    }


def _scales(model: "Model") -> dict[str, float] | None:
    """Return the scale of each feature, the largest first."""
    if model.feature_scales is None:
        return None
    pairs = zip(model.prepared_names, model.feature_scales.tolist(), strict=True)
    return dict(sorted(pairs, key=lambda pair: -pair[1]))


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{_shown(key)} = {_shown(entry)}" for key, entry in value.items())
    if isinstance(value, list):
        some = ", ".join(map(_shown, value[:MOST_SHOWN]))
        return some if len(value) <= MOST_SHOWN else f"{some} and {len(value) - MOST_SHOWN:,} more"
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if type(value) is int else escaped(str(value))
