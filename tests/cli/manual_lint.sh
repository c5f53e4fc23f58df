#!/bin/sh
# mandoc and groff accept the manual without a complaint. Pages have no date on purpose, so that the
# same source gives the same pages.
. "$(dirname "$0")/lib.sh"

pages=${GCBENCH%/*}/docs
[ -f "$pages/gcbench.1" ] || skip "no manual was built: cross build"
for program in mandoc groff; do
    command -v $program >/dev/null || leave_out "no $program (Debian packages mandoc, groff-base)"
done
for page in "$pages"/*.1; do
    last=${page##*/}
    if command -v mandoc >/dev/null; then
        mandoc -Tlint "$page" 2>&1 | grep -v 'missing date' >"$tmp/said"
        check "mandoc has nothing to say" sh -c "cat '$tmp/said' >&2; ! test -s '$tmp/said'"
    fi
    if command -v groff >/dev/null; then
        groff -man -Tascii -ww -z "$page" >"$tmp/said" 2>&1
        check "groff warns of nothing" sh -c "cat '$tmp/said' >&2; ! test -s '$tmp/said'"
    fi
done

finish
