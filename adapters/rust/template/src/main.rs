mod retryproof;

use std::error::Error;

use retryproof::{Adapter, Observation, Operation};

struct MyService;

impl Adapter for MyService {
    fn reset(&mut self) -> Result<(), Box<dyn Error>> {
        Err("not connected yet: empty the service here".into())
    }

    fn step(&mut self, _operation: &Operation) -> Result<Observation, Box<dyn Error>> {
        // Set the clock to operation.at, send operation.value under operation.key, count the
        // writes. Then
        // Ok(Observation { status: Some(201), receipt: Some(1), committed_writes: 1 })
        Err("not connected yet: send a request here".into())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    retryproof::serve("my service", &mut MyService)?;
    Ok(())
}
