#!/usr/bin/perl

# A correct idempotent service behind an adapter, or one with a known fault:
#
#     perl reference.pl [--fault duplicate-write|body-blind|sliding-expiry|forget-on-loss]
#
# To connect your own service, see README.md.

use strict;
use warnings;

use FindBin;
use Getopt::Long qw(GetOptions);
use lib $FindBin::Bin;
use Retryproof;

# Takes orders under idempotency keys, with a clock that the test sets.
package Service;

use constant RETENTION_TICKS => 6;

sub new {
    my ( $class, $fault ) = @_;
    return bless { fault => $fault, records => {}, now => 0, orders => 0 }, $class;
}

# The answer to one request: a status and, unless refused, the order's number.
sub order {
    my ( $self, $key, $item ) = @_;
    my $record = $self->{records}{$key};
    if ( !$record || $self->{now} >= $record->{deadline} ) {
        return 201, $self->_remember( $key, $item, $self->{now} + RETENTION_TICKS );
    }
    if ( $item ne $record->{item} && $self->{fault} ne 'body-blind' ) {
        return 409, undef;
    }
    if ( $self->{fault} eq 'duplicate-write' ) {
        return 201, $self->_remember( $key, $item, $record->{deadline} );
    }
    if ( $self->{fault} eq 'sliding-expiry' ) {
        $record->{deadline} = $self->{now} + RETENTION_TICKS;
    }
    return 200, $record->{order};
}

sub answer_was_lost {
    my ( $self, $key, $status ) = @_;
    if ( $self->{fault} eq 'forget-on-loss' && $status != 409 ) {
        delete $self->{records}{$key};
    }
    return;
}

sub _remember {
    my ( $self, $key, $item, $deadline ) = @_;
    my $order = ++$self->{orders};
    $self->{records}{$key} = { item => $item, order => $order, deadline => $deadline };
    return $order;
}

package main;

my %FAULTS = map { $_ => 1 } qw(duplicate-write body-blind sliding-expiry forget-on-loss);

my $fault = '';
GetOptions( 'fault=s' => \$fault ) or exit 2;
if ( $fault && !$FAULTS{$fault} ) {
    die '--fault takes one of ', join( ', ', sort keys %FAULTS ), "\n";
}

my $service = Service->new($fault);

sub reset_service {
    $service = Service->new($fault);
    return;
}

sub step {
    my ($operation) = @_;
    $service->{now} = $operation->{at};
    my ( $status, $receipt ) = $service->order( $operation->{key}, $operation->{value} );
    if ( $operation->{delivery} eq 'lost' ) {
        $service->answer_was_lost( $operation->{key}, $status );
        $status = $receipt = undef;
    }
    return { status => $status, receipt => $receipt, committed_writes => $service->{orders} };
}

Retryproof::serve(
    name  => $fault ? "reference with $fault" : 'reference',
    reset => \&reset_service,
    step  => \&step,
);
