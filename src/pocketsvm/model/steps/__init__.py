"""Steps: the transformers of scikit-learn that a model file keeps, and that exports can write.

==============  ===================================================================================
`kind`          `Kind`, how a file keeps a fitted transformer; chains of steps
`fields`        what a transformer has learnt, as values and arrays of a file
`program`       what a chain does to a row, as operations; texts as numbers
`operations`    the operations, each in C and in ONNX
`quantiles`     the quantiles of the normal distribution, for both
`scalers`       StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler
`imputer`       SimpleImputer
`encoders`      OneHotEncoder, OrdinalEncoder
`projections`   PCA, TruncatedSVD
`transforms`    PowerTransformer, QuantileTransformer
`composite`     ColumnTransformer, FeatureUnion, and pipelines inside them
==============  ===================================================================================

A kind of step is a record: the class, its parameters, and fields for what it has learnt, from which
follow the file and its checks; and a function `lower` that adds operations to a program, from which
follow C and ONNX. To add a step, write its record and add it to the list below.
"""

from .composite import COMPOSITES
from .encoders import ENCODERS
from .imputer import IMPUTER
from .kind import KINDS
from .projections import PROJECTIONS
from .scalers import SCALERS
from .transforms import TRANSFORMS

__all__ = ["KINDS"]

for _kind in (*SCALERS, IMPUTER, *ENCODERS, *TRANSFORMS, *PROJECTIONS, *COMPOSITES):
    KINDS[_kind.cls.__name__] = _kind
