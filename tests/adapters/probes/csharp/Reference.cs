using System;
using Retryproof;

/// <summary>Prints to stdout in Reset, and fails in Step.</summary>
public sealed class Reference : IAdapter
{
    public static void Main()
    {
        Host.Serve("probe", new Reference(), 0.25);
    }

    public void Reset()
    {
        Console.WriteLine("printed by the program");
    }

    public Observation Step(Operation operation)
    {
        throw new InvalidOperationException(
            "Größe 日本語 😀 \"quoted\" back\\slash\nnext line");
    }
}
