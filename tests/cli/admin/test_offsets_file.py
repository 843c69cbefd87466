"""Files of offsets have the format of kafka-consumer-groups; every fault has its line."""

from pathlib import Path

import pytest

from kafka_lagoon.cli.admin.offsets_file import read_offsets_file
from kafka_lagoon.topic_partition import TopicPartition


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the path of a file to write."""
    return tmp_path / "offsets.csv"


def test_with_and_without_the_group(file: Path) -> None:
    """Quotes, blanks and empty lines are read as in any CSV file."""
    file.write_text('"orders-1",0,7\n\nbilling,"orders-1", 1 , 0\n')
    assert read_offsets_file(str(file), "billing") == (
        {TopicPartition("orders-1", 0): 7, TopicPartition("orders-1", 1): 0},
        [],
    )


@pytest.mark.parametrize("group_id", ["two\nlines", "a\r\nb", " blank ", "a\u2028b", "a\x85b", "a\x0cb", 'a"b,c'])
def test_ids_of_groups_that_a_file_quotes(file: Path, group_id: str) -> None:
    """Kafka allows every text as the id of a group, and exports it in quotes: line ends and blanks belong to it."""
    quoted = group_id.replace('"', '""')
    file.write_bytes(f'"{quoted}",orders,0,7\r\n"{quoted}",orders,1,8\r\n'.encode())
    offsets = {TopicPartition("orders", 0): 7, TopicPartition("orders", 1): 8}
    assert read_offsets_file(str(file), group_id) == (offsets, [])


def test_a_byte_order_mark(file: Path) -> None:
    """Files of Windows begin with a byte order mark, which belongs to no name."""
    file.write_text("orders,0,7\n", "utf-8-sig")
    assert read_offsets_file(str(file), "billing") == ({TopicPartition("orders", 0): 7}, [])


def test_all_faults_at_once(file: Path) -> None:
    """Wrong numbers, a partition that is named twice, and another group are reported together."""
    file.write_text("a,0\na,x,1\na,0,-1\na,0,1\na,0,2\nother,a,1,1\nb,c,d,1,1\n")
    odd = "not TOPIC,PARTITION,OFFSET or GROUP,TOPIC,PARTITION,OFFSET"
    assert read_offsets_file(str(file), "billing")[1] == [
        f"{file}:1: {odd}",
        f"{file}:2: {odd}",
        f"{file}:3: {odd}",
        f"{file}:5: a-0 stands there twice",
        f"{file}:6: it is about group other",
        f"{file}:7: {odd}",
    ]


def test_lines_that_python_refuses_to_read(file: Path) -> None:
    """Numbers of thousands of digits, and fields longer than any export has, are faults of their lines."""
    file.write_text(f"a,0,{'9' * 5_000}\na,{'9' * 5_000},1\na,\u0663,1\nb,0,1\n{'x' * 200_000},0,1\nc,0,x\n")
    offsets, problems = read_offsets_file(str(file), "g")
    odd = "not TOPIC,PARTITION,OFFSET or GROUP,TOPIC,PARTITION,OFFSET"
    assert problems[:3] == [f"{file}:{number}: {odd}" for number in (1, 2, 3)]
    assert problems[3:] == [f"{file}:5: not CSV: field larger than field limit (131072)"]
    assert offsets == {TopicPartition("b", 0): 1}


def test_files_that_cannot_be_read(file: Path) -> None:
    """Missing files, binary files and empty files are faults."""
    assert read_offsets_file(str(file), "g")[1] == [f"{file}: No such file or directory"]
    file.write_bytes(b"\xff\xfe")
    assert read_offsets_file(str(file), "g")[1] == [f"{file}: not text"]
    file.write_text("\n")
    assert read_offsets_file(str(file), "g")[1] == [f"{file}: no offsets in it"]
