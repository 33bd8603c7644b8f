package Retryproof;

# Lets the retryproof runner drive a Perl program: speaks the adapter protocol, version 1, on
# stdin and stdout. Whatever the program itself prints goes to stderr. Needs nothing but Perl's
# own modules.
#
#     use Retryproof;
#     Retryproof::serve(name => 'my service', reset => \&reset, step => \&step);
#
# `reset` empties the service and puts its clock to tick 0. `step` gets a hash of at, key, value
# and delivery ('received' or 'lost'), and returns a hash of status, receipt and committed_writes.
# Both die to say that they failed. With `seconds_per_tick`, for a service without a test clock,
# the runner waits in real time.

use strict;
use warnings;

use Encode ();
use IO::Handle;
use JSON::PP ();

use constant {
    PROTOCOL_VERSION => 1,
    MAX_LINE_BYTES   => 1024 * 1024,
    CHUNK_BYTES      => 64 * 1024,
    PARSE_ERROR      => -32700,
    INVALID_REQUEST  => -32600,
    METHOD_NOT_FOUND => -32601,
    INVALID_PARAMS   => -32602,
    ADAPTER_FAILED   => -32000,
};

my $unread = '';
my $json = JSON::PP->new->utf8->canonical;

# Answers the runner's requests until it says `shutdown` or closes stdin.
sub serve {
    my (%adapter) = @_;
    my ( $requests, $answers ) = take_over_stdio();
    while ( defined( my $line = read_line($requests) ) ) {
        my ( $response, $finished ) = respond( \%adapter, $line );
        print {$answers} $json->encode($response), "\n" or die "can't answer: $!\n";
        last if $finished;
    }
    return;
}

# The protocol's own copies of stdin and stdout. What anybody else prints, child processes
# included, goes to stderr, and nobody else can read a request away.
sub take_over_stdio {
    open my $requests, '<&', \*STDIN  or die "can't copy stdin: $!\n";
    open my $answers,  '>&', \*STDOUT or die "can't copy stdout: $!\n";
    open STDIN,  '<',  '/dev/null' or die "can't redirect stdin: $!\n";
    open STDOUT, '>&', \*STDERR    or die "can't redirect stdout: $!\n";
    STDOUT->autoflush(1);
    $answers->autoflush(1);
    return ( $requests, $answers );
}

# The next line with its end, cut where it is too long; nothing at the end of input.
sub read_line {
    my ($requests) = @_;
    my $most = MAX_LINE_BYTES + length "\r\n";
    while ( index( $unread, "\n" ) < 0 ) {
        $unread = substr $unread, 0, $most;
        sysread $requests, $unread, CHUNK_BYTES, length $unread or return;
    }
    return substr $unread, 0, 1 + index( $unread, "\n" ), '';
}

# The response to a line, and whether it is the last one.
sub respond {
    my ( $adapter, $line ) = @_;
    my $request = eval { parse($line) };
    my $result  = $request && eval { [ answer( $adapter, $request ) ] };
    my $failure = $@;
    my %response = ( jsonrpc => '2.0', id => $request && $request->{id} );
    if ($result) {
        return { %response, result => $result->[0] }, $request->{method} eq 'shutdown';
    }
    my ( $code, $message ) = ref $failure eq 'ARRAY' ? @{$failure} : ( ADAPTER_FAILED, "$failure" );
    chomp $message;
    utf8::decode($message);
    print STDERR Encode::encode_utf8("$message\n");
    return { %response, error => { code => $code, message => $message } };
}

# Dies for a request that gets no result, as does `answer`: with a code and a message.
sub parse {
    my ($line) = @_;
    $line =~ s/\r?\n\z//;
    if ( length $line > MAX_LINE_BYTES ) {
        die [ INVALID_REQUEST, 'the request line is longer than 1 MiB' ];
    }
    my $request;
    eval { $request = $json->decode($line); 1 }
        or die [ PARSE_ERROR, 'the request line is not JSON' ];
    if ( ref $request ne 'HASH' || !defined $request->{method} || ref $request->{method} ) {
        die [ INVALID_REQUEST, 'the request has no method' ];
    }
    return $request;
}

sub answer {
    my ( $adapter, $request ) = @_;
    my $method = $request->{method};
    if ( $method eq 'initialize' ) {
        return identity($adapter);
    }
    if ( $method eq 'reset' ) {
        $adapter->{reset}->();
        return;
    }
    if ( $method eq 'step' ) {
        return observation( $adapter->{step}->( operation( $request->{params} ) ) );
    }
    if ( $method eq 'shutdown' ) {
        return;
    }
    die [ METHOD_NOT_FOUND, "no such method: $method" ];
}

sub identity {
    my ($adapter) = @_;
    my $seconds = $adapter->{seconds_per_tick};
    return {
        protocolVersion => PROTOCOL_VERSION,
        adapter      => { name => $adapter->{name}, language => sprintf 'Perl %vd', $^V },
        capabilities => $seconds ? { clock => { secondsPerTick => 0 + $seconds } } : {},
    };
}

sub operation {
    my ($params) = @_;
    for my $member (qw(at key value delivery)) {
        if ( ref $params ne 'HASH' || !defined $params->{$member} ) {
            die [ INVALID_PARAMS, "the operation has no $member" ];
        }
    }
    return $params;
}

# In JSON, numbers are no strings.
sub observation {
    my ($seen) = @_;
    if ( ref $seen ne 'HASH' || !defined $seen->{committed_writes} ) {
        die "step returned no hash with committed_writes\n";
    }
    return {
        status          => defined $seen->{status}  ? 0 + $seen->{status}  : undef,
        receipt         => defined $seen->{receipt} ? 0 + $seen->{receipt} : undef,
        committedWrites => 0 + $seen->{committed_writes},
    };
}

1;
