"""Texts of a shell against protected files: what is refused, what is let through."""

import os
import re
import tarfile
from zipfile import ZipFile

import pytest

from bylaw.hosts.clients.base import Call
from bylaw.hosts.hooks.protect.protect import find_protected
from bylaw.hosts.hooks.protect.shell_changes import MAX_PATCH
from bylaw.hosts.protected_paths import Protection
from bylaw.runtime.rule_files import CONVENTION
from bylaw.runtime.settings import ProtectSettings

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
sed --expression='w bylaw.toml' README.md
sed -e'w bylaw.toml' README.md
sed -ne'wbylaw.toml' README.md
sed 's/x/y/gw bylaw.toml' README.md
sed 's/x/y/w bylaw.toml' README.md
sed --in=.bak s/a/b/ bylaw.toml
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
rm {a..z}ylaw.toml
rm b{z..a..1}law.toml
rm {x,{a..c}}ylaw.toml
rm {a..z}{a..z}law.toml
rm {1..99999}/bylaw.toml
shopt -s extglob; rm @(bylaw).toml
rm @(x|by@(law|x)).toml
rm @("bylaw"|x).toml
rm ?(x)bylaw.toml
rm +(b|y)law.toml
rm *(b|y)law.toml
rm *(.)
rm !(x).toml
rm !(src|other)
rm -rf -- !(src)
rm @(.bylaw)/state/*.db
echo !(rm bylaw.toml)
if !(rm bylaw.toml); then ls; fi
ls !($(rm bylaw.toml))
case x in @(x|y)) rm bylaw.toml;; esac
shopt -s dotglob; rm */state/journal.db
shopt -s extglob dotglob && rm -f */*/*.db
bash -O dotglob -c 'rm */state/*'
setopt glob_dots; rm */state/journal.db
cd .c{k..m}aude; rm settings.json
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
find . -exec grep -q x {} \; -exec rm {} \;
find . -exec sh -c 'rm "$1"' _ {} \; -exec cat {} +
find . -name '*.toml' | xargs sed -i s/a/b/
env A=b rm bylaw.toml
sudo rm bylaw.toml
sudo -u root rm -rf rules
sudo -u bob python3 -c "open('rules/a.toml','w')"
sudo -u bob python3 -c "import shutil; shutil.rmtree('rules')"
sudo -u bob patch -p1 < evil.patch
sudo -u bob make --eval='all: ; rm bylaw.toml'
sudo -u bob sudo -u eve rm -rf rules
sudo -u bob eval 'rm -rf rules'
env -u X tar xf evil.tar
env -u git rm bylaw.toml
env -u find rm -rf rules
env -u find -u cat rm -rf rules
flock cat rm -rf rules
chroot find rm -rf rules
command rm bylaw.toml
timeout 5 rm bylaw.toml
runuser -u bob -- rm -rf rules
runuser bob -c 'rm -rf rules'
nsenter -t 1 rm -rf rules
chrt -i 0 rm -rf rules
pkexec rm -rf rules
nohup rm bylaw.toml &
time rm bylaw.toml
sh -c 'rm bylaw.toml'
bash -lc "rm bylaw.toml"
bash -c 'bash -c "rm bylaw.toml"'
bash -ce 'rm bylaw.toml'
sh -cx 'rm bylaw.toml'
bash -c -e 'rm bylaw.toml'
bash -c -- 'rm bylaw.toml'
bash -c -o errexit 'rm bylaw.toml' x
bash -co errexit 'rm bylaw.toml'
bash -co errexit 'rm $1' _ bylaw.toml
bash -s -- -c ls <<< 'rm bylaw.toml'
su bob -c 'rm bylaw.toml'
su - bob --command='rm bylaw.toml'
fish --command='rm bylaw.toml'
sh -c 'rm "$1"' _ bylaw.toml
eval "rm bylaw.toml"
eval rm bylaw.toml
trap 'rm bylaw.toml' EXIT
echo 'rm bylaw.toml' | sh
bash <<< 'rm bylaw.toml'
echo 'rm bylaw.toml' | bash -c sh
bash -c bash <<< 'rm bylaw.toml'
echo bylaw.toml | bash -c 'xargs rm'
cat evil.patch | sh -c 'git apply'
find rules -type f | sh -c 'xargs rm'
echo bylaw.toml | (xargs rm)
echo 'rm bylaw.toml' | (sh)
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
cp -trules bare.tar.d/a.toml
cp -t rules bare.tar.d/new.toml
cp --target=rules bare.tar.d/new.toml
cp --target rules bare.tar.d/new.toml
mv --target-dir=rules bare.tar.d/new.toml
install -Dt rules bare.tar.d/new.toml
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
sort --out=bylaw.toml README.md
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
f() { rm -rf "$1"; }; f rules
f() { rm -rf "$@"; }; f src rules
function f { rm -rf $2; }; D=rules; f x $D
function f { rm -rf rules; }; f
function f() { rm -rf $1; }; (f rules)
f() { rm -rf "$1"; }; for d in src rules; do f $d; done
alias r='rm -rf'; r rules
alias r=rm\nr -rf rules
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
git switch --disc main
git checkout --forc
git reset --har
git restore --staged --workt bylaw.toml
git grep --open='rm bylaw.toml' x
git -c alias.x='!rm -rf rules' x
git -c core.pager='rm -rf rules' log
GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!rm -rf rules' git x
git read-tree -u --reset HEAD~3
git read-tree -um main
git read-tree -vum HEAD main
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
strace -o.codex/hooks.json ls
strace -ofoo/../bylaw.toml ls
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
rm $(find . -name "*.toml")
sed -i s/x/y/ `ls *.toml`
sed -i s/x/y/ $(grep -rl x .)
perl -pi -e s/a/b/ $(git grep -l x)
for f in $(git ls-files); do sed -i s/a/b/ $f; done
git ls-files | while read -r f; do rm "$f"; done
find rules -type f | while IFS= read -r f; do mv "$f" /tmp; done
find . -name '*.toml' -print0 | while IFS= read -r -d '' f; do rm -- "$f"; done
git ls-files | while read; do rm "$REPLY"; done
git ls-files | while true; do read f || break; rm $f; done
git ls-files | sort | (while read f; do rm "$f"; done)
while read -r f; do rm "$f"; done < <(git ls-files)
while read -r f; do rm "$f"; done <<< "$(git ls-files)"
{ while read -r f; do rm "$f"; done; } < <(git ls-files)
rm $(git ls-files rules)
rm $(git ls-files rules '*.py')
rm $(cd rules; ls)
rm $(cd rules && ls *.toml)
files=$(ls *.toml); rm $files
files=$(ls *.toml)\nfor f in $files; do echo x > "$f"; done
files=$(ls *.toml); for f in $files; do sed s/a/b/ $f > $f.new; mv $f.new $f; done
files=($(ls *.toml)); rm "${files[@]}"
files=(); files+=($(ls *.toml)); rm "${files[@]}"
mapfile -t a < <(find . -name '*.toml'); rm "${a[@]}"
readarray -t a <<< "$(find . -name '*.toml')"; for f in "${a[@]}"; do rm "$f"; done
find . -name '*.toml' | mapfile -t a; rm "${a[0]}"
for f in $(ls rules); do rm rules/$f; done
for f in $(ls rules); do rm $PWD/rules/$f; done
for f in $(ls *.toml); do rm ./$f; done
for f in $(git ls-files); do rm "$PWD/$f"; done
rm $(ls src; ls rules)
{ ls rules; ls src; } | xargs rm
rm $(grep -l x $(git ls-files))
grep -l x $(find . -name '*.toml') | xargs rm
echo $(ls *.toml) | xargs rm
files=$(git ls-files); echo "$files" | while read f; do rm $f; done
xargs rm <<< "$(git ls-files)"
xargs rm < <(find . -name '*.toml')
xargs -a <(find . -name '*.toml') rm
rm $(ls | grep toml | head -1)
sh -c "rm $(git ls-files | tr '\\n' ' ')"
git ls-files | while read f; do sh -c "rm $f"; done
git ls-files | while read f; do python3 -c "open('$f', 'w')"; done
find . -type f ! -name '*.py' | xargs rm
f() { rm $(ls *.toml); }; f
for f in a bylaw.toml; do sh -c "rm $f"; done
files=$(echo src bylaw.toml); rm $files
rm $(find . ! \\( -name '*.py' -o -name '*.md' \\))
find . -type f -fls bylaw.toml
tar xf evil.tar
tar -xzf evil.tar
tar --extract --file=evil.tar
tar -xf evil.tar -C .
tar -C src -xf deep.tar --strip-components=1 && tar xf deep.tar --strip-components=1
tar xf bare.tar -Crules
tar xf bare.tar -Cdoc -C../rules
tar xf bare.tar --dir=rules
tar xf bare.tar --cd rules
tar --ext -f bare.tar -C rules
tar xfC bare.tar rules
tar xCf rules bare.tar
tar -xCrules -f bare.tar
unzip bare.zip -drules
unzip -o evil.zip
unzip -qo evil.zip -d .
unzip -o ../top/evil.zip
cd src; cd ..; cd other; cd ..; cd .bylaw/state; rm -f journal.db
cd src && make && cd .. && cd other && make && cd .. && cd .claude && rm settings.json
cd src; cd ..; cd other; cd ..; cd rules; rm a.toml
cd src; cd ..; cd other; cd ..; cd .git/hooks; echo x > pre-commit
cd a; cd b; cd c; cd d; cd e; cd f; cd g; cd h; cd i; cd .claude; rm settings.json
cd a; cd b; cd c; cd d; cd e; cd f; cd g; cd h; cd i; cd rules; echo > new.toml
cd src && cd .. && rm bylaw.toml
cd src && rm -rf ../rules
cd src; rm -rf *
cd linked && cd -P .. && rm bylaw.toml
cd src | rm -rf rules
cd $(echo src > rules/a.toml) && ls
cd src > rules/a.toml && ls
cd src || rm -rf rules
cd src && (cd .. && rm -rf rules)
cd src && sh -c 'cd ..; rm -rf rules'
cd $UNHEARD_OF && rm -rf rules/*
f() { cd "$1"; }; f .claude; rm settings.json
cp -rs $PWD/rules q && echo > q/a.toml
cp -rl rules q
cd rules; touch -- -x.toml
builtin cd .claude && rm settings.json
command cd .claude && rm settings.json
CDPATH=/tmp:$PWD; cd rules; rm a.toml
cd src; CDPATH=.. cd rules; rm a.toml
echo bylaw.toml | xargs -I{} rm {}
echo a bylaw.toml | xargs -I{} rm {}
printf 'a\\nbylaw.toml\\n' | xargs -i rm {}
echo bylaw.toml | xargs -I{} mv {} x
echo bylaw.toml | xargs --replace=@ rm @
echo a,bylaw.toml | xargs -d, rm
echo a bylaw.toml | xargs -n 1 -I % sh -c 'rm %'
xargs rm <<< bylaw.toml
xargs rm <<EOF\na\nbylaw.toml\nEOF
xargs -a <(echo bylaw.toml) rm
xargs -a <(echo a bylaw.toml) rm
xargs --arg-file=<(echo bylaw.toml) rm
rm by[[:alpha:]]aw.toml
echo x > by[[:alpha:]]aw.toml
rm [[:lower:]]ylaw.toml
rm [[=b=]]ylaw.toml
rm [![:digit:]]ylaw.toml
ln -s .claude q && rm q/settings.json
ln -s .claude q; cd q; rm settings.json
ln -s rules q && touch q/new.toml
ln -s ../rules src && touch src/rules/new.toml
ln -st src ../rules && touch src/rules/new.toml
ln -s . q; ln -s q/rules r; touch r/new.toml
python3 -c "import os; os.remove(os.path.join('.claude','settings.json'))"
python3 -c "from pathlib import Path; (Path('.git') / 'hooks' / 'pre-commit').write_text('')"
python3 - <<EOF\nimport os\nos.chdir("rules")\nopen("new.toml", "w")\nEOF
node -e "fs.unlinkSync(path.join('.codex', 'hooks.json'))"
socat -u - OPEN:bylaw.toml,creat
tar cf x.tar src --checkpoint=1 --checkpoint-action=exec='rm bylaw.toml'
tar cf x.tar src --checkpoint-action exec='rm bylaw.toml'
tar -I 'rm bylaw.toml;' -cf x.tar src
tar -I'rm bylaw.toml;' -cf x.tar src
tar --to-c='rm bylaw.toml' -xf good.tar
tar cf x.tar src --checkpoint=1 --checkpoint-a=exec='rm bylaw.toml'
rsync -e'rm bylaw.toml;' a host:b
rsync -e 'rm bylaw.toml;' a host:b
ssh -o ProxyCommand='rm bylaw.toml' host
declare -n r=z; z=bylaw.toml; rm $r
F=x; read F <<< bylaw.toml; rm $F
F=x; printf -v F %s bylaw.toml; rm $F
F=by; F+=law.toml; rm $F
A=(bylaw.toml); rm $A
rm -rf rules; sh -c "'"
rm -rf rules\necho 'unclosed
rm *.toml; sh -c '$('
git checkout -- '*.toml'
git restore :/
git checkout -- :/
git checkout HEAD -- ':(top)'
git checkout HEAD -- ':(top,glob)**/a.toml'
git restore ':!src'
git clean -fdx :/
git stash push -- rules
git sparse-checkout set --no-cone src
git rm -r .
git rm '*.toml'
git mv rules old
git mv src/a.py bylaw.toml
git mv evil/rules/a.toml rules
git mv $PWD/rules/a.toml /tmp/x
git -C src mv ../rules/a.toml x
git -C src mv $PWD/rules/a.toml x
git -C "$PWD" rm rules/a.toml
git -C $PWD/rules rm a.toml
git -C rules rm $PWD/rules/a.toml
git -C src --work-tree="$PWD" stash
git -C src --work-tree=../rules checkout -- a.toml
git -C "$PWD" apply evil.patch
git -C src apply $PWD/evil.patch
git -C src archive --output=../rules/new.toml HEAD
git checkout HEAD~1 -- src ./rules
git --git-dir=elsewhere checkout -- .
rsync -a --remove-source-files ./ /tmp/z/
mv -t /tmp rules
cp bylaw.toml ~/.claude/settings.json
bylaw hook claude UserPromptSubmit
echo '{}' | bylaw hook claude UserPromptSubmit
python3 -I -m bylaw hook claude Stop < payload.json
.venv/bin/python -Im bylaw hook codex
env -i .venv/bin/bylaw hook claude PreToolUse <<< '{}'
B=bylaw; "$B" hook claude Stop
uv run bylaw hook claude Stop
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
sudo grep rm bylaw.toml
sudo -u=bob grep rm bylaw.toml
sudo -- grep rm bylaw.toml
nice -n 5 grep rm bylaw.toml
find . -type f | xargs grep rm
find . -print0 | xargs -0 grep -l install
find . -print0 | xargs -0 -n 1 -P 4 grep -l mv
find . -exec grep -l x {} \; -exec ls {} +
find . -exec grep x {} \; -name '*.pyc' -delete
sh -c 'cat bylaw.toml'
sh -ce 'cat bylaw.toml'
bash -c -o errexit 'cat "$1"' _ bylaw.toml
su bob --command='cat bylaw.toml'
bash run.sh -c 'rm bylaw.toml'
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
cat $(find . -name '*.toml')
grep x $(git ls-files)
for f in $(git ls-files '*.py'); do wc -l $f; done
for f in $(git ls-files '*.py'); do sed -i s/a/b/ $f; done
for f in $(git ls-files); do wc -l $f; done
rm $(find src -name '*.o')
rm $(find . -name '*.o')
echo $(ls)
sed -i s/x/y/ $(grep -rl x src)
sed -i s/x/y/ $(grep -rl 'no such text' .)
sed -i s/x/y/ $(grep -l x $(git ls-files '*.py'))
cp $(ls *.toml) /tmp/x/
for f in $(ls *.md); do cp $f /tmp/x/$f; done
for f in $(git ls-files); do cp "$f" "$f.bak"; done
tmp=$(mktemp -d); for f in $(git ls-files); do cp "$f" "$tmp/$f"; done
git ls-files | while read -r f; do cp "$f" "/tmp/x/$f"; done
git ls-files | while read -r f; do wc -l "$f"; done
git ls-files '*.py' | while read -r f; do sed -i s/a/b/ "$f"; done
find src -type f | while read f; do mv "$f" /tmp; done
while read -r f; do cat "$f"; done < <(git ls-files)
mapfile -t a < <(find src -name '*.py'); rm "${a[@]}"
rsync -a --files-from=<(git ls-files) ./ /tmp/x/
comm -23 <(git ls-files) <(ls)
for d in $(ls); do rm -rf $d/node_modules; done
make build FILES=$(git ls-files | wc -l)
some-program $(ls | grep -c toml)
git rm --cached $(git ls-files -i -c --exclude-standard)
git add $(git ls-files -m)
git rm $(git ls-files -d)
ok=""; grep x $(git ls-files); some-program $ok
git commit -m "$(git ls-files)"
echo "$(ls)" > notes.txt
for f in $(git ls-files 'src/*.py'); do rm $PWD/$f; done
git apply $(ls good.patch)
cd $(ls -d src) && rm a.py
[ -z "$(ls -A src)" ] && rmdir src
for f in a b; do sh -c "cat $f" bylaw.toml; done
find . -type f -exec cp {} /tmp/copies \\;
tar xf good.tar
tar -xf evil.tar -C sub/new
tar tf evil.tar
tar xf bare.tar -Cdocs
tar xf bare.tar -Cscripts/rules
tar xfC bare.tar src
tar tfC bare.tar rules
cp -tsrc bare.tar.d/a.toml
cp --target=src bare.tar.d/a.toml
tar czf /tmp/backup.tgz .
cd src && make && cd .. && cd scripts && make && cd .. && cd src && rm a.py
cd a && make && cd .. && cd b && make && cd .. && cd c && make && cd .. && cd d && make
cd src && rm -rf *
cd src && rm -f *.toml && ls
cd src && sed -i s/a/b/ * | cat
echo a b | xargs -I{} rm {}
echo src/a.py | xargs -I{} cp {} /tmp
xargs rm <<< src/a.py
xargs -a list.txt wc -l
echo bylaw.toml | xargs -I{} cat {}
rm src/[[:lower:]].py
ln -s src q && rm q/a.py
ln -s ../src/a.py scripts/a.py
ln -sf $PWD/src ~/there
python3 -c "import os; print(os.path.join('src', 'settings.json'))"
python3 manage.py runserver
node build.js --config hooks.json
tar -I zstd -cf x.tar src
tar czf x.tgz --exclude=.git .
tar czf x.tgz --exclude .git --exclude-vcs .
rsync -a --exclude=.git --exclude .bylaw ./ /tmp/z
socat TCP-LISTEN:80,fork TCP:example.org:80
rsync -e ssh -a src/ host:src/
declare -n r=z; z=src/a.py; rm $r
F=src/a; F+=.py; rm $F
cp -r . /tmp/x
cp -a . ../copy
rsync -a ./ /tmp/z/
rsync -a --delete ./ /tmp/z/
cp bylaw.toml /tmp/
mv src/a.py ~
mv README.md /tmp
git restore --staged .
git restore -S bylaw.toml
git reset HEAD .
git reset bylaw.toml
git reset --soft HEAD~1
git rm -r --cached .
git rm --cached bylaw.toml
git rm -n bylaw.toml
git checkout main
git checkout -b feature origin/main
git checkout $BRANCH
git switch -c feature
git stash list
git stash show -p
git stash drop
git clean -n
git clean -ndx
git read-tree -m main
rm src/{a..z}.py
rm {01..12}.txt
rm src/@(a|b).py
rm *.@(pyc|orig)
rm -f ?(x|y).txt
cd src && rm !(a.py)
rm */state/journal.db
cat !(src)
case x in @(x|y)) cat bylaw.toml;; esac
echo $((2*(3+4)))
rm src/{a..10}.py
touch src/{1..99999}.txt
rm -rf build{1..3}/{a..c}
git sparse-checkout list
cd $UNHEARD_OF && rm settings.json
f() { cd "$1"; }; f .vscode; rm settings.json
git mv src/a.py src/b.py
git -C "$PWD" mv src/a.py src/b.py
git -C $PWD/src rm a.py
git -C $PWD/src diff --output=../a.diff
git -C $PWD log -- bylaw.toml
git -C $PWD diff $PWD/bylaw.toml
git checkout -- ':(glob)src/*.py'
bylaw hook --help
python -m bylaw check
npm test
npm ci
npm install --save-dev typescript
npx tsc --noEmit
pnpm run build
yarn add left-pad
pytest -q
pytest -q tests/hooks -k config
python -m pytest -x --lf
python setup.py build
tox -e py311
ruff check --fix src
black src tests
mypy --strict src
make -j4
make clean all
cmake -B build -S . && cmake --build build
cargo test && cargo fmt
go build ./... && go test ./...
go mod tidy
git commit -am x
git commit --amend --no-edit
git push
git push --force-with-lease origin feature
git pull
git pull --rebase origin main
git fetch --all --prune
git rebase main
git rebase --continue
git cherry-pick abc123
git revert HEAD
git merge --no-ff feature
git tag v1.0
git worktree add ../wt main
git log --oneline -5 && git diff --stat
docker compose up
docker compose up -d --build
docker build -t app .
docker run --rm -v $PWD:/src app make
docker exec app ls
kubectl apply -f deploy.yaml
sed -i 's/a/b/' src/a.py
sed -i.bak -e 's/x/y/g' src/*.py
grep -r pattern .
grep -rn 'settings' .claude
rg -n TODO src
find . -name '*.py'
find . -name '*.orig' -delete
find . -name __pycache__ -type d -exec rm -rf {} +
find src -name '*.py' -print0 | xargs -0 sed -i s/a/b/
find . -path ./node_modules -prune -o -name '*.js' -print
tar xf good.tar -C sub
tar xzf /tmp/none.tgz --strip-components=1 -C src
tar czf dist.tgz src README.md
unzip -q good.zip -d sub
rm -rf build
rm -rf build dist *.egg-info
rm -f src/*.pyc
rm -rf node_modules && npm ci
mv a b
mv src/a.py src/c.py && git add -A
mv build/*.whl dist/
ln -s a b
ln -sf ../src/a.py scripts/run.py
cp -r src backup
cp .env.example .env
mkdir -p build && cd build && cmake .. && make
touch src/new.py
chmod +x scripts/*.sh
chmod 644 src/a.py
curl -sSfL https://example.org/x.tgz | tar xz -C src
curl -o /tmp/x https://example.org
wget -q https://example.org/a.zip
export PATH=$PWD/bin:$PATH && run-it
source .venv/bin/activate && pip install -r requirements.txt
pip install -e '.[dev]'
for d in a b c; do (cd $d && make); done
f() { rm -rf "$1"; }; f src
f() { ls "$1"; f "$1"; }; f rules
alias ls='ls -l'; ls bylaw.toml
sed -n '/word/p' bylaw.toml
sed 's/warn/x/' bylaw.toml
git -c core.pager=cat log bylaw.toml
git -c user.name='A B' commit -m 'about bylaw.toml'
sed -e 's/x/y/' bylaw.toml
sed -ne's/w/e/p' bylaw.toml
sed --expression=s/x/y/ bylaw.toml
sed -n 's/x/y/gp' bylaw.toml
sort --output=/tmp/x bylaw.toml.bak
echo bylaw.toml | bash -c 'xargs cat'
cat bylaw.toml | (grep x)
echo x | (cat) && rm src/a.py
while read f; do wc -l "$f"; done < list.txt
if [ -d build ]; then rm -rf build; fi
python - <<EOF\nimport json\nprint(json.dumps({"settings": 1}))\nEOF
cat > src/new.py <<'EOF'\nimport os\nEOF
jq '.scripts' package.json > /tmp/p.json && mv /tmp/p.json package.json
sort -u list.txt -o list.txt
git log --format=%H | head -3 | xargs -n1 git show --stat
git diff --name-only | xargs -r prettier --write
ps aux | grep node | awk '{print $2}' | xargs kill
sudo apt-get install -y jq
ssh host 'cd app && git pull'
scp build.tgz host:/tmp/
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
    archives(top, "bare", "a.toml")
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
    return find_protected(call, str(root), protection_of(root))


@pytest.mark.parametrize("text", texts(REFUSED))
def test_refused(root, text):
    assert found(root, text)


@pytest.mark.parametrize("text", texts(LET_THROUGH))
def test_let_through(root, text):
    assert not found(root, text)


def test_what_is_told_is_the_file_and_why(root):
    (one,) = found(root, "rm src/../bylaw.toml")
    assert (one.path, one.why) == ("bylaw.toml", "it contains settings of Bylaw")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("cd src; cd ..; cd .bylaw/state; rm -f journal.db", ".bylaw/state/journal.db"),
        ("cd src && make && cd .. && cd rules && rm -f a.toml", "rules/a.toml"),
        ("rm -rf .", "rules/a.toml"),
    ],
)
def test_the_file_that_is_told_is_the_likely_one(root, text, path):
    assert [one.path for one in found(root, text)] == [path]


def test_hiding_files_from_git_is_told_as_that(root):
    (one,) = found(root, "git update-index --assume-unchanged src/a.py")
    assert one.path == ".git/index"
    assert "not see changes of the named files" in one.why


def test_a_list_of_words_is_a_command(root):
    assert found(root, ["bash", "-lc", "rm bylaw.toml"])
    assert not found(root, ["echo", "rm bylaw.toml; it's"])


def test_a_call_may_begin_in_the_folder_of_the_hook(root, monkeypatch):
    monkeypatch.chdir(root)
    call = Call(tool="Bash", also=("shell",), args={"command": "cd rules && rm a.toml"})
    (one,) = find_protected(call, ".", protection_of(root))
    assert one.path == "rules/a.toml"


def test_the_folder_that_a_call_names_counts(root):
    assert found(root, "rm a.toml", workdir="rules")
    assert not found(root, "rm a.toml", workdir="src")


MANY = " ".join(f"a{number}" for number in range(2_500))


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
        ";".join(f"x=v{number}" for number in range(1_500)) + ";x=bylaw.toml; rm $x",
        f"for f in {MANY} bylaw.toml; do rm $f; done",
        "rm {" + MANY.replace(" ", ",") + ",bylaw.toml}",
        f"echo {MANY} bylaw.toml | xargs rm",
        f"xargs -I% rm % <<< '{MANY} bylaw.toml'",
        ";".join(f"cd d{number}" for number in range(100)) + "; cd .claude; rm settings.json",
        ";".join(f"cd d{number}" for number in range(100)) + "; cd .git; cd hooks; rm pre-push",
        ";".join(f"cd d{number}" for number in range(100)) + "; cd rules; touch new.toml",
        ";".join(f"ln -s a{number} b{number}" for number in range(300)) + "; ln -s .claude q;"
        " rm q/settings.json",
        "x='" + "a" * 9_000 + '; rm bylaw.toml\'; sh -c "$x"',
        "sed '#" + "w " * 40_000 + "\nw bylaw.toml' README.md",
        "f " + " " * 40_000 + "x" * 40_000 + "; f() { rm -rf $1; }; f rules",
        "sudo " * 5_000 + "rm bylaw.toml",
        "env -u env " * 3_000 + "rm bylaw.toml",
        "env -u git " * 3_000 + "rm bylaw.toml",
        "find . -exec " * 3_000 + "rm bylaw.toml",
        "env -X python -X python -X python -X python -m " * 100 + "rm bylaw.toml",
    ],
    ids=[
        *("long", "words", "nested", "defaults", "quotes", "braces", "commands", "pipes"),
        *("values", "loop", "choices", "xargs", "marks", "folders", "git", "rules", "links"),
        *(
            "variable",
            "sed",
            "function",
            "starters",
            "own names",
            "other names",
            "finds",
            "modules",
        ),
    ],
)
def test_what_is_too_much_to_look_through_counts_if_it_speaks_of_it(root, text):
    assert found(root, text)


@pytest.mark.parametrize(
    "text",
    [
        f"for f in {MANY}; do rm $f; done",
        f"echo {MANY} | xargs rm",
        ";".join(f"cd d{number}; make; cd .." for number in range(100)),
        "cat > notes.md <<'EOF'\n" + "a line about git\n" * 10_000 + "EOF",
        "rm " + "src/" + " src/".join(MANY.split()),
    ],
    ids=["loop", "xargs", "folders", "long", "words"],
)
def test_what_is_too_much_to_look_through_is_free_if_it_speaks_of_nothing(root, text):
    assert not found(root, text)


@pytest.mark.parametrize("flaw", ['; sh -c "\'"', "\necho 'x", "\nif", "; cd d" * 100])
@pytest.mark.parametrize("text", ["rm -rf rules", "rm *.toml", "rm -rf .", "cd rules; rm *"])
def test_what_stands_before_something_unreadable_counts(root, text, flaw):
    assert found(root, f"{text}{flaw}")


def test_of_many_lists_none_is_lost(root):
    many = "; ".join(f"ls none{number}" for number in range(200))
    assert found(root, f"{many}; rm $(ls *.toml)")
    assert found(root, f"{many}; find rules -delete")
    assert found(root, f"{many}; ls *.toml | xargs rm")
    assert not found(root, f"{many}; rm $(ls src)")


def test_a_folder_is_told_by_where_it_leads(root):
    """`cd` goes by names, the system by links; neither leads to more folders than there are."""
    (root / "src/link").symlink_to("../rules")
    assert found(root, "cd src/link && rm a.toml")
    assert found(root, "cd src/link && cd .. && rm ../bylaw.toml")
    assert found(root, "cd src/link && cd -P .. && rm bylaw.toml")
    assert not found(root, "cd src && cd .. && " * 50 + "cd src && rm a.py")


def test_patches_and_copies_that_are_large_open_nothing(root):
    for number in range(2_500):
        (root / "evil" / f"{number}.txt").touch()
    (root / "evil/zz").mkdir()
    many = "".join(DIFF.format(f"src/{number}.py") for number in range(2_500))
    (root / "many.patch").write_text(many)
    (root / "evil.patch").write_text(many + DIFF.format("bylaw.toml"))

    assert not found(root, "git apply many.patch")
    assert found(root, "git apply evil.patch")
    assert not found(root, "cp -r evil /tmp/elsewhere")
    (root / "evil/rules/a.toml").rename(root / "evil/rules/zz.toml")
    assert found(root, "cp -r evil/. .")
    (root / "many.patch").write_text(many + "x" * MAX_PATCH)
    assert found(root, "git apply many.patch")


def test_what_an_agent_must_not_say_for_its_client(root):
    (one,) = found(root, "bylaw hook claude UserPromptSubmit")
    assert one.path == "bylaw hook"
    assert "must not send events in the name" in one.why


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
    assert not find_protected(call, str(root), protection_of(root, enabled=False))


def test_a_root_below_a_protected_name_is_none_itself(root):
    below = root / ".github/hooks/mine"
    below.mkdir(parents=True)
    call = Call(tool="Write", also=("file.write",), args={"paths": ["a.py"]})
    settings = ProtectSettings()
    assert not find_protected(call, str(below), Protection(str(below), settings))
    assert os.path.lexists(below)
