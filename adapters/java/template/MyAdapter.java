import retryproof.Retryproof;
import retryproof.Retryproof.Observation;
import retryproof.Retryproof.Operation;

public final class MyAdapter implements Retryproof.Adapter {
    @Override
    public void reset() {
        throw new UnsupportedOperationException("not connected yet: empty the service here");
    }

    @Override
    public Observation step(Operation operation) {
        // Set the clock to operation.at(), send operation.value() under operation.key(), count
        // the writes. Then return new Observation(201, 1, 1);
        throw new UnsupportedOperationException("not connected yet: send a request here");
    }

    public static void main(String[] arguments) throws Exception {
        Retryproof.serve("my service", new MyAdapter());
    }
}
