"""Timelines by name, and the trial that a class of the user's must stand."""

import sys
from pathlib import Path
from typing import Any

import pytest

import rewriter
from rewriter.errors import AnalysisError
from rewriter.timeline.kinds import registry
from rewriter.timeline.kinds.bitmap import BitmapPartitionTimeline
from rewriter.timeline.kinds.ends_and_holes import EndsAndHolesPartitionTimeline
from rewriter.timeline.kinds.registry import GuardedTimeline, complaint, timeline_class
from rewriter.timeline.kinds.store_all import StoreAllPartitionTimeline
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.timeline import OrdinalRange


class Subclass(RangesPartitionTimeline):
    """A user's timeline that keeps the contract."""


class Listed(RangesPartitionTimeline):
    """Another one."""


class Inventive(RangesPartitionTimeline):
    """Drops of absent partitions invent some, as in Lens."""

    def drop(self, ordinal: int) -> bool:
        return super().drop(ordinal) or super().add(ordinal + 1)


class Agreeable(RangesPartitionTimeline):
    """Adding always returns true, as in Lens."""

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
    ],
)
def test_a_name_finds_its_class(name: str, kind: type) -> None:
    assert timeline_class(name) is kind


def test_the_default_is_ends_and_holes() -> None:
    assert timeline_class() is EndsAndHolesPartitionTimeline


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "no class is registered"),
        ("Ends", "no class is registered"),
        ("os.system('true')", "no class is registered"),
        ("../evil.Class", "no class is registered"),
        ("no_such_module_at_all.Class", "no class is registered"),
        ("org.apache.lens.cube.metadata.timeline.OtherTimeline", "no class is registered"),
        ("rewriter.timeline.ranges_timeline.Other", "no class is registered"),
        (f"{__name__}.Subclass", "no class is registered"),
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
    assert "rewriter.register_timeline" in raised.value.hint


@pytest.mark.parametrize("name", ["a_hostile_module.Timeline", "a_hostile_module:Timeline", "a_hostile_module"])
def test_a_name_is_never_imported(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_hostile_module.py").write_text("raise SystemExit('was imported')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(AnalysisError, match="no class is registered"):
        timeline_class(name)
    assert "a_hostile_module" not in sys.modules


@pytest.fixture
def registering(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restores the registered classes after a test."""
    monkeypatch.setattr(registry, "_registered", {})
    registry._installed_class.cache_clear()


@pytest.mark.usefixtures("registering")
def test_a_registered_class_is_found_and_guarded() -> None:
    rewriter.register_timeline(" sparse ", Subclass)
    assert timeline_class("sparse") is Subclass
    timeline = registry.make_timeline([OrdinalRange(1, 3)], "sparse")
    assert isinstance(timeline, GuardedTimeline)
    assert timeline.ranges() == (OrdinalRange(1, 3),)
    rewriter.register_timeline("sparse", Listed)
    assert timeline_class("sparse") is Listed


@pytest.mark.usefixtures("registering")
def test_a_stored_place_of_a_class_is_a_name_like_others() -> None:
    rewriter.register_timeline("somewhere.else:Timeline", Subclass)
    assert timeline_class("somewhere.else.Timeline") is timeline_class("somewhere.else:Timeline") is Subclass


@pytest.mark.usefixtures("registering")
@pytest.mark.parametrize("name", ["", "  ", "StoreAll", "bitmap", "org.apache.lens.cube.metadata.timeline.Ranges"])
def test_a_name_of_ours_cannot_be_registered(name: str) -> None:
    with pytest.raises(AnalysisError, match="INVALID_TIMELINE"):
        rewriter.register_timeline(name, Subclass)


def installed(folder: Path, code: str, points: str) -> None:
    """Creates a module, and the metadata of a package that registers classes of it."""
    (folder / "a_package_of_timelines.py").write_text(code, encoding="utf-8")
    about = folder / "a_package_of_timelines-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: a-package-of-timelines\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[rewriter.timelines]\n{points}\n")


GOOD = """
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline


class Installed(RangesPartitionTimeline):
    pass
"""


@pytest.mark.usefixtures("registering")
def test_an_installed_package_registers_by_an_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AnalysisError, match="no class is registered"):
        timeline_class("installed")
    points = "installed = a_package_of_timelines:Installed\nold.place.Class = a_package_of_timelines:Installed"
    installed(tmp_path, GOOD, points)
    monkeypatch.syspath_prepend(tmp_path)
    found_class = timeline_class("installed")
    assert (found_class.__module__, found_class.__name__) == ("a_package_of_timelines", "Installed")
    assert timeline_class("old.place:Class") is found_class
    # What this process says itself comes first.
    rewriter.register_timeline("installed", Subclass)
    assert timeline_class("installed") is Subclass


@pytest.mark.usefixtures("registering")
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("1 / 0", "UNKNOWN_TIMELINE.* loading its entry point '.*' fails: division by zero"),
        ("raise SystemExit('bye')", "UNKNOWN_TIMELINE.* loading its entry point '.*' fails: bye"),
        ("", "UNKNOWN_TIMELINE.* loading its entry point '.*' fails: .*no attribute 'Installed'"),
        ("Installed = set", r"INVALID_TIMELINE.* it lacks first, latest, count, is_empty, drop"),
        ("Installed = 3", r"INVALID_TIMELINE.* it is not a class"),
    ],
)
def test_an_entry_point_that_is_no_timeline_is_an_error(
    code: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, code, "installed = a_package_of_timelines:Installed")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "a_package_of_timelines", raising=False)
    with pytest.raises(AnalysisError, match=reason):
        timeline_class("installed")
    monkeypatch.delitem(sys.modules, "a_package_of_timelines", raising=False)


@pytest.mark.usefixtures("registering")
def test_two_packages_with_one_name_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, GOOD, "installed = a_package_of_timelines:Installed")
    second = tmp_path / "another_package-1.0.dist-info"
    second.mkdir()
    (second / "METADATA").write_text("Metadata-Version: 2.1\nName: another-package\nVersion: 1.0\n")
    (second / "entry_points.txt").write_text("[rewriter.timelines]\ninstalled = elsewhere:Class\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(AnalysisError, match=r"several packages register it: a_package.*, elsewhere:Class"):
        timeline_class("installed")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (Inventive, r"after drop\(.*\) returned True, not 0"),
        (Agreeable, r"after add\(.*\) returned True, not 0"),
        (Failing, "raises AssertionError: nothing to drop"),
        (Forgetful, "(latest|count): .*, not "),
        (Credulous, r"init_from_properties\(\{\}\) is not False"),
        (Illiterate, "does not read its own properties"),
        (Listing, r"covered\(.*\): \[.*\], not \("),
    ],
)
def test_a_class_that_breaks_the_contract_is_refused_with_what_it_did(kind: type, reason: str) -> None:
    with pytest.raises(AnalysisError, match=reason) as raised:
        rewriter.register_timeline("mine", kind)
    assert raised.value.condition == "INVALID_TIMELINE"
    assert raised.value.hint is not None


@pytest.mark.parametrize(
    ("kind", "reason"), [(set, "it lacks first, latest, count, is_empty, drop"), (3, "it is not a class")]
)
def test_what_lacks_members_or_is_no_class_is_refused(kind: Any, reason: str) -> None:
    with pytest.raises(AnalysisError, match=rf"INVALID_TIMELINE.* {reason}"):
        rewriter.register_timeline("mine", kind)
    with pytest.raises(AnalysisError, match="UNKNOWN_TIMELINE"):
        timeline_class("mine")


@pytest.mark.parametrize("name", ["StoreAll", "EndsAndHoles", "Ranges", "Bitmap"])
def test_ours_stand_the_trial(name: str) -> None:
    assert complaint(timeline_class(name)) is None
