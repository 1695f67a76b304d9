#!/usr/bin/perl
# read-trace.pl: what a trace in Perfetto's form holds, out of the text that `protoc --decode` makes of it; a row a slice, counter's sample
# or event, fields between tabs. It puts events in the order of time, and of the file where times are equal, as Perfetto's own reader does,
# and pairs begins with ends. What it cannot pair, what overlaps on a track and what is on no track is a row that begins with `bad`.
use strict;
use warnings;
my (@path, %packet, @events, %tracks);

sub decoded { # a value of the text format: a number, a name, or a string in C's escapes
    my ($value) = @_;
    return $value unless $value =~ s/^"(.*)"$/$1/s;
    my %short = (n => "\n", r => "\r", t => "\t");
    $value =~ s{\\([0-7]{3}|.)}{length($1) == 3 ? chr(oct($1)) : $short{$1} // $1}ge;
    $value =~ s/[\t\n]/ /g;
    return $value;
}

sub row {
    print join("\t", map { $_ // '' } @_), "\n";
}

sub end_packet {
    my $packet = {%packet};
    %packet = ();
    if (defined $packet->{'track_descriptor.uuid'}) {
        my $uuid = $packet->{'track_descriptor.uuid'}[0];
        row('bad', "track $uuid is described twice") if $tracks{$uuid};
        $tracks{$uuid} = $packet;
    } elsif ($packet->{'track_event.type'}) {
        my $track = $packet->{'track_event.track_uuid'}[0];
        row('bad', "an event on track $track, which comes later") unless $tracks{$track};
        push @events, $packet;
    }
}

sub process_of { # process_of TRACK: its name, its parent's otherwise
    my ($track) = @_;
    my $parent = $track->{'track_descriptor.parent_uuid'};
    $track = $tracks{ $parent->[0] } if $parent;
    return $track->{'track_descriptor.process.process_name'}[0];
}

my $annotation;
while (my $line = <STDIN>) {
    chomp $line;
    if ($line =~ /^\s*(\w+) \{$/) {
        push @path, $1;
        $annotation = {} if $1 eq 'debug_annotations';
    } elsif ($line =~ /^\s*\}$/) {
        my $ended = pop @path;
        $packet{"note.$annotation->{name}"} = [$annotation->{value}] if $ended eq 'debug_annotations';
        end_packet() unless @path;
    } elsif ($line =~ /^\s*(\w+): (.*)$/) {
        my ($name, $value) = ($1, decoded($2));
        row('bad', "a field that nobody knows: @path $name") if "@path $name" =~ /\b[0-9]+\b/;
        if (@path && $path[-1] eq 'debug_annotations') {
            $annotation->{ $name eq 'name' ? 'name' : 'value' } = $value;
        } else {
            push @{ $packet{ join('.', @path[1 .. $#path], $name) } }, $value;
        }
    } else {
        row('bad', "a line of another form: $line");
    }
}

my %open;
my $order = 0;
$_->{order} = $order++ for @events;
for my $event (sort { $a->{timestamp}[0] <=> $b->{timestamp}[0] || $a->{order} <=> $b->{order} } @events) {
    my ($type, $uuid, $at) = map { $event->{$_}[0] } 'track_event.type', 'track_event.track_uuid', 'timestamp';
    my $track = $tracks{$uuid} // {};
    my ($process, $name) = (process_of($track), $track->{'track_descriptor.name'}[0]);
    if ($type eq 'TYPE_SLICE_BEGIN') {
        row('bad', "spans overlap on track $uuid at $at") if $open{$uuid};
        $open{$uuid} = $event;
    } elsif ($type eq 'TYPE_SLICE_END') {
        my $begin = delete $open{$uuid};
        row('bad', "an end without a begin on track $uuid at $at") unless $begin;
        my $flags = join ',', grep { $begin->{"note.$_"} } qw(overrun cancelled discarded);
        row('slice', $process, $name, $begin->{timestamp}[0], $at, $begin->{'track_event.name'}[0], (map { $begin->{"note.$_"}[0] } qw(round bytes peer)),
            $flags, $begin->{'track_event.flow_ids'}[0], $event->{'track_event.terminating_flow_ids'}[0]);
    } elsif ($type eq 'TYPE_COUNTER') {
        my $unit = $track->{'track_descriptor.counter.unit'} // $track->{'track_descriptor.counter.unit_name'};
        row('counter', $process, $name, $unit->[0], $at, $event->{'track_event.counter_value'}[0]);
    } else {
        row('event', $process, $name, $at, $event->{'track_event.name'}[0], $event->{'note.text'}[0]);
    }
}
row('bad', "no end on track $_") for sort keys %open;
