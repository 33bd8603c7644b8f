using System;
using System.Collections.Generic;
using Retryproof;

/// <summary>
/// A correct idempotent service behind an adapter, or one with a known fault:
/// <code>reference [--fault duplicate-write|body-blind|sliding-expiry|forget-on-loss]</code>
/// To connect your own service, see README.md.
/// </summary>
public sealed class Reference : IAdapter
{
    private static readonly string[] Faults =
    {
        "duplicate-write", "body-blind", "sliding-expiry", "forget-on-loss",
    };

    private readonly string fault;
    private Service service;

    private Reference(string fault)
    {
        this.fault = fault;
        Reset();
    }

    public static int Main(string[] arguments)
    {
        string fault = arguments.Length == 2 && arguments[0] == "--fault" ? arguments[1] : null;
        if (arguments.Length > 0 && Array.IndexOf(Faults, fault) < 0)
        {
            Console.Error.WriteLine("--fault takes one of " + string.Join(", ", Faults));
            return 2;
        }

        string name = fault == null ? "reference" : "reference with " + fault;
        Host.Serve(name, new Reference(fault));
        return 0;
    }

    public void Reset()
    {
        service = new Service(fault);
    }

    public Observation Step(Operation operation)
    {
        service.Now = operation.At;
        int status = service.Order(operation.Key, operation.Value, out int? receipt);
        if (operation.Delivery == Delivery.Lost)
        {
            service.AnswerWasLost(operation.Key, status);
            return new Observation(null, null, service.Orders);
        }

        return new Observation(status, receipt, service.Orders);
    }

    /// <summary>
    /// Takes orders under idempotency keys, with a clock that the test sets.
    /// </summary>
    private sealed class Service
    {
        private const int RetentionTicks = 6;
        private const int Created = 201;
        private const int Replayed = 200;
        private const int Conflict = 409;

        private readonly string fault;
        private readonly Dictionary<string, Record> records = new Dictionary<string, Record>();

        public Service(string fault)
        {
            this.fault = fault;
        }

        public int Now { get; set; }

        public int Orders { get; private set; }

        /// <summary>
        /// The answer to one request: a status and, unless refused, the order's number.
        /// </summary>
        public int Order(string key, string item, out int? order)
        {
            if (!records.TryGetValue(key, out Record known) || Now >= known.Deadline)
            {
                order = Remember(key, item, Now + RetentionTicks);
                return Created;
            }

            if (item != known.Item && fault != "body-blind")
            {
                order = null;
                return Conflict;
            }

            if (fault == "duplicate-write")
            {
                order = Remember(key, item, known.Deadline);
                return Created;
            }

            if (fault == "sliding-expiry")
            {
                known.Deadline = Now + RetentionTicks;
            }

            order = known.Order;
            return Replayed;
        }

        public void AnswerWasLost(string key, int status)
        {
            if (fault == "forget-on-loss" && status != Conflict)
            {
                records.Remove(key);
            }
        }

        private int Remember(string key, string item, int deadline)
        {
            Orders++;
            records[key] = new Record { Item = item, Order = Orders, Deadline = deadline };
            return Orders;
        }

        private sealed class Record
        {
            public string Item { get; set; }

            public int Order { get; set; }

            public int Deadline { get; set; }
        }
    }
}
