-- One value per name: the record this index was made from, and how far.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value
) WITHOUT ROWID;

-- What of the record could not be indexed, and why; tried again when there is more of it.
CREATE TABLE quarantine (
    stage   TEXT NOT NULL,            -- rows, text, session, side_file, prices
    subject TEXT NOT NULL,            -- a transcript's id, a session's id, a snapshot's id
    size    INTEGER NOT NULL,         -- bytes of the record then
    reason  TEXT NOT NULL,
    since   INTEGER NOT NULL,         -- ms
    PRIMARY KEY (stage, subject)
) WITHOUT ROWID;

-- One row per generation of a log file: main transcripts, subagents, history.jsonl.
CREATE TABLE transcripts (
    id          INTEGER PRIMARY KEY,  -- the generation's id in the record
    root        TEXT NOT NULL,        -- path of the source root
    client      TEXT NOT NULL,        -- the client that wrote it: claude-code, ...
    path        TEXT NOT NULL,        -- relative to the config dir, with /
    kind        TEXT NOT NULL,        -- main, agent, journal, history, log
    generation  INTEGER NOT NULL,     -- 1, 2, ... for the same path
    current     INTEGER NOT NULL,     -- 1 for the generation that is read: of a session's in this file the one with the most conversation
    state       TEXT NOT NULL,        -- live, gone, freed; rewritten for all but the last generation
    size        INTEGER NOT NULL,     -- bytes of the record that were read
    indexed     INTEGER NOT NULL,     -- bytes indexed, up to the end of a line
    tail        INTEGER NOT NULL,     -- 1 when rows after `indexed` come from an unfinished last line
    mtime       INTEGER,              -- of the source file, ms
    session_id  TEXT NOT NULL,        -- the session it belongs to
    agent_id    TEXT NOT NULL,        -- empty for main transcripts
    project_dir TEXT NOT NULL,        -- the folder under projects/
    root_uuid   TEXT NOT NULL,        -- uuid of its first conversation record: shared by forks and replays
    copied      INTEGER NOT NULL,     -- bytes at its beginning that it copied from another session, as far as lines tell
    fork_uuid   TEXT NOT NULL,        -- uuid of the last user or assistant record of these
    lines       INTEGER NOT NULL,
    records     INTEGER NOT NULL,
    unique_records INTEGER NOT NULL,  -- distinct ones in whole lines, counted where the file has several generations
    counted     INTEGER NOT NULL,     -- bytes up to which they were counted
    issues      INTEGER NOT NULL,
    first_ts    INTEGER,
    last_ts     INTEGER,
    version     TEXT NOT NULL,        -- the client that wrote last
    derived     INTEGER NOT NULL,     -- how many of the bytes read the derived tables know of
    fold        BLOB NOT NULL,        -- what the next sync goes on from, at `indexed`
    tail_fold   BLOB                  -- the same with the unfinished last line, where there is one
);

-- One row per conversation record (what has a uuid).
CREATE TABLE records (
    id          INTEGER PRIMARY KEY,
    length      INTEGER NOT NULL,     -- bytes of the line
    kind        TEXT NOT NULL,        -- user, assistant, system, attachment, progress, ...
    sub         TEXT,                 -- subtype of system and attachment records; agent_progress: a subagent's line that a progress record repeats
    role        TEXT,                 -- prompt, instruction, command, bash, result, reply, error, notification, ...
    uuid        TEXT,
    parent_uuid TEXT,                 -- or the logical parent of a compaction
    ts          INTEGER,
    sidechain   INTEGER NOT NULL,
    message_id  INTEGER,              -- messages.id, for assistant lines
    agent_id    TEXT                  -- of agent_progress lines: the subagent; for others, see transcripts.agent_id
);

-- One row per content block, except where a line's content is a plain string.
CREATE TABLE blocks (
    id          INTEGER PRIMARY KEY,  -- the record's id + n
    n           INTEGER NOT NULL,     -- number in the line
    kind        TEXT NOT NULL,        -- text, thinking, tool_use, tool_result, image, ...
    tool_use_id TEXT,
    tool        TEXT,
    is_error    INTEGER NOT NULL
);

-- One row per API message and transcript: the lines of one answer, merged by id.
CREATE TABLE messages (
    id    INTEGER PRIMARY KEY,        -- of its first line
    key   TEXT NOT NULL,              -- usage.key
    model TEXT,
    ts    INTEGER
);

-- One row per API message, counted once over all transcripts; the owner is the earliest line of its original. Rows lie in the order
-- in which they came, so those of a session are neighbours: in the order of keys, which are random, each would be on another page.
CREATE TABLE usage (
    key            TEXT NOT NULL UNIQUE,
    record_id      INTEGER NOT NULL,
    ts             INTEGER NOT NULL,
    session_id     TEXT NOT NULL,
    agent_id       TEXT NOT NULL,
    model          TEXT NOT NULL,
    input          INTEGER NOT NULL,
    output         INTEGER NOT NULL,
    cache_read     INTEGER NOT NULL,
    cache_write    INTEGER NOT NULL,  -- as stated; the remainder that no lifetime claims counts as 5 minutes
    cache_write_5m INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL,
    web_searches   INTEGER NOT NULL,
    final_output   INTEGER NOT NULL,  -- -1: no line knew the end of the answer, so output is a lower bound
    service_tier   TEXT NOT NULL,
    speed          TEXT NOT NULL,
    inference_geo  TEXT NOT NULL,
    branch         TEXT NOT NULL,     -- git branch of the owner
    tool           TEXT NOT NULL,     -- the first tool it calls
    tool_ts        INTEGER NOT NULL,
    recorded       INTEGER NOT NULL,  -- what the oldest clients wrote that it cost, in billionths of a dollar; -1: nothing
    is_progress    INTEGER NOT NULL,  -- 1: no line of its own, only progress records of its parent
    is_shared      INTEGER NOT NULL   -- 1: several transcripts have it, see usage_copies
);

-- Messages that several transcripts have, once for each of them: where its earliest line stands there. The first one in the order
-- of the index owns the message: originals come before copies in forks, then time, path and offset decide.
CREATE TABLE usage_copies (
    transcript INTEGER NOT NULL,
    key        TEXT NOT NULL,
    is_copy    INTEGER NOT NULL,      -- 1: in the part that the transcript copied from another session
    ts         INTEGER NOT NULL,      -- 1 << 62 where the line states no time
    path       TEXT NOT NULL,         -- of the transcript, and its root
    record_id  INTEGER NOT NULL,
    model      TEXT NOT NULL,
    session_id TEXT NOT NULL,
    agent_id   TEXT NOT NULL,
    branch     TEXT NOT NULL,
    PRIMARY KEY (transcript, key)
) WITHOUT ROWID;
CREATE INDEX usage_copies_owner ON usage_copies (key, is_copy, ts, path, record_id & {OFFSET_MASK}, record_id);

-- One row per tool call, with its result where there is one.
CREATE TABLE tool_calls (
    id          INTEGER PRIMARY KEY,  -- of the tool_use block
    tool_use_id TEXT NOT NULL,
    tool        TEXT NOT NULL,
    ts          INTEGER,
    message_id  INTEGER,
    path        TEXT,                 -- the file it reads or changes; NULL if it changes several, which are the rows after it
    result_id   INTEGER,              -- of the tool_result block
    result_ts   INTEGER,
    is_error    INTEGER NOT NULL,
    change      TEXT,                 -- create, update, edit, notebook: what it did to `path`
    added       INTEGER NOT NULL,     -- lines
    removed     INTEGER NOT NULL,
    persisted   TEXT,                 -- where the client put an output too large for the line
    description TEXT,                 -- of a subagent's task
    agent_type  TEXT,
    part        INTEGER NOT NULL,     -- 0: a call; 1, 2, ...: one of several files of the call whose `id` is this much less
    model       TEXT                  -- of the answer that made it, if the client does not say which that was
);

-- Everything a human typed: prompts, queued prompts, slash commands, shell lines, and the lines of history.jsonl.
CREATE TABLE prompts (
    id         INTEGER PRIMARY KEY,
    source     TEXT NOT NULL,         -- prompt, queued, command, bash, history
    ts         INTEGER,
    text       TEXT NOT NULL,
    project    TEXT,                  -- history only
    session_id TEXT                   -- history only
);

-- How long the client says that turns took, where it does.
CREATE TABLE turn_durations (
    id INTEGER PRIMARY KEY,
    ms INTEGER NOT NULL
);

CREATE TABLE compactions (
    id          INTEGER PRIMARY KEY,
    ts          INTEGER,
    trigger     TEXT,                 -- auto, manual
    pre_tokens  INTEGER,
    post_tokens INTEGER
);

-- What clients say about permissions: the mode from a line on, where it changes, and who allowed or denied a call.
CREATE TABLE permissions (
    id     INTEGER PRIMARY KEY,       -- of the line that states a mode, or of the call's tool_result block
    ts     INTEGER,
    kind   TEXT NOT NULL,             -- mode, allowed, denied
    value  TEXT NOT NULL,             -- the mode: ask, edits, plan, auto, deny, bypass; or who decided: user, rule, mode, hook, ...
    detail TEXT NOT NULL              -- the client's own words
);

-- Titles that one transcript gives to the conversation ending in `leaf_uuid`, often of another file.
CREATE TABLE summaries (
    id        INTEGER PRIMARY KEY,
    leaf_uuid TEXT NOT NULL,
    summary   TEXT NOT NULL
);

-- Subagents inside main files: the oldest clients wrote them there, and progress records of later ones repeat their lines.
CREATE TABLE sidechains (
    id          INTEGER PRIMARY KEY,
    uuid        TEXT NOT NULL,
    prompt_hash TEXT NOT NULL,
    ts          INTEGER,
    agent_id    TEXT NOT NULL         -- as progress records name it; empty in the oldest clients' files
);

-- Hints which tool call made which subagent; the lowest rank is believed.
CREATE TABLE agent_refs (
    transcript  INTEGER NOT NULL,     -- where the call stands
    tool_use_id TEXT NOT NULL,
    agent_id    TEXT NOT NULL,        -- or # and the hash of the prompt
    rank        INTEGER NOT NULL,     -- 1 meta.json, 2 result, 3 progress, 4 text, 5 same prompt
    PRIMARY KEY (agent_id, rank, transcript, tool_use_id)
) WITHOUT ROWID;

-- Where the records stand that summaries name as their leaves.
CREATE TABLE sightings (
    uuid      TEXT NOT NULL,
    record_id INTEGER NOT NULL,
    PRIMARY KEY (uuid, record_id)
) WITHOUT ROWID;

-- Where the records stand that begin a transcript (root_uuid) or end what it copied (fork_uuid), if several transcripts have
-- them. The first one in the order of the key is the original, the others are in forks of it.
CREATE TABLE shared_records (
    uuid      TEXT NOT NULL,
    is_former INTEGER NOT NULL,       -- 1: in a former generation of its file
    is_copy   INTEGER NOT NULL,       -- 1: in the part that the transcript copied from another session
    ts        INTEGER NOT NULL,       -- 1 << 62 where the line states no time
    path      TEXT NOT NULL,          -- of the transcript, and its root
    record_id INTEGER NOT NULL,
    PRIMARY KEY (uuid, is_former, is_copy, ts, path, record_id)
) WITHOUT ROWID;

-- The session of each shared record's original.
CREATE TABLE originals (
    uuid       TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    is_pending INTEGER NOT NULL       -- 1: shared_records has changed since
) WITHOUT ROWID;

-- Bad data, never dropped: where it is and what is wrong with it. Equal issues of consecutive lines are one row.
CREATE TABLE issues (
    id     INTEGER PRIMARY KEY,
    length INTEGER NOT NULL,          -- up to the end of the last of them
    reason TEXT NOT NULL,             -- not_json, torn, glued, wrong_type, invalid_utf8, odd_json, too_long, unfinished, ...
    detail TEXT NOT NULL,
    count  INTEGER NOT NULL           -- how many they are
);

-- How many records of each kind a transcript has.
CREATE TABLE record_kinds (
    transcript INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    count      INTEGER NOT NULL,
    PRIMARY KEY (transcript, kind)
) WITHOUT ROWID;

-- Kinds and fields that Hansard does not know yet.
CREATE TABLE drift (
    transcript   INTEGER NOT NULL,
    version      TEXT NOT NULL,       -- of the client
    kind         TEXT NOT NULL,
    field        TEXT NOT NULL,       -- empty: the kind itself is new
    count        INTEGER NOT NULL,
    first_offset INTEGER NOT NULL,
    PRIMARY KEY (transcript, version, kind, field)
) WITHOUT ROWID;

-- Small files beside the transcripts: overflowed tool results, todos, tasks, plans, memory, agents' meta.json, ...
CREATE TABLE side_files (
    id         INTEGER PRIMARY KEY,   -- the snapshot's id in the record
    root       TEXT NOT NULL,
    path       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    session_id TEXT NOT NULL,
    agent_id   TEXT NOT NULL,
    size       INTEGER NOT NULL,
    mtime      INTEGER,
    current    INTEGER NOT NULL,
    facts      BLOB                   -- what of its content the index uses
);

-- Titles in files that list several sessions.
CREATE TABLE listed_titles (
    session_id TEXT NOT NULL,
    side_file  INTEGER NOT NULL,
    title      TEXT NOT NULL,
    PRIMARY KEY (session_id, side_file)
) WITHOUT ROWID;

-- The working directories of the sessions in a folder, as files beside them say.
CREATE TABLE project_folders (
    root        TEXT NOT NULL,
    project_dir TEXT NOT NULL,        -- transcripts.project_dir
    side_file   INTEGER NOT NULL,
    path        TEXT NOT NULL,
    PRIMARY KEY (root, project_dir, side_file)
) WITHOUT ROWID;

-- Todos and tasks as their files last said.
CREATE TABLE todos (
    side_file  INTEGER NOT NULL,
    n          INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    agent_id   TEXT NOT NULL,
    status     TEXT NOT NULL,
    content    TEXT NOT NULL,
    PRIMARY KEY (side_file, n)
) WITHOUT ROWID;

-- What each session's messages add up to; kept in step with `usage`.
CREATE TABLE session_usage (
    session_id           TEXT PRIMARY KEY,
    api_messages         INTEGER NOT NULL,
    lower_bound_messages INTEGER NOT NULL,
    input_tokens         INTEGER NOT NULL,
    output_tokens        INTEGER NOT NULL,
    cache_read_tokens    INTEGER NOT NULL,
    cache_write_tokens   INTEGER NOT NULL
) WITHOUT ROWID;

-- What each session's messages cost, for the session list; reports count from `spending`.
CREATE TABLE session_costs (
    session_id      TEXT PRIMARY KEY,
    cost_usd        TEXT,             -- a decimal number; null: nothing in it has a price
    unpriced_models TEXT NOT NULL     -- JSON list of models without a price; what they did is not in cost_usd
) WITHOUT ROWID;

-- Rates as resolved from the price data: for every model, tier, speed and place that messages name, one row for each time and
-- size of prompt. US dollars as decimal numbers, per million tokens and per thousand searches.
CREATE TABLE rates (
    id             INTEGER PRIMARY KEY,
    model          TEXT NOT NULL,     -- as messages name it
    service_tier   TEXT NOT NULL,
    speed          TEXT NOT NULL,
    inference_geo  TEXT NOT NULL,
    since          INTEGER NOT NULL,  -- at or after, ms
    until          INTEGER NOT NULL,  -- before, ms
    above          INTEGER NOT NULL,  -- prompts of more tokens than this
    upto           INTEGER NOT NULL,  -- and of at most this many
    priced_as      TEXT,              -- the model in the price data; null: unpriced
    input          TEXT,
    output         TEXT,
    cache_read     TEXT,
    cache_write_5m TEXT,
    cache_write_1h TEXT,
    web_search     TEXT,
    source         TEXT NOT NULL,
    notes          TEXT NOT NULL      -- JSON list: what is derived, what could not be applied
);

-- Sums of messages per quarter of an hour, which is the finest that any time zone needs; kept in step with `usage`.
CREATE TABLE spending (
    quarter        INTEGER NOT NULL,  -- ms / {QUARTER}; 0: of unknown time
    session_id     TEXT NOT NULL,
    agent_id       TEXT NOT NULL,
    branch         TEXT NOT NULL,
    rate           INTEGER NOT NULL,  -- rates.id, which also tells the model
    has_recorded   INTEGER NOT NULL,  -- 1: the client wrote what these cost
    messages       INTEGER NOT NULL,
    lower_bounds   INTEGER NOT NULL,  -- of these, how many whose output is only a lower bound
    input          INTEGER NOT NULL,
    output         INTEGER NOT NULL,
    cache_read     INTEGER NOT NULL,
    cache_write_5m INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL,
    web_searches   INTEGER NOT NULL,
    recorded       INTEGER NOT NULL,  -- billionths of a dollar
    progress_only  INTEGER NOT NULL,  -- messages that only progress records of a parent show
    first_ts       INTEGER NOT NULL,
    last_ts        INTEGER NOT NULL,
    PRIMARY KEY (quarter, session_id, agent_id, branch, rate, has_recorded)
) WITHOUT ROWID;

-- Quarters of sessions whose `spending` is behind.
CREATE TABLE unsettled (
    session_id TEXT NOT NULL,
    quarter    INTEGER NOT NULL,
    PRIMARY KEY (session_id, quarter)
) WITHOUT ROWID;

-- One row per message with the rate that applies to it: what `spending` sums up.
CREATE VIEW charges AS
    SELECT u.key, u.record_id, u.ts / {QUARTER} AS quarter, u.session_id, u.agent_id, u.branch, r.id AS rate,
        u.recorded >= 0 AS has_recorded, 1 AS messages, u.final_output < u.output AS lower_bounds, u.input, u.output,
        u.cache_read, {WRITTEN_5M} AS cache_write_5m, u.cache_write_1h, u.web_searches, max(u.recorded, 0) AS recorded,
        u.is_progress AS progress_only, u.ts AS first_ts, u.ts AS last_ts, u.tool
    FROM usage u CROSS JOIN rates r ON {RATE_APPLIES};

-- Sessions whose derived rows are behind.
CREATE TABLE dirty (
    session_id TEXT PRIMARY KEY
) WITHOUT ROWID;

-- Derived from the rows above, per session; made again whenever one of a session's transcripts changes.
CREATE TABLE sessions (
    session_id    TEXT PRIMARY KEY,
    transcript    INTEGER,            -- its current main transcript; null when only subagents or history are left
    root          TEXT NOT NULL,
    client        TEXT NOT NULL,
    project       TEXT NOT NULL,      -- path of the project: the start cwd, worktrees under their repository
    project_dir   TEXT NOT NULL,
    cwd           TEXT NOT NULL,
    branch        TEXT NOT NULL,      -- the first one
    branches      TEXT NOT NULL,      -- JSON list
    version       TEXT NOT NULL,
    versions      TEXT NOT NULL,      -- JSON list
    models        TEXT NOT NULL,      -- JSON list, the one with most answers in the conversation first
    title         TEXT NOT NULL,
    title_source  TEXT NOT NULL,      -- yours, custom, agent, ai, summary, prompt, command, none
    first_prompt  TEXT NOT NULL,
    started_at    INTEGER,
    ended_at      INTEGER,
    prompts       INTEGER NOT NULL,   -- typed, queued ones included
    commands      INTEGER NOT NULL,
    tool_calls    INTEGER NOT NULL,
    tool_errors   INTEGER NOT NULL,
    api_errors    INTEGER NOT NULL,
    agents        INTEGER NOT NULL,
    compactions   INTEGER NOT NULL,
    hooks         INTEGER NOT NULL,
    images        INTEGER NOT NULL,
    files_changed INTEGER NOT NULL,
    lines_added   INTEGER NOT NULL,
    lines_removed INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,   -- of messages this session owns: forks and replays add nothing
    output_tokens INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    api_messages  INTEGER NOT NULL,
    lower_bound_messages INTEGER NOT NULL,
    messages      INTEGER NOT NULL,   -- api_messages, or the answers of the model where not each of them states its usage
    issues        INTEGER NOT NULL,
    bytes         INTEGER NOT NULL,
    transcripts   INTEGER NOT NULL,
    source_state  TEXT NOT NULL,      -- live, gone, freed (by `hansard free`); rewritten: the file is there and has less of the conversation
    debris        INTEGER NOT NULL,   -- 1: nothing was said in it
    team          TEXT NOT NULL,
    pull_requests TEXT NOT NULL,      -- JSON list
    cost_state    TEXT NOT NULL       -- the client's own last totals, JSON
) WITHOUT ROWID;

-- Tools a session used.
CREATE TABLE session_tools (
    session_id TEXT NOT NULL,
    tool       TEXT NOT NULL,
    calls      INTEGER NOT NULL,
    errors     INTEGER NOT NULL,
    PRIMARY KEY (session_id, tool)
) WITHOUT ROWID;

-- Files that a session's tool calls read or changed, subagents included.
CREATE TABLE session_files (
    session_id TEXT NOT NULL,
    path       TEXT NOT NULL,         -- as the calls name it
    calls      INTEGER NOT NULL,      -- all that name it
    changes    INTEGER NOT NULL,      -- of these the ones that changed it
    added      INTEGER NOT NULL,      -- lines
    removed    INTEGER NOT NULL,
    PRIMARY KEY (session_id, path)
) WITHOUT ROWID;

-- Subagents and the tool calls that made them.
CREATE TABLE agents (
    session_id   TEXT NOT NULL,
    agent_id     TEXT NOT NULL,
    transcript   INTEGER NOT NULL,    -- where its lines stand
    record_id    INTEGER,             -- its first line, for subagents inside a main file
    call_id      INTEGER,             -- tool_calls.id
    parent_agent TEXT,                -- the subagent that made it; null: the main thread
    depth        INTEGER NOT NULL,
    agent_type   TEXT NOT NULL,
    description  TEXT NOT NULL,
    linked_by    TEXT NOT NULL,       -- meta, result, progress, text, prompt, none
    warmup       INTEGER NOT NULL,    -- the client's own: a warm-up or a prompt suggestion, not counted as a subagent
    started_at   INTEGER,
    ended_at     INTEGER,
    messages     INTEGER NOT NULL,
    tool_calls   INTEGER NOT NULL,
    is_reconstructed INTEGER NOT NULL, -- 1: its transcript is gone, and it is read from progress records of the session
    PRIMARY KEY (session_id, agent_id)
) WITHOUT ROWID;

-- How sessions relate: fork, branch, clear, continued_in, context, replay, summary, resumed.
CREATE TABLE links (
    source   TEXT NOT NULL,           -- a session's id
    target   TEXT NOT NULL,           -- a session's id, or a subagent's for replays
    relation TEXT NOT NULL,
    PRIMARY KEY (source, relation, target)
) WITHOUT ROWID;

-- What the user said about sessions and did not take back, also about sessions that only history.jsonl knows.
CREATE TABLE remarks (
    id         INTEGER PRIMARY KEY,   -- the remark's id in the record: grows with time
    session_id TEXT NOT NULL,
    kind       TEXT NOT NULL,         -- pin, tag, title, note
    value      TEXT NOT NULL,         -- as it was typed; of a pin: the uuid of a message, empty for the session
    folded     TEXT NOT NULL,         -- the value without case and accents
    set_at     INTEGER NOT NULL
);

-- Folders that are worktrees of a repository, as git's files told when the record met them.
CREATE TABLE worktrees (
    path       TEXT PRIMARY KEY,
    repository TEXT NOT NULL
) WITHOUT ROWID;

-- Folders that were moved, as the user said: sessions that began there count for the new place.
CREATE TABLE moves (
    path   TEXT PRIMARY KEY,
    target TEXT NOT NULL
) WITHOUT ROWID;

-- Every relation in one shape, down to single messages.
CREATE VIEW all_links (source_kind, source, target_kind, target, relation) AS
    SELECT 'session', source, 'session', target, relation FROM links
    UNION ALL
    SELECT 'record', uuid, 'record', parent_uuid, 'replies_to' FROM records
        WHERE uuid IS NOT NULL AND parent_uuid IS NOT NULL
    UNION ALL
    SELECT 'record', r.uuid, 'session', t.session_id, 'belongs_to'
        FROM records r JOIN transcripts t ON t.id = r.id >> {OFFSET_BITS} WHERE r.uuid IS NOT NULL
    UNION ALL
    SELECT 'session', session_id, 'project', project, 'from_project' FROM sessions;

-- What tool calls did to files.
CREATE VIEW file_changes AS
    SELECT c.id, t.session_id, t.agent_id, c.ts, c.path, c.change, c.added, c.removed, c.tool, c.result_id
    FROM tool_calls c JOIN transcripts t ON t.id = c.id >> {OFFSET_BITS} WHERE c.change IS NOT NULL AND c.path IS NOT NULL;
