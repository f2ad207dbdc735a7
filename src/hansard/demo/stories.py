"""What the invented developer works on: projects, and for each a row of small stories told in prompts, edits and answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Episode:
    """One piece of work: the question, the place, the change and how it was told."""

    title: str
    ask: str
    think: str
    look: str
    pattern: str
    file: str
    old: str
    new: str
    failed: str
    done: str
    more: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Project:
    """A repository and what there is to tell of it."""

    name: str
    folder: str
    language: str
    test: str
    nouns: tuple[str, ...]
    files: tuple[str, ...]
    about: str
    episodes: tuple[Episode, ...]


TIDEWATER = Project(
    name="tidewater",
    folder="/home/mira/src/tidewater",
    language="python",
    test="pytest -q",
    nouns=("gauge", "tide", "harbour", "station", "forecast", "datum", "swell"),
    files=(
        "src/tidewater/gauges.py",
        "src/tidewater/forecast.py",
        "src/tidewater/api.py",
        "tests/test_gauges.py",
        "README.md",
    ),
    about="Tide forecasts for small harbours, served over HTTP.",
    episodes=(
        Episode(
            "Fix the feet in the gauge readings",
            "The Stornoway gauge shows 14 m of tide since this morning. That would be a record by ten metres. Can you find out what is going on?",
            "14 divided by 3.28 is 4.27, which is a normal spring tide. So the values arrive in feet and nobody converts them.",
            "Fourteen looks like feet. I will see where readings come in.",
            "def read_gauge",
            "src/tidewater/gauges.py",
            "def read_gauge(row: dict[str, str]) -> Reading:\n    return Reading(row['station'], float(row['level']))",
            "def read_gauge(row: dict[str, str]) -> Reading:\n    level = float(row['level'])\n    if row.get('unit') == 'ft':\n        level *= METRES_PER_FOOT\n    return Reading(row['station'], level)",
            "E   AssertionError: assert 14.01 == 4.27 ± 0.01\ntests/test_gauges.py:31: AssertionError",
            "Fixed. The agency switched two stations to **feet** last night and says so in a new `unit` column, which `read_gauge` ignored.\n\n- `src/tidewater/gauges.py`: converts when `unit` is `ft`\n- a test with a real row from this morning\n\nStornoway now reads 4.27 m. The stored values since 02:00 are still wrong: shall I write a one-off script that repairs them?",
            (
                "Yes please, but only as a dry run for now.",
                "Dry run: 212 rows from two stations would change, the largest from 14.62 to 4.46. Nothing has been written.",
            ),
        ),
        Episode(
            "Cache harbour forecasts per tide",
            "Forecasts are computed again on every request. They only change twice a day. Please cache them, keyed by harbour and tide, without a new dependency.",
            "A dict with a lock would do, but entries must go when the next high water has passed. Keying by the tide index gives that for free.",
            "I will look at how a forecast is asked for.",
            "compute_forecast",
            "src/tidewater/forecast.py",
            "def forecast_for(harbour: Harbour, now: datetime) -> Forecast:\n    return compute_forecast(harbour, now)",
            "@lru_cache(maxsize=512)\ndef _cached(harbour: Harbour, tide_index: int) -> Forecast:\n    return compute_forecast(harbour, time_of(tide_index))\n\n\ndef forecast_for(harbour: Harbour, now: datetime) -> Forecast:\n    return _cached(harbour, tide_index(now))",
            "",
            "Done with `functools.lru_cache`, no dependency.\n\n| | before | after |\n|---|---|---|\n| median | 182 ms | 0.4 ms |\n| p95 | 410 ms | 190 ms |\n\nThe key is `(harbour, tide index)`, so an entry ends by itself at the next high water.",
        ),
        Episode(
            "Daylight saving breaks the almanac page",
            "On the last Sunday of October the almanac page lists one high water twice. Users at Port Ellen noticed. 🌊",
            "Local times are used as dictionary keys. In the repeated hour two different instants have the same local time.",
            "A doubled entry in the repeated hour smells of local times used as keys.",
            "astimezone",
            "src/tidewater/forecast.py",
            "    by_time = {water.local_time(): water for water in waters}\n    return sorted(by_time.values())",
            "    # Local times repeat for an hour in October: order by the instant, show the local time.\n    return sorted(waters, key=lambda water: water.instant)",
            "E   AssertionError: assert ['01:12', '01:12', '07:31'] == ['01:12', '07:31']",
            "The page keyed waters by **local** time, which is not unique in the night of the change. It now sorts by instant. I added a test that walks through 27 October, minute by minute.",
        ),
        Episode(
            "Serve forecasts as iCalendar",
            "Could we offer the high waters of a harbour as a calendar that people can subscribe to? Keep it small.",
            "RFC 5545 needs CRLF, folded lines at 75 octets and a stable UID. Sixty lines of code, no library.",
            "I will check how routes are declared before adding one.",
            "@router.get",
            "src/tidewater/api.py",
            '@router.get("/harbours/{name}/forecast")\ndef forecast(name: str) -> ForecastOut:\n    return to_out(forecast_for(find(name), clock()))',
            '@router.get("/harbours/{name}/forecast")\ndef forecast(name: str) -> ForecastOut:\n    return to_out(forecast_for(find(name), clock()))\n\n\n@router.get("/harbours/{name}/tides.ics")\ndef calendar(name: str) -> Response:\n    body = to_ics(find(name), waters_of_month(name, clock()))\n    return Response(body, media_type="text/calendar; charset=utf-8")',
            "",
            "`GET /harbours/tobermory/tides.ics` now gives a calendar with the next 30 days. Lines are folded by *octets*, so the é in *Baie de Douarnenez* survives. Thunderbird and the GNOME calendar both accept it.",
            (
                "What happens when a forecast is corrected later?",
                "The UID of an event is made of harbour and tide index, so a corrected time **replaces** the old event at the next refresh instead of adding a second one.",
            ),
        ),
        Episode(
            "Make the swell model readable",
            "swell.py has a function of 140 lines. I would like to be able to read it on a Monday. Behaviour must not change.",
            "Characterise first: record outputs for a grid of inputs, then split along the three blocks that the comments already mark.",
            "Before I touch it I will record what it returns for a grid of inputs.",
            "def swell_height",
            "src/tidewater/gauges.py",
            "    height = base * 0.5 * (1 + math.cos(angle)) if angle < 1.4 else base * 0.08",
            "    height = base * _exposure(angle)",
            "",
            "Split into `_exposure`, `_shoaling` and `_breaking`, 12 to 20 lines each. A test compares 4,800 recorded values before and after: **no difference**, not even in the last digit.",
        ),
        Episode(
            "Why is the container 1.2 GB?",
            "The image has grown to 1.2 GB. Nothing in it should be larger than a cup of tea.",
            "Layer sizes first. A likely culprit: the wheel cache and the test data copied by COPY . .",
            "I will ask docker which layer is to blame.",
            "COPY",
            "README.md",
            "docker build -t tidewater .",
            "docker build --target runtime -t tidewater .",
            "",
            "From **1.24 GB to 141 MB**:\n\n1. test recordings (610 MB) are in `.dockerignore` now\n2. the build stage keeps compilers, the runtime stage does not\n3. pip runs with `--no-cache-dir`\n\nThe tea fits.",
        ),
    ),
)

LANTERNFISH = Project(
    name="lanternfish",
    folder="/home/mira/src/lanternfish",
    language="rust",
    test="cargo test",
    nouns=("frame", "chunk", "header", "sonar", "block", "depth", "beacon"),
    files=("src/frame.rs", "src/main.rs", "src/codec.rs", "benches/decode.rs", "Cargo.toml"),
    about="Compresses the logs of deep-sea probes.",
    episodes=(
        Episode(
            "Panic on truncated frames",
            "lanternfish panics on the file from Friday's dive: `index out of bounds: the len is 7 but the index is 7`. A probe that loses power must not take the decoder with it.",
            "The length byte is trusted. With a cut-off file the slice ends early. Every read must go through get().",
            "The decoder seems to trust the length byte. Let me look.",
            "payload\\[",
            "src/frame.rs",
            "    let length = payload[0] as usize;\n    let body = &payload[1..length + 1];",
            "    let (&length, rest) = payload.split_first().ok_or(Error::Truncated { at: offset })?;\n    let body = rest.get(..usize::from(length)).ok_or(Error::Truncated { at: offset })?;",
            "thread 'truncated_tail' panicked at src/frame.rs:41:17:\nindex out of bounds: the len is 7 but the index is 7",
            "No more indexing in `frame.rs`: each read returns `Error::Truncated { at }`. Friday's file now decodes to its last whole frame, **18,402 of 18,403**, and the error names byte 9,114,811.",
        ),
        Episode(
            "Decode twice as fast",
            "Decoding a day takes 11 s. I have a hunch that we allocate per frame. Can you measure before you change anything?",
            "Use criterion and a counting allocator. If it is allocation, reuse one buffer; frames borrow from it.",
            "Measuring first: a counting allocator and the existing benchmark.",
            "Vec::with_capacity",
            "src/codec.rs",
            "        let mut out = Vec::with_capacity(frame.len() * 4);\n        decode_into(frame, &mut out)?;",
            "        self.scratch.clear();\n        decode_into(frame, &mut self.scratch)?;",
            "",
            "Your hunch was right: 2.1 allocations per frame. With one buffer that is reused:\n\n```\ndecode/day   time: [11.08 s → 4.93 s]   change: -55.5 %\nallocations  38,604,118 → 61\n```\n\nThe API is unchanged; the iterator lends its frames.",
            (
                "Is 61 a magic number?",
                "No: one buffer, growing by doubling from 4 KiB to the largest frame, plus what the argument parser does at start.",
            ),
        ),
        Episode(
            "A --since option that understands dives",
            '`lanternfish cat --since "dive 12"` would be nicer than timestamps. Dives are numbered in the beacon frames.',
            "A small enum: Since::Time or Since::Dive. clap value_parser with a custom FromStr.",
            "Let me see how `--since` is parsed today.",
            "value_parser",
            "src/main.rs",
            "    #[arg(long)]\n    since: Option<DateTime<Utc>>,",
            "    /// A time, or `dive N`\n    #[arg(long, value_parser = Since::from_str)]\n    since: Option<Since>,",
            "",
            "`--since` takes a time or `dive N` now. An unknown dive says which ones the file has: `no dive 12 here: 3 to 9`.",
        ),
        Episode(
            "Fuzz the header parser overnight",
            "Please set up cargo-fuzz for the header parser. I will leave it running over night.",
            "One target, a corpus from the test files, a dictionary with the magic numbers.",
            "I will add one target and feed it the headers from our test files.",
            "parse_header",
            "src/frame.rs",
            "pub fn parse_header(bytes: &[u8]) -> Header {",
            "pub fn parse_header(bytes: &[u8]) -> Result<Header, Error> {",
            "error[E0308]: mismatched types\n  --> src/frame.rs:88:5",
            "The target is `fuzz/fuzz_targets/header.rs`; 340 headers from the tests are its corpus. In the first two minutes it already found a shift overflow for version bytes above 31, which I fixed. Start it with:\n\n```sh\ncargo +nightly fuzz run header -- -max_total_time=28800\n```",
        ),
        Episode(
            "Explain the checksum to me",
            "I wrote the checksum three years ago and no longer understand it. Could you explain it and put the explanation where it belongs?",
            "Fletcher-like with a rotate; the rotate makes swaps of equal-sum blocks visible. Explain with one example.",
            "I will read it with its tests.",
            "fn checksum",
            "src/codec.rs",
            "fn checksum(data: &[u8]) -> u32 {",
            "/// Fletcher-32 over little-endian words, with the second sum rotated by one for every block.\n///\n/// The rotation is what makes two *swapped* blocks visible: plain sums would not notice.\nfn checksum(data: &[u8]) -> u32 {",
            "",
            "It is **Fletcher-32 with a twist**: after each block the second sum is rotated by one bit. Without that, two swapped blocks give the same sum, and probes do swap blocks when the ring buffer wraps. The comment says so now, with the dive in which it happened.",
        ),
        Episode(
            "Cross-compile for the probe",
            "The probe's new board is aarch64 with musl. What do we need to build for it in CI?",
            "cross or zig as linker. One job, cached. ring needs a C compiler for the target.",
            "Let me see what links against C.",
            "links =",
            "Cargo.toml",
            '[profile.release]\nlto = "thin"',
            '[profile.release]\nlto = "fat"\npanic = "abort"\nstrip = true',
            "",
            "One CI job with `cargo zigbuild --target aarch64-unknown-linux-musl`. The binary is static and **1.9 MB**. Only `zstd-sys` needs a C compiler, and zig brings one.",
        ),
    ),
)

CARTWHEEL = Project(
    name="cartwheel",
    folder="/home/mira/src/cartwheel",
    language="typescript",
    test="npm test",
    nouns=("bike", "dock", "rider", "trip", "fare", "ticket", "route"),
    files=("src/docks/DockMap.tsx", "src/trips/useTrips.ts", "src/fares/fare.ts", "src/app.css", "package.json"),
    about="The web app of a bicycle-sharing cooperative.",
    episodes=(
        Episode(
            "The map flickers while docks load",
            "Every ten seconds the map flickers when the docks are refreshed. On a phone in the rain that is no fun.",
            "The component is keyed by the fetch time, so React mounts it anew at each refresh.",
            "I suspect that something remounts. Searching for keys.",
            "key=\\{",
            "src/docks/DockMap.tsx",
            "<DockLayer key={fetchedAt} docks={docks} />",
            "<DockLayer docks={docks} />",
            "",
            "`DockLayer` was keyed by the fetch time, so every refresh threw the whole layer away. Without the key React only moves what changed: **1 of 214 markers** in the median. No flicker in Firefox, Safari and Chromium.",
        ),
        Episode(
            "Round fares in favour of the rider",
            "Some riders were charged 1.01 € for a ride of 1.00 €. Fares must be exact, and rounded down if at all.",
            "Floating point: 0.1 + 0.2. Keep cents as integers everywhere and format at the edge.",
            "A cent too much sounds like floating point. Looking at the arithmetic.",
            "toFixed",
            "src/fares/fare.ts",
            "export const fare = (minutes: number, perMinute: number) => Number((1 + minutes * perMinute).toFixed(2));",
            "/** Cents, as an integer: nothing is rounded before it is shown. */\nexport const fareCents = (minutes: number, centsPerMinute: number): number => 100 + Math.floor(minutes * centsPerMinute);",
            "  ● fare > half an hour at 3.35 cents\n    expect(received).toBe(expected)\n    Expected: 200\n    Received: 201",
            "Fares are integers of **cents** now and rounded down once, at the end. I replayed last month: 1,204 of 88,310 trips were a cent too dear, 12.04 € in all. `scripts/refunds.csv` lists them for the treasurer.",
            (
                "Could you draft a short, honest mail to those riders?",
                "> Hello,\n>\n> we charged you one cent too much for a ride in September. It was a rounding error and our fault. The cent is back in your account.\n>\n> Ride on, the cooperative",
            ),
        ),
        Episode(
            "Keyboard access to the dock list",
            "Ana uses a screen reader and cannot open a dock from the list. Please make it work and tell me what was wrong.",
            "div with onClick. Use a button, keep focus on close, announce the number of bikes.",
            "Let me find what the list items are made of.",
            "onClick",
            "src/docks/DockMap.tsx",
            '<div className="dock" onClick={() => open(dock)}>{dock.name}</div>',
            '<button type="button" className="dock" onClick={() => open(dock)} aria-describedby={`bikes-${dock.id}`}>\n  {dock.name}\n</button>',
            "",
            "The items were `div`s: not focusable, no role, no key handling. They are buttons now, the panel takes the focus and gives it back, and the number of bikes is read out with the name. Checked with axe (0 findings, 7 before) and Orca.",
        ),
        Episode(
            "Move from moment to Temporal",
            "Can we drop moment? It is the largest thing in the bundle.",
            "List usages, most are formatting. Intl.DateTimeFormat does that. Durations by Temporal polyfill? Only two places: use plain arithmetic.",
            "I will count what we use it for.",
            "moment\\(",
            "src/trips/useTrips.ts",
            "const ended = moment(trip.endedAt).fromNow();",
            'const ended = relative.format(-minutesSince(trip.endedAt), "minute");',
            "",
            "Gone. 31 of 33 uses were formatting, which `Intl` does; the other two were subtractions.\n\n```\nbundle  412 kB → 121 kB (gzip 118 → 39)\n```",
        ),
        Episode(
            "A test that fails only on Fridays",
            "CI is red every Friday and green on Saturday. I refuse to believe in curses.",
            "Something with the weekend tariff and the runner's clock. Look for new Date() in tests.",
            "Curses usually live in `new Date()`.",
            "new Date\\(\\)",
            "src/fares/fare.ts",
            "const weekend = () => [5, 6].includes(new Date().getDay());",
            "const weekend = (at: Date) => [6, 0].includes(at.getDay());",
            '  ● tariff > weekdays\n    Expected: "weekday"\n    Received: "weekend"',
            "No curse: the week was thought to start on Monday, but `getDay()` starts on **Sunday**. So Friday counted as weekend and Sunday did not, in production too. The time is a parameter now, and the test walks through a whole week.",
        ),
        Episode(
            "Dark mode without a flash",
            "Please add a dark mode. It must not flash white when the page loads.",
            "color-scheme and light-dark() in CSS; no script needed unless there is a switch.",
            "Let me see how colours are defined.",
            "--colour-",
            "src/app.css",
            ":root { --colour-paper: #fff; --colour-ink: #1b1b1b; }",
            ":root { color-scheme: light dark; --colour-paper: light-dark(#fff, #14171a); --colour-ink: light-dark(#1b1b1b, #e8e6e1); }",
            "",
            "Dark mode with `color-scheme` and `light-dark()`: no script, so there is nothing that could flash. All pairs have a contrast of at least 7:1. 🌙",
        ),
    ),
)
