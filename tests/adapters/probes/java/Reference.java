import retryproof.Retryproof;
import retryproof.Retryproof.Adapter;
import retryproof.Retryproof.Observation;
import retryproof.Retryproof.Operation;

/** Prints to stdout in reset, and fails in step. */
public final class Reference implements Adapter {
    @Override
    public void reset() {
        System.out.println("printed by the program");
    }

    @Override
    public Observation step(Operation operation) {
        throw new IllegalStateException(
                "Gr\u00f6\u00dfe \u65e5\u672c\u8a9e \ud83d\ude00 \"quoted\" back\\slash\nnext line");
    }

    public static void main(String[] arguments) throws Exception {
        Retryproof.serve("probe", new Reference(), 0.25);
    }
}
