//! Prints to stdout in `reset`, and fails in `step`.

mod retryproof;

use std::error::Error;
use std::process::Command;

use retryproof::{Adapter, Observation, Operation};

struct Probe;

impl Adapter for Probe {
    fn reset(&mut self) -> Result<(), Box<dyn Error>> {
        println!("printed by the program");
        Command::new("echo")
            .arg("printed by a child process")
            .status()?;
        Ok(())
    }

    fn step(&mut self, _: &Operation) -> Result<Observation, Box<dyn Error>> {
        Err("Größe 日本語 😀 \"quoted\" back\\slash\nnext line".into())
    }

    fn seconds_per_tick(&self) -> Option<f64> {
        Some(0.25)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    retryproof::serve("probe", &mut Probe)?;
    Ok(())
}
