# strike.pl CONTROLLER WHEN SECONDS ONE_IN CHOICE NUMBER: kills, with SIGKILL, the process CONTROLLER or one below it, and prints its name, its number
# and, of an agent, its node. WHEN is `now`, or `teardown`: once processes become fewer; SECONDS after that. One time in ONE_IN it is CONTROLLER, else
# each name that is there has the same share; CHOICE and NUMBER, 0 to 9999, decide. Prints nothing when CONTROLLER has ended by itself.
use strict;
use warnings;

my ($controller, $when, $seconds, $one_in, $choice, $number) = @ARGV;

sub content { # of a file of /proc; "": there is none any more
    my ($path) = @_;
    open(my $file, '<', $path) or return '';
    local $/;
    return <$file> // '';
}

sub lives { # and is no zombie
    my ($process) = @_;
    return content("/proc/$process/stat") =~ /\) [^ZX] [^)]*\z/s;
}

sub below { # below(PROCESS): all processes below it
    my ($process) = @_;
    return map { ($_, below($_)) } split ' ', content("/proc/$process/task/$process/children");
}

sub pause {
    select(undef, undef, undef, $_[0]);
}

if ($when eq 'teardown') {
    my ($most, $now) = (0, 0);
    while (lives($controller) && ($most < 5 || $now >= $most)) {
        $now = below($controller);
        $most = $now if $now > $most;
        pause(0.004);
    }
}
pause($seconds);
for (1 .. 50) { # one that has ended meanwhile is not killed
    exit 0 if !lives($controller);
    my %processes;
    for my $process (below($controller)) {
        chomp(my $name = content("/proc/$process/comm"));
        push @{$processes{$name}}, $process if $name ne '' && lives($process);
    }
    my ($name, $process) = ('controller', $controller);
    my @names = sort keys %processes;
    if ($choice % $one_in != 0 && @names > 0) {
        $name = $names[int($choice / $one_in) % @names];
        $process = $processes{$name}[$number % @{$processes{$name}}];
    }
    my $node = $name eq 'laggard-agent' && content("/proc/$process/cmdline") =~ /laggard-agent[ \0](\w+)/ ? $1 : '';
    my ($parent) = content("/proc/$process/stat") =~ /\) \S (\d+)/;
    my $fork = $name =~ /^laggard/ && ($name eq 'laggard' || content('/proc/' . ($parent // 0) . '/comm') eq "$name\n");
    next if !lives($process) || !kill('KILL', $process);
    $name =~ s/^laggard-//;
    print $fork ? 'unnamed' : $name, " $process $node\n"; # unnamed: between fork and its name, or its program
    exit 0;
}
