"""Timelines by name, and the trial that a class of the user's must stand."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rewriter.errors import AnalysisError
from rewriter.timeline.bitmap_timeline import BitmapPartitionTimeline
from rewriter.timeline.ends_and_holes_timeline import EndsAndHolesPartitionTimeline
from rewriter.timeline.ranges_timeline import RangesPartitionTimeline
from rewriter.timeline.store_all_timeline import StoreAllPartitionTimeline
from rewriter.timeline.timeline_classes import timeline_class
from rewriter.timeline.timeline_trial import complaint
from rewriter.timeline.timelines import OrdinalRange


class Subclass(RangesPartitionTimeline):
    """A user's timeline that keeps the contract."""


class Inventive(RangesPartitionTimeline):
    """Drops of absent partitions invent some, as in Lens."""

    def drop(self, ordinal: int) -> bool:
        return super().drop(ordinal) or super().add(ordinal + 1)


class Agreeable(RangesPartitionTimeline):
    """Adding answers true whatever is there, as in Lens."""

    def add(self, ordinal: int) -> bool:
        super().add(ordinal)
        return True


class Failing(EndsAndHolesPartitionTimeline):
    """A drop from nothing fails, as in Lens."""

    def drop(self, ordinal: int) -> bool:
        assert self.first is not None, "nothing to drop"
        return super().drop(ordinal)


class Forgetful(RangesPartitionTimeline):
    """Its properties are not all of it."""

    def to_properties(self) -> dict[str, str]:
        return RangesPartitionTimeline(self.ranges()[:1]).to_properties()


class Credulous(RangesPartitionTimeline):
    """It reads a timeline out of nothing."""

    def init_from_properties(self, properties: Any) -> bool:
        return super().init_from_properties(properties) or True


class Illiterate(RangesPartitionTimeline):
    """It does not read what it wrote."""

    def init_from_properties(self, properties: Any) -> bool:
        return False


class Listing(RangesPartitionTimeline):
    """Its ranges are no tuple."""

    def covered(self, ordinals: OrdinalRange) -> Any:
        return list(super().covered(ordinals))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("StoreAll", StoreAllPartitionTimeline),
        ("EndsAndHoles", EndsAndHolesPartitionTimeline),
        ("Ranges", RangesPartitionTimeline),
        ("Bitmap", BitmapPartitionTimeline),
        ("endsandholes", EndsAndHolesPartitionTimeline),
        (" BITMAP ", BitmapPartitionTimeline),
        ("RangesPartitionTimeline", RangesPartitionTimeline),
        ("org.apache.lens.cube.metadata.timeline.StoreAllPartitionTimeline", StoreAllPartitionTimeline),
        ("org.apache.lens.cube.metadata.timeline.EndsAndHolesPartitionTimeline", EndsAndHolesPartitionTimeline),
        ("org.apache.lens.cube.metadata.timeline.RangesPartitionTimeline", RangesPartitionTimeline),
        ("rewriter.timeline.ranges_timeline.RangesPartitionTimeline", RangesPartitionTimeline),
        (f"{__name__}:Subclass", Subclass),
        (f"{__name__}.Subclass", Subclass),
    ],
)
def test_a_name_finds_its_class(name: str, kind: type) -> None:
    assert timeline_class(name) is kind


def test_the_default_is_ends_and_holes() -> None:
    assert timeline_class() is EndsAndHolesPartitionTimeline


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "no name of ours"),
        ("Ends", "no name of ours"),
        ("os.system('true')", "no name of ours"),
        ("../evil.Class", "no name of ours"),
        ("no_such_module_at_all.Class", "importing 'no_such_module_at_all' fails: No module named"),
        ("org.apache.lens.cube.metadata.timeline.OtherTimeline", "fails: No module named"),
        ("rewriter.timeline.ranges_timeline.Other", "'rewriter.timeline.ranges_timeline' has no 'Other'"),
    ],
)
def test_an_unknown_name_is_an_error_with_the_names_there_are(name: str, reason: str) -> None:
    with pytest.raises(AnalysisError) as raised:
        timeline_class(name)
    assert raised.value.condition == "UNKNOWN_TIMELINE"
    assert raised.value.object == name
    assert reason in raised.value.message
    assert raised.value.hint is not None
    assert "StoreAll, EndsAndHoles, Ranges, Bitmap" in raised.value.hint


@pytest.mark.parametrize(("code", "reason"), [("1 / 0", "division by zero"), ("raise SystemExit('bye')", "bye")])
def test_a_module_that_fails_as_it_is_loaded_is_an_error(
    code: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a_broken_timeline.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(AnalysisError, match=f"importing 'a_broken_timeline' fails: {reason}"):
        timeline_class("a_broken_timeline.Timeline")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (Inventive, r"after drop\(.*\) answers True, not 0"),
        (Agreeable, r"after add\(.*\) answers True, not 0"),
        (Failing, "raises AssertionError: nothing to drop"),
        (Forgetful, "(latest|count): .*, not "),
        (Credulous, r"init_from_properties\(\{\}\) is not False"),
        (Illiterate, "does not read its own properties"),
        (Listing, r"covered\(.*\): \[.*\], not \("),
    ],
)
def test_a_class_that_breaks_the_contract_is_refused_with_what_it_did(kind: type, reason: str) -> None:
    with pytest.raises(AnalysisError, match=reason) as raised:
        timeline_class(f"{__name__}.{kind.__name__}")
    assert raised.value.condition == "INVALID_TIMELINE"
    assert raised.value.hint is not None


def test_what_lacks_members_or_is_no_class_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("somebodys_timelines")
    vars(module).update(Set=set, value=3)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with pytest.raises(AnalysisError, match=r"INVALID_TIMELINE.* it lacks first, latest, count, is_empty, drop"):
        timeline_class("somebodys_timelines:Set")
    with pytest.raises(AnalysisError, match=r"INVALID_TIMELINE.* it is no class"):
        timeline_class("somebodys_timelines:value")


@pytest.mark.parametrize("name", ["StoreAll", "EndsAndHoles", "Ranges", "Bitmap"])
def test_ours_stand_the_trial(name: str) -> None:
    assert complaint(timeline_class(name)) is None
