CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value
) WITHOUT ROWID;

-- What of the record could not be indexed, and why; tried again when there is more of it.
CREATE TABLE quarantine (
    stage   TEXT NOT NULL,            -- text, snapshot
    subject TEXT NOT NULL,            -- a transcript's or a snapshot's id
    size    INTEGER NOT NULL,         -- bytes of the record then
    reason  TEXT NOT NULL,
    since   INTEGER NOT NULL,         -- ms
    PRIMARY KEY (stage, subject)
) WITHOUT ROWID;

-- How far each transcript's text is indexed; it trails the record by itself.
CREATE TABLE cursors (
    transcript INTEGER PRIMARY KEY,   -- the generation's id in the record
    indexed    INTEGER NOT NULL,      -- up to the end of a line
    size       INTEGER NOT NULL,      -- bytes of the record that were read
    tail       INTEGER NOT NULL,      -- 1 when rows after `indexed` come from an unfinished last line
    kept       BLOB NOT NULL          -- what the next sync goes on from, at `indexed`
);

-- Lines whose text could not be extracted because of an error in Hansard; issues of transcripts are in index.db.
CREATE TABLE issues (
    id     INTEGER PRIMARY KEY,
    length INTEGER NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL
);

-- The block that each text is of: its id, or 1 << 62 + a snapshot's id. Ids are far apart, and the full text would need
-- twice the bytes for them; `doc` numbers the texts of a transcript in the order of their ids.
CREATE TABLE places (
    doc INTEGER PRIMARY KEY,          -- transcript << {TEXT_BITS} | 0, 1, 2, ...; the same as `id` for a snapshot
    id  INTEGER NOT NULL
);

-- The text of every block: titles in `titles`, what was said in the main threads in `talk`, what tools and subagents did in
-- `work`, what the client reminded the model of in `reminders`. The rowid is `places.doc`.
-- `body` is the text, with spaces where identifiers and scripts without spaces are cut; `mark` has words that say what it is:
-- kindprompt, toolbash, iserror, ...
CREATE VIRTUAL TABLE titles USING fts5 (
    body, mark,
    content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE talk USING fts5 (
    body, mark,
    content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE work USING fts5 (
    body, mark,
    content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE reminders USING fts5 (
    body, mark,
    content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
