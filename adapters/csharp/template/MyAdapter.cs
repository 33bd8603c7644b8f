using System;
using Retryproof;

public sealed class MyAdapter : IAdapter
{
    public static void Main()
    {
        Host.Serve("my service", new MyAdapter());
    }

    public void Reset()
    {
        throw new NotImplementedException("not connected yet: empty the service here");
    }

    public Observation Step(Operation operation)
    {
        // Set the clock to operation.At, send operation.Value under operation.Key, count the
        // writes. Then return new Observation(201, 1, 1);
        throw new NotImplementedException("not connected yet: send a request here");
    }
}
