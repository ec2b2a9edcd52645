"""Texts of a shell against protected files: what is refused, what is let through."""

import os
import re
import tarfile
from zipfile import ZipFile

import pytest

from bylaw.hosts.hooks.base import Call
from bylaw.hosts.hooks.protect.calls import protected_by
from bylaw.runtime.discovery import CONVENTION
from bylaw.runtime.protection import Protection
from bylaw.runtime.settings.tables import ProtectSettings

REFUSED = r"""
echo x > bylaw.toml
echo x >bylaw.toml
echo x >> ./bylaw.toml
echo x 2> bylaw.toml
echo x &> bylaw.toml
echo x >| bylaw.toml
echo x <> bylaw.toml
: > bylaw.toml
> bylaw.toml
cat <<EOF > bylaw.toml
printf 'a' | tee bylaw.toml
printf 'a' | tee -a other.txt bylaw.toml
sed -i s/a/b/ bylaw.toml
sed -i.bak -e s/a/b/ bylaw.toml
sed -Ei 's/a/b/' bylaw.toml
sed --in-place=.bak s/a/b/ bylaw.toml
sed -n 'w bylaw.toml' README.md
sed 'wbylaw.toml' README.md
awk '{print > "bylaw.toml"}' README.md
perl -pi -e 's/a/b/' bylaw.toml
rm bylaw.toml
rm -f -- bylaw.toml
rm "bylaw.toml"
rm 'bylaw.toml'
rm by''law.toml
rm b\ylaw.toml
rm "by"law.'toml'
rm $'bylaw.\x74oml'
rm ./src/../bylaw.toml
rm .//bylaw.toml
rm BYLAW.toml
rm $PWD/bylaw.toml
rm "$(pwd)/bylaw.toml"
rm "$(git rev-parse --show-toplevel)/bylaw.toml"
rm `pwd`/bylaw.toml
rm {bylaw,other}.toml
rm *.toml
rm b?law.toml
rm [b]ylaw.toml
rm -rf .
rm -rf ./
rm -rf rules
rm -rf *
rm -rf .bylaw
rm -rf .bylaw/state
rm .bylaw/state/journal.db
rm -r .git/hooks
rm ~/.claude/settings.json
rm $HOME/.claude/settings.json
rm "${HOME}/.claude/settings.json"
rm $UNHEARD_OF/bylaw.toml
rm ${UNHEARD_OF:-bylaw.toml}
F=bylaw.toml; rm $F
F=bylaw.toml && rm "$F"
D=rules; rm $D/a.toml
export F=bylaw.toml; rm $F
for f in README.md bylaw.toml; do rm $f; done
for f in *.toml; do : > $f; done
if true; then rm bylaw.toml; fi
cd src && rm ../bylaw.toml
cd rules && rm a.toml
cd rules; sed -i s/a/b/ *.toml
cd $SOMEWHERE && rm bylaw.toml
(cd rules && rm a.toml)
{ rm bylaw.toml; }
true && rm bylaw.toml
false || rm bylaw.toml
sleep 1 & rm bylaw.toml
ls | xargs rm bylaw.toml
echo bylaw.toml | xargs rm
echo bylaw.toml | xargs -I{} sh -c 'rm {}'
find . -name '*.toml' -delete
find rules -type f -exec rm {} +
find . -type f -exec sed -i s/a/b/ {} ;
find . -name '*.toml' -exec sed -i s/a/b/ {} +
find . -name '*.db' -delete
find . -name '*.toml' | xargs sed -i s/a/b/
env A=b rm bylaw.toml
sudo rm bylaw.toml
sudo -u root rm -rf rules
command rm bylaw.toml
timeout 5 rm bylaw.toml
nohup rm bylaw.toml &
time rm bylaw.toml
sh -c 'rm bylaw.toml'
bash -lc "rm bylaw.toml"
bash -c 'bash -c "rm bylaw.toml"'
sh -c 'rm "$1"' _ bylaw.toml
eval "rm bylaw.toml"
eval rm bylaw.toml
trap 'rm bylaw.toml' EXIT
echo 'rm bylaw.toml' | sh
bash <<< 'rm bylaw.toml'
echo "$(rm bylaw.toml)"
cat <(rm bylaw.toml)
echo hi > $(echo bylaw.toml)
python -c "open('bylaw.toml','w')"
python3 -c 'import os; os.remove("bylaw.toml")'
python3 -c 'import shutil; shutil.rmtree("rules")'
node -e "require('fs').writeFileSync('bylaw.toml','')"
perl -e 'unlink "bylaw.toml"'
ed -s bylaw.toml
vim -c wq bylaw.toml
mv bylaw.toml old.toml
mv other.toml bylaw.toml
mv rules old
cp other.toml bylaw.toml
cp -f other.toml ./bylaw.toml
cp evil/bylaw.toml .
cp -t . evil/bylaw.toml
cp --target-directory=. evil/bylaw.toml
cp -l bylaw.toml copy.toml
ln -sf /dev/null bylaw.toml
ln bylaw.toml copy.toml
install -m 644 other.toml bylaw.toml
rsync -a --delete empty/ ./
dd if=/dev/zero of=bylaw.toml
truncate -s0 bylaw.toml
chmod 000 bylaw.toml
chmod -R 777 .
chown -R nobody rules
curl -o bylaw.toml https://example.org
wget --output-document=bylaw.toml https://example.org
sort -o bylaw.toml README.md
git checkout HEAD~3 -- bylaw.toml
git checkout -- .
git restore .
git restore --source=HEAD~1 rules/a.toml
git reset --hard HEAD~5
git clean -fdx
git stash
git rm bylaw.toml
git -C src checkout -- ../bylaw.toml
git diff --output=bylaw.toml
git config core.hooksPath /dev/null
git config --local core.fsmonitor evil
echo x > link.toml
rm -rf linked
echo x > linked/a.toml
echo x > rules/new.toml
touch rules/new.toml
echo x > sub/bylaw.toml
echo x > .claude/settings.local.json
echo x > .codex/hooks.json
echo x > .github/hooks/a.json
echo x > .github/copilot/settings.json
echo x > .github/copilot/settings.local.json
echo x > opencode.json
echo x > .deepwork/config.yml
echo x > kept/a/b.txt
printf '[tool.bylaw]' > sub/pyproject.toml
echo x > .git/hooks/pre-commit
prettier --write bylaw.toml
unheard-of bylaw.toml
rm 'bylaw.toml
rm "bylaw.toml
rm $(bylaw.toml
cat bylaw.toml | tee link.toml
cat < <(rm bylaw.toml)
exec 3> bylaw.toml
{ echo x; } > bylaw.toml
while true; do echo x; done > bylaw.toml
f() { rm bylaw.toml; }; f
case x in x) rm bylaw.toml;; esac
cat > bylaw.toml <<'EOF'\n[protect]\nenabled = false\nEOF
cat <<EOF | tee bylaw.toml\nx\nEOF
sh <<'EOF'\nrm bylaw.toml\nEOF
bash -s <<'EOF'\ncd rules\nrm a.toml\nEOF
python3 - <<'EOF'\nopen("bylaw.toml", "w")\nEOF
python3 <<EOF\nopen("bylaw.toml","w")\nEOF
python3 - <<EOF\nprint("\\\\")\nopen("bylaw.toml","w")\nEOF
node <<EOF\nrequire("fs").writeFileSync("bylaw.toml","")\nEOF
perl - <<EOF\nunlink "bylaw.toml"\nEOF
bash <<EOF\necho "a\\"b" \\\\"; rm "bylaw.toml"\nEOF
cat <<EOF | bash\nrm bylaw.toml\nEOF
cat <<'EOF' | sh\nrm bylaw.toml\nEOF
cat <<EOF | sudo bash -s\nrm "bylaw.toml"\nEOF
cat <<'EOF' | python3\nopen("bylaw.toml","w")\nEOF
cat <<EOF | python3 -\nopen("bylaw.toml","w")\nEOF
cat <<'EOF' | sed s/x/y/ | bash\nrm bylaw.toml\nEOF
cat <<EOF | xargs rm\nbylaw.toml\nEOF
{ cat <<EOF; } | bash\nrm bylaw.toml\nEOF
{ echo 'rm bylaw.toml'; } | sh
(echo true; cat <<EOF) | sh\nrm bylaw.toml\nEOF
cat evil.patch | git apply
cat evil.patch | patch -p1
cat < evil.patch | git am
cat evil.patch | sed s/x/y/ | git apply --index -
cat <<'EOF' | git apply\n--- a/bylaw.toml\n+++ b/bylaw.toml\nEOF
. /dev/stdin <<EOF\nrm bylaw.toml\nEOF
source /dev/stdin <<< 'rm bylaw.toml'
echo "$(cat <<'EOF'\ndon't )\nEOF\nrm bylaw.toml)"
echo "$(cat <<< "a"; rm bylaw.toml)"
echo "$(echo $((1<<2))\nrm bylaw.toml)"
echo "$(echo $((1<<2))\n2\n)"; rm bylaw.toml
echo $[1<<2\n]; rm bylaw.toml\n2\n]
echo $((1<<2\n)); rm bylaw.toml\n2\n))
echo $(( $(rm bylaw.toml) + 1 ))
echo "${PATH/$(rm bylaw.toml)/}"
gh release download -O bylaw.toml
rm ${UNHEARD_OF:-"bylaw.toml"}
cat <<EOF > /dev/null\n$(rm bylaw.toml)\nEOF
python -c "import pathlib; pathlib.Path('bylaw.toml').write_text('')"
python -c "import os; os.system('rm bylaw.toml')"
printf 'bylaw.toml\\n' | xargs -I % rm %
printf 'rm bylaw.toml\\n' | sh
printf '%s\\n' README.md bylaw.toml | xargs -n1 rm
find . -name bylaw.toml -print0 | xargs -0 rm -f
parallel rm ::: bylaw.toml
cd rules && cd .. && rm bylaw.toml
cd .. && mv top x
cd .. && rm -rf top
mv $PWD /tmp/x
mv . ../x
rm -rf here/
echo x > here/bylaw.toml
rm -rf here/rules
pushd rules && rm a.toml
env -C rules rm a.toml
env --chdir=rules rm a.toml
env -i -C rules sh -c 'rm a.toml'
env -S 'rm bylaw.toml'
sudo -D rules rm a.toml
sh -c "sh -c 'sh -c \"rm bylaw.toml\"'"
flock /tmp/l -c 'rm bylaw.toml'
script -c 'rm bylaw.toml' /dev/null
at now <<< 'rm bylaw.toml'
rm ./{rules,src}/*
rm */a.toml
rm Rules/A.Toml
read F <<< bylaw.toml; rm $F
read F < <(echo bylaw.toml); rm "$F"
F=xbylaw.toml; rm ${F#x}
set -- bylaw.toml; rm "$@"
A=(bylaw.toml); rm ${A[0]}
printf -v F %s bylaw.toml; rm $F
git checkout HEAD~1 .
git checkout -f HEAD~1
git switch --discard-changes main
git read-tree -u --reset HEAD~3
git checkout-index -f -a
git stash pop
git stash push bylaw.toml
git apply evil.patch
git apply --index sub/../evil.patch
git am evil.patch
patch -p1 < evil.patch
patch -i evil.patch -p1
patch bylaw.toml other.patch
git apply <<'EOF'\n--- a/bylaw.toml\n+++ b/bylaw.toml\nEOF
cat > new.patch <<'EOF'\n+++ b/bylaw.toml\nEOF\ngit apply new.patch
cp -r evil/. .
cp -a evil/rules .
rsync -a evil/ .
cp -R evil/rules/ rules
bylaw trust --yes
(setsid env -i bylaw trust --yes &)
bylaw approve 20240116_120000_a_b
bylaw rules disable x
bylaw uninstall claude
bylaw doctor --release 10
python -m bylaw journal purge
python3 -I -m bylaw trust --yes
python3 -Im bylaw uninstall claude
python3 -X dev -W ignore -mbylaw rules disable x
python3 .venv/bin/bylaw trust --yes
bylaw --verbose trust --yes
perl -mstrict -e 'unlink "bylaw.toml"'
GIT_PAGER="rm bylaw.toml" git log
export GIT_EDITOR='sh -c "rm bylaw.toml"'; git commit
env PAGER='rm bylaw.toml; cat' git log
man -P "rm bylaw.toml" ls
man --pager='rm bylaw.toml' ls
git update-index --assume-unchanged src/a.py
git update-index --skip-worktree src/a.py
git -C src update-index --skip a.py
find src -type f | xargs git update-index --assume-unchanged
strace -o bylaw.toml ls
strace -fobylaw.toml ls
ltrace -o bylaw.toml ls
/usr/bin/time -o bylaw.toml ls
/usr/bin/time --output=bylaw.toml ls
script bylaw.toml
script -q -a bylaw.toml
watch -n1 'rm bylaw.toml'
git bisect run rm bylaw.toml
git bisect run sh -c 'rm bylaw.toml'
git rebase -x 'rm bylaw.toml' HEAD~1
git rebase -i --exec='rm bylaw.toml' HEAD~1
git submodule foreach 'rm bylaw.toml'
git filter-branch --tree-filter 'rm bylaw.toml' HEAD
git difftool -x 'rm bylaw.toml'
git grep --open-files-in-pager='rm bylaw.toml' x
git --work-tree=rules checkout -- a.toml
git --work-tree rules checkout -- a.toml
git --git-dir=.git --work-tree=. checkout -- .
GIT_WORK_TREE=rules git checkout -- a.toml
history -w bylaw.toml
history -a bylaw.toml
cloc --out=bylaw.toml .
cloc --report-file bylaw.toml .
scc -o bylaw.toml
scc --output=bylaw.toml
xxd other.toml bylaw.toml
xxd -r -p other.toml bylaw.toml
bat --pager 'rm bylaw.toml' README.md
bat --pager='rm bylaw.toml' README.md
make -f - <<'E'\nall:\n\t@rm bylaw.toml\nE
make -f- <<< 'all: ; rm bylaw.toml'
printf 'all:\\n\\trm bylaw.toml\\n' | make --file=-
make --eval='all: ; rm bylaw.toml'
(echo true; echo 'rm bylaw.toml'; echo true) | sh
(echo 'rm bylaw.toml'; echo true) 2>/dev/null | bash
{ echo 'rm bylaw.toml'; echo true; } | sh
for i in 1; do echo 'rm bylaw.toml'; done | sh
if true; then echo 'rm bylaw.toml'; echo x; fi | sh
bash <(echo 'rm bylaw.toml')
source <(echo 'rm bylaw.toml')
python3 <(echo 'open("bylaw.toml","w")')
echo 'rm bylaw.toml' > >(sh)
cat other.toml > >(tee bylaw.toml)
grep -rl x . | xargs sed -i s/x/y/
grep -rl 'x\\|z' --include='*.toml' . | sort | xargs sed -i s/x/y/
rg -l '(x|z)' | xargs sed -i s/x/y/
git grep -l x | xargs sed -i s/x/y/
git ls-files | xargs sed -i s/x/y/
git ls-files | grep '^rules/' | xargs rm
grep -rl kept_there . | xargs sed -i s/x/y/
rg -uu -l kept_there | xargs sed -i s/x/y/
rg -l "$UNHEARD_OF" | xargs sed -i s/x/y/
ls | xargs rm
fd -e toml | xargs rm
fd bylaw | xargs rm
find . -type f | head -100 | xargs rm
find . -type f -fls bylaw.toml
tar xf evil.tar
tar -xzf evil.tar
tar --extract --file=evil.tar
tar -xf evil.tar -C .
tar -C src -xf deep.tar --strip-components=1 && tar xf deep.tar --strip-components=1
unzip -o evil.zip
unzip -qo evil.zip -d .
unzip -o ../top/evil.zip
apply_patch '*** Begin Patch\n*** Delete File: bylaw.toml\n*** End Patch'
"""

LET_THROUGH = r"""
ls
ls -la rules .bylaw
cat bylaw.toml
cat bylaw.toml rules/a.toml > copy.txt
head -5 bylaw.toml
tail -f .bylaw/state/log
grep -rn shell bylaw.toml rules
rg protect bylaw.toml
wc -l bylaw.toml
diff bylaw.toml other.toml
less bylaw.toml
stat bylaw.toml
file bylaw.toml
sed -n 1,5p bylaw.toml
sed s/a/b/ bylaw.toml
awk '{print $1}' bylaw.toml
sort bylaw.toml
jq . .claude/settings.json
find . -name bylaw.toml
find . -name '*.py' -exec grep -l x {} +
find . -name '*.py' -exec sed -i s/a/b/ {} +
find src -type f -exec sed -i s/a/b/ {} +
find . -name '*.pyc' -delete
find . -name '*.py' | xargs sed -i s/a/b/
git diff bylaw.toml
git log -- bylaw.toml
git show HEAD:bylaw.toml
git status
git add bylaw.toml
git add -A
git commit -m "change bylaw.toml"
git checkout -b feature
git checkout main
git switch main
git restore src/a.py
git checkout -- src/a.py
git stash list
git clean -n
git config user.name Ada
git config --get core.hooksPath
git push origin main
bylaw check
bylaw check bylaw.toml rules
.venv/bin/bylaw rules list
python -m bylaw explain
python -I -m bylaw check bylaw.toml
python -Wd -m pytest tests
bylaw log --format json
echo bylaw.toml
echo "see bylaw.toml" >> README.md
echo hi > src/a.py
echo x > out.txt 2>&1
rm src/a.py
rm -rf build src
mv src/a.py src/b.py
cp bylaw.toml copy.toml
cp -r src copy
sed -i s/a/b/ src/a.py README.md
python -m pytest tests
python script.py
python -c "print(1)"
npm test
npm run build && ls dist
make -j4
cargo build --release
pip install -e .
cd src && rm a.py
cd src && ls .. > out.txt
for f in src/*.py; do wc -l $f; done
test -f bylaw.toml && echo there
[ -f bylaw.toml ] || exit 1
cat < bylaw.toml
cat bylaw.toml | grep x | sort > /tmp/out.txt
xargs grep x < bylaw.toml
timeout 5 cat bylaw.toml
sh -c 'cat bylaw.toml'
echo "$(cat bylaw.toml)"
# rm bylaw.toml
true # > bylaw.toml
mkdir -p src/x && touch src/x/y
chmod +x scripts/run.sh
chmod -R u+w src
echo 'rm bylaw.toml'
gh pr create --body "edits bylaw.toml and rules"
touch rules.md
touch .github/copilot-instructions.md
touch src/rules.toml
rm -f .git/index.lock
ln -s src other
printf '[tool.other]' > sub/pyproject.toml
unheard-of src tests
rm $UNHEARD_OF
rm -rf "$UNHEARD_OF/build"
env -C src rm a.py
git apply good.patch
patch -p1 < good.patch
git apply <<'EOF'\n--- a/src/a.py\n+++ b/src/a.py\nEOF
cp -r src/. copy
rsync -a src/ copy/
git checkout -b fix
git merge feature
bylaw doctor
bylaw rules show x
printf 'a\\n' | xargs rm
crontab -l
GIT_PAGER=cat git log -- bylaw.toml
PAGER="less -R" man git
EDITOR=true git commit -m "change bylaw.toml"
GIT_EDITOR="cat bylaw.toml" git commit
MESSAGE="rm bylaw.toml" make
man -k bylaw.toml
git update-index --refresh
git update-index --chmod=+x scripts/run.sh
git update-index --no-skip-worktree --no-assume-unchanged src/a.py
rm 'src
cat <<'EOF' > notes.md\nnever edit bylaw.toml\nEOF
cat <<EOF > notes.md\n"never" edit "bylaw.toml", or don't "care\nEOF
python3 <<EOF\nprint("hello", 'it''s')\nEOF
git commit -m "$(cat <<'EOF'\nNobody shouldn't edit bylaw.toml :)\nEOF\n)"
gh pr create --body "$(cat <<'EOF'\nAbout `bylaw.toml`, that we don't rm\nEOF\n)"
echo "$((1<<2)) ${PATH//:/ } bylaw.toml"
cat <<'EOF' | bash\ncat bylaw.toml\nEOF
cat <<'EOF' | grep rm\nrm bylaw.toml\nEOF
cat <<'EOF' | python3 -m json.tool\n{"path": "bylaw.toml"}\nEOF
cat bylaw.toml | sh -c cat
cat good.patch | git apply
cat good.patch | patch -p1
git diff HEAD~1 | git apply -R
strace -o trace.txt ls
strace -f -e trace=file cat bylaw.toml
/usr/bin/time -v cat bylaw.toml
script -q -c 'cat bylaw.toml' /dev/null
watch -n1 'cat bylaw.toml'
stdbuf -oL cat bylaw.toml
git bisect run pytest tests
git bisect run grep x bylaw.toml
git rebase main
git rebase -x 'make test' HEAD~3
git rebase --exec='cat bylaw.toml' HEAD~3
git submodule foreach 'git status'
git --work-tree=src checkout -- a.py
git --work-tree=src status
GIT_WORK_TREE=src git checkout -- a.py
git pull
git merge main
history 20
cloc . bylaw.toml
cloc --exclude-dir=node_modules .
scc rules
xxd bylaw.toml
xxd -l 16 bylaw.toml
uniq -f 1 bylaw.toml
bat bylaw.toml
bat --pager='less -R' bylaw.toml
bat --paging=never bylaw.toml
make -f build.mk test
make -f - <<'E'\nall:\n\tcat bylaw.toml\nE
(echo one; cat bylaw.toml) | sort
{ echo ls; echo true; } | sh
for f in *.toml; do cat $f; done | sort
diff <(cat bylaw.toml) <(cat other.toml)
grep -rl x . | xargs wc -l
grep -rl x src | xargs sed -i s/x/y/
grep -rl 'no such text' . | xargs sed -i s/x/y/
grep -rl x --include='*.py' . | xargs sed -i s/x/y/
rg -l unheard_of | xargs sed -i s/x/y/
rg -l x -g '*.py' | xargs sed -i s/x/y/
git grep -l unheard_of | xargs sed -i s/x/y/
git ls-files '*.py' | xargs sed -i s/x/y/
git ls-files | grep '\\.py$' | xargs sed -i s/x/y/
git ls-files | xargs wc -l
git diff --name-only | xargs prettier --write
ls | xargs -n1 du -sh
rg -l journal | xargs sed -i s/x/y/
grep -rl kept_there --exclude-dir=.bylaw . | xargs sed -i s/x/y/
fd -e py | xargs sed -i s/x/y/
fd '\\.py$' | xargs sed -i s/x/y/
find . -name '*.toml' | xargs -I{} cp {} /tmp/copies
find . -type f -exec cp {} /tmp/copies \\;
tar xf good.tar
tar -xf evil.tar -C sub/new
tar tf evil.tar
tar czf /tmp/backup.tgz .
unzip -l evil.zip
unzip -o good.zip
unzip evil.zip -d /tmp/elsewhere
"""


DIFF = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-x\n+y\n"


WRITTEN = {"n": "\n", "t": "\t", "\\": "\\"}


def texts(table):
    """A line each, in which `\\n` is the end of a line, and a doubled backslash one."""
    lines = table.strip().splitlines()
    return [re.sub(r"\\([nt\\])", lambda one: WRITTEN[one[1]], line) for line in lines]


def archives(top, name, *files):
    """Two archives of the same files."""
    with (
        tarfile.open(top / f"{name}.tar", "w:gz") as tar,
        ZipFile(top / f"{name}.zip", "w") as zip_,
    ):
        for file in files:
            tar.addfile(tarfile.TarInfo(file))
            zip_.writestr(file, "")


@pytest.fixture
def root(tmp_path, monkeypatch):
    top = tmp_path / "top"
    for folder in ("rules", "src", ".bylaw/state", ".git/hooks", "kept", "sub", "evil", "scripts"):
        (top / folder).mkdir(parents=True)
    for file in ("bylaw.toml", "rules/a.toml", "README.md", "src/a.py", "other.toml"):
        (top / file).write_text("x\n")
    (top / ".bylaw/state/journal.db").write_text("journal kept_there")
    (top / "evil/rules").mkdir()
    (top / "evil/rules/a.toml").touch()
    (top / "evil.patch").write_text(DIFF.format("bylaw.toml"))
    (top / "good.patch").write_text(DIFF.format("src/a.py"))
    archives(top, "evil", "rules/a.toml", "README.md")
    archives(top, "deep", "one/bylaw.toml")
    archives(top, "good", "src/a.py", "docs/rules.md")
    (top / "here").symlink_to(".")
    (top / "link.toml").symlink_to("bylaw.toml")
    (top / "linked").symlink_to("rules")
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    (home / ".claude/settings.json").write_text("{}")
    monkeypatch.setenv("HOME", str(home))
    return top


def protection_of(root, *, enabled=True):
    settings = ProtectSettings(enabled=enabled, paths=("kept",))
    return Protection(str(root), settings, (f"{root}/rules/a.toml",), CONVENTION)


def found(root, text, **fields):
    call = Call(tool="Bash", also=("shell",), args={"command": text, **fields})
    return protected_by(call, str(root), protection_of(root))


@pytest.mark.parametrize("text", texts(REFUSED))
def test_refused(root, text):
    assert found(root, text)


@pytest.mark.parametrize("text", texts(LET_THROUGH))
def test_let_through(root, text):
    assert not found(root, text)


def test_what_is_told_is_the_file_and_why(root):
    (one,) = found(root, "rm src/../bylaw.toml")
    assert (one.path, one.why) == ("bylaw.toml", "it holds the settings of Bylaw")


def test_hiding_files_from_git_is_told_as_that(root):
    (one,) = found(root, "git update-index --assume-unchanged src/a.py")
    assert one.path == ".git/index"
    assert "no longer see changes of the named files" in one.why


def test_a_list_of_words_is_a_command(root):
    assert found(root, ["bash", "-lc", "rm bylaw.toml"])
    assert not found(root, ["echo", "rm bylaw.toml; it's"])


def test_the_folder_that_a_call_names_counts(root):
    assert found(root, "rm a.toml", workdir="rules")
    assert not found(root, "rm a.toml", workdir="src")


@pytest.mark.parametrize(
    "text",
    [
        "rm " + "x" * 200_000 + " bylaw.toml",
        "rm " + "a " * 20_000 + "bylaw.toml",
        "echo " + "$(" * 5_000 + "bylaw.toml" + ")" * 5_000,
        "echo " + "${a:-" * 5_000 + "bylaw.toml" + "}" * 5_000,
        "echo " + '"${a/b/' * 35 + "x" + '}"' * 35 + "; rm bylaw.toml",
        "{a,b}" * 200 + " bylaw.toml; rm bylaw.toml",
        ";".join(f"rm d{number}" for number in range(3_000)) + ";rm bylaw.toml",
        "echo " + "'" + "a " * 40_000 + "'" + "|python" * 1_500 + "; rm bylaw.toml",
    ],
    ids=["long", "words", "nested", "defaults", "quotes", "braces", "commands", "pipes"],
)
def test_what_is_too_much_to_look_through_counts_if_it_speaks_of_it(root, text):
    assert found(root, text)


def test_a_long_here_document_is_read_to_its_end(root):
    filler = "true\n" * 3_000
    assert found(root, f"bash <<'EOF'\n{filler}rm bylaw.toml\nEOF")
    assert not found(root, f"cat <<'EOF' > notes.md\n{filler}rm bylaw.toml\nEOF")


def test_a_pattern_over_many_files_has_an_end(root):
    for number in range(3_000):
        (root / "src" / f"{number}.py").touch()
    assert not found(root, "wc -l src/*; cat src/*.py")
    assert found(root, "rm src/* bylaw.toml")


def test_variables_of_the_environment_count(root, monkeypatch):
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(root))
    assert found(root, "rm $CLAUDE_PROJECT_DIR/bylaw.toml")
    monkeypatch.setenv("CODEX_HOME", str(root / "codex"))
    assert found(root, "echo x > codex/config.toml")


def test_off_is_off(root):
    call = Call(tool="Bash", also=("shell",), args={"command": "rm bylaw.toml"})
    assert not protected_by(call, str(root), protection_of(root, enabled=False))


def test_a_root_below_a_protected_name_is_none_itself(root):
    below = root / ".github/hooks/mine"
    below.mkdir(parents=True)
    call = Call(tool="Write", also=("file.write",), args={"paths": ["a.py"]})
    settings = ProtectSettings()
    assert not protected_by(call, str(below), Protection(str(below), settings))
    assert os.path.lexists(below)
