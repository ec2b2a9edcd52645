"""The functions that the document of the policy system names."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bylaw
from bylaw.paths import is_normalised, pattern

POLICY = "---\ntrigger: {}\n---\nCheck it.\n"


class TestPatterns:
    """DW-019, DW-021 to DW-029, DW-034, DW-142"""

    @pytest.mark.parametrize(
        ("text", "path", "captures"),
        [
            ("src/{path}.py", "src/foo/bar.py", {"path": "foo/bar"}),
            ("src/{path}.py", "src/foo/bar.txt", None),
            ("src/{path}.py", "src/.py", None),
            ("src/{path}.py", "src/axpy", None),
            ("src/{path}.py", "x/src/a.py", None),
            ("src/{path}.py", "SRC/foo.py", None),
            ("src/{name}.py", "src/foo/bar.py", None),
            ("{module}/{name}.py", "auth/login.py", {"module": "auth", "name": "login"}),
            ("src/{**}.py", "src/a/b.py", {}),
            ("src/{*}.py", "src/a/b.py", None),
            ("README.md", "README.md", {}),
            ("src/{path}.py", "src/../etc/x.py", None),
            ("src/{path}.py", "./src//a.py", {"path": "a"}),
            ("src/{path}.py", "../src/a.py", None),
        ],
    )
    def test_match_pattern(self, text, path, captures):
        assert bylaw.match_pattern(text, path) == captures

    @pytest.mark.parametrize("text", ["src/{path", "{my-var}", "[ab]", ""])
    def test_a_wrong_one_is_refused_by_all(self, text):
        for call in (
            lambda: bylaw.validate_pattern(text),
            lambda: bylaw.match_pattern(text, "x"),
            lambda: bylaw.pattern_to_regex(text),
            lambda: bylaw.resolve_pattern(text, {}),
        ):
            with pytest.raises(bylaw.PatternError):
                call()

    def test_a_right_one_is_nothing_to_tell(self):
        assert bylaw.validate_pattern("src/{path}.py") is None
        assert issubclass(bylaw.PatternError, bylaw.PolicyError)

    texts = st.lists(
        st.sampled_from(
            ["a", "/", "{path}", "{name}", "*", "**/", "?", "{a,b/c}", "{*}", "{**}", ".."]
        ),
        min_size=1,
        max_size=7,
    ).map("".join)

    @given(texts, st.text(alphabet="ab./", min_size=1, max_size=10))
    def test_the_regex_matches_what_the_pattern_does(self, text, path):
        try:
            made = pattern(text)
        except bylaw.PatternError:
            return
        if is_normalised(path):
            found = re.fullmatch(bylaw.pattern_to_regex(text), path)
            assert (found and found.groupdict()) == made.match(path)


class TestResolving:
    """DW-032, DW-033, DW-136"""

    def test_values_are_put_in(self):
        assert (
            bylaw.resolve_pattern("tests/{path}_test.py", {"path": "foo/bar"})
            == "tests/foo/bar_test.py"
        )
        assert bylaw.resolve_pattern("docs/api/{path}.md", {"path": "users"}) == "docs/api/users.md"
        assert bylaw.resolve_pattern("README.md", {"path": "x"}) == "README.md"

    def test_once_and_all_together(self):
        for values in ({"path": "{name}", "name": "x"}, {"name": "x", "path": "{name}"}):
            assert bylaw.resolve_pattern("docs/{path}/{name}.md", values) == "docs/{name}/x.md"

    @pytest.mark.parametrize(
        "values",
        [{"path": "x"}, {}, {"other": "../x"}, {"other": ".."}, {"other": "a/b"}, {"other": ""}],
    )
    def test_what_cannot_be(self, values):
        with pytest.raises(bylaw.PatternError) as refused:
            bylaw.resolve_pattern("docs/{other}.md", values)
        (found,) = refused.value.diagnostics
        assert (found.code, found.underlined) == ("unresolved-variable", "{other}")

    def test_no_value_leaves_the_repository(self):
        with pytest.raises(bylaw.PatternError):
            bylaw.resolve_pattern("t/{path}.py", {"path": "../../etc/passwd"})


class TestLoading:
    """DW-108, DW-110, DW-113, DW-035"""

    def test_by_file_name(self, tmp_path):
        for name in ("b.md", "a.md", "c.yml", "d.md.disabled"):
            (tmp_path / name).write_text(POLICY.format(name))
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "e.md").write_text(POLICY.format("x"))
        found = bylaw.load_policies(tmp_path)
        assert [(one.id, one.trigger) for one in found] == [("a", ("a.md",)), ("b", ("b.md",))]

    def test_no_folder_has_none(self, tmp_path):
        assert bylaw.load_policies(tmp_path / "none") == []

    def test_a_bad_pattern(self, tmp_path):
        (tmp_path / "bad.md").write_text(POLICY.format("src/{path.py"))
        with pytest.raises(bylaw.PatternError, match=r"`trigger: src/\{path.py`: unbalanced brace"):
            bylaw.load_policies(str(tmp_path))

    def test_all_that_is_wrong(self, tmp_path):
        (tmp_path / "a.md").write_text("no front matter")
        (tmp_path / "b.md").write_bytes(b"\xff")
        (tmp_path / "c.md").mkdir()
        with pytest.raises(bylaw.PolicyError) as refused:
            bylaw.load_policies(tmp_path)
        assert not isinstance(refused.value, bylaw.PatternError)
        codes = [one.code for one in refused.value.diagnostics]
        assert codes == ["policy-front-matter", "not-utf8", "unreadable-file"]
