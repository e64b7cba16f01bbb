"""The names of scikit-learn that are private or experimental, in one place."""

from sklearn.base import _fit_context as fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import (
    _check_partial_fit_first_call as check_partial_fit_first_call,
)
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import validate_data

__all__ = [
    "CallbackSupportMixin",
    "Interval",
    "StrOptions",
    "check_partial_fit_first_call",
    "check_sample_weight",
    "fit_context",
    "validate_data",
]
