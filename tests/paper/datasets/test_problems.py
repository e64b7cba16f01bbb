"""Problems: rows to train and test on."""

from paper_data import make_set

from pocketsvm.paper.datasets import problems
from pocketsvm.paper.datasets.files import File, Source
from pocketsvm.paper.datasets.registry import DataSet, named


def test_susy_in_part_brings_generated_rows_along(tmp_path, monkeypatch):
    monkeypatch.setattr(problems, "SCALE_ROWS", 600)
    whole = Source("SUSY", (File("absent", 1, 2),), "Not there.")
    part = make_set(tmp_path, "SUSY").sources[0]
    susy = named("SUSY")
    data_set = DataSet("SUSY", 32, 0.1, (10, 20), 1, (whole, part), susy.published)
    real, generated = problems.load_problems([data_set], tmp_path)
    assert not real.generated
    assert generated.generated
    assert "600 generated" in generated.label
    assert generated.rows[0].shape == (600, 18)
