package retryproof;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;

/**
 * Lets the retryproof runner drive a Java program: speaks the adapter protocol, version 1, on stdin
 * and stdout. What the program prints to System.out goes to stderr. Needs Java 17 or later and
 * nothing else.
 */
public final class Retryproof {
    /** Connects a service. */
    public interface Adapter {
        /** Empties the service and puts its clock to tick 0. */
        void reset() throws Exception;

        Observation step(Operation operation) throws Exception;
    }

    /** One request for the service: at tick {@code at}, send {@code value} under {@code key}. */
    public record Operation(int at, String key, String value, Delivery delivery) {}

    /** Whether the service's response reaches its caller. */
    public enum Delivery {
        RECEIVED,
        LOST
    }

    /**
     * What the caller saw, and the writes measured apart from it. A lost response has neither
     * status nor receipt.
     *
     * @param status null for none
     * @param receipt the ordinal of the write that the response names; null for none
     * @param committedWrites all writes since {@code reset}
     */
    public record Observation(Integer status, Integer receipt, int committedWrites) {}

    private static final int PROTOCOL_VERSION = 1;
    private static final int MAX_LINE_BYTES = 1 << 20;

    private static final int PARSE_ERROR = -32700;
    private static final int INVALID_REQUEST = -32600;
    private static final int METHOD_NOT_FOUND = -32601;
    private static final int INVALID_PARAMS = -32602;
    private static final int ADAPTER_FAILED = -32000;

    private final String name;
    private final Adapter adapter;
    private final Double secondsPerTick;
    private boolean finished;

    private Retryproof(String name, Adapter adapter, Double secondsPerTick) {
        this.name = name;
        this.adapter = adapter;
        this.secondsPerTick = secondsPerTick;
    }

    /** Answers the runner's requests until it says {@code shutdown} or closes stdin. */
    public static void serve(String name, Adapter adapter) throws IOException {
        new Retryproof(name, adapter, null).serve();
    }

    /** The same for a service without a test clock: the runner then waits in real time. */
    public static void serve(String name, Adapter adapter, double secondsPerTick)
            throws IOException {
        new Retryproof(name, adapter, secondsPerTick).serve();
    }

    private void serve() throws IOException {
        var requests = new BufferedInputStream(System.in);
        var answers = new FileOutputStream(FileDescriptor.out);
        System.setIn(InputStream.nullInputStream());
        System.setOut(System.err);
        byte[] line;
        while (!finished && (line = readLine(requests)) != null) {
            answers.write((response(line) + "\n").getBytes(StandardCharsets.UTF_8));
        }
    }

    private String response(byte[] line) {
        String id = "null";
        String outcome;
        try {
            Request request = Request.parse(line);
            id = request.id;
            outcome = "\"result\":" + answer(request);
        } catch (Refusal refusal) {
            outcome = error(refusal.code, refusal.getMessage());
        } catch (Exception | LinkageError | AssertionError failure) {
            failure.printStackTrace();
            outcome = error(ADAPTER_FAILED, failure.toString());
        }
        return "{\"jsonrpc\":\"2.0\",\"id\":" + id + "," + outcome + "}";
    }

    private static String error(int code, String message) {
        return "\"error\":{\"code\":" + code + ",\"message\":" + quote(message) + "}";
    }

    private String answer(Request request) throws Exception {
        switch (request.method) {
            case "initialize" -> {
                return identity();
            }
            case "reset" -> adapter.reset();
            case "step" -> {
                Observation seen = adapter.step(operation(request.params));
                return "{\"status\":" + seen.status + ",\"receipt\":" + seen.receipt
                        + ",\"committedWrites\":" + seen.committedWrites + "}";
            }
            case "shutdown" -> finished = true;
            default -> throw new Refusal(METHOD_NOT_FOUND, "no such method: " + request.method);
        }
        return "null";
    }

    private String identity() {
        String clock = secondsPerTick == null
                ? "" : "\"clock\":{\"secondsPerTick\":" + secondsPerTick + "}";
        return "{\"protocolVersion\":" + PROTOCOL_VERSION + ",\"adapter\":{\"name\":" + quote(name)
                + ",\"language\":\"Java " + Runtime.version().feature() + "\"},\"capabilities\":{"
                + clock + "}}";
    }

    private static Operation operation(Object params) throws Refusal {
        if (params instanceof Map<?, ?> members
                && members.get("at") instanceof JsonNumber at
                && members.get("key") instanceof String key
                && members.get("value") instanceof String value) {
            if ("received".equals(members.get("delivery"))) {
                return new Operation(at.toInt(), key, value, Delivery.RECEIVED);
            }
            if ("lost".equals(members.get("delivery"))) {
                return new Operation(at.toInt(), key, value, Delivery.LOST);
            }
        }
        throw new Refusal(INVALID_PARAMS, "the operation lacks at, key, value or delivery");
    }

    /** The next line without its end, cut where it is too long, or null at the end of input. */
    private static byte[] readLine(InputStream requests) throws IOException {
        var line = new ByteArrayOutputStream();
        int read;
        while ((read = requests.read()) != '\n') {
            if (read < 0) {
                return null;
            }
            if (line.size() < MAX_LINE_BYTES + 2) {
                line.write(read);
            }
        }
        byte[] bytes = line.toByteArray();
        boolean endsInReturn = bytes.length > 0 && bytes[bytes.length - 1] == '\r';
        return endsInReturn ? Arrays.copyOf(bytes, bytes.length - 1) : bytes;
    }

    private static String quote(String text) {
        var json = new StringBuilder("\"");
        for (int index = 0; index < text.length(); index++) {
            char unit = text.charAt(index);
            if (unit == '"' || unit == '\\') {
                json.append('\\').append(unit);
            } else if (unit < ' ') {
                json.append(String.format("\\u%04x", (int) unit));
            } else {
                json.append(unit);
            }
        }
        return json.append('"').toString();
    }

    private static final class Refusal extends Exception {
        private static final long serialVersionUID = 1;

        final int code;

        Refusal(int code, String message) {
            super(message);
            this.code = code;
        }
    }

    private record Request(String id, String method, Object params) {
        static Request parse(byte[] line) throws Refusal {
            if (line.length > MAX_LINE_BYTES) {
                throw new Refusal(INVALID_REQUEST, "the request line is longer than 1 MiB");
            }
            Object request;
            try {
                request = new Parser(decode(line)).parse();
            } catch (NotJsonException | CharacterCodingException failure) {
                throw new Refusal(PARSE_ERROR, "the request line is not JSON");
            }
            if (request instanceof Map<?, ?> members
                    && members.get("method") instanceof String method) {
                Object id = members.get("id");
                String echo = id instanceof String text ? quote(text) : String.valueOf(id);
                return new Request(echo, method, members.get("params"));
            }
            throw new Refusal(INVALID_REQUEST, "the request has no method");
        }

        private static String decode(byte[] line) throws CharacterCodingException {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(line)).toString();
        }
    }

    /** A JSON number in its own spelling, so that an id can be echoed as it came. */
    private record JsonNumber(String spelling) {
        int toInt() throws Refusal {
            try {
                return new BigDecimal(spelling).intValueExact();
            } catch (ArithmeticException | NumberFormatException failure) {
                throw new Refusal(INVALID_PARAMS, spelling + " is no tick");
            }
        }

        @Override
        public String toString() {
            return spelling;
        }
    }

    private static final class NotJsonException extends Exception {
        private static final long serialVersionUID = 1;
    }

    /** Takes a JSON text apart. Of arrays and literals the protocol makes no use: they are null. */
    private static final class Parser {
        private static final int MAX_DEPTH = 100;
        private static final char END = '\0';

        private final String text;
        private int at;
        private int depth;

        Parser(String text) {
            this.text = text;
        }

        Object parse() throws NotJsonException {
            Object value = value();
            require(peek() == END);
            return value;
        }

        private Object value() throws NotJsonException {
            return switch (peek()) {
                case '{' -> object();
                case '[' -> array();
                case '"' -> string();
                case 'n' -> literal("null");
                case 't' -> literal("true");
                case 'f' -> literal("false");
                default -> number();
            };
        }

        private Map<String, Object> object() throws NotJsonException {
            var members = new HashMap<String, Object>();
            for (enter(); !leave('}', members.isEmpty()); ) {
                require(peek() == '"');
                String name = string();
                require(peek() == ':');
                at++;
                members.put(name, value());
            }
            return members;
        }

        private Object array() throws NotJsonException {
            boolean empty = true;
            for (enter(); !leave(']', empty); empty = false) {
                value();
            }
            return null;
        }

        /** Hostile nesting must not overflow the stack. */
        private void enter() throws NotJsonException {
            require(depth++ < MAX_DEPTH);
            at++;
        }

        /** Whether the container ends here; else an element follows. */
        private boolean leave(char end, boolean empty) throws NotJsonException {
            if (peek() == end) {
                at++;
                depth--;
                return true;
            }
            if (!empty) {
                require(peek() == ',');
                at++;
            }
            return false;
        }

        private Object literal(String literal) throws NotJsonException {
            require(text.startsWith(literal, at));
            at += literal.length();
            return null;
        }

        private JsonNumber number() throws NotJsonException {
            int start = at;
            skip('-');
            if (!skip('0')) {
                digits();
            }
            if (skip('.')) {
                digits();
            }
            if (skip('e') || skip('E')) {
                if (!skip('+')) {
                    skip('-');
                }
                digits();
            }
            return new JsonNumber(text.substring(start, at));
        }

        private void digits() throws NotJsonException {
            int start = at;
            while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
                at++;
            }
            require(at > start);
        }

        private String string() throws NotJsonException {
            var value = new StringBuilder();
            at++;
            while (true) {
                char unit = next();
                if (unit == '"') {
                    return value.toString();
                }
                require(unit >= ' ');
                value.append(unit == '\\' ? escaped() : unit);
            }
        }

        private char escaped() throws NotJsonException {
            char kind = next();
            return switch (kind) {
                case 'b' -> '\b';
                case 'f' -> '\f';
                case 'n' -> '\n';
                case 'r' -> '\r';
                case 't' -> '\t';
                case 'u' -> (char) (hexByte() << 8 | hexByte());
                case '"', '\\', '/' -> kind;
                default -> throw new NotJsonException();
            };
        }

        private int hexByte() throws NotJsonException {
            require(at + 2 <= text.length());
            try {
                int value = HexFormat.fromHexDigits(text, at, at + 2);
                at += 2;
                return value;
            } catch (IllegalArgumentException failure) {
                throw new NotJsonException();
            }
        }

        /** The next character that is not space, without taking it. */
        private char peek() {
            while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) {
                at++;
            }
            return at < text.length() ? text.charAt(at) : END;
        }

        private char next() throws NotJsonException {
            require(at < text.length());
            return text.charAt(at++);
        }

        private boolean skip(char wanted) {
            boolean found = at < text.length() && text.charAt(at) == wanted;
            at += found ? 1 : 0;
            return found;
        }

        private static void require(boolean holds) throws NotJsonException {
            if (!holds) {
                throw new NotJsonException();
            }
        }
    }
}
