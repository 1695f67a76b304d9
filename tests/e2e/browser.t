#!/bin/sh
# browser.t: TAP. A report in a real browser, Debian's chromium without a screen: nothing on its console, no request, at the width of a
# phone and of a desk, light and dark.
. "$(dirname "$0")/lib.sh"
for needed in chromium gnuplot; do
    command -v $needed > /dev/null && continue
    ok 0 "# skip $needed is not installed: no report was looked at in a browser"
    finish
done
cd "$SCRATCH" || exit 1
cat > tiny.yaml <<'Y'
name: tiny
world: virtual
topology: {link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 100KB, rounds: 6}
compute.time: {distribution: exponential, mean: 5ms}
matrix: {scheme: [ps-sync, ring]}
workers: 3
repeats: 6
Y
"$LAGGARD" run tiny.yaml --db tiny.db --quiet > /dev/null
query tiny.db "UPDATE cell SET label = '</script><script>alert(1)</script><img src=http://127.0.0.1:9/x>' || number"
"$LAGGARD" report tiny.db -o page.html 2> err.text
is "$?$(cat err.text)" 0 "a report"
sandbox=""
[ "$(id -u)" != 0 ] || sandbox=--no-sandbox # chromium has none for root
# browse PAGE WIDTH SCHEME (0 dark, 1 light): its picture in shot.png, its console in console.text, its network in net.json
browse() {
    rm -f shot.png net.json
    # shellcheck disable=SC2086 # $sandbox may be empty
    HOME=$PWD TMPDIR=$PWD timeout 120 chromium --headless $sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync \
        --no-first-run --hide-scrollbars --user-data-dir="$PWD/profile" --blink-settings="preferredColorScheme=$3" --window-size="$2,900" \
        --enable-logging=stderr --log-net-log="$PWD/net.json" --screenshot="$PWD/shot.png" "file://$PWD/$1" > console.text 2>&1
}
requests() { # of the page: what it asked any host for
    grep -oE '"url":"(https?|wss?)://127[^"]*"' net.json | sort -u | wc -l
}
# Width, height and the colour of the first pixel: every filter of PNG leaves it as it is in the first row.
look() {
    perl -MCompress::Zlib -0777 -ne '
        my ($at, $data) = (8, "");
        my ($width, $height) = unpack("NN", substr($_, 16, 8));
        while ($at < length) {
            my ($length, $kind) = unpack("Na4", substr($_, $at, 8));
            $data .= substr($_, $at + 8, $length) if $kind eq "IDAT";
            $at += 12 + $length;
        }
        print "${width}x$height ", unpack("H6", substr(uncompress($data), 1, 3))' shot.png
}
for width in 390 1280; do
    for scheme in 0 1; do
        browse page.html $width $scheme
        is "$(grep -c CONSOLE console.text)" 0 "$width, $scheme: nothing on the console"
        is "$(requests)" 0 "$width, $scheme: no request"
        is "$(look)" "${width}x900 $([ $scheme = 0 ] && echo 14171b || echo ffffff)" "$width, $scheme: the picture's size and ground"
    done
done
# That these would be seen, on a page that has them.
sed 's,<main>,<main><script>alert(1)</script><img src="http://127.0.0.1:9/x" alt=""/>,' page.html > bad.html
browse bad.html 390 1
is "$(($(grep -c 'CONSOLE.*Content Security Policy' console.text) >= 2))" 1 "the policy stops a script and a picture, and the console says so"
sed '/Content-Security-Policy/d' bad.html > worse.html
browse worse.html 390 1
is "$(requests)" 1 "without it a request would be seen"
cd "$OLDPWD" || exit 1
finish
