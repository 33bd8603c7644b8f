CREATE TABLE runs (
  number INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which they were accepted
  id TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'finished', 'cancelled', 'interrupted')),
  suite TEXT NOT NULL,
  adapter TEXT NOT NULL,
  client TEXT NOT NULL,
  idempotency_key TEXT,
  submission BLOB NOT NULL, -- JSON; without the values of variables once the run is over
  created_at REAL NOT NULL, -- Unix time, as all times here
  started_at REAL,
  ended_at REAL,
  verdict TEXT CHECK (verdict IN ('pass', 'fail', 'incomplete')),
  exit_status INTEGER,
  counts BLOB, -- JSON
  plan TEXT REFERENCES plans (digest)
);
CREATE INDEX runs_by_state ON runs (state, number);
CREATE INDEX runs_by_key ON runs (idempotency_key) WHERE idempotency_key IS NOT NULL;

-- The cases of a run, once for all runs that have the same: those of a suite can be a megabyte.
CREATE TABLE plans (
  digest TEXT PRIMARY KEY,
  content BLOB NOT NULL -- JSON
);

CREATE TABLE events (
  run INTEGER NOT NULL REFERENCES runs (number),
  sequence INTEGER NOT NULL, -- from 1 in each run
  content BLOB NOT NULL, -- JSON
  PRIMARY KEY (run, sequence)
) WITHOUT ROWID;

CREATE TABLE idempotency_keys (
  key TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  run TEXT NOT NULL REFERENCES runs (id),
  created_at REAL NOT NULL
) WITHOUT ROWID;
