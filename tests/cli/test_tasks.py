"""The command line of novelty detection and of ranking: train, predict, evaluate, inspect."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from ranking import graded
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import roc_auc_score

from pocketsvm import BudgetedOneClassSVM, BudgetedRanker, load_model
from pocketsvm.metrics import mean_ndcg, pairwise_accuracy

from .files import assert_same_model

SMALL = ["-B", "30", "-q", "--n-jobs", "1"]


@pytest.fixture
def normal(folder):
    """normal.csv without a label, normal.txt, and test.csv with the labels -1 and 1."""
    random = np.random.default_rng(0)
    X = np.round(random.normal(size=(400, 2)), 5)
    pd.DataFrame(X, columns=["a", "b"]).to_csv("normal.csv", index=False)
    dump_svmlight_file(X, np.ones(400), "normal.txt", zero_based=False)
    T = np.round(np.concatenate([random.normal(size=(50, 2)), random.normal(4, 1, (50, 2))]), 5)
    truth = np.repeat([1, -1], 50)
    pd.DataFrame(T, columns=["a", "b"]).assign(label=truth).to_csv("test.csv", index=False)
    return X, T, truth


@pytest.fixture
def queries(folder):
    """ranked.txt with qid, and ranked.csv with a column of names of queries."""
    X, y, qid = graded(20, 12)
    X = np.round(X, 5)
    dump_svmlight_file(X, y, "ranked.txt", zero_based=False, query_id=qid + 1)
    table = pd.DataFrame(X, columns=list("abcd")).assign(session=[f"s{k:02}" for k in qid], grade=y)
    table.sample(frac=1, random_state=0).to_csv("shuffled.csv", index=False)
    table.to_csv("ranked.csv", index=False)
    return X, y, qid


# --- novelty detection ----------------------------------------------------------------------------


def test_train_one_class_gives_the_model_of_the_estimator(succeed, normal):
    X, _, _ = normal
    succeed("train", "normal.txt", "m.psvm", "--one-class", "-n", 0.1, *SMALL)
    expected = BudgetedOneClassSVM(30, nu=0.1, random_state=0).fit(X.astype(np.float32))
    assert_same_model(load_model("m.psvm"), expected)
    succeed("train", "normal.csv", "c.psvm", "--one-class", "--nu", 0.1, "--scale", "none", *SMALL)
    assert_same_model(load_model("c.psvm"), expected)


def test_a_table_of_normal_rows_may_have_a_label(succeed, normal):
    options = ["--one-class", "--nu", 0.1, *SMALL]
    succeed("train", "normal.csv", "m.psvm", *options)
    pd.read_csv("normal.csv").assign(label="good").to_csv("labelled.csv", index=False)
    succeed("train", "labelled.csv", "n.psvm", *options)
    assert_same_model(load_model("m.psvm"), load_model("n.psvm"))


def test_outliers_are_predicted_and_evaluated(succeed, normal):
    _, T, truth = normal
    succeed("train", "normal.csv", "m.psvm", "--one-class", "--nu", 0.1, *SMALL)
    lines = succeed("predict", "m.psvm", "test.csv", "--decision").splitlines()
    labels, values = zip(*(line.split("\t") for line in lines), strict=True)
    values = np.array(values, dtype=float)
    table = pd.DataFrame(T, columns=["a", "b"])
    assert np.array(labels, dtype=int).tolist() == load_model("m.psvm").predict(table).tolist()
    assert [label == "1" for label in labels] == (values >= 0).tolist()
    found = json.loads(succeed("evaluate", "m.psvm", "test.csv", "--json"))
    assert found["roc_auc"] == pytest.approx(roc_auc_score(truth, values))
    assert found["accuracy"] == np.mean(np.array(labels, dtype=int) == truth)
    assert [row["label"] for row in found["classes"]] == ["-1", "1"]
    shown = succeed("evaluate", "m.psvm", "test.csv")
    assert "ROC-AUC" in shown
    found = json.loads(succeed("inspect", "m.psvm", "--json"))
    assert (found["estimator"], found["classes"]) == ("BudgetedOneClassSVM", ["-1", "1"])
    assert found["parameters"]["nu"] == 0.1
    assert "BudgetedOneClassSVM" in succeed("inspect", "m.psvm")
    for name in ("m.onnx", "m.h"):
        assert "its labels are -1, 1" in succeed("export", "m.psvm", name)


def test_a_test_file_of_novelties_is_scored(succeed, normal):
    out = succeed("train", "normal.csv", "m.psvm", "--one-class", *SMALL, "--test", "test.csv")
    assert out.startswith("test accuracy")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--nu", "0"], 2, "The 'nu' parameter of BudgetedOneClassSVM must be a float in"),
        (["--nu", "1.5"], 2, "range (0.0, 1.0]"),
        (
            ["-c", "3"],
            2,
            "Invalid value for --c: models trained with --one-class have no such parameter",
        ),
        (["--no-intercept"], 2, "--no-intercept: models trained with --one-class have no such"),
        (["--rank"], 2, "--one-class and --rank exclude each other"),
        (["--regression"], 2, "--regression and --one-class exclude each other"),
        (["--class-weight", "balanced"], 2, "there are no classes with --one-class"),
        (["--query", "a"], 2, "queries are only for --rank"),
    ],
)
def test_options_without_meaning_are_refused(refuse, normal, options, code, message):
    refuse(["train", "normal.csv", "m.psvm", "--one-class", *options], code, message)


def test_nu_is_only_for_novelty_detection(refuse, normal):
    refuse(
        ["train", "normal.csv", "m.psvm", "--nu", "0.2"],
        2,
        "--nu: it is the share of outliers, and needs --one-class",
    )


# --- ranking --------------------------------------------------------------------------------------


def test_train_rank_gives_the_model_of_the_estimator(succeed, queries):
    X, y, qid = queries
    succeed("train", "ranked.txt", "m.psvm", "--rank", "-c", 10, *SMALL)
    expected = BudgetedRanker(30, 10.0, random_state=0)
    expected.fit(X.astype(np.float32), y, qid=[str(q + 1) for q in qid])
    assert_same_model(load_model("m.psvm"), expected)
    named = ["--label", "grade", "--query", "session", "--scale", "none"]
    succeed("train", "ranked.csv", "c.psvm", "--rank", "-c", 10, *named, *SMALL)
    expected.fit(X, y, qid=[f"s{q:02}" for q in qid])
    assert_same_model(load_model("c.psvm"), expected)


def test_rankings_are_predicted_and_evaluated(succeed, call, queries):
    _, y, qid = queries
    named = ["--label", "grade", "--query", "session"]
    succeed("train", "shuffled.csv", "m.psvm", "--rank", "-c", 10, *named, *SMALL)
    scores = np.array(succeed("predict", "m.psvm", "ranked.csv").split(), dtype=float)
    assert pairwise_accuracy(y, scores, qid) > 0.9
    found = json.loads(succeed("evaluate", "m.psvm", "ranked.csv", *named[2:], "--json"))
    assert found == {
        "rows": 240,
        "queries": 20,
        "ndcg": pytest.approx(mean_ndcg(y, scores, qid)),
        "ndcg_10": pytest.approx(mean_ndcg(y, scores, qid, k=10)),
        "pairwise_accuracy": pytest.approx(pairwise_accuracy(y, scores, qid)),
    }
    shown = succeed("evaluate", "m.psvm", "ranked.csv", *named[2:])
    assert f"NDCG {found['ndcg']:.4f}, NDCG@10 {found['ndcg_10']:.4f}" in shown
    code, out, err = call("evaluate", "m.psvm", "ranked.csv")
    assert (code, err) == (
        0,
        "all rows are of one query; --query names the column of the queries\n",
    )
    assert "(240 rows, 1 query)" in out
    found = json.loads(succeed("inspect", "m.psvm", "--json"))
    assert (found["estimator"], found["classes"]) == ("BudgetedRanker", None)


def test_cross_validation_leaves_out_whole_queries(succeed, queries):
    out = succeed("train", "ranked.txt", "--rank", "-c", 10, "-v", 4, *SMALL, "--json")
    found = json.loads(out)
    assert (found["folds"], found["queries"]) == (4, 20)
    assert found["pairwise_accuracy"] > 0.75


def test_wrong_rankings_are_refused(refuse, succeed, queries):
    train = ["train", "ranked.csv", "m.psvm", "--rank", "--label", "grade", "-q"]
    refuse([*train, "--query", "nothing"], 1, "nothing")
    refuse([*train, "--query", "session", "--epsilon", "x"], 2, "--epsilon")
    refuse(["train", "ranked.csv", "m.psvm", "--rank", "--label", "session"], 1, "not a number")
    pd.read_csv("ranked.csv").assign(grade=1).to_csv("ties.csv", index=False)
    ties = ["train", "ties.csv", "m.psvm", *train[3:], "--query", "session"]
    refuse(ties, 1, "nothing to rank in n_samples=240 rows")
    succeed(*train, "--query", "session")
    refuse(["predict", "m.psvm", "ranked.csv", "--decision"], 2, "no decision values")
    refuse(["evaluate", "m.psvm", "ranked.csv", "--weights", "a"], 2, "no weights of rows")
    refuse(["evaluate", "m.psvm", "ties.csv", "--query", "session"], 1, "nothing is to rank")
    refuse(["export", "m.psvm", "m.model"], 1, "cannot hold the preparation")


# --- folders --------------------------------------------------------------------------------------


def test_novelty_detection_reads_a_folder(succeed, normal):
    os.mkdir("parts")
    table = pd.read_csv("normal.csv")
    for k in range(3):
        table[k::3].to_csv(f"parts/{k}.csv", index=False)
    pd.concat([table[k::3] for k in range(3)]).to_csv("joined.csv", index=False)
    options = ["--one-class", "--nu", 0.1, *SMALL]
    succeed("train", "parts", "m.psvm", *options)
    succeed("train", "joined.csv", "c.psvm", *options)
    assert_allclose(
        load_model("m.psvm").decision_function(table), load_model("c.psvm").decision_function(table)
    )
    assert set(succeed("predict", "m.psvm", "normal.csv").split()) == {"1", "-1"}


def test_a_ranking_reads_a_folder(call, succeed, queries):
    os.mkdir("parts")
    table = pd.read_csv("ranked.csv")
    for k in range(3):  # each file has rows of all queries
        table[k::3].to_parquet(f"parts/{k}.parquet")
    pd.concat([table[k::3] for k in range(3)]).to_parquet("joined.parquet")
    options = ["--rank", "-c", 10, "--label", "grade", "--query", "session"]
    code, _, err = call("train", "parts", "m.psvm", *options, "-B", 30)
    assert code == 0
    assert "read 240 rows in 1 scan; label: column 'grade'" in err
    succeed("train", "joined.parquet", "c.psvm", *options, *SMALL)
    rows = table[["a", "b", "c", "d"]]
    assert_allclose(load_model("m.psvm").predict(rows), load_model("c.psvm").predict(rows))
    found = json.loads(succeed("evaluate", "m.psvm", "parts", "--query", "session", "--json"))
    assert found["rows"] == 240
    assert found["pairwise_accuracy"] > 0.9


def test_a_sample_is_announced(call, folder):
    os.mkdir("parts")
    X = np.random.default_rng(0).normal(size=(3000, 2))
    pd.DataFrame(X, columns=["a", "b"]).to_parquet("parts/a.parquet")
    code, _, err = call("train", "parts", "m.psvm", "--one-class", "-B", 4)
    assert code == 0
    assert "fitted to a sample of at most 2,048 of these rows" in err


def test_a_folder_without_queries_is_one_query(call, refuse, queries):
    os.mkdir("parts")
    pd.read_csv("ranked.csv").to_csv("parts/a.csv", index=False)
    named = ["--rank", "--label", "grade", "--drop", "session", "--scale", "none", *SMALL]
    for data, model in (("parts", "parts.psvm"), ("ranked.csv", "one.psvm")):
        code, _, err = call("train", data, model, *(option for option in named if option != "-q"))
        assert code == 0
        assert "all rows are of one query; --query names the column" in err
        assert "several times" not in err
    assert_same_model(load_model("parts.psvm"), load_model("one.psvm"))
    refuse(["train", "parts", "m.psvm", *named, "-v", "3"], 2, "leave out m.psvm or -v")
