import java.util.HashMap;
import java.util.List;
import java.util.Map;
import retryproof.Retryproof;
import retryproof.Retryproof.Adapter;
import retryproof.Retryproof.Delivery;
import retryproof.Retryproof.Observation;
import retryproof.Retryproof.Operation;

/**
 * A correct idempotent service behind an adapter, or one with a known fault:
 *
 * <pre>java Reference [--fault duplicate-write|body-blind|sliding-expiry|forget-on-loss]</pre>
 *
 * To connect your own service, see README.md.
 */
public final class Reference implements Adapter {
    private static final List<String> FAULTS =
            List.of("duplicate-write", "body-blind", "sliding-expiry", "forget-on-loss");

    private final String fault;
    private Service service;

    private Reference(String fault) {
        this.fault = fault;
        reset();
    }

    @Override
    public void reset() {
        service = new Service(fault);
    }

    @Override
    public Observation step(Operation operation) {
        service.now = operation.at();
        Answer answer = service.order(operation.key(), operation.value());
        if (operation.delivery() == Delivery.LOST) {
            service.answerWasLost(operation.key(), answer.status());
            return new Observation(null, null, service.orders);
        }
        return new Observation(answer.status(), answer.order(), service.orders);
    }

    public static void main(String[] arguments) throws Exception {
        String fault = faultFrom(arguments);
        String name = fault.isEmpty() ? "reference" : "reference with " + fault;
        Retryproof.serve(name, new Reference(fault));
    }

    private static String faultFrom(String[] arguments) {
        if (arguments.length == 0) {
            return "";
        }
        if (arguments.length == 2 && arguments[0].equals("--fault")
                && FAULTS.contains(arguments[1])) {
            return arguments[1];
        }
        throw new IllegalArgumentException("--fault takes one of " + String.join(", ", FAULTS));
    }

    /** The answer to one request: a status and, unless refused, the order's number. */
    private record Answer(int status, Integer order) {}

    private record Order(String item, int number, int deadline) {}

    /** Takes orders under idempotency keys, with a clock that the test sets. */
    private static final class Service {
        private static final int RETENTION_TICKS = 6;
        private static final int CREATED = 201;
        private static final int REPLAYED = 200;
        private static final int CONFLICT = 409;

        private final String fault;
        private final Map<String, Order> records = new HashMap<>();
        int now;
        int orders;

        Service(String fault) {
            this.fault = fault;
        }

        Answer order(String key, String item) {
            Order known = records.get(key);
            if (known == null || now >= known.deadline()) {
                return new Answer(CREATED, remember(key, item, now + RETENTION_TICKS));
            }
            if (!known.item().equals(item) && !fault.equals("body-blind")) {
                return new Answer(CONFLICT, null);
            }
            if (fault.equals("duplicate-write")) {
                return new Answer(CREATED, remember(key, item, known.deadline()));
            }
            if (fault.equals("sliding-expiry")) {
                records.put(key, new Order(item, known.number(), now + RETENTION_TICKS));
            }
            return new Answer(REPLAYED, known.number());
        }

        void answerWasLost(String key, int status) {
            if (fault.equals("forget-on-loss") && status != CONFLICT) {
                records.remove(key);
            }
        }

        private int remember(String key, String item, int deadline) {
            orders++;
            records.put(key, new Order(item, orders, deadline));
            return orders;
        }
    }
}
