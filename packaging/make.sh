#!/bin/bash
# Makes the source archive and the Debian packages of the last commit, in FOLDER. `./dev package` calls it.
#   make.sh BUILD_FOLDER FOLDER
set -euo pipefail

build=$1 folder=$2
version=$(meson introspect --projectinfo "$build" | sed 's/.*"version": "\([^"]*\)".*/\1/')
source=gcbench-$version

meson dist -C "$build" --no-tests --formats xztar >"$build/meson-logs/dist.txt" 2>&1 || {
    tail -n 5 "$build/meson-logs/dist.txt" >&2
    echo "dev: no source archive was made; it holds what is committed, so commit first" >&2
    exit 1
}
rm -rf "$folder"
mkdir -p "$folder"
cp "$build/meson-dist/$source.tar.xz" "$folder/"
cd -- "$folder"
ln "$source.tar.xz" "gcbench_$version.orig.tar.xz"
tar -xf "$source.tar.xz"
cp -r "$source/packaging/debian" "$source/debian"

# The archive must build without git: an empty repository stands in for a machine that has none.
cd -- "$source"
nice env GIT_DIR=/nonexistent DEB_BUILD_OPTIONS="parallel=${JOBS:-1} ${DEB_BUILD_OPTIONS-}" \
    dpkg-buildpackage -us -uc >../build.log 2>&1 || {
    tail -n 40 ../build.log >&2
    exit 1
}
cd ..
if command -v lintian >/dev/null; then
    lintian --fail-on error,warning ./*.changes
else
    echo "skipped: lintian (not installed)"
fi
ls -1 ./*.deb
