#!/usr/bin/perl

# Prints to stdout in reset, and fails in step.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Retryproof;

sub reset_service {
    print "printed by the program\n";
    system 'echo', 'printed by a child process';
    return;
}

sub step {
    die "Größe 日本語 😀 \"quoted\" back\\slash\nnext line\n";
}

Retryproof::serve(
    name             => 'probe',
    reset            => \&reset_service,
    step             => \&step,
    seconds_per_tick => '0.25',
);
