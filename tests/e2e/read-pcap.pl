#!/usr/bin/perl
# read-pcap.pl: read-pcap.pl MTU FILE prints what a capture file holds, one figure a line: a reader that shares no code with the writer.
use strict;
use warnings;
my ($mtu, $path) = @ARGV;
open(my $file, '<:raw', $path) or die "$path: $!\n";
local $/;
my $bytes = <$file>;
my ($magic, $major, $minor, $zone, $accuracy, $snap, $network) = unpack('V v v l< V V V', $bytes);
my ($at, $records, $longest, $payload, $frames, $wire, $first, $last, $back) = (24, 0, 0, 0, 0, 0, undef, 0, 0);
while ($at < length($bytes)) {
    die "$path: half a record at $at\n" if $at + 16 > length($bytes);
    my ($seconds, $ns, $captured, $length) = unpack('V4', substr($bytes, $at, 16));
    die "$path: half a record at $at\n" if $at + 16 + $captured > length($bytes);
    my $frame = substr($bytes, $at + 16, $captured);
    $at += 16 + $captured;
    $records++;
    $longest = $captured if $captured > $longest;
    my $time = $seconds + $ns / 1e9;
    $first //= $time;
    $back++ if $time < $last;
    $last = $time;
    my ($segments, $headers) = (1, 0);
    if ($captured >= 54 && unpack('n', substr($frame, 12, 2)) == 0x0800 && ord(substr($frame, 23, 1)) == 6) {
        my $ip = (ord(substr($frame, 14, 1)) & 15) * 4;
        my $tcp = (ord(substr($frame, 14 + $ip + 12, 1)) >> 4) * 4;
        my $data = unpack('n', substr($frame, 16, 2)) - $ip - $tcp;
        my $room = $mtu - $ip - $tcp;
        $headers = 14 + $ip + $tcp;
        $payload += $data;
        $segments = int(($data + $room - 1) / $room) if $data > 0;
    }
    $frames += $segments;
    $wire += $length + ($segments - 1) * $headers;
}
printf("magic %08x\nversion %d.%d\nsnap %d\nnetwork %d\n", $magic, $major, $minor, $snap, $network);
printf("records %d\nlongest %d\npayload %d\nframes %d\nwire %d\nbytes %d\n", $records, $longest, $payload, $frames, $wire, length($bytes));
printf("first_unix %.6f\nlast_unix %.6f\nbackward_steps %d\n", $first // 0, $last, $back);
