//! A correct idempotent service behind an adapter, or one with a known fault:
//!
//!     reference [--fault duplicate-write|body-blind|sliding-expiry|forget-on-loss]
//!
//! To connect your own service, see README.md.

mod retryproof;

use std::collections::HashMap;
use std::error::Error;

use retryproof::{Adapter, Delivery, Observation, Operation};

const RETENTION_TICKS: u32 = 6;
const CREATED: u16 = 201;
const REPLAYED: u16 = 200;
const CONFLICT: u16 = 409;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    DuplicateWrite,
    BodyBlind,
    SlidingExpiry,
    ForgetOnLoss,
}

impl Fault {
    fn named(name: &str) -> Option<Self> {
        match name {
            "duplicate-write" => Some(Self::DuplicateWrite),
            "body-blind" => Some(Self::BodyBlind),
            "sliding-expiry" => Some(Self::SlidingExpiry),
            "forget-on-loss" => Some(Self::ForgetOnLoss),
            _ => None,
        }
    }
}

struct Record {
    item: String,
    order: u64,
    deadline: u32,
}

/// Orders under idempotency keys, with a clock that the test sets.
struct Service {
    fault: Option<Fault>,
    records: HashMap<String, Record>,
    now: u32,
    orders: u64,
}

impl Service {
    fn new(fault: Option<Fault>) -> Self {
        Self {
            fault,
            records: HashMap::new(),
            now: 0,
            orders: 0,
        }
    }

    /// The answer to one request: a status and, unless refused, the order's number.
    fn order(&mut self, key: &str, item: &str) -> (u16, Option<u64>) {
        let now = self.now;
        match self.records.get_mut(key) {
            Some(record) if now < record.deadline => {
                if record.item != item && self.fault != Some(Fault::BodyBlind) {
                    return (CONFLICT, None);
                }
                if self.fault == Some(Fault::DuplicateWrite) {
                    let deadline = record.deadline;
                    return (CREATED, Some(self.remember(key, item, deadline)));
                }
                if self.fault == Some(Fault::SlidingExpiry) {
                    record.deadline = now + RETENTION_TICKS;
                }
                (REPLAYED, Some(record.order))
            }
            _ => {
                let order = self.remember(key, item, now + RETENTION_TICKS);
                (CREATED, Some(order))
            }
        }
    }

    fn answer_was_lost(&mut self, key: &str, status: u16) {
        if self.fault == Some(Fault::ForgetOnLoss) && status != CONFLICT {
            self.records.remove(key);
        }
    }

    fn remember(&mut self, key: &str, item: &str, deadline: u32) -> u64 {
        self.orders += 1;
        let record = Record {
            item: item.to_owned(),
            order: self.orders,
            deadline,
        };
        self.records.insert(key.to_owned(), record);
        self.orders
    }
}

struct Reference {
    service: Service,
}

impl Adapter for Reference {
    fn reset(&mut self) -> Result<(), Box<dyn Error>> {
        self.service = Service::new(self.service.fault);
        Ok(())
    }

    fn step(&mut self, operation: &Operation) -> Result<Observation, Box<dyn Error>> {
        self.service.now = operation.at;
        let (status, receipt) = self.service.order(&operation.key, &operation.value);
        let committed_writes = self.service.orders;
        if operation.delivery == Delivery::Lost {
            self.service.answer_was_lost(&operation.key, status);
            return Ok(Observation {
                status: None,
                receipt: None,
                committed_writes,
            });
        }
        Ok(Observation {
            status: Some(status),
            receipt,
            committed_writes,
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, fault) = match arguments.as_slice() {
        [] => ("reference".to_owned(), None),
        [option, fault] if option == "--fault" => (
            format!("reference with {fault}"),
            Some(Fault::named(fault).ok_or("there is no such fault")?),
        ),
        _ => return Err("usage: reference [--fault NAME]".into()),
    };
    let mut reference = Reference {
        service: Service::new(fault),
    };
    retryproof::serve(&name, &mut reference)?;
    Ok(())
}
