"""The parts of a connection: arguments, URLs, profiles and environment variables, and their precedence."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

import rewriter
from rewriter.cli import main
from rewriter.runtime.connection_settings import ConnectionSettings, Source
from rewriter.runtime.profiles import resolve_connection

PARTS = ("REWRITER_WAREHOUSE", "REWRITER_ENGINE", "REWRITER_CATALOG", "REWRITER_PROFILE")
SECRET = "g3heim"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without a profile, and a user without one."""
    for variable in PARTS:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def parts(
    given: Source | None = None, environ: Mapping[str, str] | None = None, folder: Path | None = None
) -> ConnectionSettings:
    base = {"XDG_CONFIG_HOME": os.environ["XDG_CONFIG_HOME"]}
    return resolve_connection(given or Source(""), {**base, **(environ or {})}, folder or Path.cwd())


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rewriter.toml").write_text(text)
    return folder / "rewriter.toml"


class TestPrecedence:
    """Each part comes from the first source that has it."""

    @pytest.mark.parametrize("present", list(itertools.product((True, False), repeat=5)))
    def test_settings(self, project: Path, present: tuple[bool, ...]) -> None:
        """The setting of the first source wins, for each combination of sources."""
        argument, url, named, variable, chosen = present
        lines = [f"[profiles.{name}.settings]\nmax_dynamic_partitions = {n}" for name, n in (("n", 3), ("c", 5))]
        write(project, "\n".join(lines))
        given = Source(
            "",
            warehouse="rewriter:///w?max_dynamic_partitions=2" if url else None,
            settings={"rewriter.max_dynamic_partitions": "1"} if argument else {},
            profile="n" if named else None,
        )
        environ = {"REWRITER_WAREHOUSE": "rewriter:///v?max_dynamic_partitions=4"} if variable else {}
        environ |= {"REWRITER_PROFILE": "c"} if chosen else {}
        expected = next((str(n) for n, there in enumerate(present, 1) if there and not (n == 5 and named)), None)
        assert parts(given, environ).settings.get("rewriter.max_dynamic_partitions") == expected

    def test_engines(self, project: Path) -> None:
        write(project, '[profiles.default]\nengine = "duckdb"\n[profiles.s]\nengine = "local[3]"')
        assert parts().engine == "duckdb"
        assert parts(environ={"REWRITER_ENGINE": "spark"}).engine == "spark"
        assert parts(environ={"REWRITER_ENGINE": ""}).engine == "duckdb"
        both = {"REWRITER_ENGINE": "spark", "REWRITER_PROFILE": "s"}
        assert (parts(environ=both).engine, parts(environ=both).master) == ("spark", "local[3]")
        assert parts(Source("", profile="s"), {"REWRITER_ENGINE": "duckdb"}).engine == "spark"
        with_duckdb = parts(Source("", engine="duckdb", profile="s"))
        assert (with_duckdb.engine, with_duckdb.master) == ("duckdb", None)
        assert parts(Source("", master="local")).engine == "spark"
        assert parts(folder=project.parent).engine == "spark"

    def test_a_catalog_belongs_to_its_warehouse(self, project: Path) -> None:
        write(project, '[profiles.default]\nwarehouse = "a"\ncatalog = "postgresql://h/a"\n[profiles.c]\ncatalog = "c"')
        assert parts().catalog == "postgresql://h/a"
        assert parts(Source("", str(project / "a"))).catalog == "postgresql://h/a"
        assert parts(Source("", "b")).catalog is None
        assert parts(environ={"REWRITER_WAREHOUSE": "b"}).catalog is None
        # A profile without a warehouse, and a variable alone, have the catalog of whatever warehouse is named.
        assert parts(Source("", "b", profile="c")).catalog == "c"
        assert parts(Source("", "b"), {"REWRITER_CATALOG": "v"}).catalog == "v"
        assert parts(Source("", "b"), {"REWRITER_CATALOG": "v", "REWRITER_WAREHOUSE": "c"}).catalog is None
        assert parts(Source("", "rewriter:b?catalog=u"), {"REWRITER_CATALOG": "v"}).catalog == "u"

    def test_no_warehouse(self) -> None:
        assert parts().warehouse is None
        with pytest.raises(rewriter.InterfaceError, match="No warehouse is named"):
            rewriter.connect()


class TestURLs:
    @pytest.mark.parametrize(
        ("url", "warehouse", "engine", "master", "catalog"),
        [
            ("rewriter:///data/w", "/data/w", "spark", None, None),
            ("REWRITER:///data/w?engine=duckdb", "/data/w", "duckdb", None, None),
            ("rewriter:data/w?engine=duckdb&", "data/w", "duckdb", None, None),
            ("rewriter:/data/w?engine=local[2]", "/data/w", "spark", "local[2]", None),
            ("rewriter:///w?engine=spark&master=yarn", "/w", "spark", "yarn", None),
            ("rewriter:///w?engine=sc://h:15002/;token=x", "/w", "spark", "sc://h:15002/;token=x", None),
            ("rewriter:///a%20b%3Fc%23%25+d", "/a b?c#%+d", "spark", None, None),
            (
                "rewriter:///w?catalog=postgresql+psycopg://u:p@h/d?sslmode=require&engine=duckdb",
                "/w",
                "duckdb",
                None,
                "postgresql+psycopg://u:p@h/d?sslmode=require",
            ),
            ("rewriter:///w?catalog=postgresql://u:a%2526b@h/d", "/w", "spark", None, "postgresql://u:a%26b@h/d"),
        ],
    )
    def test_parts(self, url: str, warehouse: str, engine: str, master: str | None, catalog: str | None) -> None:
        found = parts(Source("", url))
        assert (found.warehouse, found.engine, found.master, found.catalog) == (warehouse, engine, master, catalog)

    def test_arguments_come_before_the_url(self) -> None:
        given = Source("", "rewriter:///w?engine=local&partial_data=true", engine="duckdb")
        found = parts(given)
        assert (found.engine, found.master, found.settings) == ("duckdb", None, {"rewriter.partial_data": "true"})

    @pytest.mark.parametrize(
        ("url", "message", "hint"),
        [
            ("rewriter://host/w", "names a host", "rewriter:///path"),
            ("rewriter://w", "names a host", "rewriter:///path"),
            ("rewriter:", "names no directory", "rewriter:///path"),
            ("rewriter:///?engine=duckdb", "names no directory", "rewriter:///path"),
            ("rewriter:///w#x", "has a fragment", "%23"),
            (f"rewriter:///w?catalog=postgresql://u:{SECRET}#x@h/d", "has a fragment", "%23"),
            ("rewriter:///w?engine", "engine has no value", "key=value"),
            ("rewriter:///w?engine=spark&engine=duckdb", "engine is given twice", "key=value"),
            ("rewriter:///w?warehouse=/v", "a second warehouse", "path alone"),
            ("rewriter:///w?engin=duckdb", "engin", "Did you mean engine"),
            ("rewriter:///w?partial_dat=true", "partial_dat", "partial_data"),
            ("rewriter:///w?partial_data=perhaps", "neither true nor false", "true or false"),
            ("rewriter:///w?engine=postgres", "no engine 'postgres'", "sc://"),
            ("rewriter:///w?engine=duckdb&master=local", "Only Spark", "Leave master out"),
            ("rewriter:///w?engine=local&master=local[2]", "another one", "Leave master out"),
            ("rewriter:///w?profile=nope", "no profile 'nope'", "profiles.nope"),
            (f"rewriter:///w?catalog=postgresql://u:{SECRET}@h/d&x", "x has no value", "key=value"),
            (f"rewriter://u:p@h/w?catalog=postgresql://u:{SECRET}@h/d", "names a host", "rewriter:///path"),
        ],
    )
    def test_mistakes(self, url: str, message: str, hint: str) -> None:
        with pytest.raises(rewriter.InterfaceError) as raised:
            rewriter.connect(url)
        assert message in raised.value.message
        assert hint in (raised.value.hint or "")
        assert SECRET not in f"{raised.value!r} {raised.value} {raised.value.object}"

    def test_a_connection(self, project: Path) -> None:
        with rewriter.connect(f"rewriter://{project}/w?engine=duckdb&partial_data=true") as connection:
            connection.execute("CREATE TABLE t (a INT)")
            assert connection.execute("SET rewriter.partial_data").fetchall()[0][1] == "true"
        assert (project / "w" / "catalog.db").exists()


class TestProfiles:
    def test_all_keys(self, project: Path) -> None:
        write(
            project,
            '[profiles.prod]\nwarehouse = "../w"\nengine = "spark"\nmaster = "local[2]"\ncatalog = "postgresql://h/d"\n'
            "[profiles.prod.settings]\npartial_data = true\nmax_dynamic_partitions = 7\n"
            '"hive.exec.dynamic.partition" = true\n',
        )
        found = parts(Source("", profile="prod"))
        assert Path(found.warehouse or "").resolve() == project.parent / "w"
        assert (found.engine, found.master, found.catalog) == ("spark", "local[2]", "postgresql://h/d")
        settings = {"partial_data": "true", "max_dynamic_partitions": "7"}
        assert found.settings == {
            **{f"rewriter.{k}": v for k, v in settings.items()},
            "hive.exec.dynamic.partition": "true",
        }

    def test_files(self, project: Path, tmp_path: Path) -> None:
        """The nearest file above the working directory, then that of the user; a profile of the first that has it."""
        below = project / "a" / "b"
        below.mkdir(parents=True)
        home = write(
            tmp_path / "config" / "rewriter", '[profiles.default]\nwarehouse = "h"\n[profiles.x]\nwarehouse="x"'
        )
        assert parts(folder=below).warehouse == str(home.parent / "h")
        write(project, '[profiles.default]\nwarehouse = "p"')
        assert parts(folder=below).warehouse == str(project / "p")
        assert parts(Source("", profile="x"), folder=below).warehouse == str(home.parent / "x")
        write(project / "a", "")
        assert parts(folder=below).warehouse == str(home.parent / "h")
        without_xdg = {"XDG_CONFIG_HOME": "", "HOME": str(tmp_path / "home")}
        write(tmp_path / "home" / ".config" / "rewriter", '[profiles.default]\nwarehouse = "/dot"')
        assert parts(environ=without_xdg, folder=below).warehouse == "/dot"

    def test_a_directory_that_anybody_may_write(self, project: Path) -> None:
        """A file there decides for nobody who works below it."""
        write(project, '[profiles.default]\nwarehouse = "planted"')
        (project / "own").mkdir()
        assert parts(folder=project / "own").warehouse == str(project / "planted")
        project.chmod(project.stat().st_mode | stat.S_IWOTH | stat.S_ISVTX)
        assert parts(folder=project / "own").warehouse is None
        assert parts(folder=project).warehouse == str(project / "planted")

    @pytest.mark.share(1)
    @pytest.mark.parametrize("kind", ["pipe", "socket", "directory", "device"])
    @pytest.mark.parametrize("place", ["project", "config"])
    def test_what_is_no_regular_file_is_an_error_at_once(self, project: Path, kind: str, place: str) -> None:
        folder = project if place == "project" else project.parent / "config" / "rewriter"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "rewriter.toml"
        with contextlib.ExitStack() as stack:
            if kind == "pipe":
                os.mkfifo(path)
            elif kind == "socket":
                listener = stack.enter_context(socket.socket(socket.AF_UNIX))
                stack.enter_context(contextlib.chdir(folder))
                listener.bind("rewriter.toml")
            elif kind == "directory":
                path.mkdir()
            else:
                path.symlink_to("/dev/zero")
            with pytest.raises(rewriter.InterfaceError, match="is not a regular file") as caught:
                parts(folder=project)
        assert caught.value.object == str(path)

    def test_a_home_in_a_path(self, project: Path, tmp_path: Path) -> None:
        write(project, '[profiles.default]\nwarehouse = "~/w"')
        assert parts().warehouse == str(tmp_path / "home" / "w")

    @pytest.mark.parametrize(
        ("text", "key", "message", "hint"),
        [
            ("[profiles.default", "", "is not TOML", "profiles.default"),
            (f"[profiles.default]\ncatalog = postgresql://u:{SECRET}@h", "", "is not TOML: .*line 2", "warehouse ="),
            ("engine = 'duckdb'", "engine", "unknown key, engine", "profiles"),
            ("[profile.default]", "profile", "unknown key, profile", "Did you mean profiles"),
            ("profiles = 3", "profiles", "are tables", "profiles.default"),
            ("[profiles]\ndefault = 3", "profiles", "are tables", "profiles.default"),
            ("[profiles.default]\nengin = 'duckdb'", "profiles.default.engin", "engin", "Did you mean engine"),
            ("[profiles.default]\nhost = 'x'", "profiles.default.host", "host", "warehouse, engine"),
            ("[profiles.default]\nengine = 3", "profiles.default.engine", "is of the type int", "engine ="),
            (
                f"[profiles.default]\ncatalog = ['{SECRET}']",
                "profiles.default.catalog",
                "is of the type list",
                "catalog =",
            ),
            ("[profiles.default]\nsettings = 3", "profiles.default.settings", "no table", "default.settings"),
            ("[profiles.default]\nengine = 'oracle'", "oracle", "default of .*no engine", "sc://"),
            ("[profiles.default]\nwarehouse = 'rewriter:///w'", "profiles.default.warehouse", "a URL", "path alone"),
            ("[profiles.default.settings]\npartial_dat = true", "partial_dat", "partial_dat", "partial_data"),
            ("[profiles.default.settings]\npartial_data = 'perhaps'", "partial_data", "neither true", "true or false"),
            (
                "[profiles.default.settings]\na.b = 1",
                "profiles.default.settings.a",
                "is of the type dict",
                "Quote a name",
            ),
        ],
    )
    def test_mistakes(self, project: Path, text: str, key: str, message: str, hint: str) -> None:
        path = write(project, text)
        with pytest.raises(rewriter.InterfaceError, match=message) as raised:
            rewriter.connect("w")
        assert str(path) in raised.value.message
        assert raised.value.object == (key or str(path))
        assert hint in (raised.value.hint or "")
        assert SECRET not in str(raised.value)

    def test_files_that_cannot_be_read(self, project: Path) -> None:
        (project / "rewriter.toml").write_bytes(b"[profiles.\xff]")
        with pytest.raises(rewriter.InterfaceError, match="not UTF-8"):
            rewriter.connect("w")

    def test_a_profile_that_does_not_exist(self, project: Path) -> None:
        with pytest.raises(rewriter.InterfaceError, match=r"there is no rewriter\.toml"):
            parts(Source("", profile="prod"))
        path = write(project, '[profiles.prod]\nengine = "duckdb"')
        for environ, given in (({"REWRITER_PROFILE": "prd"}, None), ({}, Source("", profile="prd"))):
            with pytest.raises(rewriter.InterfaceError, match=f"no profile 'prd' in {path}") as raised:
                parts(given, environ)
            assert raised.value.hint == "Did you mean prod?"

    def test_no_text_has_the_password(self, project: Path) -> None:
        write(project, f'[profiles.default]\nwarehouse = "w"\ncatalog = "postgresql://u:{SECRET}@localhost:1/d"')
        assert SECRET not in repr(parts())
        assert SECRET not in repr(Source("", catalog=f"postgresql://u:{SECRET}@h/d"))
        with pytest.raises(rewriter.OperationalError) as raised:
            rewriter.connect()
        assert SECRET not in f"{raised.value!r} {raised.value}"


class TestCommandLine:
    """The same sources, in the same order."""

    def sql(self, *options: str) -> int:
        return main.main(["sql", *options, "-e", "CREATE TABLE t AS SELECT 1 AS a"])

    def test_profiles_and_variables(
        self, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        write(project, "".join(f'[profiles.{p}]\nwarehouse = "{p}"\nengine = "duckdb"\n' for p in ("default", "dev")))
        assert self.sql() == 0
        assert self.sql("--profile", "dev") == 0
        monkeypatch.setenv("REWRITER_WAREHOUSE", "rewriter:variable?engine=duckdb")
        assert self.sql() == 0
        assert self.sql("-w", f"rewriter://{project}/url?engine=duckdb") == 0
        for folder in ("default", "dev", "variable", "url"):
            assert (project / folder / "catalog.db").exists()
        capsys.readouterr()
        assert main.main(["catalog", "check", "--profile", "dev"]) == 0
        assert main.main(["rewrite", "--profile", "dev", "SELECT a FROM t"]) == 0
        assert "FROM t" in capsys.readouterr().out
        with rewriter.connect(profile="dev") as connection:
            assert connection.execute("SELECT a FROM t").fetchall() == [(1,)]
            assert connection.session.catalog.warehouse == project / "dev"

    def test_the_variable_of_the_engine(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("REWRITER_ENGINE", "duckdb")
        assert self.sql("-w", "w") == 0
        with rewriter.connect("w") as connection:
            assert connection.session.engine_name == "duckdb"
        monkeypatch.setenv("REWRITER_ENGINE", "mysql")
        assert self.sql("-w", "w") == 2
        assert "REWRITER_ENGINE: There is no engine 'mysql'." in capsys.readouterr().err

    def test_golden_files_read_the_profile_s_warehouse(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        write(project, '[profiles.dev]\nwarehouse = "dev"\nengine = "duckdb"')
        assert self.sql("--profile", "dev") == 0
        (project / "a.golden").write_text("query\nSELECT a FROM t\n----\na\n-\n1\n")
        assert main.main(["golden", "a.golden"]) == 1
        assert main.main(["golden", "--profile", "dev", "a.golden"]) == 0
        assert main.main(["golden", "--profile", "dev", "-w", "", "a.golden"]) == 1

    def test_mistakes(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.sql("--profile", "nope") == 2
        err = capsys.readouterr().err
        assert err.startswith("Error: [INTERFACE_ERROR] There is no profile 'nope'")
        write(project, "[profiles.default]\nengine = 1")
        assert self.sql() == 2
        assert "profiles.default.engine" in capsys.readouterr().err
