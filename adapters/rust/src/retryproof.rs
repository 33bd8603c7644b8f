//! Lets the retryproof runner drive a Rust program: speaks the adapter protocol, version 1, on
//! stdin and stdout. Whatever the program itself prints goes to stderr. Needs Unix and nothing
//! but the standard library.

use std::any::Any;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::raw::c_int;
use std::os::unix::io::{AsFd, AsRawFd};
use std::panic::{catch_unwind, AssertUnwindSafe};

const PROTOCOL_VERSION: u32 = 1;
const MAX_LINE_BYTES: usize = 1024 * 1024;
const MAX_DEPTH: usize = 100;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const ADAPTER_FAILED: i32 = -32000;

/// One request for the service: at tick `at`, send `value` under `key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    pub at: u32,
    pub key: String,
    pub value: String,
    pub delivery: Delivery,
}

/// Whether the service's response reaches its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    Received,
    Lost,
}

/// What the caller saw, and the writes measured apart from it. A lost response has neither
/// status nor receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    pub status: Option<u16>,
    /// The ordinal of the write that the response names.
    pub receipt: Option<u64>,
    /// All writes since `reset`.
    pub committed_writes: u64,
}

/// Connects a service.
pub trait Adapter {
    /// Empties the service and puts its clock to tick 0.
    fn reset(&mut self) -> Result<(), Box<dyn Error>>;

    fn step(&mut self, operation: &Operation) -> Result<Observation, Box<dyn Error>>;

    /// For a service without a test clock: the runner then waits in real time.
    fn seconds_per_tick(&self) -> Option<f64> {
        None
    }
}

/// Answers the runner's requests until it says `shutdown` or closes stdin.
pub fn serve(name: &str, adapter: &mut dyn Adapter) -> io::Result<()> {
    let (requests, mut answers) = take_over_stdio()?;
    let mut requests = BufReader::new(requests);
    while let Some(line) = read_line(&mut requests)? {
        let (id, outcome, last) = match line.and_then(|line| parse_request(&line)) {
            Ok(request) => {
                let outcome = answer(name, adapter, &request);
                (request.id, outcome, request.method == "shutdown")
            }
            Err(refusal) => ("null".to_owned(), Err(refusal), false),
        };
        let answer = match outcome {
            Ok(result) => format!("\"result\":{result}"),
            Err(Refusal { code, message }) => {
                eprintln!("{message}");
                let message = quoted(&message);
                format!("\"error\":{{\"code\":{code},\"message\":{message}}}")
            }
        };
        answers.write_all(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{answer}}}\n").as_bytes())?;
        if last {
            break;
        }
    }
    Ok(())
}

struct Request {
    id: String,
    method: String,
    params: Json,
}

struct Refusal {
    code: i32,
    message: String,
}

impl Refusal {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

/// The protocol's own copies of stdin and stdout. What anybody else prints, child processes
/// included, goes to stderr, and nobody else can read a request away.
fn take_over_stdio() -> io::Result<(File, File)> {
    let requests = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let answers = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    redirect(0, &File::open("/dev/null")?)?;
    redirect(1, &io::stderr())?;
    Ok((requests, answers))
}

fn redirect(descriptor: c_int, target: &impl AsRawFd) -> io::Result<()> {
    // In edition 2024, this is to be `unsafe extern`.
    extern "C" {
        fn dup2(from: c_int, to: c_int) -> c_int;
    }
    // SAFETY: dup2 takes two numbers and touches no memory; `target` is open.
    if unsafe { dup2(target.as_raw_fd(), descriptor) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The next line without its end; None at the end of input.
fn read_line(requests: &mut impl BufRead) -> io::Result<Option<Result<Vec<u8>, Refusal>>> {
    let longest = MAX_LINE_BYTES + "\r\n".len();
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let room = (longest - line.len()) as u64;
        requests.by_ref().take(room).read_until(b'\n', &mut line)?;
        if line.last() == Some(&b'\n') {
            break;
        }
        if line.len() < longest {
            return Ok(None);
        }
        too_long = true;
        line.clear();
    }
    line.pop();
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    if too_long || line.len() > MAX_LINE_BYTES {
        let message = "the request line is longer than 1 MiB";
        return Ok(Some(Err(Refusal::new(INVALID_REQUEST, message))));
    }
    Ok(Some(Ok(line)))
}

fn parse_request(line: &[u8]) -> Result<Request, Refusal> {
    let not_json = || Refusal::new(PARSE_ERROR, "the request line is not JSON");
    let text = std::str::from_utf8(line).map_err(|_| not_json())?;
    let mut request = Parser::parse(text).ok_or_else(not_json)?;
    match request.take("method") {
        Json::String(method) => Ok(Request {
            id: match request.take("id") {
                Json::Number(number) => number,
                Json::String(text) => quoted(&text),
                _ => "null".to_owned(),
            },
            method,
            params: request.take("params"),
        }),
        _ => Err(Refusal::new(INVALID_REQUEST, "the request has no method")),
    }
}

fn answer(name: &str, adapter: &mut dyn Adapter, request: &Request) -> Result<String, Refusal> {
    match request.method.as_str() {
        "initialize" => Ok(format!(
            "{{\"protocolVersion\":{PROTOCOL_VERSION},\
             \"adapter\":{{\"name\":{},\"language\":\"Rust\"}},\"capabilities\":{}}}",
            quoted(name),
            match adapter.seconds_per_tick() {
                Some(seconds) => format!("{{\"clock\":{{\"secondsPerTick\":{seconds}}}}}"),
                None => "{}".to_owned(),
            }
        )),
        "reset" => {
            shielded(|| adapter.reset())?;
            Ok("null".to_owned())
        }
        "step" => {
            let operation = operation(&request.params)?;
            let seen = shielded(|| adapter.step(&operation))?;
            Ok(format!(
                "{{\"status\":{},\"receipt\":{},\"committedWrites\":{}}}",
                or_null(seen.status),
                or_null(seen.receipt),
                seen.committed_writes
            ))
        }
        "shutdown" => Ok("null".to_owned()),
        unknown => Err(Refusal::new(
            METHOD_NOT_FOUND,
            format!("no such method: {unknown}"),
        )),
    }
}

fn operation(params: &Json) -> Result<Operation, Refusal> {
    let wrong = |member: &str| Refusal::new(INVALID_PARAMS, format!("wrong \"{member}\""));
    let text = |member: &str| match params.get(member) {
        Some(Json::String(text)) => Ok(text.clone()),
        _ => Err(wrong(member)),
    };
    Ok(Operation {
        at: match params.get("at") {
            Some(Json::Number(number)) => number.parse().map_err(|_| wrong("at"))?,
            _ => return Err(wrong("at")),
        },
        key: text("key")?,
        value: text("value")?,
        delivery: match text("delivery")?.as_str() {
            "received" => Delivery::Received,
            "lost" => Delivery::Lost,
            _ => return Err(wrong("delivery")),
        },
    })
}

/// Calls the service, and makes its errors and panics the call's.
fn shielded<T>(call: impl FnOnce() -> Result<T, Box<dyn Error>>) -> Result<T, Refusal> {
    catch_unwind(AssertUnwindSafe(call))
        .map_err(|panic| {
            Refusal::new(ADAPTER_FAILED, format!("panic: {}", panic_message(&*panic)))
        })?
        .map_err(|error| Refusal::new(ADAPTER_FAILED, error.to_string()))
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let formatted = panic.downcast_ref::<String>().map(String::as_str);
    formatted
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("see the log")
}

fn or_null<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}

fn quoted(text: &str) -> String {
    let mut json = String::from('"');
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            control if control < ' ' => {
                json.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            other => json.push(other),
        }
    }
    json.push('"');
    json
}

/// A JSON value. A number keeps its own spelling, so that an id can be echoed as it came; of
/// literals and arrays the protocol makes no use.
enum Json {
    Other,
    Number(String),
    String(String),
    Object(Vec<(String, Json)>),
}

impl Json {
    fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members
                .iter()
                .rev()
                .find_map(|(known, value)| (known == name).then_some(value)),
            _ => None,
        }
    }

    fn take(&mut self, name: &str) -> Json {
        match self {
            Json::Object(members) => members
                .iter()
                .rposition(|(known, _)| known == name)
                .map_or(Json::Other, |index| members.remove(index).1),
            _ => Json::Other,
        }
    }
}

/// Takes a JSON text apart; None stands for a text that is none.
struct Parser<'text> {
    rest: &'text str,
    depth: usize,
}

impl<'text> Parser<'text> {
    fn parse(text: &'text str) -> Option<Json> {
        let mut parser = Self {
            rest: text,
            depth: 0,
        };
        let value = parser.value()?;
        parser.skip_space();
        parser.rest.is_empty().then_some(value)
    }

    fn value(&mut self) -> Option<Json> {
        self.skip_space();
        match self.rest.as_bytes().first()? {
            b'{' => self.nested(Self::object),
            b'[' => self.nested(Self::array),
            b'"' => self.string().map(Json::String),
            b'-' | b'0'..=b'9' => self.number(),
            _ => ["null", "true", "false"]
                .into_iter()
                .any(|literal| self.skip(literal))
                .then_some(Json::Other),
        }
    }

    /// Hostile nesting must not overflow the stack.
    fn nested(&mut self, container: fn(&mut Self) -> Option<Json>) -> Option<Json> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let value = container(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Option<Json> {
        let mut members = Vec::new();
        self.elements('{', '}', |parser| {
            parser.skip_space();
            let name = parser.string()?;
            parser.skip_space();
            parser.expect(":")?;
            members.push((name, parser.value()?));
            Some(())
        })?;
        Some(Json::Object(members))
    }

    fn array(&mut self) -> Option<Json> {
        self.elements('[', ']', |parser| parser.value().map(drop))?;
        Some(Json::Other)
    }

    fn elements(
        &mut self,
        open: char,
        close: char,
        mut element: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.rest = self.rest.strip_prefix(open)?;
        self.skip_space();
        if let Some(rest) = self.rest.strip_prefix(close) {
            self.rest = rest;
            return Some(());
        }
        loop {
            element(self)?;
            self.skip_space();
            if let Some(rest) = self.rest.strip_prefix(close) {
                self.rest = rest;
                return Some(());
            }
            self.expect(",")?;
        }
    }

    fn string(&mut self) -> Option<String> {
        self.expect("\"")?;
        let mut text = String::new();
        loop {
            let character = self.character()?;
            match character {
                '"' => return Some(text),
                '\\' => text.push(self.escaped()?),
                control if control < ' ' => return None,
                other => text.push(other),
            }
        }
    }

    fn escaped(&mut self) -> Option<char> {
        Some(match self.character()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => self.utf16()?,
            literal @ ('"' | '\\' | '/') => literal,
            _ => return None,
        })
    }

    /// The character of one `\u`, or of two that are a surrogate pair.
    fn utf16(&mut self) -> Option<char> {
        let first = self.four_hex_digits()?;
        let after_first = self.rest;
        if (0xD800..0xDC00).contains(&first) && self.skip("\\u") {
            let second = self.four_hex_digits()?;
            if let Some(Ok(character)) = char::decode_utf16([first, second]).next() {
                return Some(character);
            }
            self.rest = after_first;
        }
        // Half a pair is no character.
        char::from_u32(first.into()).or(Some(char::REPLACEMENT_CHARACTER))
    }

    fn four_hex_digits(&mut self) -> Option<u16> {
        let digits = self.rest.get(..4)?;
        self.rest = &self.rest[4..];
        let all_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        all_hex.then(|| u16::from_str_radix(digits, 16).ok())?
    }

    fn number(&mut self) -> Option<Json> {
        let start = self.rest;
        self.skip("-");
        if !self.skip("0") {
            self.digits()?;
        }
        if self.skip(".") {
            self.digits()?;
        }
        if self.skip("e") || self.skip("E") {
            let _signed = self.skip("+") || self.skip("-");
            self.digits()?;
        }
        let length = start.len() - self.rest.len();
        Some(Json::Number(start[..length].to_owned()))
    }

    fn digits(&mut self) -> Option<()> {
        let rest = self
            .rest
            .trim_start_matches(|digit: char| digit.is_ascii_digit());
        let found = rest.len() < self.rest.len();
        self.rest = rest;
        found.then_some(())
    }

    fn character(&mut self) -> Option<char> {
        let character = self.rest.chars().next()?;
        self.rest = &self.rest[character.len_utf8()..];
        Some(character)
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn skip(&mut self, text: &str) -> bool {
        self.expect(text).is_some()
    }

    fn expect(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }
}
