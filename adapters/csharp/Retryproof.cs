using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Text;

namespace Retryproof
{
    /// <summary>Connects a service. Both methods throw to say that they failed.</summary>
    public interface IAdapter
    {
        /// <summary>Empties the service and puts its clock to tick 0.</summary>
        void Reset();

        Observation Step(Operation operation);
    }

    /// <summary>One request for the service: at tick At, send Value under Key.</summary>
    public sealed class Operation
    {
        public Operation(int at, string key, string value, Delivery delivery)
        {
            At = at;
            Key = key;
            Value = value;
            Delivery = delivery;
        }

        public int At { get; }

        public string Key { get; }

        public string Value { get; }

        public Delivery Delivery { get; }
    }

    /// <summary>Whether the service's response reaches its caller.</summary>
    public enum Delivery
    {
        Received,
        Lost,
    }

    /// <summary>
    /// What the caller saw, and the writes measured apart from it. A lost response has neither
    /// status nor receipt; a receipt is the ordinal of the write that the response names.
    /// </summary>
    public sealed class Observation
    {
        public Observation(int? status, int? receipt, int committedWrites)
        {
            Status = status;
            Receipt = receipt;
            CommittedWrites = committedWrites;
        }

        public int? Status { get; }

        public int? Receipt { get; }

        public int CommittedWrites { get; }
    }

    /// <summary>
    /// Lets the retryproof runner drive a C# program: speaks the adapter protocol, version 1, on
    /// stdin and stdout. What the program prints to Console.Out goes to stderr. Needs C# 7 or
    /// later and nothing else.
    /// </summary>
    public sealed class Host
    {
        private const int ProtocolVersion = 1;
        private const int MaxLineBytes = 1024 * 1024;

        private const int ParseError = -32700;
        private const int InvalidRequest = -32600;
        private const int MethodNotFound = -32601;
        private const int InvalidParams = -32602;
        private const int AdapterFailed = -32000;

        private static readonly UTF8Encoding StrictUtf8 = new UTF8Encoding(false, true);

        private readonly string name;
        private readonly IAdapter adapter;
        private readonly double? secondsPerTick;
        private bool finished;

        private Host(string name, IAdapter adapter, double? secondsPerTick)
        {
            this.name = name;
            this.adapter = adapter;
            this.secondsPerTick = secondsPerTick;
        }

        /// <summary>
        /// Answers the runner's requests until it says `shutdown` or closes stdin. With
        /// secondsPerTick, for a service without a test clock, the runner waits in real time.
        /// </summary>
        public static void Serve(string name, IAdapter adapter, double? secondsPerTick = null)
        {
            new Host(name, adapter, secondsPerTick).Serve();
        }

        private void Serve()
        {
            Stream requests = new BufferedStream(Console.OpenStandardInput());
            Stream answers = Console.OpenStandardOutput();
            Console.SetIn(TextReader.Null);
            Console.SetOut(Console.Error);
            byte[] line;
            while (!finished && (line = ReadLine(requests)) != null)
            {
                byte[] response = new UTF8Encoding(false).GetBytes(Respond(line) + "\n");
                answers.Write(response, 0, response.Length);
                answers.Flush();
            }
        }

        /// <summary>The next line, cut where it is too long; null at the end of input.</summary>
        private static byte[] ReadLine(Stream requests)
        {
            var line = new MemoryStream();
            int read;
            while ((read = requests.ReadByte()) != '\n')
            {
                if (read < 0)
                {
                    return null;
                }

                if (line.Length < MaxLineBytes + 2)
                {
                    line.WriteByte((byte)read);
                }
            }

            byte[] bytes = line.ToArray();
            if (bytes.Length > 0 && bytes[bytes.Length - 1] == '\r')
            {
                Array.Resize(ref bytes, bytes.Length - 1);
            }

            return bytes;
        }

        private string Respond(byte[] line)
        {
            string id = "null";
            string outcome;
            try
            {
                Dictionary<string, object> request = Parse(line);
                id = Echo(request);
                outcome = "\"result\":" + Answer(request);
            }
            catch (RefusalException refusal)
            {
                Console.Error.WriteLine(refusal.Message);
                outcome = Error(refusal.Code, refusal.Message);
            }
            catch (Exception failure)
            {
                Console.Error.WriteLine(failure);
                outcome = Error(AdapterFailed, failure.GetType().Name + ": " + failure.Message);
            }

            return "{\"jsonrpc\":\"2.0\",\"id\":" + id + "," + outcome + "}";
        }

        private static string Error(int code, string message)
        {
            return "\"error\":{\"code\":" + code + ",\"message\":" + Quote(message) + "}";
        }

        private static Dictionary<string, object> Parse(byte[] line)
        {
            if (line.Length > MaxLineBytes)
            {
                throw new RefusalException(InvalidRequest, "the request line is longer than 1 MiB");
            }

            object request;
            try
            {
                request = new Parser(StrictUtf8.GetString(line)).Parse();
            }
            catch (Exception failure)
                when (failure is FormatException || failure is ArgumentException)
            {
                throw new RefusalException(ParseError, "the request line is not JSON");
            }

            if (Member(request, "method") is string)
            {
                return (Dictionary<string, object>)request;
            }

            throw new RefusalException(InvalidRequest, "the request has no method");
        }

        private static string Echo(Dictionary<string, object> request)
        {
            object id = Member(request, "id");
            return id is string text ? Quote(text) : id?.ToString() ?? "null";
        }

        private static object Member(object parent, string name)
        {
            object value = null;
            (parent as Dictionary<string, object>)?.TryGetValue(name, out value);
            return value;
        }

        private string Answer(Dictionary<string, object> request)
        {
            switch ((string)request["method"])
            {
                case "initialize":
                    return Identity();
                case "reset":
                    adapter.Reset();
                    return "null";
                case "step":
                    Observation seen = adapter.Step(ReadOperation(Member(request, "params")));
                    return "{\"status\":" + OrNull(seen.Status)
                        + ",\"receipt\":" + OrNull(seen.Receipt)
                        + ",\"committedWrites\":" + seen.CommittedWrites + "}";
                case "shutdown":
                    finished = true;
                    return "null";
                default:
                    throw new RefusalException(
                        MethodNotFound, "no such method: " + request["method"]);
            }
        }

        private string Identity()
        {
            string clock = secondsPerTick is double seconds
                ? "\"clock\":{\"secondsPerTick\":"
                    + seconds.ToString("R", CultureInfo.InvariantCulture) + "}"
                : string.Empty;
            return "{\"protocolVersion\":" + ProtocolVersion + ",\"adapter\":{\"name\":"
                + Quote(name) + ",\"language\":\"C#\"},\"capabilities\":{" + clock + "}}";
        }

        private static Operation ReadOperation(object parameters)
        {
            if (Member(parameters, "at") is JsonNumber at
                && Member(parameters, "key") is string key
                && Member(parameters, "value") is string value
                && Member(parameters, "delivery") is string delivery
                && int.TryParse(at.ToString(), out int tick))
            {
                switch (delivery)
                {
                    case "received":
                        return new Operation(tick, key, value, Delivery.Received);
                    case "lost":
                        return new Operation(tick, key, value, Delivery.Lost);
                }
            }

            throw new RefusalException(
                InvalidParams, "the operation lacks at, key, value or delivery");
        }

        private static string OrNull(int? number)
        {
            return number == null ? "null" : number.ToString();
        }

        private static string Quote(string text)
        {
            var json = new StringBuilder("\"");
            foreach (char unit in text)
            {
                if (unit == '"' || unit == '\\')
                {
                    json.Append('\\').Append(unit);
                }
                else if (unit < ' ')
                {
                    json.AppendFormat("\\u{0:x4}", (int)unit);
                }
                else
                {
                    json.Append(unit);
                }
            }

            return json.Append('"').ToString();
        }

        /// <summary>Why a request gets no result.</summary>
        private sealed class RefusalException : Exception
        {
            public RefusalException(int code, string message)
                : base(message)
            {
                Code = code;
            }

            public int Code { get; }
        }

        /// <summary>A number in its own spelling, so that an id can be echoed as it came.</summary>
        private sealed class JsonNumber
        {
            private readonly string spelling;

            public JsonNumber(string spelling)
            {
                this.spelling = spelling;
            }

            public override string ToString()
            {
                return spelling;
            }
        }

        /// <summary>
        /// Takes a JSON text apart, or throws a FormatException. Of arrays and literals the
        /// protocol makes no use: they are null.
        /// </summary>
        private sealed class Parser
        {
            private const int MaxDepth = 100;
            private const char End = '\0';

            private readonly string text;
            private int at;
            private int depth;

            public Parser(string text)
            {
                this.text = text;
            }

            public object Parse()
            {
                object value = Value();
                Require(Peek() == End && at == text.Length);
                return value;
            }

            private object Value()
            {
                switch (Peek())
                {
                    case '{':
                        return Object();
                    case '[':
                        return Array();
                    case '"':
                        return String();
                    case 'n':
                        return Literal("null");
                    case 't':
                        return Literal("true");
                    case 'f':
                        return Literal("false");
                    default:
                        return Number();
                }
            }

            private Dictionary<string, object> Object()
            {
                var members = new Dictionary<string, object>();
                for (Enter(); !Leave('}', members.Count == 0);)
                {
                    Require(Peek() == '"');
                    string name = String();
                    Require(Peek() == ':');
                    at++;
                    members[name] = Value();
                }

                return members;
            }

            private object Array()
            {
                bool empty = true;
                for (Enter(); !Leave(']', empty); empty = false)
                {
                    Value();
                }

                return null;
            }

            /// <summary>Hostile nesting must not overflow the stack.</summary>
            private void Enter()
            {
                Require(depth++ < MaxDepth);
                at++;
            }

            /// <summary>Whether the container ends here; else an element follows.</summary>
            private bool Leave(char end, bool empty)
            {
                if (Peek() == end)
                {
                    at++;
                    depth--;
                    return true;
                }

                if (!empty)
                {
                    Require(Peek() == ',');
                    at++;
                }

                return false;
            }

            private object Literal(string literal)
            {
                Require(string.CompareOrdinal(text, at, literal, 0, literal.Length) == 0);
                at += literal.Length;
                return null;
            }

            private JsonNumber Number()
            {
                int start = at;
                Skip('-');
                if (!Skip('0'))
                {
                    Digits();
                }

                if (Skip('.'))
                {
                    Digits();
                }

                if (Skip('e') || Skip('E'))
                {
                    if (!Skip('+'))
                    {
                        Skip('-');
                    }

                    Digits();
                }

                return new JsonNumber(text.Substring(start, at - start));
            }

            private void Digits()
            {
                int start = at;
                while (at < text.Length && text[at] >= '0' && text[at] <= '9')
                {
                    at++;
                }

                Require(at > start);
            }

            private string String()
            {
                var value = new StringBuilder();
                at++;
                while (true)
                {
                    char unit = Next();
                    if (unit == '"')
                    {
                        return value.ToString();
                    }

                    Require(unit >= ' ');
                    value.Append(unit == '\\' ? Escaped() : unit);
                }
            }

            private char Escaped()
            {
                char kind = Next();
                switch (kind)
                {
                    case 'b':
                        return '\b';
                    case 'f':
                        return '\f';
                    case 'n':
                        return '\n';
                    case 'r':
                        return '\r';
                    case 't':
                        return '\t';
                    case 'u':
                        return Utf16();
                    default:
                        Require(kind == '"' || kind == '\\' || kind == '/');
                        return kind;
                }
            }

            private char Utf16()
            {
                Require(at + 4 <= text.Length);
                string digits = text.Substring(at, 4);
                at += 4;
                Require(ushort.TryParse(
                    digits,
                    NumberStyles.AllowHexSpecifier,
                    CultureInfo.InvariantCulture,
                    out ushort unit));
                return (char)unit;
            }

            /// <summary>The next character that is not space, without taking it.</summary>
            private char Peek()
            {
                while (at < text.Length && " \t\n\r".IndexOf(text[at]) >= 0)
                {
                    at++;
                }

                return at < text.Length ? text[at] : End;
            }

            private char Next()
            {
                Require(at < text.Length);
                return text[at++];
            }

            private bool Skip(char wanted)
            {
                bool found = at < text.Length && text[at] == wanted;
                at += found ? 1 : 0;
                return found;
            }

            private static void Require(bool holds)
            {
                if (!holds)
                {
                    throw new FormatException();
                }
            }
        }
    }
}
