"""What policies find in changed files: trigger and safety, sets, pairs, created files."""

import re
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from policy_texts import changes, found, policy

from bylaw.languages.file_policies.syntax import Mode, PolicySyntax
from bylaw.languages.file_policies.triggers import PolicyMatch, TriggerIndex, find_match
from bylaw.model.facts import ChangedFile, ChangeSet
from bylaw.model.vocabulary import FileStatus
from bylaw.paths import pattern
from counting import growth

GUARDED = "trigger: src/**/*.py\nsafety: README.md"
PAIRED = "set: ['src/{path}.py', 'tests/{path}_test.py']"
THREE = "set: ['models/{name}.py', 'schemas/{name}.py', 'migrations/{name}.sql']"
DOCUMENTED = "pair: {trigger: 'api/{path}.py', expects: 'docs/api/{path}.md'}"
TWICE = "pair: {trigger: 'api/{path}.py', expects: ['docs/api/{path}.md', 'openapi/{path}.yaml']}"


def violated(finding):
    return finding is not None and not finding.is_satisfied


class TestTriggerAndSafety:
    """DW-003, DW-004, DW-005, DW-006, DW-007"""

    def test_a_changed_file_that_matches_violates(self):
        assert found(GUARDED, "src/main.py") == PolicyMatch(
            is_satisfied=False, trigger_files=("src/main.py",)
        )

    def test_any_changed_safety_file_satisfies_and_is_named(self):
        assert found(GUARDED, "src/main.py", "README.md") == PolicyMatch(
            is_satisfied=True,
            trigger_files=("src/main.py",),
            matched_files=("README.md",),
        )

    def test_safety_alone_is_nothing(self):
        assert found(GUARDED, "README.md") is None

    def test_other_files_are_nothing(self):
        assert found(GUARDED, "docs/x.md", "src/main.pyi") is None

    def test_safety_is_optional(self):
        assert violated(found("trigger: src/**/*.py", "src/a.py"))

    def test_lists(self):
        keys = "trigger: [src/**/*.py, lib/**/*.py]\nsafety: [README.md, docs/**]"
        assert found(keys, "lib/u.py", "src/a.py").trigger_files == ("lib/u.py", "src/a.py")
        assert found(keys, "lib/u.py", "docs/x/y.md").is_satisfied

    def test_a_file_may_be_both(self):
        keys = "trigger: [src/**, pyproject.toml]\nsafety: pyproject.toml"
        assert found(keys, "pyproject.toml").is_satisfied

    def test_variables_match_here_too(self):
        assert violated(found("trigger: src/{path}.py", "src/a/b.py"))

    def test_deleted_files_trigger(self):
        assert found(GUARDED, deleted=["src/old.py"]).trigger_files == ("src/old.py",)

    def test_a_deleted_safety_file_changed_too(self):
        assert found(GUARDED, "src/a.py", deleted=["README.md"]).is_satisfied


class TestSets:
    """DW-008, DW-009, DW-010, DW-011, DW-020, DW-069, DW-145, DW-146"""

    def test_a_file_without_its_counterpart(self):
        assert found(PAIRED, "src/foo/bar.py") == PolicyMatch(
            is_satisfied=False,
            trigger_files=("src/foo/bar.py",),
            expected_files=("tests/foo/bar_test.py",),
            arrows=(("src/foo/bar.py", "tests/foo/bar_test.py"),),
        )

    def test_both_ways(self):
        assert found(PAIRED, "tests/foo_test.py").arrows == (("tests/foo_test.py", "src/foo.py"),)

    def test_complete(self):
        both = ("src/foo/bar.py", "tests/foo/bar_test.py")
        assert found(PAIRED, *both) == PolicyMatch(
            is_satisfied=True, trigger_files=both, expected_files=both, matched_files=both
        )

    def test_a_deleted_counterpart_changed(self):
        finding = found(PAIRED, deleted=["src/foo.py", "tests/foo_test.py"])
        assert finding.is_satisfied

    def test_in_a_set_of_three_all_others_are_expected(self):
        finding = found(THREE, "models/user.py", "schemas/user.py")
        assert finding.missing == ("migrations/user.sql",)
        assert finding.matched_files == ("models/user.py", "schemas/user.py")
        assert finding.arrows == (
            ("models/user.py", "migrations/user.sql"),
            ("schemas/user.py", "migrations/user.sql"),
        )

    def test_different_captures_are_different_groups(self):
        finding = found(THREE, "models/user.py", "schemas/order.py")
        assert finding.arrows == (
            ("models/user.py", "migrations/user.sql"),
            ("models/user.py", "schemas/user.py"),
            ("schemas/order.py", "migrations/order.sql"),
            ("schemas/order.py", "models/order.py"),
        )

    def test_a_file_in_another_folder_does_not_correspond(self):
        finding = found(PAIRED, "src/foo/bar.py", "tests/bar_test.py")
        assert finding.arrows == (
            ("src/foo/bar.py", "tests/foo/bar_test.py"),
            ("tests/bar_test.py", "src/bar.py"),
        )

    def test_complete_groups_are_left_out_while_another_is_incomplete(self):
        finding = found(PAIRED, "src/foo/bar.py", "src/ok.py", "tests/ok_test.py")
        assert finding.trigger_files == ("src/foo/bar.py",)
        assert finding.expected_files == ("tests/foo/bar_test.py",)
        assert finding.matched_files == ()

    def test_every_arrow_leads_to_its_own_counterpart(self):
        finding = found(PAIRED, "src/a.py", "src/b.py")
        assert finding.arrows == (("src/a.py", "tests/a_test.py"), ("src/b.py", "tests/b_test.py"))

    def test_plain_names(self):
        assert found("set: [a.txt, b.txt]", "a.txt").arrows == (("a.txt", "b.txt"),)
        assert found("set: [a.txt, b.txt]", "a.txt", "b.txt").is_satisfied

    def test_the_first_pattern_that_matches_a_file_counts(self):
        keys = "set: ['{path}_test.py', '{path}.py']"
        finding = found(keys, "a_test.py")
        assert finding.arrows == (("a_test.py", "a.py"),)

    def test_captures_that_can_be_parted_in_two_ways(self):
        """What one file expects corresponds, whatever that file would expect itself."""
        keys = "set: ['src/{a}-{b}.py', 't/{b}-{a}.py']"
        pair = ("src/x-y-z.py", "t/z-x-y.py")
        assert found(keys, *pair) == PolicyMatch(
            is_satisfied=True,
            trigger_files=pair,
            expected_files=pair[1:],
            matched_files=pair[1:],
        )
        assert found(keys, pair[1]).arrows == (("t/z-x-y.py", "src/y-z-x.py"),)
        assert found(keys, *pair, "src/p-q.py").trigger_files == ("src/p-q.py",)

    def test_as_close_as_its_own_pattern(self):
        keys = "set: ['{a}-{b}.py', '{b}-{a}.py']"
        assert found(keys, "x-y-z.py", "z-x-y.py").is_satisfied
        # It is a test, whichever test of a test there is.
        keys = "set: ['{name}.py', 'test_{name}.py']"
        assert found(keys, "test_a.py", "test_test_a.py").arrows == (("test_a.py", "a.py"),)

    def test_a_capture_is_never_read_as_a_variable(self):
        finding = found("set: ['src/{path}.py', 't/{path}.py']", "src/{name}.py")
        assert finding.arrows == (("src/{name}.py", "t/{name}.py"),)


class TestGlobsOnTheExpectedSide:
    """DW-A02, DW-031"""

    keys = "set: ['backend/{feature}/**/*', 'frontend/{feature}/**/*']"

    def test_any_changed_file_that_matches_will_do(self):
        finding = found(self.keys, "backend/x/a/routes.py", "frontend/x/view.ts")
        assert finding.is_satisfied
        assert finding.expected_files == ("backend/x/**/*", "frontend/x/**/*")
        assert finding.matched_files == ("backend/x/a/routes.py", "frontend/x/view.ts")

    def test_the_arrow_shows_the_filled_in_glob(self):
        finding = found(self.keys, "backend/x/routes.py", "frontend/y/view.ts")
        assert finding.arrows == (
            ("backend/x/routes.py", "frontend/x/**/*"),
            ("frontend/y/view.ts", "backend/y/**/*"),
        )

    def test_a_value_that_another_capture_would_hide(self):
        """The value is `a`, though matching alone would take as much as it can."""
        keys = "pair: {trigger: 'src/{name}.py', expects: 'docs/{name}-*.md'}"
        finding = found(keys, "src/a.py", "docs/a-b-c.md")
        assert finding.is_satisfied
        assert finding.matched_files == ("docs/a-b-c.md",)

    def test_a_captured_star_is_a_star(self):
        keys = "pair: {trigger: 'src/{name}.py', expects: 'docs/{name}/*.md'}"
        assert violated(found(keys, "src/*.py", "docs/x/y.md"))
        assert found(keys, "src/*.py", "docs/*/y.md").is_satisfied


class TestPairs:
    """DW-014, DW-015, DW-016, DW-068, DW-069"""

    def test_the_expected_file_did_not_change(self):
        assert found(DOCUMENTED, "api/users.py") == PolicyMatch(
            is_satisfied=False,
            trigger_files=("api/users.py",),
            expected_files=("docs/api/users.md",),
            arrows=(("api/users.py", "docs/api/users.md"),),
        )

    def test_it_did(self):
        assert found(DOCUMENTED, "api/users.py", "docs/api/users.md") == PolicyMatch(
            is_satisfied=True,
            trigger_files=("api/users.py",),
            expected_files=("docs/api/users.md",),
            matched_files=("docs/api/users.md",),
        )

    def test_the_expected_file_alone_is_nothing(self):
        assert found(DOCUMENTED, "docs/api/users.md") is None

    def test_one_of_two_is_not_enough(self):
        finding = found(TWICE, "api/users.py", "docs/api/users.md")
        assert not finding.is_satisfied
        assert finding.expected_files == ("docs/api/users.md", "openapi/users.yaml")
        assert finding.matched_files == ("docs/api/users.md",)
        assert finding.missing == ("openapi/users.yaml",)
        assert finding.arrows == (("api/users.py", "openapi/users.yaml"),)

    def test_some_of_the_variables_are_enough(self):
        keys = "pair: {trigger: '{module}/{name}.py', expects: 'docs/{module}.md'}"
        finding = found(keys, "auth/login.py", "auth/logout.py", "docs/auth.md", "api/x.py")
        assert finding.arrows == (("api/x.py", "docs/api.md"),)


class TestCreated:
    """An extension: only files that are new against the baseline."""

    def test_new_files_alone(self):
        finding = found("created: src/**/*.py", "src/old.py", added=["src/new.py"])
        assert finding == PolicyMatch(is_satisfied=False, trigger_files=("src/new.py",))

    def test_changed_and_deleted_ones_are_nothing(self):
        assert found("created: [src/**]", "src/old.py", deleted=["src/gone.py"]) is None

    def test_the_new_name_of_a_renamed_file_is_new(self):
        moved = ChangedFile(path="src/b.py", status=FileStatus.RENAMED, old_path="src/a.py")
        finding = find_match(policy("created: src/**"), ChangeSet(ref="x", files=(moved,)))
        assert finding.trigger_files == ("src/b.py",)


class TestPaths:
    """DW-034, DW-136, DW-137, DW-A30"""

    def test_both_names_of_a_renamed_file_are_changed(self):
        moved = ChangedFile(path="new/b.py", status=FileStatus.RENAMED, old_path="src/a.py")
        finding = find_match(policy("trigger: src/**"), ChangeSet(ref="x", files=(moved,)))
        assert finding.trigger_files == ("src/a.py",)

    def test_paths_are_normalised_first(self):
        keys = "trigger: src/{path}.py"
        assert found(keys, "src/../etc/x.py") is None
        assert found(keys, "./src//a.py").trigger_files == ("src/a.py",)

    def test_what_lies_outside_is_nobodys(self):
        assert found("trigger: '**'", "../x.py", "/etc/passwd", "src/../../x") is None

    def test_a_file_that_is_named_twice_counts_once(self):
        assert found("trigger: src/**", "src/a.py", "src/a.py").trigger_files == ("src/a.py",)

    def test_a_file_that_is_gone_and_there_is_there(self):
        gone = ChangedFile(path="a.py", status=FileStatus.DELETED)
        there = ChangedFile(path="a.py", status=FileStatus.ADDED, digest="x")
        for files in ((gone, there), (there, gone)):
            assert (
                find_match(policy("created: '*.py'"), ChangeSet(ref="x", files=files)) is not None
            )


class TestManyPolicies:
    def test_one_look_serves_all(self):
        first = policy(PAIRED, name="first")
        second = policy(GUARDED, name="second")
        hits = TriggerIndex([first, second]).hits(changes("src/a.py", "README.md"))
        assert hits.triggers == {"first": [("src/a.py", 0)], "second": [("src/a.py", 0)]}
        assert hits.safety == {"second": ["README.md"]}

    def test_it_is_looked_at_again_when_the_changes_are_others(self):
        sieve = TriggerIndex([policy(GUARDED)])
        now = changes("src/a.py")
        assert sieve.hits(now) is sieve.hits(now)
        assert sieve.hits(changes("src/b.py")).triggers == {"p": [("src/b.py", 0)]}


class TestSteps:
    """The steps grow with the number of files, not with its square."""

    def growth(self, keys):
        made = policy(keys)

        def match(count):
            find_match(made, changes(*(f"src/m{n % 97}/f{n}.py" for n in range(count))))

        return growth(match, 2_000)

    def test_a_set(self):
        assert self.growth(PAIRED) < 2.5

    def test_a_glob_that_all_files_share(self):
        assert self.growth("pair: {trigger: 'src/{path}.py', expects: 'src/**'}") < 2.5


NAMES = st.sampled_from(["a", "b", "c"])
PATTERNS = [
    "src/{path}.py",
    "tests/{path}_test.py",
    "{path}.md",
    "docs/{path}/*.md",
    "src/{path}/**",
]
PATHS = st.one_of(
    st.builds("src/{}.py".format, NAMES),
    st.builds("src/{}/{}.py".format, NAMES, NAMES),
    st.builds("tests/{}_test.py".format, NAMES),
    st.builds("docs/{}/{}.md".format, NAMES, NAMES),
    st.builds("{}.md".format, NAMES),
)


def _fixed(text):
    """How much of a pattern is no wildcard."""
    return len(re.sub(r"\{\w+\}|\*", "", text))


def _brute(mode, triggers, expects, paths):
    """The same, by looking at every file against every other."""
    arrows, members = set(), {}
    for path in paths:
        matching = [text for text in (*triggers, *expects) if pattern(text).match(path) is not None]
        closest = max(matching, key=_fixed, default="")
        for number, text in enumerate(triggers):
            captures = pattern(text).match(path)
            # The first of equals, and a trigger before what it expects.
            if captures is None or _fixed(text) < _fixed(closest):
                continue
            slots = (
                [t for n, t in enumerate(triggers) if n != number] if mode is Mode.SET else expects
            )
            wanted = [pattern(text).resolve(captures) for text in slots]
            members[path] = (tuple(sorted(captures.items())), wanted)
            break
    incomplete = set()
    for path, (group, wanted) in members.items():
        for one in wanted:
            if not any(one.match(other) is not None for other in paths):
                arrows.add((path, one.text))
                incomplete.add(group)
    chosen = incomplete or {group for group, _ in members.values()}
    return arrows, {path for path, (group, _) in members.items() if group in chosen}


class TestAgainstLookingAtEverything:
    @settings(deadline=None)
    @given(
        st.sampled_from([Mode.SET, Mode.PAIR]),
        st.lists(st.sampled_from(PATTERNS), min_size=2, max_size=3, unique=True),
        st.lists(PATHS, max_size=8, unique=True),
    )
    def test_it_finds_the_same(self, mode, texts, paths):
        triggers = texts if mode is Mode.SET else texts[:1]
        expects = () if mode is Mode.SET else tuple(texts[1:])
        made = PolicySyntax(id="p", title="p", mode=mode, trigger=tuple(triggers), expects=expects)
        finding = find_match(made, changes(*paths))
        arrows, files = _brute(mode, triggers, expects, paths)
        assert (finding is None) == (not files)
        if finding is not None:
            assert set(finding.arrows) == arrows
            assert set(finding.trigger_files) == files
            assert violated(finding) == bool(arrows)

    @given(st.lists(PATHS, max_size=6, unique=True), st.permutations(range(6)))
    def test_the_order_of_files_means_nothing(self, paths, order):
        shuffled = [paths[n] for n in order if n < len(paths)]
        for keys in (PAIRED, GUARDED):
            assert found(keys, *paths) == found(keys, *shuffled)


def test_every_mode_works_with_every_action():
    """DW-002"""
    modes = (GUARDED, PAIRED, DOCUMENTED, "created: src/**")
    actions = ("", "\naction: {command: 'fmt {file}'}")
    for mode, action in product(modes, actions):
        assert policy(f"{mode}{action}").mode in Mode
