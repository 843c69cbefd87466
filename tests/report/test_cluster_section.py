"""The section that compares clusters: its rows are those of view cluster_differences, each pair of clusters once."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from kafka_lagoon.query.duckdb_engine import opened
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.report.cluster_section import DIFFERENCES, cluster_section
from kafka_lagoon.report.page import RELATIONS, cluster_page
from kafka_lagoon.report.scope import scopes
from tests.query.views.worked_examples import FOLDER, lake_of, read_examples

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Snapshots of the clusters blind, prod and spare."""
    lake = lake_of(tmp_path_factory.mktemp("clusters"), read_examples(FOLDER.with_name("three_clusters.txt")))
    with opened(lake, RELATIONS) as ask:
        yield ask


def test_each_pair_of_clusters_is_compared_once(ask: Ask) -> None:
    """A cluster is compared with those that come after it on the page; the last one has no section."""
    blind, prod, spare = scopes(ask, None, None, 24)
    assert [[other.cluster for other in scope.others] for scope in (blind, prod, spare)] == [
        ["prod", "spare"],
        ["spare"],
        [],
    ]
    names = [[section.name for section in cluster_page(scope).sections] for scope in (prod, spare)]
    assert [DIFFERENCES.name in of for of in names] == [True, False]


def test_differences_and_what_is_unknown(ask: Ask) -> None:
    """Rows have both values, or the reason why one of them is not known; these come last."""
    section = cluster_section(scopes(ask, ["prod", "spare"], None, 24)[0]).section
    (table,) = section.tables
    assert (section.lead, section.notes) == ("16 differences, 1 unknown.", [])
    assert ("spare", "different", "config", "topic orders", "retention.ms", "100", "200", "") in table.rows
    carts = ("spare", "only here", "topic", "carts", None, None, None, "not proven: the list may be short")
    assert carts in table.rows
    assert table.rows[-1] == (
        *("spare", "unknown", "config", "topic same", "retention.ms", "500", None),
        "unknown in spare: NOT_DESCRIBED",
    )


def test_a_cluster_of_which_nothing_is_known(ask: Ask) -> None:
    """A list that a cluster does not have is a row without a name."""
    section = cluster_section(scopes(ask, ["blind", "prod"], None, 24)[0]).section
    assert section.lead == "0 differences, 7 unknown."
    assert ("prod", "unknown", "acl", None, None, None, None, "unknown here: SECURITY_DISABLED") in section.tables[
        0
    ].rows


def test_a_page_about_an_earlier_slot(ask: Ask) -> None:
    """The tables have a newer snapshot of prod than the page shows, so nothing is compared, and the section says so."""
    slot_ms = round(datetime(2026, 11, 20, 10, 8, tzinfo=UTC).timestamp() * 1000)
    first = scopes(ask, ["prod", "spare"], slot_ms, 24)[0]
    section = cluster_section(first).section
    assert (section.lead, section.tables) == ("Not compared.", [])
    assert section.notes == [
        "Not compared with spare: only the newest snapshots can be compared, and the page shows an older one."
    ]
