#!/bin/sh
# browser.t: TAP. A report in a real browser, Debian's chromium without a screen: nothing on its console, no request, and nothing that axe-core
# finds to keep people from reading it, at the width of a phone and of a desk, light and dark. tests/browser/prepare gets axe-core.
. "$(dirname "$0")/lib.sh"
for needed in chromium gnuplot; do
    command -v $needed > /dev/null && continue
    ok 0 "# skip $needed is not installed: no report was looked at in a browser"
    finish
done
root=$PWD axe=$PWD/build/browser/node_modules/axe-core/axe.min.js
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
"$LAGGARD" run tiny.yaml --db tiny.db --quiet --seed 5 > /dev/null
query tiny.db "UPDATE cell SET label = '</script><script>alert(1)</script><img src=http://127.0.0.1:9/x>' || number"
"$LAGGARD" report tiny.db -o page.html 2> err.text
is "$?$(cat err.text)" 0 "a report"
sandbox=""
[ "$(id -u)" != 0 ] || sandbox=--no-sandbox # chromium has none for root
# browse PAGE WIDTH SCHEME (0 dark, 1 light): its picture in shot.png, its console in console.text, its network in net.json
browse() {
    rm -f shot.png net.json
    open_page "$1" "$2" "$3" --enable-logging=stderr --log-net-log="$PWD/net.json" --screenshot="$PWD/shot.png" > console.text 2>&1
}
open_page() { # open_page PAGE WIDTH SCHEME OPTION...
    opened=$1 wide=$2 colours=$3
    shift 3
    # shellcheck disable=SC2086 # $sandbox may be empty
    HOME=$PWD TMPDIR=$PWD timeout 120 chromium --headless $sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync \
        --no-first-run --hide-scrollbars --user-data-dir="$PWD/profile" --blink-settings="preferredColorScheme=$colours" --window-size="$wide,900" \
        "$@" "file://$PWD/$opened"
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
# axe-core in a copy of the page without the policy, which forbids every script. What it found becomes a line of JSON in the page.
look_for_barriers() { # look_for_barriers PAGE WIDTH SCHEME: rules that were broken gravely, and where; or that the page was looked at
    perl -0777 -pe 's/<meta http-equiv="Content-Security-Policy"[^>]*>//; s{</body>}{<script src="axe.min.js"></script><script>axe.run().then(r => {
        const found = document.createElement("pre");
        found.id = "axe";
        found.textContent = JSON.stringify({rules: r.passes.length, grave: r.violations.filter(v => v.impact == "serious" || v.impact == "critical").map(v =>
            v.id + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 120)).join(" | "))});
        document.body.append(found);
    })</script></body>}' "$1" > axe.html
    open_page axe.html "$2" "$3" --virtual-time-budget=60000 --dump-dom 2> console.text | perl -0777 -ne 'print "$1\n" if /<pre id="axe">(.*?)<\/pre>/s' |
        sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' | jq -r 'if .rules < 10 then "only \(.rules) rules were applied" else .grave[] // "looked at" end'
}
if [ -f "$axe" ]; then
    cp "$axe" .
    for width in 390 1280; do
        for scheme in 0 1; do
            is "$(look_for_barriers page.html $width $scheme)" "looked at" "$width, $scheme: axe-core finds nothing serious"
        done
    done
    sed 's;<main>;<main><p style="color: #777\; background: #888">pale</p><img src="data:,"/>;' page.html > barred.html
    is "$(look_for_barriers barred.html 1280 1 | sed 's/:.*//' | sort | tr '\n' ' ')" "color-contrast image-alt " "that it would, on a page with a pale text and a picture without words"
else
    ok 0 "# skip axe-core is not there: $(cat "$root/build/browser/reason" 2> /dev/null || echo "tests/browser/prepare gets it"); barriers were not looked for"
fi
# That these would be seen, on a page that has them.
sed 's,<main>,<main><script>alert(1)</script><img src="http://127.0.0.1:9/x" alt=""/>,' page.html > bad.html
browse bad.html 390 1
is "$(($(grep -c 'CONSOLE.*Content Security Policy' console.text) >= 2))" 1 "the policy stops a script and a picture, and the console says so"
sed '/Content-Security-Policy/d; s/<script>alert(1)<.script>//' bad.html > worse.html # where it ran, the script would wait for somebody who agrees
browse worse.html 390 1
is "$(requests)" 1 "without it a request would be seen"
cd "$OLDPWD" || exit 1
finish
