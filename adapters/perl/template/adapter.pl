use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Retryproof;

sub reset_service {
    die "not connected yet: empty the service here\n";
}

sub step {
    my ($operation) = @_;
    # Set the clock to $operation->{at}, send $operation->{value} under $operation->{key}, count
    # the writes. Then return { status => 201, receipt => 1, committed_writes => 1 };
    die "not connected yet: send a request here\n";
}

Retryproof::serve(name => 'my service', reset => \&reset_service, step => \&step);
